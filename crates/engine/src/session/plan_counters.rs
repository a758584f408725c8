//! Counters that a plan fills when it starts: how tables are read, sorts, temporary tables (MySQL manual 7.1.10).
//!
//! Tables that are joined form a block; below an aggregation, in a branch of a UNION, in a subquery and in what is computed
//! once for several places begins another.
//! The first table of a block is read by itself, all others for the rows of those before them. The order is EXPLAIN's.

use super::explain::{is_point, subplans};
use muster_algebra::{Plan, PlanOp, Scan};
use muster_storage::{Counters, counters::Counter};
use muster_types::KeyRange;
use std::collections::HashSet;

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
    Walk { counters, kept: HashSet::new() }.block(plan);
}

struct Walk<'a> {
    counters: &'a Counters,
    /// Relations that come more than once in the plan, but are computed once.
    kept: HashSet<usize>,
}

impl Walk<'_> {
    fn block(&mut self, plan: &Plan) {
        self.part(plan, &mut true);
    }

    /// The part of a block that is below a node; `first`: no table of the block was met.
    fn part(&mut self, plan: &Plan, first: &mut bool) {
        match &plan.op {
            PlanOp::Scan(scan) => self.table(scan, std::mem::take(first)),
            PlanOp::HashAggregate { group, .. } if !group.is_empty() => {
                self.counters.add(Counter::created_tmp_tables, 1);
            }
            PlanOp::Shared { id, .. } => {
                if !self.kept.insert(*id) {
                    return;
                }
                self.counters.add(Counter::created_tmp_tables, 1);
            }
            PlanOp::Sort { input, .. } => {
                let by_key = matches!(&sorted(input).op, PlanOp::Scan(scan) if access(scan) != Access::Full);
                self.counters.add(if by_key { Counter::sort_range } else { Counter::sort_scan }, 1);
            }
            _ => {}
        }
        let ends = matches!(
            plan.op,
            PlanOp::HashAggregate { .. }
                | PlanOp::StreamAggregate { .. }
                | PlanOp::UnionAll { .. }
                | PlanOp::Shared { .. }
        );
        for input in plan.inputs() {
            match ends {
                true => self.block(input),
                false => self.part(input, first),
            }
        }
        subplans(plan).into_iter().for_each(|subplan| self.block(&subplan.plan));
    }

    fn table(&self, scan: &Scan, first: bool) {
        let counter = match (access(scan), first) {
            (Access::Full, true) => Counter::select_scan,
            (Access::Full, false) => Counter::select_full_join,
            (Access::Range, true) => Counter::select_range,
            (Access::Range, false) => Counter::select_full_range_join,
            (Access::Key, _) => return,
        };
        self.counters.add(counter, 1);
    }
}

/// What a sort reads, below what only changes its rows.
fn sorted(plan: &Plan) -> &Plan {
    match &plan.op {
        PlanOp::Filter { input, .. } | PlanOp::Project { input, .. } => sorted(input),
        _ => plan,
    }
}
