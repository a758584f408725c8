//! Unique keys whose rows are not committed.

use super::{Bench, check, int, row, waits, would_wait};
use crate::{LockMode, StorageError};
use std::{
    sync::{Arc, Barrier},
    thread,
};

fn is_duplicate_of(outcome: crate::Result<()>, wanted: usize) -> bool {
    matches!(outcome, Err(StorageError::Duplicate { index, .. }) if index == wanted)
}

/// A row that has the primary key, or the unique number, of row 7.
fn twins() -> [(usize, Vec<muster_types::Value>); 2] {
    [(0, row(7, 1, 1)), (1, row(1, 70, 1))]
}

#[test]
fn an_insert_waits_for_a_row_that_is_not_committed() {
    for (index, twin) in twins() {
        for commits in [true, false] {
            let bench = Arc::new(Bench::with([]));
            let mut first = bench.begin();
            bench.insert(&mut first, &row(7, 70, 700)).unwrap();
            let twin = twin.clone();
            let second = waits(&bench, move |bench| {
                let mut trx = bench.begin();
                let outcome = bench.insert(&mut trx, &twin);
                drop(trx.commit().unwrap());
                outcome
            });
            match commits {
                true => drop(first.commit().unwrap()),
                false => first.roll_back().unwrap(),
            }
            let outcome = second.join().unwrap();
            assert_eq!(is_duplicate_of(outcome, index), commits);
            assert_eq!(bench.newest().len(), 1);
            check(&bench);
        }
    }
}

#[test]
fn an_insert_waits_for_a_row_that_is_not_yet_gone() {
    for (index, twin) in twins() {
        for commits in [true, false] {
            let bench = Arc::new(Bench::with([7]));
            let mut first = bench.begin();
            bench.delete(&mut first, 7).unwrap();
            let twin = twin.clone();
            let second = waits(&bench, move |bench| {
                let mut trx = bench.begin();
                let outcome = bench.insert(&mut trx, &twin);
                drop(trx.commit().unwrap());
                outcome
            });
            match commits {
                true => drop(first.commit().unwrap()),
                false => first.roll_back().unwrap(),
            }
            assert_eq!(is_duplicate_of(second.join().unwrap(), index), !commits);
            check(&bench);
        }
    }
}

/// A duplicate that was found stays until the transaction ends, as MySQL has it: in the mode that the statement asks
/// for.
#[test]
fn a_duplicate_is_locked() {
    for (index, twin) in twins() {
        for mode in [LockMode::Shared, LockMode::Exclusive] {
            let bench = Bench::with([7]);
            let (mut trx, mut other) = (bench.begin_nowait(), bench.begin_nowait());
            trx.set_duplicate_mode(mode);
            assert!(is_duplicate_of(bench.insert(&mut trx, &twin), index));
            let shared =
                bench.table.lock_row(&mut other, index, &[int([7, 70][index])], LockMode::Shared, &bench.counters);
            assert_eq!(would_wait(shared), mode == LockMode::Exclusive);
        }
    }
}

#[test]
fn rows_without_a_unique_value_are_no_duplicates() {
    let bench = Bench::with([]);
    let (mut a, mut b) = (bench.begin_nowait(), bench.begin_nowait());
    let null = |id| vec![int(id), muster_types::Value::Null, int(0)];
    bench.insert(&mut a, &null(1)).unwrap();
    bench.insert(&mut b, &null(2)).unwrap();
    bench.insert(&mut b, &null(3)).unwrap();
}

#[test]
fn a_transaction_meets_its_own_rows_only() {
    let bench = Bench::with([7]);
    let mut trx = bench.begin_nowait();
    bench.delete(&mut trx, 7).unwrap();
    bench.insert(&mut trx, &row(8, 70, 0)).unwrap();
    assert!(is_duplicate_of(bench.insert(&mut trx, &row(9, 70, 0)), 1));
    bench.insert(&mut trx, &row(7, 71, 0)).unwrap();
    bench.update(&mut trx, 7, &row(6, 71, 0)).unwrap();
    bench.update(&mut trx, 8, &row(7, 72, 0)).unwrap();
    drop(trx.commit().unwrap());
    assert_eq!(bench.newest(), [6, 7]);
    check(&bench);
}

/// Two threads insert the same unique value at the same moment, again and again, in rows that are far from each other.
/// Returns true if both ever could.
fn both_insert(rounds: i64, is_planted: bool) -> bool {
    let (bench, barrier) = (Arc::new(Bench::with(100_000..101_000)), Arc::new(Barrier::new(2)));
    if is_planted {
        bench.table.tree(1).plant_unseen_additions();
    }
    let threads = [0, 1].map(|side| {
        let (bench, barrier) = (Arc::clone(&bench), Arc::clone(&barrier));
        thread::spawn(move || {
            let insert = |round| {
                let mut trx = bench.begin();
                barrier.wait();
                let done = bench.insert(&mut trx, &row(1_000_000 * side + round, round, 0)).is_ok();
                drop(trx.commit().unwrap());
                done
            };
            (0..rounds).map(insert).collect::<Vec<_>>()
        })
    });
    let [one, other] = threads.map(|thread| thread.join().unwrap());
    assert!(one.iter().zip(&other).all(|(one, other)| *one || *other), "one of them gets in");
    one.iter().zip(&other).any(|(one, other)| *one && *other)
}

#[test]
fn one_of_two_gets_in() {
    assert!(!both_insert(500, false));
}

/// A planted fault must turn a test red: without the lock of the declared parts both get in.
#[test]
fn a_missing_lock_of_unique_values_is_found() {
    assert!((0..30).any(|_| both_insert(1000, true)));
}
