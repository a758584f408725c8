//! Measures changes of rows by key, beside the same changes where each encodes its leaf anew. Ignored: run with
//! `--release -- --ignored --nocapture`.

use crate::tree::{
    tests::{Home, build, home_of},
    *,
};
use crate::{ColumnSchema, Counters, IndexSchema, TableSchema};
use muster_types::{Collation, Decimal, KeyPart, SqlType, Value};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

const ROWS: i64 = 200_000;
const CHANGES: i64 = 40_000;

fn schema(types: Vec<SqlType>, key: &[usize]) -> TableSchema {
    let part = |column: &usize| KeyPart { column: *column, prefix: None, descending: false };
    TableSchema {
        layouts: Default::default(),
        columns: types.into_iter().map(|ty| ColumnSchema { ty, nullable: false }).collect(),
        indexes: vec![IndexSchema { id: 5, parts: key.iter().map(part).collect(), unique: true }],
    }
}

fn text(n: i64, length: usize) -> Value {
    let digits = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
    Value::Text(digits.chars().cycle().take(length).collect())
}

/// A table of sysbench: a number, another one, and two texts that do not compress.
fn sysbench() -> (TableSchema, fn(i64) -> Vec<Value>) {
    let types = vec![
        SqlType::INT,
        SqlType::INT,
        SqlType::varchar(120, Collation::DEFAULT),
        SqlType::varchar(60, Collation::DEFAULT),
    ];
    (schema(types, &[0]), |n| vec![Value::Int(n), Value::Int(n * 7 % 50_000), text(n, 119), text(n + 1, 59)])
}

/// The table lineitem of DBT-3.
fn lineitem() -> (TableSchema, fn(i64) -> Vec<Value>) {
    let string = |length| SqlType::varchar(length, Collation::DEFAULT);
    let mut types = vec![SqlType::INT; 4];
    types.extend([SqlType::Decimal { precision: 15, scale: 2 }; 4]);
    types.extend([
        string(1),
        string(1),
        SqlType::Date,
        SqlType::Date,
        SqlType::Date,
        string(25),
        string(10),
        string(44),
    ]);
    (schema(types, &[0, 3]), |n| {
        let decimal = |unscaled: i64| Value::Decimal(Decimal::new(i128::from(unscaled), 2));
        let word = |words: &[&str], n: i64| Value::Text(words[n as usize % words.len()].into());
        vec![
            Value::Int(n / 4),
            Value::Int(n * 17 % 20_000),
            Value::Int(n * 13 % 1_000),
            Value::Int(n % 4),
            decimal(n % 50 * 100),
            decimal(n * 7919 % 10_000_000),
            decimal(n % 11),
            decimal(n % 9),
            word(&["A", "N", "R"], n),
            word(&["O", "F"], n),
            Value::Date((8036 + n % 2500) as i32),
            Value::Date((8066 + n % 2500) as i32),
            Value::Date((8090 + n % 2500) as i32),
            word(&["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"], n),
            word(&["TRUCK", "MAIL", "SHIP", "AIR", "FOB"], n),
            text(n, 10 + n as usize % 30),
        ]
    })
}

/// Changes far from each other, each once.
fn scattered(count: i64, change: impl Fn(i64) -> Vec<Value>) -> Vec<Vec<Value>> {
    (0..count).map(|i| change(i * 7919 % count)).collect()
}

/// Nanoseconds of one change where so many threads make them at once, each a part of them.
fn per_change<T: Sync>(threads: usize, changes: &[T], change: impl Fn(&T) + Sync) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in changes.chunks(changes.len().div_ceil(threads)) {
            scope.spawn(|| part.iter().for_each(&change));
        }
    });
    start.elapsed().as_nanos() as f64 / changes.len() as f64
}

/// The times of inserts, updates and deletes by key in a tree that was loaded with every other row.
fn measure(row: fn(i64) -> Vec<Value>, tree: &Tree, count: i64, threads: usize) -> [f64; 3] {
    let counters = Counters::default();
    let spread = 2 * (ROWS / 2 / count);
    let new = scattered(count, |i| row(spread * i + 1));
    let insert = per_change(threads, &new, |new| tree.insert(new, 1, &counters).unwrap());
    let changed = scattered(count, |i| {
        let (mut new, mut other) = (row(spread * i), row(spread * i + 77));
        new.pop();
        new.extend(other.pop());
        new
    });
    let update = per_change(threads, &changed, |new| assert!(tree.replace(new, 2, &counters).unwrap()));
    let keys: Vec<_> = changed.iter().map(|row| tree.key_of_values(row).unwrap()).collect();
    let delete = per_change(threads, &keys, |key| {
        let mut change = tree.begin(3, tree.room().unwrap(), &counters);
        assert!(change.delete(key).unwrap());
        change.commit().finish();
    });
    tree.check(&counters).unwrap();
    [insert, update, delete]
}

#[test]
#[ignore = "a measurement"]
fn changes_by_key() {
    for (name, (schema, row)) in [("sysbench", sysbench()), ("lineitem", lineitem())] {
        let home: Home = home_of(16_384, 512 << 20);
        let layout = Arc::new(TreeLayout::new(&schema, 0));
        let rows: Vec<_> = (0..ROWS / 2).map(|n| row(2 * n)).collect();
        let measured = |threads, encode_always, changes| {
            let (tree, shape) = build(&home, &layout, &rows);
            tree.probe.encode_always.store(encode_always, Relaxed);
            // Has the pages read.
            tree.check(&Counters::default()).unwrap();
            (measure(row, &tree, changes, threads), shape.leaf_pages)
        };
        let (slow, leaves) = measured(1, true, CHANGES / 20);
        let one = (0..3).map(|_| measured(1, false, CHANGES).0).reduce(least).unwrap();
        let eight = (0..3).map(|_| measured(8, false, CHANGES).0).reduce(least).unwrap();
        println!("{name}: {leaves} leaves, ns a row by 1 thread and by 8, and with an encoding each time");
        for (i, what) in ["insert", "update", "delete"].into_iter().enumerate() {
            println!("  {what:8} {:8.0} {:8.0} {:8.0}  {:.1} x", one[i], eight[i], slow[i], slow[i] / one[i]);
        }
    }
}

fn least(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i].min(b[i]))
}
