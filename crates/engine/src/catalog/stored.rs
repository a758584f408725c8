//! Tables as the catalog's file holds them, and what the file held in formats 1 and 2. Kept apart from the state in
//! memory, so that the format changes only on purpose.

use super::snapshot::{Schema, Snapshot, TableEntry, TableExtras, ViewEntry};
use muster_algebra::TableDef;
use muster_storage::{FileId, RowLayouts, TableStatistics};
use muster_types::Collation;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All definitions, as formats 1 and 2 held them.
#[derive(Deserialize)]
pub(super) struct Stored {
    next_table_id: u64,
    databases: Vec<StoredDatabase>,
}

#[derive(Deserialize)]
struct StoredDatabase {
    name: String,
    collation: Collation,
    tables: Vec<StoredTable>,
    views: Vec<ViewEntry>,
}

/// A table.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTable {
    def: Arc<TableDef>,
    extras: TableExtras,
    files: Vec<FileId>,
    next_index_id: u32,
    /// Microseconds since 1970-01-01 UTC.
    created: i64,
    /// Since format 6.
    #[serde(default, skip_serializing_if = "is_only_layout")]
    layouts: Arc<RowLayouts>,
    /// This and what follows only format 1 has.
    #[serde(default, skip_serializing)]
    auto_increment: Option<u64>,
    #[serde(default, skip_serializing)]
    updated: Option<i64>,
    #[serde(default, skip_serializing)]
    statistics: Option<TableStatistics>,
}

/// Returns true for the layouts of a table whose columns are what they were when it was made.
fn is_only_layout(layouts: &Arc<RowLayouts>) -> bool {
    **layouts == RowLayouts::default()
}

/// Statistics of a table's rows as format 1 of the catalog held them.
pub struct FormerContent {
    pub auto_increment: u64,
    pub updated: Option<i64>,
    pub statistics: TableStatistics,
}

impl StoredTable {
    pub fn of(entry: &TableEntry) -> StoredTable {
        StoredTable {
            def: entry.def.clone(),
            extras: entry.extras.clone(),
            files: entry.files.clone(),
            next_index_id: entry.next_index_id,
            created: entry.created,
            layouts: entry.layouts.clone(),
            auto_increment: None,
            updated: None,
            statistics: None,
        }
    }

    pub fn into_entry(self) -> TableEntry {
        let StoredTable { def, extras, files, next_index_id, created, layouts, .. } = self;
        TableEntry { def, extras, files, next_index_id, created, layouts }
    }
}

impl Stored {
    /// The state in memory, and what a catalog of format 1 said of tables' rows.
    pub fn into_snapshot(self) -> (Snapshot, Vec<(Arc<TableEntry>, FormerContent)>) {
        let (mut former, mut snapshot) = (Vec::new(), Snapshot::default());
        let mut table = |mut t: StoredTable| {
            let (auto_increment, updated, statistics) = (t.auto_increment, t.updated, t.statistics.take());
            let entry = Arc::new(t.into_entry());
            if let (Some(auto_increment), Some(statistics)) = (auto_increment, statistics) {
                former.push((entry.clone(), FormerContent { auto_increment, updated, statistics }));
            }
            (entry.def.name.clone(), entry)
        };
        let mut view = |view: ViewEntry| {
            let id = snapshot.next_view_id();
            (view.def.name.clone(), Arc::new(ViewEntry { id, ..view }))
        };
        let mut schema = |d: StoredDatabase| {
            let schema = Schema {
                tables: d.tables.into_iter().map(&mut table).collect(),
                views: d.views.into_iter().map(&mut view).collect(),
                ..Schema::new(d.collation)
            };
            (d.name, schema)
        };
        let schemas = self.databases.into_iter().map(&mut schema).collect();
        (snapshot.next_table_id, snapshot.schemas) = (self.next_table_id, schemas);
        (snapshot, former)
    }
}
