//! Puts values in place of the outer columns that a plan mentions.

use muster_algebra::{AggregateFunction, ColId, Expr, Plan, PlanOp, Scan};
use std::collections::HashMap;

/// Replaces every `Expr::Column` of `values` in the plan and in the subplans inside it.
pub fn bind(plan: &mut Plan, values: &HashMap<ColId, Expr>) {
    match &mut plan.op {
        PlanOp::Scan(scan) => bind_scan(scan, values),
        PlanOp::Values { rows } => bind_all(rows.iter_mut().flatten(), values),
        PlanOp::Filter { input, predicates } => {
            bind(input, values);
            bind_all(predicates.iter_mut(), values);
        }
        PlanOp::Project { input, exprs } => {
            bind(input, values);
            bind_all(exprs.iter_mut().map(|(_, e)| e), values);
        }
        PlanOp::HashJoin { left, right, keys, residual, .. }
        | PlanOp::MergeJoin { left, right, keys, residual, .. } => {
            bind(left, values);
            bind(right, values);
            bind_all(keys.iter_mut().flat_map(|(l, r)| [l, r]).chain(residual.iter_mut()), values);
        }
        PlanOp::LookupJoin { left, lookup, keys, residual, entry_condition, .. } => {
            bind(left, values);
            bind_scan(lookup, values);
            bind_all(keys.iter_mut().chain(residual).chain(entry_condition), values);
        }
        PlanOp::NestedLoopJoin { left, right, on, .. } => {
            bind(left, values);
            bind(right, values);
            bind_all(on.iter_mut(), values);
        }
        PlanOp::HashAggregate { input, aggregates, .. } | PlanOp::StreamAggregate { input, aggregates, .. } => {
            bind(input, values);
            for (_, call) in aggregates {
                bind_all(call.args.iter_mut(), values);
                if let AggregateFunction::GroupConcat { order, .. } = &mut call.function {
                    bind_all(order.iter_mut().map(|k| &mut k.expr), values);
                }
            }
        }
        PlanOp::Sort { input, keys, .. } => {
            bind(input, values);
            bind_all(keys.iter_mut().map(|k| &mut k.expr), values);
        }
        PlanOp::Limit { input, .. } => bind(input, values),
        PlanOp::UnionAll { inputs, .. } => inputs.iter_mut().for_each(|i| bind(i, values)),
        // The same for every place that reads it, so without outer columns.
        PlanOp::Shared { .. } => {}
    }
}

fn bind_scan(scan: &mut Scan, values: &HashMap<ColId, Expr>) {
    bind_all(scan.index_condition.iter_mut().chain(scan.filter.iter_mut()), values);
}

fn bind_all<'a>(exprs: impl Iterator<Item = &'a mut Expr>, values: &HashMap<ColId, Expr>) {
    exprs.for_each(|e| bind_expr(e, values));
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
