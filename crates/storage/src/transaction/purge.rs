//! Purge: versions, rows and entries that no view needs any more go, in the order of commits.

use super::{Ended, State, Transactions, UndoKind, kind};
use crate::{FileId, ReadView, Result, StorageError, Store, log::Group};
use std::sync::{Arc, atomic::Ordering};

/// The versions that every view sees, those to come included.
#[derive(Debug)]
pub(crate) struct SeenByAll {
    views: Vec<Arc<ReadView>>,
}

impl SeenByAll {
    /// Returns true if all views see what this transaction has changed.
    pub fn contains(&self, trx_id: u64) -> bool {
        self.views.iter().all(|view| view.sees(trx_id))
    }
}

impl Transactions {
    /// The versions that every view sees now.
    pub fn seen_by_all(&self) -> SeenByAll {
        self.state.lock().seen_by_all()
    }

    /// The next transaction to purge, if all views see it.
    fn next_to_purge(&self) -> Option<(Ended, SeenByAll)> {
        let mut state = self.state.lock();
        state.drop_unused_views();
        self.horizon.store(state.horizon(), Ordering::Release);
        let seen = state.seen_by_all();
        let first = *state.committed.front()?;
        seen.contains(first.id).then_some((first, seen))
    }

    fn purged(&self, id: u64) {
        self.state.lock().committed.retain(|ended| ended.id != id);
    }
}

impl State {
    fn seen_by_all(&self) -> SeenByAll {
        SeenByAll { views: self.views.iter().filter_map(std::sync::Weak::upgrade).collect() }
    }
}

impl Store {
    /// Purges the first transaction that may be. Returns whether there was one. Errors: those of reading the log and changing
    /// pages; it is tried again.
    pub(crate) fn purge_one(&self) -> Result<bool> {
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
            let (file, record) = self.undo_record(at)?;
            at = record.previous;
            let Some(table) = self.table_of(file)? else { continue };
            table.purge(&record, &seen, undo)?;
            // A row that went has taken its long values along.
            if record.kind == UndoKind::Update && table.tree(0).has_long_values(&record.record)? {
                versions.push((file, record.record));
            }
        }
        self.append_purged(ended.id)?;
        // Told before their pages are free: after a crash nobody frees them once more.
        for (file, record) in versions {
            if let Some(table) = self.table_of(file)? {
                table.tree(0).free_long_values(&record, self.counters())?;
            }
        }
        self.transactions().purged(ended.id);
        Ok(true)
    }

    /// Purges all that may be, on this thread.
    pub fn purge(&self) -> Result<()> {
        while self.purge_one()? {}
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
