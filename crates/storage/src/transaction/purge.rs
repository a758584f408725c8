//! Purge: versions, rows and entries that no view needs any more go, in the order of commits.

use super::{Ended, Fault, Transactions, UndoKind, UndoReader, kind};
use crate::{
    FileId, ReadView, Result, StorageError, Store,
    log::{Group, Lsn},
};
use std::sync::Arc;

/// The versions that every view sees, those to come included.
#[derive(Debug)]
pub(crate) struct SeenByAll {
    /// All others see what it sees.
    oldest: Arc<ReadView>,
}

impl SeenByAll {
    /// Returns true if all views see what this transaction has changed.
    pub fn contains(&self, trx_id: u64) -> bool {
        self.oldest.sees(trx_id)
    }
}

impl Transactions {
    /// The versions that every view sees now.
    pub fn seen_by_all(&self) -> SeenByAll {
        SeenByAll { oldest: self.state.lock().oldest_view() }
    }

    /// The next transaction to purge, if all views see it.
    fn next_to_purge(&self) -> Option<(Ended, SeenByAll)> {
        let mut state = self.state.lock();
        let mut seen = SeenByAll { oldest: self.raise_horizon(&mut state) };
        if self.has(Fault::PurgeUnseen) {
            seen.oldest = self.view();
        }
        let first = *state.committed.front()?;
        seen.contains(first.id).then_some((first, seen))
    }

    fn purged(&self, id: u64) {
        let mut state = self.state.lock();
        // They are purged in their order.
        if state.committed.front().is_some_and(|ended| ended.id == id) {
            state.committed.pop_front();
        }
    }

    /// Lets go of the oldest views, as long as they keep transactions from being purged whose records begin before a position of the
    /// log. Who reads with them has `SnapshotTooOld` from now on. Returns how many views it were.
    ///
    /// Purge and encoders ask which views there are after this, and a reader asks [`ReadView::check_kept`] after it has read: so
    /// what it has read was still there.
    pub fn expire_views(&self, before: Lsn) -> usize {
        let mut state = self.state.lock();
        // They are not purged in the order in which they have begun.
        let keeping: Vec<u64> = state.committed.iter().filter(|e| e.first < before).map(|e| e.id).collect();
        let mut expired = 0;
        loop {
            let oldest = state.oldest_view();
            // The newest view sees all that has ended.
            if keeping.iter().all(|id| oldest.sees(*id)) {
                break;
            }
            oldest.expire();
            state.views.pop_front();
            expired += 1;
        }
        if expired > 0 {
            self.raise_horizon(&mut state);
            self.work.notify_one();
        }
        expired
    }
}

impl Store {
    /// Purges the first transaction that may be. Returns whether there was one. Errors: those of reading the log and changing
    /// pages; it is tried again.
    pub(crate) fn purge_one(&self, undo_records: &mut UndoReader<'_>) -> Result<bool> {
        // One after the other: what is purged twice at the same time would be freed twice.
        let _purging = self.transactions().purging.lock();
        let Some((ended, seen)) = self.transactions().next_to_purge() else { return Ok(false) };
        let mut at = ended.last;
        // Versions whose long values nobody needs any more.
        let mut versions: Vec<(FileId, Vec<u8>)> = Vec::new();
        while at != 0 {
            if self.transactions().is_stopping() {
                return Err(StorageError::Interrupted);
            }
            let undo = at;
            let (file, record) = undo_records.read(at)?;
            at = record.previous;
            let Some(table) = self.table_of(file)? else { continue };
            table.purge(&record, &seen, undo)?;
            // A row that went has taken its long values along.
            if record.kind == UndoKind::Update && table.tree(0).has_long_values(&record.record)? {
                versions.push((file, record.record));
            }
        }
        if ended.last != 0 {
            self.append_purged(ended.id)?;
        }
        self.transactions().purged(ended.id);
        // Told before their pages are free: after a crash or an error nobody frees them once more.
        for (file, record) in versions {
            if let Some(table) = self.table_of(file)? {
                table.free_long_values(&record)?;
            }
        }
        Ok(true)
    }

    /// Purges all that may be, on this thread.
    pub fn purge(&self) -> Result<()> {
        let mut undo_records = self.undo_records();
        while self.purge_one(&mut undo_records)? {}
        Ok(())
    }

    fn append_purged(&self, id: u64) -> Result<()> {
        let mut group = Group::default();
        group.push_parts(kind::PURGED, FileId(0), 0, &[&id.to_le_bytes()]);
        let mut room = self.log().reserve_at_once(group.bytes())?;
        self.log().append(&mut group, &mut room);
        Ok(())
    }
}
