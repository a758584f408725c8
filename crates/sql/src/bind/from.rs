//! FROM: joins.

use super::{
    binder::{Binder, MAX_TABLES},
    lateral::{LateralJoin, LateralTables, has_lateral, is_lateral},
    scope::{Clause, FromClause, FromColumn, Names, Scope},
};
use muster_algebra::{ColId, Expr, JoinKind, Rel};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast::{self, JoinConstraint, JoinOperator, TableFactor};

/// A part of FROM: its rows and its names.
pub(crate) struct Joined {
    pub rel: Rel,
    pub from: FromClause,
}

impl Binder<'_> {
    /// The whole clause; one row without columns when there is none.
    pub fn tables_of(&mut self, tables: &[ast::TableWithJoins], names: &Names, straight: bool) -> Result<Joined> {
        let mut all: Option<Joined> = None;
        for table in tables {
            if tables.len() == 1 && is_dual(table) {
                break;
            }
            all = Some(match all {
                None => self.table_with_joins(table, names, straight)?,
                Some(left) if has_lateral(table) => self.behind_comma(left, table, names, straight)?,
                Some(left) => {
                    let next = self.table_with_joins(table, names, straight)?;
                    self.inner(left, next, Vec::new(), straight)?
                }
            });
        }
        let joined = all.unwrap_or_else(|| Joined { rel: Rel::dual(), from: FromClause::default() });
        if joined.from.relations.len() > MAX_TABLES {
            return Err(SqlError::new(
                ErrorCode::TooManyTables,
                format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join"),
            ));
        }
        Ok(joined)
    }

    /// Joins tables of which one is lateral with those in front of a comma, which it sees. The comma binds less than
    /// the joins behind it.
    fn behind_comma(
        &mut self,
        left: Joined,
        table: &ast::TableWithJoins,
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        if !table.joins.iter().all(follows_comma) {
            return self.lateral_join(left, LateralTables::Joined(table), LateralJoin::Cross, names, straight);
        }
        let first = match is_lateral(&table.relation) {
            true => {
                let factor = LateralTables::Factor(&table.relation);
                self.lateral_join(left, factor, LateralJoin::Cross, names, straight)?
            }
            false => {
                let next = self.table_factor(&table.relation, names, straight)?;
                self.inner(left, next, Vec::new(), straight)?
            }
        };
        self.joined(first, &table.joins, names, straight)
    }

    pub fn table_with_joins(&mut self, table: &ast::TableWithJoins, names: &Names, straight: bool) -> Result<Joined> {
        self.joined_tables(&table.relation, &table.joins, names, straight)
    }

    /// A table with the joins behind it. A lateral table to the left of a RIGHT JOIN sees the tables to its right, for
    /// the join is a LEFT JOIN the other way round.
    #[inline(always)] // Brackets within brackets take as little of the stack as they can.
    pub(super) fn joined_tables(
        &mut self,
        first: &TableFactor,
        joins: &[ast::Join],
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        if let Some(at) = right_join_behind_lateral(first, joins) {
            return self.right_lateral_tables(first, joins, at, names, straight);
        }
        let left = self.table_factor(first, names, straight)?;
        self.joined(left, joins, names, straight)
    }

    #[inline(never)]
    fn right_lateral_tables(
        &mut self,
        first: &TableFactor,
        joins: &[ast::Join],
        at: usize,
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        let left = self.right_lateral_join(first, &joins[..at], &joins[at], names, straight)?;
        self.joined(left, &joins[at + 1..], names, straight)
    }

    /// The tables to the left, with the joins behind them.
    fn joined(&mut self, left: Joined, joins: &[ast::Join], names: &Names, straight: bool) -> Result<Joined> {
        let mut left = left;
        for join in joins {
            if join.global {
                return Err(SqlError::unsupported("GLOBAL JOIN"));
            }
            if is_lateral(&join.relation) && !is_right_join(join) {
                let factor = LateralTables::Factor(&join.relation);
                left = self.lateral_join(left, factor, LateralJoin::By(&join.join_operator), names, straight)?;
                continue;
            }
            let right = self.table_factor(&join.relation, names, straight)?;
            left = self.join(left, right, &join.join_operator, names, straight)?;
        }
        Ok(left)
    }

    pub(super) fn table_factor(&mut self, factor: &TableFactor, names: &Names, straight: bool) -> Result<Joined> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.table_with_joins(table_with_joins, names, straight)
            }
            other => self.single_table(other, names),
        }
    }

    fn inner(&mut self, left: Joined, right: Joined, on: Vec<Expr>, straight: bool) -> Result<Joined> {
        let from = left.from.join(right.from)?;
        let rel =
            Rel::Join { kind: JoinKind::Inner, left: Box::new(left.rel), right: Box::new(right.rel), on, straight };
        Ok(Joined { rel, from })
    }

    fn join(
        &mut self,
        left: Joined,
        right: Joined,
        operator: &JoinOperator,
        names: &Names,
        straight: bool,
    ) -> Result<Joined> {
        // Which side's rows are all kept: none, the left, the right.
        enum Keeps {
            None,
            Left,
            Right,
        }
        let (keeps, constraint, straight) = match operator {
            JoinOperator::Join(c) | JoinOperator::Inner(c) | JoinOperator::CrossJoin(c) => (Keeps::None, c, straight),
            JoinOperator::StraightJoin(c) => (Keeps::None, c, true),
            JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (Keeps::Left, c, straight),
            JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (Keeps::Right, c, straight),
            JoinOperator::FullOuter(_) => return Err(SqlError::unsupported("FULL OUTER JOIN")),
            _ => return Err(SqlError::unsupported("this kind of JOIN")),
        };
        let outer = !matches!(keeps, Keeps::None);
        if outer && matches!(constraint, JoinConstraint::None) {
            return Err(SqlError::syntax("", 1));
        }
        let (left_columns, left_ids) = (left.from.columns.len(), left.rel.output());
        let right_ids = right.rel.output();
        let keeps_right = matches!(keeps, Keeps::Right);
        let mut from = left.from.join(right.from)?;
        let on = self.join_condition(constraint, &mut from, left_columns, keeps_right, names)?;
        if matches!(keeps, Keeps::None) {
            self.dependencies.add_conditions(&on);
            let rel =
                Rel::Join { kind: JoinKind::Inner, left: Box::new(left.rel), right: Box::new(right.rel), on, straight };
            return Ok(Joined { rel, from });
        }
        let (kept, kept_ids, extended, extended_ids) = if keeps_right {
            (right.rel, right_ids, left.rel, left_ids)
        } else {
            (left.rel, left_ids, right.rel, right_ids)
        };
        self.dependencies.add_left_join(&on, &kept_ids);
        self.null_extended.extend(extended_ids);
        let rel = Rel::Join { kind: JoinKind::Left, left: Box::new(kept), right: Box::new(extended), on, straight };
        Ok(Joined { rel, from })
    }

    /// The condition of a join whose sides are in `from`, the left one with so many columns. With USING and NATURAL the
    /// columns that both sides have are one there.
    pub(super) fn join_condition(
        &mut self,
        constraint: &JoinConstraint,
        from: &mut FromClause,
        left_columns: usize,
        keeps_right: bool,
        names: &Names,
    ) -> Result<Vec<Expr>> {
        match constraint {
            JoinConstraint::None => Ok(Vec::new()),
            JoinConstraint::On(condition) => {
                let scope = Scope::within(from, names.outer);
                let item = self.expression(condition, &scope, names, Clause::On)?;
                Ok(self.condition(item).into_conjuncts())
            }
            JoinConstraint::Using(columns) => {
                let columns: Result<Vec<String>> = columns.iter().map(single_name).collect();
                self.using(from, left_columns, columns?, keeps_right)
            }
            JoinConstraint::Natural => {
                let shared = shared_names(from, left_columns);
                self.using(from, left_columns, shared, keeps_right)
            }
        }
    }

    /// USING: each column equal on both sides, and there once, before all others. The side whose rows are all kept has
    /// its value. The columns stand in the order of the first table, not of the list (manual 15.2.13.2).
    pub(super) fn using(
        &mut self,
        from: &mut FromClause,
        left_columns: usize,
        shared: Vec<String>,
        keeps_right: bool,
    ) -> Result<Vec<Expr>> {
        let (left, right): (Vec<usize>, Vec<usize>) = from.visible.iter().partition(|i| **i < left_columns);
        let mut on = Vec::new();
        let (mut merged, mut hidden) = (Vec::new(), Vec::new());
        for name in shared {
            let one = |side: &[usize]| -> Result<usize> {
                let mut found = side.iter().filter(|i| from.columns[**i].name.eq_ignore_ascii_case(&name));
                match (found.next(), found.next()) {
                    (Some(i), None) => Ok(*i),
                    (None, _) => Err(SqlError::unknown_column(&name, "from clause")),
                    _ => Err(SqlError::new(ErrorCode::NonUniq, format!("Column '{name}' in from clause is ambiguous"))),
                }
            };
            let (l, r) = (one(&left)?, one(&right)?);
            let (a, b) = (self.read_column(from.columns[l].id), self.read_column(from.columns[r].id));
            on.push(self.compare(muster_algebra::CompareOp::Eq, a, b)?.expr);
            merged.push(if keeps_right { r } else { l });
            hidden.push(if keeps_right { l } else { r });
        }
        // A RIGHT JOIN is a LEFT JOIN the other way round, and shows its sides' columns in that order.
        let (first, second) = if keeps_right { (right, left) } else { (left, right) };
        let (common, own): (Vec<usize>, Vec<usize>) = first.into_iter().partition(|i| merged.contains(i));
        let rest = second.into_iter().filter(|i| !hidden.contains(i));
        from.visible = common.into_iter().chain(own).chain(rest).collect();
        Ok(on)
    }
}

fn is_right_join(join: &ast::Join) -> bool {
    matches!(join.join_operator, JoinOperator::Right(_) | JoinOperator::RightOuter(_))
}

/// The last RIGHT JOIN, if a table to its left is lateral.
fn right_join_behind_lateral(first: &TableFactor, joins: &[ast::Join]) -> Option<usize> {
    let at = joins.iter().rposition(is_right_join)?;
    (is_lateral(first) || joins[..at].iter().any(|join| is_lateral(&join.relation))).then_some(at)
}

/// Returns true for a join that is the same with the tables in front of a comma on its left side: it keeps no rows of
/// its right side and joins by no common columns.
fn follows_comma(join: &ast::Join) -> bool {
    use JoinOperator::{CrossJoin, Inner, Join, Left, LeftOuter, StraightJoin};
    match &join.join_operator {
        Join(c) | Inner(c) | CrossJoin(c) | StraightJoin(c) | Left(c) | LeftOuter(c) => {
            matches!(c, JoinConstraint::None | JoinConstraint::On(_))
        }
        _ => false,
    }
}

/// `FROM DUAL`: no table.
pub(super) fn is_dual(table: &ast::TableWithJoins) -> bool {
    let TableFactor::Table { name, alias: None, .. } = &table.relation else { return false };
    table.joins.is_empty()
        && matches!(&name.0[..], [ast::ObjectNamePart::Identifier(i)]
            if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("dual"))
}

/// The columns that a NATURAL JOIN joins by.
fn shared_names(from: &FromClause, left_columns: usize) -> Vec<String> {
    let (left, right): (Vec<usize>, Vec<usize>) = from.visible.iter().partition(|i| **i < left_columns);
    let is_it =
        |i: &usize, c: &FromColumn| !from.columns[*i].invisible && from.columns[*i].name.eq_ignore_ascii_case(&c.name);
    let has = |side: &[usize], c: &FromColumn| side.iter().any(|i| is_it(i, c));
    let named = left.iter().map(|i| &from.columns[*i]).filter(|c| !c.invisible);
    named.filter(|c| has(&right, c)).map(|c| c.name.clone()).collect()
}

/// An object's name that must have one part.
fn single_name(name: &ast::ObjectName) -> Result<String> {
    match &name.0[..] {
        [ast::ObjectNamePart::Identifier(i)] => Ok(i.value.clone()),
        _ => Err(SqlError::syntax(name, 1)),
    }
}

/// Names of `[database.]table`.
pub(crate) fn name_parts(name: &ast::ObjectName) -> Result<(Option<&str>, &str)> {
    use ast::ObjectNamePart::Identifier;
    match &name.0[..] {
        [Identifier(table)] => Ok((None, &table.value)),
        [Identifier(database), Identifier(table)] => Ok((Some(&database.value), &table.value)),
        _ => Err(SqlError::syntax(name, 1)),
    }
}

/// A column's id under its name.
pub(crate) type NamedColumn = (String, ColId);
