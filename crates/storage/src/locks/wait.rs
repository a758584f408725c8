//! A thread that waits: until the lock is granted, a deadlock, a timeout or KILL.

use super::{
    LockError,
    deadlock::WaitingOwner,
    owner::{LockOwner, WaitState},
    request::{Resource, Wanted},
    table::{Acquired, LockTable},
};
use crate::primitives::{AtomicU64, SeqCst};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How often a thread that waits asks whether it is to go on.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// Whether, and how long, a transaction waits for locks of others.
#[derive(Clone)]
pub enum Waits {
    /// It does not: what would have to be waited for is an error.
    Never,
    /// It does for so long, or until `cancel` returns true.
    Until { timeout: Duration, cancel: Arc<dyn Fn() -> bool + Send + Sync> },
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
    timeouts: AtomicU64,
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
    /// `WouldWait`, or `Timeout` and `Interrupted`.
    pub fn acquire(
        &self,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        wanted: Wanted,
        waits: &Waits,
    ) -> Result<Acquired, LockError> {
        let (timeout, cancel) = match (self.try_acquire(owner, resource, wanted), waits) {
            (Err(LockError::WouldWait), Waits::Until { timeout, cancel }) => (*timeout, cancel),
            (done, _) => return done,
        };
        let begun = Instant::now();
        if let Some(done) = self.begin_waiting(owner, resource, wanted)? {
            return Ok(done);
        }
        let outcome = self.wait(owner, resource, begun, timeout, &**cancel);
        self.times.add(begun.elapsed());
        outcome
    }

    /// Adds the request to its queue. Returns `Some` if it could be granted after all. Error: `Deadlock`.
    fn begin_waiting(
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

    fn wait(
        &self,
        owner: &Arc<LockOwner>,
        resource: &Resource,
        begun: Instant,
        timeout: Duration,
        cancel: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<Acquired, LockError> {
        loop {
            {
                let mut state = owner.waiting.lock();
                match *state {
                    WaitState::Granted(acquired) => return Ok(acquired),
                    WaitState::Deadlock => return Err(LockError::Deadlock),
                    WaitState::Waiting | WaitState::Idle => {}
                }
                let left = timeout.saturating_sub(begun.elapsed());
                if !left.is_zero() && !cancel() {
                    owner.woken.wait_for(&mut state, left.min(CANCEL_POLL));
                    continue;
                }
            }
            let error = if cancel() { LockError::Interrupted } else { LockError::Timeout };
            if self.give_up(owner, resource) {
                self.times.timeouts.fetch_add((error == LockError::Timeout).into(), SeqCst);
                return Err(error);
            }
        }
    }

    /// Withdraws the request of a transaction. Returns false if it does not wait any more.
    fn give_up(&self, owner: &LockOwner, resource: &Resource) -> bool {
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

    fn add(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.total.fetch_add(micros, SeqCst);
        self.max.fetch_max(micros, SeqCst);
    }
}
