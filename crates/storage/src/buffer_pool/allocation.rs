//! Pages that a file gets, and those that it gives back to its free list.
//!
//! An [`Allocation`] plans both: the file header and the free list change when it is committed, which cannot fail, and
//! not at all if it is dropped before that.

use super::{BufferPool, PageGuardMut, frames::PageKey};
use crate::{
    Counters, Result, StorageError,
    counters::Counter,
    file::{FileHeader, PageFile},
    latch_order::{InTree, Rank},
    mutex::MutexGuard,
    page::{self, PageType},
};
use std::sync::Arc;

/// Pages that a change takes from a file and gives back to it. Holds the latch of the file header, so that the pages
/// that the change needs besides are latched before it is begun.
pub struct Allocation<'a> {
    pool: &'a Arc<BufferPool>,
    file: &'a Arc<PageFile>,
    /// Number of pages that the file has room for on the disk; locked so that no other allocation is at work.
    room: MutexGuard<'a, u32>,
    header_page: PageGuardMut,
    /// The header as it will be.
    header: FileHeader,
}

/// A page that an allocation took. What its bytes are is the taker's business.
pub struct TakenPage {
    pub page: PageGuardMut,
    /// True if the file did not have the page before: if the allocation is dropped, the page has to be forgotten by
    /// [`BufferPool::forget_page`].
    pub is_new: bool,
}

impl<'a> Allocation<'a> {
    /// Errors: those of latching the file header.
    pub fn begin(pool: &'a Arc<BufferPool>, file: &'a Arc<PageFile>, counters: &Counters) -> Result<Allocation<'a>> {
        let room = file.lock_allocation();
        let header_page = pool.header_mut(file, counters)?;
        Ok(Allocation { pool, file, room, header_page, header: file.header() })
    }

    /// Takes a page from the free list or behind the file's end. Errors: `DiskFull`, `Corrupt`, I/O, `NoFreeFrame`.
    pub fn take(&mut self, counters: &Counters) -> Result<TakenPage> {
        let (pool, file) = (self.pool, self.file);
        let free = self.header.free_head;
        if free != page::NO_PAGE {
            let page = pool.fetch_mut(file, free, counters)?;
            page.place(|| Rank::Tree(file.tree(), InTree::Free));
            let next = page.header().next();
            if page.header().page_type() != Some(PageType::Free) || next >= self.header.page_count {
                let reason = "the free list leads here, but it is not a free page".to_string();
                return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: free, reason });
            }
            self.header.free_head = next;
            self.header.free_count = self.header.free_count.saturating_sub(1);
            return Ok(TakenPage { page, is_new: false });
        }
        let page_no = self.header.page_count;
        if let Some(grown) = file.grow(*self.room, page_no)? {
            pool.sync_file(file)?;
            *self.room = grown;
        }
        let frame = pool.take_frame(counters)?;
        counters.add(Counter::pages_created, 1);
        let mapped = pool.map(file, PageKey::new(file.id(), page_no), frame);
        assert!(mapped, "a page that did not exist cannot be in memory");
        pool.mark_dirty(frame);
        pool.replacement.insert(&pool.frames, frame, pool.is_filling());
        self.header.page_count = page_no + 1;
        let page = PageGuardMut::new(Arc::clone(pool), frame);
        page.place(|| Rank::Tree(file.tree(), InTree::Free));
        Ok(TakenPage { page, is_new: true })
    }

    /// Puts a page, which the caller has latched and nothing leads to any more, first on the free list. Returns the
    /// free page behind it.
    pub fn give_back(&mut self, page_no: u32) -> u32 {
        self.header.free_count += 1;
        std::mem::replace(&mut self.header.free_head, page_no)
    }

    /// The header as it will be, for fields other than those of pages.
    pub fn header_mut(&mut self) -> &mut FileHeader {
        &mut self.header
    }

    /// Changes the file header. Returns its page, still latched.
    pub fn commit(mut self) -> PageGuardMut {
        let header = self.header;
        self.file.update_header(&mut self.header_page, |h| *h = header);
        self.header_page
    }
}

impl BufferPool {
    /// Appends a page to a file, or takes one from its free list. It is zeroed but for its identity. On an error the
    /// file is as it was. Errors: `DiskFull`, `Corrupt`, I/O, `NoFreeFrame`.
    pub fn new_page(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        page_type: PageType,
        counters: &Counters,
    ) -> Result<PageGuardMut> {
        let mut allocation = Allocation::begin(self, file, counters)?;
        let mut page = allocation.take(counters)?.page;
        let page_no = page.page_no();
        page.header_mut().init(page_type, page_no, file.index_id());
        allocation.commit();
        Ok(page)
    }

    /// Puts a page on the free list of its file. Nothing may lead to it any more. On an error nothing is changed.
    pub fn free_page(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        mut page: PageGuardMut,
        counters: &Counters,
    ) -> Result<()> {
        debug_assert_eq!(page.file_id(), file.id());
        let mut allocation = Allocation::begin(self, file, counters)?;
        let page_no = page.page_no();
        let next = allocation.give_back(page_no);
        page.header_mut().init(PageType::Free, page_no, file.index_id());
        page.header_mut().set_next(next);
        allocation.commit();
        Ok(())
    }

    /// Forgets a page that an allocation took behind the file's end before it was dropped: the file does not have it.
    pub fn forget_page(&self, page: PageGuardMut) {
        let frame = page.hand_over();
        self.replacement.remove(&self.frames, frame);
        self.unmap(frame);
        self.give_back(frame);
    }
}
