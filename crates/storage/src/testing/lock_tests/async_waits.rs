//! Tasks that wait for locks, and how their waits end.

use crate::locks::{LockError, LockMode, LockTable, LockWait, Resource, TransactionLocks, Wanted};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
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
