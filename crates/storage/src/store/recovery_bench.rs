//! Measures how long a start takes that repeats a gibibyte of log: `cargo test --release -p muster-storage --lib --
//! --ignored --nocapture recovery_bench`, in an optimized build.

use super::*;
use crate::{
    log::LogSettings,
    rows::fixtures::{sysbench_row, sysbench_schema},
};
use muster_types::Value;
use std::{
    fs,
    time::{Duration, Instant},
};

const LOG_BYTES: u64 = 1 << 30;
const ROWS: i64 = 2_000_000;
const THREADS: i64 = 8;

/// Nothing is written to its place, and no checkpoint is taken, before the copy is made.
fn options() -> StoreOptions {
    let log = LogSettings {
        capacity: 4 * LOG_BYTES,
        checkpoint_interval: Duration::from_secs(3600),
        ..LogSettings::default()
    };
    StoreOptions { buffer_pool_bytes: 2 << 30, sync: false, log, ..StoreOptions::default() }
}

fn row(id: i64, version: i64) -> Vec<Value> {
    sysbench_row(id, version, (id * 31 + version) % ROWS)
}

#[test]
#[ignore = "writes some gibibytes"]
fn a_gibibyte_of_log() {
    let home = tempfile::tempdir().unwrap();
    let (directory, copy) = (home.path().join("d"), home.path().join("copy"));
    let store = Store::open(&directory, options()).unwrap();
    let files = store.create_table(&sysbench_schema()).unwrap();
    let table = store.open_table(sysbench_schema(), files.clone(), TableStatistics::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, store) = (&table, &store);
            scope.spawn(move || {
                let counters = Counters::default();
                for i in 0.. {
                    if store.log_position() >= LOG_BYTES {
                        break;
                    }
                    // Keys far apart, so that pages change in no order; known rows change, new ones come.
                    let id = (i * THREADS + thread) * 7_654_321 % ROWS;
                    let found = table.update_now(&[Value::Int(id)], &row(id, i), &counters).unwrap();
                    if !found {
                        table.insert_now(&row(id, i), &counters).unwrap();
                    }
                }
            });
        }
    });
    store.make_durable().unwrap();
    let rows = table.row_count();
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    drop((table, store));
    fs::remove_dir_all(&directory).unwrap();
    let start = Instant::now();
    let store = Store::open(&copy, options()).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let table = store.open_table(sysbench_schema(), files, TableStatistics::default()).unwrap();
    for tree in table.trees() {
        assert_eq!(tree.check(&Counters::default()).unwrap().rows, rows);
    }
    println!("{LOG_BYTES} bytes of log over {rows} rows are repeated in {seconds:.1} s");
}
