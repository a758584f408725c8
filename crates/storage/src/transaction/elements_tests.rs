//! Rows with arrays, of which an index has each element: rolled back, purged and cut off by crashes, against a model in
//! memory.

use super::tests::open_store;
use crate::{
    ColumnSchema, Counters, FileId, IndexSchema, ReadView, Scan, ScanRequest, Store, Table, TableSchema,
    TableStatistics, Transaction,
    io::simulated::SimulatedDisk,
    load::build_index,
    rows::fixtures::{rows_of, scan_request, small_load},
    testing::random::Random,
};
use muster_types::{
    KeyPart, KeyRange, SqlType, Value,
    json::{self, JsonValue},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The array of each row; `None` for NULL.
type Model = BTreeMap<i64, Option<Vec<u64>>>;

const ELEMENTS: u64 = 12;

fn schema() -> TableSchema {
    let part = |column: usize| KeyPart { column, prefix: None, descending: false };
    let index = |id, column, unique| IndexSchema { id, parts: vec![part(column)], unique };
    TableSchema {
        layouts: Default::default(),
        columns: vec![
            ColumnSchema { ty: SqlType::INT, nullable: false, elements: None },
            ColumnSchema { ty: SqlType::Json, nullable: true, elements: Some(SqlType::BIGINT_UNSIGNED) },
        ],
        indexes: vec![index(1, 0, true), index(2, 1, false)],
    }
}

fn open(store: &Arc<Store>, files: &[FileId]) -> Arc<Table> {
    store.open_table(schema(), files.to_vec(), TableStatistics::default()).unwrap()
}

fn row(key: i64, array: &Option<Vec<u64>>) -> Vec<Value> {
    let document = |array: &Vec<u64>| {
        json::encode(&JsonValue::Array(array.iter().map(|element| JsonValue::UInt(*element)).collect())).unwrap()
    };
    vec![Value::Int(key), array.as_ref().map_or(Value::Null, |array| Value::Json(document(array)))]
}

fn any_array(random: &mut Random) -> Option<Vec<u64>> {
    let length = [0, 1, 2, 5, 40][random.below(5)];
    (!random.one_in(8)).then(|| (0..length).map(|_| random.below_u64(ELEMENTS)).collect())
}

fn change(table: &Table, trx: &mut Transaction, model: &mut Model, random: &mut Random) {
    let counters = Counters::default();
    let (key, array) = (random.below(40) as i64, any_array(random));
    match (random.below(4), model.contains_key(&key)) {
        (0, true) => {
            assert!(table.delete(trx, &[Value::Int(key)], &counters).unwrap());
            model.remove(&key);
        }
        (1, true) => {
            let to = 1000 + key * 1000 + random.below(1000) as i64;
            if !model.contains_key(&to) {
                assert!(table.update(trx, &[Value::Int(key)], &row(to, &array), &counters).unwrap());
                model.remove(&key);
                model.insert(to, array);
            }
        }
        (_, true) => {
            assert!(table.update(trx, &[Value::Int(key)], &row(key, &array), &counters).unwrap());
            model.insert(key, array);
        }
        (_, false) => {
            table.insert(trx, &row(key, &array), &counters).unwrap();
            model.insert(key, array);
        }
    }
}

/// The rows that a view sees with an element.
fn rows_with(table: &Arc<Table>, element: u64, view: &Arc<ReadView>) -> Vec<i64> {
    let ranges = vec![KeyRange::prefix(vec![Value::UInt(element)])];
    let request = ScanRequest { view: Arc::clone(view), index: 1, ranges, ..scan_request(vec![0, 1]) };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    let mut keys = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        let rows = rows_of(&table.schema().columns, batch.columns(), batch.num_rows());
        keys.extend(rows.iter().map(|row| if let Value::Int(key) = row[0] { key } else { -1 }));
    }
    keys.sort_unstable();
    keys
}

#[track_caller]
fn compare(table: &Arc<Table>, model: &Model, view: &Arc<ReadView>) {
    for element in 0..ELEMENTS {
        let has = |array: &Option<Vec<u64>>| array.as_ref().is_some_and(|array| array.contains(&element));
        let wanted: Vec<i64> = model.iter().filter(|(_, array)| has(array)).map(|(key, _)| *key).collect();
        assert_eq!(rows_with(table, element, view), wanted, "{element}");
    }
}

#[track_caller]
fn compare_at_rest(table: &Arc<Table>, model: &Model) {
    table.store().purge().unwrap();
    compare(table, model, &ReadView::latest());
    let entries = |array: &Option<Vec<u64>>| array.iter().flatten().collect::<BTreeSet<_>>().len() as u64;
    let wanted = [model.len() as u64, model.values().map(entries).sum()];
    for (tree, wanted) in table.trees().iter().zip(wanted) {
        let report = tree.check(&Counters::default()).unwrap();
        assert_eq!((report.rows, report.marked_rows), (wanted, 0), "{report:?}");
    }
    table.check(&Counters::default(), &mut || Ok(())).unwrap();
}

#[test]
fn elements_of_what_is_rolled_back_never_were() {
    for seed in 0..12 {
        let disk = Arc::new(SimulatedDisk::new());
        let store = open_store(&disk);
        let table = open(&store, &store.create_table(&schema()).unwrap());
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
            let own_view = || id.map_or(store.read_view(), |id| store.read_view().with_own(id));
            compare(&table, &own, &own_view());
            if random.below(3) == 0 {
                trx.roll_back_to(savepoint).unwrap();
                own = at_savepoint;
                compare(&table, &own, &own_view());
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
        compare_at_rest(&table, &model);
    }
}

/// The power goes at any sync, within the changes of one row, too.
#[test]
fn a_crash_leaves_the_elements_that_were_committed() {
    for seed in 0..40 {
        let mut disk = Arc::new(SimulatedDisk::new());
        let mut store = open_store(&disk);
        let files = store.create_table(&schema()).unwrap();
        let mut table = open(&store, &files);
        let (mut random, mut model) = (Random(seed), Model::new());
        for _ in 0..6 {
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
            store.make_durable().unwrap();
            disk.cut_power_after(0);
            drop((trx, table, store));
            disk = Arc::new(disk.after_power_cut(seed));
            store = open_store(&disk);
            table = open(&store, &files);
            compare(&table, &model, &store.read_view());
            store.roll_back_losers().unwrap();
            compare_at_rest(&table, &model);
        }
    }
}

/// An index that is built from rows has the entries that changes of the rows would have made.
#[test]
fn an_index_of_elements_is_built_from_rows() {
    let disk = Arc::new(SimulatedDisk::new());
    let store = open_store(&disk);
    let mut without = schema();
    without.indexes.truncate(1);
    let files = store.create_table(&without).unwrap();
    let table = store.open_table(without, files.clone(), TableStatistics::default()).unwrap();
    let (mut random, mut model) = (Random(7), Model::new());
    let mut trx = store.begin();
    (0..200).for_each(|_| change(&table, &mut trx, &mut model, &mut random));
    let _not_waited_for = trx.commit().unwrap();
    store.purge().unwrap();
    let (built, _) = build_index(&table, &schema(), 1, &small_load()).unwrap();
    drop(table);
    compare_at_rest(&open(&store, &[files[0], built]), &model);
}
