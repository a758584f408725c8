//! Clients that keep a transaction or a view open while others write: what is kept for them is bounded, and goes with
//! them.

use super::tests::{Model, compare, compare_at_rest, open_table, schema};
use crate::{
    Counters, LogSettings, Scan, ScanRequest, StorageError, Store, StoreOptions, Table,
    io::simulated::SimulatedDisk,
    rows::fixtures::{rows_of, scan_request},
    tree::page::block::RowBlock,
};
use muster_types::Value;
use std::{path::Path, sync::Arc};

const LOG_CAPACITY: u64 = 1 << 20;

/// A table without rows, in a store whose old versions are purged by who asks for it. `history`: how many times its
/// capacity the log may have at most for the sake of views.
fn new_table(history: u64) -> Arc<Table> {
    let log = LogSettings { capacity: LOG_CAPACITY, history, ..LogSettings::default() };
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 256 * 4096,
        sync: false,
        log,
        leaf_rest: None,
        purges: false,
        ..StoreOptions::default()
    };
    let store = Store::open_on(Path::new("/d"), options, Arc::new(SimulatedDisk::new()) as _).unwrap();
    let files = store.create_table(&schema()).unwrap();
    open_table(&store, &files)
}

/// A row whose entry in the index is another one in each version.
fn row(id: i64, version: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Text(format!("version {version}")), Value::Bytes(vec![id as u8; 100])]
}

fn update(table: &Table, id: i64, version: i64) {
    assert!(table.update_now(&[Value::Int(id)], &row(id, version), &Counters::default()).unwrap());
}

/// Pages of all trees that have something.
fn used_pages(table: &Table) -> u64 {
    let reports = table.trees().iter().map(|tree| tree.check(&Counters::default()).unwrap());
    reports.map(|report| report.leaf_pages + report.inner_pages + report.overflow_pages).sum()
}

/// The rows that a transaction has changed are all that it keeps: what others delete behind its back is purged.
#[test]
fn an_idle_writer_does_not_stop_purge() {
    let table = new_table(2);
    let (store, counters) = (table.store(), Counters::default());
    let mut idle = store.begin();
    table.insert(&mut idle, &row(0, 0), &counters).unwrap();
    for round in 0..20 {
        for id in 1..100 {
            table.insert_now(&row(id, round), &counters).unwrap();
            update(&table, id, round + 1);
        }
        for id in 1..100 {
            assert!(table.delete_now(&[Value::Int(id)], &counters).unwrap());
        }
        store.purge().unwrap();
        assert_eq!(store.history_length(), 0, "round {round}");
    }
    assert!(used_pages(&table) < 10, "{} pages for one row", used_pages(&table));
    idle.roll_back().unwrap();
    compare_at_rest(&table, &Model::new(), false);
}

/// Nobody purges but those who begin transactions: what waits for purge stays bounded, unless a view needs it.
#[test]
fn whoever_makes_garbage_helps_to_remove_it() {
    let table = new_table(64);
    let (store, counters) = (table.store(), Counters::default());
    store.transactions().help_purge_from(20);
    table.insert_now(&row(1, 0), &counters).unwrap();
    let update = |version: i64| {
        let mut trx = store.begin();
        assert!(table.update(&mut trx, &[Value::Int(1)], &row(1, version), &counters).unwrap());
        let _not_waited_for = trx.commit().unwrap();
    };
    let mut version = 0;
    let mut more = |count: i64| {
        (0..count).for_each(|n| update(version + n + 1));
        version += count;
    };
    more(200);
    assert!((15..=21).contains(&store.history_length()), "{}", store.history_length());
    let view = store.read_view();
    more(200);
    assert!(store.history_length() >= 200);
    drop(view);
    // Two go for each that comes.
    more(250);
    assert!(store.history_length() <= 21, "{}", store.history_length());
    compare_at_rest(&table, &Model::from([(1, row(1, version))]), false);
}

/// A view that nobody reads with any more, but that is held: the log is not kept for it without end.
#[test]
fn a_forgotten_view_is_let_go() {
    let table = new_table(2);
    let store = table.store();
    table.insert_now(&row(1, 0), &Counters::default()).unwrap();
    let forgotten = store.read_view();
    let (start, mut version) = (store.log_position(), 0);
    while store.log_position() < start + 8 * LOG_CAPACITY {
        for _ in 0..500 {
            version += 1;
            update(&table, 1, version);
        }
        store.purge().unwrap();
        store.checkpoint().unwrap();
        let status = store.log_status();
        let kept = status.current - status.oldest;
        assert!(kept <= 3 * LOG_CAPACITY, "{kept} bytes of the log are kept: {status:?}");
    }
    assert!(matches!(table.get(&[Value::Int(1)], &forgotten, &Counters::default()), Err(StorageError::SnapshotTooOld)));
    store.purge().unwrap();
    assert_eq!(store.history_length(), 0);
    compare_at_rest(&table, &Model::from([(1, row(1, version))]), false);
    drop(forgotten);
}

/// Rows are updated as fast as it goes while a long scan comes near them: it sees none of that. When its view has
/// ended, what the versions took is free.
#[test]
fn hot_rows_take_no_room_once_the_scan_beside_them_has_ended() {
    let table = new_table(64);
    let store = table.store();
    let mut model = Model::new();
    for id in 0..1000 {
        table.insert_now(&row(id, 0), &Counters::default()).unwrap();
        model.insert(id, row(id, 0));
    }
    compare_at_rest(&table, &model, false);
    let before = used_pages(&table);
    let want: Vec<Vec<Value>> = model.values().cloned().collect();
    let view = store.read_view();
    let request = ScanRequest { view: Arc::clone(&view), ordered: true, ..scan_request(vec![0, 1, 2]) };
    let mut cursor = Scan::new(Arc::clone(&table), request).unwrap().cursor();
    let (mut found, mut version, mut batches) = (Vec::new(), 0, 0);
    while let Some(batch) = cursor.next_batch().unwrap() {
        found.extend(rows_of(&table.schema().columns, batch.columns(), batch.num_rows()));
        batches += 1;
        for _ in 0..100 {
            version += 1;
            for id in [1, 500, 999] {
                update(&table, id, version);
                model.insert(id, row(id, version));
            }
        }
        store.purge().unwrap();
    }
    assert_eq!(found, want);
    assert!(batches > 1, "the scan was not at work while rows changed");
    assert!(used_pages(&table) > before, "the versions that the view needs are kept");
    compare(&table, &(0..1000).map(|id| (id, row(id, 0))).collect(), &view);
    drop((cursor, view));
    compare_at_rest(&table, &model, false);
    store.encode_rested_leaves();
    let after = used_pages(&table);
    assert!(after * 10 <= before * 11, "{before} pages before, {after} after");
}

/// A reader has the version of a row that its view sees, and comes to the pages of its long value when the view has
/// expired and they are those of another value.
#[test]
fn a_long_value_of_an_expired_view_is_too_old() {
    let (table, counters) = (new_table(2), Counters::default());
    let (store, tree) = (table.store(), table.tree(0));
    let long = |id: i64, byte: u8| vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![byte; 9000])];
    table.insert_now(&long(1, 1), &counters).unwrap();
    let key = tree.key_of_values(&long(1, 1)).unwrap();
    let record = tree.current(&key, &counters).unwrap().unwrap().record;
    let mut block = RowBlock::new(tree.layout());
    tree.layout().record.append_to(&record, &mut block).unwrap();
    let view = store.read_view();
    assert_eq!(tree.row_values(&block, 0, Some(&view), &counters).unwrap(), long(1, 1));
    table.update_now(&[Value::Int(1)], &row(1, 2), &counters).unwrap();
    store.purge().unwrap();
    assert_eq!(tree.row_values(&block, 0, Some(&view), &counters).unwrap(), long(1, 1), "the view keeps it");
    assert_eq!(store.transactions().expire_views(store.log_position()), 1);
    store.purge().unwrap();
    let too_old =
        |read: crate::Result<Vec<Value>>| assert!(matches!(read, Err(StorageError::SnapshotTooOld)), "{read:?}");
    assert!(matches!(tree.row_values(&block, 0, None, &counters), Err(StorageError::Corrupt { .. })));
    too_old(tree.row_values(&block, 0, Some(&view), &counters));
    for id in 2..6 {
        table.insert_now(&long(id, 2), &counters).unwrap();
    }
    assert_ne!(tree.row_values(&block, 0, None, &counters).ok(), Some(long(1, 1)), "the pages are another value's");
    too_old(tree.row_values(&block, 0, Some(&view), &counters));
}
