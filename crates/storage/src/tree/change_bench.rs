//! Measures changes of rows by key, beside the same changes where each encodes its leaf anew. Ignored: run with
//! `--release -- --ignored --nocapture`.

use super::{
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

/// Nanoseconds of one change.
fn per_change(count: i64, mut change: impl FnMut(i64)) -> f64 {
    let start = Instant::now();
    // Far from each other, each once.
    (0..count).for_each(|i| change(i * 7919 % count));
    start.elapsed().as_nanos() as f64 / count as f64
}

/// The times of inserts, updates and deletes by key in a tree that was loaded with every other row.
fn measure(row: fn(i64) -> Vec<Value>, tree: &Tree, count: i64) -> [f64; 3] {
    let counters = Counters::default();
    let spread = 2 * (ROWS / 2 / count);
    let insert = per_change(count, |i| tree.insert(&row(spread * i + 1), 1, &counters).unwrap());
    let update = per_change(count, |i| {
        let (mut new, other) = (row(spread * i), row(spread * i + 77));
        let columns = tree.layout().columns.len();
        new[columns - 1] = other[columns - 1].clone();
        assert!(tree.replace(&new, 2, &counters).unwrap());
    });
    let delete = per_change(count, |i| {
        let key = tree.key_of_values(&row(spread * i)).unwrap();
        let mut change = tree.begin(3, &counters);
        assert!(change.delete(&key).unwrap());
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
        let (tree, shape) = build(&home, &layout, &rows);
        let fast = measure(row, &tree, CHANGES);
        let (tree, _) = build(&home, &layout, &rows);
        tree.probe.encode_always.store(true, Relaxed);
        let slow = measure(row, &tree, CHANGES / 20);
        println!("{name}: {} leaves, ns a row with slots, and with an encoding each time", shape.leaf_pages);
        for (i, what) in ["insert", "update", "delete"].into_iter().enumerate() {
            println!("  {what:8} {:8.0} {:8.0}  {:.1} x", fast[i], slow[i], slow[i] / fast[i]);
        }
    }
}
