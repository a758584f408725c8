//! Purge: versions, rows and entries that no view needs any more go, in the order of commits.

use super::{
    ChangedTable, Ended, NeededVersions, PlantedFault, TransactionSystem, Transactions, UndoReader, UndoRecord,
    history::History, kind,
};
use crate::{
    FileId, ReadView, Result, StorageError,
    log::{Group, Lsn},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// The versions that every view sees, those to come included.
#[derive(Debug)]
pub(crate) struct SeenByAll {
    /// All others see what it sees. It is not one of them: a thread that purges, or undoes, must not keep versions from
    /// being purged. Of threads that do so by turns, each would hand the oldest view on to the next.
    oldest: Arc<ReadView>,
}

impl SeenByAll {
    fn of(oldest: &ReadView) -> SeenByAll {
        SeenByAll { oldest: oldest.without_hold() }
    }

    /// Returns true if all views see what this transaction has changed.
    pub fn contains(&self, trx_id: u64) -> bool {
        self.oldest.sees(trx_id)
    }
}

/// From so many transactions on who begins one helps to purge.
const HELPED_FROM: usize = 2048;

/// Transactions that such a helper purges.
const HELP: usize = 2;

/// Who purges a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purger {
    /// A thread that has nothing else to do, and may wait.
    Thread,
    /// A thread that is about to begin a transaction: it takes little, and waits for nobody who keeps a table from
    /// being changed.
    Helper,
}

/// How far purge is behind, to be looked at without a lock.
#[derive(Debug)]
pub(super) struct Lag {
    /// Small transactions that wait.
    length: AtomicUsize,
    /// True if all views saw the first of them when a transaction last ended.
    is_first_seen: AtomicBool,
    /// The end of the log when the first transaction ended that waits or is being purged, if all views see it; else
    /// `u64::MAX`.
    first_ended_at: AtomicU64,
    /// From so many on there is help.
    helped_from: AtomicUsize,
}

impl Default for Lag {
    fn default() -> Lag {
        Lag {
            length: AtomicUsize::new(0),
            is_first_seen: AtomicBool::new(false),
            first_ended_at: AtomicU64::new(u64::MAX),
            helped_from: AtomicUsize::new(HELPED_FROM),
        }
    }
}

impl Lag {
    /// Takes in what has changed in the history. `oldest`: the oldest view.
    pub fn note(&self, history: &History, oldest: &ReadView) {
        self.length.store(history.small().len(), Relaxed);
        self.is_first_seen.store(history.small().front().is_some_and(|first| oldest.sees(first.id)), Relaxed);
        self.first_ended_at.store(history.first_ended_at(oldest).unwrap_or(u64::MAX), Relaxed);
    }

    /// Bytes of the log that were written since the first transaction ended that all views see and that is not purged.
    /// Those that could not be purged are not meant.
    pub fn behind(&self, current: Lsn) -> u64 {
        current.saturating_sub(self.first_ended_at.load(Relaxed))
    }
}

/// Returns true for an error that the changes of another transaction need not meet: all but those of the disk's room,
/// of memory, and of a store that closes or may not be changed.
pub(super) fn is_of_one_table(e: &StorageError) -> bool {
    use StorageError::*;
    !matches!(e, Interrupted | ForcedRecovery | DiskFull { .. } | LogFull { .. } | NoFreeFrame { .. })
}

impl Transactions {
    /// The versions that every view sees now.
    pub fn seen_by_all(&self) -> SeenByAll {
        SeenByAll::of(&self.state.lock().oldest_view())
    }

    /// The next transaction to purge, if all views see it. It is the caller's until [`Transactions::put_back`]. A
    /// helper takes small ones only.
    fn take_to_purge(&self, who: Purger) -> Option<(Ended, SeenByAll)> {
        let mut state = self.state.lock();
        let mut seen = SeenByAll::of(&self.raise_horizon(&mut state));
        if self.has(PlantedFault::PurgeUnseen) {
            seen.oldest = self.view();
        }
        let first = state.history.take(who == Purger::Helper, |id| seen.contains(id));
        self.lag.note(&state.history, &seen.oldest);
        Some((first?, seen))
    }

    /// Has those who begin transactions help from so many on that wait.
    #[cfg(test)]
    pub fn help_purge_from(&self, waiting: usize) {
        self.lag.helped_from.store(waiting, Relaxed);
    }

    /// Notes what has become of a transaction that was taken to be purged.
    fn put_back(&self, put: impl FnOnce(&mut History)) {
        let mut state = self.state.lock();
        put(&mut state.history);
        let oldest = state.oldest_view();
        self.lag.note(&state.history, &oldest);
        drop(state);
        self.purge_ended.notify_all();
    }

    /// Waits until all transactions that ended before another one are purged, or could not be. Returns false if nobody
    /// is purging one of them, and for a helper, which does not wait.
    fn wait_for_earlier(&self, end: u64, who: Purger) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.history.waits_before(end) {
                return false;
            }
            if !state.history.is_taken_before(end) {
                return true;
            }
            if who == Purger::Helper {
                return false;
            }
            self.purge_ended.wait(&mut state);
        }
    }

    /// Returns true if so many transactions wait for purge, all of which views see, that the thread alone does not keep
    /// up.
    fn lags(&self) -> bool {
        self.lag.length.load(Relaxed) >= self.lag.helped_from.load(Relaxed) && self.lag.is_first_seen.load(Relaxed)
    }

    /// Lets go of the oldest views, as long as they keep transactions from being purged that have ended before a
    /// position of the log. (Before it ends, a transaction keeps the log by itself, whatever views there are.) Who
    /// reads with them has `SnapshotTooOld` from now on. Returns how many views it were.
    ///
    /// Purge and encoders ask which views there are after this, and a reader asks [`ReadView::check_kept`] after it has
    /// read: so what it has read was still there.
    pub fn expire_views(&self, before: Lsn) -> usize {
        let mut state = self.state.lock();
        // Those that are being purged are seen by all views.
        let Some(last) = state.history.last_ended_before(before) else { return 0 };
        let mut expired = 0;
        loop {
            let oldest = state.oldest_view();
            // The newest view sees all that has ended.
            if oldest.sees(last) {
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

impl TransactionSystem {
    /// Purges the first transaction that may be, whatever other threads purge meanwhile. Returns whether there was one
    /// for this purger. Errors: those of reading the log and changing pages; it is tried again.
    fn purge_one(&self, who: Purger, undo_records: &mut UndoReader<'_>) -> Result<bool> {
        let Some((ended, seen)) = self.transactions().take_to_purge(who) else { return Ok(false) };
        let transactions = self.transactions();
        let mut purged = self.purge_transaction(ended, &seen, who, undo_records);
        if let Err(e) = &purged
            && is_of_one_table(e)
            && transactions.bounds.purge_is_given_up(&ended, self.log())
        {
            purged = self.give_up_purging(ended, &seen, undo_records, e);
        }
        match &purged {
            Ok(true) => transactions.put_back(|history| history.purged(&ended)),
            Err(e) if is_of_one_table(e) => {
                let failed_at = if ended.failed_at > 0 { ended.failed_at } else { self.log().current() };
                transactions.put_back(|history| history.fail(Ended { failed_at, ..ended }));
            }
            // The next helper would meet the same.
            _ if who == Purger::Helper => transactions.put_back(|history| history.leave_to_thread(ended)),
            _ => transactions.put_back(|history| history.wait_again(ended)),
        }
        Ok(purged? || who == Purger::Thread)
    }

    /// Purges what can be purged of a transaction, and leaves the rest for good: rows and entries that are marked and
    /// that no reader sees, and pages of long values. The log need not be kept for it any more. Errors: those that are
    /// not of one table.
    fn give_up_purging(
        &self,
        ended: Ended,
        seen: &SeenByAll,
        undo_records: &mut UndoReader<'_>,
        reason: &StorageError,
    ) -> Result<bool> {
        let visited = self.visit_undo_of(ended, undo_records, |file, undo, record, needed| {
            let purged = match self.table_of(file) {
                Ok(Some(table)) => table.purge_version(record, seen, undo, needed),
                Ok(None) => Ok(()),
                Err(e) => Err(e),
            };
            purged.or_else(|e| if is_of_one_table(&e) { Ok(()) } else { Err(e) })
        });
        if let Err(e) = visited
            && !is_of_one_table(&e)
        {
            return Err(e);
        }
        tracing::error!(
            "transaction {} cannot be purged, and the log is not kept for it any more: deleted rows of its tables keep their room: {reason}",
            ended.id
        );
        self.append_purged(ended.id)?;
        Ok(true)
    }

    /// Removes what nobody needs any more since a transaction has ended. Returns false if another one has to be purged
    /// first.
    ///
    /// Rows and entries may go in any order: whoever removes some of a row finds out from the versions that are there
    /// then, and two that have changed the same row look at it one after the other. But the long values of a version
    /// are read by the purge of all transactions that have changed the row before, so they go last.
    fn purge_transaction(
        &self,
        ended: Ended,
        seen: &SeenByAll,
        who: Purger,
        undo_records: &mut UndoReader<'_>,
    ) -> Result<bool> {
        let mut has_long_values = false;
        self.visit_undo(ended, undo_records, |table, undo, record, needed| {
            if who == Purger::Helper && !table.may_be_changed_now() {
                return Err(StorageError::Interrupted);
            }
            table.purge_version(record, seen, undo, needed)?;
            has_long_values |= table.has_long_version(record)?;
            Ok(())
        })?;
        if has_long_values && !self.transactions().wait_for_earlier(ended.end, who) {
            return Ok(false);
        }
        if ended.last != 0 {
            self.append_purged(ended.id)?;
        }
        // Told before the pages of long values are free: after a crash or an error nobody frees them once more.
        if has_long_values {
            let freed =
                self.visit_undo(ended, undo_records, |table, _, record, _| match table.has_long_version(record)? {
                    true => table.free_long_version(record),
                    false => Ok(()),
                });
            if let Err(e) = freed {
                tracing::warn!("long values that nobody needs keep their pages: {e}");
            }
        }
        Ok(true)
    }

    /// Calls `visit` with the undo records of a transaction, the last one first, and their tables and positions.
    fn visit_undo(
        &self,
        ended: Ended,
        undo_records: &mut UndoReader<'_>,
        mut visit: impl FnMut(&dyn ChangedTable, Lsn, &UndoRecord, &mut NeededVersions<'_>) -> Result<()>,
    ) -> Result<()> {
        self.visit_undo_of(ended, undo_records, |file, at, record, needed| match self.table_of(file)? {
            Some(table) => visit(&*table, at, record, needed),
            None => Ok(()),
        })
    }

    /// The same with the file of the table's clustered tree.
    fn visit_undo_of(
        &self,
        ended: Ended,
        undo_records: &mut UndoReader<'_>,
        mut visit: impl FnMut(FileId, Lsn, &UndoRecord, &mut NeededVersions<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut at = ended.last;
        while at != 0 {
            if self.transactions().is_stopping() {
                return Err(StorageError::Interrupted);
            }
            let (file, record) = undo_records.read(at)?;
            visit(file, at, &record, &mut undo_records.needed)?;
            at = record.previous;
        }
        Ok(())
    }

    /// Purges all that may be, on this thread, and waits for what others are purging. Errors: the first one of
    /// [`TransactionSystem::purge_until`].
    pub fn purge(&self) -> Result<()> {
        let transactions = self.transactions();
        transactions.state.lock().history.retry_failed();
        loop {
            self.purge_until(|| false)?;
            let mut state = transactions.state.lock();
            if state.history.none_is_taken() {
                return Ok(());
            }
            // What another thread has taken may come back.
            transactions.purge_ended.wait(&mut state);
        }
    }

    /// Purges what may be purged, until told to stop. A transaction for which that fails is left for the next time, and
    /// does not keep the others from being purged, unless they would fail for the same reason. Errors: the first one.
    pub(super) fn purge_until(&self, stop: impl Fn() -> bool) -> Result<()> {
        let (mut undo_records, mut outcome) = (self.undo_records_to_purge(), Ok(()));
        while !stop() {
            match self.purge_one(Purger::Thread, &mut undo_records.0) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) if is_of_one_table(&e) => outcome = outcome.and(Err(e)),
                Err(e) => return Err(e),
            }
        }
        outcome
    }

    /// Purges a little if purge lags behind: for who begins a transaction and holds nothing yet. So nobody makes
    /// garbage faster than it is removed, however many threads make it.
    pub(super) fn help_to_purge(&self) {
        if !self.transactions().lags() {
            return;
        }
        let mut undo_records = self.undo_records_to_purge();
        for _ in 0..HELP {
            // The thread that purges meets the same error and tells it.
            let Ok(true) = self.purge_one(Purger::Helper, &mut undo_records.0) else { return };
        }
    }

    fn append_purged(&self, id: u64) -> Result<()> {
        let mut group = Group::default();
        group.push_parts(kind::PURGED, FileId(0), 0, &[&id.to_le_bytes()]);
        let mut room = self.log().reserve_at_once(group.bytes())?;
        self.log().append(&mut group, &mut room);
        Ok(())
    }
}
