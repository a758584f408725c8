//! Changes rows at random in the tables of a data directory, for measuring scans of leaves with changes. Ignored: run
//! with `MUSTER_DIRECTORY` and `MUSTER_TABLES` ("dbt3.orders,dbt3.lineitem") set, `--release -- --ignored
//! changes_rows_of_a_directory`.

use crate::{
    ColumnSchema, Counters, FileId, IndexSchema, ReadView, Store, StoreOptions, Table, TableSchema, key::ByteRange,
};
use muster_types::{Decimal, Value};
use serde_json::Value as Json;
use std::{env::var, path::Path, sync::Arc};

/// One row in so many is changed, unless `MUSTER_ONE_IN` says otherwise.
const ONE_IN: u64 = 100;

/// Opens a table as the catalog describes it.
fn open(store: &Arc<Store>, name: &str) -> Arc<Table> {
    let catalog = std::fs::read(store.directory().join("catalog.mus")).unwrap();
    let catalog: Json = serde_json::from_slice(&catalog[24..]).unwrap();
    let (database, table) = name.split_once('.').unwrap();
    let named = |list: &Json, path: &str, name: &str| {
        list.as_array().unwrap().iter().find(|of| *of.pointer(path).unwrap() == *name).unwrap().clone()
    };
    let entry = named(&named(&catalog["databases"], "/name", database)["tables"], "/def/name", table);
    let of = |json: &Json| serde_json::from_value(json.clone()).unwrap();
    let columns = entry["def"]["columns"].as_array().unwrap().iter();
    let indexes = entry["def"]["indexes"].as_array().unwrap().iter();
    let schema = TableSchema {
        layouts: Default::default(),
        columns: columns.map(|c| ColumnSchema { ty: of(&c["ty"]), nullable: c["nullable"] == true }).collect(),
        indexes: indexes
            .map(|i| IndexSchema {
                id: i["id"].as_u64().unwrap() as u32,
                parts: serde_json::from_value(i["parts"].clone()).unwrap(),
                unique: i["unique"] == true,
            })
            .collect(),
    };
    let files = entry["files"].as_array().unwrap().iter().map(|file| FileId(file.as_u64().unwrap() as u32)).collect();
    store.open_table(schema, files, Default::default()).unwrap()
}

/// The row with its last decimal a cent larger and its last text turned by one character.
fn changed(mut row: Vec<Value>) -> Vec<Value> {
    if let Some(Value::Decimal(d)) = row.iter_mut().rfind(|v| matches!(v, Value::Decimal(_))) {
        *d = Decimal::wide(d.unscaled() + arrow_buffer::i256::ONE, d.scale);
    }
    if let Some(Value::Text(text)) = row.iter_mut().rfind(|v| matches!(v, Value::Text(_)))
        && let Some(first) = text.chars().next()
    {
        text.remove(0);
        text.push(first);
    }
    row
}

#[test]
#[ignore = "changes a directory"]
fn changes_rows_of_a_directory() {
    let directory = var("MUSTER_DIRECTORY").expect("MUSTER_DIRECTORY says which");
    let one_in = var("MUSTER_ONE_IN").map_or(ONE_IN, |n| n.parse().unwrap());
    let store = Store::open(Path::new(&directory), StoreOptions::default()).unwrap();
    let counters = Counters::default();
    for name in var("MUSTER_TABLES").expect("MUSTER_TABLES says which").split(',') {
        let table = open(&store, name);
        let key: Vec<usize> = table.schema().indexes[0].parts.iter().map(|part| part.column).collect();
        let (mut numbers, mut picked) = (1u64, Vec::new());
        let mut rows = table.tree(0).rows(ByteRange::default(), false, &ReadView::latest(), &counters).unwrap();
        while let Some(mut row) = rows.next().unwrap() {
            numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (numbers >> 33).is_multiple_of(one_in) {
                row.truncate(table.schema().columns.len());
                picked.push(row);
            }
        }
        let start = std::time::Instant::now();
        for row in &picked {
            let key: Vec<Value> = key.iter().map(|column| row[*column].clone()).collect();
            assert!(table.update_now(&key, &changed(row.clone()), &counters).unwrap());
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / picked.len() as f64;
        println!("{name}: {} rows changed, {each:.1} us each", picked.len());
        table.flush().unwrap();
    }
}
