//! Rows that are inserted together: what views see of them, what is undone, and where a run of them ends.

use super::{Transaction, tests::open_store};
use crate::{
    ColumnSchema, Counters, IndexSchema, LockMode, LockingScan, LockingScanRequest, ReadView, Scan, ScanRequest,
    StorageError, Store, Table, TableSchema, TableStatistics, Waits,
    io::simulated::SimulatedDisk,
    rows::fixtures::{rows_of, scan_request},
    testing::random::Random,
};
use muster_types::{Collation, KeyPart, KeyRange, SqlType, Value};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

fn new_table() -> (Arc<Store>, Arc<Table>) {
    let store = open_store(&Arc::new(SimulatedDisk::new()));
    let column = |ty| ColumnSchema { ty, nullable: false };
    let key = KeyPart { column: 0, prefix: None, descending: false };
    let schema = TableSchema {
        layouts: Default::default(),
        columns: vec![column(SqlType::INT), column(SqlType::varchar(200, Collation::DEFAULT))],
        indexes: vec![IndexSchema { id: 1, parts: vec![key], unique: true }],
    };
    let files = store.create_table(&schema).unwrap();
    let table = store.open_table(schema, files, TableStatistics::default()).unwrap();
    (store, table)
}

fn row(key: i64, text: &str) -> Vec<Value> {
    vec![Value::Int(key), Value::Text(text.into())]
}

fn rows(keys: impl IntoIterator<Item = i64>) -> Vec<Vec<Value>> {
    keys.into_iter().map(|key| row(key, "some text")).collect()
}

fn keys_of(table: &Arc<Table>, view: &Arc<ReadView>) -> Vec<i64> {
    let request = ScanRequest { view: Arc::clone(view), ordered: true, ..scan_request(vec![0]) };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    let mut keys = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        let rows = rows_of(&table.schema().columns[..1], batch.columns(), batch.num_rows());
        keys.extend(rows.into_iter().map(|row| if let Value::Int(key) = row[0] { key } else { panic!("{row:?}") }));
    }
    keys
}

fn insert(table: &Table, trx: &mut Transaction, keys: impl IntoIterator<Item = i64>) -> usize {
    table.insert_batch(trx, &rows(keys), &Counters::default()).unwrap()
}

#[test]
fn a_run_ends_where_another_row_is_or_comes_first() {
    let (store, table) = new_table();
    let mut trx = store.begin();
    assert_eq!(insert(&table, &mut trx, [10, 20, 30]), 3);
    assert_eq!(insert(&table, &mut trx, [11, 12, 25, 26]), 2, "20 is between");
    assert_eq!(insert(&table, &mut trx, [25, 26, 24]), 2, "not in order");
    assert_eq!(insert(&table, &mut trx, [28, 29, 30, 31]), 2, "30 is taken");
    assert_eq!(insert(&table, &mut trx, [40, 40]), 1, "twice the same key");
    let taken = table.insert_batch(&mut trx, &rows([30, 31]), &Counters::default());
    assert!(matches!(taken, Err(StorageError::Duplicate { index: 0, .. })), "{taken:?}");
    assert_eq!(table.insert_batch(&mut trx, &[], &Counters::default()).unwrap(), 0);
    drop(trx.commit().unwrap());
    assert_eq!(keys_of(&table, &store.read_view()), [10, 11, 12, 20, 25, 26, 28, 29, 30, 40]);
}

#[test]
fn rows_that_came_together_go_together_or_one_by_one() {
    let (store, table) = new_table();
    let counters = Counters::default();
    let mut trx = store.begin();
    assert_eq!(insert(&table, &mut trx, 0..60), 60, "an empty leaf has room for them");
    let before = store.read_view();
    let savepoint = trx.savepoint();
    // Some of them are changed, removed and inserted again: what came first is undone last.
    assert!(table.update(&mut trx, &[Value::Int(3)], &row(3, "another"), &counters).unwrap());
    assert!(table.delete(&mut trx, &[Value::Int(5)], &counters).unwrap());
    table.insert(&mut trx, &row(5, "again"), &counters).unwrap();
    assert!(table.delete(&mut trx, &[Value::Int(59)], &counters).unwrap());
    let own = |trx: &Transaction| store.read_view().with_own(trx.id().unwrap());
    assert_eq!(keys_of(&table, &own(&trx)), Vec::from_iter(0..59));
    assert_eq!(keys_of(&table, &before), Vec::<i64>::new());
    trx.roll_back_to(savepoint).unwrap();
    assert_eq!(keys_of(&table, &own(&trx)), Vec::from_iter(0..60));
    trx.roll_back().unwrap();
    assert_eq!(keys_of(&table, &ReadView::latest()), Vec::<i64>::new());
    let report = table.tree(0).check(&counters).unwrap();
    assert_eq!((report.rows, report.marked_rows), (0, 0), "{report:?}");
}

#[test]
fn a_locked_gap_is_waited_for() {
    let (store, table) = new_table();
    let counters = Counters::default();
    let mut trx = store.begin();
    insert(&table, &mut trx, [0, 100]);
    drop(trx.commit().unwrap());
    let mut reader = store.begin();
    let ranges = vec![KeyRange::prefix(vec![Value::Int(50)])];
    let mode = LockMode::Shared;
    let request = LockingScanRequest { index: 0, ranges, reverse: false, mode, gaps: true, skip_locked: false };
    assert_eq!(LockingScan::new(&table, request).unwrap().next(&mut reader, &counters).unwrap(), None);
    let mut writer = store.begin();
    writer.set_waits(Waits::Never);
    let refused = table.insert_batch(&mut writer, &rows(40..60), &counters);
    assert!(matches!(refused, Err(StorageError::WouldWait)), "{refused:?}");
    assert_eq!(insert(&table, &mut writer, [101, 102]), 2, "another gap");
    drop(reader.commit().unwrap());
    assert_eq!(insert(&table, &mut writer, 40..60), 20);
    drop(writer.commit().unwrap());
    assert_eq!(keys_of(&table, &store.read_view()).len(), 24);
}

/// Rows in any order, of any length, with splits: as many as a model has, whatever runs they come in.
#[test]
fn batches_of_all_kinds_are_as_single_rows() {
    let (store, table) = new_table();
    let mut random = Random(11);
    let mut model = BTreeMap::new();
    for round in 0..60 {
        let mut trx = store.begin();
        let mut own = model.clone();
        let start = random.below(4000) as i64;
        let mut batch: Vec<Vec<Value>> = Vec::new();
        for at in 0..random.below(200) as i64 {
            let key = if round % 3 == 0 { random.below(9000) as i64 } else { start + at };
            let new = row(key, &"x".repeat(random.below(190)));
            if let Entry::Vacant(place) = own.entry(key) {
                place.insert(new.clone());
                batch.push(new);
            }
        }
        let mut rest = &batch[..];
        while !rest.is_empty() {
            rest = &rest[table.insert_batch(&mut trx, rest, &Counters::default()).unwrap()..];
        }
        if random.one_in(3) {
            trx.roll_back().unwrap();
        } else {
            drop(trx.commit().unwrap());
            model = own;
        }
        assert_eq!(keys_of(&table, &store.read_view()), Vec::from_iter(model.keys().copied()));
    }
    assert!(model.len() > 1000);
    assert_eq!(table.tree(0).check(&Counters::default()).unwrap().rows, model.len() as u64);
}
