//! Which locks wait for which.

use super::{EXCLUSIVE, SHARED, key, table};
use crate::locks::{Acquired, LockError, Resource, Wanted};

/// All locks, as the manual's "InnoDB Locking" tells them apart.
fn all() -> [(&'static str, Wanted); 7] {
    [
        ("S", Wanted::record(SHARED)),
        ("X", Wanted::record(EXCLUSIVE)),
        ("S gap", Wanted::gap(SHARED)),
        ("X gap", Wanted::gap(EXCLUSIVE)),
        ("S next-key", Wanted::next_key(SHARED)),
        ("X next-key", Wanted::next_key(EXCLUSIVE)),
        ("insert intention", Wanted::insert_intention()),
    ]
}

#[test]
fn requests_wait_for_what_innodb_has_them_wait_for() {
    let mut waits = Vec::new();
    for (held, lock) in all() {
        for (asked, wanted) in all() {
            let locks = table();
            let (holder, other) = (locks.begin(1), locks.begin(2));
            locks.try_acquire(&holder, &key("a"), lock).unwrap();
            match locks.try_acquire(&other, &key("a"), wanted) {
                Ok(_) => {}
                Err(e) => {
                    assert_eq!(e, LockError::WouldWait);
                    waits.push((held, asked));
                }
            }
            // The same transaction never waits for itself.
            locks.release_all(&other);
            assert!(locks.try_acquire(&holder, &key("a"), wanted).is_ok());
        }
    }
    let expected = [
        ("S", "X"),
        ("S", "X next-key"),
        ("X", "S"),
        ("X", "X"),
        ("X", "S next-key"),
        ("X", "X next-key"),
        ("S gap", "insert intention"),
        ("X gap", "insert intention"),
        ("S next-key", "X"),
        ("S next-key", "X next-key"),
        ("S next-key", "insert intention"),
        ("X next-key", "S"),
        ("X next-key", "X"),
        ("X next-key", "S next-key"),
        ("X next-key", "X next-key"),
        ("X next-key", "insert intention"),
    ];
    assert_eq!(waits, expected);
}

#[test]
fn other_keys_other_trees_and_the_supremum_are_apart() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("a"), Wanted::next_key(EXCLUSIVE)).unwrap();
    for other in [key("b"), key(""), Resource::entry(2, b"a"), Resource::supremum(1)] {
        assert_eq!(locks.try_acquire(&b, &other, Wanted::next_key(EXCLUSIVE)), Ok(Acquired::New));
    }
    let waits = locks.try_acquire(&a, &Resource::supremum(1), Wanted::insert_intention());
    assert_eq!(waits, Err(LockError::WouldWait));
}

#[test]
fn what_was_acquired_tells_what_is_to_be_released() {
    let locks = table();
    let a = locks.begin(1);
    assert_eq!(locks.try_acquire(&a, &key("a"), Wanted::gap(SHARED)), Ok(Acquired::New));
    assert_eq!(locks.try_acquire(&a, &key("a"), Wanted::record(SHARED)), Ok(Acquired::More));
    assert_eq!(locks.try_acquire(&a, &key("a"), Wanted::next_key(SHARED)), Ok(Acquired::Had));
    assert_eq!(locks.try_acquire(&a, &key("a"), Wanted::next_key(EXCLUSIVE)), Ok(Acquired::More));
    assert_eq!(locks.try_acquire(&a, &key("a"), Wanted::record(SHARED)), Ok(Acquired::Had));
    assert_eq!(locks.try_acquire(&a, &key("b"), Wanted::insert_intention()), Ok(Acquired::Had));
    assert_eq!((a.locks(), locks.locks().len()), (1, 1));
}

#[test]
fn a_released_lock_is_free_for_others() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("a"), Wanted::record(EXCLUSIVE)).unwrap();
    locks.try_acquire(&a, &key("b"), Wanted::record(EXCLUSIVE)).unwrap();
    locks.release(&a, &key("a"));
    assert_eq!(locks.try_acquire(&b, &key("a"), Wanted::record(EXCLUSIVE)), Ok(Acquired::New));
    assert_eq!(locks.try_acquire(&b, &key("b"), Wanted::record(SHARED)), Err(LockError::WouldWait));
    locks.release_all(&a);
    assert_eq!(locks.try_acquire(&b, &key("b"), Wanted::record(SHARED)), Ok(Acquired::New));
    locks.release_all(&b);
    assert_eq!((locks.locks().len(), locks.bytes(), locks.transactions().len()), (0, 0, 0));
}

#[test]
fn the_lock_of_a_changed_row_is_made_visible_while_its_transaction_is_active() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    assert!(locks.make_explicit(1, &key("a")));
    assert_eq!(locks.try_acquire(&b, &key("a"), Wanted::record(SHARED)), Err(LockError::WouldWait));
    locks.release_all(&a);
    assert!(!locks.make_explicit(1, &key("a")));
    assert_eq!(locks.try_acquire(&b, &key("a"), Wanted::record(SHARED)), Ok(Acquired::New));
    assert!(!locks.make_explicit(77, &key("c")));
    assert_eq!(locks.locks().len(), 1);
}

#[test]
fn memory_is_bounded() {
    let locks = crate::locks::LockTable::new(10_000);
    let (a, b) = (locks.begin(1), locks.begin(2));
    let lock = |n: u32| locks.try_acquire(&a, &Resource::entry(1, &n.to_be_bytes()), Wanted::record(EXCLUSIVE));
    let held = (0..).take_while(|n| lock(*n) != Err(LockError::TableFull)).count() as u32;
    assert!((20..100).contains(&held), "{held}");
    // What it has it may make stronger, and what leaves no lock behind needs no memory.
    let own = Resource::entry(1, &[0; 4]);
    assert_eq!(locks.try_acquire(&a, &own, Wanted::next_key(EXCLUSIVE)), Ok(Acquired::More));
    assert_eq!(locks.try_acquire(&b, &key("new"), Wanted::insert_intention()), Ok(Acquired::Had));
    assert_eq!(locks.try_acquire(&b, &key("new"), Wanted::record(SHARED)), Err(LockError::TableFull));
    locks.release_all(&a);
    assert_eq!(locks.try_acquire(&b, &key("new"), Wanted::record(SHARED)), Ok(Acquired::New));
}
