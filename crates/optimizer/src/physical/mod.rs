//! Decisions that are taken once the joins are ordered, so that a plan says all that execution does.
//!
//! ```text
//!   subquery_rows   no more rows of a subquery than decide
//!   distinct        DISTINCT in aggregates becomes two levels of grouping
//!   not_in          NOT IN over several columns becomes joins of which each operator runs one
//!   parallelism     partitions, exchanges, partial and final aggregation
//!   numbering       every node gets its number
//! ```

mod distinct;
mod not_in;
mod numbering;
mod parallelism;
#[cfg(test)]
mod tests;

use crate::plan::order::limit;
use muster_algebra::{Columns, Estimate, Expr, Plan, PlanOp, Subplan, SubqueryKind};
use std::collections::HashMap;

/// The plan that runs, on this many threads, from the one that was chosen by cost.
pub fn finish(plan: Plan, columns: &mut Columns, threads: usize) -> Plan {
    let plan = each_node(plan, &mut HashMap::new(), &mut |mut plan| {
        each_subplan_of(&mut plan, &mut subquery_rows);
        distinct::split(plan, columns)
    });
    let plan = not_in::expand(plan);
    let mut plan = parallelism::plan(plan, threads.max(1));
    numbering::number(&mut plan);
    plan
}

/// No more rows than decide: one for EXISTS, two for a scalar, which is an error.
fn subquery_rows(subplan: &mut Subplan) {
    let count = match &subplan.kind {
        SubqueryKind::Exists { .. } => 1,
        SubqueryKind::Scalar => 2,
        SubqueryKind::In { .. } | SubqueryKind::Compare { .. } | SubqueryKind::Rows => return,
    };
    *subplan.plan = limit(take(&mut subplan.plan), 0, Some(count));
}

/// Takes a plan out of its place, which has to be filled again.
fn take(plan: &mut Plan) -> Plan {
    let nothing = PlanOp::Values { rows: Vec::new() };
    std::mem::replace(plan, Plan::new(nothing, Vec::new(), Estimate::default(), Vec::new()))
}

/// Rewrites every node, what is below it first, also in subqueries. Rows that are shared are planned once: `shared`
/// keeps them by their number.
fn each_node(mut plan: Plan, shared: &mut HashMap<usize, Plan>, f: &mut dyn FnMut(Plan) -> Plan) -> Plan {
    if let PlanOp::Shared { id, input, .. } = &mut plan.op {
        if !shared.contains_key(id) {
            let done = each_node(take(input), shared, f);
            shared.insert(*id, done);
        }
        **input = shared[id].clone();
        return f(plan);
    }
    for input in plan.inputs_mut() {
        *input = each_node(take(input), shared, f);
    }
    each_subplan_of(&mut plan, &mut |subplan| *subplan.plan = each_node(take(&mut subplan.plan), shared, f));
    f(plan)
}

/// Runs `f` on the subqueries in a node's own expressions, innermost first. Equal ones stay equal, since an operator
/// runs them once.
fn each_subplan_of(plan: &mut Plan, f: &mut dyn FnMut(&mut Subplan)) {
    let mut done: Vec<(Subplan, Subplan)> = Vec::new();
    for expr in plan.exprs_mut() {
        if expr.has_subquery() {
            each_subplan(expr, &mut |subplan| match done.iter().find(|(before, _)| before == subplan) {
                Some((_, after)) => *subplan = after.clone(),
                None => {
                    let before = subplan.clone();
                    f(subplan);
                    done.push((before, subplan.clone()));
                }
            });
        }
    }
}

fn each_subplan(expr: &mut Expr, f: &mut dyn FnMut(&mut Subplan)) {
    expr.children_mut().into_iter().for_each(|child| each_subplan(child, f));
    if let Expr::Subplan(subplan) = expr {
        f(subplan);
    }
}
