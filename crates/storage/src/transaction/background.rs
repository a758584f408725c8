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
    time::{Duration, Instant},
};

/// Opens the table that has a clustered tree; `None` if it was dropped.
pub type TableSource = Arc<dyn Fn(FileId) -> Result<Option<Arc<Table>>> + Send + Sync>;

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
        store.roll_back_due_losers();
        let purged = store.purge_until(|| transactions.is_stopping());
        if let Err(e) = purged
            && !matches!(e, StorageError::Interrupted)
        {
            tracing::warn!("old versions of rows stay for now: {e}");
            thread::sleep(INTERVAL);
        }
    }
}

impl Transactions {
    /// A transaction that could not be undone is, later: until then it is active.
    pub(super) fn leave_to_background(&self, id: u64, last: Lsn) {
        let mut state = self.state.lock();
        let first = state.active.get(&id).copied().unwrap_or(last);
        state.losers.push(Ended { id, first, last, end: 0, ended_at: 0 });
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

    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().stop
    }
}

impl Store {
    /// Rolls back what a crash has cut off. A transaction for which that fails is left for the next time, and the others are rolled
    /// back. Errors: the first one, of `Interrupted` if a table is not known yet or the store closes; those of opening tables, reading
    /// the log and changing pages.
    pub fn roll_back_losers(&self) -> Result<()> {
        let mut outcome = Ok(());
        self.each_loser(|loser, undo_records| {
            let rolled_back = self.roll_back_loser(loser, undo_records);
            outcome = std::mem::replace(&mut outcome, Ok(())).and(rolled_back);
        });
        outcome
    }

    /// As [`Store::roll_back_losers`], but for those that have failed a short while ago. The server's log has the failures.
    fn roll_back_due_losers(&self) {
        let retries = &self.transactions().retries;
        self.each_loser(|loser, undo_records| {
            if !retries.is_due(loser.id, Instant::now()) {
                return;
            }
            match self.roll_back_loser(loser, undo_records) {
                Ok(()) | Err(StorageError::Interrupted) => {}
                Err(e) => {
                    let pause = retries.failed(loser.id, Instant::now());
                    tracing::warn!(
                        "transaction {} keeps its locks: rolling it back has failed, and is tried again in {pause:?}: {e}",
                        loser.id
                    );
                }
            }
        });
    }

    /// Calls `roll_back` with the transactions that are to be rolled back, the last one first.
    fn each_loser<'a>(&'a self, mut roll_back: impl FnMut(Ended, &mut UndoReader<'a>)) {
        let _rolling_back = self.transactions().rolling_back.lock();
        let losers = self.transactions().state.lock().losers.clone();
        if losers.is_empty() {
            return;
        }
        let mut undo_records = self.undo_records();
        for loser in losers.into_iter().rev() {
            roll_back(loser, &mut undo_records);
            if self.transactions().is_stopping() {
                break;
            }
        }
    }

    fn roll_back_loser(&self, loser: Ended, undo_records: &mut UndoReader<'_>) -> Result<()> {
        let mut at = loser.last;
        while at != 0 {
            if self.transactions().is_stopping() {
                return Err(StorageError::Interrupted);
            }
            let record = undo_records.read(at)?;
            at = self.undo(at, &record, &mut undo_records.needed)?;
            self.transactions().undone_until(loser.id, at);
        }
        let mut group = Group::default();
        group.push_parts(kind::ROLLED_BACK, FileId(0), 0, &[&loser.id.to_le_bytes()]);
        let mut room = self.log().reserve_at_once(group.bytes())?;
        self.log().append(&mut group, &mut room);
        let transactions = self.transactions();
        transactions.state.lock().losers.retain(|other| other.id != loser.id);
        transactions.end(loser.id, Some(0), self.log().current());
        transactions.retries.succeeded(loser.id);
        tracing::info!("transaction {} is rolled back", loser.id);
        Ok(())
    }
}
