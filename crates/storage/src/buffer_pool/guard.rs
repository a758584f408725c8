//! Latched pages in the hands of their users.

use super::BufferPool;
use crate::{
    FileId,
    latch_order::{Held, Rank},
    page::{PageHeader, PageHeaderMut},
};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

/// A page latched for reading: it stays in memory and unchanged as long as this lives. May go to another thread.
pub struct PageGuard {
    pool: Arc<BufferPool>,
    frame: u32,
    held: Held,
}

/// A page latched for changing. It is dirty once its bytes were borrowed for that; a copy of it is sealed and written.
pub struct PageGuardMut {
    pool: Arc<BufferPool>,
    frame: u32,
    /// `None` once the latch belongs to somebody else.
    held: Option<Held>,
    /// True from the first byte that changes until the change is in the log.
    is_amid_change: bool,
    /// True if the thread was unwinding already when it got the page: a transaction that a panic drops is rolled back.
    was_panicking: bool,
}

impl PageGuard {
    /// The caller holds the latch shared and hands it over.
    pub(super) fn new(pool: Arc<BufferPool>, frame: u32) -> PageGuard {
        let held = Held::page(pool.frames.get(frame).key().0, false);
        PageGuard { pool, frame, held }
    }

    /// Tells the place of the latch among others. `waited`: it would have been waited for.
    pub(crate) fn place(&self, waited: bool, rank: impl FnOnce() -> Rank) {
        self.held.place(waited, rank);
    }

    pub fn page_no(&self) -> u32 {
        self.pool.frames.get(self.frame).key().page_no()
    }

    pub fn file_id(&self) -> FileId {
        self.pool.frames.get(self.frame).key().file()
    }

    pub fn header(&self) -> PageHeader<'_> {
        PageHeader(self)
    }

    pub(super) fn pool(&self) -> &BufferPool {
        &self.pool
    }

    pub(super) fn frame(&self) -> u32 {
        self.frame
    }
}

impl Deref for PageGuard {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch shared.
        unsafe { self.pool.frames.bytes(self.frame) }
    }
}

impl Drop for PageGuard {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard held the latch shared; nobody can use it any more.
        unsafe { self.pool.frames.get(self.frame).unlock_shared() }
    }
}

impl fmt::Debug for PageGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageGuard({}/{})", self.file_id().0, self.page_no())
    }
}

impl PageGuardMut {
    /// The caller holds the latch exclusively and hands it over.
    pub(super) fn new(pool: Arc<BufferPool>, frame: u32) -> PageGuardMut {
        let held = Held::page(pool.frames.get(frame).key().0, true);
        PageGuardMut { pool, frame, held: Some(held), is_amid_change: false, was_panicking: std::thread::panicking() }
    }

    /// Tells the place of the latch, which would have been waited for, among others.
    pub(crate) fn place(&self, rank: impl FnOnce() -> Rank) {
        if let Some(held) = &self.held {
            held.place(true, rank);
        }
    }

    pub fn page_no(&self) -> u32 {
        self.pool.frames.get(self.frame).key().page_no()
    }

    pub fn file_id(&self) -> FileId {
        self.pool.frames.get(self.frame).key().file()
    }

    pub fn header(&self) -> PageHeader<'_> {
        PageHeader(self)
    }

    pub fn header_mut(&mut self) -> PageHeaderMut<'_> {
        PageHeaderMut(self)
    }

    pub(super) fn pool(&self) -> &BufferPool {
        &self.pool
    }

    pub(super) fn frame(&self) -> u32 {
        self.frame
    }

    /// Leaves the latch to the caller, who holds it exclusively from now on. Returns the frame.
    pub(super) fn hand_over(mut self) -> u32 {
        self.held = None;
        self.frame
    }

    /// Notes that the page is about to change, which borrowing its bytes does too. To be called before the change is
    /// appended to the log: else a checkpoint could pass the page by.
    #[inline]
    pub fn mark_dirty(&self) {
        self.pool.mark_dirty(self.frame);
    }

    /// Notes that the page is whole, and the log has what was changed. A panic before that, with the page in hand, ends
    /// the process: half a change would be read by others and written to the disk, and no record of the log would tell
    /// of it.
    #[inline]
    pub(crate) fn change_is_whole(&mut self) {
        self.is_amid_change = false;
    }

    /// Lets readers in; the page stays latched for reading.
    pub fn downgrade(self) -> PageGuard {
        let mut this = self;
        let mut held = this.held.take().expect("a guard has its latch until it is gone");
        held.share();
        // SAFETY: this guard holds the latch exclusively, and leaves it to the new one.
        unsafe { this.pool.frames.get(this.frame).downgrade() };
        PageGuard { pool: Arc::clone(&this.pool), frame: this.frame, held }
    }
}

impl Deref for PageGuardMut {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the latch exclusively.
        unsafe { self.pool.frames.bytes(self.frame) }
    }
}

impl DerefMut for PageGuardMut {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.mark_dirty();
        self.is_amid_change = true;
        // SAFETY: this guard holds the latch exclusively, and `&mut self` makes this the only reference.
        unsafe { self.pool.frames.bytes_mut(self.frame) }
    }
}

impl Drop for PageGuardMut {
    #[inline]
    fn drop(&mut self) {
        if self.held.is_some() {
            // Before anybody else gets the page.
            if self.is_amid_change && !self.was_panicking && std::thread::panicking() {
                self.pool.write_order.change_was_cut_off(&format!(
                    "page {} of file {}",
                    self.page_no(),
                    self.file_id().0
                ));
            }
            // SAFETY: this guard held the latch exclusively; nobody can use it any more.
            unsafe { self.pool.frames.get(self.frame).unlock_exclusive() }
        }
    }
}

impl fmt::Debug for PageGuardMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageGuardMut({}/{})", self.file_id().0, self.page_no())
    }
}
