//! The tables of a directory, as a small file names them.

use crate::{
    FileId, Result, RoomUse, Store, TableSchema,
    small_file::ReplaceError,
    testing::{random::Random, table_model::draw},
};
use std::collections::BTreeMap;

const NAME: &str = "catalog.mus";

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
        let bytes = store.read_small_file(NAME, 10_000).map_err(|e| e.to_string())?;
        let text = String::from_utf8(bytes.map_or(Vec::new(), |bytes| bytes.to_vec())).map_err(|e| e.to_string())?;
        let mut tables = BTreeMap::new();
        for line in text.lines() {
            let mut numbers = line.split(' ').map(|n| n.parse::<u64>().map_err(|e| format!("{line:?}: {e}")));
            let table = numbers.next().ok_or("an empty line")??;
            let files = numbers.map(|n| n.map(|n| FileId(n as u32))).collect::<Result<Vec<_>, _>>()?;
            tables.insert(table, files);
        }
        Ok(Catalog { tables })
    }

    /// Replaces the catalog. The files in `removed` are not needed any more.
    pub fn write(&self, store: &Store, removed: &[FileId]) -> Result<()> {
        let line = |(table, files): (&u64, &Vec<FileId>)| {
            let files: Vec<String> = files.iter().map(|file| file.0.to_string()).collect();
            format!("{table} {}\n", files.join(" "))
        };
        let text: String = self.tables.iter().map(line).collect();
        store.replace_small_file(NAME, text.as_bytes(), removed, RoomUse::Takes).map_err(|e| match e {
            ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
        })
    }

    pub fn files(&self) -> Vec<FileId> {
        self.tables.values().flatten().copied().collect()
    }
}
