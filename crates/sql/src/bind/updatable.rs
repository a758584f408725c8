//! Which tables a view of a query could be written through to (manual 27.5.3).

use super::{
    Bound,
    from::{is_dual, name_parts},
};
use crate::Query;
use sqlparser::ast::{self, Distinct, Expr, GroupByExpr, JoinOperator, SelectItem, SetExpr, TableFactor};

/// The tables and views of the FROM clause, as (database, name), if by its own form each row of the query is one row of
/// each of them. The view can be updated if all those that are views can. `None` for a query with a set operation,
/// DISTINCT, groups, HAVING, LIMIT or an outer join, without any table or any bare column in its list, or with a
/// subquery on its only table. `database`: the current one.
pub fn updatable_tables(query: &Query, bound: &Bound, database: Option<&str>) -> Option<Vec<(String, String)>> {
    let SetExpr::Select(select) = query.ast.body.as_ref() else { return None };
    let distinct = matches!(select.distinct, Some(Distinct::Distinct));
    let grouped = bound.aggregated || !matches!(&select.group_by, GroupByExpr::Expressions(e, _) if e.is_empty());
    let limited = query.ast.limit_clause.is_some();
    if distinct || grouped || limited || select.having.is_some() || !select.projection.iter().any(has_column) {
        return None;
    }
    let mut factors = Vec::new();
    for table in select.from.iter().filter(|table| !is_dual(table)) {
        collect(table, &mut factors)?;
    }
    let with: Vec<&str> =
        query.ast.with.iter().flat_map(|with| &with.cte_tables).map(|cte| cte.alias.name.value.as_str()).collect();
    let mut tables = Vec::new();
    for factor in &factors {
        let TableFactor::Table { name, .. } = factor else { continue };
        let (given, name) = name_parts(name).ok()?;
        if given.is_some() || !with.contains(&name) {
            tables.push((given.or(database)?.to_string(), name.to_string()));
        }
    }
    let reads_only_table_again = factors.len() == 1 && tables.len() == 1 && bound.first_table_again;
    (!factors.is_empty() && !reads_only_table_again).then_some(tables)
}

/// Returns true if an item of a select list is a bare column, or stands for several.
fn has_column(item: &SelectItem) -> bool {
    let mut expr = match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
        _ => return true,
    };
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Adds the tables of a part of FROM; `None` for an outer join.
fn collect<'a>(table: &'a ast::TableWithJoins, factors: &mut Vec<&'a TableFactor>) -> Option<()> {
    let inner = |operator: &JoinOperator| {
        use JoinOperator as J;
        matches!(operator, J::Join(_) | J::Inner(_) | J::CrossJoin(_) | J::StraightJoin(_))
    };
    if !table.joins.iter().all(|join| inner(&join.join_operator)) {
        return None;
    }
    for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => collect(table_with_joins, factors)?,
            other => factors.push(other),
        }
    }
    Some(())
}
