//! A thread that waits: until the lock is granted, a deadlock, a timeout or KILL. It sleeps until somebody wakes it:
//! whoever grants the lock or ends a deadlock, and whoever interrupts its statement.
//!
//! ```text
//!   the thread that waits                          the thread that interrupts
//!   asks to be woken (polls the interruption)      says that the statement is to end
//!   locks the state of the wait                    wakes: sets the flag of this wait,
//!   looks at the state and at the flag             locks the state and lets it go,
//!   lets the state go and sleeps                   notifies
//! ```
//!
//! If the thread that waits has not seen the flag, it sleeps by the time that the other one has had the state, so it is
//! notified.

use super::{
    LockError,
    deadlock::WaitingOwner,
    owner::{LockOwner, WaitState},
    request::{Resource, Wanted},
    table::{Acquired, LockTable},
};
use crate::primitives::{AtomicU64, SeqCst};
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

/// Is ready when the statement that waits is to end.
pub type Interruption = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether, and how long, a transaction waits for locks of others.
#[derive(Clone)]
pub enum Waits {
    /// It does not: what would have to be waited for is an error.
    Never,
    /// It does for so long, or until the deadline of its statement, or until `interruption` is ready, which is asked
    /// for when a wait begins.
    Until { timeout: Duration, deadline: Option<Instant>, interruption: Arc<dyn Fn() -> Interruption + Send + Sync> },
}

impl Waits {
    /// For so long; nobody interrupts it.
    pub fn for_time(timeout: Duration) -> Waits {
        let interruption: Arc<dyn Fn() -> Interruption + Send + Sync> = Arc::new(|| Box::pin(std::future::pending()));
        Waits::Until { timeout, deadline: None, interruption }
    }
}

/// The end of a wait that comes before its time.
struct Interrupts {
    owner: Arc<LockOwner>,
    /// 1 once the statement is to end.
    is_interrupted: AtomicU64,
}

impl Wake for Interrupts {
    fn wake(self: Arc<Self>) {
        self.is_interrupted.store(1, SeqCst);
        // The thread has not looked yet, or it sleeps.
        drop(self.owner.waiting.lock());
        self.owner.woken.notify_all();
    }
}

/// The limits of a wait: it ends by them if the lock does not come.
struct WaitLimits {
    begun: Instant,
    timeout: Duration,
    deadline: Option<Instant>,
    interrupts: Arc<Interrupts>,
    /// Dropped with the wait: nobody is woken any more then.
    _interruption: Interruption,
}

impl WaitLimits {
    fn new(
        owner: &Arc<LockOwner>,
        begun: Instant,
        (timeout, deadline): (Duration, Option<Instant>),
        mut interruption: Interruption,
    ) -> WaitLimits {
        let interrupts = Arc::new(Interrupts { owner: Arc::clone(owner), is_interrupted: AtomicU64::new(0) });
        let waker = Waker::from(Arc::clone(&interrupts));
        if interruption.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            interrupts.is_interrupted.store(1, SeqCst);
        }
        WaitLimits { begun, timeout, deadline, interrupts, _interruption: interruption }
    }

    /// How long the wait may go on. Error: why it is to end.
    fn left(&self) -> Result<Duration, LockError> {
        if self.interrupts.is_interrupted.load(SeqCst) != 0 {
            return Err(LockError::Interrupted);
        }
        let until_deadline = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if until_deadline.is_some_and(|left| left.is_zero()) {
            return Err(LockError::DeadlinePassed);
        }
        match self.timeout.saturating_sub(self.begun.elapsed()) {
            left if left.is_zero() => Err(LockError::Timeout),
            left => Ok(until_deadline.map_or(left, |until_deadline| left.min(until_deadline))),
        }
    }
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Waits::Never => f.write_str("Never"),
            Waits::Until { timeout, .. } => write!(f, "Until({timeout:?})"),
        }
    }
}

/// How many waits there were, and how long they took, in microseconds.
#[derive(Debug, Default)]
pub(super) struct WaitTimes {
    waits: AtomicU64,
    total: AtomicU64,
    max: AtomicU64,
    pub timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

/// Waits for locks since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitStatistics {
    pub waits: u64,
    /// Transactions that wait now.
    pub current: u64,
    pub total_time: Duration,
    pub max_time: Duration,
    /// Waits that took too long.
    pub timeouts: u64,
    pub deadlocks: u64,
}

impl LockTable {
    /// Acquires a lock, after a wait if need be. No latch and nothing else that others could wait for may be held. What
    /// was read before a wait may have changed when this returns. Errors: `TableFull`, `Deadlock`, and as `waits` says
    /// `WouldWait`, or `Timeout`, `DeadlinePassed` and `Interrupted`.
    pub fn acquire(
        &self,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        wanted: Wanted,
        waits: &Waits,
    ) -> Result<Acquired, LockError> {
        let (times, interruption) = match (self.try_acquire(owner, resource, wanted), waits) {
            (Err(LockError::WouldWait), Waits::Until { timeout, deadline, interruption }) => {
                ((*timeout, *deadline), interruption)
            }
            (done, _) => return done,
        };
        let begun = Instant::now();
        if let Some(done) = self.begin_waiting(owner, resource, wanted)? {
            return Ok(done);
        }
        let outcome = self.wait(owner, resource, &WaitLimits::new(owner, begun, times, interruption()));
        self.times.add(begun.elapsed());
        outcome
    }

    /// Adds the request to its queue. Returns `Some` if it could be granted after all. Error: `Deadlock`.
    pub(super) fn begin_waiting(
        &self,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        wanted: Wanted,
    ) -> Result<Option<Acquired>, LockError> {
        let mut waits = self.waits.lock();
        {
            let mut shard = self.shard(resource).lock();
            let queue = shard.entry(resource.clone()).or_default();
            if !queue.is_blocked(owner.id(), wanted, queue.waiting.len()) {
                let effect = self.grant(queue, owner, resource, wanted);
                if queue.is_empty() {
                    shard.remove(resource);
                }
                return Ok(Some(effect.map_or(Acquired::Had, |effect| effect.acquired)));
            }
            queue.enqueue(owner, wanted);
        }
        *owner.waiting.lock() = WaitState::Waiting;
        waits.begin(WaitingOwner::new(owner, resource, wanted));
        self.times.waits.fetch_add(1, SeqCst);
        // Nobody waits for who has nothing. Its session may have something else.
        if owner.locks() > 0 || self.other_waits().is_some() {
            self.end_deadlocks(&mut waits, owner);
        }
        Ok(None)
    }

    fn wait(&self, owner: &Arc<LockOwner>, resource: &Resource, limits: &WaitLimits) -> Result<Acquired, LockError> {
        loop {
            let error = {
                let mut state = owner.waiting.lock();
                match *state {
                    WaitState::Granted(acquired) => return Ok(acquired),
                    WaitState::Deadlock => return Err(LockError::Deadlock),
                    WaitState::Waiting | WaitState::Idle => {}
                }
                match limits.left() {
                    Ok(left) => {
                        owner.woken.wait_for(&mut state, left);
                        continue;
                    }
                    Err(error) => error,
                }
            };
            if self.give_up(owner, resource) {
                self.times.timeouts.fetch_add((error == LockError::Timeout).into(), SeqCst);
                return Err(error);
            }
        }
    }

    /// Withdraws the request of a transaction. Returns false if it does not wait any more.
    pub(super) fn give_up(&self, owner: &LockOwner, resource: &Resource) -> bool {
        let mut waits = self.waits.lock();
        self.withdraw(&mut waits, owner, resource, WaitState::Idle)
    }

    pub fn wait_statistics(&self) -> WaitStatistics {
        let micros = |time: &AtomicU64| Duration::from_micros(time.load(SeqCst));
        WaitStatistics {
            waits: self.times.waits.load(SeqCst),
            current: self.waits.lock().len() as u64,
            total_time: micros(&self.times.total),
            max_time: micros(&self.times.max),
            timeouts: self.times.timeouts.load(SeqCst),
            deadlocks: self.times.deadlocks.load(SeqCst),
        }
    }
}

impl WaitTimes {
    pub fn count_deadlock(&self) {
        self.deadlocks.fetch_add(1, SeqCst);
    }

    pub fn add(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.total.fetch_add(micros, SeqCst);
        self.max.fetch_max(micros, SeqCst);
    }
}
