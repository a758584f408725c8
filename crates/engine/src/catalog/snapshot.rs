//! One state of the catalog.

use muster_algebra::{ColumnDef, TableDef, TableId, ViewDef};
use muster_storage::{ColumnSchema, FileId, IndexSchema, RowLayouts, TableSchema};
use muster_types::{Collation, ErrorCode, Result, SqlError};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Views are numbered from here on, where no stored table gets to. Metadata locks know them by these numbers.
const FIRST_VIEW: TableId = TableId(1 << 61);

/// Returns true if a number is that of a view.
pub fn is_view(id: TableId) -> bool {
    id >= FIRST_VIEW && !id.is_virtual()
}

/// All databases. Names are exact, as MySQL's are where file names are (`lower_case_table_names` = 0).
#[derive(Clone, Default)]
pub struct Snapshot {
    pub next_table_id: u64,
    /// The views that were numbered since the start. Their numbers are not stored.
    numbered_views: u64,
    pub schemas: BTreeMap<String, Schema>,
}

/// One database.
#[derive(Clone)]
pub struct Schema {
    /// Default of new tables.
    pub collation: Collation,
    pub tables: BTreeMap<String, Arc<TableEntry>>,
    pub views: BTreeMap<String, Arc<ViewEntry>>,
    /// Tables that CREATE TABLE .. SELECT fills. Nobody else sees them, and the catalog's file does not have them:
    /// after a crash they are not there.
    pub unfinished: BTreeMap<String, Arc<TableEntry>>,
    /// Stored tables whose names a session's temporary tables have, in what that session sees.
    pub hidden: BTreeMap<String, Arc<TableEntry>>,
}

impl Schema {
    /// A database without tables.
    pub fn new(collation: Collation) -> Schema {
        let (tables, views, unfinished, hidden) = Default::default();
        Schema { collation, tables, views, unfinished, hidden }
    }

    /// The names that are taken, by tables and views.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.tables.keys().chain(self.views.keys()).chain(self.unfinished.keys())
    }

    /// Returns true if a name is taken, by a table or a view.
    pub fn has(&self, name: &str) -> bool {
        self.lock_id(name).is_some()
    }

    /// The number by which metadata locks know what has a name: a table, also one that is not finished, or a view.
    fn lock_id(&self, name: &str) -> Option<TableId> {
        let table = self.tables.get(name).or_else(|| self.unfinished.get(name));
        table.map(|entry| entry.def.id).or_else(|| self.views.get(name).map(|view| view.id))
    }
}

/// A view with the columns it had when it was made (what `information_schema` shows).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViewEntry {
    /// By which metadata locks know it, as long as the server runs. A view that is replaced keeps its number.
    #[serde(skip, default = "unnumbered_view")]
    pub id: TableId,
    pub def: Arc<ViewDef>,
    pub columns: Vec<ColumnDef>,
    /// True if each row of the view is one row of its tables (manual 27.5.3).
    #[serde(default)]
    pub updatable: bool,
}

fn unnumbered_view() -> TableId {
    FIRST_VIEW
}

/// Parts of a definition that only SHOW CREATE TABLE and its like need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableExtras {
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: Vec<usize>,
    /// Comments of indexes by the number of the index.
    pub index_comments: BTreeMap<u32, String>,
    /// Numbers of indexes whose definitions have USING.
    #[serde(default)]
    pub typed_indexes: BTreeSet<u32>,
    /// Numbers of indexes that were made for foreign keys, and go for others that begin with their columns.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub generated_indexes: BTreeSet<u32>,
    /// Options of the table that change nothing (`ROW_FORMAT`), by their words.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
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
    /// The layouts that rows of the clustered tree may have.
    pub layouts: Arc<RowLayouts>,
}

impl TableEntry {
    /// The table as storage knows it.
    pub fn schema(&self) -> TableSchema {
        TableSchema { layouts: self.layouts.clone(), ..schema_of(&self.def) }
    }

    /// Returns the same table on new files, whose rows have one layout, as in a table that was just made.
    pub fn with_files(&self, files: Vec<FileId>) -> TableEntry {
        TableEntry { files, layouts: Arc::default(), ..self.clone() }
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

/// The columns and indexes of a table as storage knows them, of which all rows have one layout.
pub fn schema_of(def: &TableDef) -> TableSchema {
    TableSchema {
        layouts: Default::default(),
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

    /// The entry of a definition that was looked up, of a table that is finished or not. Error 1146 when there is none.
    pub fn entry_of(&self, def: &TableDef) -> Result<&Arc<TableEntry>> {
        let schema = self.schema(&def.database)?;
        let others = [schema.unfinished.get(&def.name), schema.hidden.get(&def.name)];
        match others.into_iter().flatten().find(|entry| entry.def.id == def.id) {
            Some(entry) => Ok(entry),
            None => self.table(&def.database, &def.name),
        }
    }

    /// What a session sees that has these temporary tables: they stand in the places of stored ones.
    pub fn with_temporary(&self, temporary: &Snapshot) -> Snapshot {
        let mut seen = self.clone();
        for (database, own) in &temporary.schemas {
            // A database may have been dropped from under them.
            let schema = seen.schemas.entry(database.clone()).or_insert_with(|| Schema::new(own.collation));
            for (name, entry) in &own.tables {
                if let Some(stored) = schema.tables.insert(name.clone(), entry.clone()) {
                    schema.hidden.insert(name.clone(), stored);
                }
            }
            schema.unfinished.extend(own.unfinished.iter().map(|(name, entry)| (name.clone(), entry.clone())));
        }
        seen
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.schemas.values().flat_map(|s| s.tables.values().chain(s.hidden.values()))
    }

    /// Tables that CREATE TABLE .. SELECT fills.
    pub fn unfinished(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.schemas.values().flat_map(|s| s.unfinished.values())
    }

    /// All tables that have files.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.tables().chain(self.unfinished())
    }

    pub fn views(&self) -> impl Iterator<Item = &Arc<ViewEntry>> {
        self.schemas.values().flat_map(|s| s.views.values())
    }

    /// The number by which metadata locks know what has a name; `None`: nothing has it.
    pub fn lock_id(&self, database: &str, name: &str) -> Option<TableId> {
        self.schemas.get(database)?.lock_id(name)
    }

    /// The database and the name of what metadata locks know by a number.
    pub fn name_of(&self, id: TableId) -> Option<(&str, &str)> {
        if is_view(id) {
            let view = self.views().find(|view| view.id == id)?;
            return Some((&view.def.database, &view.def.name));
        }
        let table = self.all_tables().find(|entry| entry.def.id == id)?;
        Some((&table.def.database, &table.def.name))
    }

    /// Puts a new version of a table in place, which may have another name, provided the current one still is `old`,
    /// from which `new` was made. Errors: 1412 otherwise, since whatever changed meanwhile, a name or a comment, would
    /// be undone; 1050 if the other name is taken.
    pub fn replace_table(&mut self, old: &TableEntry, new: TableEntry) -> Result<()> {
        let (database, name) = (&old.def.database, &old.def.name);
        let current = self.table(database, name)?;
        if **current != *old {
            return Err(SqlError::new(
                ErrorCode::TableDefChanged,
                "Table definition has changed, please retry transaction",
            ));
        }
        let (to_database, to) = (new.def.database.clone(), new.def.name.clone());
        if (&to_database, &to) != (database, name) {
            if self.schema(&to_database)?.has(&to) {
                return Err(SqlError::table_exists(&to));
            }
            self.schema_mut(database)?.tables.remove(name);
        }
        self.schema_mut(&to_database)?.tables.insert(to, Arc::new(new));
        Ok(())
    }

    pub fn next_table_id(&mut self) -> TableId {
        self.next_table_id += 1;
        TableId(self.next_table_id)
    }

    pub fn next_view_id(&mut self) -> TableId {
        self.numbered_views += 1;
        TableId(FIRST_VIEW.0 + self.numbered_views)
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
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        let files = vec![FileId(1)];
        let (extras, layouts) = (TableExtras::default(), Arc::default());
        TableEntry { def: Arc::new(def), extras, files, next_index_id: 1, created: 0, layouts }
    }

    #[test]
    fn a_table_is_replaced_only_as_it_was() {
        let tables = BTreeMap::from([("t".to_owned(), Arc::new(entry("old")))]);
        let schema = Schema { tables, ..Schema::new(Collation::DEFAULT) };
        let schemas = BTreeMap::from([("d".to_owned(), schema)]);
        let mut snapshot = Snapshot { next_table_id: 2, schemas, ..Snapshot::default() };
        snapshot.replace_table(&entry("old"), entry("new")).unwrap();
        // Made from the table as it was before its comment changed.
        let late = TableEntry { files: vec![FileId(1), FileId(2)], ..entry("old") };
        let e = snapshot.replace_table(&entry("old"), late).unwrap_err();
        assert_eq!(e.code, ErrorCode::TableDefChanged);
        assert_eq!(snapshot.table("d", "t").unwrap().def.comment, "new");
    }
}
