//! Tests of the locks of whole tables.

use super::*;
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
};

const TABLE: TableId = TableId(1);

fn at_once() -> Patience<'static> {
    Patience { until: Some(Instant::now()), is_killed: &|| false, waits: &|| {} }
}

fn long() -> Patience<'static> {
    Patience { until: Some(Instant::now() + Duration::from_secs(60)), is_killed: &|| false, waits: &|| {} }
}

fn lock(locks: &MetadataLocks, owner: Owner, of: TableUse, patience: &Patience<'_>) -> Result<bool> {
    locks.lock(owner, TABLE, of, Until::Transaction, patience)
}

#[test]
fn who_agrees_with_whom() {
    let locks = MetadataLocks::default();
    for owner in [1, 2] {
        assert!(!lock(&locks, owner, TableUse::Write, &at_once()).unwrap());
    }
    assert_eq!(lock(&locks, 3, TableUse::ReadOnly, &at_once()).unwrap_err().code.number(), 1205);
    assert_eq!(lock(&locks, 1, TableUse::Alone, &at_once()).unwrap_err().code.number(), 1205);
    assert!(locks.is_free_for_readers());
    locks.release(2, Until::Transaction);
    lock(&locks, 1, TableUse::Alone, &at_once()).unwrap();
    assert!(!locks.is_free_for_readers());
    assert!(locks.wait_to_read(2, &[TABLE], &at_once()).is_err());
    locks.release_all(1);
    assert!(!locks.wait_to_read(2, &[TABLE], &at_once()).unwrap());
}

#[test]
fn a_killed_statement_stops_waiting() {
    let locks = MetadataLocks::default();
    lock(&locks, 1, TableUse::Alone, &at_once()).unwrap();
    let killed = Patience { until: None, is_killed: &|| true, waits: &|| {} };
    assert_eq!(lock(&locks, 2, TableUse::Read, &killed).unwrap_err().code.number(), 1317);
    assert_eq!(locks.claims.lock().waiting.len(), 0);
}

#[test]
fn a_circle_is_found() {
    let locks = Arc::new(MetadataLocks::default());
    lock(&locks, 1, TableUse::Write, &at_once()).unwrap();
    lock(&locks, 2, TableUse::Write, &at_once()).unwrap();
    let other = {
        let locks = locks.clone();
        thread::spawn(move || lock(&locks, 1, TableUse::Alone, &long()))
    };
    while locks.claims.lock().waiting.is_empty() {
        thread::yield_now();
    }
    assert_eq!(lock(&locks, 2, TableUse::Alone, &long()).unwrap_err().code.number(), 1213);
    locks.release(2, Until::Transaction);
    assert!(other.join().unwrap().unwrap());
}

#[test]
fn changes_and_the_global_lock_exclude_each_other() {
    let locks = MetadataLocks::default();
    locks.begin_change(1, &at_once()).unwrap();
    assert_eq!(locks.lock_globally(2, &at_once()).unwrap_err().code.number(), 1205);
    locks.end_change(1);
    locks.lock_globally(2, &at_once()).unwrap();
    assert_eq!(locks.begin_change(1, &at_once()).unwrap_err().code.number(), 1205);
    assert_eq!(locks.begin_change(2, &at_once()).unwrap_err().code.number(), 1223);
    locks.unlock_globally(2);
    locks.begin_change(1, &at_once()).unwrap();
}

/// Several sessions begin and end something often, while another excludes them now and then.
fn many_against_one(work: fn(&MetadataLocks, Owner, &dyn Fn()), exclude: fn(&MetadataLocks, Owner, &dyn Fn())) {
    const WORKERS: Owner = 4;
    let locks = MetadataLocks::default();
    let (working, is_alone) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|threads| {
        for owner in 1..=WORKERS {
            let (locks, working, is_alone) = (&locks, &working, &is_alone);
            threads.spawn(move || {
                for _ in 0..3000 {
                    work(locks, owner, &|| {
                        working.fetch_add(1, SeqCst);
                        assert!(!is_alone.load(SeqCst));
                        working.fetch_sub(1, SeqCst);
                    });
                }
            });
        }
        for _ in 0..300 {
            exclude(&locks, WORKERS + 1, &|| {
                is_alone.store(true, SeqCst);
                assert_eq!(working.load(SeqCst), 0);
                thread::yield_now();
                is_alone.store(false, SeqCst);
            });
        }
    });
    assert_eq!(locks.claimed.load(SeqCst), 0);
}

#[test]
fn nobody_writes_below_one_who_is_alone() {
    many_against_one(
        |locks, owner, change| {
            locks.lock(owner, TABLE, TableUse::Write, Until::Statement, &long()).unwrap();
            change();
            locks.end_statement(owner);
        },
        |locks, owner, have| {
            lock(locks, owner, TableUse::Alone, &long()).unwrap();
            have();
            locks.release(owner, Until::Transaction);
        },
    );
}

#[test]
fn nobody_changes_below_the_global_lock() {
    many_against_one(
        |locks, owner, change| {
            locks.begin_change(owner, &long()).unwrap();
            change();
            locks.end_change(owner);
        },
        |locks, owner, have| {
            locks.lock_globally(owner, &long()).unwrap();
            have();
            locks.unlock_globally(owner);
        },
    );
}
