//! The catalog as one statement sees it: a snapshot, `information_schema`, and statistics.

use crate::{
    accounts::{Access, Privilege},
    catalog::{FIRST_VIRTUAL_TABLE, Snapshot, TableEntry},
    virtual_tables::information_schema::{self, Viewpoint},
};
use muster_algebra::{Catalog, ColumnStatistics, Definer, IndexStatistics, Statistics, TableDef, TableId, ViewDef};
use muster_storage::{Store, Table};
use muster_types::{KeyRange, Result, SqlError, Value};
use std::sync::{Arc, OnceLock};

/// What a statement resolves names with. Keeps its snapshot alive as long as the statement runs.
pub struct StatementTables {
    pub snapshot: Arc<Snapshot>,
    pub store: Arc<Store>,
    /// Who looks: decides what `information_schema` shows.
    pub viewpoint: Arc<dyn Viewpoint>,
    pool_share: OnceLock<f64>,
}

impl StatementTables {
    pub fn new(snapshot: Arc<Snapshot>, store: Arc<Store>, viewpoint: Arc<dyn Viewpoint>) -> StatementTables {
        StatementTables { snapshot, store, viewpoint, pool_share: OnceLock::new() }
    }

    /// Share of all tables' rows that the buffer pool has room for.
    fn pool_share(&self) -> f64 {
        *self.pool_share.get_or_init(|| {
            let pages = |entry: &Arc<TableEntry>| entry.statistics.indexes.first().map_or(0, |i| i.leaf_pages);
            let all: u64 = self.snapshot.tables().map(pages).sum();
            (self.store.buffer_pool().frame_count() as f64 / all.max(1) as f64).min(1.0)
        })
    }

    fn entry(&self, table: &TableDef) -> Option<&Arc<TableEntry>> {
        self.snapshot.schemas.get(&table.database)?.tables.get(&table.name).filter(|e| e.def.id == table.id)
    }
}

/// [`Catalog::check_database`] of a snapshot.
pub fn check_database(snapshot: &Snapshot, database: &str) -> Result<()> {
    if information_schema::is_name(database) {
        return Ok(());
    }
    snapshot.schema(database).map(|_| ())
}

/// Whether who looks may read a table or a view: he himself, or the definer of the view that he reads.
fn check_select(view: &dyn Viewpoint, database: &str, name: &str, definer: Option<&Definer>) -> Result<()> {
    let check = |access: &Access| access.check_table(database, name, Privilege::Select, "SELECT");
    match definer {
        None => check(view.access()),
        Some(definer) => check(&view.access().of_definer(definer)?),
    }
}

/// [`Catalog::table`] of a snapshot. Who may not read tables of the database does not learn whether there is one.
pub fn table(
    snapshot: &Snapshot,
    view: &dyn Viewpoint,
    database: &str,
    name: &str,
    definer: Option<&Definer>,
) -> Result<Option<Arc<TableDef>>> {
    if information_schema::is_name(database) {
        return match information_schema::table(name) {
            Some(def) => Ok(Some(def)),
            None => Err(unknown_information_schema_table(name)),
        };
    }
    check_select(view, database, name, definer)?;
    Ok(snapshot.schema(database)?.tables.get(name).map(|e| e.def.clone()))
}

/// [`Catalog::view`] of a snapshot.
pub fn view(
    snapshot: &Snapshot,
    view: &dyn Viewpoint,
    database: &str,
    name: &str,
    definer: Option<&Definer>,
) -> Result<Option<Arc<ViewDef>>> {
    if information_schema::is_name(database) {
        return Ok(None);
    }
    check_select(view, database, name, definer)?;
    Ok(snapshot.schema(database)?.views.get(name).map(|v| v.def.clone()))
}

/// [`Catalog::virtual_rows`] of a snapshot.
pub fn virtual_rows(snapshot: &Snapshot, view: &dyn Viewpoint, table: &TableDef) -> Option<Result<Vec<Vec<Value>>>> {
    (table.id >= FIRST_VIRTUAL_TABLE).then(|| information_schema::rows(table, snapshot, view))
}

impl Catalog for StatementTables {
    fn check_database(&self, database: &str) -> Result<()> {
        check_database(&self.snapshot, database)
    }

    fn table(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        table(&self.snapshot, &*self.viewpoint, database, name, definer)
    }

    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        view(&self.snapshot, &*self.viewpoint, database, name, definer)
    }

    fn virtual_rows(&self, table: &TableDef) -> Option<Result<Vec<Vec<Value>>>> {
        virtual_rows(&self.snapshot, &*self.viewpoint, table)
    }
}

fn unknown_information_schema_table(name: &str) -> SqlError {
    let message = format!("Unknown table '{}' in information_schema", name.to_uppercase());
    SqlError::new(muster_types::ErrorCode::UnknownTable, message)
}

impl Statistics for StatementTables {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        self.entry(table).map(|e| e.statistics.rows as f64)
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        let statistics = &self.entry(table)?.statistics;
        let c = statistics.columns.get(column)?;
        Some(ColumnStatistics {
            distinct: c.distinct,
            null_share: if statistics.rows == 0 { 0.0 } else { c.null_count as f64 / statistics.rows as f64 },
            min: c.min.clone(),
            max: c.max.clone(),
        })
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        let entry = self.entry(table)?;
        let i = entry.statistics.indexes.get(index)?;
        Some(IndexStatistics {
            distinct: i.distinct.clone(),
            leaf_pages: i.leaf_pages as f64,
            height: i.height,
            resident_share: self.pool_share().max(entry.resident_share(index)),
        })
    }

    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64> {
        let storage = self.entry(table)?.storage(&self.store).ok()?;
        storage.estimate_rows(index, ranges).ok().map(|rows| rows as f64)
    }
}

impl muster_exec::TableSource for StatementTables {
    fn storage(&self, table: TableId) -> Result<Arc<Table>> {
        let entry = self.snapshot.by_id(table);
        entry.ok_or_else(|| SqlError::internal(format!("no table {}", table.0)))?.storage(&self.store)
    }
}
