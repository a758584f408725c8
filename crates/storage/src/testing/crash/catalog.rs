//! The tables of a directory, as a small file names them.

use crate::{
    FileId, Result, RoomUse, Store, TableSchema,
    checked_file::FileKind,
    definitions::{DefinitionChanges, Definitions},
    small_file::ReplaceError,
    testing::{random::Random, table_model::draw},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NAME: &str = "catalog.mus";
const KIND: FileKind = FileKind { magic: *b"MUSTTEST", version: 1 };

/// Bytes of the file at most: schemas have the values of columns that were added.
const BYTES_MAX: u64 = 10 << 20;

/// Tables, by the seeds of their first schemas.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Catalog {
    pub tables: BTreeMap<u64, StoredTable>,
}

/// A table as the catalog has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredTable {
    pub files: Vec<FileId>,
    pub schema: TableSchema,
}

/// The first schema of a table, with or without a primary key.
pub(super) fn schema_of(table: u64) -> TableSchema {
    let mut schema = draw::schema(&mut Random(table));
    if table.is_multiple_of(3) {
        // Rows of a table with one tree may come together.
        schema.indexes.truncate(1);
    }
    schema
}

impl Catalog {
    pub fn read(store: &Store) -> Result<Catalog, String> {
        let Some(bytes) = store.read_small_file(NAME, BYTES_MAX).map_err(|e| e.to_string())? else {
            return Ok(Catalog::default());
        };
        let mut tables = BTreeMap::new();
        for (key, value) in Definitions::from_bytes(&bytes, KIND)?.values {
            let table = u64::from_be_bytes(key.try_into().map_err(|key| format!("{key:?} is no table"))?);
            let stored = serde_json::from_slice(&value).map_err(|e| format!("table {table}: {e}"))?;
            tables.insert(table, stored);
        }
        Ok(Catalog { tables })
    }

    /// Makes the catalog of the directory this one. The files in `removed` are not needed any more.
    pub fn write(&self, store: &Store, removed: &[FileId]) -> Result<()> {
        let mut changes = DefinitionChanges::default();
        for (table, stored) in &self.tables {
            changes.set(table.to_be_bytes().to_vec(), serde_json::to_vec(stored).expect("a schema becomes JSON"));
        }
        let before = store.read_small_file(NAME, BYTES_MAX)?.map(|bytes| Definitions::from_bytes(&bytes, KIND));
        let written = match before.transpose().expect("a catalog that opens") {
            None => {
                let mut definitions = Definitions { kind: KIND, values: BTreeMap::new() };
                definitions.change(changes.values);
                store.replace_small_file(NAME, &definitions.to_bytes(), removed, RoomUse::Takes)
            }
            Some(before) => {
                for key in
                    before.values.keys().filter(|key| !changes.values.contains_key(*key)).cloned().collect::<Vec<_>>()
                {
                    changes.remove(key);
                }
                changes.values.retain(|key, value| before.values.get(key) != value.as_ref());
                store.change_definitions(NAME, changes, removed, RoomUse::Takes)
            }
        };
        written.map_err(|e| match e {
            ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
        })
    }

    pub fn files(&self) -> Vec<FileId> {
        self.tables.values().flat_map(|table| &table.files).copied().collect()
    }
}
