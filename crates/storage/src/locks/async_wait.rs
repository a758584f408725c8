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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::{LockMode, TransactionLocks};
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        task::{Wake, Waker},
    };

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Woken(AtomicU64);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn key(key: &[u8]) -> Resource {
        Resource { tree: 1, key: Some(key.into()) }
    }

    fn lock(transaction: &TransactionLocks, key: &Resource) -> Result<(), LockError> {
        transaction.try_acquire(key, Wanted::record(LockMode::Exclusive)).map(drop)
    }

    fn transactions<const N: usize>(table: &Arc<LockTable>) -> [TransactionLocks; N] {
        std::array::from_fn(|i| TransactionLocks::new(Arc::clone(table), table.begin(i as u64 + 1)))
    }

    /// The wait for a lock that another transaction has.
    fn wait_for(transaction: &TransactionLocks, key: &Resource) -> LockWait {
        assert_eq!(lock(transaction, key), Err(LockError::WouldWait));
        let wait = transaction.take_wait().expect("a lock is in the way");
        assert!(transaction.take_wait().is_none(), "it is taken once");
        wait
    }

    fn poll(wait: &mut LockWait, woken: &Arc<Woken>) -> Poll<Result<(), LockError>> {
        Pin::new(wait).poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
    }

    #[test]
    fn whoever_releases_the_lock_wakes_the_task() {
        let table = Arc::new(LockTable::new(1 << 20));
        let [holder, waiter] = transactions(&table);
        lock(&holder, &key(b"a")).unwrap();
        let (mut wait, woken) = (wait_for(&waiter, &key(b"a")), Arc::default());
        assert_eq!(poll(&mut wait, &woken), Poll::Pending);
        assert_eq!(poll(&mut wait, &woken), Poll::Pending);
        assert_eq!(table.wait_statistics().current, 1);
        table.release_all(holder.owner());
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut wait, &woken), Poll::Ready(Ok(())));
        drop(wait);
        assert_eq!(waiter.owner().locks(), 1, "the lock stays");
        let waits = table.wait_statistics();
        assert_eq!((waits.waits, waits.current, waits.timeouts), (1, 0, 0));
    }

    #[test]
    fn a_lock_that_is_free_by_then_is_had_at_once() {
        let table = Arc::new(LockTable::new(1 << 20));
        let [holder, waiter] = transactions(&table);
        lock(&holder, &key(b"a")).unwrap();
        let mut wait = wait_for(&waiter, &key(b"a"));
        table.release_all(holder.owner());
        assert_eq!(poll(&mut wait, &Arc::default()), Poll::Ready(Ok(())));
        assert_eq!((waiter.owner().locks(), table.wait_statistics().waits), (1, 0));
    }

    #[test]
    fn who_gives_up_is_in_nobodys_way() {
        let table = Arc::new(LockTable::new(1 << 20));
        let [holder, first, second, third] = transactions(&table);
        lock(&holder, &key(b"a")).unwrap();
        let waits = [&first, &second, &third].map(|waiter| wait_for(waiter, &key(b"a")));
        let [mut dropped, mut timed_out, mut granted] = waits;
        let woken = Arc::default();
        for wait in [&mut dropped, &mut timed_out, &mut granted] {
            assert_eq!(poll(wait, &woken), Poll::Pending);
        }
        drop(dropped);
        assert_eq!(timed_out.time_out(), Err(LockError::Timeout));
        table.release_all(holder.owner());
        assert_eq!((first.owner().locks(), second.owner().locks(), third.owner().locks()), (0, 0, 1));
        assert_eq!(granted.time_out(), Ok(()), "the lock has come");
        assert_eq!(table.wait_statistics().timeouts, 1);
    }

    #[test]
    fn a_task_may_be_the_victim_of_a_deadlock() {
        let table = Arc::new(LockTable::new(1 << 20));
        let [a, b] = transactions(&table);
        a.owner().set_weight(1);
        lock(&a, &key(b"a")).unwrap();
        lock(&b, &key(b"b")).unwrap();
        let (mut of_b, mut of_a) = (wait_for(&b, &key(b"a")), wait_for(&a, &key(b"b")));
        let woken = Arc::default();
        assert_eq!(poll(&mut of_b, &woken), Poll::Pending);
        assert_eq!(poll(&mut of_a, &Arc::default()), Poll::Pending);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut of_b, &woken), Poll::Ready(Err(LockError::Deadlock)));
        table.release_all(b.owner());
        assert_eq!(poll(&mut of_a, &Arc::default()), Poll::Ready(Ok(())));
    }
}
