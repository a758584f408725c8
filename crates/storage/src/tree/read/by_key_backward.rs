//! The rows of a short range of keys in descending order, one by one, as they lie on their pages.

use super::{
    by_key::{Pages, RowEnd, RowOnPage, Visit, VisitEnd},
    descent::DescentTarget,
};
use crate::tree::{btree::Tree, page::leaf::BadPage};
use crate::{ReadView, Result, key::ByteRange};
use std::{borrow::Cow, ops::ControlFlow};

impl Tree {
    /// Calls `visit` with the rows of a range that `view` sees, in the descending order of the key.
    ///
    /// One page is latched at a time: the leaf before one is found by a descent to what lies below its low fence, so
    /// that splits and merges in between do not matter. From a row on whose newest version the view does not see, a
    /// leaf is visited in a copy of its bytes, with nothing latched, unless nothing is waited for.
    pub(crate) fn visit_range_backward(
        &self,
        range: &ByteRange,
        view: &ReadView,
        pages: &Pages<'_>,
        visit: &mut dyn FnMut(&RowOnPage<'_>) -> Result<ControlFlow<()>, BadPage>,
    ) -> Result<VisitEnd> {
        let lower = Cow::Borrowed(range.lower.as_slice());
        let mut visit = Visit { tree: self, range, lower, view, pages, visit, scratch: Vec::new() };
        let waits = matches!(pages, Pages::All(_));
        let mut upper = range.upper.clone();
        loop {
            let target = DescentTarget::Below(upper.as_deref());
            let page = self.descend_with(target, 0, |page_no| pages.fetch(self, page_no), |_, _| {})?;
            let Some(page) = page else { return Ok(VisitEnd::MustWait) };
            let low = self.fences(&page)?.low.to_vec();
            let mut end = visit.leaf_backward(&page, upper.as_deref(), usize::MAX, !waits)?;
            if let Backward::Unseen { position } = end {
                let bytes = page.to_vec();
                drop(page);
                end = visit.leaf_backward(&bytes, upper.as_deref(), position + 1, true)?;
            }
            // A leaf without rows of the range may have had some.
            self.check_view(view)?;
            match end {
                Backward::Ended(end) => return Ok(end),
                _ if low.is_empty() || low <= range.lower => return Ok(VisitEnd::Done),
                _ => upper = Some(low),
            }
        }
    }
}

/// How far a leaf was visited.
enum Backward {
    Ended(VisitEnd),
    /// To the first of its rows.
    Whole,
    /// Down to a row of which another version than the newest is wanted.
    Unseen {
        position: usize,
    },
}

impl Visit<'_, '_> {
    /// Visits the rows of a leaf that are in the range, below `upper` and a position.
    fn leaf_backward(
        &mut self,
        page: &[u8],
        upper: Option<&[u8]>,
        below: usize,
        all_versions: bool,
    ) -> Result<Backward> {
        let tree = self.tree;
        let leaf = tree.leaf(page)?;
        let corrupt = |e: BadPage| tree.corrupt(leaf.page_no(), e);
        let keys = leaf.single_keys(&tree.layout, &tree.layout.key).map_err(corrupt)?;
        let first = keys.lower_bound(&tree.layout, &self.lower, 0, &mut self.scratch).map_err(corrupt)?;
        let end = match upper {
            Some(upper) => keys.lower_bound(&tree.layout, upper, first, &mut self.scratch).map_err(corrupt)?,
            None => leaf.rows(),
        };
        for position in (first..end.min(below)).rev() {
            match self.row(&leaf, page, position, all_versions)? {
                RowEnd::Visited(ControlFlow::Continue(())) => {}
                RowEnd::Visited(ControlFlow::Break(())) => return Ok(Backward::Ended(VisitEnd::Stopped)),
                RowEnd::Unseen => return Ok(Backward::Unseen { position }),
                RowEnd::MustWait => return Ok(Backward::Ended(VisitEnd::MustWait)),
            }
        }
        Ok(Backward::Whole)
    }
}
