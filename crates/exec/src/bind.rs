//! Puts values in place of the outer columns and of the parameters that a plan mentions.

use muster_algebra::{ColId, Expr, Plan, PlanOp};
use muster_types::{Result, SqlError, Value, cast};
use std::{borrow::Cow, collections::HashMap};

/// Replaces every `Expr::Column` of `values` in the plan and in the subplans inside it.
pub fn bind(plan: &mut Plan, values: &HashMap<ColId, Expr>) {
    // Rows of the whole statement are the same for every place that reads them, so without outer columns.
    if matches!(plan.op, PlanOp::Shared { per_run: false, .. }) {
        return;
    }
    plan.inputs_mut().into_iter().for_each(|input| bind(input, values));
    plan.exprs_mut().into_iter().for_each(|expr| bind_expr(expr, values));
}

fn bind_expr(expr: &mut Expr, values: &HashMap<ColId, Expr>) {
    if let Expr::Column(id) = expr {
        if let Some(value) = values.get(id) {
            *expr = value.clone();
        }
        return;
    }
    expr.children_mut().into_iter().for_each(|c| bind_expr(c, values));
    if let Expr::Subplan(subplan) = expr {
        bind(&mut subplan.plan, values);
        subplan.params.retain(|id| !values.contains_key(id));
    }
}

/// The plan with the values of its parameters, each as the type that its parameter has. Error: one has no value.
pub fn with_parameters<'p>(plan: &'p Plan, values: &[Value]) -> Result<Cow<'p, Plan>> {
    if values.is_empty() {
        return Ok(Cow::Borrowed(plan));
    }
    let (mut plan, mut missing) = (plan.clone(), 0);
    let set = plan.set_parameters(&mut |index, ty| {
        missing = index;
        Some(cast(values.get(index)?, ty).0)
    });
    match set {
        Some(()) => Ok(Cow::Owned(plan)),
        None => Err(SqlError::internal(format!("parameter {missing} has no value"))),
    }
}
