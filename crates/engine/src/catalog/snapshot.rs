//! One state of the catalog.

use muster_algebra::{ColumnDef, TableDef, TableId, ViewDef};
use muster_storage::{ColumnSchema, FileId, IndexSchema, TableSchema, TableStatistics};
use muster_types::{Collation, ErrorCode, Result, SqlError};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// All databases. Names are exact, as MySQL's are where file names are (`lower_case_table_names` = 0).
#[derive(Clone, Default)]
pub struct Snapshot {
    pub next_table_id: u64,
    pub schemas: BTreeMap<String, Schema>,
}

/// One database.
#[derive(Clone)]
pub struct Schema {
    /// Default of new tables.
    pub collation: Collation,
    pub tables: BTreeMap<String, Arc<TableEntry>>,
    pub views: BTreeMap<String, Arc<ViewEntry>>,
}

/// A view with the columns it had when it was made (what `information_schema` shows).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViewEntry {
    pub def: Arc<ViewDef>,
    pub columns: Vec<ColumnDef>,
}

/// Parts of a definition that only SHOW CREATE TABLE and its like need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableExtras {
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: Vec<usize>,
    /// By index number.
    pub index_comments: BTreeMap<u32, String>,
}

/// A stored table: definition, files, and what is known of its content.
#[derive(Clone)]
pub struct TableEntry {
    pub def: Arc<TableDef>,
    pub extras: TableExtras,
    /// One per index, in the order of `def.indexes`.
    pub files: Vec<FileId>,
    pub next_index_id: u32,
    /// Next value of the AUTO_INCREMENT column.
    pub auto_increment: u64,
    /// Microseconds since 1970-01-01 UTC.
    pub created: i64,
    /// The time of the last load.
    pub updated: Option<i64>,
    pub statistics: TableStatistics,
}

impl Default for TableEntry {
    fn default() -> Self {
        let def = TableDef {
            id: TableId(0),
            database: String::new(),
            name: String::new(),
            columns: Vec::new(),
            indexes: Vec::new(),
            collation: Collation::DEFAULT,
            comment: String::new(),
        };
        TableEntry {
            def: Arc::new(def),
            extras: TableExtras::default(),
            files: Vec::new(),
            next_index_id: 0,
            auto_increment: 1,
            created: 0,
            updated: None,
            statistics: TableStatistics::default(),
        }
    }
}

impl TableEntry {
    /// The table as storage knows it.
    pub fn schema(&self) -> TableSchema {
        schema_of(&self.def)
    }

    /// The same table on other files.
    pub fn with_files(&self, files: Vec<FileId>, statistics: TableStatistics) -> TableEntry {
        TableEntry { files, statistics, ..self.clone() }
    }

    /// Bytes of leaf pages of the clustered index, and of all others (an estimate, as in MySQL).
    pub fn data_and_index_bytes(&self, page_size: u64) -> (u64, u64) {
        let bytes = |i: &muster_storage::IndexStats| i.leaf_pages.max(1) * page_size;
        let mut sizes = self.statistics.indexes.iter().map(bytes);
        (sizes.next().unwrap_or(page_size), sizes.sum())
    }
}

/// The columns and indexes of a table as storage knows them.
pub fn schema_of(def: &TableDef) -> TableSchema {
    TableSchema {
        columns: def.columns.iter().map(|c| ColumnSchema { ty: c.ty, nullable: c.nullable }).collect(),
        indexes: def
            .indexes
            .iter()
            .map(|i| IndexSchema { id: i.id, parts: i.parts.clone(), unique: i.unique })
            .collect(),
    }
}

impl Snapshot {
    /// Error 1049 when there is none.
    pub fn schema(&self, database: &str) -> Result<&Schema> {
        self.schemas.get(database).ok_or_else(|| SqlError::unknown_database(database))
    }

    pub fn schema_mut(&mut self, database: &str) -> Result<&mut Schema> {
        self.schemas.get_mut(database).ok_or_else(|| SqlError::unknown_database(database))
    }

    /// Error 1146 when there is none (1049 without the database).
    pub fn table(&self, database: &str, name: &str) -> Result<&Arc<TableEntry>> {
        self.schema(database)?.tables.get(name).ok_or_else(|| SqlError::no_such_table(database, name))
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.schemas.values().flat_map(|s| s.tables.values())
    }

    /// Puts a new version of a table in place, provided the current one still is `old`.
    pub fn replace_table(&mut self, old: &TableEntry, new: TableEntry) -> Result<()> {
        let (database, name) = (&old.def.database, &old.def.name);
        let current = self.table(database, name)?;
        if current.def.id != old.def.id || current.files != old.files {
            return Err(SqlError::new(
                ErrorCode::TableDefChanged,
                "Table definition has changed, please retry transaction",
            ));
        }
        self.schema_mut(database)?.tables.insert(name.clone(), Arc::new(new));
        Ok(())
    }

    pub fn next_table_id(&mut self) -> TableId {
        self.next_table_id += 1;
        TableId(self.next_table_id)
    }
}

/// Microseconds since 1970-01-01 UTC, as entries keep when they were made and loaded.
pub fn now_utc_micros() -> i64 {
    chrono::Utc::now().timestamp_micros()
}
