//! Window functions: one node for each division of the rows and order of them. Its input is sorted, unless it comes in
//! that order. What the node mentions are columns and constants: the binder computes everything else below it.

use super::{Planner, order};
use crate::scope::{self, ColSet};
use muster_algebra::{Estimate, Plan, PlanOp, Rel, Window};
use muster_types::Result;

impl Planner<'_> {
    pub(super) fn plan_window(&mut self, input: &Rel, window: &Window, required: &ColSet) -> Result<Plan> {
        let mut window = window.clone();
        window.calls.retain(|(id, _)| required.contains(id));
        if window.calls.is_empty() {
            return self.plan(input, required);
        }
        let produced: ColSet = window.calls.iter().map(|(id, _)| *id).collect();
        let mut below: ColSet = required.difference(&produced).copied().collect();
        below.extend(scope::exprs_columns(window.exprs()));
        let keys = window.sort_keys();
        let mut plan = self.plan_ordered(input, &keys, None, &below)?;
        if !plan.order.starts_with(&keys) {
            plan = order::sorted(plan, keys, None, &self.options.cost);
        }
        let rows = plan.estimate.rows;
        let cost_ms = plan.estimate.cost_ms + self.options.cost.window(rows, window.calls.len());
        let output = plan.output.iter().copied().chain(window.calls.iter().map(|(id, _)| *id)).collect();
        let given = plan.order.clone();
        Ok(Plan::new(PlanOp::Window { input: Box::new(plan), window }, output, Estimate { rows, cost_ms }, given))
    }
}
