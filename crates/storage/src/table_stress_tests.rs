//! Many threads insert, change and delete rows of one table by key, and contend for keys and for unique values.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, Scan, ScanRequest,
    rows::fixtures::{empty_table, home, rows_of, scan_request, sortable},
};
use muster_types::{KeyPart, SqlType};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
};

const THREADS: u64 = 8;
const CHANGES: u64 = 4000;
const KEYS: u64 = 300;
/// Fewer than keys, so that writers meet each other's.
const UNIQUE_VALUES: u64 = 200;

/// A number, a unique one, one that is not unique, and a check of the others.
fn schema() -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let index =
        |id, columns: &[usize], unique| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique };
    TableSchema {
        layouts: Default::default(),
        columns: (0..4).map(|_| ColumnSchema { ty: SqlType::BIGINT, nullable: false }).collect(),
        indexes: vec![index(1, &[0], true), index(2, &[1], true), index(3, &[2, 1], false)],
    }
}

fn row(key: u64, unique: u64, other: u64) -> Vec<Value> {
    [key, unique, other, check(key, unique, other)].map(|n| Value::Int(n as i64)).into()
}

fn check(key: u64, unique: u64, other: u64) -> u64 {
    key * 1_000_000 + unique * 1000 + other
}

/// Outcomes of the changes of a thread.
#[derive(Debug, Default)]
struct Outcomes {
    inserted: u64,
    deleted: u64,
    updated: u64,
    missing: u64,
    /// Refused by the primary key, and by the unique index.
    refused: [u64; 2],
}

fn change(table: &Table, seed: u64) -> Outcomes {
    let (mut outcomes, counters, mut random) = (Outcomes::default(), Counters::default(), seed);
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    for _ in 0..CHANGES {
        let (key, unique, other) = (below(KEYS), below(UNIQUE_VALUES), below(20));
        let values = [Value::Int(key as i64)];
        let outcome = match below(5) {
            0 | 1 => table.insert_now(&row(key, unique, other), &counters).map(|()| &mut outcomes.inserted),
            2 => table.delete_now(&values, &counters).map(|found| match found {
                true => &mut outcomes.deleted,
                false => &mut outcomes.missing,
            }),
            moves => {
                let to = if moves == 3 { below(KEYS) } else { key };
                table.update_now(&values, &row(to, unique, other), &counters).map(|found| match found {
                    true => &mut outcomes.updated,
                    false => &mut outcomes.missing,
                })
            }
        };
        match outcome {
            Ok(count) => *count += 1,
            Err(StorageError::Duplicate { index, .. }) if index < 2 => outcomes.refused[index] += 1,
            Err(e) => panic!("{e}"),
        }
    }
    outcomes
}

/// Checks that the rows that an index leads to are whole, and each there once.
fn check_rows(rows: &[Vec<Value>], index: usize) {
    let (mut keys, mut uniques) = (HashSet::new(), HashSet::new());
    for row in rows {
        let numbers: Vec<u64> = row.iter().map(|v| if let Value::Int(n) = v { *n as u64 } else { panic!() }).collect();
        assert_eq!(numbers[3], check(numbers[0], numbers[1], numbers[2]), "by index {index}");
        assert!(keys.insert(numbers[0]), "by index {index}: row {} twice", numbers[0]);
        assert!(uniques.insert(numbers[1]), "by index {index}: value {} twice", numbers[1]);
    }
}

/// All rows that the newest view sees.
fn rows_by(table: &Arc<Table>, index: usize) -> Vec<Vec<Value>> {
    let view = table.store().read_view();
    let request = ScanRequest { view, index, batch_rows: 10_000, ..scan_request(vec![0, 1, 2, 3]) };
    let scan = Scan::new(Arc::clone(table), request).unwrap();
    let batch = scan.cursor().next_batch().unwrap();
    batch.map_or(Vec::new(), |batch| rows_of(&table.schema().columns, batch.columns(), batch.num_rows()))
}

#[test]
fn writers_of_different_rows_do_not_disturb_each_other() {
    let home = home(4096, 1 << 20);
    let table = empty_table(&home, &schema());
    let (done, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    let outcomes = thread::scope(|threads| {
        let (table, done, steps) = (&table, &done, &steps);
        let writers: Vec<_> = (0..THREADS).map(|t| threads.spawn(move || change(table, 7 * t + 1))).collect();
        for index in 0..3 {
            threads.spawn(move || {
                while !done.load(Relaxed) {
                    check_rows(&rows_by(table, index), index);
                    steps.fetch_add(1, Relaxed);
                }
            });
        }
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Relaxed);
        outcomes.into_iter().map(|outcome| outcome.unwrap()).collect::<Vec<_>>()
    });
    // Rows that views of the readers needed are still there, marked.
    table.store().purge().unwrap();
    let sum = |of: fn(&Outcomes) -> u64| outcomes.iter().map(of).sum::<u64>();
    let rows = rows_by(&table, 0);
    assert_eq!(rows.len() as u64, sum(|o| o.inserted) - sum(|o| o.deleted));
    for index in 0..3 {
        let by_index = rows_by(&table, index);
        check_rows(&by_index, index);
        assert_eq!(sortable(&by_index), sortable(&rows), "by index {index}");
        let report = table.tree(index).check(&Counters::default()).unwrap();
        assert_eq!(report.rows, rows.len() as u64, "of index {index}");
    }
    let met =
        [sum(|o| o.updated), sum(|o| o.missing), sum(|o| o.refused[0]), sum(|o| o.refused[1]), steps.load(Relaxed)];
    assert!(met.iter().all(|met| *met > 10), "{met:?}");
}
