//! Locks of what a plan reads, without the gaps, until the view that the statement reads with sees the rows that are locked and no others.
//!
//! At READ COMMITTED and below nobody keeps rows from coming while a locking SELECT waits for others. Rows that come so are locked, too, with a newer
//! view: what the statement returns is locked, and as it was when it was locked. If rows come faster than they are locked, their gaps are
//! locked in the end.

use super::{RowLocks, StatementContext, query::Planned, row_locks::add_scans};
use muster_algebra::{Plan, PlanOp, Scan};
use muster_exec::TableSource;
use muster_storage::{LockingScan, LockingScanRequest, ReadView, StorageError};
use muster_types::{KeyRange, Result};
use std::sync::Arc;

/// Rounds before gaps are locked.
const ROUNDS_WITHOUT_GAPS: usize = 3;

/// One round of locking.
struct Round<'a> {
    planned: &'a Planned,
    /// The view that the statement reads with if this is the last round.
    view: Arc<ReadView>,
    gaps: bool,
}

impl StatementContext {
    /// Locks the rows that a plan reads, those that come meanwhile included. The statement then reads these and no others. Errors: 1205,
    /// 1206, 1213, 1317, 3572.
    pub(super) fn lock_until_settled(&self, planned: &Planned, all: &[RowLocks<'_>]) -> Result<()> {
        for number in 0.. {
            self.check_interrupt()?;
            let view = self.transaction.with_own_changes(self.read_newest());
            let round = Round { planned, view, gaps: number >= ROUNDS_WITHOUT_GAPS };
            let mut is_settled = true;
            for locks in all {
                is_settled = is_settled && self.lock_round(&round, &planned.plan, locks)?;
            }
            if is_settled {
                break;
            }
        }
        Ok(())
    }

    /// Locks what a plan reads of the tables that are meant. Returns true if the view of the round sees all of it as it is.
    fn lock_round(&self, round: &Round<'_>, plan: &Plan, locks: &RowLocks<'_>) -> Result<bool> {
        let is_meant = |scan: &Scan| !scan.table.id.is_virtual() && (locks.of)(scan);
        let mut is_settled = true;
        let mut scans = Vec::new();
        add_scans(plan, &mut scans);
        for (scan, is_lookup) in scans {
            if !is_lookup && is_meant(scan) {
                is_settled &= self.lock_seen(round, scan, scan.ranges.clone(), locks)?;
            }
        }
        // The rows before a lookup are read with the view: the keys are those that the statement will look up if this round is the last.
        Ok(is_settled && self.lock_round_of_lookups(round, plan, locks)?)
    }

    fn lock_round_of_lookups(&self, round: &Round<'_>, plan: &Plan, locks: &RowLocks<'_>) -> Result<bool> {
        for input in plan.inputs() {
            if !self.lock_round_of_lookups(round, input, locks)? {
                return Ok(false);
            }
        }
        if let PlanOp::LookupJoin { left, lookup, keys, .. } = &plan.op
            && !lookup.table.id.is_virtual()
            && (locks.of)(lookup)
        {
            let table = round.planned.tables.storage(lookup.table.id)?;
            let ranges = self.keys_of(round.planned, left, lookup, keys, &table)?;
            return self.lock_seen(round, lookup, ranges.into_values().collect(), locks);
        }
        Ok(true)
    }

    /// Locks ranges of an index. Returns true if the view of the round sees all that is there.
    fn lock_seen(&self, round: &Round<'_>, scan: &Scan, ranges: Vec<KeyRange>, locks: &RowLocks<'_>) -> Result<bool> {
        let table = round.planned.tables.storage(scan.table.id)?;
        let (index, mode, gaps) = (scan.index, locks.mode, round.gaps);
        let request = LockingScanRequest { index, ranges, reverse: scan.reverse, mode, gaps, skip_locked: false };
        let mut rows = LockingScan::new(&table, request)?;
        rows.compare_with(Arc::clone(&round.view));
        let counters = self.process.counters.storage();
        self.transaction.change(table.store(), |transaction| {
            self.ready_to_lock(transaction, locks.waits.clone());
            while rows.next(transaction, counters)?.is_some() {}
            Ok::<(), StorageError>(())
        })?;
        Ok(!rows.met_unseen())
    }
}
