//! Ways from the root to a page of a level, and from a page to its right neighbour where that has what is looked for.

use crate::tree::{
    btree::Tree,
    page::{
        inner::Inner,
        leaf::{BadPage, Fences},
    },
};
use crate::{
    Counters, Result,
    buffer_pool::{PageGuard, PageGuardMut},
    file::ROOT_PAGE,
    page::{NO_PAGE, PageHeader, PageType},
};

/// The target of a descent: one page of each level has it.
#[derive(Debug, Clone, Copy)]
pub(in crate::tree) enum DescentTarget<'k> {
    /// The page that this key belongs to.
    Key(&'k [u8]),
    /// The last page that may have keys below the bound; the last of its level if there is no bound.
    Below(Option<&'k [u8]>),
}

/// Plans of leaves that turn out to be out of date, one after the other, before the tree counts as damaged.
pub(in crate::tree) const STALE_PLANS_MAX: usize = 1000;

impl DescentTarget<'_> {
    /// Returns true if the target is on a page to the right of the one with these fences.
    pub fn is_right_of(self, fences: Fences<'_>) -> bool {
        match (self, fences.high) {
            (_, None) => false,
            (DescentTarget::Key(key), Some(high)) => key >= high,
            (DescentTarget::Below(bound), Some(high)) => bound.is_none_or(|bound| bound > high),
        }
    }

    /// Returns true if the target is on a page to the left of the one with these fences.
    pub fn is_left_of(self, fences: Fences<'_>) -> bool {
        match self {
            DescentTarget::Key(key) => key < fences.low,
            DescentTarget::Below(bound) => bound.is_some_and(|bound| bound <= fences.low && !fences.low.is_empty()),
        }
    }

    /// The child on the way.
    pub fn child(self, inner: &Inner<'_>) -> usize {
        match self {
            DescentTarget::Key(key) => inner.find(key),
            DescentTarget::Below(bound) => inner.find_last(bound),
        }
    }
}

impl Tree {
    /// The fences of a page of the tree, whatever its level.
    pub(in crate::tree) fn fences<'p>(&self, page: &'p [u8]) -> Result<Fences<'p>> {
        let header = PageHeader(page);
        let fences = match header.level() {
            0 if header.page_type() == Some(PageType::Leaf) => Fences::of(page),
            _ => Inner::new(page).map(|inner| inner.fences()),
        };
        fences.map_err(|e| self.corrupt(header.page_no(), e))
    }

    /// Checks what stands behind the right link of a page: its right neighbour.
    pub(in crate::tree) fn check_neighbour(&self, page: &[u8], right: &[u8]) -> Result<()> {
        let (left, right_no) = (PageHeader(page), PageHeader(right).page_no());
        let same_kind = left.page_type() == PageHeader(right).page_type() && left.level() == PageHeader(right).level();
        let high = self.fences(page)?.high;
        let sound = same_kind && {
            let fences = self.fences(right)?;
            high == Some(fences.low) && fences.high.is_none_or(|high| high > fences.low)
        };
        if sound {
            Ok(())
        } else {
            Err(self.corrupt(right_no, BadPage("not the right neighbour of a page that leads here")))
        }
    }

    /// Follows right links until the page has the target, each page latched before the one before is let go. `fetch`
    /// may refuse. Returns whether a link was followed.
    pub(in crate::tree) fn move_right<P: std::ops::Deref<Target = [u8]>>(
        &self,
        mut page: P,
        target: DescentTarget<'_>,
        mut fetch: impl FnMut(u32) -> Result<Option<P>>,
    ) -> Result<Option<(P, bool)>> {
        let mut moved = false;
        while target.is_right_of(self.fences(&page)?) {
            let right = PageHeader(&page).next();
            if right == NO_PAGE {
                return Err(self.corrupt(PageHeader(&page).page_no(), BadPage("a high fence, but no right link")));
            }
            let Some(next) = fetch(right)? else { return Ok(None) };
            self.check_neighbour(&page, &next)?;
            (page, moved) = (next, true);
        }
        Ok(Some((page, moved)))
    }

    /// Descends from the root to the page of a level (or to the root, if the tree is not that high) that has the
    /// target; each page is latched before its parent is let go. `fetch` may refuse: then there is no page. Calls
    /// `visit` with the inner pages on the way and the child that is taken of each.
    pub(in crate::tree) fn descend_with(
        &self,
        target: DescentTarget<'_>,
        level: u8,
        mut fetch: impl FnMut(u32) -> Result<Option<PageGuard>>,
        mut visit: impl FnMut(&Inner<'_>, usize),
    ) -> Result<Option<PageGuard>> {
        let Some(mut page) = fetch(ROOT_PAGE)? else { return Ok(None) };
        loop {
            match self.move_right(page, target, &mut fetch)? {
                Some((at, _)) => page = at,
                None => return Ok(None),
            }
            let at = page.header().level();
            if at <= level {
                return Ok(Some(page));
            }
            let inner = self.inner(&page)?;
            let child = target.child(&inner);
            visit(&inner, child);
            let Some(next) = fetch(inner.child(child))? else { return Ok(None) };
            self.check_level(&next, at - 1)?;
            if target.is_left_of(self.fences(&next)?) {
                return Err(self.corrupt(next.page_no(), BadPage("a low fence above the key that the parent has")));
            }
            page = next;
        }
    }

    /// Descends as [`Tree::descend_with`] does, and waits for pages.
    pub(in crate::tree) fn descend(
        &self,
        target: DescentTarget<'_>,
        level: u8,
        counters: &Counters,
    ) -> Result<PageGuard> {
        let page = self.descend_with(target, level, |page| self.fetch(page, counters).map(Some), |_, _| {})?;
        // A fetch that waits does not refuse.
        page.ok_or_else(|| self.corrupt(ROOT_PAGE, BadPage("not to be had")))
    }

    /// Descends to the page of a level that has the key, and latches it exclusively; `None` if the tree is not that
    /// high. The second part: a link was followed on this level, so that a page may be unknown to the level above.
    pub(in crate::tree) fn descend_mut(
        &self,
        key: &[u8],
        level: u8,
        counters: &Counters,
    ) -> Result<Option<(PageGuardMut, bool)>> {
        let target = DescentTarget::Key(key);
        loop {
            let above = self.descend(target, level + 1, counters)?;
            let at = above.header().level();
            let page_no = match at > level {
                true => self.inner(&above).map(|inner| inner.child(target.child(&inner)))?,
                false if at < level => return Ok(None),
                false => ROOT_PAGE,
            };
            let above = (at > level).then_some(above);
            let page = self.fetch_mut(page_no, counters)?;
            if above.is_none() && page.header().level() != level {
                // The root was let go before it was latched again, and has grown meanwhile or shrunk.
                continue;
            }
            drop(above);
            self.check_level(&page, level)?;
            let fetch = |right| self.fetch_mut(right, counters).map(Some);
            return self.move_right(page, target, fetch);
        }
    }

    /// The leaf that has a key, latched exclusively, for who holds a leaf to the left of it. Inner pages are above that
    /// leaf, so they are not waited for: `None` if one of them would have to be. The second part is that of
    /// [`Tree::descend_mut`].
    pub(in crate::tree) fn descend_from(
        &self,
        held: &[u8],
        key: &[u8],
        counters: &Counters,
    ) -> Result<Option<(PageGuardMut, bool)>> {
        let target = DescentTarget::Key(key);
        let try_fetch = |page_no| self.fetch_if(page_no, false, counters);
        let Some(above) = self.descend_with(target, 1, try_fetch, |_, _| {})? else { return Ok(None) };
        let inner = self.inner(&above)?;
        let child = target.child(&inner);
        let is_known = inner.key(child) > self.fences(held)?.low;
        let start = if is_known { inner.child(child) } else { PageHeader(held).next() };
        // The parent may know of no leaf between the held one and the wanted one: then links lead there.
        let page = self.fetch_mut(start, counters)?;
        drop(above);
        self.check_level(&page, 0)?;
        if !is_known {
            self.check_neighbour(held, &page)?;
        }
        let fetch = |right| self.fetch_mut(right, counters).map(Some);
        let found = self.move_right(page, target, fetch)?;
        Ok(found.map(|(page, moved)| (page, moved || !is_known)))
    }

    /// Error: `Corrupt`, for a page to which a parent leads that is not of the level below.
    pub(in crate::tree) fn check_level(&self, page: &[u8], level: u8) -> Result<()> {
        let header = PageHeader(page);
        let page_type = if level == 0 { PageType::Leaf } else { PageType::Inner };
        if header.level() == level && header.page_type() == Some(page_type) {
            return Ok(());
        }
        Err(self.corrupt(header.page_no(), BadPage("not a page of the level below its parent's")))
    }

    /// Levels of the tree, the leaves included.
    pub fn height(&self, counters: &Counters) -> Result<u32> {
        Ok(u32::from(self.fetch(ROOT_PAGE, counters)?.header().level()) + 1)
    }
}
