//! Transactions: who is active, what has committed, what is undone, what is purged. See `docs/transactions.md`.
//!
//! ```text
//!   Transaction     one of them: begins with its first change, ends with commit or rollback     handle.rs
//!   Transactions    ids, who is active, published views, what waits for purge                   mod.rs
//!   records         undo records and others, as bytes of the log                                records.rs
//!   chain           anchors in the chains of versions, from which readers jump over many        chain.rs
//!   rollback        undo records, from the last to the first                                    rollback.rs
//!   versions        versions of rows before the newest one, for views                           versions.rs
//!   purge           versions and rows that no view needs any more                               purge.rs
//!   Analysis        what the log tells of transactions after a crash                            analysis.rs
//!   retry           when to try again what could not be rolled back                            retry.rs
//!   Background      a thread that rolls back what a crash left, and purges                      background.rs
//! ```
//!
//! A change of a row is made by [`crate::Table`], in one group of the log that begins with the undo record.

mod analysis;
mod background;
mod chain;
mod handle;
mod planted;
mod purge;
mod records;
mod retry;
mod rollback;
mod versions;

pub(crate) use analysis::Analysis;
pub(crate) use background::Background;
pub use background::TableSource;
pub(crate) use chain::ChainPlace;
pub(crate) use handle::undo_bytes_of;
pub use handle::{Committed, Savepoint, Transaction};
pub(crate) use planted::Fault;
pub(crate) use purge::SeenByAll;
pub(crate) use records::{UndoKind, UndoRecord, UndoRow, kind, link_of};
pub(crate) use rollback::{UndoReader, UndoReserve, undo_of};
pub(crate) use versions::UndoRecords;

use crate::{
    FileId, ReadView, Table,
    locks::{LockTable, TransactionLocks},
    log::{Log, Lsn},
    mutex::{Condvar, Mutex},
    planted::Planted,
    table::OlderVersions,
};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// From so many transactions on purge begins at once. Fewer wait until it looks for them: waking its thread costs about as much as a
/// change of a row.
const PURGED_AT_ONCE: usize = 256;

/// A transaction that has ended, or that a crash has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub id: u64,
    /// None of its records is before this position.
    pub first: Lsn,
    /// Its last undo record that is not undone and that purge has to look at; 0 if there is none.
    pub last: Lsn,
    /// The number of its end: those that end later have greater ones.
    pub end: u64,
    /// The end of the log when it ended; 0 if that was before the store was opened, so that all views see it.
    pub ended_at: Lsn,
}

/// All transactions of a store.
#[derive(Debug)]
pub(crate) struct Transactions {
    state: Mutex<State>,
    /// The newest view.
    published: Mutex<Arc<ReadView>>,
    /// The least transaction that is active or that some view may not see.
    horizon: Arc<AtomicU64>,
    /// Told when there is something to purge.
    work: Condvar,
    /// Open tables by the files of their clustered trees.
    tables: Mutex<HashMap<FileId, Weak<Table>>>,
    pub(crate) purged_rows: AtomicU64,
    /// Undo records that were read, to be undone or purged or for a version that they have.
    undo_reads: Arc<AtomicU64>,
    /// Told when a transaction that was being purged is not any more.
    purge_ended: Condvar,
    lag: purge::Lag,
    /// The versions of the row that was purged last, for the next one who purges.
    purged_row: Mutex<OlderVersions>,
    /// Held by who rolls back what a crash has cut off.
    rolling_back: Mutex<()>,
    retries: retry::Retries,
    locks: Arc<LockTable>,
    planted: Planted<Fault>,
}

#[derive(Debug)]
struct State {
    /// The id of the next transaction.
    next: u64,
    /// Transactions that have not ended, with positions of the log before their first records.
    active: BTreeMap<u64, Lsn>,
    /// Views that were published, oldest first; the last one is the newest.
    views: VecDeque<Weak<ReadView>>,
    /// The number of read views that were held when all were looked at.
    held_views: usize,
    /// How many transactions have ended of which something is kept.
    ends: u64,
    /// Transactions that have ended, in the order of their ends, and are not purged.
    committed: VecDeque<Ended>,
    /// Those that threads are purging.
    being_purged: Vec<Ended>,
    /// Those whose tables could not be opened or read, which are tried again later.
    unpurgeable: Vec<Ended>,
    /// Transactions that a crash has cut off, which are active until they are rolled back.
    losers: Vec<Ended>,
    stop: bool,
}

impl Transactions {
    /// The transactions of a log that has been read.
    pub fn new(analysis: Analysis, locks: Arc<LockTable>) -> Transactions {
        let (next, losers) = (analysis.next, analysis.losers.clone());
        // Their rows are locked until they are rolled back.
        losers.iter().for_each(|loser| locks.begin(loser.id).set_rolling_back());
        let active: BTreeMap<u64, Lsn> = losers.iter().map(|loser| (loser.id, loser.first)).collect();
        let view = ReadView::new(active.keys().copied().collect(), next);
        let horizon = Arc::new(AtomicU64::new(view.low()));
        let views = VecDeque::from([Arc::downgrade(&view)]);
        let state = State {
            next,
            active,
            views,
            held_views: 1,
            ends: analysis.ends(),
            committed: analysis.into_committed(),
            being_purged: Vec::new(),
            unpurgeable: Vec::new(),
            losers,
            stop: false,
        };
        Transactions {
            state: Mutex::new(state),
            published: Mutex::new(view),
            horizon,
            work: Condvar::new(),
            tables: Mutex::default(),
            purged_rows: AtomicU64::new(0),
            undo_reads: Arc::default(),
            purge_ended: Condvar::new(),
            lag: purge::Lag::default(),
            purged_row: Mutex::default(),
            rolling_back: Mutex::default(),
            retries: retry::Retries::default(),
            locks,
            planted: Planted::default(),
        }
    }

    /// Returns true if a test has planted this fault.
    pub fn has(&self, fault: Fault) -> bool {
        self.planted.has(fault)
    }

    /// Counts an undo record that is read.
    pub fn count_undo_read(&self) {
        self.undo_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Undo records that were read so far.
    #[cfg(test)]
    pub fn undo_reads(&self) -> u64 {
        self.undo_reads.load(Ordering::Relaxed)
    }

    /// The newest view.
    pub fn view(&self) -> Arc<ReadView> {
        Arc::clone(&self.published.lock())
    }

    /// The least transaction that is active or that some view may not see: slots of older ones need no version. Kept up to date
    /// for encoders of leaves; it may be too small, never too large.
    pub fn horizon(&self) -> &Arc<AtomicU64> {
        &self.horizon
    }

    /// The id of the next transaction that will begin.
    pub fn next(&self) -> u64 {
        self.state.lock().next
    }

    /// Begins a transaction, none of whose records is before the end of the log.
    fn begin(&self, log: &Log) -> TransactionLocks {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        let first = log.current();
        state.active.insert(id, first);
        TransactionLocks::new(Arc::clone(&self.locks), self.locks.begin(id))
    }

    /// The locks of all transactions.
    pub fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }

    /// Ends a transaction: its changes are seen by views that are taken from now on, or there are none any more. `last`: the last
    /// of its undo records, which purge has to look at; 0 if all are undone or there is nothing to purge; `None` if there never was one. `ended_at`: the end of the log.
    ///
    /// A transaction that was undone is kept, too, until every view sees that it has ended: a reader may have met one of its
    /// versions just before.
    fn end(&self, id: u64, last: Option<Lsn>, ended_at: Lsn) {
        let mut state = self.state.lock();
        let first = state.active.remove(&id).unwrap_or(0);
        if let Some(last) = last {
            state.ends += 1;
            let end = state.ends;
            state.committed.push_back(Ended { id, first, last, end, ended_at });
        }
        self.publish(&mut state);
        self.lag.note(&state.committed);
        if state.committed.len() >= PURGED_AT_ONCE {
            self.work.notify_one();
        }
        drop(state);
        // Others see what it has done: who waited for it reads that.
        if let Some(owner) = self.locks.owner(id) {
            self.locks.release_all(&owner);
        }
    }

    /// A transaction that changes nothing and has ended: views that are taken from now on see it, and those before do not.
    pub fn pass(&self) -> u64 {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        self.publish(&mut state);
        id
    }

    /// Makes a view of what has ended by now the newest one.
    fn publish(&self, state: &mut State) {
        let view = ReadView::new(state.active.keys().copied().collect(), state.next);
        state.views.push_back(Arc::downgrade(&view));
        *self.published.lock() = view;
        self.raise_horizon(state);
    }

    /// Raises the horizon to what all views see. Returns the oldest one.
    fn raise_horizon(&self, state: &mut State) -> Arc<ReadView> {
        let oldest = state.oldest_view();
        self.horizon.store(oldest.low(), Ordering::Release);
        oldest
    }

    /// The position from which on the log is kept: records of transactions that are active or not purged.
    pub fn oldest_needed(&self) -> Option<Lsn> {
        let state = self.state.lock();
        let unpurged = state.unpurged().map(|ended| ended.first);
        state.active.values().copied().chain(unpurged).min()
    }

    /// The transaction that has begun first, if it began before a position of the log. Those that a crash has cut off are not meant.
    pub fn oldest_before(&self, before: Lsn) -> Option<u64> {
        let state = self.state.lock();
        let is_lost = |id: u64| state.losers.iter().any(|loser| loser.id == id);
        let began_before = state.active.iter().filter(|(id, first)| **first < before && !is_lost(**id));
        began_before.min_by_key(|(_, first)| **first).map(|(id, _)| *id)
    }

    /// Transactions that have committed and are not purged.
    pub fn history_length(&self) -> usize {
        self.state.lock().unpurged().count()
    }

    /// The least transaction that has ended and is not purged; the next one's id if there is none.
    pub fn least_unpurged(&self) -> u64 {
        let state = self.state.lock();
        state.unpurged().map(|ended| ended.id).min().unwrap_or(state.next)
    }

    /// Rows of this table can be undone and purged from now on.
    pub fn register(&self, table: &Arc<Table>) {
        let mut tables = self.tables.lock();
        tables.retain(|_, table| table.strong_count() > 0);
        tables.insert(table.files()[0], Arc::downgrade(table));
        self.work.notify_one();
    }

    /// The open table with this clustered tree.
    pub fn open_table(&self, file: FileId) -> Option<Arc<Table>> {
        self.tables.lock().get(&file).and_then(Weak::upgrade)
    }
}

impl State {
    /// Transactions that have ended and are not purged.
    fn unpurged(&self) -> impl Iterator<Item = &Ended> {
        self.being_purged.iter().chain(&self.unpurgeable).chain(&self.committed)
    }

    /// What could not be purged waits again with the others.
    fn retry_unpurgeable(&mut self) {
        std::mem::take(&mut self.unpurgeable).into_iter().for_each(|ended| self.wait_again(ended));
    }

    /// A transaction that was not purged waits again, in its place.
    fn wait_again(&mut self, ended: Ended) {
        let before = self.committed.partition_point(|other| other.end < ended.end);
        self.committed.insert(before, ended);
    }

    fn drop_unused_views(&mut self) {
        // Nobody takes a view any more that has been replaced. Behind one that is held for long there may be very many that are not.
        if self.views.len() > 2 * self.held_views + 64 {
            self.views.retain(|view| view.strong_count() > 0);
            self.held_views = self.views.len();
        }
        while self.views.len() > 1 && self.views.front().is_some_and(|view| view.strong_count() == 0) {
            self.views.pop_front();
        }
    }

    /// The oldest view that somebody holds or can take. All others see what it sees, for they were published later.
    fn oldest_view(&mut self) -> Arc<ReadView> {
        loop {
            self.drop_unused_views();
            // The one that is published is held, so there is always one.
            if let Some(oldest) = self.views.front().and_then(Weak::upgrade) {
                return oldest;
            }
        }
    }
}

#[cfg(test)]
mod batch_tests;
#[cfg(test)]
mod failed_undo_tests;
#[cfg(test)]
mod full_disk_tests;
#[cfg(test)]
mod hot_row_tests;
#[cfg(test)]
mod interleaved_tests;
#[cfg(test)]
mod long_lived_tests;
#[cfg(test)]
mod tests;
