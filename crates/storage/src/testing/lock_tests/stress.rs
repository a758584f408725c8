//! Threads that draw locks at random: what must hold at every moment.

use super::{EXCLUSIVE, FOREVER, SHARED, check, key, table, until};
use crate::{
    locks::{LockError, LockTable, Resource, Wanted},
    testing::random::Random,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
};

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// One transaction: some locks, one after the other; gaps split and joined among them. Returns whether it came to its
/// end.
fn transaction(locks: &Arc<LockTable>, trx_id: u64, random: &mut Random) -> bool {
    let owner = locks.begin(trx_id);
    let mut committed = true;
    for changed in 0..1 + random.below(5) {
        let resource = key(KEYS[random.below(KEYS.len())]);
        let mode = if random.below(2) == 0 { SHARED } else { EXCLUSIVE };
        let wanted = match random.below(5) {
            0 => Wanted::insert_intention(),
            1 => Wanted::gap(mode),
            2 => Wanted::next_key(mode),
            _ => Wanted::record(mode),
        };
        match random.below(8) {
            0 => locks.join_gaps(&resource, &key(KEYS[random.below(KEYS.len())])),
            1 => drop(locks.split_gap(&owner, &key(KEYS[random.below(KEYS.len())]), &resource)),
            2 => drop(locks.make_explicit(trx_id, &Resource::entry(9, &trx_id.to_be_bytes()))),
            _ => match locks.acquire(&owner, &resource, wanted, &until(FOREVER)) {
                Ok(_) => owner.set_weight(changed as u64),
                Err(e) => {
                    assert_eq!(e, LockError::Deadlock, "a circle was not found");
                    committed = false;
                    break;
                }
            },
        }
        thread::yield_now();
    }
    locks.release_all(&owner);
    committed
}

#[test]
fn locks_never_conflict_and_nobody_is_forgotten() {
    let locks = table();
    let (next, done) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));
    let threads: Vec<_> = (0..8u64)
        .map(|seed| {
            let (locks, next) = (Arc::clone(&locks), Arc::clone(&next));
            thread::spawn(move || {
                let mut random = Random(seed);
                (0..2000).filter(|_| transaction(&locks, next.fetch_add(1, SeqCst), &mut random)).count()
            })
        })
        .collect();
    let checker = {
        let (locks, done) = (Arc::clone(&locks), Arc::clone(&done));
        thread::spawn(move || {
            let mut seen_waiting = 0;
            while !done.load(SeqCst) {
                check(&locks);
                seen_waiting += locks.waits().len();
            }
            seen_waiting
        })
    };
    let committed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    done.store(true, SeqCst);
    assert!(checker.join().unwrap() > 0);
    assert!(committed > 1000 && committed < 16_000, "{committed}");
    assert_eq!((locks.locks().len(), locks.bytes(), locks.wait_statistics().current), (0, 0, 0));
}
