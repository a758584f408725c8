//! Counters that a plan fills when it starts: how tables are read, sorts, temporary tables (MySQL manual 7.1.10).
//!
//! Tables that are joined form a block; below an aggregation, in a branch of a UNION, in a subquery and in what is computed
//! once for several places begins another.
//! The first table of a block is read by itself, all others for the rows of those before them. The order is EXPLAIN's.

use crate::scans::{is_point, subplans};
use muster_algebra::{Plan, PlanOp, Scan};
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

/// How often each of MySQL's status variables is going to be counted up by a run of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanCounts {
    pub select_scan: u64,
    pub select_full_join: u64,
    pub select_range: u64,
    pub select_full_range_join: u64,
    pub sort_range: u64,
    pub sort_scan: u64,
    pub created_tmp_tables: u64,
}

/// Counts what the plan is going to do.
pub fn count(plan: &Plan) -> PlanCounts {
    let mut walk = Walk::default();
    walk.block(plan);
    walk.counts
}

#[derive(Default)]
struct Walk {
    counts: PlanCounts,
    /// Relations that come more than once in the plan, but are computed once.
    kept: HashSet<usize>,
}

impl Walk {
    fn block(&mut self, plan: &Plan) {
        self.part(plan, &mut true);
    }

    /// The part of a block that is below a node; `first`: no table of the block was met.
    fn part(&mut self, plan: &Plan, first: &mut bool) {
        match &plan.op {
            PlanOp::Scan(scan) => self.table(scan, std::mem::take(first)),
            PlanOp::HashAggregate { group, .. } if !group.is_empty() => {
                self.counts.created_tmp_tables += 1;
            }
            PlanOp::Shared { id, .. } => {
                if !self.kept.insert(*id) {
                    return;
                }
                self.counts.created_tmp_tables += 1;
            }
            PlanOp::Sort { input, .. } => {
                let by_key = matches!(&sorted(input).op, PlanOp::Scan(scan) if access(scan) != Access::Full);
                *(if by_key { &mut self.counts.sort_range } else { &mut self.counts.sort_scan }) += 1;
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

    fn table(&mut self, scan: &Scan, first: bool) {
        let counter = match (access(scan), first) {
            (Access::Full, true) => &mut self.counts.select_scan,
            (Access::Full, false) => &mut self.counts.select_full_join,
            (Access::Range, true) => &mut self.counts.select_range,
            (Access::Range, false) => &mut self.counts.select_full_range_join,
            (Access::Key, _) => return,
        };
        *counter += 1;
    }
}

/// What a sort reads, below what only changes its rows.
fn sorted(plan: &Plan) -> &Plan {
    match &plan.op {
        PlanOp::Filter { input, .. } | PlanOp::Project { input, .. } => sorted(input),
        _ => plan,
    }
}
