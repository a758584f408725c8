//! Counters that a plan fills when it starts: how tables are read, sorts, temporary tables (MySQL manual 7.1.10).
//!
//! Tables that are joined form a block; below an aggregation, in a branch of a UNION, in a subquery and in what is
//! computed once for several places begins another.
//! The first table of a block is read by itself, all others for the rows of those before them. The order is EXPLAIN's.

use crate::{
    access::{Entries, TableAccess},
    subplans::subplans,
};
use muster_algebra::{Plan, PlanOp, Scan};
use std::collections::HashSet;

/// Numbers by which a run of a plan will raise MySQL's status variables.
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
            PlanOp::HashAggregate { group, .. } | PlanOp::FinalAggregate { group, .. } if !group.is_empty() => {
                self.counts.created_tmp_tables += 1;
            }
            PlanOp::Shared { id, .. } => {
                if !self.kept.insert(*id) {
                    return;
                }
                self.counts.created_tmp_tables += 1;
            }
            PlanOp::Sort { input, .. } => {
                let by_key = matches!(&sorted(input).op, PlanOp::Scan(scan) if !is_full(scan));
                *(if by_key { &mut self.counts.sort_range } else { &mut self.counts.sort_scan }) += 1;
            }
            _ => {}
        }
        let ends = matches!(
            plan.op,
            PlanOp::HashAggregate { .. }
                | PlanOp::FinalAggregate { .. }
                | PlanOp::StreamAggregate { .. }
                | PlanOp::UnionAll { .. }
                | PlanOp::Shared { .. }
        );
        if let PlanOp::EarlyStop { input, .. } = &plan.op {
            // The fallback does not run as a rule.
            return self.part(input, first);
        }
        for input in plan.inputs() {
            match ends {
                true => self.block(input),
                false => self.part(input, first),
            }
        }
        subplans(plan).into_iter().for_each(|subplan| self.block(&subplan.plan));
    }

    fn table(&mut self, scan: &Scan, first: bool) {
        let counter = match (TableAccess::of_scan(scan).entries, first) {
            (Entries::Row | Entries::Lookup, _) => return,
            (Entries::LookupOrNull | Entries::Ranges, true) => &mut self.counts.select_range,
            (Entries::LookupOrNull | Entries::Ranges, false) => &mut self.counts.select_full_range_join,
            (Entries::All | Entries::None, true) => &mut self.counts.select_scan,
            (Entries::All | Entries::None, false) => &mut self.counts.select_full_join,
        };
        *counter += 1;
    }
}

/// Returns true if no condition restricts the entries that a scan goes through.
fn is_full(scan: &Scan) -> bool {
    matches!(TableAccess::of_scan(scan).entries, Entries::All | Entries::None)
}

/// The input of a sort, below nodes that only change its rows.
fn sorted(plan: &Plan) -> &Plan {
    match &plan.op {
        PlanOp::Filter { input, .. } | PlanOp::Project { input, .. } | PlanOp::Exchange { input, .. } => sorted(input),
        _ => plan,
    }
}
