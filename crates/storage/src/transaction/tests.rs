//! Transactions that commit, are rolled back, wholly or in part, and are cut off by a crash: against a model in memory.

use crate::{
    ColumnSchema, Counters, FileId, IndexSchema, LogSettings, ReadView, Result, Scan, ScanRequest, StorageError, Store,
    StoreOptions, Table, TableSchema, TableStatistics, Transaction,
    io::simulated::SimulatedDisk,
    mutex::Mutex,
    rows::fixtures::{rows_of, scan_request, sortable},
    testing::random::Random,
};
use muster_types::{BytesKind, Collation, KeyPart, SqlType, Value};
use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};

pub(super) type Model = BTreeMap<i64, Vec<Value>>;

pub(super) fn schema() -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let column = |ty| ColumnSchema { ty, nullable: false };
    let bytes = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
    let index =
        |id, columns: &[usize], unique| IndexSchema { id, parts: columns.iter().copied().map(part).collect(), unique };
    TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT), column(SqlType::varchar(40, Collation::DEFAULT)), column(bytes)],
        indexes: vec![index(1, &[0], true), index(2, &[1], false)],
    }
}

pub(super) fn open_store(disk: &Arc<SimulatedDisk>) -> Arc<Store> {
    let options =
        StoreOptions { page_size: 4096, buffer_pool_bytes: 64 * 4096, purges: false, ..StoreOptions::default() };
    Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _).unwrap()
}

pub(super) fn open_table(store: &Arc<Store>, files: &[FileId]) -> Arc<Table> {
    store.open_table(schema(), files.to_vec(), TableStatistics::default()).unwrap()
}

/// The rows of a view, by an index.
pub(super) fn rows_by(table: &Arc<Table>, index: usize, view: &Arc<ReadView>) -> Vec<Vec<Value>> {
    let request = ScanRequest { view: Arc::clone(view), index, ordered: true, ..scan_request(vec![0, 1, 2]) };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        rows.extend(rows_of(&table.schema().columns, batch.columns(), batch.num_rows()));
    }
    rows
}

#[track_caller]
pub(super) fn compare(table: &Arc<Table>, model: &Model, view: &Arc<ReadView>) {
    let want: Vec<Vec<Value>> = model.values().cloned().collect();
    assert_eq!(rows_by(table, 0, view), want);
    assert_eq!(sortable(&rows_by(table, 1, view)), sortable(&want));
}

/// All versions but the newest ones are purged, and nothing is left behind.
#[track_caller]
pub(super) fn compare_at_rest(table: &Arc<Table>, model: &Model, lost: bool) {
    table.store().purge().unwrap();
    compare(table, model, &ReadView::latest());
    for tree in table.trees() {
        let report = tree.check(&Counters::default()).unwrap();
        assert_eq!((report.rows, report.marked_rows), (model.len() as u64, 0), "{report:?}");
        // A power cut may have come between a row and the pages of its long values.
        assert!(lost || report.lost_pages == 0, "{report:?}");
    }
}

pub(super) fn change(table: &Table, trx: &mut Transaction, model: &mut Model, random: &mut Random) {
    change_or_fail(table, trx, model, random, 0..60).unwrap();
}

/// Changes a row, one of those with such keys that the model has, or adds one. The model follows unless that fails.
pub(super) fn change_or_fail(
    table: &Table,
    trx: &mut Transaction,
    model: &mut Model,
    random: &mut Random,
    keys: Range<i64>,
) -> Result<()> {
    let counters = Counters::default();
    let key = keys.start + random.below((keys.end - keys.start) as usize) as i64;
    let long = if random.below(8) == 0 { 6000 } else { 50 };
    let text = ["a", "A", "b", "c", "d"][random.below(5)];
    let row = |key: i64| vec![Value::Int(key), Value::Text(text.into()), Value::Bytes(vec![key as u8; long])];
    match (random.below(4), model.contains_key(&key)) {
        (0, true) => {
            assert!(table.delete(trx, &[Value::Int(key)], &counters)?);
            model.remove(&key);
        }
        (1, true) => {
            let to = (100 + key) * 1000 + random.below(1000) as i64;
            assert!(table.update(trx, &[Value::Int(key)], &row(to), &counters)?);
            model.remove(&key);
            model.insert(to, row(to));
        }
        (_, true) => {
            assert!(table.update(trx, &[Value::Int(key)], &row(key), &counters)?);
            model.insert(key, row(key));
        }
        (_, false) => {
            table.insert(trx, &row(key), &counters)?;
            model.insert(key, row(key));
        }
    }
    Ok(())
}

#[test]
fn what_is_rolled_back_never_was() {
    for seed in 0..12 {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open_store(&disk);
        let files = store.create_table(&schema()).unwrap();
        let table = open_table(&store, &files);
        let (mut random, mut model) = (Random(seed), Model::new());
        let mut views = Vec::new();
        for round in 0..30 {
            let mut trx = store.begin();
            let mut own = model.clone();
            (0..random.below(12)).for_each(|_| change(&table, &mut trx, &mut own, &mut random));
            let (savepoint, at_savepoint) = (trx.savepoint(), own.clone());
            (0..random.below(12)).for_each(|_| change(&table, &mut trx, &mut own, &mut random));
            compare(&table, &model, &store.read_view());
            let id = trx.id();
            compare(&table, &own, &id.map_or(store.read_view(), |id| store.read_view().with_own(id)));
            if random.below(3) == 0 {
                trx.roll_back_to(savepoint).unwrap();
                own = at_savepoint;
                compare(&table, &own, &id.map_or(store.read_view(), |id| store.read_view().with_own(id)));
            }
            if random.below(3) > 0 {
                let _not_waited_for = trx.commit().unwrap();
                model = own;
            } else {
                trx.roll_back().unwrap();
            }
            compare(&table, &model, &store.read_view());
            if round % 5 == 0 {
                views.push((store.read_view(), model.clone()));
            }
            store.purge().unwrap();
            views.iter().for_each(|(view, seen)| compare(&table, seen, view));
        }
        drop(views);
        compare_at_rest(&table, &model, false);
    }
}

#[test]
fn a_crash_leaves_what_was_committed() {
    for seed in 0..12 {
        let mut disk = Arc::new(SimulatedDisk::new());
        let mut store = open_store(&disk);
        let files = store.create_table(&schema()).unwrap();
        let mut table = open_table(&store, &files);
        let (mut random, mut model) = (Random(seed), Model::new());
        let mut losers = 0;
        for _ in 0..12 {
            for _ in 0..random.below(4) {
                let mut trx = store.begin();
                (0..random.below(12)).for_each(|_| change(&table, &mut trx, &mut model, &mut random));
                let _not_waited_for = trx.commit().unwrap();
            }
            let mut trx = store.begin();
            let mut lost = model.clone();
            (0..random.below(20)).for_each(|_| change(&table, &mut trx, &mut lost, &mut random));
            if random.below(2) == 0 {
                store.checkpoint().unwrap();
            }
            let savepoint = trx.savepoint();
            (0..random.below(8)).for_each(|_| change(&table, &mut trx, &mut lost, &mut random));
            if random.below(2) == 0 {
                trx.roll_back_to(savepoint).unwrap();
            }
            if random.below(3) == 0 {
                store.purge().unwrap();
            }
            store.make_durable().unwrap();
            losers += usize::from(trx.changed_rows() > 0);
            disk.cut_power_after(0);
            drop((trx, table, store));
            disk = Arc::new(disk.after_power_cut(seed));
            store = open_store(&disk);
            table = open_table(&store, &files);
            compare(&table, &model, &store.read_view());
            if random.below(3) > 0 {
                store.roll_back_losers().unwrap();
                assert_eq!(store.losers(), 0);
                compare_at_rest(&table, &model, true);
            } else {
                store.roll_back_losers().unwrap();
            }
        }
        assert!(losers > 3, "{losers}");
        compare_at_rest(&table, &model, true);
    }
}

/// A crash cuts off a transaction whose table cannot be opened then. It waits; the others are rolled back, and what has
/// committed is purged.
#[test]
fn a_table_that_cannot_be_opened_stops_only_its_own_transaction() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = open_store(&disk);
    let files: Vec<Vec<FileId>> = (0..2).map(|_| store.create_table(&schema()).unwrap()).collect();
    let tables: Vec<Arc<Table>> = files.iter().map(|files| open_table(&store, files)).collect();
    let row = |id: i64| vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![7; 10])];
    let mut trx: Vec<Transaction> = (0..3).map(|_| store.begin()).collect();
    tables.iter().for_each(|table| table.insert_now(&row(9), &Counters::default()).unwrap());
    // The last one is undone first.
    for (trx, table) in trx.iter_mut().zip([&tables[0], &tables[1], &tables[1]]) {
        let id = table.row_count() as i64;
        table.insert(trx, &row(id), &Counters::default()).unwrap();
    }
    assert!(tables[0].delete_now(&[Value::Int(9)], &Counters::default()).unwrap());
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((trx, tables, store));
    let store = open_store(&Arc::new(disk.after_power_cut(1)));
    let table = open_table(&store, &files[0]);
    let unreadable = || StorageError::io("/d", std::io::Error::other("the table cannot be opened"));
    store.set_table_source(Arc::new(move |_| Err(unreadable())));
    assert!(store.roll_back_losers().is_err());
    assert_eq!(store.losers(), 2, "those of the other table");
    compare_at_rest(&table, &Model::new(), true);
    assert_eq!(store.history_length(), 0);
    let other = open_table(&store, &files[1]);
    store.roll_back_losers().unwrap();
    compare_at_rest(&other, &Model::from([(9, row(9))]), true);
}

/// The same with a transaction that has committed: its versions wait, and those of later ones are purged.
#[test]
fn a_table_that_cannot_be_opened_does_not_keep_others_from_being_purged() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = open_store(&disk);
    let files: Vec<Vec<FileId>> = (0..2).map(|_| store.create_table(&schema()).unwrap()).collect();
    let tables: Vec<Arc<Table>> = files.iter().map(|files| open_table(&store, files)).collect();
    let row = |id: i64| vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![7; 3000])];
    tables.iter().for_each(|table| table.insert_now(&row(9), &Counters::default()).unwrap());
    let view = store.read_view();
    for table in tables.iter().rev() {
        assert!(table.delete_now(&[Value::Int(9)], &Counters::default()).unwrap());
    }
    assert_eq!(store.history_length(), 2, "the view needs them");
    store.make_durable().unwrap();
    disk.cut_power_after(0);
    drop((view, tables, store));
    let store = open_store(&Arc::new(disk.after_power_cut(1)));
    let table = open_table(&store, &files[0]);
    let unreadable = || StorageError::io("/d", std::io::Error::other("the table cannot be opened"));
    store.set_table_source(Arc::new(move |_| Err(unreadable())));
    assert!(store.purge().is_err());
    assert_eq!(store.history_length(), 1, "that of the other table");
    compare(&table, &Model::new(), &ReadView::latest());
    let other = open_table(&store, &files[1]);
    compare_at_rest(&other, &Model::new(), true);
    assert_eq!(store.history_length(), 0);
}

/// A transaction is rolled back or purged after its changes have come to their pages; then there is a checkpoint, which
/// writes no pages, and a power cut.
#[test]
fn a_checkpoint_forgets_no_transaction_whose_end_could_be_lost() {
    for (rolls_back, seed) in
        [true, false].into_iter().flat_map(|rolls_back| (0..4).map(move |seed| (rolls_back, seed)))
    {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open_store(&disk);
        let files = store.create_table(&schema()).unwrap();
        let table = open_table(&store, &files);
        let row = |id: i64| vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![7; 10])];
        let mut model = Model::new();
        for id in 1..4 {
            table.insert_now(&row(id), &Counters::default()).unwrap();
            model.insert(id, row(id));
        }
        let mut trx = store.begin();
        assert!(table.delete(&mut trx, &[Value::Int(2)], &Counters::default()).unwrap());
        if rolls_back {
            store.checkpoint().unwrap();
            trx.roll_back().unwrap();
        } else {
            let _not_waited_for = trx.commit().unwrap();
            model.remove(&2);
            store.checkpoint().unwrap();
            store.purge().unwrap();
        }
        store.checkpoint_without_pages().unwrap();
        disk.cut_power_after(0);
        drop((table, store));
        let store = open_store(&Arc::new(disk.after_power_cut(seed)));
        let table = open_table(&store, &files);
        store.roll_back_losers().unwrap();
        compare_at_rest(&table, &model, true);
    }
}

/// A row is deleted, and another one comes in its place and is rolled back before the deletion is purged. The index has
/// the first bytes of a long value, whose pages are free once the row is gone: purge cannot tell the entry from them.
#[test]
fn rollback_leaves_no_entry_of_a_row_that_purge_has_not_reached() {
    let mut schema = schema();
    schema.indexes[1].parts = vec![KeyPart { column: 2, prefix: Some(10), descending: false }];
    let store = open_store(&Arc::new(SimulatedDisk::new()));
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema, files, TableStatistics::default()).unwrap();
    let row = |byte| vec![Value::Int(1), Value::Text("a".into()), Value::Bytes(vec![byte; 6000])];
    for (old, new) in [(3, 7), (7, 3), (5, 5)] {
        let mut trx = store.begin();
        table.insert(&mut trx, &row(old), &Counters::default()).unwrap();
        let _not_waited_for = trx.commit().unwrap();
        let mut trx = store.begin();
        assert!(table.delete(&mut trx, &[Value::Int(1)], &Counters::default()).unwrap());
        let _not_waited_for = trx.commit().unwrap();
        let mut trx = store.begin();
        table.insert(&mut trx, &row(new), &Counters::default()).unwrap();
        trx.roll_back().unwrap();
        compare_at_rest(&table, &Model::new(), false);
    }
}

/// The log is kept for a transaction that does nothing, while others fill it.
#[test]
fn a_transaction_that_keeps_too_much_of_the_log_is_told() {
    let log = LogSettings { capacity: 1 << 20, transactions: 2, ..LogSettings::default() };
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 64 * 4096,
        sync: false,
        log,
        purges: false,
        ..StoreOptions::default()
    };
    let store = Store::open_on(Path::new("/d"), options, Arc::new(SimulatedDisk::new()) as _).unwrap();
    let told = Arc::new(Mutex::new(BTreeMap::<u64, u64>::new()));
    let notes = Arc::clone(&told);
    store.set_transaction_limit(Arc::new(move |id, _session| *notes.lock().entry(id).or_default() += 1));
    let files = store.create_table(&schema()).unwrap();
    let table = open_table(&store, &files);
    let row = |id: i64| vec![Value::Int(id), Value::Text("a".into()), Value::Bytes(vec![7; 1000])];
    let mut idle = store.begin();
    table.insert(&mut idle, &row(1), &Counters::default()).unwrap();
    let id = idle.id().unwrap();
    let start = store.log_position();
    let fill = |bytes: u64| {
        while store.log_position() < start + bytes {
            table.insert_now(&row(2), &Counters::default()).unwrap();
            table.delete_now(&[Value::Int(2)], &Counters::default()).unwrap();
        }
        store.checkpoint().unwrap();
    };
    fill(1 << 20);
    assert!(told.lock().is_empty(), "{told:?}");
    fill(3 << 20);
    assert_eq!(told.lock().keys().copied().collect::<Vec<_>>(), [id]);
    idle.roll_back().unwrap();
    told.lock().clear();
    fill(6 << 20);
    assert!(told.lock().is_empty(), "{told:?}");
}
