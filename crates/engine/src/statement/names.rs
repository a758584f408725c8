//! Databases, tables and views as one statement sees them, with statistics for the optimizer.

use super::StatementContext;
use crate::{
    accounts::{Privilege, Rights},
    catalog::{Snapshot, TableEntry},
    system_schema,
    tables::TableSet,
};
use muster_algebra::{Catalog, ColumnStatistics, Definer, IndexStatistics, Statistics, TableDef, TableId, ViewDef};
use muster_exec::{TableSource, VirtualRows};
use muster_storage::{Table, TableStatistics};
use muster_types::{KeyRange, Result, SqlError};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// The tables that a statement resolves names with. They keep the state of all tables as long as the statement runs.
pub struct StatementTables {
    set: Arc<TableSet>,
    /// Whose rights count, and who decides what `information_schema` shows.
    context: Arc<StatementContext>,
    pool_share: OnceLock<f64>,
    /// Rows of `information_schema`'s tables that were read.
    virtual_rows: Mutex<HashMap<TableId, VirtualRows>>,
}

impl StatementTables {
    pub fn new(context: &Arc<StatementContext>) -> Arc<StatementTables> {
        let set = context.database.tables().current();
        Arc::new(StatementTables {
            set,
            context: context.clone(),
            pool_share: OnceLock::new(),
            virtual_rows: Mutex::default(),
        })
    }

    pub fn definitions(&self) -> &Snapshot {
        &self.set.definitions
    }

    /// Share of all tables' rows that the buffer pool has room for.
    fn pool_share(&self) -> f64 {
        *self.pool_share.get_or_init(|| {
            let pages = |entry: &Arc<TableEntry>| {
                let content = self.set.content(entry.def.id).ok();
                content.and_then(|c| c.statistics.indexes.first()).map_or(0, |i| i.leaf_pages)
            };
            let all: u64 = self.definitions().tables().map(pages).sum();
            let frames = self.context.database.buffer_pool().frame_count();
            (frames as f64 / all.max(1) as f64).min(1.0)
        })
    }

    /// Statistics of a stored table.
    fn statistics(&self, table: &TableDef) -> Option<&TableStatistics> {
        self.set.content(table.id).ok().map(|content| &content.statistics)
    }

    /// Error 1142 unless the account may read a table or a view: the statement's own, or the definer of the view that
    /// it reads.
    fn check_select(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<()> {
        let check = |rights: &Rights| rights.check_table(database, name, Privilege::Select, "SELECT");
        match definer {
            None => check(&self.context.rights),
            Some(definer) => check(&self.context.rights.of_definer(definer)?),
        }
    }
}

impl Catalog for StatementTables {
    fn check_database(&self, database: &str) -> Result<()> {
        if system_schema::is_name(database) {
            return Ok(());
        }
        self.definitions().schema(database).map(|_| ())
    }

    /// Looks a table up. An account that may not read tables of the database does not learn whether there is one.
    fn table(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        if system_schema::is_name(database) {
            let table = self.context.virtual_tables.table(name);
            return table.map(Some).ok_or_else(|| unknown_information_schema_table(name));
        }
        self.check_select(database, name, definer)?;
        Ok(self.definitions().schema(database)?.tables.get(name).map(|e| e.def.clone()))
    }

    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        if system_schema::is_name(database) {
            return Ok(None);
        }
        self.check_select(database, name, definer)?;
        Ok(self.definitions().schema(database)?.views.get(name).map(|v| v.def.clone()))
    }
}

fn unknown_information_schema_table(name: &str) -> SqlError {
    let message = format!("Unknown table '{}' in information_schema", name.to_uppercase());
    SqlError::new(muster_types::ErrorCode::UnknownTable, message)
}

impl Statistics for StatementTables {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        self.statistics(table).map(|s| s.rows as f64)
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        let statistics = self.statistics(table)?;
        let c = statistics.columns.get(column)?;
        Some(ColumnStatistics {
            distinct: c.distinct,
            null_share: if statistics.rows == 0 { 0.0 } else { c.null_count as f64 / statistics.rows as f64 },
            min: c.min.clone(),
            max: c.max.clone(),
        })
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        let i = self.statistics(table)?.indexes.get(index)?;
        Some(IndexStatistics {
            distinct: i.distinct.clone(),
            leaf_pages: i.leaf_pages as f64,
            height: i.height,
            resident_share: self.pool_share().max(self.set.resident_share(table.id, index)),
        })
    }

    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64> {
        let storage = self.set.storage(table.id, self.context.database.tables().store()).ok()?;
        storage.estimate_rows(index, ranges).ok().map(|rows| rows as f64)
    }
}

impl TableSource for StatementTables {
    fn storage(&self, table: TableId) -> Result<Arc<Table>> {
        self.set.storage(table, self.context.database.tables().store())
    }

    /// A statement that reads a table in several places, or in a subquery that runs several times, sees the same rows.
    fn virtual_rows(&self, table: &TableDef) -> Result<Option<VirtualRows>> {
        if !table.id.is_virtual() {
            return Ok(None);
        }
        let mut made = self.virtual_rows.lock();
        if let Some(rows) = made.get(&table.id) {
            return Ok(Some(rows.clone()));
        }
        let rows = Arc::new(self.context.virtual_tables.rows(table, &self.set, &self.context)?);
        made.insert(table.id, rows.clone());
        Ok(Some(rows))
    }
}
