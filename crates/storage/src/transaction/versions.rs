//! Versions of rows before the newest one, from undo records.

use super::{TransactionSystem, UndoRecord, UndoRow, kind};
use crate::{
    Result, StorageError,
    log::{Log, Lsn, Record},
    tree::{Before, BeforeRow, UndoSource},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Undo records as the source of versions.
pub(crate) struct UndoRecords {
    log: Arc<Log>,
    reads: Arc<AtomicU64>,
}

impl UndoRecords {
    pub fn of(system: &TransactionSystem) -> Arc<dyn UndoSource> {
        let reads = Arc::clone(&system.transactions().undo_reads);
        Arc::new(UndoRecords { log: Arc::clone(system.log()), reads })
    }
}

impl UndoSource for UndoRecords {
    fn before(&self, roll_pointer: Lsn, may_wait: bool) -> Result<Option<Before>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let parse = |record: Record<'_>| match record.kind {
            kind::UNDO => UndoRecord::from_bytes(record.payload),
            _ => None,
        };
        let record = match self.log.read_recent(roll_pointer, parse) {
            Some(record) => record,
            None if !may_wait => return Ok(None),
            None => self.log.read(roll_pointer, parse)?,
        };
        // The record of a version that is needed is kept: another one in its place is that of a later time.
        let UndoRecord { kind, version, marked, row, place, layout, .. } =
            record.ok_or(StorageError::SnapshotTooOld)?;
        let row = match row {
            _ if kind.is_insert() => BeforeRow::None,
            UndoRow::Record(record) => BeforeRow::Record(record),
            UndoRow::Patch { patch, .. } => BeforeRow::Patch(patch),
        };
        Ok(Some(Before { version, marked, row, skips: place.into_skips(), layout }))
    }
}
