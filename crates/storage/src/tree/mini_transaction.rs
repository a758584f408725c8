//! A change of a tree that is made whole or not at all.
//!
//! ```text
//!   Tree::begin -> MiniTransaction   pages as they will be are copies; readers see the tree as it was
//!     prepare   -> Prepared          every page that changes is latched in the buffer pool; all that can fail is done
//!     commit                         copies go into the pages, then the header: nothing here can fail
//! ```
//!
//! A mini-transaction that is dropped before it is committed leaves the tree as it was. Several trees change together
//! if all are prepared before the first is committed ([`crate::Table::update`]).

use super::btree::Tree;
use crate::{
    Counters, Result,
    buffer_pool::{PageGuard, PageGuardMut},
    page::PageType,
};
use parking_lot::RwLockWriteGuard;
use std::{collections::BTreeMap, ops::Deref, sync::atomic::Ordering};

/// The fields of the file header that describe the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeHeader {
    pub root: u32,
    pub height: u32,
    pub leaf_count: u64,
    pub row_count: u64,
    pub next_row_id: u64,
}

/// A change of one tree that is being put together.
pub struct MiniTransaction<'a> {
    pub(super) tree: &'a Tree,
    pub(super) counters: &'a Counters,
    pub(super) header: TreeHeader,
    /// Changed pages by number, as they will be.
    pages: BTreeMap<u32, Vec<u8>>,
    /// Numbers of pages that the file has given for this change.
    allocated: Vec<u32>,
    /// Numbers of pages that nothing leads to once the change is made.
    unlinked: Vec<u32>,
    /// Keeps readers from descending and other writers away.
    /// The largest transaction id that the change is made for.
    pub(super) trx_id: u64,
    _shape: RwLockWriteGuard<'a, ()>,
}

/// A change of which every page is latched.
pub struct Prepared<'a> {
    change: MiniTransaction<'a>,
    latched: Vec<PageGuardMut>,
    header: PageGuardMut,
}

/// A page as a mini-transaction sees it.
pub(super) enum PageView<'c> {
    Unchanged(PageGuard),
    Changed(&'c [u8]),
}

impl Deref for PageView<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            PageView::Unchanged(page) => page,
            PageView::Changed(bytes) => bytes,
        }
    }
}

impl Tree {
    /// Begins a change. Readers that descend and other writers wait until it is committed or dropped.
    pub fn begin<'a>(&'a self, counters: &'a Counters) -> MiniTransaction<'a> {
        let shape = self.shape.write();
        self.free_unlinked(counters);
        let h = self.file.header();
        let header = TreeHeader {
            root: h.root,
            height: h.height,
            leaf_count: h.leaf_count,
            row_count: h.row_count,
            next_row_id: h.next_row_id,
        };
        MiniTransaction {
            tree: self,
            counters,
            header,
            pages: BTreeMap::new(),
            allocated: Vec::new(),
            unlinked: Vec::new(),
            trx_id: 0,
            _shape: shape,
        }
    }

    /// Puts pages that nothing leads to on the free list. Those for which this fails are tried again with the next
    /// change: the change that left them behind is made all the same.
    fn free_unlinked(&self, counters: &Counters) {
        let mut unlinked = self.unlinked.lock();
        while let Some(&page_no) = unlinked.last() {
            let page = self.pool.fetch_mut(&self.file, page_no, counters);
            if let Err(e) = page.and_then(|page| self.pool.free_page(&self.file, page, counters)) {
                tracing::warn!("page {page_no} is not free yet: {e}");
                return;
            }
            unlinked.pop();
        }
    }
}

impl<'a> MiniTransaction<'a> {
    /// Notes a transaction that the change is made for.
    pub(super) fn raise_trx_id(&mut self, trx_id: u64) {
        self.trx_id = self.trx_id.max(trx_id);
    }

    pub(super) fn page(&self, page_no: u32) -> Result<PageView<'_>> {
        match self.pages.get(&page_no) {
            Some(bytes) => Ok(PageView::Changed(bytes)),
            None => Ok(PageView::Unchanged(self.tree.fetch(page_no, self.counters)?)),
        }
    }

    /// The copy of a page that the change will put in its place.
    pub(super) fn page_mut(&mut self, page_no: u32) -> Result<&mut [u8]> {
        if !self.pages.contains_key(&page_no) {
            let bytes = self.tree.fetch(page_no, self.counters)?.to_vec();
            self.pages.insert(page_no, bytes);
        }
        Ok(self.pages.entry(page_no).or_default())
    }

    /// A new page, zeroed but for its identity.
    pub(super) fn allocate(&mut self, page_type: PageType) -> Result<u32> {
        let page = self.tree.pool.new_page(&self.tree.file, page_type, self.counters)?;
        self.allocated.push(page.page_no());
        self.pages.insert(page.page_no(), page.to_vec());
        Ok(page.page_no())
    }

    /// A new page that is filled at once: nothing leads to it before the change is made.
    pub(super) fn allocate_filled(&mut self, page_type: PageType, fill: impl FnOnce(&mut [u8])) -> Result<u32> {
        let mut page = self.tree.pool.new_page(&self.tree.file, page_type, self.counters)?;
        let page_no = page.page_no();
        self.allocated.push(page_no);
        fill(&mut page);
        page.header_mut().set_identity(page_no, self.tree.file.index_id());
        Ok(page_no)
    }

    /// Notes that nothing leads to a page any more once the change is made.
    pub(super) fn unlink(&mut self, page_no: u32) {
        self.pages.remove(&page_no);
        self.unlinked.push(page_no);
    }

    /// The next hidden row number, which is then taken.
    pub fn take_row_id(&mut self) -> u64 {
        self.header.next_row_id += 1;
        self.header.next_row_id - 1
    }

    /// Latches every page that changes. Errors: `NoFreeFrame`, `Corrupt`, I/O; the tree is then as it was.
    pub fn prepare(self) -> Result<Prepared<'a>> {
        let (pool, file) = (&self.tree.pool, &self.tree.file);
        let latched = self.pages.keys().map(|page_no| pool.fetch_mut(file, *page_no, self.counters));
        let latched = latched.collect::<Result<Vec<_>>>()?;
        let header = pool.header_mut(file, self.counters)?;
        Ok(Prepared { change: self, latched, header })
    }

    /// Makes the change. Errors: as [`MiniTransaction::prepare`].
    pub fn commit(self) -> Result<()> {
        self.prepare()?.commit();
        Ok(())
    }
}

impl Prepared<'_> {
    /// Makes the change.
    pub fn commit(self) {
        let Prepared { mut change, latched, header: mut header_page } = self;
        let tree = change.tree;
        tree.version.fetch_add(1, Ordering::AcqRel);
        for (mut page, bytes) in latched.into_iter().zip(change.pages.values()) {
            page.copy_from_slice(bytes);
        }
        let TreeHeader { root, height, leaf_count, row_count, next_row_id } = change.header;
        tree.file.update_header(&mut header_page, |h| {
            (h.root, h.height, h.leaf_count) = (root, height, leaf_count);
            (h.row_count, h.next_row_id) = (row_count, next_row_id);
        });
        drop(header_page);
        // Whoever read the old leaves has let them go by now, so nobody is about to read what they lead to.
        change.allocated.clear();
        tree.unlinked.lock().append(&mut change.unlinked);
        tree.free_unlinked(change.counters);
    }
}

impl Drop for MiniTransaction<'_> {
    fn drop(&mut self) {
        // These pages belong to a change that was not made.
        self.tree.unlinked.lock().append(&mut self.allocated);
    }
}
