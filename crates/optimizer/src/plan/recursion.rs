//! WITH RECURSIVE: the rows that a recursion begins with, and the plans of its steps.

use super::{Planner, deliver, subplan_cost};
use muster_algebra::{ColId, Cost, Estimate, Expr, Plan, PlanOp, Recursion, Rel};
use muster_types::{Result, SqlError};

/// Rows of one round, of which nothing is known before it runs.
const WORKING_ROWS: f64 = 10.0;
/// Rounds that a recursion is expected to have.
const ROUNDS: f64 = 10.0;

/// The rows of the round before.
pub(super) fn working(table: usize, name: &str, columns: &[ColId]) -> Plan {
    let estimate = Estimate { rows: WORKING_ROWS, cost: Cost::ZERO };
    Plan::new(PlanOp::Working { table, name: name.to_string() }, columns.to_vec(), estimate, Vec::new())
}

impl Planner<'_> {
    pub(super) fn plan_recursive(&mut self, input: &Rel, recursion: &Recursion) -> Result<Plan> {
        let seed = self.plan(input, &recursion.seed.iter().copied().collect())?;
        let seed = deliver(seed, &recursion.seed);
        let mut recursion = recursion.clone();
        for step in &mut recursion.steps {
            *step = self.lower(std::mem::replace(step, Expr::bool(true)))?;
            if !matches!(step, Expr::Subplan(_)) {
                return Err(SqlError::internal("a recursion without a subplan"));
            }
        }
        let steps: Cost = recursion.steps.iter().map(|step| subplan_cost(step, &self.options.cost, |_| ROUNDS)).sum();
        let cost = seed.estimate.cost.then(steps * ROUNDS);
        let estimate = Estimate { rows: seed.estimate.rows * ROUNDS, cost };
        let output = recursion.columns.clone();
        let op = PlanOp::Recursive { input: Box::new(seed), recursion: Box::new(recursion) };
        Ok(Plan::new(op, output, estimate, Vec::new()))
    }
}
