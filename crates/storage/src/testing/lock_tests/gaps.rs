//! Gaps that are split by a new entry, or joined where one goes.

use super::{EXCLUSIVE, SHARED, key, table};
use crate::locks::{Acquired, LockError, LockTable, Resource, Wanted};

fn may_insert(locks: &LockTable, trx_id: u64, entry: &str, successor: Resource) -> bool {
    let owner = locks.owner(trx_id).unwrap();
    match locks.split_gap(&owner, &key(entry), &successor) {
        Ok(()) => true,
        Err((resource, wanted)) => {
            assert_eq!((resource, wanted), (successor, Wanted::insert_intention()));
            false
        }
    }
}

#[test]
fn a_locked_gap_takes_entries_of_its_owner_only() {
    let locks = table();
    let (a, _b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &Resource::supremum(1), Wanted::gap(SHARED)).unwrap();
    assert!(!may_insert(&locks, 2, "m", Resource::supremum(1)));
    assert!(may_insert(&locks, 1, "m", Resource::supremum(1)));
    // Both parts of the gap are locked now.
    assert!(!may_insert(&locks, 2, "f", key("m")));
    assert!(!may_insert(&locks, 2, "t", Resource::supremum(1)));
    // The new entry itself is not: its row's transaction tells who has it.
    assert_eq!(locks.locks().iter().filter(|lock| lock.wanted.of_record().is_some()).count(), 0);
    locks.release_all(&a);
    assert!(may_insert(&locks, 2, "f", key("m")));
}

#[test]
fn several_owners_inherit_with_their_modes() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("s"), Wanted::next_key(SHARED)).unwrap();
    locks.try_acquire(&b, &key("s"), Wanted::gap(EXCLUSIVE)).unwrap();
    locks.try_acquire(&a, &key("m"), Wanted::record(EXCLUSIVE)).unwrap();
    locks.join_gaps(&key("s"), &key("u"));
    let on =
        |name| locks.locks().into_iter().filter(|l| l.resource == key(name)).map(|l| (l.trx_id, l.wanted)).collect();
    let inherited: Vec<_> = on("u");
    assert_eq!(inherited, [(1, Wanted::gap(SHARED)), (2, Wanted::gap(EXCLUSIVE))]);
    // The lock of a record alone keeps nobody from adding entries before its successor.
    locks.join_gaps(&key("m"), &key("o"));
    let inherited: Vec<_> = on("o");
    assert_eq!(inherited, []);
}

#[test]
fn the_lock_of_the_gap_before_an_entry_that_goes_is_kept() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("m"), Wanted::gap(SHARED)).unwrap();
    assert!(may_insert(&locks, 2, "p", key("s")));
    locks.join_gaps(&key("m"), &key("p"));
    assert!(!may_insert(&locks, 2, "l", key("p")));
    assert_eq!(locks.try_acquire(&b, &key("p"), Wanted::record(EXCLUSIVE)), Ok(Acquired::New));
    locks.release_all(&a);
    assert!(may_insert(&locks, 2, "l", key("p")));
}

/// The lock of a record stays with the key: whoever adds an entry with this key again has to ask for it.
#[test]
fn the_lock_of_a_record_that_goes_stays() {
    let locks = table();
    let (a, b) = (locks.begin(1), locks.begin(2));
    locks.try_acquire(&a, &key("m"), Wanted::record(SHARED)).unwrap();
    locks.join_gaps(&key("m"), &key("p"));
    assert_eq!(locks.try_acquire(&b, &key("m"), Wanted::record(EXCLUSIVE)), Err(LockError::WouldWait));
}
