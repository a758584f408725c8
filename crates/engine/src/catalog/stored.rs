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
    /// Microseconds since 1970-01-01 UTC.
    created: i64,
    /// This and what follows only format 1 has.
    #[serde(default, skip_serializing)]
    auto_increment: Option<u64>,
    #[serde(default, skip_serializing)]
    updated: Option<i64>,
    #[serde(default, skip_serializing)]
    statistics: Option<TableStatistics>,
}

/// Statistics of a table's rows as format 1 of the catalog held them.
pub struct FormerContent {
    pub auto_increment: u64,
    pub updated: Option<i64>,
    pub statistics: TableStatistics,
}

impl Stored {
    pub fn of(snapshot: &Snapshot) -> Stored {
        let table = |entry: &Arc<TableEntry>| StoredTable {
            def: entry.def.clone(),
            extras: entry.extras.clone(),
            files: entry.files.clone(),
            next_index_id: entry.next_index_id,
            created: entry.created,
            auto_increment: None,
            updated: None,
            statistics: None,
        };
        let database = |(name, schema): (&String, &Schema)| StoredDatabase {
            name: name.clone(),
            collation: schema.collation,
            tables: schema.tables.values().map(table).collect(),
            views: schema.views.values().cloned().collect(),
        };
        Stored { next_table_id: snapshot.next_table_id, databases: snapshot.schemas.iter().map(database).collect() }
    }

    /// The state in memory, and what a catalog of format 1 said of tables' rows.
    pub fn into_snapshot(self) -> (Snapshot, Vec<(Arc<TableEntry>, FormerContent)>) {
        let mut former = Vec::new();
        let mut table = |t: StoredTable| {
            let StoredTable { def, extras, files, next_index_id, created, .. } = t;
            let entry = Arc::new(TableEntry { def, extras, files, next_index_id, created });
            if let (Some(auto_increment), Some(statistics)) = (t.auto_increment, t.statistics) {
                former.push((entry.clone(), FormerContent { auto_increment, updated: t.updated, statistics }));
            }
            (entry.def.name.clone(), entry)
        };
        let mut schema = |d: StoredDatabase| {
            let schema = Schema {
                collation: d.collation,
                tables: d.tables.into_iter().map(&mut table).collect(),
                views: d.views.into_iter().map(|v| (v.def.name.clone(), v)).collect(),
            };
            (d.name, schema)
        };
        let schemas = self.databases.into_iter().map(&mut schema).collect();
        (Snapshot { next_table_id: self.next_table_id, schemas }, former)
    }
}
