//! Locks of rows that a statement reads: what its plan reads of some tables is locked first, with the gaps between as far as the
//! isolation level asks for it, and then read as it is by then. So nobody changes a row between the reading and the end of the
//! transaction, and nobody adds one.

use super::{StatementContext, StatementTables, query::Planned};
use muster_algebra::{Plan, PlanOp, Scan};
use muster_exec::TableSource;
use muster_sql::{Blocked, Isolation, Locking};
use muster_storage::{LockMode, LockingScan, LockingScanRequest, StorageError, Waits};
use muster_types::{ErrorCode, KeyRange, Result, SqlError};

/// The locks that a statement takes of the rows and gaps that it reads.
pub struct RowLocks<'a> {
    pub mode: LockMode,
    pub waits: Waits,
    /// Returns true for tables of which rows are locked.
    pub of: &'a dyn Fn(&Scan) -> bool,
    /// Locks all rows of tables that are read as a whole, however many they are. Without it, a statement that changes a table with so
    /// many rows that their locks take much memory locks the rows that it changes, one by one.
    pub whole_tables: bool,
}

impl StatementContext {
    /// Locks rows that a plan reads. From then on the statement reads what has been committed by now. Errors: 1205, 1213, 1317,
    /// 3572.
    pub fn lock_rows(&self, plan: &Plan, tables: &StatementTables, locks: &RowLocks<'_>) -> Result<()> {
        let mut scans = Vec::new();
        add_scans(plan, &mut scans);
        for (scan, ranges) in scans {
            let is_whole = ranges.iter().any(|range| *range == KeyRange::all());
            if scan.table.id.is_virtual() || !(locks.of)(scan) {
                continue;
            }
            let table = tables.storage(scan.table.id)?;
            if is_whole && !locks.whole_tables && !table.store().locks().has_room_for(table.row_count()) {
                continue;
            }
            self.lock_ranges(scan, ranges, tables, locks)?;
        }
        self.read_newest();
        Ok(())
    }

    /// Locks what the locking clauses of a SELECT say. Errors: as [`StatementContext::lock_rows`], and 3568 for a table that
    /// the query does not read.
    pub fn lock_what_is_read(&self, planned: &mut Planned, clauses: &[Locking]) -> Result<()> {
        for Locking { exclusive, table, blocked } in clauses {
            let of = |scan: &Scan| table.as_ref().is_none_or(|table| scan.alias.eq_ignore_ascii_case(table));
            let mut scans = Vec::new();
            add_scans(&planned.plan, &mut scans);
            if let Some(table) = table.as_ref().filter(|_| !scans.iter().any(|(scan, _)| of(scan))) {
                let message = format!("Unresolved table name `{table}` in locking clause.");
                return Err(SqlError::new(ErrorCode::UnresolvedTableLock, message));
            }
            let mode = if *exclusive { LockMode::Exclusive } else { LockMode::Shared };
            let waits = match blocked {
                Blocked::Waits => self.lock_waits(),
                Blocked::Fails => Waits::Never,
                Blocked::Skips => {
                    self.lock_what_is_free(planned, mode, &of)?;
                    continue;
                }
            };
            self.lock_rows(&planned.plan, &planned.tables, &RowLocks { mode, waits, of: &of, whole_tables: true })?;
        }
        Ok(())
    }

    fn lock_ranges(
        &self,
        scan: &Scan,
        ranges: Vec<KeyRange>,
        tables: &StatementTables,
        locks: &RowLocks<'_>,
    ) -> Result<()> {
        let table = tables.storage(scan.table.id)?;
        let (index, mode, gaps) = (scan.index, locks.mode, self.locks_gaps());
        let request = LockingScanRequest { index, ranges, reverse: scan.reverse, mode, gaps, skip_locked: false };
        let mut rows = LockingScan::new(&table, request)?;
        let counters = self.process.counters.storage();
        self.transaction.change(table.store(), |transaction| {
            self.ready_to_lock(transaction, locks.waits.clone());
            loop {
                match rows.next(transaction, counters) {
                    Ok(Some(_)) => {}
                    Ok(None) => return Ok(()),
                    // The rows that change are locked all the same, one by one.
                    Err(StorageError::LockTableFull) if !locks.whole_tables => return Ok(()),
                    Err(e) => return Err(e.into()),
                }
            }
        })
    }

    /// Returns true if a SELECT without a locking clause locks what it reads: at SERIALIZABLE, unless it is a transaction of its
    /// own.
    pub fn reads_lock(&self) -> bool {
        self.transaction.characteristics().is_some_and(|of| of.isolation == Isolation::Serializable)
    }

    /// Returns true if nobody may add rows to what the statement reads and locks.
    pub fn locks_gaps(&self) -> bool {
        let isolation = self.transaction.characteristics().map(|of| of.isolation);
        !matches!(isolation, Some(Isolation::ReadCommitted | Isolation::ReadUncommitted))
    }
}

/// The tables that a plan reads, with the ranges of their indexes. The rows that a join looks up are known only when it runs: all
/// count as read.
fn add_scans<'p>(plan: &'p Plan, scans: &mut Vec<(&'p Scan, Vec<KeyRange>)>) {
    match &plan.op {
        PlanOp::Scan(scan) => scans.push((scan, scan.ranges.clone())),
        PlanOp::LookupJoin { lookup, .. } => scans.push((lookup, vec![KeyRange::all()])),
        _ => {}
    }
    plan.inputs().into_iter().for_each(|input| add_scans(input, scans));
}
