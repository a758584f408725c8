//! The contents of the pool, page by page, for `information_schema.INNODB_BUFFER_PAGE`.

use super::{BufferPool, frames::PageKey, lists::List};
use crate::{
    FileId,
    page::{PageHeader, PageType},
};
use std::sync::atomic::Ordering::Relaxed;

/// A frame that holds a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolPage {
    pub frame: u32,
    pub file: FileId,
    pub page_no: u32,
    /// Place in the order in which pages go, 0 goes first; `None` while the page is being read.
    pub position: Option<usize>,
    pub old: bool,
    pub dirty: bool,
    /// Somebody holds its latch.
    pub latched: bool,
    /// When it was last used, and when it came to the head of its list, in pages that came into the pool.
    pub last_used: u32,
    pub at_head: u32,
    /// From the page itself; `None` while somebody is changing or reading it.
    pub content: Option<PageContent>,
}

/// The description of a page from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageContent {
    pub page_type: Option<PageType>,
    /// Rows of a leaf, children of an inner page.
    pub rows: u16,
    /// Bytes behind the header that are in use.
    pub bytes: usize,
    pub lsn: u64,
}

impl BufferPool {
    /// All pages in the pool: those in its lists, the next to go first, then those that are being read. The picture is
    /// of one moment as far as the lists go; what a page says of itself may be a moment younger.
    pub fn pages(&self) -> Vec<PoolPage> {
        let order = self.replacement.order();
        let mut listed = vec![false; self.frames.len()];
        let mut pages = Vec::with_capacity(order.len());
        for (position, (frame, at_head)) in order.into_iter().enumerate() {
            listed[frame as usize] = true;
            pages.extend(self.pool_page(frame, Some(position), at_head));
        }
        let rest = (0..self.frames.len() as u32).filter(|frame| !listed[*frame as usize]);
        pages.extend(rest.filter_map(|frame| self.pool_page(frame, None, 0)));
        pages
    }

    /// `None` for a frame that holds no page (any more).
    fn pool_page(&self, frame: u32, position: Option<usize>, at_head: u32) -> Option<PoolPage> {
        let f = self.frames.get(frame);
        let key = f.key();
        if key == PageKey::NONE {
            return None;
        }
        let latched = f.is_latched();
        let content = f.try_lock_shared().then(|| {
            // SAFETY: locked just now.
            let page = PageHeader(unsafe { self.frames.bytes(frame) });
            let content = PageContent {
                page_type: page.page_type(),
                rows: page.row_count(),
                bytes: page.content_bytes(),
                lsn: page.lsn(),
            };
            // SAFETY: as above.
            unsafe { f.unlock_shared() };
            content
        });
        Some(PoolPage {
            frame,
            file: key.file(),
            page_no: key.page_no(),
            position,
            old: List::of(&self.frames, frame) == List::Old,
            dirty: !f.state.is_clean(),
            latched,
            last_used: f.stamp.load(Relaxed),
            at_head,
            content,
        })
    }
}
