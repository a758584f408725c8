//! Transactions: who is active, what has committed, what is undone, what is purged. See `docs/transactions.md`.
//!
//! ```text
//!   Transaction        one of them: begins with its first change, ends with commit or rollback     handle.rs
//!   TransactionSystem  the transactions of a directory, the log, and how tables are found          system.rs
//!   ChangedTable       a table as undo and purge see it                                            changed_table.rs
//!   Transactions       ids, who is active, published views, what waits for purge                   mod.rs
//!   records            undo records and others, as bytes of the log                                records.rs
//!   chain              anchors in the chains of versions, from which readers jump over many        chain.rs
//!   rollback           undo records, from the last to the first                                    rollback.rs
//!   NeededVersions     versions of a row that undo and purge have to look at                       needed.rs
//!   versions           versions of rows before the newest one, for views                           versions.rs
//!   History            transactions that have ended and are not purged                             history.rs
//!   purge              versions and rows that no view needs any more                               purge.rs
//!   bounds             how long the log is kept for what cannot be purged or rolled back           bounds.rs
//!   Analysis           what the log tells of transactions after a crash                            analysis.rs
//!   retry              when to try again what could not be rolled back                            retry.rs
//!   Background         a thread that rolls back what a crash left, and one that purges             background.rs
//! ```
//!
//! A change of a row is made by [`crate::Table`], in one group of the log that begins with the undo record.

mod analysis;
mod background;
mod bounds;
mod chain;
mod changed_table;
mod handle;
mod history;
mod needed;
mod planted;
mod purge;
mod records;
mod retry;
mod rollback;
mod system;
mod versions;

pub(crate) use analysis::Analysis;
pub(crate) use background::Background;
pub use background::{CutOff, CutOffListener, CutOffRollback};
pub(crate) use chain::ChainPlace;
pub(crate) use changed_table::{ChangedTable, ChangedTableSource};
pub(crate) use handle::undo_bytes_of;
pub use handle::{Committed, Savepoint, Transaction};
pub(crate) use history::Ended;
pub(crate) use needed::NeededVersions;
pub(crate) use planted::PlantedFault;
pub(crate) use purge::SeenByAll;
pub(crate) use records::{UndoRecord, UndoRow, kind, link_of};
pub(crate) use rollback::{UndoReader, UndoReserve};
pub(crate) use system::TransactionSystem;
pub(crate) use versions::UndoRecords;

use crate::{
    FileId, LogSettings, ReadView,
    locks::{LockTable, TransactionLocks},
    log::{Log, Lsn},
    mutex::{Condvar, Mutex},
    planted::Planted,
};
use history::History;
use needed::OlderVersions;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// From so many transactions on purge begins at once. Fewer wait until it looks for them: waking its thread costs about
/// as much as a change of a row.
const PURGED_AT_ONCE: usize = 256;

/// All transactions of a store.
#[derive(Debug)]
pub(crate) struct Transactions {
    state: Mutex<TransactionState>,
    /// The newest view.
    published: Mutex<Arc<ReadView>>,
    /// The least transaction that is active or that some view may not see.
    horizon: Arc<AtomicU64>,
    /// Told when there is something to purge.
    work: Condvar,
    /// Told when there is something to roll back.
    losers_left: Condvar,
    /// True if a table was opened since what had failed was tried again.
    table_opened: AtomicBool,
    /// Open tables by the files of their clustered trees.
    tables: Mutex<HashMap<FileId, Weak<dyn ChangedTable>>>,
    pub(crate) purged_rows: AtomicU64,
    /// Undo records that were read, to be undone or purged or for a version that they have.
    undo_reads: Arc<AtomicU64>,
    /// Told when a transaction that was being purged is not any more.
    purge_ended: Condvar,
    lag: purge::Lag,
    bounds: bounds::Bounds,
    /// The versions of the row that was purged last, for the next one who purges.
    purged_row: Mutex<OlderVersions>,
    /// Held by who rolls back what a crash has cut off.
    rolling_back: Mutex<()>,
    retries: retry::Retries,
    locks: Arc<LockTable>,
    planted: Planted<PlantedFault>,
}

#[derive(Debug)]
struct TransactionState {
    /// The id of the next transaction.
    next: u64,
    /// Transactions that have not ended, with positions of the log before their first records.
    active: BTreeMap<u64, Lsn>,
    /// Views that were published, oldest first; the last one is the newest.
    views: VecDeque<Weak<ReadView>>,
    /// The number of read views that were held when all were looked at.
    held_views: usize,
    /// Transactions that have ended and are not purged.
    history: History,
    /// Transactions that a crash has cut off, which are active until they are rolled back.
    losers: Vec<Ended>,
    /// The clustered trees of the tables that those of them have changed which a crash has cut off.
    changed_trees: HashMap<u64, Vec<FileId>>,
    stop: bool,
}

impl Transactions {
    /// The transactions of a log that has been read.
    pub fn new(analysis: Analysis, locks: Arc<LockTable>, log: &Log, settings: &LogSettings) -> Transactions {
        let (next, losers, changed_trees) = (analysis.next, analysis.losers.clone(), analysis.changed_trees.clone());
        // Their rows are locked until they are rolled back.
        losers.iter().for_each(|loser| locks.begin(loser.id).set_rolling_back());
        let active: BTreeMap<u64, Lsn> = losers.iter().map(|loser| (loser.id, loser.first)).collect();
        let view = ReadView::new(active.keys().copied().collect(), next);
        let horizon = Arc::new(AtomicU64::new(view.low()));
        let views = VecDeque::from([Arc::downgrade(&view)]);
        let state = TransactionState {
            next,
            active,
            views,
            held_views: 1,
            history: analysis.into_history(log.current()),
            losers,
            changed_trees,
            stop: false,
        };
        Transactions {
            state: Mutex::new(state),
            published: Mutex::new(view),
            horizon,
            work: Condvar::new(),
            losers_left: Condvar::new(),
            table_opened: AtomicBool::new(false),
            tables: Mutex::default(),
            purged_rows: AtomicU64::new(0),
            undo_reads: Arc::default(),
            purge_ended: Condvar::new(),
            lag: purge::Lag::default(),
            bounds: bounds::Bounds::new(settings),
            purged_row: Mutex::default(),
            rolling_back: Mutex::default(),
            retries: retry::Retries::default(),
            locks,
            planted: Planted::default(),
        }
    }

    /// Returns true if a test has planted this fault.
    pub fn has(&self, fault: PlantedFault) -> bool {
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

    /// The least transaction that is active or that some view may not see: slots of older ones need no version. Kept up
    /// to date for encoders of leaves; it may be too small, never too large.
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

    /// Ends a transaction: its changes are seen by views that are taken from now on, or there are none any more.
    /// `last`: the last of its undo records, which purge has to look at; 0 if all are undone or there is nothing to
    /// purge; `None` if there never was one. `changes`: how many rows it has changed. `ended_at`: the end of the log.
    ///
    /// A transaction that was undone is kept, too, until every view sees that it has ended: a reader may have met one
    /// of its versions just before.
    fn end(&self, id: u64, last: Option<Lsn>, changes: u64, ended_at: Lsn) {
        self.end_with_locks(id, last, changes, ended_at);
        // Others see what it has done: who waited for it reads that.
        if let Some(owner) = self.locks.owner(id) {
            self.locks.release_all(&owner);
        }
    }

    /// The same, but its locks stay.
    fn end_with_locks(&self, id: u64, last: Option<Lsn>, changes: u64, ended_at: Lsn) {
        let mut state = self.state.lock();
        let first = state.active.remove(&id).unwrap_or(0);
        if let Some(last) = last {
            state.history.add(Ended { id, first, last, changes, ended_at, ..Ended::default() });
        }
        let oldest = self.publish(&mut state);
        self.lag.note(&state.history, &oldest);
        if state.history.len() >= PURGED_AT_ONCE {
            self.work.notify_one();
        }
    }

    /// A transaction that changes nothing and has ended: views that are taken from now on see it, and those before do
    /// not.
    pub fn pass(&self) -> u64 {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        let _ = self.publish(&mut state);
        id
    }

    /// Makes a view of what has ended by now the newest one. Returns the oldest one.
    fn publish(&self, state: &mut TransactionState) -> Arc<ReadView> {
        let view = ReadView::new(state.active.keys().copied().collect(), state.next);
        state.views.push_back(Arc::downgrade(&view));
        *self.published.lock() = view;
        self.raise_horizon(state)
    }

    /// Raises the horizon to what all views see. Returns the oldest one.
    fn raise_horizon(&self, state: &mut TransactionState) -> Arc<ReadView> {
        let oldest = state.oldest_view();
        self.horizon.store(oldest.low(), Ordering::Release);
        oldest
    }

    /// The position from which on the log is kept: records of transactions that are active or not purged.
    pub fn oldest_needed(&self) -> Option<Lsn> {
        let state = self.state.lock();
        state.active.values().copied().chain(state.history.oldest_needed()).min()
    }

    /// The transaction that has begun first, if it began before a position of the log. Those that a crash has cut off
    /// are not meant.
    pub fn oldest_before(&self, before: Lsn) -> Option<u64> {
        let state = self.state.lock();
        let is_lost = |id: u64| state.losers.iter().any(|loser| loser.id == id);
        let began_before = state.active.iter().filter(|(id, first)| **first < before && !is_lost(**id));
        began_before.min_by_key(|(_, first)| **first).map(|(id, _)| *id)
    }

    /// Transactions that have committed and are not purged.
    pub fn history_length(&self) -> usize {
        self.state.lock().history.len()
    }

    /// The least transaction that has ended and is not purged; the next one's id if there is none.
    pub fn least_unpurged(&self) -> u64 {
        let state = self.state.lock();
        state.history.least_id().unwrap_or(state.next)
    }

    /// Rows of this table can be undone and purged from now on.
    pub fn register(&self, table: &Arc<dyn ChangedTable>) {
        let mut tables = self.tables.lock();
        tables.retain(|_, table| table.strong_count() > 0);
        tables.insert(table.clustered_file(), Arc::downgrade(table));
        self.table_opened.store(true, Ordering::Release);
        self.work.notify_one();
        self.losers_left.notify_one();
    }

    /// The open table with this clustered tree.
    pub fn open_table(&self, file: FileId) -> Option<Arc<dyn ChangedTable>> {
        self.tables.lock().get(&file).and_then(Weak::upgrade)
    }
}

impl TransactionState {
    fn drop_unused_views(&mut self) {
        // Nobody takes a view any more that has been replaced. Behind one that is held for long there may be very many
        // that are not.
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
mod bounds_tests;
#[cfg(test)]
mod fail_stop_tests;
#[cfg(test)]
mod failed_undo_tests;
#[cfg(test)]
mod full_disk_tests;
#[cfg(test)]
mod history_soak;
#[cfg(test)]
mod hot_row_tests;
#[cfg(test)]
mod interleaved_tests;
#[cfg(test)]
mod long_lived_tests;
#[cfg(test)]
mod tests;
