//! Measures transactions that change rows by key, in a table with a secondary index, the log and purge. Ignored: run
//! with `cargo test --release -p muster-storage --lib -- --ignored --nocapture transactions_by_key`.

use crate::{
    Counters, LogSettings, Store, StoreOptions, Table, TableStatistics,
    rows::fixtures::{sysbench_row, sysbench_schema},
};
use muster_types::Value;
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

const ROWS: i64 = 100_000;
const CHANGES: i64 = 40_000;
/// Rows that a transaction changes.
const LENGTHS: [i64; 2] = [1, 100];

/// A row whose texts differ by `version` and whose indexed number by `number`.
fn row(id: i64, version: i64, number: i64) -> Vec<Value> {
    sysbench_row(id, version, (id * 31 + number * 7919) % ROWS)
}

fn table(directory: &std::path::Path) -> Arc<Table> {
    let log =
        LogSettings { capacity: 4 << 30, checkpoint_interval: Duration::from_secs(3600), ..LogSettings::default() };
    let options = StoreOptions { buffer_pool_bytes: 512 << 20, sync: false, log, ..StoreOptions::default() };
    let store = Store::open(directory, options).unwrap();
    let files = store.create_table(&sysbench_schema()).unwrap();
    store.open_table(sysbench_schema(), files, TableStatistics::default()).unwrap()
}

/// Seconds of processor time that this process has had.
fn processor_time() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS_A_SECOND
}

/// Makes changes, each thread a part of them; transactions make so many each, and nobody waits for the log. Returns
/// microseconds until the last one has committed, and microseconds of processor time with purge, both of one change.
fn per_change(
    table: &Arc<Table>,
    (threads, length): (i64, i64),
    change: impl Fn(&mut crate::Transaction, i64, &Counters) + Sync,
) -> [f64; 2] {
    let (next, before, start) = (AtomicI64::new(0), processor_time(), Instant::now());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let counters = Counters::default();
                loop {
                    let first = next.fetch_add(length, Relaxed);
                    if first >= CHANGES {
                        break;
                    }
                    let mut trx = table.store().begin();
                    (first..first + length).for_each(|i| change(&mut trx, i, &counters));
                    drop(trx.commit().unwrap());
                }
            });
        }
    });
    let wall = start.elapsed();
    while table.store().history_length() > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    [wall.as_secs_f64(), processor_time() - before].map(|seconds| seconds * 1e6 / CHANGES as f64)
}

/// The keys are far from each other, each comes once.
fn measure(directory: &std::path::Path, how: (i64, i64)) -> Vec<(&'static str, [f64; 2])> {
    let table = table(directory);
    let key = |i: i64| 2 * (i * 7919 % ROWS);
    let mut all = Vec::new();
    let mut trx = table.store().begin();
    (0..ROWS).for_each(|i| table.insert(&mut trx, &row(2 * i, 0, 0), &Counters::default()).unwrap());
    drop(trx.commit().unwrap());
    table.store().purge().unwrap();
    let append = per_change(&table, how, |trx, i, counters| {
        table.insert(trx, &row(2 * ROWS + i, 0, 0), counters).unwrap();
    });
    all.push(("insert at the end", append));
    let insert = per_change(&table, how, |trx, i, counters| {
        table.insert(trx, &row(key(i) + 1, 0, 0), counters).unwrap();
    });
    all.push(("insert", insert));
    let update = per_change(&table, how, |trx, i, counters| {
        assert!(table.update(trx, &[Value::Int(key(i))], &row(key(i), 1, 0), counters).unwrap());
    });
    all.push(("update of a text", update));
    let index = per_change(&table, how, |trx, i, counters| {
        assert!(table.update(trx, &[Value::Int(key(i))], &row(key(i), 1, 1), counters).unwrap());
    });
    all.push(("update of an index", index));
    let delete = per_change(&table, how, |trx, i, counters| {
        assert!(table.delete(trx, &[Value::Int(key(i))], counters).unwrap());
    });
    all.push(("delete", delete));
    table.check(&Counters::default(), &mut || Ok(())).unwrap();
    all
}

#[test]
#[ignore = "a measurement"]
fn transactions_by_key() {
    let home = tempfile::tempdir().unwrap();
    for length in LENGTHS {
        println!("{length} rows a transaction: us a row, and of processor time, by 1 thread; the same by 8");
        let [one, eight] = [1, 8].map(|threads| {
            let runs =
                (0..3).map(|run| measure(&home.path().join(format!("{threads}-{length}-{run}")), (threads, length)));
            runs.reduce(least).unwrap()
        });
        for ((what, one), (_, eight)) in one.iter().zip(&eight) {
            println!("  {what:18} {:6.1} {:6.1}   {:6.1} {:6.1}", one[0], one[1], eight[0], eight[1]);
        }
    }
}

type Measured = Vec<(&'static str, [f64; 2])>;

fn least(a: Measured, b: Measured) -> Measured {
    a.into_iter().zip(b).map(|((what, a), (_, b))| (what, [a[0].min(b[0]), a[1].min(b[1])])).collect()
}
