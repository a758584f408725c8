//! The rows of a short range of keys, one by one, as they lie on their pages.

use super::{
    btree::Tree,
    descent::Target,
    layout::TreeLayout,
    leaf::{BadPage, Leaf, visible::Visibility},
};
use crate::{
    Counters, ReadView, Result,
    buffer_pool::PageGuard,
    key::{ByteRange, KeyCodec},
};
use muster_types::ValueRef;
use std::{cell::Cell, ops::ControlFlow};

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
    fn fetch(&self, tree: &Tree, page_no: u32) -> Result<Option<PageGuard>> {
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
    /// A page is not in memory, or a writer is at work.
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
}

impl Tree {
    /// Calls `visit` with the rows of a range that `view` sees, in the order of the key. The caller keeps rows from changing.
    pub(crate) fn visit_range(
        &self,
        range: &ByteRange,
        view: &ReadView,
        pages: &Pages<'_>,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> Result<ControlFlow<()>, BadPage>,
    ) -> Result<VisitEnd> {
        let Some(mut page) = self.leaf_with(&range.lower, pages)? else { return Ok(VisitEnd::MustWait) };
        let mut scratch = Vec::new();
        loop {
            let page_no = page.page_no();
            let corrupt = |e: BadPage| self.corrupt(page_no, e);
            let leaf = self.leaf(&page)?;
            let keys = leaf.single_keys(&self.layout, &self.layout.key).map_err(corrupt)?;
            let visibility = Visibility::of(&leaf, view);
            let codec = &self.layout.key;
            let first = keys.lower_bound(codec, &range.lower, 0, &mut scratch).map_err(corrupt)?;
            for position in first..leaf.rows() {
                if let Some(upper) = &range.upper {
                    scratch.clear();
                    keys.append(codec, leaf.row_at(position).map_err(corrupt)?.row, &mut scratch).map_err(corrupt)?;
                    if scratch >= *upper {
                        return Ok(VisitEnd::Done);
                    }
                }
                if let Some(row) = visibility.row(position).map_err(corrupt)? {
                    let row = RowOnPage { layout: &self.layout, leaf: &leaf, row };
                    if visit(&row).map_err(corrupt)?.is_break() {
                        return Ok(VisitEnd::Stopped);
                    }
                }
            }
            match (leaf.fences().map_err(corrupt)?.high, &range.upper) {
                (None, _) => return Ok(VisitEnd::Done),
                (Some(high), Some(upper)) if upper.as_slice() <= high => return Ok(VisitEnd::Done),
                _ => {}
            }
            // Latched before this one is let go, the next leaf stays where it is.
            let Some(next) = pages.fetch(self, leaf.right())? else { return Ok(VisitEnd::MustWait) };
            self.check_neighbour(&page, &next)?;
            page = next;
        }
    }

    /// The leaf that has the first row whose key is not less than `key`, or ends before it.
    fn leaf_with(&self, key: &[u8], pages: &Pages<'_>) -> Result<Option<PageGuard>> {
        self.descend_with(Target::Key(key), 0, |page_no| pages.fetch(self, page_no), |_, _| {})
    }
}
