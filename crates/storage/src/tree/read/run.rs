//! Reading leaves in key order: a range of keys is planned from inner pages as a list of leaf pages, so that they can
//! be shared among workers and read ahead.
//!
//! A planned page may have changed by the time it is latched. Its fences tell: one that no longer begins where reading
//! has come to is not read, and what is left of the range is planned anew; where it ends sooner than planned, its right
//! neighbours have the rest.

use super::{
    by_key::Pages,
    descent::{DescentTarget, STALE_PLANS_MAX},
    versions::LeafPage,
};
use crate::tree::{
    btree::Tree,
    page::{
        gallop::first_not,
        leaf::{self, BadPage, Fences, Leaf},
    },
    planted::PlantedFault,
    probe::Event,
};
use crate::{
    Counters, ReadView, Result,
    buffer_pool::PageGuard,
    file::ROOT_PAGE,
    key::{ByteRange, Keys},
    page::{PageHeader, PageType},
    processor::load_ahead,
};
use std::ops::Range;

/// A range of keys and the leaves that its first part is in.
#[derive(Debug, Clone)]
pub struct LeafRun {
    /// The part of the range of `pages` that is still to be read.
    range: ByteRange,
    reverse: bool,
    /// Leaves in reading order; the ones before `next` are done.
    pages: Vec<u32>,
    /// A lower bound of the keys of each page.
    fences: Keys,
    next: usize,
    /// The range behind the pages.
    rest: Option<ByteRange>,
}

/// How far [`LeafRun::skip_to`] went without reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    Leaves(usize),
    /// Behind all leaves that were planned.
    All,
}

/// A leaf as a view sees it, and its rows within the range.
pub struct LeafSlice {
    pub page: LeafPage,
    pub rows: Range<usize>,
}

/// Most fences have no more bytes.
const FENCE_BYTES: usize = 8;
/// Leaves planned at once when a run goes on behind its pages.
const REPLAN_LEAVES: usize = 256;

impl LeafRun {
    fn new(range: ByteRange, reverse: bool) -> LeafRun {
        LeafRun { range, reverse, pages: Vec::new(), fences: Keys::default(), next: 0, rest: None }
    }

    /// Makes the run go on with what [`Tree::plan`] left of its range.
    pub fn continue_with(&mut self, rest: Option<ByteRange>) {
        self.rest = rest;
    }

    /// All that is still to be read, as one range.
    fn remaining(&mut self) -> ByteRange {
        let range = std::mem::take(&mut self.range);
        match self.rest.take() {
            Some(rest) if range.is_empty() => rest,
            Some(rest) if self.reverse => ByteRange { lower: rest.lower, upper: range.upper },
            Some(rest) => ByteRange { lower: range.lower, upper: rest.upper },
            None => range,
        }
    }

    pub fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// Leaves out what stands before `key` (in a reverse run: what does not stand before it). What the fences say of
    /// the pages saves reading them.
    pub fn skip_to(&mut self, key: &[u8]) -> Skipped {
        let (range, rest) = (&mut self.range, &mut self.rest);
        let narrow = |range: &mut ByteRange| match self.reverse {
            false if range.lower.as_slice() < key => range.lower = key.to_vec(),
            true if range.upper.as_ref().is_none_or(|upper| upper.as_slice() > key) => range.upper = Some(key.to_vec()),
            _ => {}
        };
        let before = self.next;
        narrow(range);
        if range.is_empty() {
            self.next = self.pages.len();
            if let Some(range) = rest {
                narrow(range);
            }
            self.rest = self.rest.take().filter(|range| !range.is_empty());
            return Skipped::All;
        }
        let Some(last) = self.pages.len().checked_sub(1).filter(|last| before <= *last) else {
            return Skipped::Leaves(0);
        };
        self.next = match self.reverse {
            false => first_not(before + 1, last + 1, 1, |i| self.fences.get(i) <= key) - 1,
            true => first_not(before, last, 1, |i| self.fences.get(i) >= key),
        };
        Skipped::Leaves(self.next - before)
    }

    /// The leaves after those read, for reading ahead.
    pub fn upcoming(&self) -> &[u32] {
        &self.pages[self.next..]
    }

    /// The target of the descent to the next leaf: the leaf that has the first key still to be read, or the last one.
    fn target(&self) -> DescentTarget<'_> {
        match self.reverse {
            false => DescentTarget::Key(&self.range.lower),
            true => DescentTarget::Below(self.range.upper.as_deref()),
        }
    }

    /// Takes what a leaf with these fences holds off the range. `planned`: the leaf is the next one of `pages`, not a
    /// neighbour of it.
    fn advance(&mut self, fences: Fences<'_>, planned: bool) {
        let is_last = match self.reverse {
            false => match (fences.high, &self.range.upper) {
                (None, _) => true,
                (Some(high), upper) => {
                    self.range.lower.clear();
                    self.range.lower.extend_from_slice(high);
                    upper.as_ref().is_some_and(|upper| upper.as_slice() <= high)
                }
            },
            true => {
                let upper = self.range.upper.get_or_insert_default();
                upper.clear();
                upper.extend_from_slice(fences.low);
                fences.low.is_empty() || *upper <= self.range.lower
            }
        };
        if is_last {
            self.range = ByteRange { lower: Vec::new(), upper: Some(Vec::new()) };
            self.next = self.pages.len();
        } else if planned || !self.reverse {
            // In a reverse run the planned leaf comes behind its neighbours.
            self.next += 1;
        }
    }
}

/// What was read of a plan.
#[derive(Default)]
struct PlannedLeaves {
    leaves: Vec<LeafSlice>,
    /// The bytes of a leaf of which a copy must be read, and its rows within the range. Nothing is latched then.
    to_copy: Option<(Vec<u8>, Range<usize>)>,
    /// True if the plan is out of date.
    is_stale: bool,
}

impl Tree {
    /// Plans the first leaves (the last ones if `reverse`) of a range, at most `max`; returns them and what is left
    /// of the range. Reads inner pages only.
    pub fn plan(
        &self,
        range: ByteRange,
        reverse: bool,
        max: usize,
        counters: &Counters,
    ) -> Result<(LeafRun, Option<ByteRange>)> {
        let mut run = LeafRun::new(range, reverse);
        let page = self.descend(run.target(), 1, counters)?;
        if page.header().level() == 0 {
            run.pages.push(ROOT_PAGE);
            run.fences.push(&[]);
            return Ok((run, None));
        }
        let inner = self.inner(&page)?;
        let range = &mut run.range;
        let (first, last) = (inner.find(&range.lower), inner.find_last(range.upper.as_deref()));
        let max = max.max(1);
        let planned = max.min(last + 1 - first.min(last));
        run.pages.reserve(planned);
        run.fences.reserve(planned, planned * FENCE_BYTES);
        let mut add = |child: usize| {
            run.pages.push(inner.child(child));
            run.fences.push(inner.key(child));
        };
        let rest = if reverse {
            let first = first.max((last + 1).saturating_sub(max)).min(last);
            (first..=last).rev().for_each(&mut add);
            let fence = inner.key(first);
            (fence > range.lower.as_slice()).then(|| {
                let lower = std::mem::replace(&mut range.lower, fence.to_vec());
                ByteRange { lower, upper: Some(fence.to_vec()) }
            })
        } else {
            let last = last.min(first + max - 1).max(first);
            (first..=last).for_each(&mut add);
            let fence = inner.key_behind(last).map(<[u8]>::to_vec);
            let fence = fence.filter(|fence| range.upper.as_ref().is_none_or(|upper| fence < upper));
            fence.map(|fence| ByteRange { lower: fence.clone(), upper: range.upper.replace(fence) })
        };
        Ok((run, rest))
    }

    /// The next leaves of a run as a view sees them, at most `max` or, of a leaf that is copied, its copy. None at the
    /// end. Do not hold latches when calling.
    pub fn next_leaves(
        &self,
        run: &mut LeafRun,
        view: &ReadView,
        max: usize,
        counters: &Counters,
    ) -> Result<Vec<LeafSlice>> {
        let mut stale_plans = 0;
        loop {
            if run.range.is_empty() {
                match run.rest.take() {
                    Some(rest) if !rest.is_empty() => *run = self.replan(rest, run.reverse, counters)?,
                    _ => return Ok(Vec::new()),
                }
            }
            let read = self.read_planned(run, view, max, counters)?;
            if !read.leaves.is_empty() {
                return Ok(read.leaves);
            }
            if let Some((page, rows)) = read.to_copy {
                let copy = self.copied(&page, rows, view, &Pages::All(counters))?.unwrap_or_default();
                let slice = |page: LeafPage| Ok(LeafSlice { rows: 0..self.leaf(&page)?.rows(), page });
                let mut slices = copy.into_iter().map(slice).collect::<Result<Vec<_>>>()?;
                if run.reverse {
                    slices.reverse();
                }
                if !slices.is_empty() {
                    return Ok(slices);
                }
            } else if read.is_stale {
                stale_plans += 1;
                if stale_plans > STALE_PLANS_MAX {
                    return Err(self.corrupt(ROOT_PAGE, BadPage("leaves without the keys that their parents have")));
                }
                let range = run.remaining();
                *run = self.replan(range, run.reverse, counters)?;
            }
        }
    }

    /// Reads the next leaves that are planned, up to one that must be copied.
    fn read_planned(
        &self,
        run: &mut LeafRun,
        view: &ReadView,
        max: usize,
        counters: &Counters,
    ) -> Result<PlannedLeaves> {
        let mut read = PlannedLeaves::default();
        let pages = self.latch_planned(run, view, max, counters)?;
        read.leaves.reserve(pages.len());
        read.is_stale = pages.is_empty();
        let mut pages = pages.into_iter();
        while let Some(page) = pages.next() {
            let page_no = page.page_no();
            let planned_low = run.fences.get(run.next);
            if !self.is_planned(&page, run.target(), Some(planned_low))? {
                self.probe.hit(Event::Stale);
                read.is_stale = true;
                break;
            }
            let moves = run.target().is_right_of(self.fences(&page)?);
            if moves && !read.leaves.is_empty() {
                break;
            }
            if moves {
                // No other page is held on the way to the right.
                pages = Vec::new().into_iter();
            }
            let target = run.target();
            let found = self.move_right(page, target, |right| self.fetch(right, counters).map(Some))?;
            let Some((page, _)) = found else { break };
            let fences = self.fences(&page)?;
            let rows = self.rows_within(&page, fences, &run.range)?;
            let is_copied = self.has_unseen(&self.leaf(&page)?, &rows, view)?;
            if is_copied && !read.leaves.is_empty() {
                // It is the first one of the next call: nothing is latched while it is copied.
                break;
            }
            let planned = page.page_no() == page_no;
            run.advance(fences, planned);
            if is_copied {
                read.to_copy = Some((page.to_vec(), rows));
                break;
            }
            if !rows.is_empty() {
                read.leaves.push(LeafSlice { page: LeafPage::Latched(page), rows });
            }
            if run.range.is_empty() {
                break;
            }
        }
        Ok(read)
    }

    /// Latches the next pages that are planned, at most `max`: up to one that must be copied, which comes alone.
    fn latch_planned(&self, run: &LeafRun, view: &ReadView, max: usize, counters: &Counters) -> Result<Vec<PageGuard>> {
        let end = run.pages.len().min(run.next + max.max(1));
        let mut pages = Vec::with_capacity(end - run.next);
        for page_no in &run.pages[run.next..end] {
            let Some(page) = self.fetch_if(*page_no, pages.is_empty(), counters)? else { break };
            load_ahead(Leaf::directory(&page, &self.layout));
            load_ahead(Fences::expected(&page));
            if leaf::has_slots(&page) && !view.sees_all_of(page.header().max_trx_id()) {
                let leaf = self.leaf(&page)?;
                if self.has_unseen(&leaf, &(0..leaf.rows()), view)? {
                    if pages.is_empty() {
                        pages.push(page);
                    }
                    break;
                }
            }
            pages.push(page);
        }
        // They are latched: they keep the versions that they have now.
        self.check_view(view)?;
        Ok(pages)
    }

    fn replan(&self, range: ByteRange, reverse: bool, counters: &Counters) -> Result<LeafRun> {
        let (mut run, rest) = self.plan(range, reverse, REPLAN_LEAVES, counters)?;
        run.continue_with(rest);
        Ok(run)
    }

    /// Returns true if a page that was planned is still a leaf that has the target, or is to the left of the leaf that
    /// has it. `low`: the low fence that it had, as far as that is known.
    pub(in crate::tree) fn is_planned(
        &self,
        page: &[u8],
        target: DescentTarget<'_>,
        low: Option<&[u8]>,
    ) -> Result<bool> {
        if PageHeader(page).page_type() != Some(PageType::Leaf) {
            return Ok(false);
        }
        let fences = self.fences(page)?;
        let is_same = low.is_none_or(|low| fences.low == low) && !target.is_left_of(fences);
        Ok(is_same || self.planted.has(PlantedFault::TrustPageNumbers))
    }

    /// Rows of a leaf that are in a range.
    fn rows_within(&self, page: &PageGuard, fences: Fences<'_>, range: &ByteRange) -> Result<Range<usize>> {
        let leaf = self.leaf(page)?;
        let bound = |key: &[u8]| leaf.lower_bound(&self.layout, key).map_err(|e| self.corrupt(page.page_no(), e));
        let start = if range.lower.as_slice() > fences.low { bound(&range.lower)? } else { 0 };
        let end = match &range.upper {
            Some(upper) if fences.high.is_none_or(|high| upper.as_slice() < high) => bound(upper)?,
            _ => leaf.rows(),
        };
        Ok(start..end.max(start))
    }
}
