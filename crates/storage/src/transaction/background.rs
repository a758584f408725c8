//! A thread that rolls back transactions which a crash has cut off, and purges.

use super::{Ended, Transactions, UndoReader, kind};
use crate::{
    FileId, Result, StorageError, Store, Table,
    log::{Group, Lsn},
    mutex::Mutex,
};
use std::{
    io,
    sync::{Arc, Weak},
    thread::{self, JoinHandle, ThreadId},
    time::Duration,
};

/// Opens the table that has a clustered tree; `None` if it was dropped.
pub type TableSource = Arc<dyn Fn(FileId) -> Result<Option<Arc<Table>>> + Send + Sync>;

/// A transaction that was cut off and is rolled back in the background: by a crash, or because its own rollback has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutOff {
    pub trx_id: u64,
    /// The clustered trees of the tables that it has changed, if a crash has cut it off; else empty.
    pub trees: Vec<FileId>,
}

/// What has become of the rollback of a transaction that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutOffRollback {
    Done,
    /// It is tried again later.
    Failed,
}

/// Told of the rollback of each transaction that was cut off, by its id.
pub type CutOffListener = Arc<dyn Fn(u64, CutOffRollback) + Send + Sync>;

/// The time between two looks at what views have let go.
const INTERVAL: Duration = Duration::from_millis(50);

/// The thread, until it is stopped.
#[derive(Debug, Default)]
pub(crate) struct Background {
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts the thread of a store.
    pub fn start(&self, store: &Arc<Store>) -> io::Result<()> {
        let (transactions, store) = (Arc::clone(store.transactions()), Arc::downgrade(store));
        let run = move || run(&transactions, &store);
        *self.thread.lock() = Some(thread::Builder::new().name("purge".into()).spawn(run)?);
        Ok(())
    }

    /// Ends the thread and waits for that, unless it is the one that calls.
    pub fn stop(&self, transactions: &Transactions) {
        transactions.state.lock().stop = true;
        transactions.work.notify_all();
        let Some(thread) = self.thread.lock().take() else { return };
        let own: ThreadId = thread::current().id();
        if thread.thread().id() != own {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn run(transactions: &Transactions, store: &Weak<Store>) {
    loop {
        {
            let mut state = transactions.state.lock();
            if state.stop {
                return;
            }
            transactions.work.wait_for(&mut state, INTERVAL);
            if state.stop {
                return;
            }
            // Without work the store is not held, so that whoever lets it go closes it.
            // Tried again now and then.
            state.retry_unpurgeable();
            if state.losers.is_empty() && state.committed.is_empty() {
                continue;
            }
        }
        let Some(store) = store.upgrade() else { return };
        // Transactions that cannot be rolled back do not keep others from being purged.
        for outcome in [store.roll_back_losers(), store.purge_until(|| transactions.is_stopping())] {
            if let Err(e) = outcome
                && !matches!(e, StorageError::Interrupted)
            {
                tracing::warn!("old versions of rows stay for now: {e}");
                thread::sleep(INTERVAL);
            }
        }
    }
}

impl Transactions {
    /// A transaction that could not be undone is, later: until then it is active.
    pub(super) fn leave_to_background(&self, id: u64, last: Lsn) {
        let mut state = self.state.lock();
        let first = state.active.get(&id).copied().unwrap_or(last);
        state.losers.push(Ended { id, first, last, end: 0, ended_at: 0 });
        drop(state);
        // Its session goes on without it.
        if let Some(owner) = self.locks.owner(id) {
            owner.set_session(0);
        }
    }

    fn undone_until(&self, id: u64, next: Lsn) {
        let mut state = self.state.lock();
        if let Some(loser) = state.losers.iter_mut().find(|loser| loser.id == id) {
            loser.last = next;
        }
    }

    /// Transactions that are still to be rolled back.
    pub fn losers(&self) -> usize {
        self.state.lock().losers.len()
    }

    /// The same ones, with what they have changed.
    pub fn cut_off(&self) -> Vec<CutOff> {
        let state = self.state.lock();
        let trees = |id: u64| state.changed_trees.get(&id).cloned().unwrap_or_default();
        state.losers.iter().map(|loser| CutOff { trx_id: loser.id, trees: trees(loser.id) }).collect()
    }

    /// Returns true if a transaction was cut off and is not rolled back yet.
    pub fn is_cut_off(&self, trx_id: u64) -> bool {
        self.state.lock().losers.iter().any(|loser| loser.id == trx_id)
    }

    /// A transaction that was cut off has been rolled back.
    fn end_cut_off(&self, id: u64, ended_at: Lsn) {
        {
            let mut state = self.state.lock();
            state.losers.retain(|other| other.id != id);
            state.changed_trees.remove(&id);
        }
        self.end(id, Some(0), ended_at);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().stop
    }
}

impl Store {
    /// Rolls back what a crash has cut off. A transaction for which that fails is left for the next time, and the others are rolled
    /// back. Errors: the first one, of `Interrupted` if a table is not known yet or the store closes; those of opening tables, reading
    /// the log and changing pages.
    pub fn roll_back_losers(&self) -> Result<()> {
        let _rolling_back = self.transactions().rolling_back.lock();
        let mut undo_records = self.undo_records();
        let losers = self.transactions().state.lock().losers.clone();
        let mut outcome = Ok(());
        // The last one first.
        for loser in losers.into_iter().rev() {
            let rolled_back = self.roll_back_loser(loser, &mut undo_records);
            let event = match &rolled_back {
                Ok(()) => Some(CutOffRollback::Done),
                Err(StorageError::Interrupted) => None,
                Err(_) => Some(CutOffRollback::Failed),
            };
            if let (Some(event), Some(listener)) = (event, self.cut_off_listener()) {
                listener(loser.id, event);
            }
            outcome = outcome.and(rolled_back);
            if self.transactions().is_stopping() {
                break;
            }
        }
        outcome
    }

    fn roll_back_loser(&self, loser: Ended, undo_records: &mut UndoReader<'_>) -> Result<()> {
        let mut at = loser.last;
        while at != 0 {
            if self.transactions().is_stopping() {
                return Err(StorageError::Interrupted);
            }
            at = self.undo(at, &undo_records.read(at)?)?;
            self.transactions().undone_until(loser.id, at);
        }
        let mut group = Group::default();
        group.push_parts(kind::ROLLED_BACK, FileId(0), 0, &[&loser.id.to_le_bytes()]);
        let mut room = self.log().reserve_at_once(group.bytes())?;
        self.log().append(&mut group, &mut room);
        self.transactions().end_cut_off(loser.id, self.log().current());
        tracing::info!("transaction {} is rolled back", loser.id);
        Ok(())
    }
}
