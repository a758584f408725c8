//! Undo records, found by their positions and undone one by one.

use super::{ChangedTable, NeededVersions, TransactionSystem, UndoRecord, kind, needed::OlderVersions};
use crate::{
    FileId, Result, StorageError,
    log::{Log, Lsn, NearbyRecords, Record, Room},
    mutex::{Mutex, MutexGuard},
};
use std::sync::Arc;

/// Room in the log that is kept for undoing on a full disk: for the few groups that make room on pages, beside what
/// each transaction has been promised.
#[derive(Debug)]
pub(crate) struct UndoReserve {
    log: Arc<Log>,
    bytes: u64,
    room: Mutex<Option<Room>>,
}

/// The reserve, in use.
pub(crate) struct OpenReserve<'a> {
    reserve: &'a UndoReserve,
    room: MutexGuard<'a, Option<Room>>,
}

impl UndoReserve {
    /// Promises the room. Without it, undoing may have to wait for room.
    pub fn new(log: Arc<Log>, bytes: u64) -> UndoReserve {
        let room = log.promise(bytes).ok();
        UndoReserve { log, bytes, room: Mutex::new(room) }
    }

    /// Gives the room to whoever asks the log for some, until this is dropped.
    pub fn open(&self) -> OpenReserve<'_> {
        let mut room = self.room.lock();
        drop(room.take());
        OpenReserve { reserve: self, room }
    }
}

impl Drop for OpenReserve<'_> {
    fn drop(&mut self) {
        *self.room = self.reserve.log.promise(self.reserve.bytes).ok();
    }
}

/// Undo records that are near each other.
pub(crate) struct UndoReader<'a> {
    system: &'a TransactionSystem,
    records: NearbyRecords<'a>,
    /// Other versions of the rows whose changes are undone or purged.
    pub needed: NeededVersions<'a>,
}

/// The same, for purge.
pub(crate) struct PurgeReader<'a>(pub UndoReader<'a>);

impl Drop for PurgeReader<'_> {
    fn drop(&mut self) {
        let transactions = self.0.system.transactions();
        let older = self.0.needed.take();
        *transactions.purged_row.lock() =
            if transactions.history_length() > 0 { older } else { OlderVersions::default() };
    }
}

impl UndoReader<'_> {
    /// The undo record at a position of the log, and the clustered tree of its table. Errors: `DamagedLog`, I/O.
    pub fn read(&mut self, at: Lsn) -> Result<(FileId, UndoRecord)> {
        self.system.transactions().count_undo_read();
        let read = self.records.read(at, undo_of)?;
        read.ok_or_else(|| self.system.log().damaged(at, "no undo record is here"))
    }
}

/// The undo record that a record of the log is, and the clustered tree of its table.
pub(crate) fn undo_of(record: Record<'_>) -> Option<(FileId, UndoRecord)> {
    let undo = (record.kind == kind::UNDO).then(|| UndoRecord::from_bytes(record.payload)).flatten();
    undo.map(|undo| (record.file, undo))
}

impl TransactionSystem {
    /// As [`TransactionSystem::undo_records`], for purge: the next one who purges knows what was found of the last row.
    pub(crate) fn undo_records_to_purge(&self) -> PurgeReader<'_> {
        let older = std::mem::take(&mut *self.transactions().purged_row.lock());
        PurgeReader(UndoReader { needed: NeededVersions::new(self, older), ..self.undo_records() })
    }

    /// The undo records of transactions, which are read one after the other.
    pub(crate) fn undo_records(&self) -> UndoReader<'_> {
        let needed = NeededVersions::new(self, OlderVersions::default());
        UndoReader { system: self, records: self.log().nearby(), needed }
    }

    /// Undoes the change of an undo record. Returns the position of the one to undo next. Nothing is left to do in a
    /// table that was dropped. Errors: those of reading and changing pages.
    pub(crate) fn undo(
        &self,
        at: Lsn,
        (file, record): &(FileId, UndoRecord),
        needed: &mut NeededVersions<'_>,
    ) -> Result<Lsn> {
        let Some(table) = self.table_of(*file)? else { return Ok(record.previous) };
        match table.undo_change(at, record, needed) {
            Err(StorageError::DiskFull { .. } | StorageError::LogFull { .. }) => {
                // One after the other takes the room that is kept for this.
                let _reserve = self.undo_reserve().open();
                table.undo_change(at, record, needed)
            }
            undone => undone,
        }?;
        Ok(record.previous)
    }

    /// The table with this clustered tree; `None` if it was dropped or given up. Error: `Interrupted` if it is not
    /// known yet.
    pub(crate) fn table_of(&self, file: FileId) -> Result<Option<Arc<dyn ChangedTable>>> {
        if let Some(table) = self.transactions().open_table(file) {
            return Ok(Some(table));
        }
        match self.table_source() {
            Some(source) => source(file).or_else(|e| if self.is_given_up(file)? { Ok(None) } else { Err(e) }),
            None => Err(StorageError::Interrupted),
        }
    }
}
