//! Window functions: one node for each division of the rows and order of them. Its input is sorted, unless it comes in
//! that order. What the node mentions are columns and constants: the binder computes everything else below it.

use super::{Planner, order};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, CompareOp, Estimate, Expr, Plan, PlanOp, Rel, Value, Window, WindowFunction};
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
        let fetch = first_rows(&window);
        let mut plan = self.plan_ordered(input, &keys, fetch, &below)?;
        if !plan.order.starts_with(&keys) {
            plan = order::sorted(plan, keys, fetch, &self.options.cost);
        }
        let rows = plan.estimate.rows;
        let cost = plan.estimate.cost + self.options.cost.window(rows, window.calls.len());
        let output = plan.output.iter().copied().chain(window.calls.iter().map(|(id, _)| *id)).collect();
        let given = plan.order.clone();
        Ok(Plan::new(PlanOp::Window { input: Box::new(plan), window }, output, Estimate { rows, cost }, given))
    }

    /// Windows with conditions above them. Of conditions such as `ROW_NUMBER() .. <= 3` rows beyond are not delivered.
    pub(super) fn plan_filtered_window(
        &mut self,
        input: &Rel,
        window: &Window,
        predicates: &[Expr],
        required: &ColSet,
    ) -> Result<Plan> {
        let mut below = required.clone();
        below.extend(scope::exprs_columns(predicates));
        let mut window = window.clone();
        window.calls.retain(|(id, _)| below.contains(id));
        window.limit = limit_of(&window, predicates);
        let plan = self.plan_window(input, &window, &below)?;
        self.filter(plan, predicates.to_vec(), required)
    }
}

/// The least limit that conditions set to the number or rank of rows in a window of nothing but such functions.
fn limit_of(window: &Window, predicates: &[Expr]) -> Option<(ColId, u64)> {
    if !window.calls.iter().all(|(_, call)| call.function.is_running_place()) {
        return None;
    }
    let limits = predicates.iter().filter_map(|predicate| {
        let Expr::Compare { op, left, right } = predicate else { return None };
        let (op, id, value) = match (&**left, &**right) {
            (Expr::Column(id), Expr::Literal { value, .. }) => (*op, *id, value),
            (Expr::Literal { value, .. }, Expr::Column(id)) => (op.mirrored(), *id, value),
            _ => return None,
        };
        let most = match value {
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            Value::UInt(number) => *number,
            _ => return None,
        };
        let is_place = window.calls.iter().any(|(call, _)| *call == id);
        let most = match op {
            CompareOp::LtEq | CompareOp::Eq | CompareOp::NullSafeEq => most,
            CompareOp::Lt => most.saturating_sub(1),
            _ => return None,
        };
        is_place.then_some((id, most))
    });
    limits.min_by_key(|(_, most)| *most)
}

/// How many rows of the input are enough, if the rows are one partition and numbered.
fn first_rows(window: &Window) -> Option<u64> {
    let (id, most) = window.limit.filter(|_| window.partition.is_empty())?;
    let mut calls = window.calls.iter();
    calls.any(|(call, own)| *call == id && own.function == WindowFunction::RowNumber).then_some(most.max(1))
}
