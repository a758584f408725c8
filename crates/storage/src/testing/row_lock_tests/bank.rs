//! Many threads: money that moves is not lost, and no two rows have the same unique value.

use super::{Bench, EXCLUSIVE, check, int, row};
use crate::{LockMode, StorageError, Transaction, testing::random::Random};
use muster_types::Value;
use std::{collections::HashSet, sync::Arc, thread};

const ACCOUNTS: i64 = 24;
const THREADS: u64 = 8;

fn number(value: &Value) -> i64 {
    if let Value::Int(value) = value { *value } else { panic!("{value:?}") }
}

/// Moves money from one account to another, which it finds by different indexes; sometimes an account is closed and
/// another one opened with its money.
fn transfer(bench: &Bench, trx: &mut Transaction, random: &mut Random) -> crate::Result<()> {
    let (from, to) = (random.below(ACCOUNTS as usize) as i64, random.below(ACCOUNTS as usize) as i64);
    if from == to {
        return Ok(());
    }
    let by = random.below(2);
    let lock = |trx: &mut Transaction, id: i64| {
        let key = [id, 10 * id][by];
        bench.table.lock_row(trx, by, &[int(key)], EXCLUSIVE, &bench.counters)
    };
    let (Some(one), Some(other)) = (lock(trx, from)?, lock(trx, to)?) else { return Ok(()) };
    let (id, other_id, amount) = (number(&one[0]), number(&other[0]), random.below(50) as i64);
    match random.below(4) {
        0 => {
            // All that the account has goes to the other, and the account to a new number, if that is free.
            bench.update(trx, other_id, &row(other_id, 10 * other_id, number(&other[2]) + number(&one[2])))?;
            bench.delete(trx, id)?;
            match bench.insert(trx, &row(id, 10 * id, 0)) {
                Err(StorageError::Duplicate { .. }) => panic!("the row was locked"),
                done => done?,
            }
        }
        _ => {
            bench.update(trx, id, &row(id, 10 * id, number(&one[2]) - amount))?;
            bench.update(trx, other_id, &row(other_id, 10 * other_id, number(&other[2]) + amount))?;
        }
    }
    Ok(())
}

/// The sum of all accounts, as a locking read of an index sees it.
fn sum(bench: &Bench, trx: &mut Transaction, index: usize) -> crate::Result<i64> {
    let mut request = bench.request(index, vec![muster_types::KeyRange::all()]);
    request.mode = LockMode::Shared;
    let mut scan = crate::LockingScan::new(&bench.table, request)?;
    let mut sum = 0;
    let mut seen = HashSet::new();
    while let Some(row) = scan.next(trx, &bench.counters)? {
        assert!(seen.insert(number(&row[0])), "a row was delivered twice");
        sum += number(&row[2]);
    }
    assert_eq!(seen.len() as i64, ACCOUNTS);
    Ok(sum)
}

#[test]
fn no_money_is_lost() {
    let bench = Arc::new(Bench::with(0..ACCOUNTS));
    let total: i64 = (0..ACCOUNTS).map(|id| 100 * id).sum();
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let bench = Arc::clone(&bench);
            thread::spawn(move || {
                let mut random = Random(seed);
                let (mut done, mut victims) = (0, 0);
                for _ in 0..150 {
                    let mut trx = bench.begin();
                    let outcome = match random.below(8) {
                        0 => sum(&bench, &mut trx, random.below(3)).map(|sum| assert_eq!(sum, total)),
                        _ => transfer(&bench, &mut trx, &mut random),
                    };
                    match outcome {
                        Ok(()) if random.one_in(5) => trx.roll_back().unwrap(),
                        Ok(()) => drop(trx.commit().unwrap()),
                        Err(StorageError::Deadlock) => {
                            victims += 1;
                            trx.roll_back().unwrap();
                        }
                        Err(e) => panic!("{e}"),
                    }
                    done += 1;
                }
                (done, victims)
            })
        })
        .collect();
    let ended: Vec<(u64, u64)> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let victims: u64 = ended.iter().map(|(_, victims)| victims).sum();
    assert!(victims > 0, "there were deadlocks to end");
    assert_eq!(sum(&bench, &mut bench.begin(), 0).unwrap(), total);
    check(&bench);
}

/// Threads insert the same unique values in different rows, and delete them: what is there is there once.
#[test]
fn unique_values_are_unique() {
    let bench = Arc::new(Bench::with([]));
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let bench = Arc::clone(&bench);
            thread::spawn(move || {
                let mut random = Random(seed);
                let mut duplicates = 0;
                for _ in 0..150 {
                    let mut trx = bench.begin();
                    for _ in 0..1 + random.below(3) {
                        let (id, unique) = (random.below(12) as i64, random.below(6) as i64);
                        let done = match random.below(3) {
                            0 => bench.delete(&mut trx, id).map(drop),
                            1 => bench.update(&mut trx, id, &row(id, unique, 1)).map(drop),
                            _ => bench.insert(&mut trx, &row(id, unique, 0)),
                        };
                        match done {
                            Ok(()) => {}
                            Err(StorageError::Duplicate { .. }) => duplicates += 1,
                            Err(StorageError::Deadlock) => break,
                            Err(e) => panic!("{e}"),
                        }
                    }
                    if random.one_in(3) {
                        trx.roll_back().unwrap()
                    } else {
                        drop(trx.commit().unwrap())
                    }
                    let rows = bench.table.tree(1).rows(
                        crate::key::ByteRange::default(),
                        false,
                        &bench.home.store.read_view(),
                        &bench.counters,
                    );
                    let mut rows = rows.unwrap();
                    let mut seen = HashSet::new();
                    while let Some(row) = rows.next().unwrap() {
                        assert!(seen.insert(number(&row[0])), "twice: {row:?}");
                    }
                }
                duplicates
            })
        })
        .collect();
    let duplicates: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(duplicates > 0);
    check(&bench);
}
