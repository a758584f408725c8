//! The memory of the pool: one anonymous mapping, touched as it is used, cut into frames; and the latch of each.
//!
//! A frame's bytes may be read by whoever holds its latch shared, and changed by whoever holds it exclusively.

use super::{dirty::PageState, rested::Rest};
use crate::{FileId, file::PageFile, mutex::Mutex};
use parking_lot::{
    RawRwLock,
    lock_api::{RawRwLock as _, RawRwLockDowngrade as _, RawRwLockRecursive as _},
};
use std::{
    io, ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

/// Which page a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PageKey(pub u64);

impl PageKey {
    /// No page: no file has the number 0.
    pub const NONE: PageKey = PageKey(0);

    pub fn new(file: FileId, page_no: u32) -> PageKey {
        PageKey(u64::from(file.0) << 32 | u64::from(page_no))
    }
    pub fn file(self) -> FileId {
        FileId((self.0 >> 32) as u32)
    }
    pub fn page_no(self) -> u32 {
        self.0 as u32
    }
}

pub(super) struct Frame {
    latch: RawRwLock,
    /// Threads that wait for the latch because they have found their page here. As long as there are any, no other page
    /// comes here: a thread would wait for a page that it did not ask for, out of the order of latches.
    waiting: AtomicU32,
    /// Changed only under the exclusive latch.
    key: AtomicU64,
    pub state: PageState,
    /// Whether the page is noted as a leaf with changes: [`super::rested`].
    pub rest: Rest,
    /// The list that the frame is in: [`super::lists`].
    pub list: AtomicU32,
    /// When the page was last used, in pages that came into the pool: [`super::replacement`].
    pub stamp: AtomicU32,
    /// The page was read ahead, and nobody has used it yet.
    pub ahead: AtomicBool,
    /// The page is old and was used before, too long ago to be young.
    pub came_back: AtomicBool,
    /// When the page was first used since it is old, in milliseconds, where that matters.
    pub used_ms: AtomicU32,
    /// The file of the page; `None` exactly when the key is [`PageKey::NONE`].
    pub owner: Mutex<Option<Arc<PageFile>>>,
}

impl Frame {
    pub fn key(&self) -> PageKey {
        PageKey(self.key.load(Ordering::Acquire))
    }
    pub fn set_key(&self, key: PageKey) {
        self.key.store(key.0, Ordering::Release);
    }
    pub fn lock_shared(&self) {
        // Readers pass waiting writers: a cursor that holds a page may latch it again.
        self.latch.lock_shared_recursive();
    }
    pub fn try_lock_shared(&self) -> bool {
        self.latch.try_lock_shared_recursive()
    }
    pub fn lock_exclusive(&self) {
        self.latch.lock_exclusive();
    }
    /// Announces a thread that is going to wait for the latch. The caller has its page's shard of the page table
    /// locked.
    pub fn begin_waiting(&self) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
    }
    pub fn end_waiting(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }
    pub fn try_lock_exclusive(&self) -> bool {
        self.latch.try_lock_exclusive()
    }
    pub fn is_latched(&self) -> bool {
        self.latch.is_locked()
    }
    /// # Safety
    /// The caller holds the latch shared and gives it up.
    pub unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's promise; latches may be given up by another thread (`send_guard`).
        unsafe { self.latch.unlock_shared() }
    }
    /// # Safety
    /// The caller holds the latch exclusively and gives it up.
    pub unsafe fn unlock_exclusive(&self) {
        // SAFETY: as above.
        unsafe { self.latch.unlock_exclusive() }
    }
    /// # Safety
    /// The caller holds the latch exclusively; afterwards it holds it shared.
    pub unsafe fn downgrade(&self) {
        // SAFETY: as above.
        unsafe { self.latch.downgrade() }
    }
}

pub(super) struct Frames {
    memory: *mut u8,
    bytes: usize,
    page_size: usize,
    frames: Box<[Frame]>,
}

// SAFETY: `memory` is a private mapping that lives as long as this value; access to it goes by the frames' latches.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

impl Frames {
    pub fn new(count: usize, page_size: usize) -> io::Result<Frames> {
        let bytes = count.checked_mul(page_size).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a fresh anonymous private mapping; nothing else is at stake.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Fewer TLB misses; only advice, so that a refusal does not matter.
        // SAFETY: the mapping made above.
        unsafe { libc::madvise(memory, bytes, libc::MADV_HUGEPAGE) };
        let frames = (0..count)
            .map(|_| Frame {
                latch: RawRwLock::INIT,
                waiting: AtomicU32::new(0),
                key: AtomicU64::new(PageKey::NONE.0),
                state: PageState::default(),
                rest: Rest::default(),
                list: AtomicU32::new(0),
                stamp: AtomicU32::new(0),
                ahead: AtomicBool::new(false),
                came_back: AtomicBool::new(false),
                used_ms: AtomicU32::new(0),
                owner: Mutex::new(None),
            })
            .collect();
        Ok(Frames { memory: memory.cast(), bytes, page_size, frames })
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn get(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Frame)> {
        self.frames.iter().enumerate().map(|(i, f)| (i as u32, f))
    }

    fn start(&self, frame: u32) -> *mut u8 {
        assert!((frame as usize) < self.frames.len());
        // SAFETY: below the end of the mapping, by the assertion.
        unsafe { self.memory.add(frame as usize * self.page_size) }
    }

    /// # Safety
    /// The caller holds the frame's latch as long as it uses the bytes.
    pub unsafe fn bytes(&self, frame: u32) -> &[u8] {
        // SAFETY: inside the mapping, zeroed by the kernel when new; no writer, by the caller's latch.
        unsafe { std::slice::from_raw_parts(self.start(frame), self.page_size) }
    }

    /// # Safety
    /// The caller holds the frame's latch exclusively as long as it uses the bytes, and makes no second reference.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, frame: u32) -> &mut [u8] {
        // SAFETY: as above; the exclusive latch makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start(frame), self.page_size) }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unused from here on.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}
