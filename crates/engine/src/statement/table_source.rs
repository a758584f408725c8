//! Where the operators of a query get the rows of its tables: open files, or rows that are made when they are read.

use super::StatementTables;
use muster_algebra::{TableDef, TableId};
use muster_exec::{TableSource, VirtualRows};
use muster_storage::Table;
use muster_types::Result;
use std::sync::Arc;

impl TableSource for StatementTables {
    fn storage(&self, table: TableId) -> Result<Arc<Table>> {
        self.set.storage(table, self.context.tables.store())
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
        let rows = Arc::new(self.context.virtual_tables.rows(table, self.set.stored(), &self.context)?);
        made.insert(table.id, rows.clone());
        Ok(Some(rows))
    }
}
