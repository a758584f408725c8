//! Waits and how they end.

use super::{EXCLUSIVE, FOREVER, SHARED, check, key, table, until, until_waits, wait_for};
use crate::{
    locks::{Acquired, LockError, Waits, Wanted},
    testing::kill::Kill,
};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

#[test]
fn who_may_not_wait_is_told() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("a"), Wanted::record(EXCLUSIVE)).unwrap();
    let wanted = Wanted::record(SHARED);
    assert_eq!(locks.acquire(&b, &key("a"), wanted, &Waits::Never), Err(LockError::WouldWait));
    assert_eq!(locks.locks().len(), 1);
}

#[test]
fn a_release_grants_in_the_order_of_requests() {
    let locks = table();
    let owners: Vec<_> = (1..=5).map(|id| locks.begin(id)).collect();
    locks.try_acquire(&owners[0], &key("a"), Wanted::record(EXCLUSIVE)).unwrap();
    let modes = [SHARED, SHARED, EXCLUSIVE, SHARED];
    let threads: Vec<_> =
        owners[1..].iter().zip(modes).map(|(o, mode)| wait_for(&locks, o, &key("a"), Wanted::record(mode))).collect();
    let waiting = || locks.locks().iter().filter(|lock| lock.waits).map(|lock| lock.trx_id).collect::<Vec<_>>();
    assert_eq!(waiting(), [2, 3, 4, 5]);
    check(&locks);
    locks.release_all(&owners[0]);
    // Both shared locks at once, but not the one that came after the exclusive request.
    assert_eq!(waiting(), [4, 5]);
    check(&locks);
    locks.release_all(&owners[1]);
    assert_eq!(waiting(), [4, 5]);
    locks.release_all(&owners[2]);
    assert_eq!(waiting(), [5]);
    locks.release_all(&owners[3]);
    assert!(waiting().is_empty());
    threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
}

/// Others that wait do not stand in the way of who has a lock already.
#[test]
fn a_lock_is_made_stronger_before_others_get_theirs() {
    let locks = table();
    let (a, b, c) = (locks.begin(1), locks.begin(2), locks.begin(3));
    locks.try_acquire(&a, &key("a"), Wanted::record(SHARED)).unwrap();
    locks.try_acquire(&c, &key("a"), Wanted::record(SHARED)).unwrap();
    let other = wait_for(&locks, &b, &key("a"), Wanted::record(EXCLUSIVE));
    let stronger = wait_for(&locks, &a, &key("a"), Wanted::record(EXCLUSIVE));
    locks.release_all(&c);
    stronger.join().unwrap().unwrap();
    check(&locks);
    locks.release_all(&a);
    other.join().unwrap().unwrap();
}

#[test]
fn a_wait_ends_after_its_time() {
    let locks = table();
    let (a, b, c) = (locks.begin(1), locks.begin(2), locks.begin(3));
    locks.try_acquire(&a, &key("a"), Wanted::record(SHARED)).unwrap();
    let begun = Instant::now();
    let short = Duration::from_millis(150);
    let behind = {
        let (locks, c) = (Arc::clone(&locks), Arc::clone(&c));
        thread::spawn(move || {
            until_waits(&locks, 2);
            locks.acquire(&c, &key("a"), Wanted::record(SHARED), &until(FOREVER))
        })
    };
    let outcome = locks.acquire(&b, &key("a"), Wanted::record(EXCLUSIVE), &until(short));
    assert_eq!(outcome, Err(LockError::Timeout));
    assert!(begun.elapsed() >= short);
    // Who stood behind the request that is gone goes on.
    assert_eq!(behind.join().unwrap(), Ok(Acquired::New));
    let statistics = locks.wait_statistics();
    assert!((1..=2).contains(&statistics.waits) && statistics.current == 0, "{statistics:?}");
    assert!(statistics.max_time >= short && statistics.total_time >= statistics.max_time);
}

#[test]
fn a_wait_ends_when_its_statement_is_killed() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("a"), Wanted::gap(EXCLUSIVE)).unwrap();
    let kill = Kill::default();
    let acquire = {
        let (locks, kill) = (Arc::clone(&locks), kill.clone());
        move || locks.acquire(&b, &key("a"), Wanted::insert_intention(), &kill.waits(FOREVER))
    };
    let thread = thread::spawn(acquire.clone());
    until_waits(&locks, 2);
    assert_eq!(locks.wait_statistics().current, 1);
    // The thread sleeps: it has asked once, and does not ask again.
    thread::sleep(Duration::from_millis(100));
    assert_eq!(kill.asked(), 1);
    kill.kill();
    assert_eq!(thread.join().unwrap(), Err(LockError::Interrupted));
    assert_eq!((kill.asked(), locks.locks().len()), (1, 1));
    // A statement that is killed before it waits does not wait.
    assert_eq!(acquire(), Err(LockError::Interrupted));
    assert_eq!(locks.locks().len(), 1);
}

#[test]
fn a_wait_ends_at_the_deadline_of_its_statement() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("a"), Wanted::record(EXCLUSIVE)).unwrap();
    let begun = Instant::now();
    let short = Duration::from_millis(30);
    let Waits::Until { timeout, interruption, .. } = until(FOREVER) else { unreachable!("it waits") };
    let waits = Waits::Until { timeout, deadline: Some(begun + short), interruption };
    assert_eq!(locks.acquire(&b, &key("a"), Wanted::record(SHARED), &waits), Err(LockError::DeadlinePassed));
    assert!(begun.elapsed() >= short);
    assert_eq!((locks.locks().len(), locks.wait_statistics().timeouts), (1, 0));
}

#[test]
fn all_that_wait_is_seen() {
    let locks = table();
    let (a, b, c) = (locks.begin(1), locks.begin(2), locks.begin(3));
    locks.try_acquire(&a, &key("a"), Wanted::next_key(EXCLUSIVE)).unwrap();
    b.set_statement(Some("DELETE".into()));
    let first = wait_for(&locks, &b, &key("a"), Wanted::record(SHARED));
    let second = wait_for(&locks, &c, &key("a"), Wanted::record(EXCLUSIVE));
    let pairs = locks.waits().iter().map(|wait| (wait.requesting_trx_id, wait.blocking_trx_id)).collect::<Vec<_>>();
    assert_eq!(pairs, [(2, 1), (3, 1), (3, 2)]);
    let transactions = locks.transactions();
    let waits = transactions.iter().map(|trx| trx.waits.as_ref().map(|(_, _, wanted)| *wanted)).collect::<Vec<_>>();
    assert_eq!(waits, [None, Some(Wanted::record(SHARED)), Some(Wanted::record(EXCLUSIVE))]);
    assert_eq!(transactions[1].statement.as_deref(), Some("DELETE"));
    locks.release_all(&a);
    first.join().unwrap().unwrap();
    locks.release_all(&b);
    second.join().unwrap().unwrap();
}
