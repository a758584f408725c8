//! The rows of a short range of keys, one by one, as they lie on their pages.

use super::descent::DescentTarget;
use crate::tree::{
    btree::Tree,
    page::{
        layout::TreeLayout,
        leaf::{BadPage, Leaf},
    },
};
use crate::{
    Counters, ReadView, Result,
    buffer_pool::PageGuard,
    key::{ByteRange, KeyCodec},
};
use muster_types::ValueRef;
use std::{borrow::Cow, cell::Cell, ops::ControlFlow};

/// How pages are come by.
pub enum Pages<'a> {
    /// Only those in memory that nobody changes: nothing is waited for.
    Resident {
        /// Pages that were there.
        requests: Cell<u64>,
    },
    /// Others are read. Counts requests and reads.
    All(&'a Counters),
}

impl Pages<'_> {
    /// `None`: the page would have to be waited for.
    pub(super) fn fetch(&self, tree: &Tree, page_no: u32) -> Result<Option<PageGuard>> {
        match self {
            Pages::Resident { requests } => {
                let page = tree.fetch_resident(page_no);
                requests.set(requests.get() + u64::from(page.is_some()));
                Ok(page)
            }
            Pages::All(counters) => tree.fetch(page_no, counters).map(Some),
        }
    }
}

/// Why a visit of rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitEnd {
    /// There are no more rows.
    Done,
    /// The visitor has seen enough.
    Stopped,
    /// A page is not in memory, or a writer is at work on it, or a version of a row is not in memory.
    MustWait,
}

/// A row on its page.
pub struct RowOnPage<'a> {
    layout: &'a TreeLayout,
    leaf: &'a Leaf<'a>,
    /// Its number in the leaf.
    row: usize,
}

impl<'a> RowOnPage<'a> {
    /// The value of a stored column; `None` if it lies outside of the page.
    pub fn value(&self, column: usize) -> Result<Option<ValueRef<'a>>, BadPage> {
        self.leaf.value(self.layout, column, self.row)
    }

    /// Appends the key that `codec` makes of the row.
    pub fn append_key(&self, codec: &KeyCodec, key: &mut Vec<u8>) -> Result<(), BadPage> {
        self.leaf.single_keys(self.layout, codec)?.append(codec, self.row, key)
    }

    /// Returns true if a row that a view sees in the clustered tree is that of an entry of a secondary tree which was
    /// read before with the same view. `None` if a page would have to be waited for.
    pub fn is_row_of(
        &self,
        entry: &[u8],
        secondary: &Tree,
        clustered: &Tree,
        request: (&ReadView, &Pages<'_>),
    ) -> Result<Option<bool>> {
        let (view, pages) = request;
        match view.may_see_changes_in(self.leaf.max_trx_id()) {
            false => Ok(Some(true)),
            true => secondary.is_entry_of(entry, clustered, self.leaf, self.row, pages),
        }
    }
}

impl Tree {
    /// Calls `visit` with the rows of a range that `view` sees, in the order of the key.
    ///
    /// From a row on whose newest version the view does not see, a leaf is visited in a copy of its bytes, with nothing
    /// latched, unless nothing is waited for. Only versions of rows that are visited are looked for.
    pub(crate) fn visit_range(
        &self,
        range: &ByteRange,
        view: &ReadView,
        pages: &Pages<'_>,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> Result<ControlFlow<()>, BadPage>,
    ) -> Result<VisitEnd> {
        let Some(mut page) = self.leaf_with(&range.lower, pages)? else { return Ok(VisitEnd::MustWait) };
        let lower = Cow::Borrowed(range.lower.as_slice());
        let mut visit = Visit { tree: self, range, lower, view, pages, visit, scratch: Vec::new() };
        let waits = matches!(pages, Pages::All(_));
        loop {
            let end = visit.leaf(&page, 0, !waits)?;
            // A leaf without rows of the range may have had some.
            self.check_view(view)?;
            let next = match end {
                LeafEnd::Ended(end) => return Ok(end),
                LeafEnd::Unseen { position } => {
                    let bytes = page.to_vec();
                    drop(page);
                    let end = visit.leaf(&bytes, position, true)?;
                    self.check_view(view)?;
                    if let LeafEnd::Ended(end) = end {
                        return Ok(end);
                    }
                    let Some(high) = self.fences(&bytes)?.high else { return Ok(VisitEnd::Done) };
                    // The leaf that has what follows may by now have the rows of this one, too.
                    visit.lower = Cow::Owned(high.to_vec());
                    self.leaf_with(high, pages)?
                }
                LeafEnd::MoreToTheRight => {
                    // Latched before this one is let go, the next leaf stays where it is.
                    let next = pages.fetch(self, self.leaf(&page)?.right())?;
                    next.as_ref().map_or(Ok(()), |next| self.check_neighbour(&page, next))?;
                    next
                }
            };
            let Some(next) = next else { return Ok(VisitEnd::MustWait) };
            page = next;
        }
    }

    /// The leaf that has the first row whose key is not less than `key`, or ends before it.
    pub(in crate::tree) fn leaf_with(&self, key: &[u8], pages: &Pages<'_>) -> Result<Option<PageGuard>> {
        self.descend_with(DescentTarget::Key(key), 0, |page_no| pages.fetch(self, page_no), |_, _| {})
    }
}

/// A visit that is under way.
pub(super) struct Visit<'v, 'p> {
    pub(super) tree: &'v Tree,
    pub(super) range: &'v ByteRange,
    /// Rows below this key are not in the range, or were visited.
    pub(super) lower: Cow<'v, [u8]>,
    pub(super) view: &'v ReadView,
    pub(super) pages: &'v Pages<'p>,
    pub(super) visit: &'v mut dyn FnMut(&RowOnPage<'_>) -> Result<ControlFlow<()>, BadPage>,
    pub(super) scratch: Vec<u8>,
}

/// What came of the visit of a row.
pub(super) enum RowEnd {
    Visited(ControlFlow<()>),
    /// Another version than the newest is wanted.
    Unseen,
    /// A page would have to be waited for.
    MustWait,
}

/// How far a leaf was visited.
enum LeafEnd {
    Ended(VisitEnd),
    /// The range may go on in the next leaf.
    MoreToTheRight,
    /// Up to a row of which another version than the newest is wanted.
    Unseen {
        position: usize,
    },
}

impl Visit<'_, '_> {
    /// Visits the rows of a leaf that are in the range, from a position on. `all_versions`: versions that are not in
    /// the page are looked for.
    fn leaf(&mut self, page: &[u8], from: usize, all_versions: bool) -> Result<LeafEnd> {
        let Visit { tree, range, .. } = *self;
        let leaf = tree.leaf(page)?;
        let corrupt = |e: BadPage| tree.corrupt(leaf.page_no(), e);
        let codec = &tree.layout.key;
        let keys = leaf.single_keys(&tree.layout, codec).map_err(corrupt)?;
        let first = keys.lower_bound(&tree.layout, &self.lower, from, &mut self.scratch).map_err(corrupt)?;
        for position in first..leaf.rows() {
            if let Some(upper) = &range.upper {
                self.scratch.clear();
                let row = leaf.row_at(position).map_err(corrupt)?.row;
                keys.append(codec, row, &mut self.scratch).map_err(corrupt)?;
                if self.scratch >= *upper {
                    return Ok(LeafEnd::Ended(VisitEnd::Done));
                }
            }
            let flow = match self.row(&leaf, page, position, all_versions)? {
                RowEnd::Visited(flow) => flow,
                RowEnd::Unseen => return Ok(LeafEnd::Unseen { position }),
                RowEnd::MustWait => return Ok(LeafEnd::Ended(VisitEnd::MustWait)),
            };
            if flow.is_break() {
                return Ok(LeafEnd::Ended(VisitEnd::Stopped));
            }
        }
        Ok(match (leaf.fences().map_err(corrupt)?.high, &range.upper) {
            (None, _) => LeafEnd::Ended(VisitEnd::Done),
            (Some(high), Some(upper)) if upper.as_slice() <= high => LeafEnd::Ended(VisitEnd::Done),
            _ => LeafEnd::MoreToTheRight,
        })
    }

    /// Visits a row of a leaf, if there is a version of it that the view sees.
    pub(super) fn row(&mut self, leaf: &Leaf<'_>, page: &[u8], position: usize, all_versions: bool) -> Result<RowEnd> {
        let (tree, view) = (self.tree, self.view);
        let corrupt = |e: BadPage| tree.corrupt(leaf.page_no(), e);
        if !tree.has_unseen(leaf, &(position..position + 1), view)? {
            return Ok(RowEnd::Visited(match leaf.unmarked_row(position).map_err(corrupt)? {
                Some(row) => (self.visit)(&RowOnPage { layout: &tree.layout, leaf, row }).map_err(corrupt)?,
                None => ControlFlow::Continue(()),
            }));
        }
        if !all_versions {
            return Ok(RowEnd::Unseen);
        }
        Ok(self.version(page, position)?.map_or(RowEnd::MustWait, RowEnd::Visited))
    }

    /// Visits a row whose newest version the view does not see, if it sees another one. `None` if that would have to be
    /// waited for.
    fn version(&mut self, page: &[u8], position: usize) -> Result<Option<ControlFlow<()>>> {
        let tree = self.tree;
        let Some(copy) = tree.copied(page, position..position + 1, self.view, self.pages)? else { return Ok(None) };
        let Some(copy) = copy.first() else { return Ok(Some(ControlFlow::Continue(()))) };
        let row = RowOnPage { layout: &tree.layout, leaf: &tree.leaf(copy)?, row: 0 };
        (self.visit)(&row).map(Some).map_err(|e| tree.corrupt(copy.page_no(), e))
    }
}
