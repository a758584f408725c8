//! Locks of rows that a statement reads: what its plan reads of some tables is locked first, with the gaps between as far as the
//! isolation level asks for it, and then read as it is by then. So nobody changes a row between the reading and the end of the
//! transaction, and nobody adds one. Of the tables that joins look up, the keys that are looked up are locked
//! ([`super::lookup_locks`]).

use super::{StatementContext, StatementTables, one_by_one, query::Planned};
use crate::metadata_locks::TableUse;
use muster_algebra::{Expr, Plan, PlanOp, Scan};
use muster_exec::TableSource;
use muster_sql::{Blocked, Isolation, Locking};
use muster_storage::{LockMode, LockingScan, LockingScanRequest, StorageError, Table, Waits};
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
    /// Locks what subqueries read that run by themselves. A locking clause does not reach into them.
    pub subplans: bool,
}

impl RowLocks<'_> {
    /// Returns false if so many rows of a table are not locked before they are changed.
    pub(super) fn has_room_for(&self, table: &Table, rows: u64) -> bool {
        self.whole_tables || table.store().locks().has_room_for(rows)
    }
}

impl StatementContext {
    /// Locks rows that a plan reads. From then on the statement reads what has been committed by now. Errors: 1205, 1213, 1317,
    /// 3572.
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
                let has_room = !is_whole || locks.has_room_for(&table, table.row_count());
                if !has_room || !self.lock_ranges(scan, scan.ranges.clone(), &planned.tables, locks)? {
                    self.lock_instead(scan, locks)?;
                }
            }
        }
        Ok(())
    }

    /// Locks what the subqueries of a plan read that run by themselves. Which keys they look up is known only when they run, so such a
    /// table is locked as a whole.
    fn lock_subplans(&self, planned: &Planned, plan: &Plan, locks: &RowLocks<'_>) -> Result<()> {
        let mut subplans = Vec::new();
        for expr in plan.exprs() {
            expr.visit(&mut |expr| {
                if let Expr::Subplan(subplan) = expr {
                    subplans.push(&*subplan.plan);
                }
            });
        }
        for subplan in subplans {
            let mut scans = Vec::new();
            add_scans(subplan, &mut scans);
            for (scan, is_lookup) in
                scans.into_iter().filter(|(scan, _)| !scan.table.id.is_virtual() && (locks.of)(scan))
            {
                let is_whole = scan.ranges.iter().any(|range| *range == KeyRange::all());
                let table = planned.tables.storage(scan.table.id)?;
                let has_room = !is_lookup && (!is_whole || locks.has_room_for(&table, table.row_count()));
                if !has_room || !self.lock_ranges(scan, scan.ranges.clone(), &planned.tables, locks)? {
                    self.lock_instead(scan, locks)?;
                }
            }
            self.lock_subplans(planned, subplan, locks)?;
        }
        plan.inputs().into_iter().try_for_each(|input| self.lock_subplans(planned, input, locks))
    }

    /// Locks what the locking clauses of a SELECT say. Errors: as [`StatementContext::lock_rows`], and 3568 for a table that
    /// the query does not read.
    pub fn lock_what_is_read(&self, planned: &mut Planned, clauses: &[Locking]) -> Result<()> {
        let meant = |table: &Option<String>, scan: &Scan| {
            table.as_ref().is_none_or(|table| scan.alias.eq_ignore_ascii_case(table))
        };
        let mut scans = Vec::new();
        add_scans(&planned.plan, &mut scans);
        for Locking { table, .. } in clauses {
            if let Some(name) = table.as_ref().filter(|_| !scans.iter().any(|(scan, _)| meant(table, scan))) {
                let message = format!("Unresolved table name `{name}` in locking clause.");
                return Err(SqlError::new(ErrorCode::UnresolvedTableLock, message));
            }
        }
        let mode = |clause: &Locking| if clause.exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let (skipping, waiting): (Vec<_>, Vec<_>) =
            clauses.iter().partition(|clause| matches!(clause.blocked, Blocked::Skips));
        let of: Vec<_> = waiting.iter().map(|clause| move |scan: &Scan| meant(&clause.table, scan)).collect();
        let locks = waiting.iter().zip(&of).map(|(clause, of)| {
            let waits = if matches!(clause.blocked, Blocked::Fails) { Waits::Never } else { self.lock_waits() };
            RowLocks { mode: mode(clause), waits, of, whole_tables: true, subplans: self.reads_lock() }
        });
        let locks: Vec<RowLocks<'_>> = locks.collect();
        let one_by_one = !self.locks_gaps()
            && one_by_one::reads_by_scans(&planned.plan)
            && !one_by_one::reads_prefixes(&planned.plan);
        if one_by_one {
            for RowLocks { mode, waits, of, .. } in &locks {
                self.lock_one_by_one(planned, *mode, Some(waits), *of)?;
            }
        } else if !locks.is_empty() && self.locks_gaps() {
            self.lock_rows(planned, &locks)?;
        } else if !locks.is_empty() {
            self.lock_until_settled(planned, &locks)?;
        }
        for clause in skipping {
            self.lock_one_by_one(planned, mode(clause), None, &|scan| meant(&clause.table, scan))?;
        }
        Ok(())
    }

    /// Locks a table as a whole in place of rows that are too many: nobody else may write it until the transaction ends. Rows that the
    /// statement changes need no such lock.
    pub(super) fn lock_instead(&self, scan: &Scan, locks: &RowLocks<'_>) -> Result<()> {
        if locks.mode == LockMode::Exclusive {
            return Ok(());
        }
        let table = scan.table.id;
        self.with_patience(|patience| self.transaction.use_table(table, TableUse::ReadOnly, patience)).map(drop)
    }

    /// Locks ranges of an index. Returns false if they have too many rows, of which some are locked.
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
        let counters = self.process.counters.storage();
        self.transaction.change(table.store(), |transaction| {
            self.ready_to_lock(transaction, locks.waits.clone());
            loop {
                match rows.next(transaction, counters) {
                    Ok(Some(_)) => {}
                    Ok(None) => return Ok(true),
                    // The rows that change are locked all the same, one by one.
                    Err(StorageError::LockTableFull) if !locks.whole_tables => return Ok(false),
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

    /// Returns true if a statement that changes rows locks what it reads of other tables. What they say must still be so when the transaction
    /// commits; a statement that is a transaction of its own has read one state of them, which will do.
    pub fn reads_for_writing_lock(&self) -> bool {
        self.locks_gaps() && self.transaction.is_open()
    }

    /// Returns true if nobody may add rows to what the statement reads and locks.
    pub fn locks_gaps(&self) -> bool {
        let isolation = self.transaction.characteristics().map(|of| of.isolation);
        !matches!(isolation, Some(Isolation::ReadCommitted | Isolation::ReadUncommitted))
    }
}

/// The tables that a plan reads; true for those that a join looks up.
pub(super) fn add_scans<'p>(plan: &'p Plan, scans: &mut Vec<(&'p Scan, bool)>) {
    match &plan.op {
        PlanOp::Scan(scan) => scans.push((scan, false)),
        PlanOp::LookupJoin { lookup, .. } => scans.push((lookup, true)),
        _ => {}
    }
    plan.inputs().into_iter().for_each(|input| add_scans(input, scans));
}
