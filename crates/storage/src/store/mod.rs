//! A data directory: its lock, its files, its buffer pool, its log.
//!
//! ```text
//!   Store::open      lock, identity, then recovery: torn pages are put back, the log is repeated     recovery.rs
//!     Checkpointer   writes what has been dirty longest, and tells where redo begins                 checkpointer.rs
//!   Store::replace_small_file   definitions: a record of the log, then a file                        small_files.rs
//!     LeafEncoder    changes of leaves that rest become part of their base                           leaf_encoder.rs
//!   Store::shut_down all pages are at their places: the next start has nothing to repeat
//! ```

mod checkpointer;
#[cfg(test)]
mod faults;
mod leaf_encoder;
mod recovery;
mod settings;
mod small_files;

#[cfg(test)]
pub(crate) use faults::Faults;
pub use settings::{LogSettings, RecoveryProgress, StoreOptions};

use crate::{
    Counters, FileId, Result, StorageError, Table, TableSchema, TableStatistics,
    buffer_pool::BufferPool,
    directory::{self, Identity},
    file::{self, Companion, PageFile, SequentialWriter},
    io::{self, Disk, FileLock, overlay::OverlayDisk},
    log::{FlushAtCommit, Log, LogStatus, SmallFiles},
    mutex::Mutex,
    small_file,
    transaction::{Background, CutOff, CutOffListener, TableSource, Transactions, UndoReserve},
    tree::{Tree, TreeBuilder, TreeLayout, group_bytes_max},
};
pub use checkpointer::EndsTransaction;

use checkpointer::Checkpointer;
use leaf_encoder::LeafEncoder;
use parking_lot::RwLock;
use std::{
    collections::{HashMap, HashSet},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
};

/// File numbers that are written down as used at a time, so that not every new file costs a sync.
const FILE_NUMBERS_AT_ONCE: u32 = 64;

struct Files {
    /// The number of the next new file.
    next: u32,
    /// Numbers below this are written down as used.
    reserved: u32,
    open: HashMap<FileId, Weak<PageFile>>,
}

/// An open data directory.
pub struct Store {
    directory: PathBuf,
    counters: Arc<Counters>,
    disk: Arc<dyn Disk>,
    pool: Arc<BufferPool>,
    page_size: usize,
    sync: bool,
    log: Arc<Log>,
    flush_at_commit: AtomicU8,
    small_files: Arc<SmallFiles>,
    transactions: Arc<Transactions>,
    undo_reserve: UndoReserve,
    background: Background,
    /// Opens tables that have changes to undo or to purge.
    table_source: RwLock<Option<TableSource>>,
    /// Told of the rollbacks of transactions that were cut off.
    cut_off_listener: RwLock<Option<CutOffListener>>,
    checkpointer: Checkpointer,
    encoder: LeafEncoder,
    /// The number by which the directory is known.
    identity: u64,
    files: Mutex<Files>,
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
        // Numbers below the mark may be taken; so may those of files that a restored backup brought.
        let highest = table_files(&*disk, directory)?.into_iter().map(|id| id.0).max().unwrap_or(0);
        let next = identity.next_file.max(highest.saturating_add(1));
        let parts = (Arc::clone(&log), Arc::clone(&pool), Arc::clone(&small_files), Arc::clone(&transactions));
        let checkpointer =
            Checkpointer::start(parts, &disk, &options.log).map_err(|e| StorageError::io(directory, e))?;
        let leaf_rest = options.leaf_rest.filter(|_| !options.force_recovery);
        let encoder = LeafEncoder::start(Arc::clone(&pool), Arc::clone(&counters), leaf_rest)
            .map_err(|e| StorageError::io(directory, e))?;
        let undo_bytes = 4 * group_bytes_max(identity.page_size);
        let store = Arc::new(Store {
            directory: directory.to_path_buf(),
            counters,
            disk,
            pool,
            page_size: identity.page_size,
            sync: options.sync,
            undo_reserve: UndoReserve::new(Arc::clone(&log), undo_bytes),
            log,
            transactions,
            background: Background::default(),
            table_source: RwLock::new(None),
            cut_off_listener: RwLock::new(None),
            flush_at_commit: AtomicU8::new(options.log.flush_at_commit as u8),
            small_files,
            checkpointer,
            encoder,
            identity: identity.id,
            files: Mutex::new(Files { next, reserved: identity.next_file, open: HashMap::new() }),
            _lock: lock,
        });
        if options.purges && !options.force_recovery {
            store.background.start(&store).map_err(|e| StorageError::io(directory, e))?;
        }
        Ok(store)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Global counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The disk that the directory is on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Returns true if what is written is synced before it counts as written.
    pub fn is_synced(&self) -> bool {
        self.sync
    }

    /// Returns true if the directory is one from which what can be read is read: nothing may be changed.
    pub fn is_read_only(&self) -> bool {
        self.log.is_read_only()
    }

    /// Error `ForcedRecovery` if nothing may be changed.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_read_only() { Err(StorageError::ForcedRecovery) } else { Ok(()) }
    }

    pub fn buffer_pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Bytes of a page, as fixed when the directory was made.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Makes a file of pages under a number that was never used: header only, not synced.
    pub fn new_file(&self, index_id: u32) -> Result<Arc<PageFile>> {
        self.check_writable()?;
        let mut files = self.files.lock();
        let id = FileId(files.next);
        let too_many = || StorageError::io(&self.directory, std::io::Error::other("all file numbers are used up"));
        let next = id.0.checked_add(1).ok_or_else(too_many)?;
        if next > files.reserved {
            let reserved = next.saturating_add(FILE_NUMBERS_AT_ONCE - 1);
            let identity = Identity { page_size: self.page_size, next_file: reserved, id: self.identity };
            directory::write_identity(&*self.disk, &self.directory, identity, self.sync)?;
            files.reserved = reserved;
        }
        files.next = next;
        let file = PageFile::create(Arc::clone(&self.disk), &self.directory, id, index_id, self.page_size, self.sync)?;
        files.open.retain(|_, file| file.strong_count() > 0);
        files.open.insert(id, Arc::downgrade(&file));
        Ok(file)
    }

    /// Opens a file, or hands out the one that is open. Errors: `Foreign`, `NewerFormat`, `Corrupt`, I/O.
    pub fn open_file(&self, id: FileId) -> Result<Arc<PageFile>> {
        let mut files = self.files.lock();
        if let Some(file) = files.open.get(&id).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = PageFile::open(Arc::clone(&self.disk), &self.directory, id, self.sync)?;
        if file.page_size() != self.page_size {
            let reason = format!("pages of {} bytes, the directory has {}", file.page_size(), self.page_size);
            return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: 0, reason });
        }
        files.open.insert(id, Arc::downgrade(&file));
        Ok(file)
    }

    /// Deletes a file with its companions and forgets its pages. Whoever still has it open can read what is in memory
    /// or on disk.
    pub fn delete_file(&self, file: &PageFile) -> Result<()> {
        let deleted = file.delete();
        self.pool.discard_file(file);
        let companions = self.remove_names(file.id(), None);
        deleted.and(companions)
    }

    /// Deletes a file as [`Store::delete_file`] does, by its number, whether it can be read or not.
    pub fn delete_file_of(&self, id: FileId) -> Result<()> {
        match self.open_file(id) {
            Ok(file) => self.delete_file(&file),
            Err(_) => self.remove_names(id, Some(file::file_path(&self.directory, id))),
        }
    }

    /// Removes the companions of a file, and `file`.
    fn remove_names(&self, id: FileId, file: Option<PathBuf>) -> Result<()> {
        let companions = Companion::ALL.iter().map(|companion| companion.path(&self.directory, id));
        let mut outcome = Ok(());
        for path in file.into_iter().chain(companions) {
            match self.disk.remove(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => outcome = outcome.and(Err(StorageError::io(path, e))),
                _ => {}
            }
        }
        outcome
    }

    /// Makes an empty table: one new file per index, synced. The caller keeps the numbers.
    pub fn create_table(self: &Arc<Self>, schema: &TableSchema) -> Result<Vec<FileId>> {
        let mut made: Vec<Arc<PageFile>> = Vec::new();
        let result = schema.indexes.iter().enumerate().try_for_each(|(i, index)| {
            let file = self.new_file(index.id)?;
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

    /// Opens a table on its files, one per index.
    pub fn open_table(
        self: &Arc<Self>,
        schema: TableSchema,
        files: Vec<FileId>,
        statistics: TableStatistics,
    ) -> Result<Arc<Table>> {
        Table::open(Arc::clone(self), schema, files, statistics)
    }

    /// Leaves of this tree are encoded anew when they rest.
    pub(crate) fn register_tree(&self, tree: &Arc<Tree>) {
        self.encoder.register(tree);
    }

    /// Encodes leaves anew which have slots and which nobody has changed since the call before, or since their encoder
    /// looked at them itself ([`StoreOptions::leaf_rest`]). Returns how many it were.
    pub fn encode_rested_leaves(&self) -> usize {
        self.encoder.round()
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The locks of all transactions: for reports of them, and of deadlocks.
    pub fn locks(&self) -> &Arc<crate::LockTable> {
        self.transactions.locks()
    }

    pub(crate) fn transactions(&self) -> &Arc<Transactions> {
        &self.transactions
    }

    pub(crate) fn undo_reserve(&self) -> &UndoReserve {
        &self.undo_reserve
    }

    pub(crate) fn cut_off_listener(&self) -> Option<CutOffListener> {
        self.cut_off_listener.read().clone()
    }

    pub(crate) fn table_source(&self) -> Option<TableSource> {
        self.table_source.read().clone()
    }

    /// Says how tables are opened that have changes to undo or to purge: until then what a crash has cut off is active.
    pub fn set_table_source(&self, source: TableSource) {
        *self.table_source.write() = Some(source);
    }

    /// Says who has a transaction rolled back for which the log is kept beyond [`LogSettings::transactions`].
    pub fn set_transaction_limit(&self, ends: EndsTransaction) {
        self.checkpointer.set_transaction_limit(ends);
    }

    /// A moment between views: those that are taken from now on see it, and those before do not.
    pub fn moment_of_views(&self) -> u64 {
        self.transactions.pass()
    }

    /// The id of the next transaction, and the least of those that have ended and are not purged (the same if there is
    /// none).
    pub fn next_and_unpurged(&self) -> (u64, u64) {
        (self.transactions.next(), self.transactions.least_unpurged())
    }

    /// Transactions that have committed and are not purged (`History list length`).
    pub fn history_length(&self) -> usize {
        self.transactions.history_length()
    }

    /// Transactions that a crash has cut off and that are not rolled back yet.
    pub fn losers(&self) -> usize {
        self.transactions.losers()
    }

    /// The same ones, with the tables that they have changed: until they are rolled back, what is in these tables is
    /// neither what was committed nor what will be.
    pub fn cut_off(&self) -> Vec<CutOff> {
        self.transactions.cut_off()
    }

    /// Returns true if a transaction was cut off, by a crash or because its rollback has failed, and is not rolled back
    /// yet.
    pub fn is_cut_off(&self, trx_id: u64) -> bool {
        self.transactions.is_cut_off(trx_id)
    }

    /// Says who is told of the rollbacks of transactions that were cut off.
    pub fn set_cut_off_listener(&self, listener: CutOffListener) {
        *self.cut_off_listener.write() = Some(listener);
    }

    /// Ends the threads that purge and roll back, and waits for that. What they have not done is done after the next
    /// start.
    pub fn stop_background(&self) {
        self.background.stop(&self.transactions);
    }

    /// Positions and counts of the log.
    pub fn log_status(&self) -> LogStatus {
        self.log.status()
    }

    /// The end of the log: all that was changed before this was called lies before it.
    pub fn log_position(&self) -> u64 {
        self.log.current()
    }

    /// `innodb_flush_log_at_trx_commit`: what [`Store::commit`] waits for.
    pub fn flush_at_commit(&self) -> FlushAtCommit {
        FlushAtCommit::from_number(self.flush_at_commit.load(Relaxed)).unwrap_or_default()
    }

    pub fn set_flush_at_commit(&self, flush: FlushAtCommit) {
        self.flush_at_commit.store(flush as u8, Relaxed);
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
        self.pool.flush_before(behind_all, &self.counters)?;
        self.checkpointer.checkpoint()
    }

    /// A checkpoint as it is taken in the background, which takes pages as they are.
    #[cfg(test)]
    pub(crate) fn checkpoint_without_pages(&self) -> Result<()> {
        self.checkpointer.checkpoint()
    }

    /// Returns true if there is any table file.
    pub fn has_table_files(&self) -> Result<bool> {
        Ok(!table_files(&*self.disk, &self.directory)?.is_empty())
    }

    /// Removes what a crash left behind: all table files but these, with their companions, and small files that were
    /// not renamed to what they should replace. Called once after opening. `known` has been read from a file that may
    /// have been renamed shortly before: only when the rename is durable, nothing leads to the others.
    pub fn remove_unknown_files(&self, known: &[FileId]) -> Result<()> {
        if self.sync
            && let Err(e) = self.disk.sync_directory(&self.directory)
        {
            tracing::warn!("files that no table has stay until the next start: {}: {e}", self.directory.display());
            return Ok(());
        }
        let _new_ones_are_whole = self.small_files.pause();
        let known: HashSet<FileId> = known.iter().copied().collect();
        for path in list(&*self.disk, &self.directory)? {
            let is_unknown = file::number_in(&path).is_some_and(|id| !known.contains(&id));
            if is_unknown || is_unfinished(&path) {
                self.disk.remove(&path).map_err(|e| StorageError::io(&path, e))?;
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
        self.pool.stop_cleaner();
    }
}

/// Numbers of the table files in a directory.
fn table_files(disk: &dyn Disk, directory: &Path) -> Result<Vec<FileId>> {
    Ok(list(disk, directory)?.iter().filter_map(|path| file::file_id(path)).collect())
}

/// Returns true for one of our small files that was not renamed to what it should replace.
fn is_unfinished(path: &Path) -> bool {
    let Some(replaced) = small_file::replaced_by(path) else { return false };
    file::number_in(&replaced).is_some() || directory::is_of_directory(&replaced)
}

fn list(disk: &dyn Disk, directory: &Path) -> Result<Vec<PathBuf>> {
    disk.list(directory).map_err(|e| StorageError::io(directory, e))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

#[cfg(test)]
mod recovery_bench;
