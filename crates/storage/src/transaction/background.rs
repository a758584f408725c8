//! A thread that rolls back transactions which a crash has cut off, and one that purges.

use super::{Ended, TransactionSystem, Transactions, UndoReader, kind, purge::is_of_one_table};
use crate::{
    FileId, Result, StorageError, essential_thread,
    log::{Group, Lsn},
    mutex::Mutex,
    open_files::KeptOpen,
};
use std::{
    any::Any,
    io,
    sync::{Arc, Weak, atomic::Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A transaction that was cut off and is rolled back in the background: by a crash, or because its own rollback has
/// failed.
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
/// The longest time after which what has failed is tried again, and the time between two messages of that.
const RETRY_MAX: Duration = Duration::from_secs(2);
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The threads, until they are stopped: neither waits for the other.
#[derive(Debug, Default)]
pub(crate) struct Background {
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    /// Starts the threads of a system. Their panics end the process. While one of them works, it keeps the directory
    /// open.
    pub fn start(&self, system: &Arc<TransactionSystem>, open: &KeptOpen) -> io::Result<()> {
        let works: [(&str, fn(&Transactions, &IdleSystem)); 2] = [("purge", purge), ("rollback", roll_back)];
        for (name, work) in works {
            let transactions = Arc::clone(system.transactions());
            let of_thread = IdleSystem { system: Arc::downgrade(system), open: Arc::downgrade(open) };
            let thread = essential_thread::spawn(name, system.files.disk(), move || work(&transactions, &of_thread))?;
            self.threads.lock().push(thread);
        }
        Ok(())
    }

    /// Ends the threads and waits for that, unless it is one of them that calls.
    pub fn stop(&self, transactions: &Transactions) {
        transactions.state.lock().stop = true;
        transactions.work.notify_all();
        transactions.losers_left.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != thread::current().id()) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// A system as a thread has it that has nothing to do: whoever lets the directory go closes it.
struct IdleSystem {
    system: Weak<TransactionSystem>,
    open: Weak<dyn Any + Send + Sync>,
}

/// A system whose directory is kept open.
struct BusySystem {
    system: Arc<TransactionSystem>,
    /// Goes last: with it the directory may be closed.
    _open: KeptOpen,
}

impl IdleSystem {
    /// `None` if the directory is being closed.
    fn keep_open(&self) -> Option<BusySystem> {
        let open = self.open.upgrade()?;
        Some(BusySystem { system: self.system.upgrade()?, _open: open })
    }
}

/// When what has failed is tried again: after a longer time each time, and at once when a table was opened.
struct Retry {
    wait: Duration,
    at: Instant,
    /// The last message, and when it was told.
    told: Option<(String, Instant)>,
}

impl Retry {
    fn new() -> Retry {
        Retry { wait: INTERVAL, at: Instant::now(), told: None }
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.at
    }

    /// Takes in how an attempt has ended, and tells the log of the server of an error, once in a while.
    fn note(&mut self, outcome: Result<()>, what: &str) {
        let e = match outcome {
            Ok(()) | Err(StorageError::Interrupted) => {
                (self.wait, self.at) = (INTERVAL, Instant::now());
                return;
            }
            Err(e) => e.to_string(),
        };
        if self.told.as_ref().is_none_or(|(told, at)| *told != e || at.elapsed() >= TOLD_EVERY) {
            tracing::warn!("{what}: {e}");
            self.told = Some((e, Instant::now()));
        }
        self.at = Instant::now() + self.wait;
        self.wait = (2 * self.wait).min(RETRY_MAX);
    }
}

fn purge(transactions: &Transactions, idle: &IdleSystem) {
    let mut retry = Retry::new();
    loop {
        {
            let mut state = transactions.state.lock();
            if !state.stop {
                transactions.work.wait_for(&mut state, INTERVAL);
            }
            if state.stop {
                return;
            }
            if retry.is_due() || transactions.table_opened.swap(false, Ordering::AcqRel) {
                state.history.retry_failed();
            }
            // Without work the directory is not kept open, so that whoever lets it go closes it.
            if state.history.is_idle() {
                continue;
            }
        }
        let Some(busy) = idle.keep_open() else { return };
        match busy.system.purge_until(|| transactions.is_stopping()) {
            // Others are purged without a wait.
            Err(e) if is_of_one_table(&e) => retry.note(Err(e), "old versions of rows stay for now"),
            Ok(()) if transactions.state.lock().history.has_failed() => {}
            outcome => {
                let failed = outcome.is_err();
                retry.note(outcome, "old versions of rows stay for now");
                if failed {
                    thread::sleep(INTERVAL);
                }
            }
        }
    }
}

fn roll_back(transactions: &Transactions, idle: &IdleSystem) {
    loop {
        {
            let mut state = transactions.state.lock();
            if !state.stop {
                transactions.losers_left.wait_for(&mut state, INTERVAL);
            }
            if state.stop {
                return;
            }
            if state.losers.is_empty() {
                continue;
            }
        }
        let Some(busy) = idle.keep_open() else { return };
        busy.system.roll_back_due_losers();
    }
}

impl Transactions {
    /// A transaction that could not be undone is, later: until then it is active.
    pub(super) fn leave_to_background(&self, id: u64, last: Lsn) {
        let mut state = self.state.lock();
        let first = state.active.get(&id).copied().unwrap_or(last);
        state.losers.push(Ended { id, first, last, ..Ended::default() });
        self.losers_left.notify_one();
        drop(state);
        // Its session goes on without it.
        if let Some(owner) = self.locks.owner(id) {
            owner.set_session(0);
        }
    }

    /// Notes that rolling a transaction back has failed at a position of the log, if it had not before.
    fn rollback_failed(&self, id: u64, at: Lsn) {
        let mut state = self.state.lock();
        if let Some(loser) = state.losers.iter_mut().find(|loser| loser.id == id && loser.failed_at == 0) {
            loser.failed_at = at;
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

    /// A transaction that was cut off has been rolled back. `gave_up`: but for a table that is given up. Its rows there
    /// stay locked for all who have that table open.
    fn end_cut_off(&self, id: u64, gave_up: bool, ended_at: Lsn) {
        {
            let mut state = self.state.lock();
            state.losers.retain(|other| other.id != id);
            state.changed_trees.remove(&id);
        }
        if gave_up {
            self.end_with_locks(id, Some(0), 0, ended_at);
        } else {
            self.end(id, Some(0), 0, ended_at);
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state.lock().stop
    }
}

impl TransactionSystem {
    /// Rolls back what a crash has cut off. A transaction for which that fails is left for the next time, and the
    /// others are rolled back. Errors: the first one, of `Interrupted` if a table is not known yet or the store closes;
    /// those of opening tables, reading the log and changing pages.
    pub fn roll_back_losers(&self) -> Result<()> {
        let mut outcome = Ok(());
        self.each_loser(|loser, undo_records| {
            let rolled_back = self.roll_back_loser(loser, undo_records);
            outcome = std::mem::replace(&mut outcome, Ok(())).and(rolled_back);
        });
        outcome
    }

    /// As [`TransactionSystem::roll_back_losers`], but for those that have failed a short while ago. The server's log
    /// has the failures.
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

    /// Rolls one of them back, and tells who wants to know what has become of it.
    fn roll_back_loser(&self, loser: Ended, undo_records: &mut UndoReader<'_>) -> Result<()> {
        let rolled_back = self.undo_loser(loser, undo_records);
        if rolled_back.as_ref().is_err_and(is_of_one_table) {
            self.transactions().rollback_failed(loser.id, self.log().current());
        }
        let event = match &rolled_back {
            Ok(()) => Some(CutOffRollback::Done),
            Err(StorageError::Interrupted) => None,
            Err(_) => Some(CutOffRollback::Failed),
        };
        if let (Some(event), Some(listener)) = (event, self.cut_off_listener()) {
            listener(loser.id, event);
        }
        rolled_back
    }

    fn undo_loser(&self, loser: Ended, undo_records: &mut UndoReader<'_>) -> Result<()> {
        let (mut at, mut gave_up) = (loser.last, false);
        while at != 0 {
            if self.transactions().is_stopping() {
                return Err(StorageError::Interrupted);
            }
            let record = undo_records.read(at)?;
            at = match self.undo(at, &record, &mut undo_records.needed) {
                Err(e) if is_of_one_table(&e) && self.transactions().bounds.table_is_given_up(&loser, self.log()) => {
                    if !self.is_given_up(record.0)? {
                        self.give_up_table(record.0, loser.id, &e)?;
                    }
                    gave_up = true;
                    record.1.previous
                }
                undone => undone?,
            };
            self.transactions().undone_until(loser.id, at);
        }
        let mut group = Group::default();
        group.push_parts(kind::ROLLED_BACK, FileId(0), 0, &[&loser.id.to_le_bytes()]);
        let mut room = self.log().reserve_at_once(group.bytes())?;
        self.log().append(&mut group, &mut room);
        self.transactions().end_cut_off(loser.id, gave_up, self.log().current());
        self.transactions().retries.succeeded(loser.id);
        tracing::info!("transaction {} is rolled back", loser.id);
        Ok(())
    }
}
