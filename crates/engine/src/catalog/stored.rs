//! The catalog's file content. Kept apart from the state in memory, so that the format changes only on purpose.

use super::snapshot::{Schema, Snapshot, TableEntry, TableExtras, ViewEntry};
use muster_algebra::TableDef;
use muster_storage::{FileId, TableStatistics};
use muster_types::Collation;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    next_table_id: u64,
    databases: Vec<StoredDatabase>,
}

#[derive(Serialize, Deserialize)]
struct StoredDatabase {
    name: String,
    collation: Collation,
    tables: Vec<StoredTable>,
    views: Vec<Arc<ViewEntry>>,
}

#[derive(Serialize, Deserialize)]
struct StoredTable {
    def: Arc<TableDef>,
    extras: TableExtras,
    files: Vec<FileId>,
    next_index_id: u32,
    auto_increment: u64,
    /// Microseconds since 1970-01-01 UTC.
    created: i64,
    updated: Option<i64>,
    statistics: TableStatistics,
}

impl Stored {
    pub fn of(snapshot: &Snapshot) -> Stored {
        let table = |entry: &Arc<TableEntry>| StoredTable {
            def: entry.def.clone(),
            extras: entry.extras.clone(),
            files: entry.files.clone(),
            next_index_id: entry.next_index_id,
            auto_increment: entry.auto_increment,
            created: entry.created,
            updated: entry.updated,
            statistics: entry.statistics.clone(),
        };
        let database = |(name, schema): (&String, &Schema)| StoredDatabase {
            name: name.clone(),
            collation: schema.collation,
            tables: schema.tables.values().map(table).collect(),
            views: schema.views.values().cloned().collect(),
        };
        Stored { next_table_id: snapshot.next_table_id, databases: snapshot.schemas.iter().map(database).collect() }
    }

    pub fn into_snapshot(self) -> Snapshot {
        let table = |t: StoredTable| {
            let entry = TableEntry {
                def: t.def,
                extras: t.extras,
                files: t.files,
                next_index_id: t.next_index_id,
                auto_increment: t.auto_increment,
                created: t.created,
                updated: t.updated,
                statistics: t.statistics,
            };
            (entry.def.name.clone(), Arc::new(entry))
        };
        let schema = |d: StoredDatabase| {
            let schema = Schema {
                collation: d.collation,
                tables: d.tables.into_iter().map(table).collect(),
                views: d.views.into_iter().map(|v| (v.def.name.clone(), v)).collect(),
            };
            (d.name, schema)
        };
        Snapshot { next_table_id: self.next_table_id, schemas: self.databases.into_iter().map(schema).collect() }
    }
}
