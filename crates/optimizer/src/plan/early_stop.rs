//! Index-order top-N with a bound: an ordered scan that checks conditions and stops early may find its rows at the far
//! end of the order. Another plan for the same rows stands by, and the scan has a budget of what that one costs. So
//! such a scan never costs more than twice the other plan.
//!
//! ```text
//!   EarlyStop
//!     scan of PRIMARY, backward, state = 'A' or state = 'B', limit 20      until it has cost as much as the plan below
//!     Sort: id desc, 20 rows                                           whose first rows the scan has delivered by then
//!       scan of i_state over 'A', 'B'
//! ```
//!
//! The other plan sorts by all columns of the index's key, the primary key's among them. Where these are no total order
//! (a part with a prefix, a table without a primary key), there is no budget.

use super::{Planner, Wanted, deliver, order};
use crate::access_path::EarlyStopRisk;
use crate::ranges::fixed_parts;
use crate::scope::ColSet;
use muster_algebra::{ColId, Expr, KeyPart, Plan, PlanOp, Rel, Scan, ScanBudget, SortKey, Switch};
use muster_types::Result;

impl Planner<'_> {
    /// The plan of an ordered scan with a fallback, if it needs one and has one. `conjuncts`: all conditions on the
    /// table.
    pub(super) fn with_fallback(
        &mut self,
        stop: Plan,
        risk: &EarlyStopRisk,
        get: &Rel,
        conjuncts: &[Expr],
    ) -> Result<Plan> {
        let (PlanOp::Scan(scan), Rel::Get { table, alias, columns, hints }) = (&stop.op, get) else {
            return Ok(stop);
        };
        let (Some(limit), true) = (scan.limit, self.options.for_rel(get).is_on(Switch::OrderFallback)) else {
            return Ok(stop);
        };
        let Some(positions) = whole_order(scan, &stop.order) else { return Ok(stop) };
        let mut columns = columns.clone();
        let mut keys = stop.order.clone();
        for (position, descending) in positions {
            let id = match columns.iter().find(|(_, c)| *c == position) {
                Some((id, _)) => *id,
                None => {
                    let id = self.column_of(table, alias, position);
                    columns.push((id, position));
                    id
                }
            };
            keys.push(SortKey { expr: Expr::Column(id), descending });
        }
        let wider = Rel::Get { table: table.clone(), alias: alias.clone(), columns, hints: hints.clone() };
        self.learn(&wider);
        let ordered_by = keys.iter().filter_map(|key| match key.expr {
            Expr::Column(id) => Some(id),
            _ => None,
        });
        let required: ColSet = stop.output.iter().copied().chain(ordered_by).collect();
        let fallback = self.plan_get(
            &wider,
            conjuncts,
            &required,
            Wanted { order: &keys, limit: Some(limit), takes_risks: false },
        )?;
        if reads_as_much(&fallback, scan) {
            return Ok(stop);
        }
        let fallback = match fallback.order.starts_with(&keys) {
            true => fallback,
            false => order::sorted(fallback, keys, Some(limit), &self.options.cost),
        };
        let cost_ms = fallback.estimate.cost.total_ms();
        if risk.worst_ms <= 2.0 * cost_ms {
            return Ok(stop);
        }
        let fallback = Box::new(deliver(fallback, &stop.output));
        let budget = ScanBudget { cost_ms, ..risk.prices };
        let (output, estimate, order) = (stop.output.clone(), stop.estimate, stop.order.clone());
        Ok(Plan::new(PlanOp::EarlyStop { input: Box::new(stop), fallback, budget }, output, estimate, order))
    }
}

/// The parts of the key that a scan's rows are ordered by behind `order`: columns, and whether they descend. With them
/// no two rows are equal. `None` if a part is not a whole column before that is so.
fn whole_order(scan: &Scan, order: &[SortKey]) -> Option<Vec<(usize, bool)>> {
    let (table, definition) = (&scan.table, &scan.table.indexes[scan.index]);
    let parts = table.key_parts(scan.index);
    let fixed = fixed_parts(&scan.ranges);
    let is_ordered_by = |column: usize| {
        let is_column = |id: ColId| scan.columns.iter().any(|(own, position)| *own == id && *position == column);
        order.iter().any(|key| matches!(key.expr, Expr::Column(id) if is_column(id)))
    };
    let mut rest: Vec<(usize, bool)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let never_null = |part: &KeyPart| !table.columns[part.column].nullable;
        if scan.index > 0 && definition.unique && at == definition.parts.len() && parts[..at].iter().all(never_null) {
            return Some(rest);
        }
        if at < fixed {
            continue;
        }
        if part.prefix.is_some() {
            return None;
        }
        if !is_ordered_by(part.column) && rest.iter().all(|(column, _)| *column != part.column) {
            rest.push((part.column, part.descending != scan.reverse));
        }
    }
    table.has_primary_key().then_some(rest)
}

/// Returns true if a plan goes through all entries that a scan goes through, or more of them.
fn reads_as_much(plan: &Plan, scan: &Scan) -> bool {
    let here = matches!(&plan.op, PlanOp::Scan(s) if s.index == scan.index && s.ranges == scan.ranges);
    here || plan.inputs().into_iter().any(|input| reads_as_much(input, scan))
}
