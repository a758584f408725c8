//! Index merge: rows that several indexes find together (manual 10.2.1.3).
//!
//! ```text
//!   lookup of rows by primary key, all conditions checked
//!     union:         distinct primary keys of            intersection:  semi join of
//!                      covering scan of i1 for a = 1                      covering scan of i1 for a = 1
//!                      covering scan of i2 for b = 2                      covering scan of i2 for b = 2
//! ```

use super::{Planner, append};
use crate::access_path::{self, Reading, Request, hints};
use crate::cost::{CostModel, JoinInput, hash_join_cost, predicates_weight};
use crate::estimate::table_rows;
use crate::index_shape::tree_of;
use crate::options::Options;
use crate::ranges::{Domains, KnownRanges};
use crate::scope::{self, ColSet};
use crate::substitution::{Substitution, substitute};
use muster_algebra::{
    ColId, ColumnMeta, ColumnOrigin, Cost, Estimate, Expr, IndexHint, JoinKind, KeyRange, LogicOp, Plan, PlanOp, Rel,
    SortKey, SqlType, Switch, TableDef,
};
use std::sync::Arc;

/// More branches of an OR are not united.
const BRANCHES_MAX: usize = 32;

/// A table that is read, with conditions that storage can check.
#[derive(Clone, Copy)]
pub(super) struct Merged<'a> {
    pub table: &'a Arc<TableDef>,
    pub alias: &'a str,
    pub columns: &'a [(ColId, usize)],
    pub hints: &'a [IndexHint],
    pub conjuncts: &'a [Expr],
    /// Columns wanted above.
    pub required: &'a ColSet,
    /// The options after the hints for the table.
    pub options: &'a Options,
    /// What is known of the ranges that the conjuncts leave.
    pub known: &'a KnownRanges,
}

/// Primary keys of some of the rows.
pub(super) struct Keys {
    pub plan: Plan,
    /// The columns of the plan that are the parts of the key.
    pub ids: Vec<ColId>,
    pub index: usize,
}

impl Planner<'_> {
    /// The cheapest plan that merges indexes, if the table and its conditions allow it.
    pub(super) fn index_merge(&mut self, merged: Merged<'_>) -> Option<Plan> {
        let options = merged.options;
        if !options.is_on(Switch::IndexMerge) || !options.is_on(Switch::AccessPath) || !has_exact_key(merged.table) {
            return None;
        }
        let mut best: Option<Plan> = None;
        let mut consider = |plan: Option<Plan>| {
            if let Some(plan) = plan
                && best.as_ref().is_none_or(|b| plan.estimate.cost.compared_ms() < b.estimate.cost.compared_ms())
            {
                best = Some(plan);
            }
        };
        if options.is_on(Switch::IndexMergeUnion) || options.is_on(Switch::IndexMergeSortUnion) {
            for (i, conjunct) in merged.conjuncts.iter().enumerate() {
                if let Expr::Logic { op: LogicOp::Or, args } = conjunct
                    && args.len() <= BRANCHES_MAX
                {
                    let keys = self.union(merged, i, args);
                    consider(keys.map(|keys| self.rows_of(merged, keys)));
                }
            }
        }
        if options.is_on(Switch::IndexMergeIntersection) && options.hash_joins() {
            let keys = self.intersection(merged);
            consider(keys.map(|keys| self.rows_of(merged, keys)));
        }
        best
    }

    /// Primary keys of rows for which some branch of an OR holds, each once; every branch by an index of its own.
    fn union(&mut self, merged: Merged<'_>, or: usize, branches: &[Expr]) -> Option<Keys> {
        let others = merged.conjuncts.iter().enumerate().filter(|(i, _)| *i != or).map(|(_, c)| c.clone());
        let others: Vec<Expr> = others.collect();
        let mut inputs = Vec::new();
        for branch in branches {
            let conjuncts = branch.clone().into_conjuncts().into_iter().chain(others.iter().cloned()).collect();
            inputs.push(self.keys(merged, conjuncts, &KnownRanges::default(), None)?);
        }
        if inputs.windows(2).all(|w| w[0].index == w[1].index) {
            return None;
        }
        let outputs: Vec<ColId> = inputs[0].ids.clone().into_iter().map(|id| self.again(id)).collect();
        let (plans, lists): (Vec<Plan>, Vec<Vec<ColId>>) = inputs.into_iter().map(|k| (k.plan, k.ids)).unzip();
        let all = append(plans, lists, outputs.clone());
        let rows = all.estimate.rows.min(table_rows(self.statistics, merged.table));
        let own = self.options.cost.hash_aggregate(all.estimate.rows, rows, outputs.len(), 0);
        let cost = (all.estimate.cost + own).before_first_row();
        let op = PlanOp::HashAggregate { input: Box::new(all), group: outputs.clone(), aggregates: Vec::new() };
        let plan = Plan::new(op, outputs.clone(), Estimate { rows, cost }, Vec::new());
        Some(Keys { plan, ids: outputs, index: 0 })
    }

    /// Primary keys that several indexes have in common.
    fn intersection(&mut self, merged: Merged<'_>) -> Option<Keys> {
        let table = merged.table;
        let total = table_rows(self.statistics, table);
        let clustered = tree_of(self.statistics, table, 0);
        let mut found: Vec<Keys> = Vec::new();
        let domains = Domains::new(table, merged.columns, merged.conjuncts, merged.options, merged.known);
        for index in 1..table.indexes.len() {
            if hints::may_read(index, merged.hints) && domains.ranges(index).is_some_and(|r| r.parts > 0) {
                found.extend(self.keys(merged, merged.conjuncts.to_vec(), merged.known, Some(index)));
            }
        }
        found.sort_by(|a, b| a.plan.estimate.rows.total_cmp(&b.plan.estimate.rows));
        let mut found = found.into_iter();
        let mut all = found.next()?;
        let leading = |keys: &Keys| table.indexes[keys.index].parts[0].column;
        let mut columns = vec![leading(&all)];
        for next in found {
            let (left, right) = (all.plan.estimate, next.plan.estimate);
            // Conditions on different columns are taken to be independent.
            let rows = left.rows * (right.rows / total).min(1.0);
            let input = |rows: f64, keys: &Keys| JoinInput { rows, columns: keys.ids.len() };
            let (build, own) = self.options.cost.hash_join(input(left.rows, &all), input(right.rows, &next), rows);
            let fetches_ms = |rows| self.options.cost.fetches(&clustered, rows, 1.0).compared_ms();
            let saved = fetches_ms(left.rows) - fetches_ms(rows);
            let column = leading(&next);
            if columns.contains(&column) || saved <= (right.cost + own).compared_ms() {
                continue;
            }
            let keys = all.ids.iter().zip(&next.ids).map(|(a, b)| (Expr::Column(*a), Expr::Column(*b))).collect();
            let op = PlanOp::HashJoin {
                kind: JoinKind::Semi,
                left: Box::new(all.plan),
                right: Box::new(next.plan),
                keys,
                residual: Vec::new(),
                build,
            };
            let estimate = Estimate { rows, cost: hash_join_cost(left.cost, right.cost, build, own) };
            all.plan = Plan::new(op, all.ids.clone(), estimate, Vec::new());
            columns.push(column);
        }
        (columns.len() > 1).then_some(all)
    }

    /// Primary keys of rows that some conditions leave, from one index alone: of those for which the conditions make
    /// ranges, the cheapest. `known`: what is known of these ranges.
    fn keys(
        &mut self,
        merged: Merged<'_>,
        conjuncts: Vec<Expr>,
        known: &KnownRanges,
        only: Option<usize>,
    ) -> Option<Keys> {
        let Merged { table, alias, hints, .. } = merged;
        let (columns, renamed) = self.columns_again(merged);
        let rel = Rel::Get { table: table.clone(), alias: alias.into(), columns: columns.clone(), hints: Vec::new() };
        self.learn(&rel);
        let conjuncts: Vec<Expr> = conjuncts.into_iter().map(|c| substitute(c, &renamed)).collect();
        let conjuncts = conjuncts.as_slice();
        let of_part = |column: usize| columns.iter().find(|(_, c)| *c == column).map(|(id, _)| *id);
        let ids: Vec<ColId> = table.indexes[0].parts.iter().map(|p| of_part(p.column)).collect::<Option<_>>()?;
        let required: ColSet = ids.iter().copied().collect();
        let (order, limit, required) = (&[][..], None, &required);
        let columns = &columns;
        let request =
            Request { table, alias, columns, hints, conjuncts, required, order, limit, takes_risks: true, known };
        let clustered = tree_of(self.statistics, table, 0);
        let model = self.options.cost;
        let cost_ms = |p: &Plan| (p.estimate.cost + model.fetches(&clustered, p.estimate.rows, 1.0)).compared_ms();
        let indexes = (0..table.indexes.len()).filter(|i| only.is_none_or(|only| only == *i));
        let plans = indexes.filter(|i| hints::may_read(*i, hints)).filter_map(|index| {
            let plan = access_path::entries(&request, index, self.statistics, &self.estimator, merged.options)?;
            Some((index, plan))
        });
        let (index, plan) = plans.min_by(|(_, a), (_, b)| cost_ms(a).total_cmp(&cost_ms(b)))?;
        Some(Keys { plan, ids, index })
    }

    /// Looks up the rows with these primary keys and checks all conditions on them.
    pub(super) fn rows_of(&self, merged: Merged<'_>, keys: Keys) -> Plan {
        let Merged { table, alias, columns, conjuncts, required, .. } = merged;
        let checked = scope::exprs_columns(conjuncts);
        let read = columns.iter().filter(|(id, _)| required.contains(id) || checked.contains(id)).copied().collect();
        let reading = Reading { table, alias, index: 0, columns: read, conditions: conjuncts.to_vec() };
        let scan = reading.scan(required, &self.estimator, merged.options);
        let output = scan.columns.iter().map(|(id, _)| *id).collect();
        let found = keys.plan.estimate.rows;
        let rows = found.min(table_rows(self.statistics, table) * self.estimator.selectivity(conjuncts));
        let batched = merged.options.batches_keys();
        let (model, tree) = (&self.options.cost, tree_of(self.statistics, table, 0));
        let outer = JoinInput { rows: found, columns: keys.ids.len() };
        let lookups = match batched {
            true => model.lookups(&tree, found, found, model.join_buffer_passes(outer)),
            false => model.single_lookups(&tree, found, found),
        };
        let cost = keys.plan.estimate.cost
            + lookups
            + model.join_buffer(outer, rows)
            + model.filter(found, predicates_weight(conjuncts));
        let op = PlanOp::LookupJoin {
            kind: JoinKind::Inner,
            left: Box::new(keys.plan),
            lookup: Box::new(scan),
            keys: keys.ids.into_iter().map(Expr::Column).collect(),
            residual: Vec::new(),
            entry_condition: Vec::new(),
            batched,
            key_ordered: batched,
            incremental: false,
        };
        Plan::new(op, output, Estimate { rows, cost }, Vec::new())
    }

    /// The table's columns under new numbers, its primary key's among them, and what stands for the old ones.
    pub(super) fn columns_again(&mut self, merged: Merged<'_>) -> (Vec<(ColId, usize)>, Substitution) {
        let Merged { table, alias, .. } = merged;
        let mut renamed = Substitution::new();
        let mut columns: Vec<(ColId, usize)> = Vec::new();
        for (id, column) in merged.columns {
            let new = self.again(*id);
            renamed.insert(*id, Expr::Column(new));
            columns.push((new, *column));
        }
        for part in &table.indexes[0].parts {
            if columns.iter().all(|(_, c)| *c != part.column) {
                columns.push((self.column_of(table, alias, part.column), part.column));
            }
        }
        (columns, renamed)
    }

    /// A number for a column of a table that the query does not name.
    pub(super) fn column_of(&mut self, table: &TableDef, alias: &str, column: usize) -> ColId {
        let definition = &table.columns[column];
        let origin = ColumnOrigin {
            database: table.database.clone(),
            table: table.name.clone(),
            alias: alias.into(),
            column: definition.name.clone(),
        };
        self.columns_mut().add(ColumnMeta {
            name: definition.name.clone(),
            ty: definition.ty,
            nullable: definition.nullable,
            origin: Some(origin),
            decimals: definition.digits.map(|d| d.scale),
        })
    }

    /// A new number for a column of the same kind.
    fn again(&mut self, id: ColId) -> ColId {
        self.columns_mut().add_copy(id)
    }
}

/// Returns true if rows can be looked up by the values of their primary key.
pub(super) fn has_exact_key(table: &TableDef) -> bool {
    let is_exact = |column: usize| !matches!(table.columns[column].ty, SqlType::Float | SqlType::Double);
    table.has_primary_key() && table.key_parts(0).iter().all(|p| p.prefix.is_none() && is_exact(p.column))
}

/// Returns true if finding rows by their primary keys, which merging indexes or a top-N over entries delivers, is
/// better than a scan, which may be in the wanted order.
pub(super) fn is_better(
    merge: &Plan,
    scan: &Plan,
    hints: &[IndexHint],
    order: &[SortKey],
    limit: Option<u64>,
    cost: &CostModel,
) -> bool {
    let reads_all = matches!(&scan.op, PlanOp::Scan(s) if s.index == 0 && s.ranges == [KeyRange::all()] && !s.ordered);
    if reads_all && hints::forces_reading(hints) {
        return true;
    }
    let with_sort = |p: &Plan| {
        let sorts = !order.is_empty() && p.order.is_empty();
        let sort = if sorts { cost.sort(p.estimate.rows, limit, p.output.len()) } else { Cost::ZERO };
        (p.estimate.cost + sort).compared_ms()
    };
    with_sort(merge) < with_sort(scan)
}
