//! One file of pages: its header page, how it grows, how it is checked when opened, how it goes away.
//!
//! Page 0 is the header. [`PageFile`] keeps its fields decoded in memory. Whoever changes them holds the page latched
//! in the buffer pool ([`crate::buffer_pool::BufferPool::header_mut`]), so the header is sealed and written like any
//! other page. Only a new file, of which no page is in the pool yet, has its header written directly
//! ([`PageFile::write_new_header`]). The free list is a chain of pages of type `Free` and is worked by the buffer pool
//! ([`crate::buffer_pool::BufferPool::new_page`], `free_page`), because freed pages may be dirty in memory. A load
//! fills a file with a [`SequentialWriter`].

mod header;
mod row_guards;
mod sequential_writer;
mod temporary_space;

pub use header::{FileHeader, TREE_FIELDS};
pub(crate) use row_guards::{Held, RowGuards};
pub use sequential_writer::SequentialWriter;
pub use temporary_space::TemporarySpace;

use crate::{
    FileId, Result, StorageError,
    io::{AlignedBuf, Disk, IoFile, OpenMode, ReadOp, WriteOp},
    mutex::{Mutex, MutexGuard},
    page::{self, MAX_PAGE_SIZE, MIN_PAGE_SIZE, PAGE_HEADER, PageHeader, PageHeaderMut, PageType},
};
use header::FILE_MAGIC;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

/// Page number of the file header.
pub const HEADER_PAGE: u32 = 0;
/// Page number of the root of the tree.
pub const ROOT_PAGE: u32 = 1;
/// A file grows by a quarter, but by at least and at most so many pages at once.
const GROWTH_MIN: u32 = 4;
const GROWTH_MAX: u32 = 1024;
/// Hidden row numbers that page 0 counts as taken at once, so that it does not change with every row.
const ROW_IDS_AT_ONCE: u64 = 1024;
/// An open file of pages, one B+tree.
#[derive(Debug)]
pub struct PageFile {
    id: FileId,
    io: Arc<dyn Disk>,
    file: IoFile,
    page_size: usize,
    index_id: u32,
    /// True if syncing is asked for at all.
    sync: bool,
    /// The fields of page 0, but for the counts.
    header: Mutex<FileHeader>,
    /// Rows and leaves of the tree. They change with every row; page 0 has them as they were when it last changed.
    rows: AtomicU64,
    leaves: AtomicU64,
    /// The hidden row number that the next row gets.
    next_row_id: Mutex<u64>,
    /// Number of pages that the file has room for on the disk. Locked while pages are taken from or put on the free
    /// list.
    allocated: Mutex<u32>,
    deleted: AtomicBool,
    resident: AtomicU64,
    tree: AtomicU32,
    /// The guards of the rows of the table whose clustered tree this is.
    row_guards: RowGuards,
    /// Numbers of pages that nothing leads to and that are not on the free list yet.
    unlinked: Mutex<Vec<u32>>,
    /// Of a file that does not outlive the process: changes of its pages are not in the log, and nothing is synced.
    temporary: OnceLock<Taken>,
}

/// The room that a temporary file has taken.
#[derive(Debug)]
struct Taken {
    space: Arc<TemporarySpace>,
    pages: AtomicU32,
}

/// Path of a file in the data directory.
pub fn file_path(directory: &Path, id: FileId) -> PathBuf {
    directory.join(format!("{:08}.mus", id.0))
}

/// The number in the name of a table file; `None` for other names.
pub fn file_id(path: &Path) -> Option<FileId> {
    if path.extension()? != "mus" { None } else { number_in(path) }
}

/// A small file that belongs to a table file and is deleted with it. What is in it is its writer's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Companion {
    /// The statistics of the table's values.
    Statistics,
    /// A sample of the table's rows, and histograms.
    Distribution,
    /// A number that only grows.
    Counter,
    /// If it is there, the table cannot be opened any more: a transaction that has changed it could not be rolled back.
    GivenUp,
}

impl Companion {
    pub const ALL: [Companion; 4] =
        [Companion::Statistics, Companion::Distribution, Companion::Counter, Companion::GivenUp];

    /// Path of the companion of a table file.
    pub fn path(self, directory: &Path, id: FileId) -> PathBuf {
        let extension = match self {
            Companion::Statistics => "stats",
            Companion::Distribution => "sample",
            Companion::Counter => "counter",
            Companion::GivenUp => "given-up",
        };
        file_path(directory, id).with_extension(extension)
    }
}

/// The number of the table file to which a file belongs, by its name (`00000017.stats`, `00000017.stats.new`): table
/// files themselves, companions, and what a crash left of writing them. `None` for other names.
pub fn number_in(path: &Path) -> Option<FileId> {
    let (number, rest) = path.file_name()?.to_str()?.split_once('.')?;
    if rest.is_empty() || number.len() < 8 || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    number.parse().ok().map(FileId)
}

impl PageFile {
    /// Makes a file that holds nothing but its header, which is written but not synced. `page_size` is a power of
    /// two from 4 to 64 KiB. On an error nothing stays behind.
    pub fn create(
        io: Arc<dyn Disk>,
        directory: &Path,
        id: FileId,
        index_id: u32,
        page_size: usize,
        sync: bool,
    ) -> Result<Arc<PageFile>> {
        assert!(page_size.is_power_of_two() && (MIN_PAGE_SIZE..=MAX_PAGE_SIZE).contains(&page_size));
        let path = file_path(directory, id);
        let file = io.open(&path, OpenMode::CreateNew).map_err(|e| StorageError::io(&path, e))?;
        let header = FileHeader { page_size: page_size as u32, index_id, page_count: 1, ..FileHeader::default() };
        let created = PageFile::with_header(io, file, id, header, sync);
        if let Err(e) = created.write_new_header(None, |_| ()) {
            // The first error is the one to tell.
            let _ = created.io.remove(&path);
            return Err(e);
        }
        Ok(Arc::new(created))
    }

    /// Opens a file and checks that it is one of ours, of this format, and as long as its header says.
    /// Errors: `Foreign`, `NewerFormat`, `OlderFormat`, `Corrupt`, I/O.
    pub fn open(io: Arc<dyn Disk>, directory: &Path, id: FileId, sync: bool) -> Result<Arc<PageFile>> {
        let path = file_path(directory, id);
        let fail = |e| StorageError::io(&path, e);
        let file = io.open(&path, OpenMode::Existing).map_err(fail)?;
        let bytes = io.file_len(&file).map_err(fail)?;
        let corrupt = |reason: String| StorageError::Corrupt { path: path.clone(), page: 0, reason };
        if bytes < MIN_PAGE_SIZE as u64 {
            return Err(corrupt(format!("the file is cut short: {bytes} bytes")));
        }
        let read = |bytes: usize| -> Result<AlignedBuf> {
            let mut buffer = AlignedBuf::zeroed(bytes);
            let mut ops = [ReadOp::new(&file, 0, vec![&mut buffer])];
            io.read(&mut ops);
            let [op] = ops;
            op.result.map_err(fail)?;
            Ok(buffer)
        };
        // The smallest page holds all fields; how large the page is, they say.
        let start = read(MIN_PAGE_SIZE)?;
        if start[..4] != page::PAGE_MAGIC || start[PAGE_HEADER..PAGE_HEADER + 8] != FILE_MAGIC {
            return Err(StorageError::Foreign { path });
        }
        let version = PageHeader(&start).version();
        page::check_version(&path, version.into())?;
        let page_size = FileHeader::decode(&start).page_size as usize;
        if !page_size.is_power_of_two() || !(MIN_PAGE_SIZE..=MAX_PAGE_SIZE).contains(&page_size) {
            return Err(corrupt(format!("impossible page size {page_size}")));
        }
        if bytes < page_size as u64 {
            return Err(corrupt(format!("the file is cut short: {bytes} bytes")));
        }
        let whole = read(page_size)?;
        let header = FileHeader::decode(&whole);
        page::verify(&whole, &path, 0, header.index_id)?;
        if PageHeader(&whole).page_type() != Some(PageType::FileHeader) || header.page_count == 0 {
            return Err(corrupt("not a file header".into()));
        }
        let expected = u64::from(header.page_count) * page_size as u64;
        if bytes < expected {
            return Err(StorageError::Corrupt {
                path: path.clone(),
                page: (bytes / page_size as u64) as u32,
                reason: format!("the file is cut short: {bytes} bytes of {expected}"),
            });
        }
        if header.root > ROOT_PAGE || header.root >= header.page_count {
            return Err(corrupt(format!("root at page {}", header.root)));
        }
        if header.free_head >= header.page_count {
            return Err(corrupt(format!("free list at page {} of {}", header.free_head, header.page_count)));
        }
        Ok(Arc::new(PageFile::with_header(io, file, id, header, sync)))
    }

    fn with_header(io: Arc<dyn Disk>, file: IoFile, id: FileId, header: FileHeader, sync: bool) -> PageFile {
        PageFile {
            id,
            io,
            file,
            page_size: header.page_size as usize,
            index_id: header.index_id,
            sync,
            header: Mutex::new(header),
            rows: AtomicU64::new(header.row_count),
            leaves: AtomicU64::new(header.leaf_count),
            next_row_id: Mutex::new(header.next_row_id),
            allocated: Mutex::new(header.page_count),
            deleted: AtomicBool::new(false),
            resident: AtomicU64::new(0),
            tree: AtomicU32::new(0),
            row_guards: RowGuards::default(),
            unlinked: Mutex::default(),
            temporary: OnceLock::new(),
        }
    }

    /// Makes the file a temporary one, whose room is taken of a budget. Nobody has changed it yet.
    pub(crate) fn make_temporary(&self, space: &Arc<TemporarySpace>) {
        let taken = Taken { space: Arc::clone(space), pages: AtomicU32::new(0) };
        if self.temporary.set(taken).is_ok() {
            self.take_room(*self.allocated.lock());
        }
    }

    /// The budget of a temporary file.
    pub(crate) fn temporary_space(&self) -> Option<&Arc<TemporarySpace>> {
        self.temporary.get().map(|taken| &taken.space)
    }

    /// Counts room for so many pages in all as taken.
    fn take_room(&self, pages: u32) {
        let Some(taken) = self.temporary.get() else { return };
        let before = taken.pages.fetch_max(pages, Ordering::Relaxed);
        taken.space.take(u64::from(pages.saturating_sub(before)) * self.page_size as u64);
    }

    /// Error `DiskFull` if the file is a temporary one and its budget is used up.
    pub(crate) fn check_room(&self) -> Result<()> {
        match self.temporary_space().is_some_and(|space| space.is_used_up()) {
            true => Err(StorageError::DiskFull { path: self.path().to_path_buf() }),
            false => Ok(()),
        }
    }

    pub fn id(&self) -> FileId {
        self.id
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The position of the file's tree among those of its table, which is also that of its latches.
    pub(crate) fn tree(&self) -> u32 {
        self.tree.load(Ordering::Relaxed)
    }

    pub(crate) fn set_tree(&self, position: usize) {
        self.tree.store(position as u32, Ordering::Relaxed);
    }

    /// The guards of the rows of the table whose clustered tree this is; all its openings share them.
    pub(crate) fn row_guards(&self) -> &RowGuards {
        &self.row_guards
    }

    /// Numbers of pages that nothing leads to and that are not on the free list yet. All openings of a table share
    /// them, so that those of a former opening are freed, too.
    pub(crate) fn unlinked(&self) -> &Mutex<Vec<u32>> {
        &self.unlinked
    }

    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Stands in every page of the file.
    pub fn index_id(&self) -> u32 {
        self.index_id
    }

    /// The header with the counts of rows and leaves as they are now.
    pub fn header(&self) -> FileHeader {
        self.with_counts(*self.header.lock())
    }

    fn with_counts(&self, header: FileHeader) -> FileHeader {
        let (row_count, leaf_count) = (self.rows.load(Ordering::Relaxed), self.leaves.load(Ordering::Relaxed));
        FileHeader { row_count, leaf_count, ..header }
    }

    /// Returns true if page 0 has the counts as they are now.
    pub(crate) fn counts_in_page(&self) -> bool {
        let header = *self.header.lock();
        header == self.with_counts(header)
    }

    /// Notes that so many rows and leaves came or went. Page 0 has it when it next changes.
    pub(crate) fn count(&self, rows: i64, leaves: i64) {
        for (count, change) in [(&self.rows, rows), (&self.leaves, leaves)] {
            if change != 0 {
                count.fetch_add(change as u64, Ordering::Relaxed);
            }
        }
    }

    /// Changes the header, in memory and in page 0, which the caller has latched. `page_size` and `index_id` are not
    /// the caller's to change, nor are the counts; the page count and the free list are the buffer pool's.
    pub fn update_header(&self, page: &mut [u8], change: impl FnOnce(&mut FileHeader)) {
        debug_assert_eq!(PageHeader(page).page_type(), Some(PageType::FileHeader));
        let mut header = self.header.lock();
        change(&mut header);
        *header = self.with_counts(*header);
        let (lsn, max_trx_id) = (PageHeader(page).lsn(), PageHeader(page).max_trx_id());
        header.encode(page);
        PageHeaderMut(page).set_lsn(lsn);
        PageHeaderMut(page).set_max_trx_id(max_trx_id);
    }

    /// The next hidden row number, which is then taken. `reserve` makes page 0 count numbers below a bound as taken.
    /// Errors: those of `reserve`.
    pub(crate) fn take_row_id(&self, reserve: impl FnOnce(u64) -> Result<()>) -> Result<u64> {
        let mut next = self.next_row_id.lock();
        if *next >= self.header.lock().next_row_id {
            reserve(*next + ROW_IDS_AT_ONCE)?;
        }
        *next += 1;
        Ok(*next - 1)
    }

    /// Changes the header and writes it directly, past the buffer pool, with the root (its identity is added) if there
    /// is one. Only for a new file: nobody else has it open, and none of its pages is in the pool.
    pub(crate) fn write_new_header(&self, root: Option<&[u8]>, change: impl FnOnce(&mut FileHeader)) -> Result<()> {
        debug_assert_eq!(self.resident_pages(), 0);
        let header = {
            let mut header = self.header.lock();
            change(&mut header);
            *header
        };
        self.rows.store(header.row_count, Ordering::Relaxed);
        self.leaves.store(header.leaf_count, Ordering::Relaxed);
        *self.next_row_id.lock() = header.next_row_id;
        *self.allocated.lock() = header.page_count;
        let mut pages = AlignedBuf::zeroed(self.page_size * (1 + usize::from(root.is_some())));
        let (first, second) = pages.split_at_mut(self.page_size);
        header.encode(first);
        page::seal(first);
        if let Some(root) = root {
            second.copy_from_slice(root);
            PageHeaderMut(second).set_identity(ROOT_PAGE, self.index_id);
            page::seal(second);
        }
        let mut ops = [WriteOp::new(&self.file, 0, vec![&pages])];
        self.io.write(&mut ops);
        let [op] = ops;
        op.result.map_err(|e| self.error(e))
    }

    pub fn page_count(&self) -> u32 {
        self.header.lock().page_count
    }

    /// Pages of this file in the buffer pool now, the header not counted.
    pub fn resident_pages(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    pub(crate) fn count_resident(&self, change: i64) {
        self.resident.fetch_add(change as u64, Ordering::Relaxed);
    }

    /// Keeps others from taking pages and from giving them back. The number is the pages that the file has
    /// room for on the disk.
    pub(crate) fn lock_allocation(&self) -> MutexGuard<'_, u32> {
        self.allocated.lock()
    }

    /// Makes the file longer if it has room on the disk for `allocated` pages only, and not for a page at its end.
    /// Returns the pages that it has room for then; `None` if nothing was to be done. A header that counts a page may
    /// be written before the page is, so the caller syncs the file before it uses the page. Errors: `DiskFull`, I/O.
    pub(crate) fn grow(&self, allocated: u32, page_no: u32) -> Result<Option<u32>> {
        if page_no < allocated {
            return Ok(None);
        }
        let wanted = page_no.saturating_add((page_no / 4).clamp(GROWTH_MIN, GROWTH_MAX));
        if page_no == u32::MAX {
            return Err(self.error(std::io::Error::other("the file has as many pages as it can have")));
        }
        let bytes = self.offset(wanted);
        let grown = self.io.allocate(&self.file, bytes).map(|()| wanted);
        // A nearly full disk may still have room for the one page.
        let grown = grown.or_else(|_| self.io.allocate(&self.file, self.offset(page_no + 1)).map(|()| page_no + 1));
        let pages = grown.map_err(|e| self.error(e))?;
        self.take_room(pages);
        Ok(Some(pages))
    }

    pub(crate) fn io(&self) -> &Arc<dyn Disk> {
        &self.io
    }

    pub(crate) fn io_file(&self) -> &IoFile {
        &self.file
    }

    pub(crate) fn offset(&self, page_no: u32) -> u64 {
        u64::from(page_no) * self.page_size as u64
    }

    /// Names the file in an I/O error.
    pub(crate) fn error(&self, e: std::io::Error) -> StorageError {
        StorageError::io(self.path(), e)
    }

    /// Makes what was written durable. Files in use are synced by [`crate::buffer_pool::BufferPool::sync_file`].
    pub fn sync(&self) -> Result<()> {
        let is_synced = self.sync && self.temporary.get().is_none();
        if is_synced { self.io.sync(&self.file).map_err(|e| self.error(e)) } else { Ok(()) }
    }

    /// Makes the file's name durable.
    pub fn sync_directory(&self) -> Result<()> {
        match self.path().parent() {
            Some(directory) if self.sync && self.temporary.get().is_none() => {
                self.io.sync_directory(directory).map_err(|e| StorageError::io(directory, e))
            }
            _ => Ok(()),
        }
    }

    /// Removes the file from the directory. Frames that still hold its pages are never written again; the space is
    /// freed with the last reference. Call [`crate::buffer_pool::BufferPool::discard_file`] too.
    pub fn delete(&self) -> Result<()> {
        self.deleted.store(true, Ordering::Release);
        self.io.remove(self.path()).map_err(|e| self.error(e))
    }

    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        if let Some(taken) = self.temporary.get() {
            taken.space.give_back(u64::from(taken.pages.load(Ordering::Relaxed)) * self.page_size as u64);
        }
    }
}

#[cfg(test)]
mod tests;
