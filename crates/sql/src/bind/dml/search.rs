//! The rows of an UPDATE or DELETE: conditions, order, limit, and the relation that finds them.

use super::{
    ChangeTarget, Search, Surroundings, TableSearch,
    target::{base_tables, computed_columns, expose, one_table, replaced},
};
use crate::{
    ScalarExpr,
    bind::{
        binder::Binder,
        from::Joined,
        order,
        scope::{Clause, Names, Relation, Scope},
    },
};
use muster_algebra::{ColId, Expr, IndexHint, Rel, SortKey};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast;

/// The clauses behind the tables.
#[derive(Default)]
pub(super) struct Clauses {
    pub conditions: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub limit: Option<u64>,
}

/// The rows of the target.
pub(super) fn get(target: &ChangeTarget, hints: Vec<IndexHint>) -> Rel {
    let columns = target.columns.iter().enumerate().map(|(i, id)| (*id, i)).chain(row_number(target)).collect();
    Rel::Get { table: target.table.clone(), alias: target.alias.clone(), columns, hints }
}

/// The hidden row number as a column of the table: it stands behind the declared ones.
fn row_number(target: &ChangeTarget) -> Option<(ColId, usize)> {
    target.row_number.map(|id| (id, target.table.columns.len()))
}

impl Binder<'_> {
    pub(super) fn clauses(
        &mut self,
        joined: &Joined,
        condition: Option<&ScalarExpr>,
        order_by: &[ast::OrderByExpr],
        limit: Option<&ScalarExpr>,
        names: &Names,
    ) -> Result<Clauses> {
        let scope = Scope::of(&joined.from);
        let mut clauses = Clauses::default();
        if let Some(condition) = condition {
            let item = self.expression(&condition.ast, &scope, names, Clause::Where)?;
            clauses.conditions = self.conditions(item, &joined.from);
        }
        for key in order_by {
            order::position(&key.expr, 0, Clause::OrderBy)?;
            let expr = self.expression(&key.expr, &scope, names, Clause::OrderBy)?.expr;
            if !matches!(expr, Expr::Literal { .. }) {
                clauses.order.push(SortKey { expr, descending: order::descending(key)? });
            }
        }
        clauses.limit = limit.map(|l| order::limit_number(self, &l.ast)).transpose()?;
        Ok(clauses)
    }

    /// Error 1093 if a table that loses or changes rows is read by the statement, too, after its own tables: there were
    /// `own` of those. Derived tables that are computed before may do so.
    pub(super) fn refuse_reading_targets(&self, own: usize, targets: &[ChangeTarget]) -> Result<()> {
        for read in &self.reads[own..] {
            if let Some(target) = targets.iter().find(|t| t.table.id == read.table && !read.is_sheltered) {
                return Err(target_is_read(target));
            }
        }
        Ok(())
    }

    /// The base table that a column is of, as a target; that of an earlier one, if it is the same.
    pub(super) fn target_of(
        &mut self,
        joined: &Joined,
        column: ColId,
        targets: &mut Vec<ChangeTarget>,
        statement: &str,
    ) -> Result<usize> {
        match joined.from.relation_of(column) {
            Some(relation) => self.base_target(joined, relation, column, targets, statement),
            None => Err(SqlError::internal("a column of no table")),
        }
    }

    /// The base table that a column is of, which belongs to this relation of FROM.
    pub(super) fn base_target(
        &mut self,
        joined: &Joined,
        relation: &Relation,
        column: ColId,
        targets: &mut Vec<ChangeTarget>,
        statement: &str,
    ) -> Result<usize> {
        let stored = self.stored_column(column);
        if let Some(at) = targets.iter().position(|t| t.columns.contains(&stored)) {
            return Ok(at);
        }
        let tables = base_tables(&joined.rel, false);
        let Some(base) = tables.iter().find(|base| base.position(stored).is_some()) else {
            return Err(super::target::not_updatable(&relation.alias, statement));
        };
        super::target::refuse_virtual(base.table, statement)?;
        let database = relation.database.clone().unwrap_or_default();
        let name = match &relation.source {
            super::RelationSource::View(view) => view.name.clone(),
            _ => base.table.name.clone(),
        };
        let mut target = self.target(base, &relation.alias, (database, name));
        target.check = Self::view_check(&relation.source, &computed_columns(&joined.rel));
        targets.push(target);
        Ok(targets.len() - 1)
    }

    /// The search. `values`: the new values, which become expressions over its rows. `all_columns`: whether the rows
    /// need more than the keys of the targets.
    pub(super) fn search(
        &mut self,
        joined: Joined,
        clauses: Clauses,
        targets: &[ChangeTarget],
        mut values: Vec<&mut Expr>,
        all_columns: bool,
    ) -> Search {
        // What is computed from a target's columns alone sees their new values.
        let own: Vec<ColId> = targets.iter().flat_map(|t| t.columns.iter().copied()).collect();
        let mut computed = computed_columns(&joined.rel);
        computed.retain(|_, expr| !expr.has_subquery() && expr.columns().iter().all(|id| own.contains(id)));
        values.iter_mut().for_each(|value| **value = replaced((**value).clone(), &computed));
        let has_subquery = values.iter().any(|value| value.has_subquery())
            || clauses.conditions.iter().any(Expr::has_subquery)
            || clauses.order.iter().any(|key| key.expr.has_subquery());
        if let (false, Some((base, inner)), [_]) = (has_subquery, one_table(&joined.rel), targets) {
            let conditions: Vec<Expr> =
                inner.into_iter().chain(clauses.conditions.iter().cloned()).map(|c| replaced(c, &computed)).collect();
            let within = |expr: &Expr| !expr.has_subquery() && expr.columns().iter().all(|id| own.contains(id));
            let order: Vec<SortKey> = clauses
                .order
                .iter()
                .map(|key| SortKey { expr: replaced(key.expr.clone(), &computed), descending: key.descending })
                .collect();
            if conditions.iter().chain(order.iter().map(|k| &k.expr)).all(within) && values.iter().all(|v| within(v)) {
                let hints = base.hints.to_vec();
                return Search::Table(TableSearch { conditions, order, limit: clauses.limit, hints });
            }
        }
        self.query_search(joined, clauses, targets, values, all_columns)
    }

    fn query_search(
        &mut self,
        joined: Joined,
        clauses: Clauses,
        targets: &[ChangeTarget],
        values: Vec<&mut Expr>,
        all_columns: bool,
    ) -> Search {
        let mut rel = joined.rel;
        let mut outputs: Vec<ColId> = Vec::new();
        for target in targets {
            let columns: Vec<ColId> = if all_columns { target.columns.clone() } else { target.key() };
            let position = |id: &ColId| target.columns.iter().position(|c| c == id).map(|i| (*id, i));
            let wanted: Vec<(ColId, usize)> = columns.iter().filter_map(position).chain(row_number(target)).collect();
            outputs.extend(wanted.iter().map(|(id, _)| *id));
            let known = target.columns.iter().copied().find(|id| has_column(&rel, *id)).unwrap_or(target.columns[0]);
            expose(&mut rel, known, &wanted);
        }
        if !clauses.conditions.is_empty() {
            rel = Rel::Filter { input: Box::new(rel), predicates: clauses.conditions };
        }
        if !clauses.order.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: clauses.order };
        }
        if clauses.limit.is_some() {
            rel = Rel::Limit { input: Box::new(rel), offset: 0, count: clauses.limit };
        }
        let mut taken = Vec::new();
        let available = rel.output();
        let checks = targets.iter().filter_map(|t| t.check.as_ref()).flat_map(|c| &c.conditions);
        let mut mentioned: Vec<ColId> = checks.flat_map(Expr::columns).collect();
        for value in values {
            self.take_subqueries(value, &mut taken);
            mentioned.extend(value.columns());
        }
        for id in mentioned {
            if available.contains(&id) && !outputs.contains(&id) {
                outputs.push(id);
            }
        }
        let mut exprs: Vec<(ColId, Expr)> = outputs.into_iter().map(|id| (id, Expr::Column(id))).collect();
        exprs.extend(taken);
        Search::Query(Rel::Project { input: Box::new(rel), exprs })
    }

    /// The end of binding a statement whose search is this.
    pub(super) fn surroundings(mut self, search: &mut Search) -> Surroundings {
        let hints = match search {
            Search::Query(rel) => self.resolve_hints(rel),
            Search::Table(_) => self.resolve_hints(&mut Rel::dual()),
        };
        let denied = self.column_rights.take_error();
        Surroundings {
            denied,
            columns: self.columns,
            tables: self.tables,
            tables_again: self.tables_again,
            warnings: self.warnings.into_iter().chain(self.notes).collect(),
            hints,
            constants: None,
            dependent: Vec::new(),
        }
    }
}

/// Returns true if a base table of the relation has the column.
fn has_column(rel: &Rel, id: ColId) -> bool {
    base_tables(rel, false).iter().any(|base| base.position(id).is_some())
}

/// Error 1093.
pub(super) fn target_is_read(target: &ChangeTarget) -> SqlError {
    let message = format!("You can't specify target table '{}' for update in FROM clause", target.alias);
    SqlError::new(ErrorCode::UpdateTableUsed, message)
}
