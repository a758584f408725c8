//! The files of pages of an open directory: each is open once at most, and new ones get numbers that were never used.

use crate::{
    FileId, Result, StorageError,
    buffer_pool::BufferPool,
    directory::{self, Identity},
    file::{self, Companion, PageFile, TemporarySpace},
    io::Disk,
    mutex::Mutex,
};
use std::{
    any::Any,
    collections::HashMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

/// File numbers that are written down as used at a time, so that not every new file costs a sync.
const FILE_NUMBERS_AT_ONCE: u32 = 64;

/// Keeps a directory open: whoever has opened it closes it when the last one of these goes. Tables and transactions
/// have one each.
pub(crate) type KeptOpen = Arc<dyn Any + Send + Sync>;

/// The files of pages of a directory, and the disk and the buffer pool that they are read through.
pub(crate) struct OpenFiles {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    pool: Arc<BufferPool>,
    page_size: usize,
    /// True if files are synced before they count as written.
    sync: bool,
    /// True if nothing may be changed.
    read_only: bool,
    /// The number by which the directory is known.
    identity: u64,
    numbers: Mutex<Numbers>,
}

struct Numbers {
    /// The number of the next new file.
    next: u32,
    /// Numbers below this are written down as used.
    reserved: u32,
    open: HashMap<FileId, Weak<PageFile>>,
    /// Files that do not outlive the process, each with the budget that its room is taken of.
    temporary: HashMap<FileId, Arc<TemporarySpace>>,
}

/// How a directory is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileAccess {
    pub sync: bool,
    pub read_only: bool,
}

impl OpenFiles {
    /// Errors: I/O.
    pub fn new(
        directory: &Path,
        identity: Identity,
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        FileAccess { sync, read_only }: FileAccess,
    ) -> Result<OpenFiles> {
        // Numbers below the mark may be taken; so may those of files that a restored backup brought.
        let highest = numbers_in(&*disk, directory)?.into_iter().map(|id| id.0).max().unwrap_or(0);
        let next = identity.next_file.max(highest.saturating_add(1));
        let numbers =
            Mutex::new(Numbers { next, reserved: identity.next_file, open: HashMap::new(), temporary: HashMap::new() });
        let (directory, page_size, identity) = (directory.to_path_buf(), identity.page_size, identity.id);
        Ok(OpenFiles { directory, disk, pool, page_size, sync, read_only, identity, numbers })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The disk that the directory is on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn buffer_pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Bytes of a page, as fixed when the directory was made.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns true if what is written is synced before it counts as written.
    pub fn is_synced(&self) -> bool {
        self.sync
    }

    /// Error `ForcedRecovery` if nothing may be changed.
    pub fn check_writable(&self) -> Result<()> {
        if self.read_only { Err(StorageError::ForcedRecovery) } else { Ok(()) }
    }

    /// Makes a file of pages under a number that was never used: header only, not synced.
    ///
    /// `temporary`: it does not outlive the process, and takes its room of this budget.
    pub fn new_file(&self, index_id: u32, temporary: Option<&Arc<TemporarySpace>>) -> Result<Arc<PageFile>> {
        self.check_writable()?;
        let mut numbers = self.numbers.lock();
        let id = FileId(numbers.next);
        let too_many = || StorageError::io(&self.directory, std::io::Error::other("all file numbers are used up"));
        let next = id.0.checked_add(1).ok_or_else(too_many)?;
        if next > numbers.reserved {
            let reserved = next.saturating_add(FILE_NUMBERS_AT_ONCE - 1);
            let identity = Identity { page_size: self.page_size, next_file: reserved, id: self.identity };
            directory::write_identity(&*self.disk, &self.directory, identity, self.sync)?;
            numbers.reserved = reserved;
        }
        numbers.next = next;
        let file = PageFile::create(Arc::clone(&self.disk), &self.directory, id, index_id, self.page_size, self.sync)?;
        if let Some(space) = temporary {
            file.make_temporary(space);
            numbers.temporary.insert(id, Arc::clone(space));
        }
        numbers.open.retain(|_, file| file.strong_count() > 0);
        numbers.open.insert(id, Arc::downgrade(&file));
        Ok(file)
    }

    /// Opens a file, or hands out the one that is open. Errors: `Foreign`, `NewerFormat`, `Corrupt`, I/O.
    pub fn open_file(&self, id: FileId) -> Result<Arc<PageFile>> {
        let mut numbers = self.numbers.lock();
        if let Some(file) = numbers.open.get(&id).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = PageFile::open(Arc::clone(&self.disk), &self.directory, id, self.sync)?;
        if file.page_size() != self.page_size {
            let reason = format!("pages of {} bytes, the directory has {}", file.page_size(), self.page_size);
            return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: 0, reason });
        }
        if let Some(space) = numbers.temporary.get(&id) {
            file.make_temporary(space);
        }
        numbers.open.insert(id, Arc::downgrade(&file));
        Ok(file)
    }

    /// Deletes a file with its companions and forgets its pages. Whoever still has it open can read what is in memory
    /// or on disk.
    pub fn delete_file(&self, file: &PageFile) -> Result<()> {
        let deleted = file.delete();
        self.numbers.lock().temporary.remove(&file.id());
        self.pool.discard_file(file);
        let companions = self.remove_names(file.id(), None);
        deleted.and(companions)
    }

    /// Deletes a file as [`OpenFiles::delete_file`] does, by its number, whether it can be read or not.
    pub fn delete_file_of(&self, id: FileId) -> Result<()> {
        match self.open_file(id) {
            Ok(file) => self.delete_file(&file),
            Err(_) => {
                self.numbers.lock().temporary.remove(&id);
                self.remove_names(id, Some(file::file_path(&self.directory, id)))
            }
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

    /// The numbers of the files that are there, open or not. Errors: I/O.
    pub fn numbers(&self) -> Result<Vec<FileId>> {
        numbers_in(&*self.disk, &self.directory)
    }

    /// The paths of all that is in the directory. Errors: I/O.
    pub fn list(&self) -> Result<Vec<PathBuf>> {
        list(&*self.disk, &self.directory)
    }
}

/// Numbers of the files of pages in a directory.
fn numbers_in(disk: &dyn Disk, directory: &Path) -> Result<Vec<FileId>> {
    Ok(list(disk, directory)?.iter().filter_map(|path| file::file_id(path)).collect())
}

fn list(disk: &dyn Disk, directory: &Path) -> Result<Vec<PathBuf>> {
    disk.list(directory).map_err(|e| StorageError::io(directory, e))
}
