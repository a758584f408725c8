//! Rows that are locked in the order of a scan, as many as it wants; the scan then reads these and no others.
//!
//! `SKIP LOCKED` leaves out the rows that others have locked. A scan with a LIMIT locks no rows beyond those that it
//! delivers.

use super::{RowLocks, rounds::Round};
use crate::statement::{StatementContext, query::Planned};
use muster_algebra::{Plan, PlanOp, Scan, Switch};
use muster_types::{KeyRange, Result, Value};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Strategies that are off for a plan that leaves out locked rows: each of its tables is read by one scan of one index,
/// entry by entry.
pub const SWITCHES_OFF: [Switch; 7] = [
    Switch::LookupJoin,
    Switch::IndexMerge,
    Switch::IndexMergeUnion,
    Switch::IndexMergeSortUnion,
    Switch::IndexMergeIntersection,
    Switch::LooseIndexScan,
    Switch::MinMaxByIndex,
];

impl StatementContext {
    /// Locks the rows that the scans of a plan want, and puts scans of these rows in their places. Errors: 1205, 1206,
    /// 1213, 1317, 3572.
    pub(super) fn lock_row_by_row(&self, planned: &mut Planned, all: &[RowLocks<'_>]) -> Result<()> {
        for locks in all.iter().filter(|locks| locks.subplans && !locks.skip_locked) {
            self.lock_subplans(planned, &planned.plan, locks)?;
        }
        let mut scans = Vec::new();
        if self.locks_gaps() {
            self.lock_wanted(&Round { view: None, gaps: true }, planned, &planned.plan, all, &mut scans)?;
            self.read_newest();
        } else {
            self.until_settled(|round| {
                scans.clear();
                self.lock_wanted(round, planned, &planned.plan, all, &mut scans)
            })?;
        }
        replace(Arc::make_mut(&mut planned.plan), all, &mut scans.into_iter());
        Ok(())
    }

    /// Locks the rows that the scans of a plan want, and adds scans of these rows, in the order of a walk through the
    /// plan. Returns true if the view of the round sees all that was met.
    fn lock_wanted(
        &self,
        round: &Round,
        planned: &Planned,
        node: &Plan,
        all: &[RowLocks<'_>],
        scans: &mut Vec<Scan>,
    ) -> Result<bool> {
        let mut is_settled = true;
        if let PlanOp::Scan(scan) = &node.op
            && let Some(locks) = all.iter().find(|locks| locks.is_of(scan))
        {
            let mut ranges = Vec::new();
            let mut wanted = scan.limit.unwrap_or(u64::MAX);
            if wanted > 0 {
                let mut add = |row: &[Value], is_wanted: bool| {
                    ranges.push(range_of(scan, row));
                    wanted -= u64::from(is_wanted);
                    if wanted == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                is_settled = self.lock_entries(round, planned, scan, scan.ranges.clone(), locks, &mut add)?;
            }
            if scan.reverse {
                ranges.reverse();
            }
            scans.push(Scan { ranges, steering: Vec::new(), ..scan.clone() });
        }
        for input in node.inputs() {
            is_settled &= self.lock_wanted(round, planned, input, all, scans)?;
        }
        Ok(is_settled)
    }
}

/// Puts the scans of what was locked into their places, in the order of the walk that has made them.
fn replace(node: &mut Plan, all: &[RowLocks<'_>], scans: &mut impl Iterator<Item = Scan>) {
    if let PlanOp::Scan(scan) = &mut node.op
        && all.iter().any(|locks| locks.is_of(scan))
    {
        *scan = scans.next().expect("the same walk");
    }
    node.inputs_mut().into_iter().for_each(|input| replace(input, all, scans));
}

/// The range of a scan's index that has the entry of one row.
fn range_of(scan: &Scan, row: &[Value]) -> KeyRange {
    let parts = scan.table.key_parts(scan.index);
    // Behind the columns, a row of a table without a primary key has its number.
    let number = row.get(scan.table.columns.len()).cloned();
    let key: Vec<Value> = parts.iter().map(|part| row[part.column].clone()).chain(number).collect();
    KeyRange { lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
}
