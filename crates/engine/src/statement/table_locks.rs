//! The locks of whole tables that a statement takes.

use super::{StatementContext, StatementTables};
use crate::{
    catalog::TableEntry,
    metadata_locks::{Patience, TableUse, Until},
    processes::WAITING_FOR_TABLE,
};
use muster_algebra::TableId;
use muster_storage::{Transaction, Waits};
use muster_types::Result;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl StatementContext {
    /// Runs something that waits for locks of whole tables: as long as `lock_wait_timeout`, and until KILL.
    pub fn with_patience<R>(&self, wait: impl FnOnce(&Patience<'_>) -> Result<R>) -> Result<R> {
        let seconds = self.session.variables.unsigned("lock_wait_timeout");
        let until = Instant::now().checked_add(Duration::from_secs(seconds));
        let waits = || self.process.set_state(WAITING_FOR_TABLE);
        let state = self.process.state();
        let result = wait(&Patience { until, killed: &self.cancel, waits: &waits });
        self.process.set_state(state);
        result
    }

    /// The rules by which a transaction waits for locks of rows: as long as `innodb_lock_wait_timeout`, and until KILL;
    /// on the short path it does not wait.
    pub fn lock_waits(&self) -> Waits {
        if self.in_place {
            return Waits::Never;
        }
        let seconds = self.session.variables.unsigned("innodb_lock_wait_timeout");
        let cancelled = self.cancel.clone();
        Waits::Until { timeout: Duration::from_secs(seconds), cancel: Arc::new(move || cancelled.is_cancelled()) }
    }

    /// Readies a transaction to lock rows for the statement: how it waits, and the text that reports of deadlocks show.
    pub fn ready_to_lock(&self, transaction: &mut Transaction, waits: Waits) {
        transaction.set_waits(waits);
        transaction.set_statement(self.process.shown_statement());
    }

    /// Locks a table. Returns true if that took a wait, so that the table may have changed. Errors: 1099 and 1100 under
    /// LOCK TABLES; 1205, 1213, 1317.
    pub fn lock_table(&self, table: TableId, name: &str, of: TableUse) -> Result<bool> {
        self.transaction.check_locked(table, name, of != TableUse::Read)?;
        self.with_patience(|patience| self.transaction.use_table(table, of, patience))
    }

    /// Locks a table to be written, if nobody has to be waited for and LOCK TABLES is not in effect. Returns whether it
    /// is locked.
    pub fn try_lock_to_write(&self, table: TableId) -> bool {
        !self.transaction.has_locked_tables() && self.transaction.try_use_table(table, TableUse::Write)
    }

    /// Locks the table of a name, and returns it as it is from then on. Errors: as [`StatementContext::lock_table`];
    /// 1049 and 1146 when there is none, or none any more.
    pub fn lock_named(&self, database: &str, name: &str, of: TableUse) -> Result<Arc<TableEntry>> {
        let find =
            || Ok::<_, muster_types::SqlError>(self.database.tables().definitions().table(database, name)?.clone());
        let mut entry = find()?;
        loop {
            self.lock_table(entry.def.id, name, of)?;
            let now = find()?;
            if now.def.id == entry.def.id {
                return Ok(now);
            }
            entry = now;
        }
    }
}

impl StatementContext {
    /// Locks the table of a name to build other files of it: nobody changes its rows from now on, and others may read
    /// it. First all who have it in their transactions end: they would have to be waited for at the end, when they in
    /// turn may wait to change it. Errors: as [`StatementContext::lock_named`].
    pub fn lock_to_rebuild(&self, database: &str, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.lock_named(database, name, TableUse::Alone)?;
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        locks.weaken(owner, entry.def.id, TableUse::Rebuild, Until::Statement);
        Ok(entry)
    }
}

impl StatementTables {
    /// Locks the tables that were looked up, to be read. Returns false if one of them has changed since, so that names
    /// are to be resolved anew.
    pub fn lock_to_read(&self) -> Result<bool> {
        let (context, used) = (&self.context, self.used());
        if !used.is_empty() {
            context.transaction.note_use();
        }
        if used.is_empty() || (!context.transaction.is_open() && context.transaction.locks().is_free_for_readers()) {
            return Ok(true);
        }
        for table in &used {
            context.with_patience(|patience| context.transaction.use_table(*table, TableUse::Read, patience))?;
        }
        Ok(self.are_current())
    }

    /// Returns true if the tables that were looked up are still what they were then. For locked tables it stays so.
    pub fn are_current(&self) -> bool {
        let now = self.context.database.tables().current();
        Arc::ptr_eq(&now, &self.set) || self.used().iter().all(|table| now.is_same(&self.set, *table))
    }
}
