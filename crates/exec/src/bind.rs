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
    let mut plan = plan.clone();
    let mut missing = None;
    set_parameters(&mut plan, values, &mut missing);
    match missing {
        Some(index) => Err(SqlError::internal(format!("parameter {index} has no value"))),
        None => Ok(Cow::Owned(plan)),
    }
}

fn set_parameters(plan: &mut Plan, values: &[Value], missing: &mut Option<usize>) {
    plan.inputs_mut().into_iter().for_each(|input| set_parameters(input, values, missing));
    plan.exprs_mut().into_iter().for_each(|expr| set_parameters_in(expr, values, missing));
}

fn set_parameters_in(expr: &mut Expr, values: &[Value], missing: &mut Option<usize>) {
    if let Expr::Parameter { index, ty, .. } = *expr {
        match values.get(index) {
            Some(value) => *expr = Expr::literal(cast(value, ty).0, ty),
            None => *missing = Some(index),
        }
        return;
    }
    expr.children_mut().into_iter().for_each(|child| set_parameters_in(child, values, missing));
    if let Expr::Subplan(subplan) = expr {
        set_parameters(&mut subplan.plan, values, missing);
    }
}
