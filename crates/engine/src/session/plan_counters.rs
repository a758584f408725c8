//! Counters that a plan fills when it starts: how tables are read, sorts, temporary tables (MySQL manual 7.1.10).
//!
//! Tables that are joined form a block; below an aggregation, in a branch of a UNION and in a subquery begins another.
//! The first table of a block is read by itself, all others for the rows of those before them. The order is EXPLAIN's.

use super::explain::{is_point, subplans};
use muster_algebra::{Plan, PlanOp, Scan};
use muster_storage::{Counters, counters::Counter};
use muster_types::KeyRange;

/// How a table is read, as far as the counters tell it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// `ALL`, `index`.
    Full,
    /// `range`.
    Range,
    /// `const`, `ref`.
    Key,
}

fn access(scan: &Scan) -> Access {
    match scan.ranges.as_slice() {
        [range] if is_point(range) => Access::Key,
        ranges if ranges.iter().all(|r| *r == KeyRange::all()) => Access::Full,
        _ => Access::Range,
    }
}

/// Counts what the plan is going to do.
pub fn count(plan: &Plan, counters: &Counters) {
    block(plan, &mut true, counters);
}

/// The part of a block that is below a node; `first`: no table of the block was met.
fn block(plan: &Plan, first: &mut bool, counters: &Counters) {
    match &plan.op {
        PlanOp::Scan(scan) => {
            let counter = match (access(scan), std::mem::take(first)) {
                (Access::Full, true) => Some(Counter::select_scan),
                (Access::Full, false) => Some(Counter::select_full_join),
                (Access::Range, true) => Some(Counter::select_range),
                (Access::Range, false) => Some(Counter::select_full_range_join),
                (Access::Key, _) => None,
            };
            counter.into_iter().for_each(|counter| counters.add(counter, 1));
        }
        PlanOp::HashAggregate { group, .. } if !group.is_empty() => counters.add(Counter::created_tmp_tables, 1),
        PlanOp::Sort { input, .. } => {
            let by_range = matches!(&sorted(input).op, PlanOp::Scan(scan) if access(scan) != Access::Full);
            counters.add(if by_range { Counter::sort_range } else { Counter::sort_scan }, 1);
        }
        _ => {}
    }
    let ends =
        matches!(plan.op, PlanOp::HashAggregate { .. } | PlanOp::StreamAggregate { .. } | PlanOp::UnionAll { .. });
    for input in plan.inputs() {
        if ends {
            block(input, &mut true, counters);
        } else {
            block(input, first, counters);
        }
    }
    subplans(plan).into_iter().for_each(|subplan| count(subplan, counters));
}

/// What a sort reads, below what only changes its rows.
fn sorted(plan: &Plan) -> &Plan {
    match &plan.op {
        PlanOp::Filter { input, .. } | PlanOp::Project { input, .. } => sorted(input),
        _ => plan,
    }
}
