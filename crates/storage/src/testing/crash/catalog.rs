//! The tables of a directory, as a small file names them.

use crate::{
    FileId, Result, RoomUse, Store, TableSchema,
    checked_file::FileKind,
    definitions::{DefinitionChanges, Definitions},
    small_file::ReplaceError,
    testing::{random::Random, table_model::draw},
};
use std::collections::BTreeMap;

const NAME: &str = "catalog.mus";
const KIND: FileKind = FileKind { magic: *b"MUSTTEST", version: 1 };

/// Files of tables, by the seeds of their schemas.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Catalog {
    pub tables: BTreeMap<u64, Vec<FileId>>,
}

/// The schema of a table, with or without a primary key.
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
        let Some(bytes) = store.read_small_file(NAME, 10_000).map_err(|e| e.to_string())? else {
            return Ok(Catalog::default());
        };
        let mut tables = BTreeMap::new();
        for (key, value) in Definitions::from_bytes(&bytes, KIND)?.values {
            let table = u64::from_be_bytes(key.try_into().map_err(|key| format!("{key:?} is no table"))?);
            let (numbers, rest) = value.as_chunks();
            if !rest.is_empty() {
                return Err(format!("table {table}: {} bytes", value.len()));
            }
            tables.insert(table, numbers.iter().map(|number| FileId(u32::from_le_bytes(*number))).collect());
        }
        Ok(Catalog { tables })
    }

    /// Makes the catalog of the directory this one. The files in `removed` are not needed any more.
    pub fn write(&self, store: &Store, removed: &[FileId]) -> Result<()> {
        let value = |files: &[FileId]| files.iter().flat_map(|file| file.0.to_le_bytes()).collect::<Vec<u8>>();
        let mut changes = DefinitionChanges::default();
        for (table, files) in &self.tables {
            changes.set(table.to_be_bytes().to_vec(), value(files));
        }
        let before = store.read_small_file(NAME, 10_000)?.map(|bytes| Definitions::from_bytes(&bytes, KIND));
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
        self.tables.values().flatten().copied().collect()
    }
}
