//! A table: a clustered tree and its secondary trees.

#[cfg(test)]
mod change_bench;
mod changed_table;
mod changes;
mod insert_batch;
mod lock_data;
mod open_directory;
mod versions;

pub(crate) use open_directory::OpenDirectory;

use crate::{
    Counters, FileId, ReadView, Result, StorageError, TableSchema, TableStatistics, arrow_type,
    file::{Held, RowGuards},
    key::{ByteRange, Keys},
    mutex::Mutex,
    open_files::OpenFiles,
    transaction::{ChangedTable, TransactionSystem, UndoRecords},
    tree::{ColumnSource, History, Tree, TreeLayout, UndoSource},
};
use arrow_array::{Array, ArrayRef};
use muster_types::{KeyRange, Value, collation::TextTraits};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Ranges that an estimate descends to; the rest is taken to be like them.
const DIVES_MAX: usize = 200;

/// An open table. Cheap to share; files marked as dropped go away with the last reference.
pub struct Table {
    schema: TableSchema,
    files: Vec<FileId>,
    /// What is known of the rows; replaced as a whole.
    statistics: RwLock<Arc<TableStatistics>>,
    /// Rows that were inserted, changed and deleted since the statistics were made, those of statements that were
    /// undone among them.
    changed_rows: AtomicU64,
    /// Traits of the texts of each column, as [`TextTraits::to_bits`]; empty: nothing is known. They follow the rows.
    texts: Box<[AtomicU64]>,
    trees: Vec<Arc<Tree>>,
    /// Files to delete when this goes.
    dropped: Mutex<Vec<FileId>>,
    /// Goes last: with it the directory may be closed.
    directory: OpenDirectory,
}

impl Table {
    /// Opens a table on its files, one per index, in the schema's order.
    pub(crate) fn open(
        directory: OpenDirectory,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        let undo = UndoRecords::of(&directory.system);
        Table::open_with(directory, schema, files, statistics, Some(undo))
    }

    /// Opens a table whose versions before the newest ones are found in `undo`.
    pub(crate) fn open_with(
        directory: OpenDirectory,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
        undo: Option<Arc<dyn UndoSource>>,
    ) -> Result<Arc<Table>> {
        files.first().map_or(Ok(()), |clustered| directory.system.check_not_given_up(*clustered))?;
        let OpenDirectory { system, files: open_files, .. } = &directory;
        let mut trees: Vec<Arc<Tree>> = Vec::with_capacity(files.len());
        for (index, id) in files.iter().enumerate().take(schema.indexes.len()) {
            let file = open_files.open_file(*id)?;
            let layout = Arc::new(TreeLayout::new(&schema, index));
            if file.index_id() != layout.index_id {
                let reason = format!("the file is of index {}, not {}", file.index_id(), layout.index_id);
                return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: 0, reason });
            }
            let (pool, log) = (Arc::clone(open_files.buffer_pool()), Arc::clone(system.log()));
            let tree = Arc::new(Tree::open(pool, Some(log), file, layout)?);
            tree.set_history(History { undo: undo.clone(), clustered: trees.first().cloned() });
            tree.set_locks(Arc::clone(system.transactions().locks()));
            tree.follow_horizon(Arc::clone(system.transactions().horizon()));
            trees.push(tree);
        }
        if trees.is_empty() || trees.len() != schema.indexes.len() || trees.len() != files.len() {
            let reason = format!("{} files for {} indexes", files.len(), schema.indexes.len());
            return Err(StorageError::Corrupt { path: open_files.directory().to_path_buf(), page: 0, reason });
        }
        trees[0].file().row_guards().begin_layout(schema.layouts.number)?;
        let texts = statistics.columns.iter().map(|column| AtomicU64::new(column.text.to_bits())).collect();
        let table = Arc::new(Table {
            schema,
            files,
            statistics: RwLock::new(Arc::new(statistics)),
            changed_rows: AtomicU64::new(0),
            texts,
            trees,
            dropped: Mutex::default(),
            directory,
        });
        let changed = Arc::clone(&table) as Arc<dyn ChangedTable>;
        table.system().transactions().register(&changed);
        Ok(table)
    }

    /// The counters of the directory.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.directory.counters
    }

    /// The transactions of the directory.
    pub(crate) fn system(&self) -> &Arc<TransactionSystem> {
        &self.directory.system
    }

    /// The files of the directory.
    pub(crate) fn open_files(&self) -> &Arc<OpenFiles> {
        &self.directory.files
    }

    /// The reference that keeps the directory open.
    #[cfg(test)]
    pub(crate) fn kept_open(&self) -> &crate::open_files::KeptOpen {
        &self.directory._open
    }

    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    pub fn files(&self) -> &[FileId] {
        &self.files
    }

    pub fn statistics(&self) -> Arc<TableStatistics> {
        Arc::clone(&self.statistics.read())
    }

    /// Puts other statistics in the place of those that are known. `changed_rows`: as many as [`Table::changed_rows`]
    /// said before they were made; these are no longer counted.
    pub fn replace_statistics(&self, statistics: TableStatistics, changed_rows: u64) {
        *self.statistics.write() = Arc::new(statistics);
        let rest = |now: u64| Some(now.saturating_sub(changed_rows));
        // Such an update does not fail.
        let _ = self.changed_rows.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }

    /// Rows that were inserted, changed and deleted since the statistics were made.
    pub fn changed_rows(&self) -> u64 {
        self.changed_rows.load(Ordering::Relaxed)
    }

    /// Counts rows that have changed.
    pub fn note_changed_rows(&self, rows: u64) {
        self.changed_rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Says that the tree of an index is right for views only that see a moment ([`crate::Store::moment_of_views`]);
    /// others are told `SnapshotTooOld`.
    pub fn set_since(&self, index: usize, moment: u64) {
        self.trees[index].set_since(moment);
    }

    /// The traits of all texts of a column that anybody can see; `None`: nothing is known of them.
    pub fn text_traits(&self, column: usize) -> Option<TextTraits> {
        self.texts.get(column).map(|bits| TextTraits::from_bits(bits.load(Ordering::Acquire)))
    }

    /// Notes that texts with these traits may come. Whoever adds one notes that before, and before that makes sure that
    /// the traits with which the table is opened next have them.
    pub fn widen_text_traits(&self, column: usize, traits: TextTraits) {
        if let Some(bits) = self.texts.get(column) {
            bits.fetch_or(traits.to_bits(), Ordering::AcqRel);
        }
    }

    /// The trees, in the schema's order of indexes.
    pub fn trees(&self) -> &[Arc<Tree>] {
        &self.trees
    }

    /// The tree of an index, by its position in the schema.
    pub fn tree(&self, index: usize) -> &Tree {
        &self.trees[index]
    }

    /// Rows now; about as many after a crash.
    pub fn row_count(&self) -> u64 {
        self.trees[0].row_count()
    }

    /// Returns true if there is no row. [`Table::row_count`] is an estimate after a crash, and does not tell.
    pub fn is_empty(&self) -> Result<bool> {
        let all = ByteRange { lower: Vec::new(), upper: None };
        Ok(self.stored_row(all, &ReadView::latest(), self.counters())?.is_none())
    }

    /// Rows in these ranges of an index, from the counts that two descents per range see.
    pub fn estimate_rows(&self, index: usize, ranges: &[KeyRange]) -> Result<u64> {
        // Estimates are the optimizer's work, not the query's.
        let counters = self.counters();
        let tree = &self.trees[index];
        let dives = ranges.len().min(DIVES_MAX);
        let mut rows = 0;
        // Spread over all of them: neighbours are alike.
        for range in (0..dives).map(|i| &ranges[i * ranges.len() / dives]) {
            if let Some(bytes) = tree.layout().key.byte_range(range)? {
                rows += tree.count_range(&bytes, counters)?;
            }
        }
        Ok(if dives < ranges.len() { rows * ranges.len() as u64 / dives as u64 } else { rows })
    }

    /// Beginnings of an index's keys for [`crate::Lookup`]: `arrays` holds the values of the leading parts, one array
    /// per part, of equal length, with the Arrow type that the column's type documents. Values are cut to the
    /// prefix of prefix parts. NULL is a value of its own here: leave such rows out for `=`. Errors: `WrongType` for
    /// other types, more arrays than parts, and for a NULL where the column has none.
    pub fn lookup_keys(&self, index: usize, arrays: &[ArrayRef]) -> Result<Keys> {
        let wrong = |value: String| Err(StorageError::WrongType { value });
        let Some(tree) = self.trees.get(index) else { return wrong(format!("index {index}")) };
        let layout = tree.layout();
        if arrays.is_empty() || arrays.len() > layout.key.parts.len() {
            return wrong(format!("{} arrays for {} key parts", arrays.len(), layout.key.parts.len()));
        }
        for (array, part) in arrays.iter().zip(&layout.key.parts) {
            if *array.data_type() != arrow_type(&layout.columns[part.column].ty) || array.len() != arrays[0].len() {
                return wrong(format!("an array of {} {}", array.len(), array.data_type()));
            }
        }
        let mut keys = Keys::default();
        layout.key.append_leading_parts(arrays, 0..arrays[0].len(), &mut keys)?;
        Ok(keys)
    }

    /// Deletes these files when the last reference to the table is gone (DROP, TRUNCATE, a load that replaced them).
    pub fn remove_files_when_unused(&self, files: &[FileId]) {
        let mut dropped = self.dropped.lock();
        for file in files {
            if !dropped.contains(file) {
                dropped.push(*file);
            }
        }
    }

    /// Writes all changed pages and file headers, and syncs. Pages that changes have left behind are put on the free
    /// list first, for nobody finds them again once the table is closed.
    pub fn flush(&self) -> Result<()> {
        for tree in &self.trees {
            tree.free_unlinked(self.counters());
            tree.write_counts(self.counters())?;
            self.open_files().buffer_pool().flush_file(tree.file(), self.counters())?;
            self.open_files().buffer_pool().sync_file(tree.file())?;
        }
        Ok(())
    }

    /// Keeps rows from changing while it is held: all trees agree. A thread that changes a row must not ask for it.
    pub(crate) fn without_changes(&self) -> Held<RwLockWriteGuard<'_, ()>> {
        self.guards().without_changes()
    }

    /// Waits until changes are allowed; to be held during one. A thread must hold it once only. Error `SnapshotTooOld`:
    /// the table has been opened anew with another layout of its rows.
    fn changing(&self) -> Result<Held<RwLockReadGuard<'_, ()>>> {
        self.guards().changing(self.trees[0].layout().number)
    }

    /// The guards of the rows, which all openings of the table share.
    fn guards(&self) -> &RowGuards {
        self.trees[0].file().row_guards()
    }

    /// The row with this primary key (one value per part).
    pub fn get(&self, key: &[Value], view: &Arc<ReadView>, counters: &Counters) -> Result<Option<Vec<Value>>> {
        Ok(self.get_stored(key, view, counters)?.map(|mut stored| {
            stored.truncate(self.schema.columns.len());
            stored
        }))
    }

    /// The row with what is stored behind its columns.
    fn get_stored(&self, key: &[Value], view: &Arc<ReadView>, counters: &Counters) -> Result<Option<Vec<Value>>> {
        let Some(range) = self.key_range(key)? else { return Ok(None) };
        self.stored_row(range, view, counters)
    }

    /// Returns true if there is a row with these values in the first parts of an index, in its newest version. Nobody
    /// changes rows of the table meanwhile. Error: `WrongType`.
    pub fn has_entry(&self, index: usize, values: &[Value], counters: &Counters) -> Result<bool> {
        counters.add(crate::counters::Counter::key_lookups, 1);
        let tree = &self.trees[index];
        let Some(range) = tree.layout().key.byte_range(&KeyRange::prefix(values.to_vec()))? else { return Ok(false) };
        Ok(tree.rows(range, false, &ReadView::latest(), counters)?.next()?.is_some())
    }

    fn key_range(&self, key: &[Value]) -> Result<Option<ByteRange>> {
        self.trees[0].layout().key.byte_range(&KeyRange::prefix(key.to_vec()))
    }

    fn stored_row(&self, range: ByteRange, view: &Arc<ReadView>, counters: &Counters) -> Result<Option<Vec<Value>>> {
        counters.add(crate::counters::Counter::key_lookups, 1);
        self.trees[0].rows(range, false, view, counters)?.next()
    }

    /// A row of the clustered tree as table columns and hidden row number.
    pub(crate) fn split_stored<'a>(&self, stored: &'a [Value]) -> (&'a [Value], i64) {
        let (row, hidden) = stored.split_at(self.schema.columns.len());
        debug_assert!(
            self.trees[0].layout().columns[..row.len()]
                .iter()
                .enumerate()
                .all(|(i, c)| c.source == ColumnSource::Table { column: i, prefix: None })
        );
        let number = match hidden.first() {
            Some(Value::Int(number)) => *number,
            _ => 0,
        };
        (row, number)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let dropped = std::mem::take(self.dropped.get_mut());
        for tree in self.trees.iter().filter(|tree| !dropped.contains(&tree.file().id())) {
            if let Err(e) = tree.write_counts(self.counters()) {
                tracing::debug!("the counts of {} are not written: {e}", tree.file().path().display());
            }
        }
        for id in dropped {
            let removed = self.open_files().open_file(id).and_then(|file| self.open_files().delete_file(&file));
            if let Err(e) = removed {
                // Opening a directory removes files that no table knows.
                tracing::warn!("file {} of a dropped table is deleted when the directory is next opened: {e}", id.0);
            }
        }
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("files", &self.files).field("trees", &self.trees).finish()
    }
}

pub(super) mod locking_scan;
#[cfg(test)]
#[path = "table_stress_tests.rs"]
mod stress_tests;
#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
