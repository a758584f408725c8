//! Pages that a file gets, and those that it gives back to its free list.

use super::{BufferPool, PageGuardMut, frames::PageKey};
use crate::{
    Counters, Result, StorageError,
    counters::Counter,
    file::PageFile,
    page::{self, PageType},
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

impl BufferPool {
    /// Appends a page to a file, or takes one from its free list. It is zeroed but for its identity. On an error the file
    /// is as it was. Errors: `DiskFull`, `Corrupt`, I/O, `NoFreeFrame`.
    pub fn new_page(
        self: &Arc<Self>,
        file: &Arc<PageFile>,
        page_type: PageType,
        counters: &Counters,
    ) -> Result<PageGuardMut> {
        let mut allocation = file.lock_allocation();
        let mut header = self.header_mut(file, counters)?;
        let free = file.header().free_head;
        if free != page::NO_PAGE {
            let mut page = self.fetch_mut(file, free, counters)?;
            let next = page.header().next();
            if page.header().page_type() != Some(PageType::Free) || next >= file.page_count() {
                let reason = "the free list leads here, but it is not a free page".to_string();
                return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: free, reason });
            }
            page.header_mut().init(page_type, free, file.index_id());
            file.update_header(&mut header, |h| {
                h.free_head = next;
                h.free_count = h.free_count.saturating_sub(1);
            });
            return Ok(page);
        }
        let page_no = file.make_room(&mut allocation)?;
        let frame = self.take_frame(counters)?;
        file.update_header(&mut header, |h| h.page_count = page_no + 1);
        counters.add(Counter::pages_created, 1);
        let mapped = self.map(file, PageKey::new(file.id(), page_no), frame);
        assert!(mapped, "a page that did not exist cannot be in memory");
        self.frames.get(frame).dirty.store(true, Relaxed);
        self.replacement.insert(&self.frames, frame, self.is_filling());
        let mut page = PageGuardMut::new(Arc::clone(self), frame);
        page.header_mut().init(page_type, page_no, file.index_id());
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
        let _allocation = file.lock_allocation();
        let mut header = self.header_mut(file, counters)?;
        let page_no = page.page_no();
        page.header_mut().init(PageType::Free, page_no, file.index_id());
        page.header_mut().set_next(file.header().free_head);
        file.update_header(&mut header, |h| {
            h.free_head = page_no;
            h.free_count += 1;
        });
        Ok(())
    }
}
