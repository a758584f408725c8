//! The locks of whole tables that a statement takes.

use super::{StatementContext, StatementTables};
use crate::{
    catalog::{TableEntry, is_view},
    metadata_locks::{ChangePhase, Patience, TableUse, Until},
    processes::{WAITING_FOR_FLUSH, WAITING_FOR_TABLE},
    short_path::LockingStatement,
};
use muster_algebra::TableId;
use muster_storage::{Counters, Transaction, Waits};
use muster_types::{Result, SqlError};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

impl StatementContext {
    /// Runs something that waits for locks of whole tables: as long as `lock_wait_timeout`, and until KILL.
    pub fn with_patience<R>(&self, wait: impl FnOnce(&Patience<'_>) -> Result<R>) -> Result<R> {
        self.with_patience_as(WAITING_FOR_TABLE, wait)
    }

    /// The same, with a state of the process list.
    pub fn with_patience_as<R>(
        &self,
        waiting: &'static str,
        wait: impl FnOnce(&Patience<'_>) -> Result<R>,
    ) -> Result<R> {
        let seconds = self.session.variables.unsigned("lock_wait_timeout");
        self.with_patience_for(Duration::from_secs(seconds), waiting, wait)
    }

    /// The same, for so long.
    pub fn with_patience_for<R>(
        &self,
        timeout: Duration,
        waiting: &'static str,
        wait: impl FnOnce(&Patience<'_>) -> Result<R>,
    ) -> Result<R> {
        let until = Instant::now().checked_add(timeout);
        let waits = || self.process.set_state(waiting);
        let state = self.process.state();
        let deadline = self.clock.deadline.get().copied();
        let result = wait(&Patience { until, deadline, killed: &self.cancel, waits: &waits });
        self.process.set_state(state);
        result
    }

    /// The rules by which a transaction waits for locks of rows: as long as `innodb_lock_wait_timeout`, and until KILL
    /// or the deadline of the statement; on the short path it does not wait.
    pub fn lock_waits(&self) -> Waits {
        if self.in_place {
            return Waits::Never;
        }
        let seconds = self.session.variables.unsigned("innodb_lock_wait_timeout");
        let cancelled = self.cancel.clone();
        Waits::Until {
            timeout: Duration::from_secs(seconds),
            deadline: self.clock.deadline.get().copied(),
            interruption: Arc::new(move || Box::pin(cancelled.clone().cancelled_owned())),
        }
    }

    /// Readies a transaction to lock rows for the statement: how it waits, and the text that reports of deadlocks show.
    pub fn ready_to_lock(&self, transaction: &mut Transaction, waits: Waits) {
        transaction.set_waits(waits);
        transaction.set_statement(self.process.shown_statement());
    }

    /// Locks a table. Returns true if that took a wait, so that the table may have changed. Errors: 1099 and 1100 under
    /// LOCK TABLES; 1205, 1213, 1317.
    pub fn lock_table(&self, table: TableId, name: &str, of: TableUse) -> Result<bool> {
        if of != TableUse::Read && !table.is_temporary() {
            self.begin_postponed()?;
        }
        self.transaction.check_locked(table, name, of != TableUse::Read)?;
        self.with_patience(|patience| self.transaction.use_table(table, of, patience))
    }

    /// Begins the change of a stored table that was postponed because the statement might change temporary ones only.
    /// Errors: 1290, 1792, 1223, and those of the wait for a global read lock.
    fn begin_postponed(&self) -> Result<()> {
        match self.postponed.lock().take() {
            None => Ok(()),
            Some(Some(refusal)) => Err(refusal),
            Some(None) => self.begin_change(),
        }
    }

    /// Begins a change of what all sessions see, once nobody has a global read lock. Errors 1205, 1223, 1317.
    pub fn begin_change(&self) -> Result<()> {
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        self.with_patience(|patience| locks.begin_change(owner, ChangePhase::Statement, patience))
    }

    /// Locks a table to be written, if nobody has to be waited for and LOCK TABLES is not in effect. Returns whether it
    /// is locked.
    pub fn try_lock_to_write(&self, table: TableId) -> bool {
        !self.transaction.has_locked_tables() && self.transaction.try_use_table(table, TableUse::Write)
    }

    /// The same for tables and views that are read.
    pub fn try_lock_to_read(&self, tables: &[TableId]) -> bool {
        tables.iter().all(|id| self.transaction.try_use_table(*id, TableUse::Read))
    }

    /// Locks the table of a name, and returns it as it is from then on. Errors: as [`StatementContext::lock_table`];
    /// 1049 and 1146 when there is none, or none any more.
    pub fn lock_named(&self, database: &str, name: &str, of: TableUse) -> Result<Arc<TableEntry>> {
        let find = || Ok::<_, SqlError>(self.tables.definitions().table(database, name)?.clone());
        if self.tables.is_temporary(database, name) {
            self.transaction.note_use();
            return find();
        }
        self.wait_while_filled(database, name)?;
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
    /// Locks what has these names, stored tables and views: those that there are, in one order, so that two statements
    /// do not wait for each other. Returns their numbers, which stay those of the names. Errors: as
    /// [`StatementContext::lock_table`].
    pub fn lock_names<'a>(
        &self,
        names: impl Iterator<Item = &'a (String, String)> + Clone,
        of: TableUse,
    ) -> Result<HashMap<(String, String), TableId>> {
        let found = || -> HashMap<(String, String), TableId> {
            let definitions = self.database.tables().definitions();
            let id = |name: &'a (String, String)| Some((name.clone(), definitions.lock_id(&name.0, &name.1)?));
            names.clone().filter_map(id).collect()
        };
        let mut wanted = found();
        loop {
            let sorted: BTreeMap<TableId, &str> = wanted.iter().map(|(name, id)| (*id, &*name.1)).collect();
            for (id, name) in sorted {
                self.lock_table(id, name, of)?;
            }
            let now = found();
            if now == wanted {
                return Ok(wanted);
            }
            wanted = now;
        }
    }

    /// Waits while another statement fills a table of this name. Errors 1205, 1213, 1317.
    pub fn wait_while_filled(&self, database: &str, name: &str) -> Result<()> {
        loop {
            let definitions = self.database.tables().definitions();
            let Some(schema) = definitions.schemas.get(database) else { return Ok(()) };
            match schema.unfinished.get(name) {
                None => return Ok(()),
                Some(entry) => self.wait_until_filled(entry.def.id)?,
            }
        }
    }

    /// Waits until a table is filled or has gone, and locks it to be read, so that nobody who came later drops it
    /// first. Errors 1205, 1213, 1317.
    pub fn wait_until_filled(&self, unfinished: TableId) -> Result<()> {
        let until = if self.transaction.is_open() { Until::Transaction } else { Until::Statement };
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        self.with_patience(|patience| locks.lock(owner, unfinished, TableUse::Read, until, patience)).map(drop)
    }

    /// Locks the table of a name to build other files of it: nobody changes its rows from now on, and others may read
    /// it. First all who have it in their transactions end: they would have to be waited for at the end, when they in
    /// turn may wait to change it. Errors: as [`StatementContext::lock_named`].
    pub fn lock_to_rebuild(&self, database: &str, name: &str) -> Result<Arc<TableEntry>> {
        let entry = self.lock_named(database, name, TableUse::Alone)?;
        self.weaken_to_rebuild(entry.def.id);
        Ok(entry)
    }

    /// Lets others read a table again that the statement has alone.
    pub fn weaken_to_rebuild(&self, table: TableId) {
        if table.is_temporary() {
            return;
        }
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        locks.weaken(owner, table, TableUse::Rebuild, Until::Statement);
    }
}

impl LockingStatement for StatementContext {
    fn is_in_place(&self) -> bool {
        self.in_place
    }

    fn counters(&self) -> &Counters {
        self.process.counters.storage()
    }

    fn check_interrupt(&self) -> Result<()> {
        StatementContext::check_interrupt(self)
    }

    fn lock(&self, waits: bool, lock: &mut dyn FnMut(&mut Transaction)) {
        let waits = if waits { self.lock_waits() } else { Waits::Never };
        self.transaction.change(self.database.store(), |transaction| {
            self.ready_to_lock(transaction, waits);
            lock(transaction);
        });
    }
}

impl StatementTables {
    /// Locks the tables and views that were looked up, to be read. Returns false if one of them has changed since, so
    /// that names are to be resolved anew.
    pub fn lock_to_read(&self) -> Result<bool> {
        let (context, used) = (&self.context, self.used());
        if !used.is_empty() {
            context.transaction.note_use();
        }
        if used.is_empty() {
            return Ok(true);
        }
        if !context.transaction.is_open() && context.transaction.locks().is_free_for_readers() {
            self.open(&used)?;
            return Ok(true);
        }
        for table in &used {
            context.with_patience(|patience| context.transaction.use_table(*table, TableUse::Read, patience))?;
        }
        self.open(&used)?;
        Ok(self.are_current())
    }

    /// Locks the tables that foreign keys connect with those whose rows the statement changes: those that are looked at
    /// to be read, those that are changed with them to be written. Errors: as [`StatementContext::lock_table`], but not
    /// those of LOCK TABLES, which has locked them, too (manual 13.3.6).
    pub fn lock_families(&self, targets: impl IntoIterator<Item = TableId>) -> Result<()> {
        let context = &self.context;
        if !context.checks_foreign_keys() {
            return Ok(());
        }
        let reached = self.set.families().reached(targets);
        for (table, is_changed) in &reached {
            let of = if *is_changed { TableUse::Write } else { TableUse::Read };
            context.with_patience(|patience| context.transaction.hold_table(*table, of, patience))?;
        }
        self.note_family(reached.into_keys());
        Ok(())
    }

    /// Notes that the statement uses these tables. A view has nothing that FLUSH TABLES would wait for.
    fn open(&self, used: &[TableId]) -> Result<()> {
        let (locks, owner) = (self.context.transaction.locks(), self.context.transaction.owner());
        for table in used.iter().filter(|id| !is_view(**id) && !id.is_temporary()) {
            if !locks.try_open(owner, *table) {
                self.context.with_patience_as(WAITING_FOR_FLUSH, |patience| locks.open(owner, *table, patience))?;
            }
        }
        Ok(())
    }

    /// Returns true if what was looked up is still what it was then. For locked tables and views it stays so.
    pub fn are_current(&self) -> bool {
        let now = self.context.tables.current();
        let known = || self.used().into_iter().chain(self.family());
        Arc::ptr_eq(&now, &self.set) || known().all(|table| now.is_same(&self.set, table))
    }
}
