//! Locks rows without gaps, and repeats with a newer view until nothing has changed meanwhile.
//!
//! At READ COMMITTED and below nobody keeps rows from coming or moving while a locking read waits for others: a row
//! that moves in an index may leave a place before the scan gets there and come to a place that the scan has passed. A
//! round takes a view before it locks the first row and compares all that it meets with that view:
//!
//! ```text
//!   every entry that the round has met was last changed by a transaction that the view sees
//!     -> the view sees exactly the rows that are locked, each as it is: the statement reads with the view
//!   some entry was not
//!     -> a transaction has committed since the view was taken: the next round takes a newer view
//! ```
//!
//! A row that has moved away, or has gone, is still there as a marked entry, since purge keeps what the view may see.
//! So a round cannot pass such a row without meeting the change. Locks are kept from round to round: what is locked
//! does not change any more, so later rounds seldom wait. If rows come faster than they are locked, the rounds from the
//! fourth one on lock the gaps too.

use super::{RowLocks, add_scans, matching::Conditions, scans_of_subplans};
use crate::statement::{StatementContext, query::Planned};
use muster_algebra::{Plan, PlanOp, Scan};
use muster_exec::TableSource;
use muster_storage::{LockingScan, LockingScanRequest, ReadView};
use muster_types::{KeyRange, Result, Value};
use std::{ops::ControlFlow, sync::Arc};

/// Rounds before gaps are locked.
const ROUNDS_WITHOUT_GAPS: usize = 3;

/// One round of locking.
pub(super) struct Round {
    /// The view that the statement reads with if this is the last round. `None`: gaps are locked from the first round
    /// on, which is the only one, and the statement reads with the newest view of its end.
    pub(super) view: Option<Arc<ReadView>>,
    pub(super) gaps: bool,
}

impl StatementContext {
    /// Locks the rows that a plan reads, those that come meanwhile included. The statement then reads these and no
    /// others. Errors: 1205, 1206, 1213, 1317, 3572.
    pub(super) fn lock_in_rounds(&self, planned: &Planned, all: &[RowLocks<'_>]) -> Result<()> {
        self.until_settled(|round| {
            let mut is_settled = true;
            for locks in all {
                is_settled = is_settled && self.lock_round(round, planned, locks)?;
            }
            Ok(is_settled)
        })
    }

    /// Locks in rounds until one returns true: its view sees everything that it has met.
    pub(super) fn until_settled(&self, mut lock: impl FnMut(&Round) -> Result<bool>) -> Result<()> {
        for number in 0.. {
            self.check_interrupt()?;
            let view = self.transaction.with_own_changes(self.read_newest());
            if lock(&Round { view: Some(view), gaps: number >= ROUNDS_WITHOUT_GAPS })? {
                break;
            }
        }
        Ok(())
    }

    /// Locks what a plan reads of the tables that are meant. Returns true if the view of the round sees all of it as it
    /// is.
    fn lock_round(&self, round: &Round, planned: &Planned, locks: &RowLocks<'_>) -> Result<bool> {
        let mut is_settled = true;
        let mut scans = Vec::new();
        add_scans(&planned.plan, &mut scans);
        for (scan, is_lookup) in scans {
            if !is_lookup && locks.is_of(scan) {
                is_settled &= self.lock_entries(round, planned, scan, scan.ranges.clone(), locks, &mut all_rows)?;
            }
        }
        for (scan, is_lookup) in scans_of_subplans(&planned.plan) {
            if locks.subplans && locks.is_of(scan) {
                // Which keys a subquery looks up is known only when it runs.
                let ranges = if is_lookup { vec![KeyRange::all()] } else { scan.ranges.clone() };
                is_settled &= self.lock_entries(round, planned, scan, ranges, locks, &mut all_rows)?;
            }
        }
        // The rows before a lookup are read with the view: the keys are those that the statement will look up if this
        // round is the last.
        Ok(is_settled && self.lock_round_of_lookups(round, planned, &planned.plan, locks)?)
    }

    fn lock_round_of_lookups(
        &self,
        round: &Round,
        planned: &Planned,
        plan: &Plan,
        locks: &RowLocks<'_>,
    ) -> Result<bool> {
        for input in plan.inputs() {
            if !self.lock_round_of_lookups(round, planned, input, locks)? {
                return Ok(false);
            }
        }
        if let PlanOp::LookupJoin { left, lookup, keys, .. } = &plan.op
            && locks.is_of(lookup)
        {
            let table = planned.tables.storage(lookup.table.id)?;
            let ranges = self.keys_of(planned, left, lookup, keys, &table)?;
            return self.lock_entries(round, planned, lookup, ranges.into_values().collect(), locks, &mut all_rows);
        }
        Ok(true)
    }

    /// Locks the rows of ranges of an index. `each` is told every row that meets the conditions of the scan, with false
    /// if that could not be decided, and ends the scan when it has enough. Without gaps, the locks of other rows are
    /// released. Returns true if the view of the round sees all that was met.
    pub(super) fn lock_entries(
        &self,
        round: &Round,
        planned: &Planned,
        scan: &Scan,
        ranges: Vec<KeyRange>,
        locks: &RowLocks<'_>,
        each: &mut dyn FnMut(&[Value], bool) -> ControlFlow<()>,
    ) -> Result<bool> {
        let table = planned.tables.storage(scan.table.id)?;
        let request = LockingScanRequest {
            index: scan.index,
            ranges,
            reverse: scan.reverse,
            mode: locks.mode,
            gaps: round.gaps,
            skip_locked: locks.skip_locked,
        };
        let mut rows = LockingScan::new(&table, request)?;
        if let Some(view) = &round.view {
            rows.compare_with(Arc::clone(view));
        }
        let conditions = Conditions::of(self, planned, scan);
        self.transaction.change(self.database.store(), |transaction| {
            self.ready_to_lock(transaction, locks.waits.clone());
            self.lock_each(transaction, &mut rows, |transaction, rows, row| {
                match conditions.are_met(row) {
                    Some(false) if !round.gaps => rows.unlock_last(transaction),
                    Some(false) => {}
                    met => return each(row, met.is_some()),
                }
                ControlFlow::Continue(())
            })?;
            Ok(!rows.met_unseen())
        })
    }
}

fn all_rows(_: &[Value], _: bool) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
