//! One transaction: it begins with its first change, and ends with commit or rollback.

use super::{PlantedFault, TransactionSystem, UndoRecord, kind};
use crate::{
    FileId, LockMode, LockWait, ReadView, Result, StorageError, Waits,
    locks::TransactionLocks,
    log::{FlushAtCommit, Group, Log, Lsn, Room},
    open_files::KeptOpen,
    tree::UndoKind,
};
use std::sync::Arc;

/// Bytes that the record of a transaction's end takes in the log at most.
const END_BYTES: u64 = 64;

/// A transaction. It has an id and records in the log only once it changes something. Dropped without a commit, it is
/// rolled back.
pub struct Transaction {
    system: Arc<TransactionSystem>,
    /// 0 as long as nothing is changed.
    id: u64,
    /// The last undo record.
    last: Lsn,
    changed_rows: u64,
    /// True if purge has something to remove once all views see the transaction.
    leaves_garbage: bool,
    /// Its locks, once it has an id.
    locks: Option<TransactionLocks>,
    waits: Waits,
    duplicate_mode: LockMode,
    statement: Option<Arc<str>>,
    session: u64,
    /// Set when undoing has failed on the way back to this undo record: until the transaction is back there, it may not
    /// go on.
    half_undone: Option<Lsn>,
    /// Room in the log for the record of the end, and for undoing.
    end_room: Option<Room>,
    undo_room: Option<Room>,
    /// Goes last: with it the directory may be closed.
    _open: KeptOpen,
}

/// A moment within a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    last: Lsn,
}

/// A transaction that has committed: others see its changes. They survive a crash once they have been waited for.
#[must_use]
#[derive(Debug)]
pub struct Committed {
    log: Option<(Arc<Log>, Lsn)>,
}

impl Committed {
    /// Waits on this thread until the client may be told. Errors: the log has failed.
    pub fn wait(&self, flush: FlushAtCommit) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), |(log, end)| log.wait_committed(*end, flush))
    }

    /// A future that is ready when the client may be told; `None` if it may at once.
    pub fn told(&self, flush: FlushAtCommit) -> Option<impl Future<Output = Result<()>> + Send + use<>> {
        self.log.as_ref().and_then(|(log, end)| log.committed(*end, flush))
    }
}

impl TransactionSystem {
    /// A transaction that has changed nothing yet, and that keeps the directory open. Who begins one holds no latch.
    pub fn begin(self: &Arc<Self>, open: KeptOpen) -> Transaction {
        self.help_to_purge();
        Transaction {
            system: Arc::clone(self),
            id: 0,
            last: 0,
            changed_rows: 0,
            leaves_garbage: false,
            locks: None,
            waits: Waits::Never,
            duplicate_mode: LockMode::Shared,
            statement: None,
            session: 0,
            half_undone: None,
            end_room: None,
            undo_room: None,
            _open: open,
        }
    }

    /// The newest view: what has committed by now. Versions that it sees are kept as long as anybody holds it.
    pub fn read_view(&self) -> Arc<ReadView> {
        self.transactions().view()
    }
}

impl Transaction {
    /// The transaction's id, once it has one.
    pub fn id(&self) -> Option<u64> {
        (self.id != 0).then_some(self.id)
    }

    /// Rows that it has inserted, updated and deleted; what was undone counts too.
    pub fn changed_rows(&self) -> u64 {
        self.changed_rows
    }

    /// Returns true if a statement was undone in part only. The transaction can then be rolled back, wholly or to a
    /// savepoint before that statement; changes, locks and its commit fail.
    pub fn is_half_undone(&self) -> bool {
        self.half_undone.is_some()
    }

    /// The transaction's id, which it gets if it has none. Errors: `HalfUndone`, `ForcedRecovery`, `DiskFull`,
    /// `LogFull`, I/O.
    pub(crate) fn ready(&mut self) -> Result<u64> {
        if self.is_half_undone() {
            return Err(StorageError::HalfUndone);
        }
        if self.id == 0 {
            self.system.wait_for_purge();
            self.end_room = Some(self.system.log().reserve(END_BYTES)?);
            let mut locks = self.system.transactions().begin(self.system.log());
            locks.set_waits(self.waits.clone());
            locks.set_duplicate_mode(self.duplicate_mode);
            locks.owner().set_statement(self.statement.clone());
            locks.owner().set_session(self.session);
            self.id = locks.trx_id();
            self.locks = Some(locks);
        }
        Ok(self.id)
    }

    /// The transaction's locks; it gets an id if it has none. Errors: those of [`Transaction::ready`].
    pub(crate) fn locks(&mut self) -> Result<&TransactionLocks> {
        self.ready()?;
        Ok(self.own_locks())
    }

    /// The locks of a transaction that has an id.
    pub(crate) fn own_locks(&self) -> &TransactionLocks {
        self.locks.as_ref().expect("a transaction with an id has locks")
    }

    /// Says whether, and how long, the transaction waits for locks of others from now on. Without it, it does not wait.
    pub fn set_waits(&mut self, waits: Waits) {
        if let Some(locks) = &mut self.locks {
            locks.set_waits(waits.clone());
        }
        self.waits = waits;
    }

    /// The mode in which rows are locked from now on that are in the way of new ones: shared for INSERT, exclusive for
    /// REPLACE and ON DUPLICATE KEY UPDATE, which change them then.
    pub fn set_duplicate_mode(&mut self, mode: LockMode) {
        if let Some(locks) = &mut self.locks {
            locks.set_duplicate_mode(mode);
        }
        self.duplicate_mode = mode;
    }

    /// Tells the text of the statement that runs, for reports of locks.
    pub fn set_statement(&mut self, text: Option<Arc<str>>) {
        if let Some(locks) = &self.locks {
            locks.owner().set_statement(text.clone());
        }
        self.statement = text;
    }

    /// Tells the number of the session that the transaction is of, for reports of locks.
    pub fn set_session(&mut self, session: u64) {
        if let Some(locks) = &self.locks {
            locks.owner().set_session(session);
        }
        self.session = session;
    }

    /// Promises room in the log for undoing a change, whose undoing takes about so many bytes. Error: `DiskFull`.
    pub(crate) fn promise_undo(&mut self, bytes: u64) -> Result<()> {
        let more = self.system.log().promise(bytes)?;
        match &mut self.undo_room {
            Some(room) => room.merge(more),
            None => self.undo_room = Some(more),
        }
        Ok(())
    }

    /// The last undo record.
    pub(crate) fn last(&self) -> Lsn {
        self.last
    }

    /// Notes the undo record of a change, and whether it leaves something behind for purge.
    pub(crate) fn note_change(&mut self, undo: Lsn, leaves_garbage: bool) {
        self.leaves_garbage |= leaves_garbage;
        self.note_changes(undo, 1);
    }

    /// Notes the undo record of the change of so many rows.
    pub(crate) fn note_changes(&mut self, undo: Lsn, rows: u64) {
        self.last = undo;
        self.changed_rows += rows;
        if let Some(locks) = &self.locks {
            locks.owner().set_weight(self.changed_rows);
        }
    }

    pub fn savepoint(&self) -> Savepoint {
        Savepoint { last: self.last }
    }

    /// The moment before its first change.
    pub fn beginning() -> Savepoint {
        Savepoint { last: 0 }
    }

    /// The wait for the lock that the latest error `WouldWait` was about, if there was one since this was asked last.
    pub fn take_lock_wait(&self) -> Option<LockWait> {
        self.locks.as_ref().and_then(TransactionLocks::take_wait)
    }

    /// Undoes what was changed since. Errors: those of reading and changing pages; then the transaction is half undone
    /// ([`Transaction::is_half_undone`]), and this may be tried again.
    pub fn roll_back_to(&mut self, to: Savepoint) -> Result<()> {
        let undone = self.undo_back_to(to);
        self.half_undone = match &undone {
            Ok(()) => self.half_undone.filter(|wanted| *wanted < to.last),
            Err(_) => Some(self.half_undone.map_or(to.last, |wanted| wanted.min(to.last))),
        };
        undone
    }

    fn undo_back_to(&mut self, to: Savepoint) -> Result<()> {
        let system = Arc::clone(&self.system);
        let mut undo_records = system.undo_records();
        while self.last > to.last {
            let record = undo_records.read(self.last)?;
            // Undoing takes of the room that was promised for it.
            let room = undo_bytes(&record.1);
            self.promise_less(room);
            match system.undo(self.last, &record, &mut undo_records.needed) {
                Ok(next) => self.last = next,
                Err(e) => {
                    // The next attempt takes it again. Without it that may have to wait for room.
                    let _ = self.promise_undo(room);
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// Gives room back that was promised for undoing what there is not to undo.
    pub(crate) fn promise_less(&mut self, bytes: u64) {
        if let Some(room) = &mut self.undo_room {
            drop(room.give_up(bytes));
        }
    }

    /// Ends the transaction; others see its changes when this returns. Error: `HalfUndone`; the transaction is rolled
    /// back.
    pub fn commit(mut self) -> Result<Committed> {
        if self.is_half_undone() {
            return self.undo_all().and(Err(StorageError::HalfUndone));
        }
        if self.ends_without_record() {
            return Ok(Committed { log: None });
        }
        let log = Arc::clone(self.system.log());
        let end = self.append_end(&log, kind::COMMIT);
        let is_durable = self.system.transactions().has(PlantedFault::CommitNotWaitedFor);
        let to_purge = (self.last != 0).then_some(if self.leaves_garbage { self.last } else { 0 });
        self.system.transactions().end(self.id, to_purge, self.changed_rows, log.current());
        self.id = 0;
        Ok(Committed { log: (!is_durable).then_some((log, end)) })
    }

    /// Undoes all and ends the transaction. Errors: those of [`Transaction::roll_back_to`]; what is left is undone in
    /// the background.
    pub fn roll_back(mut self) -> Result<()> {
        self.undo_all()
    }

    fn undo_all(&mut self) -> Result<()> {
        if self.ends_without_record() {
            return Ok(());
        }
        self.own_locks().owner().set_rolling_back();
        let undone = self.roll_back_to(Savepoint { last: 0 });
        let id = std::mem::take(&mut self.id);
        match &undone {
            Ok(()) => {
                let log = Arc::clone(self.system.log());
                self.append_end_of(&log, kind::ROLLED_BACK, id);
                self.system.transactions().end(id, Some(0), 0, log.current());
            }
            // Its rows stay locked until then.
            Err(e) => {
                tracing::warn!("transaction {id} could not be rolled back, and is tried again in the background: {e}");
                self.system.transactions().leave_to_background(id, self.last);
            }
        }
        undone
    }

    /// Ends a transaction of which the log has nothing, for it has locked rows at most. Returns false if it has changed
    /// something, even if that is undone.
    fn ends_without_record(&mut self) -> bool {
        if self.id != 0 && self.changed_rows == 0 {
            self.system.transactions().end(std::mem::take(&mut self.id), None, 0, 0);
        }
        self.id == 0
    }

    fn append_end(&mut self, log: &Log, kind: u8) -> Lsn {
        self.append_end_of(log, kind, self.id)
    }

    fn append_end_of(&mut self, log: &Log, kind: u8, id: u64) -> Lsn {
        let mut group = Group::default();
        let is_purged = [u8::from(kind == kind::COMMIT && !self.leaves_garbage)];
        group.push_parts(kind, FileId(0), 0, &[&id.to_le_bytes(), &is_purged]);
        let mut room = self.end_room.take().expect("a transaction with an id has room for its end");
        log.append(&mut group, &mut room).end
    }
}

/// Bytes of the log that undoing takes, about.
pub(crate) fn undo_bytes(record: &UndoRecord) -> u64 {
    match record.kind {
        UndoKind::Inserts => undo_bytes_of(0, 0) * record.keys().len() as u64,
        _ => undo_bytes_of(record.key.len(), record.row_bytes()),
    }
}

/// The same, for a key and a row of so many bytes.
pub(crate) fn undo_bytes_of(key: usize, record: usize) -> u64 {
    const FIXED: usize = 256;
    (FIXED + 2 * (key + record)) as u64
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Transaction { id, last, changed_rows, .. } = self;
        f.debug_struct("Transaction").field("id", id).field("last", last).field("rows", changed_rows).finish()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // What fails is told to the server's log, and done in the background.
        let _ = self.undo_all();
    }
}
