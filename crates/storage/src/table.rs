//! A table: a clustered tree and its secondary trees.

use crate::{FileId, Result, Store, TableSchema, TableStatistics};
use muster_types::KeyRange;
use std::sync::Arc;

/// An open table. Cheap to share; files marked as dropped go away with the last reference.
pub struct Table {
    store: Arc<Store>,
    schema: TableSchema,
    files: Vec<FileId>,
    statistics: TableStatistics,
}

impl Table {
    /// Opens a table on its files, one per index, in the schema's order.
    pub(crate) fn open(
        store: Arc<Store>,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        Ok(Arc::new(Table { store, schema, files, statistics }))
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    pub fn files(&self) -> &[FileId] {
        &self.files
    }

    pub fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    /// Rows in these ranges of an index, estimated by descending to both ends.
    pub fn estimate_rows(&self, _index: usize, _ranges: &[KeyRange]) -> Result<u64> {
        todo!()
    }

    /// Deletes these files when the last reference to the table is gone (DROP, TRUNCATE, a load that replaced them).
    pub fn remove_files_when_unused(&self, _files: &[FileId]) {
        todo!()
    }
}
