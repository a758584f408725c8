//! A group: changes of a few pages of a tree that are made as a whole or not at all.
//!
//! ```text
//!   latch, allocate    the pages are latched exclusively, one after the other; all that can fail is done here
//!   change             what will become of each page, as a value; the page is as it was
//!   commit             the pages change, then the file header: nothing here can fail
//! ```
//!
//! A group that is dropped before it is committed leaves the tree and its file as they were.

use super::{
    btree::Tree,
    inner::InnerNode,
    leaf::changes::{SlotChange, apply},
    probe::Event,
};
use crate::{
    Counters, Result,
    buffer_pool::{Allocation, PageGuardMut},
    page::{PageHeader, PageHeaderMut, PageType},
};
use std::borrow::Cow;

/// The change that a group makes in one page. Drawn in `docs/format.md`, "Log".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageChange {
    /// The whole page, without its identity.
    Image(Vec<u8>),
    /// A slot of a leaf, for which there is room.
    Slot(SlotChange<'static>),
    /// Some bytes.
    Bytes { offset: u16, bytes: Vec<u8> },
    /// It becomes the first page of the free list, before this one.
    Freed { next: u32 },
}

/// A latched page and what becomes of it.
struct Latched {
    page: PageGuardMut,
    changes: Vec<PageChange>,
    /// The file has the page only once the group is committed.
    is_new: bool,
}

/// A page of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member(usize);

/// A change of some pages that is being put together.
pub(super) struct Group<'a> {
    tree: &'a Tree,
    counters: &'a Counters,
    pages: Vec<Latched>,
    allocation: Option<Allocation<'a>>,
    /// Pages get this as their largest transaction id if theirs is smaller.
    trx_id: u64,
    /// Rows and leaves that come, less those that go.
    rows: i64,
    leaves: i64,
}

impl<'a> Group<'a> {
    pub fn new(tree: &'a Tree, counters: &'a Counters) -> Group<'a> {
        Group { tree, counters, pages: Vec::with_capacity(1), allocation: None, trx_id: 0, rows: 0, leaves: 0 }
    }

    /// Takes over a page that is latched already.
    pub fn add(&mut self, page: PageGuardMut) -> Member {
        self.pages.push(Latched { page, changes: Vec::new(), is_new: false });
        Member(self.pages.len() - 1)
    }

    /// Latches a page of the tree. Errors: those of reading it.
    pub fn latch(&mut self, page_no: u32) -> Result<Member> {
        let page = self.tree.pool.fetch_mut(&self.tree.file, page_no, self.counters)?;
        Ok(self.add(page))
    }

    /// Takes a page for the tree, which the group must give a content. Call it when all other pages are latched.
    /// Errors: `DiskFull`, `NoFreeFrame`, `Corrupt`, I/O.
    pub fn allocate(&mut self) -> Result<Member> {
        let counters = self.counters;
        let taken = self.allocation()?.take(counters)?;
        if !taken.is_new {
            self.tree.probe.hit(Event::Reuse);
        }
        self.pages.push(Latched { page: taken.page, changes: Vec::new(), is_new: taken.is_new });
        Ok(Member(self.pages.len() - 1))
    }

    fn allocation(&mut self) -> Result<&mut Allocation<'a>> {
        let begun = match self.allocation.take() {
            Some(allocation) => allocation,
            None => Allocation::begin(&self.tree.pool, &self.tree.file, self.counters)?,
        };
        Ok(self.allocation.insert(begun))
    }

    /// Lets go of a page and of those that came after it.
    pub fn release_from(&mut self, member: Member) {
        self.pages.truncate(member.0);
    }

    /// The page as it is now.
    pub fn page(&self, member: Member) -> &[u8] {
        &self.pages[member.0].page
    }

    /// The page as it will be.
    pub fn view(&self, member: Member) -> Cow<'_, [u8]> {
        let Latched { page, changes, .. } = &self.pages[member.0];
        if changes.is_empty() {
            return Cow::Borrowed(page);
        }
        let mut copy = page.to_vec();
        for change in changes {
            change.apply(&mut copy, page.page_no(), self.tree.file.index_id(), self.trx_id);
        }
        Cow::Owned(copy)
    }

    pub fn members(&self) -> impl Iterator<Item = Member> + use<> {
        (0..self.pages.len()).map(Member)
    }

    /// Drops the group but for one page, which stays latched and as it was.
    pub fn into_page(mut self, member: Member) -> PageGuardMut {
        self.pages.swap_remove(member.0).page
    }

    /// Makes page 0 count hidden row numbers below a bound as taken. Errors: those of latching it.
    pub fn reserve_row_ids(&mut self, bound: u64) -> Result<()> {
        self.allocation()?.header_mut().next_row_id = bound;
        Ok(())
    }

    pub fn page_no(&self, member: Member) -> u32 {
        self.pages[member.0].page.page_no()
    }

    /// Puts a whole page in the place of the one that is there.
    pub fn image(&mut self, member: Member, image: Vec<u8>) {
        debug_assert_eq!(image.len(), self.page(member).len());
        self.change(member, PageChange::Image(image));
    }

    /// Puts an inner page in the place of the page.
    pub fn inner(&mut self, member: Member, node: &InnerNode) {
        let mut image = vec![0; self.page(member).len()];
        node.write(&mut image);
        self.image(member, image);
    }

    pub fn change(&mut self, member: Member, change: PageChange) {
        self.pages[member.0].changes.push(change);
    }

    /// Makes the page a free one. Nothing may lead to it once the group is committed. Call it when all other pages are
    /// latched. Errors: those of latching the file header.
    pub fn free(&mut self, member: Member) -> Result<()> {
        let page_no = self.page_no(member);
        let next = self.allocation()?.give_back(page_no);
        self.change(member, PageChange::Freed { next });
        Ok(())
    }

    /// Raises the largest transaction id of all pages of the group to this one.
    pub fn raise_trx_id(&mut self, trx_id: u64) {
        self.trx_id = self.trx_id.max(trx_id);
    }

    /// Counts rows and leaves that come with the group, less those that go.
    pub fn count(&mut self, rows: i64, leaves: i64) {
        self.rows += rows;
        self.leaves += leaves;
    }

    /// Makes the changes. Returns the pages, still latched, in the order in which they came to the group.
    pub fn commit(mut self) -> Vec<PageGuardMut> {
        let index_id = self.tree.file.index_id();
        let mut pages = Vec::with_capacity(self.pages.len());
        for Latched { mut page, changes, .. } in self.pages.drain(..) {
            let page_no = page.page_no();
            for change in changes {
                change.apply(&mut page, page_no, index_id, self.trx_id);
            }
            pages.push(page);
        }
        if let Some(allocation) = self.allocation.take() {
            allocation.commit();
        }
        self.tree.file.count(self.rows, self.leaves);
        pages
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for Latched { page, is_new, .. } in self.pages.drain(..) {
            if is_new {
                self.tree.pool.forget_page(page);
            }
        }
    }
}

impl PageChange {
    /// Changes a page. A page that was free, or was none, begins with the transaction ids of its new content.
    fn apply(&self, page: &mut [u8], page_no: u32, index_id: u32, trx_id: u64) {
        let before = match PageHeader(page).page_type() {
            Some(PageType::Leaf | PageType::Inner) => PageHeader(page).max_trx_id(),
            _ => 0,
        };
        match self {
            PageChange::Image(image) => page.copy_from_slice(image),
            PageChange::Slot(change) => {
                apply(page, change).expect("the room for the slot was seen while the page was latched");
            }
            PageChange::Bytes { offset, bytes } => {
                let offset = usize::from(*offset);
                page[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            PageChange::Freed { next } => {
                PageHeaderMut(page).init(PageType::Free, page_no, index_id);
                PageHeaderMut(page).set_next(*next);
            }
        }
        let max_trx_id = PageHeader(page).max_trx_id().max(before).max(trx_id);
        let mut header = PageHeaderMut(page);
        header.set_identity(page_no, index_id);
        header.set_max_trx_id(max_trx_id);
    }
}
