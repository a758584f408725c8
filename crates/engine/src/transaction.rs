//! The transaction of a session: whether one is open, what kind it is, and the tables that it has used.
//!
//! With autocommit every statement is a transaction of its own, which begins and ends with it. START TRANSACTION opens
//! one that later statements share, and clients are told of it at once. While autocommit is off, each statement that
//! may use a table opens one *implicitly*. If the statement then does use a table, the transaction has begun: clients
//! are told of it, and later statements share it. If it does not (`SELECT 1`, an unknown column, SAVEPOINT), the
//! transaction goes again at the statement's end, except for its savepoints, which wait for the next statement.

mod savepoints;
mod table_use;

pub use table_use::locked_or_in_transaction;

use crate::{
    metadata_locks::{MetadataLocks, Owner, Until},
    processes::{OpenTransaction, SeenTransaction},
};
use muster_algebra::TableId;
use muster_exec::{QueryCounters, counters::OperatorCounter};
use muster_sql::Isolation;
use muster_storage::{Committed, LockWait, ReadView, Savepoint, StorageError, Store, Transaction, mutex::Mutex};
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering::Relaxed},
    },
    time::SystemTime,
};

/// What OK packets tell of a session's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionStatus {
    pub in_transaction: bool,
    pub read_only: bool,
    pub autocommit: bool,
}

const IN_TRANSACTION: u16 = 1;
const READ_ONLY: u16 = 2;
const AUTOCOMMIT: u16 = 4;
/// The statement that runs uses tables.
const STATEMENT_USES_TABLES: u16 = 8;
/// A statement of the open transaction has used tables.
const USES_TABLES: u16 = 16;
/// Statements share a transaction, which may be an implicit one that has not begun.
const OPEN: u16 = 32;
/// The statement that runs has read or changed rows, or is about to.
const STATEMENT_MEETS_ROWS: u16 = 64;
/// The last statement has used tables.
const LAST_USED_TABLES: u16 = 128;
/// A statement of the open transaction was undone in part only.
const HALF_UNDONE: u16 = 256;

/// Temporary tables were made, or dropped, in the open transaction.
const CREATED_TEMPORARY: u16 = 512;
const DROPPED_TEMPORARY: u16 = 1024;

/// What happens to temporary tables within a transaction, and is not taken back with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporaryChange {
    Created,
    Dropped,
}

/// How a transaction sees others, and whether it may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characteristics {
    pub isolation: Isolation,
    pub read_only: bool,
}

/// A transaction that spans statements.
struct Open {
    characteristics: Characteristics,
    began: SystemTime,
    /// Names in lower case, in the order in which they were set. `None`: the transaction had used no table by then.
    savepoints: Vec<(String, Option<Savepoint>)>,
    /// The view that its first read has taken, where all its reads see the same.
    view: Option<Arc<ReadView>>,
}

/// The changes of the open transaction, or of the statement that is a transaction of its own.
#[derive(Default)]
struct Changes {
    /// `None` as long as nothing was to be changed.
    transaction: Option<Transaction>,
    /// The store that transactions are of, once one has begun.
    store: Option<Arc<Store>>,
    /// Of the statement that runs the moment before it, if there were changes by then; `None`: no statement runs.
    statement: Option<Option<Savepoint>>,
}

/// A table of LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedTable {
    pub id: TableId,
    pub write: bool,
}

/// The transaction of a session, shared by the session and its statements.
pub struct SessionTransaction {
    /// The session's number.
    session: u32,
    /// The owner of its locks.
    owner: Owner,
    locks: Arc<MetadataLocks>,
    counters: Arc<QueryCounters>,
    status: AtomicU16,
    open: Mutex<Option<Open>>,
    changes: Mutex<Changes>,
    /// The tables of LOCK TABLES; `None`: it is not in effect.
    locked: Mutex<Option<HashMap<TableId, bool>>>,
}

impl SessionTransaction {
    /// `counters`: the session's.
    pub fn new(session: u32, locks: Arc<MetadataLocks>, counters: Arc<QueryCounters>) -> Arc<SessionTransaction> {
        Arc::new(SessionTransaction {
            session,
            owner: Owner::Session(session),
            locks,
            counters,
            status: AtomicU16::new(AUTOCOMMIT),
            open: Mutex::default(),
            changes: Mutex::default(),
            locked: Mutex::default(),
        })
    }

    pub fn status(&self) -> TransactionStatus {
        let status = self.status.load(Relaxed);
        let has = |bit| status & bit != 0;
        TransactionStatus {
            in_transaction: has(IN_TRANSACTION),
            read_only: has(READ_ONLY),
            autocommit: has(AUTOCOMMIT),
        }
    }

    fn set_status(&self, bit: u16, on: bool) {
        if on {
            self.status.fetch_or(bit, Relaxed);
        } else {
            self.status.fetch_and(!bit, Relaxed);
        }
    }

    pub fn set_autocommit(&self, on: bool) {
        self.set_status(AUTOCOMMIT, on);
    }

    fn has_status(&self, bit: u16) -> bool {
        self.status.load(Relaxed) & bit != 0
    }

    /// Notes that the statement has made or dropped temporary tables. Within a transaction a rollback warns of it.
    pub fn note_temporary(&self, change: TemporaryChange) {
        let bit = match change {
            TemporaryChange::Created => CREATED_TEMPORARY,
            TemporaryChange::Dropped => DROPPED_TEMPORARY,
        };
        if self.is_open() {
            self.note_use();
            self.set_status(bit, true);
        }
    }

    /// What the open transaction has done to temporary tables.
    pub fn temporary_changes(&self) -> impl Iterator<Item = TemporaryChange> {
        let changes = [(CREATED_TEMPORARY, TemporaryChange::Created), (DROPPED_TEMPORARY, TemporaryChange::Dropped)];
        changes.into_iter().filter(|(bit, _)| self.has_status(*bit)).map(|(_, change)| change)
    }

    /// Notes that the statement uses tables, whose transaction is then counted at its end.
    pub fn note_use(&self) {
        self.set_status(STATEMENT_USES_TABLES, true);
    }

    /// Notes that the open transaction has used tables, from this moment on.
    pub fn note_use_by_transaction(&self) {
        self.set_status(USES_TABLES | IN_TRANSACTION, true);
    }

    /// Returns true if the last statement has used tables: characteristics for the next transaction only are no longer
    /// valid then.
    pub fn last_used_tables(&self) -> bool {
        self.has_status(LAST_USED_TABLES)
    }

    /// Counts the end of a statement, or of the open transaction, if it has used tables.
    fn count_end(&self, uses_tables: u16, counter: OperatorCounter) {
        if self.status.fetch_and(!uses_tables, Relaxed) & uses_tables != 0 {
            self.counters.add(counter, 1);
        }
    }

    /// Ends a statement that has used tables and only read.
    pub fn end_read(&self) {
        self.note_use();
        self.end_uses(true, OperatorCounter::commits);
    }

    /// Ends a statement for what has used tables, the statement and its transaction, and counts it. An implicit
    /// transaction begins if the statement has used tables, which one that has failed has done if it came to its rows.
    fn end_uses(&self, succeeded: bool, counter: OperatorCounter) {
        let uses = self.has_status(STATEMENT_USES_TABLES) && (succeeded || self.has_status(STATEMENT_MEETS_ROWS));
        self.count_end(STATEMENT_USES_TABLES, counter);
        self.set_status(STATEMENT_MEETS_ROWS, false);
        self.set_status(LAST_USED_TABLES, uses);
        if !self.is_open() {
            return;
        }
        if uses {
            self.note_use_by_transaction();
        } else if !self.has_status(USES_TABLES) {
            self.forget_unused();
        }
    }

    /// Takes from an open transaction that has used no table what the statement has given it: the view, and if the
    /// transaction is an implicit one, everything but its savepoints.
    fn forget_unused(&self) {
        let mut open = self.open.lock();
        let Some(of_transaction) = &mut *open else { return };
        of_transaction.view = None;
        if self.has_status(IN_TRANSACTION) {
            return;
        }
        if of_transaction.savepoints.is_empty() {
            *open = None;
            self.set_status(OPEN | READ_ONLY, false);
        }
        self.locks.release(self.owner, Until::Transaction);
    }

    /// Counts something that was done about savepoints, if the transaction has used tables.
    fn count_savepoint(&self, counter: OperatorCounter) {
        if self.has_status(USES_TABLES) {
            self.counters.add(counter, 1);
        }
    }

    /// Returns true if statements share a transaction just now, which may be an implicit one that has not begun.
    pub fn is_open(&self) -> bool {
        self.has_status(OPEN)
    }

    /// Returns true if a transaction that statements share has begun.
    pub fn has_begun(&self) -> bool {
        self.has_status(IN_TRANSACTION)
    }

    /// The characteristics of the open transaction, which of an implicit one that has not begun are those of the
    /// statement that runs.
    pub fn characteristics(&self) -> Option<Characteristics> {
        self.open.lock().as_ref().map(|open| open.characteristics)
    }

    /// Opens a transaction that statements share. There must be none that has begun.
    pub fn open(&self, characteristics: Characteristics) {
        debug_assert!(!self.is_open(), "the transaction before is ended first");
        self.open_implicitly(characteristics);
        self.set_status(IN_TRANSACTION, true);
    }

    /// Opens a transaction for a statement without autocommit: it begins if the statement uses tables. Savepoints that
    /// were set before stay. There must be no transaction that has begun.
    pub fn open_implicitly(&self, characteristics: Characteristics) {
        debug_assert!(!self.has_begun(), "a transaction that has begun keeps its characteristics");
        let mut open = self.open.lock();
        let savepoints = open.take().map_or_else(Vec::new, |before| before.savepoints);
        *open = Some(Open { characteristics, began: SystemTime::now(), savepoints, view: None });
        self.set_status(OPEN, true);
        self.set_status(READ_ONLY, characteristics.read_only);
    }

    /// The view that a statement reads with. REPEATABLE READ and SERIALIZABLE keep the one that the transaction's first
    /// read has taken; READ COMMITTED, and a statement that is a transaction of its own, take the newest; READ
    /// UNCOMMITTED sees everything.
    pub fn read_view(&self, newest: impl FnOnce() -> Arc<ReadView>) -> Arc<ReadView> {
        self.set_status(STATEMENT_MEETS_ROWS, true);
        if !self.is_open() {
            return newest();
        }
        let view = match &mut *self.open.lock() {
            None => newest(),
            Some(open) => match open.characteristics.isolation {
                Isolation::ReadUncommitted => return ReadView::uncommitted(newest().low()),
                Isolation::ReadCommitted => newest(),
                Isolation::RepeatableRead | Isolation::Serializable => Arc::clone(open.view.get_or_insert_with(newest)),
            },
        };
        self.with_own_changes(view)
    }

    /// The view that the transaction keeps for all its reads, if it has read.
    pub fn kept_view(&self) -> Option<Arc<ReadView>> {
        self.open.lock().as_ref()?.view.clone()
    }

    /// The same view with the changes of the transaction itself.
    pub fn with_own_changes(&self, view: Arc<ReadView>) -> Arc<ReadView> {
        match self.changes.lock().transaction.as_ref().and_then(Transaction::id) {
            Some(id) => view.with_own(id),
            None => view,
        }
    }

    /// Does something with the transaction in storage, which begins if there is none.
    pub fn change<R>(&self, store: &Arc<Store>, change: impl FnOnce(&mut Transaction) -> R) -> R {
        let mut changes = self.changes.lock();
        let Changes { transaction, store: known, .. } = &mut *changes;
        let begin = || {
            let mut transaction = known.get_or_insert_with(|| Arc::clone(store)).begin();
            transaction.set_session(self.session.into());
            transaction
        };
        self.set_status(STATEMENT_MEETS_ROWS, true);
        change(transaction.get_or_insert_with(begin))
    }

    /// Rows that the transaction has changed so far.
    pub fn changed_rows(&self) -> u64 {
        self.changes.lock().transaction.as_ref().map_or(0, Transaction::changed_rows)
    }

    /// A moment to go back to within the statement.
    pub fn moment(&self, store: &Arc<Store>) -> Savepoint {
        self.change(store, |transaction| transaction.savepoint())
    }

    /// Takes back what was changed since. Error 1181: the transaction is half undone then.
    pub fn back_to(&self, moment: Savepoint) -> Result<()> {
        let mut changes = self.changes.lock();
        let Some(transaction) = &mut changes.transaction else { return Ok(()) };
        let undone = transaction.roll_back_to(moment);
        self.set_status(HALF_UNDONE, transaction.is_half_undone());
        undone.map_err(during_rollback)
    }

    /// Returns true if a statement of the open transaction was undone in part only: all that can be done is to roll
    /// back, wholly or to a savepoint before that statement.
    pub fn is_half_undone(&self) -> bool {
        self.status.load(Relaxed) & HALF_UNDONE != 0
    }

    /// Error 1181 if the open transaction is half undone.
    pub fn check_whole(&self) -> Result<()> {
        if self.is_half_undone() { Err(during_rollback(StorageError::HalfUndone)) } else { Ok(()) }
    }

    /// Begins a statement: if it fails, what it has changed is taken back.
    pub fn begin_statement(&self) {
        self.set_status(STATEMENT_USES_TABLES | STATEMENT_MEETS_ROWS | LAST_USED_TABLES, false);
        let mut changes = self.changes.lock();
        // What an earlier statement would have waited for concerns nobody.
        drop(changes.transaction.as_ref().and_then(Transaction::take_lock_wait));
        changes.statement = Some(changes.transaction.as_ref().map(Transaction::savepoint));
    }

    /// Ends what the statement has until its last row.
    pub fn end_rows(&self) {
        self.locks.release(self.owner, Until::LastRow);
    }

    /// Takes back what the statement has changed, which is to run anew.
    pub fn restart_statement(&self) -> Result<()> {
        let undone = self.take_back_statement();
        self.locks.end_statement(self.owner);
        undone
    }

    /// Takes back what the statement has changed, which is to run anew once it has the lock that it has met: the wait
    /// for that. `None`: it has met none. The locks of rows that the statement has got by then stay.
    pub fn restart_for_lock(&self) -> Result<Option<LockWait>> {
        let (statement, wait) = {
            let mut changes = self.changes.lock();
            (changes.statement.take(), changes.transaction.as_ref().and_then(Transaction::take_lock_wait))
        };
        let undone = match (statement, &wait) {
            // A transaction that has changed nothing is there to wait.
            (Some(None), Some(_)) => self.back_to(Transaction::beginning()),
            (statement, _) => self.undo_statement(statement),
        };
        self.locks.end_statement(self.owner);
        undone.map(|()| wait)
    }

    /// Takes back what the statement has changed. It keeps the tables that it has locked.
    pub fn take_back_statement(&self) -> Result<()> {
        let statement = self.changes.lock().statement.take();
        self.undo_statement(statement)
    }

    /// Takes back what a statement has changed, by what there was when it began; nothing if it had not begun to change
    /// rows.
    fn undo_statement(&self, begun: Option<Option<Savepoint>>) -> Result<()> {
        match begun {
            Some(Some(before)) => self.back_to(before),
            Some(None) => self.roll_back_changes(),
            None => Ok(()),
        }
    }

    /// Ends a statement. One that is a transaction of its own commits, or is rolled back if it has failed. In an open
    /// transaction, one that has failed is undone: after a deadlock, and after a timeout if `rolls_back_on_timeout`,
    /// all of the transaction is. `committed` sees to it that the changes are durable before the client is told.
    pub fn end_statement<R>(
        &self,
        outcome: Result<R>,
        rolls_back_on_timeout: bool,
        committed: impl FnOnce(Committed) -> Result<()>,
    ) -> Result<R> {
        let statement = self.changes.lock().statement.take();
        let counter = if outcome.is_ok() { OperatorCounter::commits } else { OperatorCounter::rollbacks };
        let succeeded = outcome.is_ok();
        let outcome = match (self.is_open(), outcome) {
            (false, Ok(done)) => self.commit_changes(committed).map(|()| done),
            (false, Err(e)) => self.roll_back_changes().and(Err(e)),
            (true, Ok(done)) => Ok(done),
            (true, Err(e)) if ends_transaction(&e, rolls_back_on_timeout) => self.roll_back().and(Err(e)),
            (true, Err(e)) => self.undo_statement(statement).and(Err(e)),
        };
        self.end_uses(succeeded, counter);
        self.locks.end_statement(self.owner);
        outcome
    }

    /// Commits what the statement has changed before it ends. It must be a transaction of its own, and what it does
    /// next must make the log durable.
    pub fn commit_statement(&self) -> Result<()> {
        debug_assert!(!self.is_open(), "the statement has a transaction of its own");
        self.commit_changes(|_| Ok(()))
    }

    fn commit_changes(&self, committed: impl FnOnce(Committed) -> Result<()>) -> Result<()> {
        let transaction = self.changes.lock().transaction.take();
        self.set_status(HALF_UNDONE, false);
        match transaction {
            Some(transaction) => committed(transaction.commit()?),
            None => Ok(()),
        }
    }

    fn roll_back_changes(&self) -> Result<()> {
        let (transaction, store) = {
            let mut changes = self.changes.lock();
            (changes.transaction.take(), changes.store.clone())
        };
        self.set_status(HALF_UNDONE, false);
        let Some(transaction) = transaction else { return Ok(()) };
        let id = transaction.id();
        let rolled_back = transaction.roll_back();
        if let (Err(_), Some(store), Some(id)) = (&rolled_back, store, id) {
            self.keep_tables(&store, id);
        }
        rolled_back.map_err(during_rollback)
    }

    /// Keeps the tables of a transaction whose rollback has failed from whoever would change or replace them as a
    /// whole, until the background has rolled it back.
    fn keep_tables(&self, store: &Store, trx_id: u64) {
        self.locks.hand_over(self.owner, trx_id);
        // It may have been done by now, and nobody will tell of it again.
        if !store.is_cut_off(trx_id) {
            self.locks.release(Owner::CutOff(trx_id), Until::Transaction);
        }
    }

    /// Makes the changes of the open transaction, if there is one, visible. `committed` sees to it that they are
    /// durable before the client is told. Error 1180: the transaction is half undone, and stays open.
    pub fn commit(&self, committed: impl FnOnce(Committed) -> Result<()>) -> Result<()> {
        if self.is_half_undone() {
            let e = StorageError::HalfUndone;
            let message = format!("Got error {} - '{e}' during COMMIT", e.number());
            return Err(SqlError::new(ErrorCode::ErrorDuringCommit, message));
        }
        let committed = self.commit_changes(committed);
        self.count_end(USES_TABLES, OperatorCounter::commits);
        self.end();
        committed
    }

    /// Takes the changes of the open transaction back, if there is one.
    pub fn roll_back(&self) -> Result<()> {
        let rolled_back = self.roll_back_changes();
        self.count_end(USES_TABLES, OperatorCounter::rollbacks);
        self.end();
        rolled_back
    }

    fn end(&self) {
        if self.open.lock().take().is_some() {
            self.set_status(OPEN | IN_TRANSACTION | READ_ONLY | CREATED_TEMPORARY | DROPPED_TEMPORARY, false);
            self.locks.release(self.owner, Until::Transaction);
        }
    }

    pub fn locks(&self) -> &MetadataLocks {
        &self.locks
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }
}

/// Returns true if an error takes all of the transaction with it.
fn ends_transaction(e: &SqlError, rolls_back_on_timeout: bool) -> bool {
    match e.code {
        ErrorCode::LockDeadlock | ErrorCode::LockTableFull => true,
        ErrorCode::LockWaitTimeout => rolls_back_on_timeout,
        _ => false,
    }
}

/// Error 1181: undoing has failed.
fn during_rollback(e: StorageError) -> SqlError {
    let message = format!("Got error {} - '{e}' during ROLLBACK", e.number());
    SqlError::new(ErrorCode::ErrorDuringRollback, message)
}

impl SeenTransaction for SessionTransaction {
    fn seen(&self) -> Option<OpenTransaction> {
        let uses_tables = self.has_status(USES_TABLES | STATEMENT_USES_TABLES);
        self.open.lock().as_ref().map(|open| {
            let Characteristics { isolation, read_only } = open.characteristics;
            OpenTransaction { began: open.began, uses_tables, isolation, read_only }
        })
    }
}

impl Drop for SessionTransaction {
    fn drop(&mut self) {
        if let Err(e) = self.roll_back() {
            tracing::warn!("the transaction of session {} is rolled back later: {e}", self.session);
        }
        self.locks.release_all(self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if two reads of a transaction with this isolation use the same view, though another has committed
    /// in between.
    fn keeps_its_view(isolation: Isolation) -> bool {
        let transaction = SessionTransaction::new(1, Arc::default(), Arc::default());
        transaction.open(Characteristics { isolation, read_only: false });
        let first = transaction.read_view(|| ReadView::new([].into(), 5));
        let second = transaction.read_view(|| ReadView::new([].into(), 6));
        transaction.commit(|_| Ok(())).unwrap();
        let after = transaction.read_view(|| ReadView::new([].into(), 7));
        assert!(after.sees(6), "the next transaction takes a view of its own");
        first == second
    }

    #[test]
    fn the_isolation_says_how_long_a_view_is_kept() {
        assert!(keeps_its_view(Isolation::RepeatableRead) && keeps_its_view(Isolation::Serializable));
        assert!(!keeps_its_view(Isolation::ReadCommitted));
    }

    #[test]
    fn only_reads_of_uncommitted_changes_see_everything() {
        let transaction = SessionTransaction::new(1, Arc::default(), Arc::default());
        let newest = || ReadView::new([].into(), 5);
        assert!(!transaction.read_view(newest).sees(5));
        transaction.open(Characteristics { isolation: Isolation::ReadUncommitted, read_only: false });
        assert!(transaction.read_view(newest).sees(5));
    }
}
