//! A task that waits for a lock: as [`super::wait`] without a thread. Whoever grants the lock or ends a deadlock wakes
//! the task.

use super::{
    LockError,
    owner::{LockOwner, WaitState},
    request::{Resource, Wanted},
    table::LockTable,
};
use crate::primitives::SeqCst;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

/// The wait of a transaction for a lock, which begins when it is polled first. Its end says nothing of what was read
/// before, which may have changed. Dropping it withdraws the request; a lock that was granted stays. Errors:
/// `Deadlock`, `TableFull`.
#[must_use]
#[derive(Debug)]
pub struct LockWait {
    table: Arc<LockTable>,
    owner: Arc<LockOwner>,
    resource: Resource,
    wanted: Wanted,
    /// `Some` while the request is in its queue.
    begun: Option<Instant>,
}

impl LockWait {
    pub(super) fn new(
        table: Arc<LockTable>,
        owner: Arc<LockOwner>,
        (resource, wanted): (Resource, Wanted),
    ) -> LockWait {
        LockWait { table, owner, resource, wanted, begun: None }
    }

    /// Ends the wait because it has taken too long. Error: `Timeout`, unless the lock has come meanwhile.
    pub fn time_out(mut self) -> Result<(), LockError> {
        let Some(begun) = self.begun.take() else { return Ok(()) };
        self.table.times.add(begun.elapsed());
        if !self.table.give_up(&self.owner, &self.resource) {
            return self.outcome().unwrap_or(Ok(()));
        }
        self.table.times.timeouts.fetch_add(1, SeqCst);
        Err(LockError::Timeout)
    }

    fn outcome(&self) -> Option<Result<(), LockError>> {
        match *self.owner.waiting.lock() {
            WaitState::Granted(_) => Some(Ok(())),
            WaitState::Deadlock => Some(Err(LockError::Deadlock)),
            WaitState::Waiting | WaitState::Idle => None,
        }
    }
}

impl Future for LockWait {
    type Output = Result<(), LockError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let begun = match self.begun {
            Some(begun) => begun,
            None => {
                if self.table.begin_waiting(&self.owner, &self.resource, self.wanted)?.is_some() {
                    return Poll::Ready(Ok(()));
                }
                *self.begun.insert(Instant::now())
            }
        };
        // Whoever ends the wait says so first, and then takes the waker.
        self.owner.wake_task(cx.waker());
        match self.outcome() {
            Some(outcome) => {
                self.begun = None;
                self.table.times.add(begun.elapsed());
                Poll::Ready(outcome)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            self.table.times.add(begun.elapsed());
            self.table.give_up(&self.owner, &self.resource);
        }
    }
}
