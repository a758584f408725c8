//! Ranges that are locked with their gaps before the plan reads them: nothing can come into them, so the plan finds the
//! rows that are locked. Statements that change rows use it too; where the rows are too many to lock, it leaves them to
//! the change.

use super::{RowLocks, add_scans, scans_of_subplans};
use crate::{
    metadata_locks::TableUse,
    processes::WAITING_FOR_TABLE,
    statement::{StatementContext, StatementTables, query::Planned},
};
use muster_algebra::{Plan, Scan};
use muster_exec::TableSource;
use muster_storage::{LockMode, LockingScan, LockingScanRequest, StorageError, Transaction, Waits};
use muster_types::{KeyRange, Result, Value};
use std::ops::ControlFlow;

/// Rows between two looks at whether the statement was killed.
const ROWS_BETWEEN_CHECKS: u64 = 1024;

impl StatementContext {
    /// Locks rows that a plan reads. From then on the statement reads what has been committed by now. Errors: 1205,
    /// 1213, 1317, 3572.
    pub fn lock_rows(&self, planned: &Planned, all: &[RowLocks<'_>]) -> Result<()> {
        let mut scans = Vec::new();
        add_scans(&planned.plan, &mut scans);
        let is_locked = |scan: &Scan| scan.table.id.is_virtual() || all.iter().any(|locks| (locks.of)(scan));
        // Statements that change rows see for themselves whether those are the ones that they have read.
        let is_settled = !all.iter().any(|locks| locks.whole_tables)
            || self.locks_gaps() && scans.iter().all(|(scan, _)| is_locked(scan));
        self.lock_scans(planned, all)?;
        self.lock_lookups(planned, all, is_settled)
    }

    /// Locks the rows that the scans of a plan read.
    pub(super) fn lock_scans(&self, planned: &Planned, all: &[RowLocks<'_>]) -> Result<()> {
        let mut scans = Vec::new();
        add_scans(&planned.plan, &mut scans);
        scans.retain(|(scan, is_lookup)| !is_lookup && !scan.table.id.is_virtual());
        for locks in all.iter().filter(|locks| locks.subplans) {
            self.lock_subplans(planned, &planned.plan, locks)?;
        }
        for locks in all {
            for (scan, _) in scans.iter().filter(|(scan, _)| (locks.of)(scan)) {
                let is_whole = scan.ranges.iter().any(|range| *range == KeyRange::all());
                let table = planned.tables.storage(scan.table.id)?;
                let has_room = !is_whole || self.has_room_for(locks, table.row_count());
                if !has_room || !self.lock_ranges(scan, scan.ranges.clone(), &planned.tables, locks)? {
                    self.lock_instead(scan, locks)?;
                }
            }
        }
        Ok(())
    }

    /// Locks what the subqueries of a plan read that run by themselves. Which keys they look up is known only when they
    /// run, so all of such a table is locked.
    pub(super) fn lock_subplans(&self, planned: &Planned, plan: &Plan, locks: &RowLocks<'_>) -> Result<()> {
        for (scan, is_lookup) in scans_of_subplans(plan) {
            if !locks.is_of(scan) {
                continue;
            }
            let ranges = if is_lookup { vec![KeyRange::all()] } else { scan.ranges.clone() };
            let is_whole = ranges.contains(&KeyRange::all());
            let table = planned.tables.storage(scan.table.id)?;
            // Nobody writes a table that is locked as a whole; FOR UPDATE wants its rows.
            let by_rows = !is_lookup || locks.mode == LockMode::Exclusive;
            let has_room = by_rows && (!is_whole || self.has_room_for(locks, table.row_count()));
            if !has_room || !self.lock_ranges(scan, ranges, &planned.tables, locks)? {
                self.lock_instead(scan, locks)?;
            }
        }
        Ok(())
    }

    /// Locks a table as a whole in place of rows that are too many: nobody else may write it until the transaction
    /// ends. Who has rows of it is waited for as for a lock of rows. Rows that the statement changes need no such lock.
    /// Errors: 1205, 1213, 1317, 3572.
    pub(super) fn lock_instead(&self, scan: &Scan, locks: &RowLocks<'_>) -> Result<()> {
        if locks.mode == LockMode::Exclusive {
            return Ok(());
        }
        let table = scan.table.id;
        match &locks.waits {
            Waits::Never => match self.transaction.try_use_table(table, TableUse::ReadOnly) {
                true => Ok(()),
                false => Err(StorageError::WouldWait.into()),
            },
            Waits::Until { timeout, .. } => self.with_patience_for(*timeout, WAITING_FOR_TABLE, |patience| {
                self.transaction.use_table(table, TableUse::ReadOnly, patience).map(drop)
            }),
        }
    }

    /// Locks ranges of an index. Returns false if they have too many rows: none is locked then.
    pub(super) fn lock_ranges(
        &self,
        scan: &Scan,
        ranges: Vec<KeyRange>,
        tables: &StatementTables,
        locks: &RowLocks<'_>,
    ) -> Result<bool> {
        let table = tables.storage(scan.table.id)?;
        let (index, mode, gaps) = (scan.index, locks.mode, self.locks_gaps());
        let request = LockingScanRequest { index, ranges, reverse: scan.reverse, mode, gaps, skip_locked: false };
        let mut rows = LockingScan::new(&table, request)?;
        if !locks.whole_tables {
            rows.keep_account();
        }
        self.transaction.change(self.database.store(), |transaction| {
            self.ready_to_lock(transaction, locks.waits.clone());
            match self.lock_each(transaction, &mut rows, |_, _, _| ControlFlow::Continue(())) {
                Ok(()) => Ok(true),
                // The rows that change are locked all the same, one by one.
                Err(StorageError::LockTableFull) if !locks.whole_tables => {
                    rows.give_back(transaction);
                    Ok(false)
                }
                Err(e) => Err(e.into()),
            }
        })
    }

    /// Locks the rows of a scan one after the other, and looks now and then whether the statement was killed. `each` is
    /// told every row that is locked, and ends the scan when it has enough.
    pub(super) fn lock_each(
        &self,
        transaction: &mut Transaction,
        rows: &mut LockingScan,
        mut each: impl FnMut(&mut Transaction, &mut LockingScan, &[Value]) -> ControlFlow<()>,
    ) -> Result<(), StorageError> {
        let counters = self.process.counters.storage();
        for number in 1u64.. {
            if number % ROWS_BETWEEN_CHECKS == 0 {
                self.check_interrupt().map_err(StorageError::Filter)?;
            }
            let Some(row) = rows.next(transaction, counters)? else { break };
            if each(transaction, rows, &row).is_break() {
                break;
            }
        }
        Ok(())
    }
}
