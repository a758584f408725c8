//! Bulk loading: sorts, then builds every tree bottom-up into new files. The table stays as it was until the caller
//! swaps in the new files, so a load that fails changes nothing.

mod cell;
mod hyper_log_log;
mod merge;
mod row;
mod run_file;
mod sort;
mod statistics;

use crate::{FileId, Result, Table, TableStatistics};
use arrow_array::RecordBatch;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

/// What to do with a row whose primary or unique key is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// Fail with [`crate::StorageError::Duplicate`].
    Error,
    /// Keep the first (LOAD DATA .. IGNORE).
    Ignore,
    /// Keep the last (LOAD DATA .. REPLACE).
    Replace,
}

/// Progress of a load, read by others while it runs.
#[derive(Debug, Default)]
pub struct LoadProgress {
    pub rows_read: AtomicU64,
    /// Rows and index entries written.
    pub entries_written: AtomicU64,
    /// Set to stop the load with [`crate::StorageError::Interrupted`].
    pub cancelled: AtomicBool,
}

#[derive(Clone)]
pub struct LoadOptions {
    /// For sorting; beyond it, runs go to `temp_dir`.
    pub memory_bytes: usize,
    pub temp_dir: PathBuf,
    pub threads: usize,
    pub duplicates: DuplicatePolicy,
    pub progress: Arc<LoadProgress>,
}

/// Files that a load has written: one per index, in the schema's order, all synced.
pub struct LoadedFiles {
    pub files: Vec<FileId>,
    pub statistics: TableStatistics,
    /// Rows loaded by this load, and rows dropped or replaced as duplicates.
    pub loaded: u64,
    pub duplicates: u64,
}

/// Takes rows, then builds. Rows that the table already has are kept.
pub struct TableLoader {
    _table: Arc<Table>,
}

impl TableLoader {
    pub fn new(_table: Arc<Table>, _options: LoadOptions) -> Result<TableLoader> {
        todo!()
    }

    /// Adds rows: all columns in table order, Arrow types as [`muster_types::SqlType`] documents. NULLs in NOT NULL
    /// columns and texts beyond their length were dealt with by the caller.
    pub fn push(&mut self, _batch: &RecordBatch) -> Result<()> {
        todo!()
    }

    /// Sorts what is left, merges with the table's rows, builds all trees. On error the new files are removed.
    pub fn finish(self) -> Result<LoadedFiles> {
        todo!()
    }
}

/// Builds only the tree of `schema.indexes[index]` from the clustered tree of `table` (CREATE INDEX); `schema` is the
/// table's schema with the new index appended.
pub fn build_index(
    _table: &Arc<Table>,
    _schema: &crate::TableSchema,
    _index: usize,
    _options: &LoadOptions,
) -> Result<(FileId, crate::IndexStats)> {
    todo!()
}
