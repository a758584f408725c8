//! Reading leaves in key order: a range of keys is planned from inner pages as a list of leaf pages, so that they can
//! be shared among workers and read ahead.

use super::{btree::Tree, gallop::first_not, inner::Inner, leaf::Leaf};
use crate::{
    Counters, Result,
    buffer_pool::PageGuard,
    key::{ByteRange, Keys},
    processor::load_ahead,
};
use std::ops::Range;

/// A range of keys and the leaves that its first part is in.
#[derive(Debug, Clone)]
pub struct LeafRun {
    /// The rest of the range that `pages` belong to.
    range: ByteRange,
    reverse: bool,
    /// Leaves in reading order; the ones before `next` are done.
    pages: Vec<u32>,
    /// A lower bound of the keys of each page.
    fences: Keys,
    next: usize,
    /// The tree's version that `pages` are of.
    version: u64,
    /// The range behind the pages.
    rest: Option<ByteRange>,
    /// The next leaf is the first since planning: the range may begin in its middle.
    fresh: bool,
}

/// How far [`LeafRun::skip_to`] went without reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    Leaves(usize),
    /// Behind all leaves that were planned.
    All,
}

/// A latched leaf and its rows within the range.
pub struct LeafSlice {
    pub page: PageGuard,
    pub rows: Range<usize>,
}

/// Most fences have no more bytes.
const FENCE_BYTES: usize = 8;
/// Leaves planned at once when a run goes on behind its pages.
const REPLAN_LEAVES: usize = 256;

impl LeafRun {
    /// Makes the run go on with what [`Tree::plan`] left of its range.
    pub fn continue_with(&mut self, rest: Option<ByteRange>) {
        self.rest = rest;
    }

    /// All that is still to be read, as one range.
    fn remaining(&mut self) -> ByteRange {
        let range = std::mem::take(&mut self.range);
        match self.rest.take() {
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
        if range.is_empty() || before == self.pages.len() {
            self.next = self.pages.len();
            if let Some(range) = rest {
                narrow(range);
            }
            self.rest = self.rest.take().filter(|range| !range.is_empty());
            return Skipped::All;
        }
        let last = self.pages.len() - 1;
        self.next = match self.reverse {
            false => first_not(before + 1, last + 1, 1, |i| self.fences.get(i) <= key) - 1,
            true => first_not(before, last, 1, |i| self.fences.get(i) >= key),
        };
        self.fresh = true;
        Skipped::Leaves(self.next - before)
    }

    /// The leaves after those read, for reading ahead.
    pub fn upcoming(&self) -> &[u32] {
        &self.pages[self.next..]
    }
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
        let _shape = self.shape.read();
        self.plan_latched(range, reverse, max, counters)
    }

    fn plan_latched(
        &self,
        mut range: ByteRange,
        reverse: bool,
        max: usize,
        counters: &Counters,
    ) -> Result<(LeafRun, Option<ByteRange>)> {
        let header = self.file.header();
        let version = self.version();
        let mut run = LeafRun {
            range: ByteRange::default(),
            reverse,
            pages: Vec::new(),
            fences: Keys::default(),
            next: 0,
            version,
            rest: None,
            fresh: true,
        };
        if header.height <= 1 {
            run.pages.push(header.root);
            run.fences.push(&[]);
            run.range = range;
            return Ok((run, None));
        }
        // Separators around the page, from the pages above it.
        let (mut left, mut right): (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
        let choose = |inner: &Inner<'_>| match reverse {
            false => inner.find(&range.lower),
            true => inner.find_last(range.upper.as_deref()),
        };
        let mut page = self.fetch(header.root, counters)?;
        for level in (2..header.height as usize).rev() {
            let inner = self.inner(&page, level)?;
            let child = choose(&inner);
            if child > 0 {
                left = inner.separator(child - 1).to_vec();
            }
            if child + 1 < inner.children() {
                right = Some(inner.separator(child).to_vec());
            }
            page = self.fetch(inner.child(child), counters)?;
        }
        let inner = self.inner(&page, 1)?;
        let (first, last) = (inner.find(&range.lower), inner.find_last(range.upper.as_deref()));
        let max = max.max(1);
        let planned = max.min(last + 1 - first.min(last));
        run.pages.reserve(planned);
        run.fences.reserve(planned, planned * FENCE_BYTES);
        let mut add = |child: usize| {
            run.pages.push(inner.child(child));
            run.fences.push(if child > 0 { inner.separator(child - 1) } else { &left });
        };
        let rest = if reverse {
            let first = first.max((last + 1).saturating_sub(max)).min(last);
            (first..=last).rev().for_each(&mut add);
            let fence = if first > 0 { inner.separator(first - 1) } else { &left };
            (fence > range.lower.as_slice()).then(|| {
                let lower = std::mem::replace(&mut range.lower, fence.to_vec());
                ByteRange { lower, upper: Some(fence.to_vec()) }
            })
        } else {
            let last = last.min(first + max - 1).max(first);
            (first..=last).for_each(&mut add);
            let fence = if last + 1 < inner.children() { Some(inner.separator(last).to_vec()) } else { right };
            let fence = fence.filter(|fence| range.upper.as_ref().is_none_or(|upper| fence < upper));
            fence.map(|fence| ByteRange { lower: fence.clone(), upper: range.upper.replace(fence) })
        };
        run.range = range;
        Ok((run, rest))
    }

    /// Latches the next leaves of a run, at most `max`. None at the end. Do not hold latches of this tree when calling.
    pub fn next_leaves(&self, run: &mut LeafRun, max: usize, counters: &Counters) -> Result<Vec<LeafSlice>> {
        let _shape = self.shape.read();
        loop {
            let stale = run.version != self.version();
            let done = run.next == run.pages.len();
            if run.rest.is_none() && (done || stale && run.range.is_empty()) {
                return Ok(Vec::new());
            }
            if stale || done {
                // What is left of a part that was read to its end holds no rows, so it begins with the rest.
                let range = match run.rest.take() {
                    Some(rest) if done && !stale => rest,
                    rest => {
                        run.rest = rest;
                        run.remaining()
                    }
                };
                let (mut planned, rest) = self.plan_latched(range, run.reverse, REPLAN_LEAVES, counters)?;
                planned.continue_with(rest);
                *run = planned;
            }
            let end = run.pages.len().min(run.next + max.max(1));
            let mut leaves = Vec::with_capacity(end - run.next);
            let mut pages = Vec::with_capacity(end - run.next);
            for i in run.next..end {
                let page = self.fetch(run.pages[i], counters)?;
                load_ahead(Leaf::directory(&page, &self.layout));
                pages.push(page);
            }
            for (i, page) in (run.next..end).zip(pages) {
                let rows = self.rows_within(&page, run, i)?;
                if !rows.is_empty() {
                    leaves.push(LeafSlice { page, rows });
                }
            }
            run.fresh = false;
            run.next = end;
            if let Some(last) = leaves.last() {
                self.advance(run, last)?;
                return Ok(leaves);
            }
        }
    }

    /// Rows of the run's i-th page that are in its range.
    fn rows_within(&self, page: &PageGuard, run: &LeafRun, i: usize) -> Result<Range<usize>> {
        let leaf = self.leaf(page)?;
        let bound = |key: &[u8]| leaf.lower_bound(&self.layout, key).map_err(|e| self.corrupt(page.page_no(), e));
        let (first, last) = (run.fresh && i == run.next, i + 1 == run.pages.len());
        let (at_lower, at_upper) = if run.reverse { (last, first) } else { (first, last) };
        let start = if at_lower { bound(&run.range.lower)? } else { 0 };
        let end = match &run.range.upper {
            Some(upper) if at_upper => bound(upper)?,
            _ => leaf.rows(),
        };
        Ok(start..end.max(start))
    }

    /// Takes what was read off the run's range, in case the leaves have to be found again.
    fn advance(&self, run: &mut LeafRun, done: &LeafSlice) -> Result<()> {
        let row = if run.reverse { done.rows.start } else { done.rows.end - 1 };
        let leaf = self.leaf(&done.page)?;
        let mut key = leaf.key(&self.layout, row).map_err(|e| self.corrupt(done.page.page_no(), e))?;
        if run.reverse {
            run.range.upper = Some(key);
        } else {
            // The smallest string behind the key.
            key.push(0);
            run.range.lower = key;
        }
        Ok(())
    }
}
