//! JSON_TABLE.

use super::Planner;
use crate::scope::{self, ColSet};
use muster_algebra::{Estimate, JsonTable, Plan, PlanOp, Rel};
use muster_types::Result;

/// Rows that a document is expected to have, as MySQL expects (`Table_function_json::fill_result_table`): nothing is
/// known of it.
const ROWS_OF_DOCUMENT: f64 = 2.0;
/// Steps of a projection that following a path and storing its value take.
const STEPS_OF_COLUMN: usize = 8;

impl Planner<'_> {
    /// The rows of the input with those of their documents.
    pub(super) fn plan_json_table(
        &mut self,
        input: &Rel,
        table: &JsonTable,
        keeps: bool,
        required: &ColSet,
    ) -> Result<Plan> {
        let mut below = required.clone();
        below.extend(scope::expr_columns(&table.document));
        let input = self.plan(input, &below)?;
        let mut table = table.clone();
        table.document = self.lower(table.document)?;
        let output = input.output.iter().chain(&table.outputs).copied().collect();
        let rows = input.estimate.rows * ROWS_OF_DOCUMENT;
        let steps = STEPS_OF_COLUMN * table.outputs.len().max(1);
        let cost = input.estimate.cost + self.options.cost.project(rows, steps as f64);
        let order = input.order.clone();
        let op = PlanOp::JsonTable { input: Box::new(input), table: Box::new(table), keeps };
        Ok(Plan::new(op, output, Estimate { rows, cost }, order))
    }
}
