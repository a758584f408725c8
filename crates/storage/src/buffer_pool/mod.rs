//! The buffer pool: a fixed amount of memory that holds pages of files.
//!
//! ```text
//!   fetch(file, page_no) -> page_table: which frame?   one shard's lock, never held over I/O or a latch wait
//!                        -> frames: latch it           the latch is the pin: a latched frame is never evicted
//!                        -> replacement: used again?   no lock unless the frame has to move
//!   miss: a free frame, or evict one (replacement) -> latched exclusively -> into the page table -> read, verify ->
//! downgrade
//!   prefetch: the same, but the read is done by a thread of read_ahead; who fetches the page waits for the latch
//!   change: PageGuardMut -> dirty: since when?    the first change of a clean page alone takes a lock
//!   cleaner, flush -> write_back: copies of dirty pages to their places    nobody else writes pages
//! ```
//!
//! Invariants: a frame in the page table has the key it is found under, unless its latch is held exclusively; a
//! frame's key and contents change only under its exclusive latch; nobody waits for a latch while holding a lock of
//! the page table or of replacement. So whoever has waited for a latch looks at the key again. A frame that somebody
//! waits for gets no other page, so that nobody waits for a page that he has not asked for.

mod allocation;
mod cleaner;
mod clear;
mod contents;
mod dirty;
mod evict;
mod eviction_history;
mod flush;
mod frames;
mod guard;
mod lists;
mod page_table;
mod planted;
mod read_ahead;
mod redo;
mod replacement;
mod rested;
mod settings;
mod write_back;
mod write_order;

pub use allocation::{Allocation, TakenPage};
pub use contents::{PageContent, PoolPage};
pub use guard::{PageGuard, PageGuardMut};
pub use redo::PageForRedo;
pub use write_back::BATCH_PAGES;
pub use write_order::{Doublewrite, OnPoolFailure, PageCopy, PageLog};

use crate::{
    Counters, Result, StorageError,
    counters::Counter,
    file::{HEADER_PAGE, PageFile},
    io::{Disk, ReadOp},
    latch_order::{Held, InTree, Rank},
    mutex::Mutex,
    page,
    planted::Planted,
};
use cleaner::Cleaner;
use dirty::DirtyPages;
use frames::{Frames, PageKey};
use page_table::PageTable;
#[cfg(test)]
pub(crate) use planted::PlantedFault;
use replacement::Replacement;
use rested::RestList;
use std::{
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};
use write_back::CopyBuffer;
use write_order::WriteOrder;

/// Sizes of the pool, in pages, and what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    pub frames: usize,
    pub free: usize,
    pub young: usize,
    pub old: usize,
    pub dirty: usize,
    /// Pages being read ahead now.
    pub reading: usize,
    /// Requests that found their page in memory.
    pub hits: u64,
    /// Pages that became young because they came back soon.
    pub made_young: u64,
    /// Pages that left although they had come back, not soon enough to become young.
    pub not_made_young: u64,
    /// Pages that were read ahead and left without having been used.
    pub read_ahead_evicted: u64,
    /// Pages that were written to their places.
    pub flushed: u64,
    /// Pages that were written to the doublewrite file first, and the batches that they came in.
    pub doublewrite_pages: u64,
    pub doublewrite_batches: u64,
}

/// Fewer frames than this cannot hold the pages that one descent and one split latch at once.
const MIN_FRAMES: usize = 8;
/// Looks at a page that was evicted again and again between being found and being latched.
const ATTEMPTS: usize = 10_000;

/// A fixed number of frames, shared by all files of a store.
pub struct BufferPool {
    frames: Frames,
    table: PageTable,
    replacement: Replacement,
    free: Mutex<Vec<u32>>,
    page_size: usize,
    io: Arc<dyn Disk>,
    read_ahead: read_ahead::ReadAhead,
    /// Frames that are being read ahead.
    reading: AtomicUsize,
    /// How long to wait for a frame when all are in use, in milliseconds.
    frame_wait_ms: AtomicU64,
    dirty: DirtyPages,
    cleaner: Arc<Cleaner>,
    rested: RestList,
    write_order: WriteOrder,
    copies: Mutex<CopyBuffer>,
    flushed: AtomicU64,
    doublewrite_pages: AtomicU64,
    doublewrite_batches: AtomicU64,
    planted: Planted<planted::PlantedFault>,
    /// Counters of the cleaner's work.
    counters: Arc<Counters>,
    /// The pool itself, for the cleaner.
    me: Weak<BufferPool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shared,
    Exclusive,
}

impl BufferPool {
    /// Maps `bytes` of memory (at least a few frames), which is touched as it fills.
    pub fn new(bytes: usize, page_size: usize, io: Arc<dyn Disk>) -> Result<Arc<BufferPool>> {
        BufferPool::counting_into(Arc::default(), bytes, page_size, io)
    }

    /// A pool as [`BufferPool::new`] makes it. What its cleaner does is counted in `counters`.
    pub fn counting_into(
        counters: Arc<Counters>,
        bytes: usize,
        page_size: usize,
        io: Arc<dyn Disk>,
    ) -> Result<Arc<BufferPool>> {
        let count = (bytes / page_size).clamp(MIN_FRAMES, u32::MAX as usize / 2);
        let frames = Frames::new(count, page_size).map_err(|e| StorageError::io(Path::new("buffer pool"), e))?;
        Ok(Arc::new_cyclic(|me| BufferPool {
            frames,
            table: PageTable::new(),
            replacement: Replacement::new(count),
            free: Mutex::new((0..count as u32).rev().collect()),
            page_size,
            io,
            read_ahead: read_ahead::ReadAhead::new(),
            reading: AtomicUsize::new(0),
            frame_wait_ms: AtomicU64::new(2000),
            dirty: DirtyPages::default(),
            cleaner: Arc::new(Cleaner::new(count)),
            rested: RestList::default(),
            write_order: WriteOrder::new(),
            copies: Mutex::new(None),
            flushed: AtomicU64::new(0),
            doublewrite_pages: AtomicU64::new(0),
            doublewrite_batches: AtomicU64::new(0),
            planted: Planted::default(),
            counters,
            me: Weak::clone(me),
        }))
    }

    pub fn page_size(&self) -> usize {
        self.page_size
    }

    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    pub fn statistics(&self) -> PoolStatistics {
        let (young, old) = self.replacement.lengths();
        let moves = self.replacement.moves();
        PoolStatistics {
            frames: self.frames.len(),
            free: self.free.lock().len(),
            young,
            old,
            dirty: self.dirty.count(),
            reading: self.reading.load(Relaxed),
            hits: self.table.hits(),
            made_young: moves.made_young,
            not_made_young: moves.not_made_young,
            read_ahead_evicted: moves.ahead_evicted,
            flushed: self.flushed.load(Relaxed),
            doublewrite_pages: self.doublewrite_pages.load(Relaxed),
            doublewrite_batches: self.doublewrite_batches.load(Relaxed),
        }
    }

    /// Returns true if a page is in memory (or on its way).
    pub fn is_resident(&self, file: &PageFile, page_no: u32) -> bool {
        let key = PageKey::new(file.id(), page_no);
        self.table.shard(key).frames.contains_key(&key)
    }

    /// A page for reading. Waits for a writer of it, or for its read to finish. Errors: `Corrupt`, I/O, `NoFreeFrame`.
    #[inline]
    pub fn fetch(self: &Arc<Self>, file: &Arc<PageFile>, page_no: u32, counters: &Counters) -> Result<PageGuard> {
        if page_no == page::NO_PAGE {
            return Err(out_of_file(file, page_no));
        }
        let frame = self.latch(file, page_no, counters, Mode::Shared)?;
        Ok(PageGuard::new(Arc::clone(self), frame))
    }

    /// A page for reading; `None` if somebody changes it just now or reads it from disk. For who holds other pages, and
    /// must not wait for a writer who may wait for one of those. Errors: as [`BufferPool::fetch`].
    pub fn try_fetch(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        page_no: u32,
        counters: &Counters,
    ) -> Result<Option<PageGuard>> {
        if page_no == page::NO_PAGE {
            return Err(out_of_file(file, page_no));
        }
        let key = PageKey::new(file.id(), page_no);
        let page = self.fetch_resident(file, page_no);
        if page.is_some() || self.is_resident(file, page_no) {
            counters.add(Counter::page_requests, u64::from(page.is_some()));
            return Ok(page);
        }
        // A page that is not in memory is nobody's; whoever brings it at the same time holds it while it is read.
        let frame = self.read(file, key, counters, Mode::Shared)?;
        counters.add(Counter::page_requests, u64::from(frame.is_some()));
        Ok(frame.map(|frame| PageGuard::new(Arc::clone(self), frame)))
    }

    /// A page for reading if that needs no waiting: it is in memory and nobody changes it. Does not count the request.
    #[inline]
    pub fn fetch_resident(self: &Arc<Self>, file: &PageFile, page_no: u32) -> Option<PageGuard> {
        let key = PageKey::new(file.id(), page_no);
        let mut shard = self.table.shard(key);
        let frame = *shard.frames.get(&key)?;
        if !self.frames.get(frame).try_lock_shared() {
            return None;
        }
        shard.hits += 1;
        drop(shard);
        self.replacement.touch(&self.frames, frame);
        Some(PageGuard::new(Arc::clone(self), frame))
    }

    /// A page for changing; as [`BufferPool::fetch`]. Blocks while anybody else holds the page.
    pub fn fetch_mut(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        page_no: u32,
        counters: &Counters,
    ) -> Result<PageGuardMut> {
        if page_no == page::NO_PAGE {
            return Err(out_of_file(file, page_no));
        }
        self.latch_mut(file, page_no, counters)
    }

    /// The header page of a file for changing, with [`PageFile::update_header`]. Readers never latch it, so a caller
    /// may hold other pages of the file. Errors: as [`BufferPool::fetch_mut`].
    pub fn header_mut(self: &Arc<Self>, file: &Arc<PageFile>, counters: &Counters) -> Result<PageGuardMut> {
        let page = self.latch_mut(file, HEADER_PAGE, counters)?;
        page.place(|| Rank::Tree(file.tree(), InTree::Header));
        Ok(page)
    }

    fn latch_mut(self: &Arc<Self>, file: &Arc<PageFile>, page_no: u32, counters: &Counters) -> Result<PageGuardMut> {
        counters.add(Counter::page_write_requests, 1);
        let frame = self.latch(file, page_no, counters, Mode::Exclusive)?;
        Ok(PageGuardMut::new(Arc::clone(self), frame))
    }

    /// Notes that a page, latched exclusively, is about to change.
    #[inline]
    fn mark_dirty(&self, frame: u32) {
        let state = &self.frames.get(frame).state;
        if self.dirty.mark(frame, state, || self.write_order.position())
            && self.dirty.count() > self.cleaner.dirty_max()
        {
            self.cleaner.wake_for_share(&self.me);
        }
    }

    #[inline]
    fn latch(&self, file: &Arc<PageFile>, page_no: u32, counters: &Counters, mode: Mode) -> Result<u32> {
        counters.add(Counter::page_requests, 1);
        let key = PageKey::new(file.id(), page_no);
        for _ in 0..ATTEMPTS {
            let mut shard = self.table.shard(key);
            if let Some(&frame) = shard.frames.get(&key) {
                let latch = self.frames.get(frame);
                let latched = match mode {
                    Mode::Shared => latch.try_lock_shared(),
                    Mode::Exclusive => latch.try_lock_exclusive(),
                };
                if latched {
                    shard.hits += 1;
                    drop(shard);
                    self.replacement.touch(&self.frames, frame);
                    return Ok(frame);
                }
                latch.begin_waiting();
                drop(shard);
                let is_page = self.wait_for(frame, key, mode);
                latch.end_waiting();
                if is_page {
                    self.table.shard(key).hits += 1;
                    self.replacement.touch(&self.frames, frame);
                    return Ok(frame);
                }
            } else {
                drop(shard);
                if let Some(frame) = self.read(file, key, counters, mode)? {
                    return Ok(frame);
                }
            }
        }
        Err(StorageError::NoFreeFrame { frames: self.frames.len() })
    }

    /// Waits for a latch; whether the frame then still holds the page.
    #[cold]
    fn wait_for(&self, frame: u32, key: PageKey, mode: Mode) -> bool {
        Held::before_waiting(key.0, mode == Mode::Exclusive);
        let f = self.frames.get(frame);
        match mode {
            Mode::Shared => {
                f.lock_shared();
                if f.key() == key {
                    return true;
                }
                // SAFETY: locked above.
                unsafe { f.unlock_shared() };
            }
            Mode::Exclusive => {
                f.lock_exclusive();
                if f.key() == key {
                    return true;
                }
                // SAFETY: locked above.
                unsafe { f.unlock_exclusive() };
            }
        }
        false
    }

    /// Reads a page that is not in memory. `None` when somebody else brought it meanwhile.
    #[cold]
    fn read(&self, file: &Arc<PageFile>, key: PageKey, counters: &Counters, mode: Mode) -> Result<Option<u32>> {
        let page_no = key.page_no();
        if page_no >= file.page_count() {
            return Err(out_of_file(file, page_no));
        }
        let frame = self.take_frame(counters)?;
        if !self.map(file, key, frame) {
            self.give_back(frame);
            return Ok(None);
        }
        counters.add(Counter::page_misses, 1);
        counters.add(Counter::reads, 1);
        counters.add(Counter::bytes_read, self.page_size as u64);
        counters.add(Counter::pages_read, 1);
        // SAFETY: the frame is latched exclusively and this is the only use of its bytes.
        let bytes = unsafe { self.frames.bytes_mut(frame) };
        let result = {
            let mut ops = [ReadOp::new(file.io_file(), file.offset(page_no), vec![&mut *bytes])];
            self.io.read(&mut ops);
            let [op] = ops;
            op.result.map_err(|e| read_error(file, page_no, e))
        };
        match result.and_then(|()| page::verify(bytes, file.path(), page_no, file.index_id())) {
            Ok(()) => {
                self.replacement.insert(&self.frames, frame, self.is_filling());
                if mode == Mode::Shared {
                    // SAFETY: latched exclusively by `take_frame`.
                    unsafe { self.frames.get(frame).downgrade() };
                }
                Ok(Some(frame))
            }
            Err(e) => {
                self.unmap(frame);
                self.give_back(frame);
                Err(e)
            }
        }
    }

    /// Puts a frame, latched exclusively, into the page table; false if the page is there already.
    fn map(&self, file: &Arc<PageFile>, key: PageKey, frame: u32) -> bool {
        let mut shard = self.table.shard(key);
        if shard.frames.contains_key(&key) {
            return false;
        }
        let f = self.frames.get(frame);
        f.set_key(key);
        *f.owner.lock() = Some(Arc::clone(file));
        shard.frames.insert(key, frame);
        if key.page_no() != HEADER_PAGE {
            file.count_resident(1);
        }
        true
    }

    /// Takes a frame, latched exclusively, out of the page table.
    fn unmap(&self, frame: u32) {
        let f = self.frames.get(frame);
        let key = f.key();
        self.table.shard(key).frames.remove(&key);
        f.set_key(PageKey::NONE);
        self.dirty.forget(frame, &f.state);
        let owner = f.owner.lock().take();
        if let Some(file) = owner.filter(|_| key.page_no() != HEADER_PAGE) {
            file.count_resident(-1);
        }
    }

    /// Returns true if there are frames that hold nothing, so that no page has to go for another.
    fn is_filling(&self) -> bool {
        !self.free.lock().is_empty()
    }

    /// Puts an empty frame, latched exclusively, among the free ones and unlatches it.
    fn give_back(&self, frame: u32) {
        debug_assert_eq!(self.frames.get(frame).key(), PageKey::NONE);
        // SAFETY: latched exclusively, by the function's contract.
        unsafe { self.frames.get(frame).unlock_exclusive() };
        self.free.lock().push(frame);
    }
}

/// The error of a page number that leads to no page that can be asked for.
#[cold]
fn out_of_file(file: &PageFile, page_no: u32) -> StorageError {
    let reason = format!("asked for, but the file has pages 1 to {}", file.page_count() - 1);
    StorageError::Corrupt { path: file.path().to_path_buf(), page: page_no, reason }
}

/// A page beyond the end of the file is a damaged file, not a failing device.
fn read_error(file: &PageFile, page_no: u32, e: std::io::Error) -> StorageError {
    if e.kind() == std::io::ErrorKind::UnexpectedEof {
        let reason = "the file is cut short before the end of this page".to_string();
        return StorageError::Corrupt { path: file.path().to_path_buf(), page: page_no, reason };
    }
    file.error(e)
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        self.read_ahead.stop();
        self.cleaner.end();
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.statistics().fmt(f)
    }
}

#[cfg(test)]
mod allocation_tests;
#[cfg(test)]
mod clean_page_tests;
#[cfg(test)]
mod cleaner_tests;
#[cfg(test)]
mod pool_bench;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod replacement_tests;
#[cfg(test)]
mod watched_disk;
#[cfg(test)]
mod write_back_tests;
#[cfg(test)]
mod write_fixtures;
