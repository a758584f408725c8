//! One state of the catalog.

use muster_algebra::{ColumnDef, TableDef, TableId, ViewDef};
use muster_storage::{ColumnSchema, FileId, IndexSchema, TableSchema};
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
    /// True if each row of the view is one row of its tables (manual 27.5.3).
    #[serde(default)]
    pub updatable: bool,
}

/// Parts of a definition that only SHOW CREATE TABLE and its like need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableExtras {
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: Vec<usize>,
    /// Comments of indexes by the number of the index.
    pub index_comments: BTreeMap<u32, String>,
}

/// A stored table: its definition and its files. What is known of the rows in them is kept beside the files.
#[derive(Debug, Clone, PartialEq)]
pub struct TableEntry {
    pub def: Arc<TableDef>,
    pub extras: TableExtras,
    /// One per index, in the order of `def.indexes`.
    pub files: Vec<FileId>,
    pub next_index_id: u32,
    /// Microseconds since 1970-01-01 UTC.
    pub created: i64,
}

impl TableEntry {
    /// The table as storage knows it.
    pub fn schema(&self) -> TableSchema {
        schema_of(&self.def)
    }

    /// Returns the same table on other files.
    pub fn with_files(&self, files: Vec<FileId>) -> TableEntry {
        TableEntry { files, ..self.clone() }
    }

    /// The file of the clustered tree. It names what belongs to the table's rows.
    pub fn clustered_file(&self) -> FileId {
        self.files.first().copied().unwrap_or(FileId(0))
    }

    /// Position of the AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.def.columns.iter().position(|c| c.auto_increment)
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

    /// Puts a new version of a table in place, provided the current one still is `old`, from which `new` was made.
    /// Error 1412 otherwise: whatever changed meanwhile, a name or a comment, would be undone.
    pub fn replace_table(&mut self, old: &TableEntry, new: TableEntry) -> Result<()> {
        let (database, name) = (&old.def.database, &old.def.name);
        let current = self.table(database, name)?;
        if **current != *old {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(comment: &str) -> TableEntry {
        let def = TableDef {
            id: TableId(1),
            database: "d".into(),
            name: "t".into(),
            columns: Vec::new(),
            indexes: Vec::new(),
            collation: Collation::DEFAULT,
            comment: comment.into(),
        };
        let files = vec![FileId(1)];
        TableEntry { def: Arc::new(def), extras: TableExtras::default(), files, next_index_id: 1, created: 0 }
    }

    #[test]
    fn a_table_is_replaced_only_as_it_was() {
        let tables = BTreeMap::from([("t".to_owned(), Arc::new(entry("old")))]);
        let schema = Schema { collation: Collation::DEFAULT, tables, views: BTreeMap::new() };
        let mut snapshot = Snapshot { next_table_id: 2, schemas: BTreeMap::from([("d".to_owned(), schema)]) };
        snapshot.replace_table(&entry("old"), entry("new")).unwrap();
        // Made from the table as it was before its comment changed.
        let late = TableEntry { files: vec![FileId(1), FileId(2)], ..entry("old") };
        let e = snapshot.replace_table(&entry("old"), late).unwrap_err();
        assert_eq!(e.code, ErrorCode::TableDefChanged);
        assert_eq!(snapshot.table("d", "t").unwrap().def.comment, "new");
    }
}
