//! A leaf as a view sees it.

use crate::{buffer_pool::PageGuard, page::PageHeader};
use std::{ops::Deref, sync::Arc};

/// A leaf page, or a copy of some of its rows in a page that only its readers know: without slots, fences and
/// neighbours. All that reads leaves for a view reads one of the two and sees no difference.
#[derive(Debug)]
pub enum LeafPage {
    Latched(PageGuard),
    Copy(Arc<[u8]>),
}

impl LeafPage {
    /// The number of the page in the tree's file, also of a copy.
    pub fn page_no(&self) -> u32 {
        match self {
            LeafPage::Latched(page) => page.page_no(),
            LeafPage::Copy(page) => PageHeader(page).page_no(),
        }
    }

    /// Notes that a reader has met slots in the page.
    pub(crate) fn note_met(&self) {
        if let LeafPage::Latched(page) = self {
            page.note_met();
        }
    }
}

impl Deref for LeafPage {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            LeafPage::Latched(page) => page,
            LeafPage::Copy(page) => page,
        }
    }
}
