//! Leaves of many beginnings of keys: planned from inner pages, asked for together, then latched in order.
//!
//! ```text
//!   keys     a      b   c d       e        f
//!   leaves  [0: a ][1: a b ][2: b ][3: b c d e][4: f]      a key may go on over several leaves, and a leaf may
//!            planned ->  read ahead ->  latched            have several keys
//! ```
//!
//! Fences tell whether a planned leaf is still the one that a key begins in; if not, the leaves are planned anew from
//! that key on.

use super::{
    by_key::Pages,
    descent::{DescentTarget, STALE_PLANS_MAX},
    versions::LeafPage,
};
use crate::tree::{
    btree::Tree,
    page::{
        gallop::first_not,
        leaf::{BadPage, Fences, Leaf},
    },
    probe::Event,
};
use crate::{
    Counters, ReadView, Result,
    buffer_pool::PageGuard,
    file::ROOT_PAGE,
    key::{KeyList, prefix_end},
    processor::load_ahead,
};
use std::{
    collections::VecDeque,
    ops::{ControlFlow, Range},
};

/// Leaves planned at a time.
const PLAN_LEAVES: usize = 512;
/// Leaves that are read ahead.
const AHEAD_LEAVES: usize = 128;

/// How keys are looked up.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// Keys ascend: inner pages are read once for neighbours. Otherwise they come in any order, and each is looked up
    /// by itself, from the root.
    pub batched: bool,
    /// Leaves are asked for ahead, if keys ascend.
    pub read_ahead: bool,
}

/// How far a list of keys has been looked up.
#[derive(Debug, Default)]
pub struct PrefixRun {
    /// The first key behind the plan, and from where on in its entries, if the plan ends amid them.
    key: usize,
    from: Option<Vec<u8>>,
    plan: VecDeque<Planned>,
    /// Planned leaves that were asked for ahead.
    ahead: usize,
}

/// A place in a list of keys: the first key that was not looked up, and from where on in its entries.
type Place = (usize, Option<Vec<u8>>);

#[derive(Debug)]
struct Planned {
    page: u32,
    keys: Range<usize>,
    /// The first key's entries before this were read already.
    from: Option<Vec<u8>>,
}

/// A leaf as a view sees it.
pub struct PrefixLeaf {
    pub page: LeafPage,
    /// Positions of the keys whose entries may be here.
    pub keys: Range<usize>,
    /// The first row that was not given out with a leaf before.
    pub first_row: usize,
}

impl PrefixRun {
    /// Returns true if all of so many keys were looked up.
    pub fn is_done(&self, keys: usize) -> bool {
        self.plan.is_empty() && self.key >= keys
    }

    /// Keys that were begun with.
    pub fn begun(&self) -> usize {
        match self.plan.front() {
            Some(next) => next.keys.start + next.from.is_some() as usize,
            None => self.key + self.from.is_some() as usize,
        }
    }

    /// Forgets the plan, to go on from a place.
    fn replan(&mut self, place: Place) {
        self.plan.clear();
        (self.key, self.from) = place;
        self.ahead = 0;
    }

    /// Returns true if the plan goes on from this place.
    fn goes_on_from(&self, place: &Place) -> bool {
        match self.plan.front() {
            Some(next) => next.keys.start == place.0 && next.from == place.1,
            None => self.key == place.0 && self.from == place.1,
        }
    }
}

impl Tree {
    /// Gives leaves that hold entries beginning with `keys`, as a view sees them, to `take` until it breaks or all keys
    /// are done; the next call goes on behind. A copied leaf that takes several pages is given as a whole even if
    /// `take` breaks.
    ///
    /// Do not hold latches when calling; `take` must not use the tree either, but may keep the latches.
    pub fn read_prefixes(
        &self,
        run: &mut PrefixRun,
        keys: KeyList<'_>,
        view: &ReadView,
        how: Batching,
        counters: &Counters,
        mut take: impl FnMut(PrefixLeaf) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        // Who keeps leaves does not wait for other pages.
        let mut wait = true;
        let Batching { batched, read_ahead } = how;
        let read_ahead = read_ahead && batched;
        let depth = if read_ahead { AHEAD_LEAVES.min(self.pool.frame_count() / 8) } else { 0 };
        let mut stale_plans = 0;
        loop {
            if run.plan.len() <= depth && run.key < keys.len() {
                let end = if batched { keys.len() } else { run.key + 1 };
                if !self.plan_prefixes(run, keys, end, wait, counters)? {
                    return Ok(());
                }
            }
            if read_ahead && run.ahead <= depth / 2 {
                let pages = run.plan.iter().take(depth).skip(run.ahead).map(|p| p.page).collect::<Vec<_>>();
                run.ahead += pages.len();
                if run.ahead > 1 {
                    self.pool.prefetch(&self.file, &pages, counters);
                }
            }
            let Some(next) = run.plan.pop_front() else { return Ok(()) };
            run.ahead = run.ahead.saturating_sub(1);
            let low = next.from.as_deref().unwrap_or_else(|| keys.get(next.keys.start));
            let found = self.leaf_of_plan(next.page, low, wait, counters)?;
            let Some(page) = found else {
                if !wait {
                    run.plan.push_front(next);
                    run.ahead += 1;
                    return Ok(());
                }
                stale_plans += 1;
                if stale_plans > STALE_PLANS_MAX {
                    return Err(self.corrupt(next.page, BadPage("a leaf without the keys that its parent has")));
                }
                run.replan((next.keys.start, next.from));
                continue;
            };
            let leaf = self.leaf(&page)?;
            let first_row = match &next.from {
                Some(from) => leaf.lower_bound(&self.layout, from).map_err(|e| self.corrupt(next.page, e))?,
                None => 0,
            };
            // The leaf may have come to hold more or less than was planned.
            let end = if batched { keys.len() } else { next.keys.start + 1 };
            let high = self.fences(&page)?.high;
            let (last, onward) = keys_within(keys, next.keys.start..end, high);
            let found = next.keys.start..last;
            let in_doubt = self.found_unseen(&leaf, first_row, keys, &found, view)?;
            if in_doubt.is_some() && !wait {
                // Nothing is latched while a leaf is copied.
                run.plan.push_front(next);
                run.ahead += 1;
                return Ok(());
            }
            if !run.goes_on_from(&onward) {
                run.replan(onward);
            }
            stale_plans = 0;
            let mut flow = ControlFlow::Continue(());
            match in_doubt {
                None => {
                    wait = false;
                    flow = take(PrefixLeaf { page: LeafPage::Latched(page), keys: found, first_row })?;
                }
                Some(rows) => {
                    let bytes = page.to_vec();
                    drop(page);
                    for page in self.copied(&bytes, rows, view, &Pages::All(counters))?.unwrap_or_default() {
                        let here = take(PrefixLeaf { page, keys: found.clone(), first_row: 0 })?;
                        flow = if flow.is_break() { flow } else { here };
                    }
                }
            }
            if flow.is_break() {
                return Ok(());
            }
        }
    }

    /// The positions from `first` on between which entries of a leaf are that begin with some of the keys, if the leaf
    /// must be copied for them.
    fn found_unseen(
        &self,
        leaf: &Leaf<'_>,
        first: usize,
        keys: KeyList<'_>,
        which: &Range<usize>,
        view: &ReadView,
    ) -> Result<Option<Range<usize>>> {
        if !self.has_unseen(leaf, &(first..leaf.rows()), view)? {
            return Ok(None);
        }
        let bound = |key: &[u8]| leaf.lower_bound(&self.layout, key).map_err(|e| self.corrupt(leaf.page_no(), e));
        let start = bound(keys.get(which.start))?.max(first);
        let end = match prefix_end(keys.get(which.end - 1)) {
            Some(end) => bound(&end)?,
            None => leaf.rows(),
        };
        let rows = start..end.max(start);
        Ok(self.has_unseen(leaf, &rows, view)?.then_some(rows))
    }

    /// The leaf that has the first entry not below `low`, from the page that was planned for it; `None` if that page is
    /// another one now.
    fn leaf_of_plan(&self, page_no: u32, low: &[u8], wait: bool, counters: &Counters) -> Result<Option<PageGuard>> {
        let Some(page) = self.fetch_if(page_no, wait, counters)? else { return Ok(None) };
        // The two are far from each other in memory: the processor waits for both at once.
        load_ahead(Leaf::directory(&page, &self.layout));
        load_ahead(Fences::expected(&page));
        let target = DescentTarget::Key(low);
        if !self.is_planned(&page, target, None)? {
            self.probe.hit(Event::Stale);
            return Ok(None);
        }
        let found = self.move_right(page, target, |right| self.fetch_if(right, wait, counters))?;
        Ok(found.map(|(page, _)| page))
    }

    /// Adds leaves of the keys before `end` to the plan. Returns false if it would have to wait for a page.
    fn plan_prefixes(
        &self,
        run: &mut PrefixRun,
        keys: KeyList<'_>,
        end: usize,
        wait: bool,
        counters: &Counters,
    ) -> Result<bool> {
        // The last inner page above leaves, and the child to look from.
        let mut parent: Option<PageGuard> = None;
        let mut child = 0;
        for _ in 0..PLAN_LEAVES {
            if run.key >= end {
                break;
            }
            let low = run.from.as_deref().unwrap_or_else(|| keys.get(run.key));
            let beyond = match &parent {
                Some(page) => self.inner(page)?.fences().high.is_some_and(|high| low >= high),
                None => true,
            };
            if beyond {
                // A parent that was read is let go before the way begins at the root again.
                drop(parent.take());
                let fetch = |page_no| self.fetch_if(page_no, wait, counters);
                let Some(page) = self.descend_with(DescentTarget::Key(low), 1, fetch, |_, _| {})? else {
                    return Ok(!run.plan.is_empty());
                };
                if page.header().level() == 0 {
                    run.plan.push_back(Planned { page: ROOT_PAGE, keys: run.key..end, from: run.from.take() });
                    run.key = end;
                    break;
                }
                parent = Some(page);
                child = 0;
            }
            let Some(page) = &parent else { break };
            let inner = self.inner(page)?;
            child = inner.find_from(low, child);
            let fence = inner.key_behind(child);
            if fence.is_some_and(|fence| fence <= low) {
                return Err(self.corrupt(page.page_no(), BadPage("separators out of order")));
            }
            let (last, onward) = keys_within(keys, run.key..end, fence);
            run.plan.push_back(Planned { page: inner.child(child), keys: run.key..last, from: run.from.take() });
            (run.key, run.from) = onward;
        }
        Ok(true)
    }
}

/// The end of the keys whose entries a leaf with this high fence may have, of those from the range's start on, and the
/// place behind the leaf.
fn keys_within(keys: KeyList<'_>, range: Range<usize>, high: Option<&[u8]>) -> (usize, Place) {
    let Some(high) = high else { return (range.end, (range.end, None)) };
    let last = first_not(range.start + 1, range.end, 1, |i| keys.get(i) < high);
    // The last key's entries may go on in the next leaf.
    match high.starts_with(keys.get(last - 1)) {
        true => (last, (last - 1, Some(high.to_vec()))),
        false => (last, (last, None)),
    }
}
