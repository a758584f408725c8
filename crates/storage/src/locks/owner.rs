//! A transaction as the lock table knows it.

use super::{request::Resource, table::Acquired};
use crate::primitives::{AtomicU64, Condvar, Mutex, SeqCst};
use std::{sync::Arc, task::Waker, time::SystemTime};

/// A transaction that takes locks. It waits for one lock at a time.
#[derive(Debug)]
pub struct LockOwner {
    id: u64,
    began: SystemTime,
    /// The number of the session that the transaction is of; 0: of none, as after a crash.
    session: AtomicU64,
    /// 1 if the changes of the transaction are being undone.
    rolling_back: AtomicU64,
    /// Rows that the transaction has changed: of those in a deadlock the one that changed least gives way.
    weight: AtomicU64,
    /// The text of the statement that the transaction runs, for reports.
    statement: Mutex<Option<Arc<str>>>,
    held: Mutex<Held>,
    pub(super) waiting: Mutex<WaitState>,
    pub(super) woken: Condvar,
    /// The task that waits, if it is no thread.
    task: Mutex<Option<Waker>>,
}

/// The locks of a transaction.
#[derive(Debug, Default)]
struct Held {
    locks: Vec<Resource>,
    /// The transaction releases its locks and gets no more.
    ended: bool,
}

/// The state of a transaction's wait. Only who has the lock table's waits changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitState {
    Idle,
    Waiting,
    Granted(Acquired),
    Deadlock,
}

impl LockOwner {
    pub(super) fn new(id: u64) -> LockOwner {
        LockOwner {
            id,
            began: SystemTime::now(),
            session: AtomicU64::new(0),
            rolling_back: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            statement: Mutex::default(),
            held: Mutex::default(),
            waiting: Mutex::new(WaitState::Idle),
            woken: Condvar::default(),
            task: Mutex::default(),
        }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn began(&self) -> SystemTime {
        self.began
    }

    pub fn session(&self) -> u64 {
        self.session.load(SeqCst)
    }

    pub fn set_session(&self, session: u64) {
        self.session.store(session, SeqCst);
    }

    /// Returns true if the changes of the transaction are being undone.
    pub fn is_rolling_back(&self) -> bool {
        self.rolling_back.load(SeqCst) != 0
    }

    pub fn set_rolling_back(&self) {
        self.rolling_back.store(1, SeqCst);
    }

    pub fn weight(&self) -> u64 {
        self.weight.load(SeqCst)
    }

    pub fn set_weight(&self, changed_rows: u64) {
        self.weight.store(changed_rows, SeqCst);
    }

    pub fn statement(&self) -> Option<Arc<str>> {
        self.statement.lock().clone()
    }

    pub fn set_statement(&self, text: Option<Arc<str>>) {
        *self.statement.lock() = text;
    }

    /// The number of keys that the transaction has locked.
    pub fn locks(&self) -> usize {
        self.held.lock().locks.len()
    }

    /// Notes a lock. Returns false if the transaction has ended and must not get it.
    pub(super) fn add(&self, resource: &Resource) -> bool {
        let mut held = self.held.lock();
        if !held.ended {
            held.locks.push(resource.clone());
        }
        !held.ended
    }

    pub(super) fn remove(&self, resource: &Resource) {
        let mut held = self.held.lock();
        if let Some(at) = held.locks.iter().rposition(|lock| lock == resource) {
            held.locks.swap_remove(at);
        }
    }

    /// Ends the transaction. Returns its locks, which are to be released.
    pub(super) fn end(&self) -> Vec<Resource> {
        let mut held = self.held.lock();
        held.ended = true;
        std::mem::take(&mut held.locks)
    }

    /// Ends the wait of the transaction's thread or task.
    pub(super) fn wake(&self, outcome: WaitState) {
        *self.waiting.lock() = outcome;
        self.woken.notify_all();
        let task = self.task.lock().take();
        task.into_iter().for_each(Waker::wake);
    }

    /// Has this task woken when the wait of the transaction ends.
    pub(super) fn wake_task(&self, task: &Waker) {
        let mut known = self.task.lock();
        if known.as_ref().is_none_or(|known| !known.will_wake(task)) {
            *known = Some(task.clone());
        }
    }
}
