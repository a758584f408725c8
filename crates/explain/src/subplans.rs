//! The subqueries of a plan that run by themselves.

use muster_algebra::{Expr, Plan, PlanOp, Subplan};
use std::collections::HashSet;

/// The subplans in a node's own expressions, each once.
pub fn subplans(plan: &Plan) -> Vec<&Subplan> {
    let exprs: Vec<&Expr> = match &plan.op {
        PlanOp::Filter { predicates, .. } => predicates.iter().collect(),
        PlanOp::Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
        PlanOp::HashJoin { residual, .. } | PlanOp::MergeJoin { residual, .. } => residual.iter().collect(),
        PlanOp::NestedLoopJoin { on, .. } => on.iter().collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for expr in exprs {
        expr.visit(&mut |e| {
            if let Expr::Subplan(s) = e
                && seen.insert(std::ptr::from_ref(&*s.plan))
            {
                found.push(&**s);
            }
        });
    }
    found
}
