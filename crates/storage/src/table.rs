//! A table: a clustered tree and its secondary trees.

use crate::{
    FileId, Result, Store, TableSchema, TableStatistics,
    tree::{Tree, TreeLayout},
};
use muster_types::KeyRange;
use parking_lot::Mutex;
use std::sync::Arc;

/// Ranges that an estimate descends to; the rest is taken to be like them.
const DIVES_MAX: usize = 200;

/// An open table. Cheap to share; files marked as dropped go away with the last reference.
pub struct Table {
    store: Arc<Store>,
    schema: TableSchema,
    files: Vec<FileId>,
    statistics: TableStatistics,
    trees: Vec<Tree>,
    /// Files to delete with the last reference.
    dropped: Mutex<Vec<FileId>>,
}

impl Table {
    /// Opens a table on its files, one per index, in the schema's order.
    pub(crate) fn open(
        store: Arc<Store>,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        let trees = (files.iter().enumerate())
            .map(|(index, file)| {
                let layout = Arc::new(TreeLayout::new(&schema, index));
                Tree::open(Arc::clone(store.buffer_pool()), store.open_file(*file)?, layout)
            })
            .collect::<Result<_>>()?;
        Ok(Arc::new(Table { store, schema, files, statistics, trees, dropped: Mutex::default() }))
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

    /// The tree of an index, by its position in the schema.
    pub fn tree(&self, index: usize) -> &Tree {
        &self.trees[index]
    }

    /// Rows in these ranges of an index, estimated by descending to both ends.
    pub fn estimate_rows(&self, index: usize, ranges: &[KeyRange]) -> Result<u64> {
        let tree = self.tree(index);
        let counters = self.store.counters();
        let dives = ranges.len().min(DIVES_MAX);
        let mut rows = 0;
        for range in &ranges[..dives] {
            if let Some(bytes) = tree.layout().key.byte_range(range)? {
                rows += tree.count_range(&bytes, counters)?;
            }
        }
        Ok(if dives < ranges.len() { rows * ranges.len() as u64 / dives as u64 } else { rows })
    }

    /// Deletes these files when the last reference to the table is gone (DROP, TRUNCATE, a load that replaced them).
    pub fn remove_files_when_unused(&self, files: &[FileId]) {
        self.dropped.lock().extend_from_slice(files);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for id in self.dropped.get_mut().drain(..) {
            let deleted = match self.files.iter().position(|f| *f == id) {
                Some(i) => self.store.delete_file(self.trees[i].file()),
                None => self.store.open_file(id).and_then(|file| self.store.delete_file(&file)),
            };
            if let Err(e) = deleted {
                // What stays is removed when the directory is next opened.
                tracing::warn!("dropped table file: {e}");
            }
        }
    }
}
