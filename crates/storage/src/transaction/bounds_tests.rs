//! What purge and rollback cannot do, or do slowly: other tables and transactions do not wait for it, and the log is
//! not kept for it without end.

use super::tests::{Model, compare, compare_at_rest, open_table, schema};
use crate::{
    Counters, FileId, LogSettings, ReadView, Result, StorageError, Store, StoreOptions, Table, Transaction,
    io::simulated::SimulatedDisk,
};
use muster_types::{ErrorCode, SqlError, Value};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

const LOG_CAPACITY: u64 = 1 << 20;

fn open(disk: &Arc<SimulatedDisk>, purges: bool) -> Arc<Store> {
    let log = LogSettings { capacity: LOG_CAPACITY, history: 2, transactions: 2, ..LogSettings::default() };
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 256 * 4096,
        log,
        leaf_rest: None,
        purges,
        ..StoreOptions::default()
    };
    Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap()
}

/// A store with two tables.
fn two_tables() -> (Arc<SimulatedDisk>, Arc<Store>, Vec<Vec<FileId>>, Vec<Arc<Table>>) {
    let disk = Arc::new(SimulatedDisk::new());
    let store = open(&disk, false);
    let files: Vec<Vec<FileId>> = (0..2).map(|_| store.create_table(&schema()).unwrap()).collect();
    let tables = files.iter().map(|files| open_table(&store, files)).collect();
    (disk, store, files, tables)
}

fn row(id: i64, version: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Text(format!("version {version}")), Value::Bytes(vec![7; 100])]
}

fn commit(trx: Transaction) {
    let _not_waited_for = trx.commit().unwrap();
}

/// Errors with which a table may not be opened, as the engine tells them.
fn errors() -> Vec<fn() -> StorageError> {
    vec![
        || StorageError::Filter(SqlError::new(ErrorCode::StorageCorrupt, "the table cannot be opened")),
        || StorageError::io("/d", std::io::Error::other("the table cannot be opened")),
        || StorageError::WrongType { value: "a column that is not there".into() },
    ]
}

/// One table cannot be opened: its transactions wait, and those of the others are purged.
#[test]
fn purge_goes_past_a_table_that_cannot_be_opened() {
    for error in errors() {
        let (disk, store, files, tables) = two_tables();
        tables.iter().for_each(|table| table.insert_now(&row(9, 0), &Counters::default()).unwrap());
        let view = store.read_view();
        for table in tables.iter().rev() {
            assert!(table.delete_now(&[Value::Int(9)], &Counters::default()).unwrap());
        }
        store.make_durable().unwrap();
        disk.cut_power_after(0);
        drop((view, tables, store));
        let store = open(&Arc::new(disk.after_power_cut(1)), false);
        let table = open_table(&store, &files[0]);
        store.set_table_source(Arc::new(move |_| Err(error())));
        assert!(store.purge().is_err());
        assert_eq!(store.history_length(), 1, "{}: that of the other table", error());
        compare(&table, &Model::new(), &ReadView::latest());
        let other = open_table(&store, &files[1]);
        compare_at_rest(&other, &Model::new(), true);
    }
}

/// Changes a table until so many bytes of the log are written; a checkpoint is taken now and then, and what may be
/// purged is.
fn write(table: &Table, bytes: u64) -> Result<()> {
    let store = table.store();
    let (start, mut last, mut version) = (store.log_position(), store.log_position(), 0);
    while store.log_position() < start + bytes {
        version += 1;
        let mut new = row(1, version);
        new[2] = Value::Bytes(vec![7; 1500]);
        assert!(table.update_now(&[Value::Int(1)], &new, &Counters::default())?);
        let position = store.log_position();
        if position > last + LOG_CAPACITY / 8 || position >= start + bytes {
            last = position;
            // Fails for the other table.
            let _ = store.roll_back_losers();
            let _ = store.purge();
            store.checkpoint()?;
        }
    }
    Ok(())
}

fn kept(store: &Store) -> u64 {
    let status = store.log_status();
    status.current - status.oldest
}

/// A table that cannot be opened keeps the log for a while; then what would be purged in it stays for good, and harms
/// nobody.
#[test]
fn the_log_is_not_kept_without_end_for_what_cannot_be_purged() {
    let (disk, store, files, tables) = two_tables();
    tables[0].insert_now(&row(1, 0), &Counters::default()).unwrap();
    (1..5).for_each(|id| tables[1].insert_now(&row(id, 0), &Counters::default()).unwrap());
    let view = store.read_view();
    assert!(tables[1].delete_now(&[Value::Int(2)], &Counters::default()).unwrap());
    assert!(tables[1].update_now(&[Value::Int(3)], &row(3, 1), &Counters::default()).unwrap());
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((view, tables, store));
    let disk = Arc::new(disk.after_power_cut(1));
    let store = open(&disk, false);
    let table = open_table(&store, &files[0]);
    store.set_table_source(Arc::new(|_| Err(errors()[0]())));
    write(&table, LOG_CAPACITY / 2).unwrap();
    assert_eq!(store.history_length(), 2, "they are tried again");
    write(&table, 5 * LOG_CAPACITY).unwrap();
    assert!(kept(&store) <= 3 * LOG_CAPACITY, "{} bytes of the log are kept", kept(&store));
    assert_eq!(store.history_length(), 0);
    // The table is whole when it can be opened again, and its rows may be changed and purged.
    let check = |store: &Arc<Store>| {
        let other = open_table(store, &files[1]);
        compare(&other, &[1, 3, 4].map(|id| (id, row(id, i64::from(id == 3)))).into(), &store.read_view());
        other
    };
    drop(check(&store));
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((table, store));
    let store = open(&Arc::new(disk.after_power_cut(1)), false);
    assert_eq!(store.history_length(), 0, "it was told to the log");
    let other = check(&store);
    other.insert_now(&row(2, 5), &Counters::default()).unwrap();
    assert!(other.delete_now(&[Value::Int(2)], &Counters::default()).unwrap());
    store.purge().unwrap();
    compare(&other, &[1, 3, 4].map(|id| (id, row(id, i64::from(id == 3)))).into(), &store.read_view());
}

/// A transaction that a crash has cut off has changed two tables, one of which cannot be opened. The log is kept for it
/// for a while. Then the table is given up: it stays closed, so that nobody takes changes for committed that were not;
/// the other one is as it was.
#[test]
fn the_log_is_not_kept_without_end_for_what_cannot_be_rolled_back() {
    let (disk, store, files, tables) = two_tables();
    for table in &tables {
        (1..5).for_each(|id| table.insert_now(&row(id, 0), &Counters::default()).unwrap());
    }
    let mut trx = store.begin();
    for table in [&tables[0], &tables[1], &tables[0]] {
        let id = if trx.changed_rows() < 2 { 2 } else { 3 };
        assert!(table.update(&mut trx, &[Value::Int(id)], &row(id, 7), &Counters::default()).unwrap());
    }
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((trx, tables, store));
    let disk = Arc::new(disk.after_power_cut(1));
    let store = open(&disk, false);
    let table = open_table(&store, &files[0]);
    store.set_table_source(Arc::new(|_| Err(errors()[0]())));
    write(&table, LOG_CAPACITY / 2).unwrap();
    assert_eq!(store.losers(), 1, "it is tried again");
    write(&table, 5 * LOG_CAPACITY).unwrap();
    assert!(kept(&store) <= 3 * LOG_CAPACITY, "{} bytes of the log are kept", kept(&store));
    assert_eq!(store.losers(), 0);
    let check = |store: &Arc<Store>, table: &Arc<Table>| {
        for id in 2..5 {
            let found = table.get(&[Value::Int(id)], &store.read_view(), &Counters::default()).unwrap();
            assert_eq!(found, Some(row(id, 0)), "the other table is rolled back");
        }
        let opened = store.open_table(schema(), files[1].clone(), crate::TableStatistics::default());
        let e = opened.map(drop).unwrap_err();
        assert!(matches!(&e, StorageError::Corrupt { reason, .. } if reason.contains("rolled back")), "{e}");
    };
    check(&store, &table);
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((table, store));
    let store = open(&Arc::new(disk.after_power_cut(1)), false);
    assert_eq!(store.losers(), 0, "it was told to the log");
    check(&store, &open_table(&store, &files[0]));
}

/// A thread that purges, or undoes, has looked at what all views see. Others may purge what ends meanwhile.
#[test]
fn a_thread_that_purges_keeps_nothing_from_being_purged() {
    let (_disk, store, _files, tables) = two_tables();
    tables[0].insert_now(&row(1, 0), &Counters::default()).unwrap();
    store.purge().unwrap();
    let seen = store.transactions().seen_by_all();
    assert!(tables[0].delete_now(&[Value::Int(1)], &Counters::default()).unwrap());
    store.purge().unwrap();
    assert_eq!(store.history_length(), 0);
    drop(seen);
}

/// While a transaction has changed a row and others write megabytes, it stays a small one: those who begin transactions
/// purge it.
#[test]
fn a_small_transaction_among_many_writers_is_small() {
    let (_disk, store, _files, tables) = two_tables();
    let counters = Counters::default();
    for table in &tables {
        (1..5).for_each(|id| table.insert_now(&row(id, 0), &counters).unwrap());
    }
    store.purge().unwrap();
    let mut trx = store.begin();
    assert!(tables[0].delete(&mut trx, &[Value::Int(2)], &counters).unwrap());
    let (start, mut version) = (store.log_position(), 0);
    while store.log_position() < start + (3 << 19) {
        version += 1;
        assert!(tables[1].update_now(&[Value::Int(1)], &row(1, version), &counters).unwrap());
        store.purge().unwrap();
    }
    assert!(tables[0].delete(&mut trx, &[Value::Int(3)], &counters).unwrap());
    commit(trx);
    assert_eq!(store.history_length(), 1);
    store.transactions().help_purge_from(1);
    drop(store.begin());
    assert_eq!(store.history_length(), 0);
}

/// Those who begin transactions purge small ones, however large the first one in the queue is.
#[test]
fn small_transactions_are_purged_past_a_large_one() {
    let (_disk, store, _files, tables) = two_tables();
    let counters = Counters::default();
    (1..2_000).for_each(|id| tables[0].insert_now(&row(id, 0), &counters).unwrap());
    tables[1].insert_now(&row(1, 0), &counters).unwrap();
    store.purge().unwrap();
    let mut large = store.begin();
    for id in 1..2_000 {
        assert!(tables[0].delete(&mut large, &[Value::Int(id)], &counters).unwrap());
    }
    commit(large);
    store.transactions().help_purge_from(20);
    for version in 1..400 {
        let mut trx = store.begin();
        assert!(tables[1].update(&mut trx, &[Value::Int(1)], &row(1, version), &counters).unwrap());
        commit(trx);
    }
    assert!(store.history_length() <= 21, "{}", store.history_length());
    compare_at_rest(&tables[0], &Model::new(), false);
}

/// Purge is at work in one table for long; meanwhile a transaction that a crash has cut off is rolled back.
#[test]
fn rollback_does_not_wait_for_purge() {
    let (disk, store, files, tables) = two_tables();
    tables.iter().for_each(|table| table.insert_now(&row(9, 0), &Counters::default()).unwrap());
    let view = store.read_view();
    assert!(tables[0].delete_now(&[Value::Int(9)], &Counters::default()).unwrap());
    let mut trx = store.begin();
    assert!(tables[1].delete(&mut trx, &[Value::Int(9)], &Counters::default()).unwrap());
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((view, trx, tables, store));
    let store = open(&Arc::new(disk.after_power_cut(1)), true);
    let (purging, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (at_work, may_go_on, weak) = (Arc::clone(&purging), Arc::clone(&go_on), Arc::downgrade(&store));
    store.set_table_source(Arc::new(move |file| {
        if file == files[1][0] {
            // Not before purge is at work.
            let store = weak.upgrade().filter(|_| at_work.load(SeqCst)).ok_or(StorageError::Interrupted)?;
            return Ok(Some(open_table(&store, &files[1])));
        }
        at_work.store(true, SeqCst);
        while !may_go_on.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(None)
    }));
    let deadline = Instant::now() + Duration::from_secs(10);
    while store.losers() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    let losers = store.losers();
    go_on.store(true, SeqCst);
    assert!(purging.load(SeqCst), "purge was not at work");
    assert_eq!(losers, 0);
}
