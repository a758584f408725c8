//! The strategy that locks the rows of a plan: see the table in the head of the module.

use super::RowLocks;
use muster_algebra::{Plan, PlanOp};
use muster_types::{Result, SqlError};

/// A way to lock the rows that a plan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Locks the ranges of the plan with their gaps. Then the plan reads what has been committed by then.
    Ranges,
    /// Locks rows without gaps, and repeats with a newer view until nothing has changed meanwhile.
    Rounds,
    /// Locks the rows of each scan in its order, as many as it wants; the scans then read these rows and no others.
    /// Without gaps, it repeats as `Rounds` does.
    RowByRow,
}

impl Strategy {
    /// Error 1235 for SKIP LOCKED of a table that a join looks up: the binder's switches leave no such plan.
    pub(super) fn choose(plan: &Plan, all: &[RowLocks<'_>], gaps: bool) -> Result<Strategy> {
        if all.iter().any(|locks| locks.skip_locked) {
            return match looks_up(plan, all) {
                true => Err(SqlError::unsupported("SKIP LOCKED of a table that a join looks up")),
                false => Ok(Strategy::RowByRow),
            };
        }
        let stops_early = reads_in_order(plan) && has_limited_scan(plan) && !reads_prefixes(plan);
        Ok(match gaps {
            _ if stops_early => Strategy::RowByRow,
            true => Strategy::Ranges,
            false => Strategy::Rounds,
        })
    }
}

/// Returns true if a join looks up rows that are left out if they are locked.
fn looks_up(plan: &Plan, all: &[RowLocks<'_>]) -> bool {
    let here = match &plan.op {
        PlanOp::LookupJoin { lookup, .. } => all.iter().any(|locks| locks.skip_locked && locks.is_of(lookup)),
        _ => false,
    };
    here || plan.inputs().into_iter().any(|input| looks_up(input, all))
}

/// Returns true if a plan's rows are those of one scan that finds them by its ranges.
fn reads_in_order(plan: &Plan) -> bool {
    let here = match &plan.op {
        PlanOp::Scan(scan) => scan.distinct_prefix.is_none(),
        PlanOp::Filter { .. } | PlanOp::Project { .. } | PlanOp::Sort { .. } | PlanOp::Limit { .. } => true,
        PlanOp::Exchange { .. } | PlanOp::HashAggregate { .. } | PlanOp::StreamAggregate { .. } => true,
        _ => false,
    };
    here && plan.inputs().into_iter().all(reads_in_order)
}

fn has_limited_scan(plan: &Plan) -> bool {
    let here = matches!(&plan.op, PlanOp::Scan(scan) if scan.limit.is_some());
    here || plan.inputs().into_iter().any(has_limited_scan)
}

/// Returns true if a plan reads an index of the beginnings of texts, in which a range cannot name a single entry.
pub fn reads_prefixes(plan: &Plan) -> bool {
    let here = match &plan.op {
        PlanOp::Scan(scan) if scan.index > 0 => {
            scan.table.key_parts(scan.index).iter().any(|part| part.prefix.is_some())
        }
        _ => false,
    };
    here || plan.inputs().into_iter().any(reads_prefixes)
}
