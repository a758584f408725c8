//! Tests of the lock table ([`crate::locks`]).
//!
//! ```text
//!   rules.rs      which locks wait for which, one thread
//!   waits.rs      waits and how they end
//!   async_waits.rs  tasks that wait
//!   deadlocks.rs  cycles, victims, reports
//!   gaps.rs       gaps that are split and joined
//!   stress.rs     threads that draw locks at random: what must hold at every moment
//! ```

mod async_waits;
mod deadlocks;
mod gaps;
mod rules;
mod stress;
mod waits;

use crate::locks::{LockError, LockMode, LockOwner, LockTable, Resource, Waits, Wanted};
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

const SHARED: LockMode = LockMode::Shared;
const EXCLUSIVE: LockMode = LockMode::Exclusive;

/// No wait of a test takes as long, unless somebody was forgotten.
const FOREVER: Duration = Duration::from_secs(60);

fn table() -> Arc<LockTable> {
    Arc::new(LockTable::new(u64::MAX))
}

fn key(key: &str) -> Resource {
    Resource::entry(1, key.as_bytes())
}

fn until(timeout: Duration) -> Waits {
    Waits::for_time(timeout)
}

/// Begins to wait in a thread of its own; returns when the request stands in its queue.
fn wait_for(
    locks: &Arc<LockTable>,
    owner: &Arc<LockOwner>,
    resource: &Resource,
    wanted: Wanted,
) -> JoinHandle<Result<(), LockError>> {
    let thread = {
        let (locks, owner, resource) = (Arc::clone(locks), Arc::clone(owner), resource.clone());
        thread::spawn(move || locks.acquire(&owner, &resource, wanted, &until(FOREVER)).map(drop))
    };
    until_waits(locks, owner.id());
    thread
}

/// Returns when a transaction waits.
fn until_waits(locks: &LockTable, trx_id: u64) {
    while !locks.locks().iter().any(|lock| lock.waits && lock.trx_id == trx_id) {
        thread::yield_now();
    }
}

/// Panics unless no two transactions have locks that conflict, and all requests that wait have to.
fn check(locks: &LockTable) {
    let all = locks.locks();
    for (i, request) in all.iter().enumerate() {
        let same_key = |other: &&crate::locks::LockReport| other.resource == request.resource;
        let others = all.iter().filter(same_key).filter(|other| other.trx_id != request.trx_id);
        let converts = all.iter().filter(same_key).any(|other| other.trx_id == request.trx_id && !other.waits);
        let mut in_the_way = others.filter(|other| {
            let ahead = all[..i].iter().any(|before| std::ptr::eq(before, *other));
            (!other.waits || ahead && !converts && request.waits)
                && request.wanted.waits_for(other.wanted.of_record(), other.wanted.of_gap())
        });
        let found = in_the_way.next();
        assert_eq!(request.waits, found.is_some(), "{request:?}: {found:?} of {all:?}");
    }
}
