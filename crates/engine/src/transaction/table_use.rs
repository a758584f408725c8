//! The tables that a transaction has locked as a whole: those that its statements use, and those of LOCK TABLES.
//! Temporary tables are never locked: they are the session's alone.

use super::{LockedTable, SessionTransaction};
use crate::metadata_locks::{Patience, TableUse, Until};
use muster_algebra::TableId;
use muster_types::{ErrorCode, Result, SqlError};
use std::collections::HashMap;

/// Error 1192: what the session has locked, or its transaction, is in the way.
pub fn locked_or_in_transaction() -> SqlError {
    let message = "Can't execute the given command because you have active locked tables or an active transaction";
    SqlError::new(ErrorCode::LockOrActiveTransaction, message)
}

impl SessionTransaction {
    /// Locks a table that a statement uses, until the transaction ends, or with autocommit the statement. A statement
    /// outside of a transaction that only reads locks nothing. Returns true if it had to wait, so that the table may be
    /// another one now. Errors 1205, 1213, 1317.
    pub fn use_table(&self, table: TableId, of: TableUse, patience: &Patience<'_>) -> Result<bool> {
        self.note_use();
        if table.is_temporary() {
            return Ok(false);
        }
        let until = if self.is_open() { Until::Transaction } else { Until::Statement };
        match (of, until) {
            (TableUse::Read, Until::Statement) => self.locks.wait_to_read(self.owner, &[table], patience),
            _ => self.locks.lock(self.owner, table, of, until, patience),
        }
    }

    /// Locks a table as [`SessionTransaction::use_table`] does, also for a statement outside of a transaction that only
    /// reads it. Errors 1205, 1213, 1317.
    pub fn hold_table(&self, table: TableId, of: TableUse, patience: &Patience<'_>) -> Result<()> {
        let until = if self.is_open() { Until::Transaction } else { Until::Statement };
        self.locks.lock(self.owner, table, of, until, patience).map(drop)
    }

    /// Locks a table as [`SessionTransaction::use_table`] does, if nobody has to be waited for. Returns whether it is
    /// locked.
    pub fn try_use_table(&self, table: TableId, of: TableUse) -> bool {
        self.note_use();
        if table.is_temporary() {
            return true;
        }
        let until = if self.is_open() { Until::Transaction } else { Until::Statement };
        self.locks.try_lock(self.owner, table, of, until)
    }

    /// Notes that a statement uses tables until [`SessionTransaction::end_rows`], so that FLUSH TABLES waits for it.
    /// Returns false if somebody is to be waited for first.
    pub fn try_open_tables(&self, tables: &[TableId]) -> bool {
        tables.iter().all(|table| table.is_temporary() || self.locks.try_open(self.owner, *table))
    }

    /// LOCK TABLES: puts these tables in the place of those before. Errors 1205, 1213, 1317.
    pub fn lock_tables(&self, tables: &[LockedTable], patience: &Patience<'_>) -> Result<()> {
        self.unlock_tables();
        let mut sorted: Vec<LockedTable> = tables.iter().copied().filter(|table| !table.id.is_temporary()).collect();
        sorted.sort_by_key(|table| table.id);
        for table in &sorted {
            let of = if table.write { TableUse::Alone } else { TableUse::ReadOnly };
            if let Err(e) = self.locks.lock(self.owner, table.id, of, Until::Unlocked, patience) {
                self.locks.release(self.owner, Until::Unlocked);
                return Err(e);
            }
        }
        let mut locked = HashMap::new();
        for table in sorted {
            *locked.entry(table.id).or_default() |= table.write;
        }
        *self.locked.lock() = Some(locked);
        Ok(())
    }

    /// UNLOCK TABLES, which ends FLUSH TABLES WITH READ LOCK, too. Returns true if tables were locked.
    pub fn unlock_tables(&self) -> bool {
        self.locks.unlock_globally(self.owner);
        let was_locked = self.locked.lock().take().is_some();
        if was_locked {
            self.locks.release(self.owner, Until::Unlocked);
        }
        was_locked
    }

    /// Returns true while LOCK TABLES is in effect.
    pub fn has_locked_tables(&self) -> bool {
        self.locked.lock().is_some()
    }

    /// Error 1192 while LOCK TABLES is in effect.
    pub fn check_nothing_locked(&self) -> Result<()> {
        match self.has_locked_tables() {
            true => Err(locked_or_in_transaction()),
            false => Ok(()),
        }
    }

    /// The tables of LOCK TABLES that may only be read, while it is in effect.
    pub fn read_locked_tables(&self) -> Option<Vec<TableId>> {
        let locked = self.locked.lock();
        let tables = locked.as_ref()?.iter().filter(|(_, write)| !**write).map(|(id, _)| *id);
        Some(tables.collect())
    }

    /// Errors 1099 and 1100: while LOCK TABLES is in effect, a statement uses the tables that are locked, as they are
    /// locked.
    pub fn check_locked(&self, table: TableId, name: &str, write: bool) -> Result<()> {
        let locked = self.locked.lock();
        let Some(locked) = &*locked else { return Ok(()) };
        if table.is_temporary() {
            return Ok(());
        }
        match locked.get(&table) {
            None => {
                let message = format!("Table '{name}' was not locked with LOCK TABLES");
                Err(SqlError::new(ErrorCode::TableNotLocked, message))
            }
            Some(false) if write => {
                let message = format!("Table '{name}' was locked with a READ lock and can't be updated");
                Err(SqlError::new(ErrorCode::TableNotLockedForWrite, message))
            }
            Some(_) => Ok(()),
        }
    }
}
