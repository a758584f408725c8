//! GROUP BY .. WITH ROLLUP: copies of the rows for each level, below the aggregate that groups them.

use super::Planner;
use crate::scope::ColSet;
use muster_algebra::{Estimate, Plan, PlanOp, Rel, Rollup};
use muster_types::Result;

impl Planner<'_> {
    pub(super) fn plan_rollup(&mut self, input: &Rel, rollup: &Rollup, required: &ColSet) -> Result<Plan> {
        let produced: ColSet = rollup.columns().collect();
        let mut below: ColSet = required.difference(&produced).copied().collect();
        below.extend(rollup.sources());
        let plan = self.plan(input, &below)?;
        let rows = plan.estimate.rows * rollup.copies() as f64;
        let cost = plan.estimate.cost + self.options.cost.rollup(rows);
        let output = plan.output.iter().copied().chain(rollup.columns()).collect();
        let op = PlanOp::Rollup { input: Box::new(plan), rollup: rollup.clone() };
        Ok(Plan::new(op, output, Estimate { rows, cost }, Vec::new()))
    }
}
