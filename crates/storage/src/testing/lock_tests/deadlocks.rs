//! Cycles of transactions that wait for each other.

use super::{EXCLUSIVE, FOREVER, SHARED, key, table, until, wait_for};
use crate::locks::{LockError, LockTable, Wanted};
use std::{sync::Arc, thread};

const X: Wanted = Wanted { kind: crate::locks::LockKind::Record, mode: EXCLUSIVE };

fn acquire(locks: &Arc<LockTable>, trx_id: u64, name: &str, wanted: Wanted) -> Result<(), LockError> {
    let owner = locks.owner(trx_id).unwrap();
    locks.acquire(&owner, &key(name), wanted, &until(FOREVER)).map(drop)
}

#[test]
fn who_closes_a_circle_gives_way_among_equals() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    acquire(&locks, 1, "a", X).unwrap();
    acquire(&locks, 2, "b", X).unwrap();
    a.set_statement(Some("first".into()));
    b.set_statement(Some("second".into()));
    let first = wait_for(&locks, &a, &key("b"), X);
    assert!(locks.latest_deadlock().is_none());
    assert_eq!(acquire(&locks, 2, "a", X), Err(LockError::Deadlock));
    let deadlock = locks.latest_deadlock().unwrap();
    let parties =
        deadlock.parties.iter().map(|p| (p.trx_id, p.statement.as_deref().unwrap(), &p.waits_for.as_ref().unwrap().0));
    assert_eq!(parties.collect::<Vec<_>>(), [(2, "second", &key("a")), (1, "first", &key("b"))]);
    assert!(deadlock.parties.iter().all(|party| party.holds == [X] && party.waits_for.as_ref().unwrap().1 == X));
    assert_eq!((deadlock.victim, deadlock.too_long), (2, false));
    // The victim has its locks until it is rolled back.
    assert!(!first.is_finished());
    locks.release_all(&b);
    first.join().unwrap().unwrap();
}

#[test]
fn who_has_changed_the_least_gives_way() {
    let locks = table();
    let owners: Vec<_> = (1..=3).map(|id| locks.begin(id)).collect();
    for (owner, weight) in owners.iter().zip([5, 2, 9]) {
        owner.set_weight(weight);
    }
    acquire(&locks, 1, "a", X).unwrap();
    acquire(&locks, 2, "b", X).unwrap();
    acquire(&locks, 3, "c", X).unwrap();
    let one = wait_for(&locks, &owners[0], &key("b"), X);
    let two = wait_for(&locks, &owners[1], &key("c"), X);
    let three = {
        let locks = Arc::clone(&locks);
        thread::spawn(move || acquire(&locks, 3, "a", X))
    };
    assert_eq!(two.join().unwrap(), Err(LockError::Deadlock));
    assert_eq!(locks.latest_deadlock().unwrap().victim, 2);
    assert_eq!(locks.latest_deadlock().unwrap().parties.len(), 3);
    locks.release_all(&owners[1]);
    one.join().unwrap().unwrap();
    locks.release_all(&owners[0]);
    three.join().unwrap().unwrap();
}

/// Two readers of a row that both want to change it.
#[test]
fn two_locks_that_become_stronger_are_a_deadlock() {
    let locks = table();
    let a = locks.begin(1);
    locks.begin(2);
    acquire(&locks, 1, "a", Wanted::record(SHARED)).unwrap();
    acquire(&locks, 2, "a", Wanted::record(SHARED)).unwrap();
    let first = wait_for(&locks, &a, &key("a"), X);
    assert_eq!(acquire(&locks, 2, "a", X), Err(LockError::Deadlock));
    locks.release_all(&locks.owner(2).unwrap());
    first.join().unwrap().unwrap();
}

/// The manual's example: both have locked the gap, and both insert into it.
#[test]
fn two_inserts_into_a_gap_that_both_have_locked_are_a_deadlock() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    acquire(&locks, 1, "a", Wanted::gap(EXCLUSIVE)).unwrap();
    acquire(&locks, 2, "a", Wanted::gap(EXCLUSIVE)).unwrap();
    let first = wait_for(&locks, &a, &key("a"), Wanted::insert_intention());
    assert_eq!(acquire(&locks, 2, "a", Wanted::insert_intention()), Err(LockError::Deadlock));
    locks.release_all(&b);
    first.join().unwrap().unwrap();
}

/// A wait for a request that is ahead in the queue is a wait too.
#[test]
fn requests_that_wait_are_part_of_circles() {
    let locks = table();
    let (a, b, c) = (locks.begin(1), locks.begin(2), locks.begin(3));
    acquire(&locks, 1, "a", Wanted::record(SHARED)).unwrap();
    acquire(&locks, 3, "b", X).unwrap();
    let second = wait_for(&locks, &b, &key("a"), X);
    let third = wait_for(&locks, &c, &key("a"), Wanted::record(SHARED));
    // The first one waits for the third, which waits for the second, which waits for the first and has no lock yet.
    let first = wait_for(&locks, &a, &key("b"), X);
    assert_eq!(second.join().unwrap(), Err(LockError::Deadlock));
    let deadlock = locks.latest_deadlock().unwrap();
    assert_eq!((deadlock.parties.len(), deadlock.victim), (3, 2));
    locks.release_all(&b);
    third.join().unwrap().unwrap();
    locks.release_all(&c);
    first.join().unwrap().unwrap();
}

/// A transaction that waits inherits a lock for which another one waits then: nobody begins to wait, and still there is
/// a circle.
#[test]
fn a_lock_that_is_inherited_can_close_a_circle() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.begin(3);
    acquire(&locks, 1, "m", Wanted::gap(SHARED)).unwrap();
    acquire(&locks, 3, "s", Wanted::gap(SHARED)).unwrap();
    acquire(&locks, 2, "b", X).unwrap();
    let waits_for_second = wait_for(&locks, &a, &key("b"), X);
    let waits_for_third = wait_for(&locks, &b, &key("s"), Wanted::insert_intention());
    assert!(locks.latest_deadlock().is_none());
    locks.join_gaps(&key("m"), &key("s"));
    assert_eq!(waits_for_third.join().unwrap(), Err(LockError::Deadlock));
    locks.release_all(&b);
    waits_for_second.join().unwrap().unwrap();
}

/// Many that want one row wait in a line, which is no circle, and is searched in a number of steps that grows with the
/// line only.
#[test]
fn a_long_line_is_no_deadlock() {
    let locks = table();
    let owners: Vec<_> = (1..=600).map(|id| locks.begin(id)).collect();
    acquire(&locks, 1, "row", X).unwrap();
    let threads: Vec<_> = owners[1..]
        .iter()
        .map(|owner| {
            // Each has something that others could wait for.
            acquire(&locks, owner.id(), &owner.id().to_string(), X).unwrap();
            wait_for(&locks, owner, &key("row"), X)
        })
        .collect();
    assert!(locks.latest_deadlock().is_none());
    for (owner, thread) in owners.iter().zip(threads) {
        locks.release_all(owner);
        thread.join().unwrap().unwrap();
    }
}
