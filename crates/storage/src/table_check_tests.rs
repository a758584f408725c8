//! Rows without entries, entries without rows, and entries that differ from their rows: a check names each.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, TableSchema,
    rows::fixtures::{Home, empty_table, home},
};
use muster_types::{BytesKind, Collation, KeyPart, SqlType};
use std::sync::Arc;

/// A number, a text, and bytes of which an index has the first few.
fn table(home: &Home) -> Arc<Table> {
    let part = |column, prefix| KeyPart { column, prefix, descending: false };
    let bytes = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
    let types = [SqlType::INT, SqlType::varchar(100, Collation::DEFAULT), bytes];
    let schema = TableSchema {
        layouts: Default::default(),
        columns: types.map(|ty| ColumnSchema { ty, nullable: ty != SqlType::INT }).to_vec(),
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0, None)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1, None)], unique: false },
            IndexSchema { id: 3, parts: vec![part(2, Some(4)), part(0, None)], unique: true },
        ],
    };
    let table = empty_table(home, &schema);
    for n in 0..300_i64 {
        table.insert_now(&row(n), &Counters::default()).unwrap();
    }
    table
}

fn row(n: i64) -> Vec<Value> {
    let bytes = vec![n as u8; if n % 60 == 3 { 9000 } else { 50 }];
    vec![Value::Int(n), Value::Text(format!("row {}", n * 7 % 300)), Value::Bytes(bytes)]
}

fn finding(table: &Table) -> String {
    let checked = table.check(&Counters::default(), &mut || Ok(()));
    checked.map_or_else(|e| e.to_string(), |reports| format!("{} trees", reports.len()))
}

/// The entry of row `n` in an index.
fn entry(table: &Table, index: usize, n: i64) -> Vec<Value> {
    table.tree(index).layout().stored_values(&row(n), 0).into_owned()
}

#[test]
fn rows_and_entries_that_do_not_fit_are_found_and_named() {
    let counters = Counters::default();
    let home = home(4096, 1 << 20);
    for index in 1..3 {
        let missing = table(&home);
        assert_eq!(finding(&missing), "3 trees");
        let tree = missing.tree(index);
        let key = tree.key_of_values(&entry(&missing, index, 63)).unwrap();
        tree.delete(&key, 2, &counters).unwrap().unwrap();
        let found = finding(&missing);
        assert!(found.contains("a row has no entry here"), "{found}");
        assert!(found.contains(&format!("{:08}.mus", missing.files()[index].0)), "{found}");

        let unwanted = table(&home);
        unwanted.tree(index).insert(&entry(&unwanted, index, 1000), 2, &counters).unwrap();
        assert!(finding(&unwanted).contains("an entry without a row"), "{}", finding(&unwanted));

        let marked = table(&home);
        marked.tree(index).mark(&key, 2, &counters).unwrap();
        assert!(finding(&marked).contains("a row has no entry here"), "{}", finding(&marked));
    }
    // An entry with other letters has the same key.
    let other = table(&home);
    let mut values = entry(&other, 1, 5);
    values[0] = Value::Text("ROW 35".into());
    assert!(other.tree(1).replace(&values, 2, &counters).unwrap());
    assert!(finding(&other).contains("an entry that differs from its row"), "{}", finding(&other));
}

#[test]
fn a_check_ends_when_its_caller_wants_it_to() {
    let home = home(4096, 1 << 20);
    let table = table(&home);
    for n in 1000..3000 {
        table.insert_now(&row(n), &Counters::default()).unwrap();
    }
    let mut steps = 0;
    let ended = table.check(&Counters::default(), &mut || {
        steps += 1;
        if steps == 3 { Err(StorageError::Interrupted) } else { Ok(()) }
    });
    assert!(matches!(ended, Err(StorageError::Interrupted)), "{ended:?}");
}
