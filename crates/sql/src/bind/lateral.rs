//! LATERAL: derived tables that mention tables to their left in the same FROM clause, and joins with them.
//!
//! The rows of such a table are those that its query has for a row of what stands to the left ([`Rel::Lateral`]). One
//! that mentions nothing there is a derived table like others.

use super::{
    binder::Binder,
    from::Joined,
    json_table::JsonTableCall,
    scope::{Names, Scope},
    subquery::subquery,
    table::column_names,
};
use muster_algebra::{BlockPlace, Expr, JoinKind, Rel, SubqueryKind};
use muster_types::{ErrorCode, Result, SqlError, Value};
use sqlparser::ast::{Join, JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

/// Returns true for `LATERAL (query) name` and JSON_TABLE, and for brackets around one.
pub(super) fn is_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::NestedJoin { table_with_joins, alias: None } => has_lateral(table_with_joins),
        factor => JsonTableCall::of(factor).is_some(),
    }
}

/// Returns true if a table, or one that it is joined with, is lateral.
pub(super) fn has_lateral(table: &TableWithJoins) -> bool {
    is_lateral(&table.relation) || table.joins.iter().any(|join| is_lateral(&join.relation))
}

/// What is joined with the tables that it sees.
pub(super) enum LateralTables<'q> {
    Factor(&'q TableFactor),
    /// A table with the joins behind it, of which one is lateral.
    Joined(&'q TableWithJoins),
}

/// How a table is joined with what stands to its left.
pub(super) enum LateralJoin<'q> {
    /// By a comma or CROSS JOIN.
    Cross,
    By(&'q JoinOperator),
}

impl Binder<'_> {
    /// Joins a lateral derived table, or several tables with one, with what stands to the left.
    pub(super) fn lateral_join(
        &mut self,
        left: Joined,
        tables: LateralTables,
        join: LateralJoin,
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        let right = {
            let scope = Scope::within(&left.from, names.seen_by_lateral());
            let within = Names { beside: Some(&scope), ..names.clone() };
            match tables {
                LateralTables::Joined(joined) => self.table_with_joins(joined, &within, straight)?,
                LateralTables::Factor(TableFactor::NestedJoin { table_with_joins, .. }) => {
                    self.table_with_joins(table_with_joins, &within, straight)?
                }
                LateralTables::Factor(factor) => match JsonTableCall::of(factor) {
                    Some(call) => self.json_table(call, &scope, &names.inside(Some(&scope)))?,
                    None => self.lateral_table(factor, &names.inside(Some(&scope)))?,
                },
            }
        };
        let (keeps, constraint) = match join {
            LateralJoin::Cross => (false, &JoinConstraint::None),
            LateralJoin::By(operator) => match operator {
                JoinOperator::Join(c) | JoinOperator::Inner(c) | JoinOperator::CrossJoin(c) => (false, c),
                JoinOperator::StraightJoin(c) => (false, c),
                JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (true, c),
                _ => return Err(SqlError::unsupported("this kind of JOIN with LATERAL")),
            },
        };
        if keeps && matches!(constraint, JoinConstraint::None) {
            return Err(SqlError::syntax("", 1));
        }
        let left_columns = left.from.columns.len();
        let (kept, added) = (left.rel.output(), right.rel.output());
        let mut from = left.from.join(right.from)?;
        let on = self.join_condition(constraint, &mut from, left_columns, false, names)?;
        if keeps {
            self.dependencies.add_left_join(&on, &kept);
            self.null_extended.extend(added.iter().copied());
        } else {
            self.dependencies.add_conditions(&on);
        }
        let rel = dependent_join(left.rel, right.rel, on, keeps);
        Ok(Joined { rel, from })
    }

    /// A RIGHT JOIN with lateral tables on its left side, `first` and those behind it, which see the right side.
    pub(super) fn right_lateral_join(
        &mut self,
        first: &TableFactor,
        behind: &[Join],
        join: &Join,
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        let (JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint)) = &join.join_operator else {
            return Err(SqlError::internal("not a RIGHT JOIN"));
        };
        if matches!(constraint, JoinConstraint::None) {
            return Err(SqlError::syntax("", 1));
        }
        let right = self.table_factor(&join.relation, names, straight)?;
        let left = {
            let scope = Scope::within(&right.from, names.seen_by_lateral());
            let within = Names { beside: Some(&scope), ..names.clone() };
            self.joined_tables(first, behind, &within, straight)?
        };
        let left_columns = left.from.columns.len();
        let (kept, added) = (right.rel.output(), left.rel.output());
        let mut from = left.from.join(right.from)?;
        let on = self.join_condition(constraint, &mut from, left_columns, true, names)?;
        self.dependencies.add_left_join(&on, &kept);
        self.null_extended.extend(added);
        Ok(Joined { rel: dependent_join(right.rel, left.rel, on, true), from })
    }

    /// A lateral derived table. `names`: those that its query sees.
    fn lateral_table(&mut self, factor: &TableFactor, names: &Names) -> Result<Joined> {
        let TableFactor::Derived { subquery: query, alias, .. } = factor else {
            return Err(SqlError::internal("not a derived table"));
        };
        let Some(alias) = alias else {
            let message = "Every derived table must have its own alias";
            return Err(SqlError::new(ErrorCode::DerivedMustHaveAlias, message));
        };
        self.count_table()?;
        let name = &alias.name.value;
        let begun = self.begin_expression(BlockPlace::Derived(name.clone()), None);
        let bound = self.query(query, names, false)?;
        self.expressions.end(begun);
        self.derived(bound, name, column_names(alias)?)
    }
}

/// The rows of `left`, each with those that `right` has for it. JSON_TABLE makes its rows beside those of `left`,
/// unless a condition decides which rows have none.
fn dependent_join(left: Rel, right: Rel, on: Vec<Expr>, keeps: bool) -> Rel {
    let added = right.output();
    let rows = match on.is_empty() {
        true => right.clone(),
        false => Rel::Filter { input: Box::new(right.clone()), predicates: on.clone() },
    };
    let of_left = left.output();
    let alone = subquery(SubqueryKind::Rows, right.clone(), added.clone());
    if !alone.columns().iter().any(|id| of_left.contains(id)) {
        let kind = if keeps { JoinKind::Left } else { JoinKind::Inner };
        return Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, straight: false };
    }
    let is_plain = on.iter().all(|condition| matches!(condition, Expr::Literal { value: Value::Bool(true), .. }));
    if let Rel::JsonTable { input, table, .. } = &right
        && matches!(&**input, Rel::Values { columns, .. } if columns.is_empty())
        && (!keeps || is_plain)
    {
        let rel = Rel::JsonTable { input: Box::new(left), table: table.clone(), keeps };
        return if is_plain { rel } else { Rel::Filter { input: Box::new(rel), predicates: on } };
    }
    let rows = subquery(SubqueryKind::Rows, rows, added);
    Rel::Lateral { input: Box::new(left), rows: Box::new(rows), keeps }
}
