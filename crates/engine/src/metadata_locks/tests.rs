//! Tests of the locks of whole tables.

use super::*;
use std::{
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

const ONE: Owner = Owner::Session(1);
const TWO: Owner = Owner::Session(2);
const THREE: Owner = Owner::Session(3);

const TABLE: TableId = TableId(1);

fn never_killed() -> &'static CancellationToken {
    static TOKEN: OnceLock<CancellationToken> = OnceLock::new();
    TOKEN.get_or_init(CancellationToken::new)
}

fn at_once() -> Patience<'static> {
    Patience { until: Some(Instant::now()), deadline: None, killed: never_killed(), waits: &|| {} }
}

fn long() -> Patience<'static> {
    Patience { until: Some(Instant::now() + Duration::from_secs(60)), ..at_once() }
}

fn lock(locks: &MetadataLocks, owner: Owner, of: TableUse, patience: &Patience<'_>) -> Result<bool> {
    locks.lock(owner, TABLE, of, Until::Transaction, patience)
}

#[test]
fn who_agrees_with_whom() {
    let locks = MetadataLocks::default();
    for owner in [ONE, TWO] {
        assert!(!lock(&locks, owner, TableUse::Write, &at_once()).unwrap());
    }
    assert_eq!(lock(&locks, THREE, TableUse::ReadOnly, &at_once()).unwrap_err().code.number(), 1205);
    assert_eq!(lock(&locks, ONE, TableUse::Alone, &at_once()).unwrap_err().code.number(), 1205);
    assert!(locks.is_free_for_readers());
    locks.release(TWO, Until::Transaction);
    lock(&locks, ONE, TableUse::Alone, &at_once()).unwrap();
    assert!(!locks.is_free_for_readers());
    assert!(locks.wait_to_read(TWO, &[TABLE], &at_once()).is_err());
    locks.release_all(ONE);
    assert!(!locks.wait_to_read(TWO, &[TABLE], &at_once()).unwrap());
}

#[test]
fn a_killed_statement_stops_waiting() {
    let locks = MetadataLocks::default();
    lock(&locks, ONE, TableUse::Alone, &at_once()).unwrap();
    let token = CancellationToken::new();
    token.cancel();
    let killed = Patience { until: None, deadline: None, killed: &token, waits: &|| {} };
    assert_eq!(lock(&locks, TWO, TableUse::Read, &killed).unwrap_err().code.number(), 1317);
    assert_eq!(locks.claims.lock().waiting.len(), 0);
}

/// One of the two gives way: the one that looks for circles when both wait, which may be either.
#[test]
fn a_circle_is_found() {
    let locks = Arc::new(MetadataLocks::default());
    lock(&locks, ONE, TableUse::Write, &at_once()).unwrap();
    lock(&locks, TWO, TableUse::Write, &at_once()).unwrap();
    let wait_alone = |owner| {
        let locks = locks.clone();
        move || {
            let outcome = lock(&locks, owner, TableUse::Alone, &long());
            // As the end of its transaction does.
            outcome.inspect_err(|_| locks.release(owner, Until::Transaction)).map_err(|e| e.code.number())
        }
    };
    let other = thread::spawn(wait_alone(ONE));
    until_waiting(&locks, 1);
    let mut outcomes = [wait_alone(TWO)(), other.join().unwrap()];
    outcomes.sort();
    assert_eq!(outcomes, [Ok(true), Err(1213)]);
}

#[test]
fn changes_and_the_global_lock_exclude_each_other() {
    let locks = MetadataLocks::default();
    locks.begin_change(ONE, ChangePhase::Statement, &at_once()).unwrap();
    assert_eq!(locks.lock_globally(TWO, &at_once()).unwrap_err().code.number(), 1205);
    locks.end_change(ONE);
    locks.lock_globally(TWO, &at_once()).unwrap();
    assert_eq!(locks.begin_change(ONE, ChangePhase::Statement, &at_once()).unwrap_err().code.number(), 1205);
    assert_eq!(locks.begin_change(TWO, ChangePhase::Statement, &at_once()).unwrap_err().code.number(), 1223);
    locks.unlock_globally(TWO);
    locks.begin_change(ONE, ChangePhase::Statement, &at_once()).unwrap();
}

/// Several sessions begin and end something often, while another excludes them now and then.
fn many_against_one(work: fn(&MetadataLocks, Owner, &dyn Fn()), exclude: fn(&MetadataLocks, Owner, &dyn Fn())) {
    const WORKERS: u32 = 4;
    let locks = MetadataLocks::default();
    let (working, is_alone) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|threads| {
        for owner in (1..=WORKERS).map(Owner::Session) {
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
            exclude(&locks, Owner::Session(WORKERS + 1), &|| {
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
            locks.begin_change(owner, ChangePhase::Statement, &long()).unwrap();
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

/// Waits until so many sessions wait.
fn until_waiting(locks: &MetadataLocks, sessions: usize) {
    while locks.claims.lock().waiting.len() < sessions {
        thread::yield_now();
    }
}

/// Nobody asks a thread that waits whether it was killed: it is woken.
#[test]
fn kill_wakes_who_waits() {
    let (locks, token) = (MetadataLocks::default(), CancellationToken::new());
    lock(&locks, ONE, TableUse::Alone, &at_once()).unwrap();
    thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            let patience = Patience { until: None, deadline: None, killed: &token, waits: &|| {} };
            lock(&locks, TWO, TableUse::Read, &patience)
        });
        until_waiting(&locks, 1);
        token.cancel();
        assert_eq!(waiting.join().unwrap().unwrap_err().code.number(), 1317);
    });
    assert_eq!(locks.asking.load(SeqCst), 0);
}

/// Who gives up the wait to have a table for itself no longer holds back those who came later.
#[test]
fn who_gives_up_lets_those_behind_go_on() {
    let locks = MetadataLocks::default();
    lock(&locks, ONE, TableUse::Read, &at_once()).unwrap();
    let token = CancellationToken::new();
    thread::scope(|threads| {
        let first = threads.spawn(|| {
            let patience = Patience { until: None, deadline: None, killed: &token, waits: &|| {} };
            lock(&locks, TWO, TableUse::Alone, &patience)
        });
        until_waiting(&locks, 1);
        let second = threads.spawn(|| lock(&locks, THREE, TableUse::Read, &long()));
        until_waiting(&locks, 2);
        assert!(!locks.try_lock(Owner::Session(4), TABLE, TableUse::ReadOnly, Until::Statement), "nobody overtakes");
        token.cancel();
        assert!(first.join().unwrap().is_err());
        assert!(second.join().unwrap().unwrap());
    });
}

/// Of a circle the one that reads or writes gives way, whoever closes it.
#[test]
fn a_circle_ends_a_reader_first() {
    let other = TableId(2);
    let locks = MetadataLocks::default();
    let lock_other = |owner, of| locks.lock(owner, other, of, Until::Transaction, &long());
    lock(&locks, ONE, TableUse::Alone, &at_once()).unwrap();
    lock_other(TWO, TableUse::Read).unwrap();
    thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let read = lock(&locks, TWO, TableUse::Read, &long());
            locks.release_all(TWO);
            read
        });
        until_waiting(&locks, 1);
        assert!(lock_other(ONE, TableUse::Alone).unwrap());
        assert_eq!(reader.join().unwrap().unwrap_err().code.number(), 1213);
    });
}

#[test]
fn what_is_cut_off_is_in_the_way_of_all_but_readers_and_writers() {
    use TableUse::*;
    let locks = MetadataLocks::default();
    let is_free = |of| {
        let is_free = locks.try_lock(ONE, TABLE, of, Until::Statement);
        locks.release(ONE, Until::Statement);
        is_free
    };
    let free =
        || [Read, Write, ReadOnly, Rebuild, Alone, Drop].into_iter().filter(|of| is_free(*of)).collect::<Vec<_>>();
    locks.lock(TWO, TABLE, Write, Until::Transaction, &at_once()).unwrap();
    locks.hand_over(TWO, 77);
    locks.release_all(TWO);
    assert_eq!(free(), [Read, Write]);
    locks.cannot_undo(77);
    assert_eq!(free(), [Read, Write, Drop]);
    locks.release(Owner::CutOff(77), Until::Transaction);
    assert_eq!(free().len(), 6);
}

/// A session that writes a table and locks it against other writers has it against those who lock it so, too.
#[test]
fn locks_of_one_session_add_up() {
    let locks = MetadataLocks::default();
    for of in [TableUse::Write, TableUse::ReadOnly] {
        lock(&locks, ONE, of, &at_once()).unwrap();
    }
    assert!(!locks.try_lock(TWO, TABLE, TableUse::ReadOnly, Until::Statement));
    assert!(locks.try_lock(TWO, TABLE, TableUse::Read, Until::Statement));
}
