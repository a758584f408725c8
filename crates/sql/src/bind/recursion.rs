//! WITH RECURSIVE: the parts of a table that reads itself (MySQL manual, section 15.2.20).
//!
//! The query blocks that do not mention the table come first and decide the types of its columns. Each of the others
//! mentions it once, in its own FROM clause, and is a subquery that runs once for each round of rows.

use super::{
    binder::{Binder, BoundQuery, Output},
    order,
    scope::{Cte, Names},
    subquery::subquery,
    table::column_names,
};
use muster_algebra::{Expr, JoinKind, Recursion, Rel, SubqueryKind};
use muster_types::{BytesKind, ErrorCode, Result, SqlError, SqlType, Value};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, TableFactor};
use std::{cell::Cell, rc::Rc};

/// A recursive table within its own query.
#[derive(Debug)]
pub(crate) struct WorkingTable<'p> {
    pub name: &'p str,
    /// Number of the table in the statement.
    pub number: usize,
    /// Its columns, once they are known.
    pub outputs: Vec<Output>,
    /// How often the query block that is being bound may still mention it.
    pub mentions: Cell<usize>,
    /// The recursive tables around it.
    pub around: Option<Rc<WorkingTable<'p>>>,
}

impl Names<'_> {
    /// The recursive table of this name that is being bound.
    pub fn working(&self, name: &str) -> Option<&WorkingTable<'_>> {
        let mut link = self.working.as_deref();
        while let Some(table) = link {
            if table.name == name {
                return Some(table);
            }
            link = table.around.as_deref();
        }
        None
    }
}

/// A query block of a union, and how it is added to those before it.
struct Member<'q> {
    body: &'q SetExpr,
    distinct: bool,
    is_recursive: bool,
}

impl Binder<'_> {
    /// The rows of a recursive table. Errors: 3573 to 3577.
    pub(super) fn recursive<'p>(&mut self, cte: &'p Cte<'p>, names: &Names<'p>) -> Result<BoundQuery> {
        let (query, name) = (&cte.ast.query, cte.ast.alias.name.value.as_str());
        let mut names = names.clone();
        if let Some(with) = &query.with {
            super::query::add_ctes(with, &mut names)?;
        }
        let members = members(&query.body, name)?;
        let number = self.recursive_tables;
        self.recursive_tables += 1;
        let marked = |outputs: Vec<Output>, mentions: usize, names: &Names<'p>| {
            let around = names.working.clone();
            let table = WorkingTable { name, number, outputs, mentions: Cell::new(mentions), around };
            Names { working: Some(Rc::new(table)), ..names.clone() }
        };
        if members.iter().all(|member| !member.is_recursive) {
            return self.query(query, &marked(Vec::new(), 0, &names), false);
        }
        if members.len() == 1 {
            let message = format!("Recursive Common Table Expression '{name}' should contain a UNION");
            return Err(SqlError::new(ErrorCode::CteRecursiveRequiresUnion, message));
        }
        let first = members.iter().position(|member| member.is_recursive).unwrap_or(0);
        if first == 0 || members[first..].iter().any(|member| !member.is_recursive) {
            let message = format!(
                "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed \
                 by one or more recursive ones"
            );
            return Err(SqlError::new(ErrorCode::CteRecursiveRequiresNonrecursiveFirst, message));
        }
        let mut later = members[first..].iter().skip_while(|member| !member.distinct);
        if later.any(|member| !member.distinct) {
            return Err(SqlError::unsupported(
                "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
            ));
        }
        if query.order_by.is_some() {
            return Err(SqlError::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let limits = order::limits(self, query.limit_clause.as_ref())?;
        // The operator leaves out equal rows, also those that the recursion begins with.
        let distinct = members[first..].iter().any(|member| member.distinct);
        let seed = self.seed(&members[..first], distinct, &marked(Vec::new(), 0, &names))?;
        let outputs = self.recursive_outputs(&seed, column_names(&cte.ast.alias)?);
        let mut steps = Vec::new();
        for member in &members[first..] {
            let inside = marked(outputs.clone(), 1, &names);
            steps.push(self.step(member.body, name, &outputs, &inside)?);
        }
        let rounds_max = match self.env.session.kept_variable("cte_max_recursion_depth") {
            Value::Int(n) => n.max(0) as u64,
            Value::UInt(n) => n,
            _ => 1000,
        };
        let recursion = Recursion {
            name: name.to_string(),
            working: number,
            seed: seed.outputs.iter().map(|output| output.id).collect(),
            columns: outputs.iter().map(|output| output.id).collect(),
            steps,
            distinct,
            rounds_max,
            strict: self.env.session.sql_modes().is_strict(),
        };
        let rel = Rel::Recursive { input: Box::new(seed.rel), recursion: Box::new(recursion) };
        Ok(BoundQuery { rel: limits.apply(rel), outputs })
    }

    /// The rows that the recursion begins with. `all`: equal rows are left out later.
    fn seed(&mut self, members: &[Member], all: bool, names: &Names) -> Result<BoundQuery> {
        let mut inputs = Vec::with_capacity(members.len());
        let mut distinct = 0;
        for (i, member) in members.iter().enumerate() {
            let bound = self.set_expression(member.body, names, false)?;
            inputs.push(bound);
            if inputs[0].outputs.len() != inputs[i].outputs.len() {
                return Err(SqlError::different_column_counts());
            }
            if i > 0 && member.distinct && !all {
                distinct = i + 1;
            }
        }
        self.union(inputs, distinct)
    }

    /// The table's columns: of the types of the seed, and NULL may be in all of them.
    fn recursive_outputs(&mut self, seed: &BoundQuery, given: Vec<String>) -> Vec<Output> {
        let mut outputs = Vec::with_capacity(seed.outputs.len());
        for (i, output) in seed.outputs.iter().enumerate() {
            let name = given.get(i).cloned().unwrap_or_else(|| output.name.clone());
            let ty = match self.columns.ty(output.id) {
                SqlType::Null => SqlType::Bytes { kind: BytesKind::VarBinary, length: 0 },
                SqlType::Bytes { kind: BytesKind::Binary, length } => {
                    SqlType::Bytes { kind: BytesKind::VarBinary, length }
                }
                // Its columns have no ZEROFILL.
                SqlType::Unsigned(number) => number.unfilled(),
                ty => ty,
            };
            let id = self.columns.add_computed(name.clone(), ty, true);
            self.columns.set_decimals(id, self.columns.get(output.id).decimals);
            // The values that the steps add are not known yet.
            outputs.push(Output { id, name, is_ascii: false, ..output.clone() });
        }
        outputs
    }

    /// A query block that reads the table, as a subquery.
    fn step(&mut self, body: &SetExpr, name: &str, outputs: &[Output], names: &Names) -> Result<Expr> {
        if let SetExpr::Select(select) = body
            && select.distinct.is_some()
        {
            return Err(refused_clause());
        }
        let bound = self.set_expression(body, names, false)?;
        if bound.outputs.len() != outputs.len() {
            return Err(SqlError::different_column_counts());
        }
        check_step(&bound.rel, name)?;
        let (mut exprs, mut ids) = (Vec::new(), Vec::new());
        for (found, wanted) in bound.outputs.iter().zip(outputs) {
            let ty = handed_over(self.columns.ty(found.id), self.columns.ty(wanted.id));
            let item = self.column_item(found.id);
            let expr =
                if self.columns.ty(found.id) == ty { Expr::Column(found.id) } else { self.convert(item, ty).expr };
            let id = self.new_column(&wanted.name, &expr, ty);
            exprs.push((id, expr));
            ids.push(id);
        }
        let rel = Rel::Project { input: Box::new(bound.rel), exprs };
        Ok(subquery(SubqueryKind::Rows, rel, ids))
    }

    /// A mention of a recursive table in its own query. Error 3577 where it may not be.
    pub(super) fn working_rows(&mut self, table: &WorkingTable) -> Result<BoundQuery> {
        if table.mentions.get() == 0 {
            let message = format!(
                "In recursive query block of Recursive Common Table Expression '{}', the recursive table must be \
                 referenced only once, and not in any subquery",
                table.name
            );
            return Err(SqlError::new(ErrorCode::CteRecursiveRequiresSingleReference, message));
        }
        table.mentions.set(table.mentions.get() - 1);
        let mut outputs = Vec::with_capacity(table.outputs.len());
        for output in &table.outputs {
            let id = self.columns.add_computed(output.name.clone(), self.columns.ty(output.id), true);
            self.columns.set_decimals(id, self.columns.get(output.id).decimals);
            outputs.push(Output { id, ..output.clone() });
        }
        let columns = outputs.iter().map(|output| output.id).collect();
        let rel = Rel::Working { table: table.number, name: table.name.to_string(), columns };
        Ok(BoundQuery { rel, outputs })
    }
}

/// The type in which a step hands over a value for a column of the table. The operator stores the value into the
/// column, and knows what is an error; what is not a number, a text or a byte string is converted to the column's type.
fn handed_over(found: SqlType, wanted: SqlType) -> SqlType {
    use SqlType::{Bytes, Decimal, Double, Float, Int, Text, Unsigned};
    match (found, wanted) {
        (Text { length: own, .. }, Text { kind, length, collation }) => {
            Text { kind, length: length.max(own), collation }
        }
        (Float | Double, Text { .. } | Bytes { .. }) => found,
        (_, Text { kind, collation, length }) => Text { kind, length: length.max(SHOWN_LENGTH_MAX), collation },
        (Bytes { length: own, .. } | Text { length: own, .. }, Bytes { kind, length }) => {
            Bytes { kind, length: length.max(own.saturating_mul(4)) }
        }
        (_, Bytes { kind, length }) => Bytes { kind, length: length.max(SHOWN_LENGTH_MAX) },
        (
            Int { .. } | Decimal { .. } | Float | Double | Unsigned(_) | Text { .. } | Bytes { .. },
            Int { .. } | Decimal { .. } | Float | Double | Unsigned(_),
        )
        | (Text { .. }, SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. }) => found,
        (_, wanted) => wanted,
    }
}

/// More characters than a number, a date or a time is shown with.
const SHOWN_LENGTH_MAX: u32 = 400;

fn refused_clause() -> SqlError {
    SqlError::unsupported("ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
}

/// The query blocks of a union, from left to right. Errors: 4114, and 1235 for clauses of a union that reads the table.
fn members<'q>(body: &'q SetExpr, name: &str) -> Result<Vec<Member<'q>>> {
    let one = |body: &'q SetExpr, distinct| Member { body, distinct, is_recursive: mentions(body, name) };
    Ok(match body {
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } => {
            let mut all = members(left, name)?;
            let distinct = *set_quantifier != SetQuantifier::All;
            if !mentions(right, name) {
                all.push(one(right, distinct));
                return Ok(all);
            }
            let mut behind = members(right, name)?;
            if distinct {
                behind.iter_mut().for_each(|member| member.distinct = true);
            } else if behind.iter().any(|member| member.distinct) {
                return Err(SqlError::unsupported(
                    "UNION DISTINCT within UNION ALL in recursive Common Table Expression",
                ));
            }
            all.append(&mut behind);
            for member in &all {
                if member.is_recursive && matches!(member.body, SetExpr::SetOperation { .. }) {
                    let message = "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";
                    return Err(SqlError::new(ErrorCode::CteRecursiveNotAllowedInExceptOrIntersect, message));
                }
            }
            all
        }
        SetExpr::Query(query) if query.order_by.is_some() || query.limit_clause.is_some() => {
            if mentions(&query.body, name) {
                return Err(refused_clause());
            }
            vec![one(body, false)]
        }
        SetExpr::Query(query) if query.with.is_none() => members(&query.body, name)?,
        other => vec![one(other, false)],
    })
}

/// Returns true if the FROM clause of a query block mentions a table of this name.
fn mentions(body: &SetExpr, name: &str) -> bool {
    fn of_tables(tables: &ast::TableWithJoins, name: &str) -> bool {
        let of_factor = |factor: &TableFactor| match factor {
            TableFactor::Table { name: table, .. } => match table.0.as_slice() {
                [part] => part.as_ident().is_some_and(|ident| ident.value == name),
                _ => false,
            },
            TableFactor::NestedJoin { table_with_joins, .. } => of_tables(table_with_joins, name),
            _ => false,
        };
        of_factor(&tables.relation) || tables.joins.iter().any(|join| of_factor(&join.relation))
    }
    match body {
        SetExpr::Select(select) => select.from.iter().any(|tables| of_tables(tables, name)),
        SetExpr::Query(query) => mentions(&query.body, name),
        SetExpr::SetOperation { left, right, .. } => mentions(left, name) || mentions(right, name),
        _ => false,
    }
}

/// Errors: 3575 for groups and windows in a step, 3576 for the table on the inner side of an outer join.
fn check_step(rel: &Rel, name: &str) -> Result<()> {
    fn reads(rel: &Rel) -> bool {
        matches!(rel, Rel::Working { .. }) || rel.inputs().into_iter().any(reads)
    }
    if !reads(rel) {
        return Ok(());
    }
    match rel {
        Rel::Aggregate { .. } | Rel::Rollup { .. } | Rel::Window { .. } => {
            let message = format!(
                "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in \
                 recursive query block"
            );
            Err(SqlError::new(ErrorCode::CteRecursiveForbidsAggregation, message))
        }
        Rel::Join { kind: JoinKind::Left, right, .. } if reads(right) => {
            let message = format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
                 neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
            );
            Err(SqlError::new(ErrorCode::CteRecursiveForbiddenJoinOrder, message))
        }
        other => other.inputs().into_iter().try_for_each(|input| check_step(input, name)),
    }
}
