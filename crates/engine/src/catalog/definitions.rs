//! The catalog as definitions by key: what its file holds, and what a change of it is.
//!
//! ```text
//!   n                     the number of the last table
//!   d database            a database
//!   t database 0 table    a table with its files
//!   v database 0 view     a view
//! ```
//!
//! A key is its letter and the names, without spaces, with a byte 0 between two names, which have none in them. A value
//! is JSON.

use super::{
    snapshot::{Schema, Snapshot, TableEntry, ViewEntry},
    stored::StoredTable,
};
use muster_storage::{
    FileId,
    definitions::{DefinitionChanges, Definitions},
};
use muster_types::{Collation, Result, SqlError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// The key of the number of the last table.
const LAST_TABLE: &[u8] = b"n";
const DATABASE: u8 = b'd';
const TABLE: u8 = b't';
const VIEW: u8 = b'v';

/// What a database has besides its tables and views.
#[derive(Serialize, Deserialize, PartialEq)]
struct StoredDatabase {
    collation: Collation,
}

impl StoredDatabase {
    fn of(schema: &Schema) -> StoredDatabase {
        StoredDatabase { collation: schema.collation }
    }
}

fn key_of_database(database: &str) -> Vec<u8> {
    [&[DATABASE], database.as_bytes()].concat()
}

fn key_in_database(kind: u8, database: &str, name: &str) -> Vec<u8> {
    [&[kind], database.as_bytes(), &[0], name.as_bytes()].concat()
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(SqlError::internal)
}

/// The state in memory of what a file holds. Errors: why it is no catalog.
pub(super) fn snapshot_of(values: &BTreeMap<Vec<u8>, Arc<[u8]>>) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::default();
    // The databases come before what is in them.
    for (key, value) in values {
        let (kind, names) = key.split_first().ok_or("a definition without a key")?;
        let names = str::from_utf8(names).map_err(|_| "a name that is not UTF-8")?;
        match *kind {
            DATABASE => {
                let StoredDatabase { collation } = value_of(names, value)?;
                snapshot.schemas.insert(names.to_owned(), Schema::new(collation));
            }
            TABLE | VIEW => {
                let (database, name) = names.split_once('\0').ok_or_else(|| format!("{names}: no name"))?;
                let view_id = snapshot.next_view_id();
                let schema = snapshot.schemas.get_mut(database);
                let schema = schema.ok_or_else(|| format!("{database}.{name}: there is no such database"))?;
                if *kind == TABLE {
                    let entry = value_of::<StoredTable>(names, value)?.into_entry();
                    if !entry.layouts.is_sound(entry.def.columns.len()) {
                        return Err(format!("{database}.{name}: row layouts without columns"));
                    }
                    schema.tables.insert(name.to_owned(), Arc::new(entry));
                } else {
                    let view: ViewEntry = value_of(names, value)?;
                    schema.views.insert(name.to_owned(), Arc::new(ViewEntry { id: view_id, ..view }));
                }
            }
            _ if key.as_slice() == LAST_TABLE => snapshot.next_table_id = value_of(names, value)?,
            _ => return Err(format!("a definition of an unknown kind {kind}")),
        }
    }
    Ok(snapshot)
}

fn value_of<T: DeserializeOwned>(names: &str, value: &[u8]) -> Result<T, String> {
    serde_json::from_slice(value).map_err(|e| format!("{}: unreadable definition: {e}", names.replace('\0', ".")))
}

/// What makes one state of the catalog of another.
#[derive(Default)]
pub(super) struct CatalogChange {
    pub values: DefinitionChanges,
    /// Files of tables that the later state does not have any more.
    pub removed: Vec<FileId>,
    /// Bytes that the definitions that are changed took before and take now.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl CatalogChange {
    /// What makes `after` of `before`. It takes as long as there are tables in the databases, and as many values as
    /// there are definitions that differ.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Result<CatalogChange> {
        let mut change = CatalogChange::default();
        if before.next_table_id != after.next_table_id {
            // A catalog that has never had a table does not say so.
            let before = Some(&before.next_table_id).filter(|number| **number > 0);
            change.add(LAST_TABLE.to_vec(), (before, Some(&after.next_table_id)))?;
        }
        let mut tables = Vec::new();
        let empty = Schema::new(Collation::DEFAULT);
        for (database, schemas) in differences(&before.schemas, &after.schemas, |_, _| false) {
            let [stored, stored_after] = [schemas.0, schemas.1].map(|schema| schema.map(StoredDatabase::of));
            if stored != stored_after {
                change.add(key_of_database(database), (stored.as_ref(), stored_after.as_ref()))?;
            }
            let [before, after] = [schemas.0, schemas.1].map(|schema| schema.unwrap_or(&empty));
            for (name, views) in differences(&before.views, &after.views, Arc::ptr_eq) {
                change.add(key_in_database(VIEW, database, name), views)?;
            }
            for (name, pair) in differences(&before.tables, &after.tables, Arc::ptr_eq) {
                let [stored, stored_after] = [pair.0, pair.1].map(|table| table.map(|table| StoredTable::of(table)));
                change.add(key_in_database(TABLE, database, name), (stored.as_ref(), stored_after.as_ref()))?;
                tables.push(pair);
            }
        }
        change.removed = removed_files(&tables);
        Ok(change)
    }

    /// Adds a definition that has another value now, or none.
    fn add<T: Serialize>(&mut self, key: Vec<u8>, (before, after): Pair<'_, T>) -> Result<()> {
        let [before, after] = [before, after].map(|value| value.map(json).transpose());
        let (before, after) = (before?, after?);
        let bytes = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, |value| Definitions::bytes_of(&key, value));
        self.bytes_before += bytes(&before);
        self.bytes_after += bytes(&after);
        match after {
            Some(value) => self.values.set(key, value),
            None => self.values.remove(key),
        }
        Ok(())
    }
}

/// The files of the tables before that none of them has afterwards.
fn removed_files(tables: &[Pair<'_, Arc<TableEntry>>]) -> Vec<FileId> {
    let after = tables.iter().filter_map(|(_, after)| *after);
    let kept: HashSet<FileId> = after.flat_map(|table| &table.files).copied().collect();
    let before = tables.iter().filter_map(|(before, _)| *before);
    before.flat_map(|table| &table.files).copied().filter(|file| !kept.contains(file)).collect()
}

/// A value before a change and after it.
type Pair<'a, V> = (Option<&'a V>, Option<&'a V>);

/// The keys whose values differ between two maps, with both values, in order.
fn differences<'a, V>(
    before: &'a BTreeMap<String, V>,
    after: &'a BTreeMap<String, V>,
    is_same: impl Fn(&V, &V) -> bool,
) -> Vec<(&'a str, Pair<'a, V>)> {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let mut found = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let old = if order != Ordering::Greater { before.next() } else { None };
        let new = if order != Ordering::Less { after.next() } else { None };
        let Some((name, _)) = old.or(new) else { return found };
        let pair = (old.map(|(_, value)| value), new.map(|(_, value)| value));
        if !matches!(pair, (Some(old), Some(new)) if is_same(old, new)) {
            found.push((name.as_str(), pair));
        }
    }
}
