//! A data directory: its lock, its files, its buffer pool, its log.
//!
//! ```text
//!   Store::open      lock, identity, then recovery: torn pages are put back, the log is repeated     recovery.rs
//!     Checkpointer   writes what has been dirty longest, and tells where redo begins                 checkpointer.rs
//!     LeafEncoder    changes of leaves that rest become part of their base                           leaf_encoder.rs
//!   Store::replace_small_file   definitions: a record of the log, then a file                        small_files.rs
//!   Store::begin     transactions and views, as `TransactionSystem` gives them                       transactions.rs
//!   the last one who has the store, a table or a transaction lets it go: all pages are written to their places,
//!                    and the next start has nothing to repeat
//! ```

mod checkpointer;
#[cfg(test)]
mod faults;
mod leaf_encoder;
mod recovery;
mod settings;
mod small_files;
mod transactions;

#[cfg(test)]
pub(crate) use faults::Faults;
pub use settings::{RecoveryProgress, StoreOptions};
pub use transactions::TableSource;

use crate::{
    Counters, FileId, Result, StorageError, Table, TableSchema, TableStatistics,
    buffer_pool::BufferPool,
    directory,
    file::{self, PageFile, SequentialWriter, TemporarySpace},
    io::{self, Disk, FileLock, overlay::OverlayDisk},
    log::{Log, LogStatus, SmallFiles},
    open_files::{FileAccess, KeptOpen, OpenFiles},
    small_file,
    table::OpenDirectory,
    transaction::TransactionSystem,
    tree::{TreeBuilder, TreeLayout, group_bytes_max, rows_fit},
};
pub use checkpointer::EndsTransaction;

use checkpointer::Checkpointer;
use leaf_encoder::LeafEncoder;
use std::{collections::HashSet, path::Path, sync::Arc};

/// An open data directory.
pub struct Store {
    counters: Arc<Counters>,
    files: Arc<OpenFiles>,
    system: Arc<TransactionSystem>,
    log: Arc<Log>,
    small_files: Arc<SmallFiles>,
    checkpointer: Checkpointer,
    encoder: LeafEncoder,
    /// Keeps other processes out as long as it is open.
    _lock: FileLock,
}

impl Store {
    /// Opens or creates a directory. Errors: `Locked`, `Foreign`, `NewerFormat`, I/O.
    pub fn open(directory: &Path, options: StoreOptions) -> Result<Arc<Store>> {
        let disk = io::open_backend(options.io).map_err(|e| StorageError::io(directory, e))?;
        Store::open_on(directory, options, disk)
    }

    /// Opens a store as [`Store::open`] does, on a disk of the caller's, such as one that records a trace.
    pub fn open_on(directory: &Path, options: StoreOptions, disk: Arc<dyn Disk>) -> Result<Arc<Store>> {
        if !directory::valid_page_size(options.page_size) {
            let e = std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!("page size {} is not a power of two from 4096 to 65536", options.page_size),
            );
            return Err(StorageError::io(directory, e));
        }
        let disk = match options.force_recovery {
            true => Arc::new(OverlayDisk::new(disk)) as Arc<dyn Disk>,
            false => disk,
        };
        let lock = directory::lock(&*disk, directory)?;
        let log_files = recovery::log_files(&disk, directory, &options);
        let identity = match directory::read_identity(&*disk, directory)? {
            Some(identity) => identity,
            None => recovery::create(&log_files, &options)?,
        };
        let (counters, pool_bytes) = (Arc::<Counters>::default(), options.buffer_pool_bytes);
        let pool = BufferPool::counting_into(Arc::clone(&counters), pool_bytes, identity.page_size, Arc::clone(&disk))?;
        let (log, small_files, transactions) = recovery::recover(log_files, identity, &options, &pool, &counters)?;
        let access = FileAccess { sync: options.sync, read_only: options.force_recovery };
        let files = OpenFiles::new(directory, identity, Arc::clone(&disk), Arc::clone(&pool), access)?;
        let parts = (Arc::clone(&log), Arc::clone(&pool), Arc::clone(&small_files), Arc::clone(&transactions));
        let checkpointer =
            Checkpointer::start(parts, &disk, &options.log).map_err(|e| StorageError::io(directory, e))?;
        let leaf_rest = options.leaf_rest.filter(|_| !options.force_recovery);
        let encoder =
            LeafEncoder::start(pool, Arc::clone(&counters), leaf_rest).map_err(|e| StorageError::io(directory, e))?;
        let (files, undo_bytes) = (Arc::new(files), 4 * group_bytes_max(identity.page_size));
        let flush = options.log.flush_at_commit;
        let system = TransactionSystem::new(Arc::clone(&log), transactions, Arc::clone(&files), undo_bytes, flush);
        let system = Arc::new(system);
        let store = Arc::new(Store { counters, files, system, log, small_files, checkpointer, encoder, _lock: lock });
        if options.purges && !options.force_recovery {
            let open = Arc::clone(&store) as KeptOpen;
            store.system.start_background(&open).map_err(|e| StorageError::io(directory, e))?;
        }
        Ok(store)
    }

    pub fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// Global counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The disk that the directory is on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        self.files.disk()
    }

    /// Returns true if what is written is synced before it counts as written.
    pub fn is_synced(&self) -> bool {
        self.files.is_synced()
    }

    /// Returns true if the directory is one from which what can be read is read: nothing may be changed.
    pub fn is_read_only(&self) -> bool {
        self.log.is_read_only()
    }

    /// Error `ForcedRecovery` if nothing may be changed.
    pub fn check_writable(&self) -> Result<()> {
        self.files.check_writable()
    }

    pub fn buffer_pool(&self) -> &Arc<BufferPool> {
        self.files.buffer_pool()
    }

    /// Bytes of a page, as fixed when the directory was made.
    pub fn page_size(&self) -> usize {
        self.files.page_size()
    }

    /// Makes a file of pages under a number that was never used: header only, not synced.
    pub fn new_file(&self, index_id: u32) -> Result<Arc<PageFile>> {
        self.files.new_file(index_id, None)
    }

    /// Opens a file, or hands out the one that is open. Errors: `Foreign`, `NewerFormat`, `Corrupt`, I/O.
    pub fn open_file(&self, id: FileId) -> Result<Arc<PageFile>> {
        self.files.open_file(id)
    }

    /// Deletes a file with its companions and forgets its pages. Whoever still has it open can read what is in memory
    /// or on disk.
    pub fn delete_file(&self, file: &PageFile) -> Result<()> {
        self.files.delete_file(file)
    }

    /// Deletes a file as [`Store::delete_file`] does, by its number, whether it can be read or not.
    pub fn delete_file_of(&self, id: FileId) -> Result<()> {
        self.files.delete_file_of(id)
    }

    /// Makes an empty table: one new file per index, synced. The caller keeps the numbers.
    pub fn create_table(self: &Arc<Self>, schema: &TableSchema) -> Result<Vec<FileId>> {
        self.create_table_in(schema, None)
    }

    /// Makes an empty table as [`Store::create_table`] does. `temporary`: it does not outlive the process; its files,
    /// and those that loads put in their places, are not in the log, and take their room of this budget.
    pub fn create_table_in(
        self: &Arc<Self>,
        schema: &TableSchema,
        temporary: Option<&Arc<TemporarySpace>>,
    ) -> Result<Vec<FileId>> {
        let mut made: Vec<Arc<PageFile>> = Vec::new();
        let result = schema.indexes.iter().enumerate().try_for_each(|(i, index)| {
            let file = self.files.new_file(index.id, temporary)?;
            made.push(Arc::clone(&file));
            let layout = Arc::new(TreeLayout::new(schema, i));
            TreeBuilder::new(layout, SequentialWriter::new(file, Arc::clone(&self.counters))).finish().map(drop)
        });
        match result {
            Ok(()) => Ok(made.iter().map(|file| file.id()).collect()),
            Err(e) => {
                for file in made {
                    // The first error is the one to tell; what stays is removed when the directory is next opened.
                    let _ = self.delete_file(&file);
                }
                Err(e)
            }
        }
    }

    /// Returns true if each row of the row layouts of a table fits one leaf once it is one of the newest layout.
    pub fn rows_fit(&self, schema: &TableSchema) -> bool {
        rows_fit(schema, self.files.page_size())
    }

    /// Opens a table on its files, one per index.
    pub fn open_table(
        self: &Arc<Self>,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        Ok(self.with_encoded_leaves(Table::open(self.open_directory(), schema, files, statistics)?))
    }

    /// Opens a table whose versions before the newest ones are found in `undo`.
    #[cfg(test)]
    pub(crate) fn open_table_with(
        self: &Arc<Self>,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
        undo: Option<Arc<dyn crate::tree::UndoSource>>,
    ) -> Result<Arc<Table>> {
        Ok(self.with_encoded_leaves(Table::open_with(self.open_directory(), schema, files, statistics, undo)?))
    }

    /// The parts of the directory that tables use.
    fn open_directory(self: &Arc<Self>) -> OpenDirectory {
        OpenDirectory {
            system: Arc::clone(&self.system),
            files: Arc::clone(&self.files),
            counters: Arc::clone(&self.counters),
            _open: Arc::clone(self) as KeptOpen,
        }
    }

    /// Leaves of this table are encoded anew when they rest.
    fn with_encoded_leaves(&self, table: Arc<Table>) -> Arc<Table> {
        table.trees().iter().for_each(|tree| self.encoder.register(tree));
        table
    }

    /// Encodes leaves anew which have slots and which nobody has changed since the call before, or since their encoder
    /// looked at them itself ([`StoreOptions::leaf_rest`]). Returns how many it were.
    pub fn encode_rested_leaves(&self) -> usize {
        self.encoder.round()
    }

    #[cfg(test)]
    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Says who has a transaction rolled back for which the log is kept beyond [`LogSettings::transactions`].
    pub fn set_transaction_limit(&self, ends: EndsTransaction) {
        self.checkpointer.set_transaction_limit(ends);
    }

    /// Positions and counts of the log.
    pub fn log_status(&self) -> LogStatus {
        self.log.status()
    }

    /// The end of the log: all that was changed before this was called lies before it.
    pub fn log_position(&self) -> u64 {
        self.log.current()
    }

    /// Sets `innodb_redo_log_capacity`.
    pub fn set_log_capacity(&self, bytes: u64) {
        self.log.set_capacity(bytes);
    }

    /// Waits until all changes so far may be told committed. Errors: the log has failed.
    pub fn commit(&self) -> Result<()> {
        self.log.wait_committed(self.log.current(), self.flush_at_commit())
    }

    /// Waits until all changes so far survive a power cut. Errors: the log has failed.
    pub fn make_durable(&self) -> Result<()> {
        self.log.wait_durable(self.log.current())
    }

    /// Writes all changed pages to their places, and a checkpoint: a start has nothing to repeat then. Errors:
    /// `DiskFull`, I/O, the log has failed.
    pub fn checkpoint(&self) -> Result<()> {
        // Page 0 of a file changes without a record when it gets the file's counts: then nothing in the log is behind
        // it.
        let behind_all = self.log.current() + 1;
        self.buffer_pool().flush_before(behind_all, &self.counters)?;
        self.checkpointer.checkpoint()
    }

    /// A checkpoint as it is taken in the background, which takes pages as they are.
    #[cfg(test)]
    pub(crate) fn checkpoint_without_pages(&self) -> Result<()> {
        self.checkpointer.checkpoint()
    }

    /// Returns true if there is any table file.
    pub fn has_table_files(&self) -> Result<bool> {
        Ok(!self.files.numbers()?.is_empty())
    }

    /// Removes what a crash left behind: all table files but these, with their companions, and small files that were
    /// not renamed to what they should replace. Called once after opening. `known` has been read from a file that may
    /// have been renamed shortly before: only when the rename is durable, nothing leads to the others.
    pub fn remove_unknown_files(&self, known: &[FileId]) -> Result<()> {
        if self.is_synced()
            && let Err(e) = self.disk().sync_directory(self.directory())
        {
            tracing::warn!("files that no table has stay until the next start: {}: {e}", self.directory().display());
            return Ok(());
        }
        let _new_ones_are_whole = self.small_files.pause();
        let known: HashSet<FileId> = known.iter().copied().collect();
        for path in self.files.list()? {
            let is_unknown = file::number_in(&path).is_some_and(|id| !known.contains(&id));
            if is_unknown || is_unfinished(&path) {
                self.disk().remove(&path).map_err(|e| StorageError::io(&path, e))?;
            }
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop_background();
        self.encoder.stop();
        self.checkpointer.stop();
        if let Err(e) = self.checkpoint() {
            tracing::warn!("the next start repeats the log: {e}");
        }
        // The directory's lock goes next, and another store may have it then.
        self.buffer_pool().stop_cleaner();
    }
}

/// Returns true for one of our small files that was not renamed to what it should replace.
fn is_unfinished(path: &Path) -> bool {
    let Some(replaced) = small_file::replaced_by(path) else { return false };
    file::number_in(&replaced).is_some() || directory::is_of_directory(&replaced)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

#[cfg(test)]
mod recovery_bench;
#[cfg(test)]
mod table_fixtures;
