//! A soak: 64 sessions run transactions of ten statements on an indexed column. What they leave behind stays bounded:
//! the history, the log, and memory. A minute, or `MUSTER_SOAK_SECONDS`.

use super::tests::{open_table, schema};
use crate::{Counters, FlushAtCommit, LogSettings, Result, Store, StoreOptions, Table, Waits, testing::random::Random};
use muster_types::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

const SESSIONS: usize = 64;
const STATEMENTS: usize = 10;
const ROWS: i64 = 20_000;
const LOG_CAPACITY: u64 = 32 << 20;
/// Transactions that may wait for purge: those from which on there is help, and some for each session that is just
/// about to help.
const HISTORY_MAX: usize = 2048 + 32 * SESSIONS;

fn row(id: i64, version: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Text(format!("{:08}", version % 100_000)), Value::Bytes(vec![7; 60])]
}

/// One transaction. Errors: somebody else has a row; it is rolled back.
fn transaction(table: &Table, random: &mut Random) -> Result<()> {
    let mut trx = table.store().begin();
    trx.set_waits(Waits::Never);
    for _ in 0..STATEMENTS {
        let id = random.below(ROWS as usize) as i64;
        let new = row(id, random.below(1 << 30));
        table.update(&mut trx, &[Value::Int(id)], &new, &Counters::default())?;
    }
    trx.commit()?.wait(FlushAtCommit::Written)
}

/// Bytes of memory that the process has.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[test]
#[ignore = "a minute, or MUSTER_SOAK_SECONDS"]
fn the_history_of_many_sessions_is_bounded() {
    let seconds = std::env::var("MUSTER_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        buffer_pool_bytes: 64 << 20,
        log: LogSettings { capacity: LOG_CAPACITY, flush_at_commit: FlushAtCommit::Written, ..LogSettings::default() },
        ..StoreOptions::default()
    };
    let store = Store::open(directory.path(), options).unwrap();
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    (0..ROWS).for_each(|id| table.insert_now(&row(id, 0), &Counters::default()).unwrap());
    let (committed, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut samples = Vec::new();
    thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (table, committed, refused) = (Arc::clone(&table), &committed, &refused);
            scope.spawn(move || {
                let mut random = Random(session as u64);
                while Instant::now() < end {
                    let done = if transaction(&table, &mut random).is_ok() { committed } else { refused };
                    done.fetch_add(1, Relaxed);
                }
            });
        }
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(500));
            let status = store.log_status();
            let kept = status.current - status.oldest;
            samples.push((store.history_length(), kept, resident()));
            if samples.len() % 20 == 1 {
                let (history, kept, memory) = samples[samples.len() - 1];
                let committed = committed.load(Relaxed);
                println!(
                    "{committed} committed; history {history}; log {} MiB, memory {} MiB",
                    kept >> 20,
                    memory >> 20
                );
            }
        }
    });
    let most = |of: fn(&(usize, u64, u64)) -> u64| samples.iter().map(of).max().unwrap_or(0);
    let (history, kept) = (most(|sample| sample.0 as u64), most(|sample| sample.1));
    println!(
        "{} committed, {} refused; at most: history {history}, log {} MiB, memory {} MiB",
        committed.load(Relaxed),
        refused.load(Relaxed),
        kept >> 20,
        most(|sample| sample.2) >> 20
    );
    assert!(history <= HISTORY_MAX as u64, "{history} transactions were not purged");
    assert!(kept <= 3 * LOG_CAPACITY, "{kept} bytes of the log were kept");
    // Once everything is warm.
    let (early, late) = (&samples[samples.len() / 3], &samples[samples.len() - 1]);
    assert!(late.2 <= early.2 + (64 << 20), "memory has grown from {} to {} bytes", early.2, late.2);
    store.purge().unwrap();
    assert_eq!(store.history_length(), 0);
}
