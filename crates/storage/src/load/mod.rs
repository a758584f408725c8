//! Bulk loading: sorts, then builds every tree bottom-up into new files. The table stays as it was until the caller
//! swaps in the new files, so a load that fails changes nothing.
//!
//! ```text
//!   TableLoader::push -> clustered.rs   on a thread of its own: rows in order, or sorted, merged with the table's
//!   TableLoader::finish -> secondary.rs each index: its columns from the new clustered tree, sorted
//!     sort.rs, merge.rs, run_file.rs    external sort; row.rs: rows as bytes
//!     reader.rs                         a tree's columns, first row to last
//!     statistics.rs, hyper_log_log.rs, prefix_counts.rs, row_sampler.rs
//!   sample -> sample.rs               statistics anew, of some leaves of the trees
//!   histogram -> histogram.rs         the values of a column, of all rows
//! ```

mod clustered;
mod files;
mod histogram;
mod hyper_log_log;
mod merge;
mod prefix_counts;
mod reader;
mod row;
mod row_sampler;
mod run_file;
mod sample;
mod secondary;
mod sort;
mod statistics;

pub use histogram::histogram;
pub use sample::sample;

use crate::{
    FileId, IndexStats, Result, StorageError, Table, TableSchema, TableStatistics,
    key::cut_text,
    tree::{Tree, TreeLayout},
    value_at,
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use clustered::{Clustered, ClusteredBuild, ClusteredOptions};
use files::NewFiles;
use muster_types::Value;
use reader::LoadSource;
use secondary::IndexBuilder;
use sort::SortOptions;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

/// Batches on their way to the thread that builds the clustered tree.
const BATCHES_WAITING: usize = 4;

/// The action for a row whose primary or unique key is already there.
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
    /// Bytes of memory for sorting; beyond them, runs are written to `temp_dir`.
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
    /// With [`DuplicatePolicy::Ignore`], the keys of rows that were left out, as the texts of their values: the first
    /// ones in the order of the primary key.
    pub ignored: Vec<Vec<String>>,
}

/// Takes rows, then builds. Rows that the table already has are kept.
///
/// A unique secondary index whose key comes twice is always an error: only primary keys are ignored or replaced.
/// Dropping the loader without [`TableLoader::finish`] removes what it wrote.
pub struct TableLoader {
    table: Arc<Table>,
    options: LoadOptions,
    layout: Arc<TreeLayout>,
    files: Arc<NewFiles>,
    /// The hidden row number of the next row, in tables without a primary key.
    next_row_number: i64,
    pushed: u64,
    /// `None` behind the last batch tells the thread that all rows have come.
    batches: Option<SyncSender<Option<Vec<ArrayRef>>>>,
    thread: Option<JoinHandle<Result<Clustered>>>,
}

impl TableLoader {
    pub fn new(table: Arc<Table>, options: LoadOptions) -> Result<TableLoader> {
        let layout = Arc::new(TreeLayout::new(&table.schema().of_new_rows(), 0));
        let old = LoadSource::Table { table: Arc::clone(&table), index: 0 };
        let next_row_number = (old.file().header().next_row_id as i64).max(1);
        let files = Arc::new(NewFiles::new(Arc::clone(&table)));
        let build_options = ClusteredOptions {
            sort: SortOptions {
                memory_bytes: options.memory_bytes,
                temp_dir: options.temp_dir.clone(),
                progress: Arc::clone(&options.progress),
            },
            duplicates: options.duplicates,
            pool: Arc::clone(table.open_files().buffer_pool()),
            counters: Arc::clone(table.counters()),
            files: Arc::clone(&files),
        };
        let old = (!table.is_empty()?).then_some(old);
        let mut build = ClusteredBuild::new(Arc::clone(&layout), old, build_options)?;
        let (batches, incoming) = sync_channel::<Option<Vec<ArrayRef>>>(BATCHES_WAITING);
        let thread = std::thread::spawn(move || {
            for columns in incoming {
                match columns {
                    Some(columns) => build.push(columns)?,
                    None => return build.finish(),
                }
            }
            // The loader went away.
            Err(StorageError::Interrupted)
        });
        let (batches, thread) = (Some(batches), Some(thread));
        Ok(TableLoader { table, options, layout, files, next_row_number, pushed: 0, batches, thread })
    }

    /// Adds rows: all columns in table order, Arrow types as [`muster_types::SqlType`] documents. NULLs in NOT NULL
    /// columns and texts beyond their length were dealt with by the caller.
    ///
    /// Errors: cancelled, I/O, a full disk; they may come from rows pushed before. After one the load is over.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_columns() != self.table.schema().columns.len() {
            return Err(StorageError::WrongType { value: format!("a batch of {} columns", batch.num_columns()) });
        }
        if self.options.progress.cancelled.load(Relaxed) {
            return Err(StorageError::Interrupted);
        }
        let rows = batch.num_rows() as i64;
        if rows == 0 {
            return Ok(());
        }
        let mut columns = batch.columns().to_vec();
        if self.layout.row_number().is_some() {
            columns.push(Arc::new(Int64Array::from_iter_values(self.next_row_number..self.next_row_number + rows)));
            self.next_row_number += rows;
        }
        self.pushed += rows as u64;
        self.options.progress.rows_read.fetch_add(rows as u64, Relaxed);
        self.send(Some(columns))
    }

    fn send(&mut self, message: Option<Vec<ArrayRef>>) -> Result<()> {
        match &self.batches {
            Some(batches) if batches.send(message).is_ok() => Ok(()),
            // The thread is at its end: it has the error.
            _ => self.join().and(Err(StorageError::Interrupted)),
        }
    }

    fn join(&mut self) -> Result<Clustered> {
        self.batches = None;
        let thread = self.thread.take().ok_or(StorageError::Interrupted)?;
        thread.join().map_err(|_| thread_died())?
    }

    /// Sorts what is left, merges with the table's rows, builds all trees. On error the new files are removed.
    pub fn finish(mut self) -> Result<LoadedFiles> {
        self.send(None)?;
        let clustered = self.join()?;
        let schema = self.table.schema().of_new_rows();
        let secondary: Vec<usize> = (1..schema.indexes.len()).collect();
        let pool = Arc::clone(self.table.open_files().buffer_pool());
        let tree = Tree::open(pool, None, Arc::clone(&clustered.file), Arc::clone(&self.layout))?;
        let built = index_builder(&self.table, LoadSource::Built(Arc::new(tree)), &schema, &self.files, &self.options)
            .build_all(&secondary)?;
        let (mut files, mut indexes) = (vec![clustered.file.id()], vec![clustered.index]);
        for (file, stats) in built {
            files.push(file.id());
            indexes.push(stats);
        }
        self.files.keep();
        let ignored = if self.options.duplicates == DuplicatePolicy::Ignore { clustered.duplicates.rows } else { 0 };
        Ok(LoadedFiles {
            files,
            statistics: TableStatistics {
                rows: clustered.rows,
                columns: clustered.columns,
                indexes,
                distribution: Some(Arc::new(clustered.distribution)),
            },
            loaded: self.pushed - ignored,
            duplicates: clustered.duplicates.rows,
            ignored: clustered.duplicates.entries,
        })
    }
}

impl Drop for TableLoader {
    fn drop(&mut self) {
        // The thread must not make files any more when they are removed.
        if self.thread.is_some() {
            let _ = self.join();
        }
    }
}

fn index_builder<'a>(
    table: &Table,
    clustered: LoadSource,
    schema: &'a TableSchema,
    files: &'a NewFiles,
    options: &LoadOptions,
) -> IndexBuilder<'a> {
    IndexBuilder {
        clustered,
        schema,
        files,
        memory_bytes: options.memory_bytes,
        temp_dir: options.temp_dir.clone(),
        threads: options.threads,
        progress: Arc::clone(&options.progress),
        counters: Arc::clone(table.counters()),
    }
}

/// Builds only the tree of `schema.indexes[index]` from the clustered tree of `table` (CREATE INDEX); `schema` is the
/// table's schema with the new index appended. On error nothing is left of it.
pub fn build_index(
    table: &Arc<Table>,
    schema: &TableSchema,
    index: usize,
    options: &LoadOptions,
) -> Result<(FileId, IndexStats)> {
    let clustered = LoadSource::Table { table: Arc::clone(table), index: 0 };
    let files = NewFiles::new(Arc::clone(table));
    let built = index_builder(table, clustered, schema, &files, options).build_all(&[index])?;
    files.keep();
    let built = built.into_iter().next().map(|(file, stats)| (file.id(), stats));
    built.ok_or(StorageError::Interrupted)
}

/// The error of a key that is there twice. `columns`: the tree's stored columns.
fn duplicate(layout: &TreeLayout, columns: &[ArrayRef], row: usize) -> StorageError {
    StorageError::Duplicate { entry: entry_texts(layout, columns, row), index: layout.index }
}

/// The texts of the values of a row's key. `columns`: the tree's stored columns.
fn entry_texts(layout: &TreeLayout, columns: &[ArrayRef], row: usize) -> Vec<String> {
    let text = |part: &crate::key::KeyPartCodec| {
        let ty = &layout.columns[part.column].ty;
        match value_at(&columns[part.column], row) {
            Ok(Value::Text(text)) => cut_text(&text, part.prefix).to_string(),
            Ok(value) => ty.entry_text(&value),
            Err(e) => e.message,
        }
    };
    layout.key.parts[..layout.declared_parts].iter().map(text).collect()
}

fn thread_died() -> StorageError {
    StorageError::io("load", std::io::Error::other("a thread of the load died"))
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
