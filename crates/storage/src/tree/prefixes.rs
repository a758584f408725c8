//! Leaves of many beginnings of keys: planned from inner pages, asked for together, then latched in order.
//!
//! ```text
//!   keys     a      b   c d       e        f
//!   leaves  [0: a ][1: a b ][2: b ][3: b c d e][4: f]      a key may go on over several leaves, and a leaf may
//!            planned ->  read ahead ->  latched            have several keys
//! ```

use super::{btree::Tree, gallop::first_not, leaf::BadPage};
use crate::{Counters, Result, buffer_pool::PageGuard, key::KeyList};
use std::{
    collections::VecDeque,
    ops::{ControlFlow, Range},
};

/// Leaves planned at a time.
const PLAN_LEAVES: usize = 512;
/// Leaves that are read ahead.
const AHEAD_LEAVES: usize = 128;

/// How far a list of keys has been looked up.
#[derive(Debug, Default)]
pub struct PrefixRun {
    /// The first key behind the plan, and from where on in its entries, if the plan ends amid them.
    key: usize,
    from: Option<Vec<u8>>,
    plan: VecDeque<Planned>,
    /// Planned leaves that were asked for ahead.
    ahead: usize,
    /// The tree's version that the plan is of.
    version: u64,
}

#[derive(Debug)]
struct Planned {
    page: u32,
    keys: Range<usize>,
    /// The first key's entries before this were read already.
    from: Option<Vec<u8>>,
}

/// A latched leaf.
pub struct PrefixLeaf {
    pub page: PageGuard,
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

    /// Forgets the plan, and goes on where it was.
    fn replan(&mut self) {
        if let Some(next) = self.plan.drain(..).next() {
            (self.key, self.from) = (next.keys.start, next.from);
        }
        self.ahead = 0;
    }
}

impl Tree {
    /// Gives latched leaves that hold entries beginning with `keys` to `take` until it breaks or all keys are done; the
    /// next call goes on behind.
    ///
    /// If `batched`, keys ascend; inner pages are read once for neighbours, and leaves are asked for ahead if
    /// `read_ahead`. Otherwise they come in any order, and each is looked up by itself, from the root.
    ///
    /// Do not hold latches of this tree when calling; `take` must not use the tree either, but may keep the latches.
    pub fn read_prefixes(
        &self,
        run: &mut PrefixRun,
        keys: KeyList<'_>,
        batched: bool,
        read_ahead: bool,
        counters: &Counters,
        mut take: impl FnMut(PrefixLeaf) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let _shape = self.shape.read();
        let version = self.version();
        if run.version != version {
            run.replan();
            run.version = version;
        }
        let read_ahead = read_ahead && batched;
        let depth = if read_ahead { AHEAD_LEAVES.min(self.pool.frame_count() / 8) } else { 0 };
        loop {
            if run.plan.len() <= depth && run.key < keys.len() {
                let end = if batched { keys.len() } else { run.key + 1 };
                self.plan_prefixes(run, keys, end, counters)?;
            }
            if read_ahead && run.ahead <= depth / 2 {
                let pages = run.plan.iter().take(depth).skip(run.ahead).map(|p| p.page).collect::<Vec<_>>();
                run.ahead += pages.len();
                if run.ahead > 1 {
                    self.pool.prefetch(&self.file, &pages, counters);
                }
            }
            let Some(next) = run.plan.front() else { return Ok(()) };
            let page = self.fetch(next.page, counters)?;
            let leaf = self.leaf(&page)?;
            let first_row = match &next.from {
                Some(from) => leaf.lower_bound(&self.layout, from).map_err(|e| self.corrupt(next.page, e))?,
                None => 0,
            };
            let keys = next.keys.clone();
            run.plan.pop_front();
            run.ahead = run.ahead.saturating_sub(1);
            if take(PrefixLeaf { page, keys, first_row })?.is_break() {
                return Ok(());
            }
        }
    }

    /// Adds leaves of the keys before `end` to the plan.
    fn plan_prefixes(&self, run: &mut PrefixRun, keys: KeyList<'_>, end: usize, counters: &Counters) -> Result<()> {
        let header = self.file.header();
        if header.height <= 1 {
            run.plan.push_back(Planned { page: header.root, keys: run.key..end, from: run.from.take() });
            run.key = end;
            return Ok(());
        }
        // The last inner page above leaves, the end of its keys, and the child to look from.
        let mut parent: Option<(PageGuard, Option<Vec<u8>>)> = None;
        let mut child = 0;
        for _ in 0..PLAN_LEAVES {
            if run.key >= end {
                break;
            }
            let low = run.from.as_deref().unwrap_or_else(|| keys.get(run.key));
            let beyond = match &parent {
                Some((_, fence)) => fence.as_ref().is_some_and(|fence| low >= fence.as_slice()),
                None => true,
            };
            if beyond {
                parent = Some(self.parent_of(low, counters)?);
                child = 0;
            }
            let Some((page, parent_fence)) = &parent else { break };
            let inner = self.inner(page, 1)?;
            child = inner.find_from(low, child);
            let fence = match child + 1 < inner.children() {
                true => Some(inner.separator(child)),
                false => parent_fence.as_deref(),
            };
            if fence.is_some_and(|fence| fence <= low) {
                return Err(self.corrupt(page.page_no(), BadPage("separators out of order")));
            }
            let last = match fence {
                Some(fence) => first_not(run.key + 1, end, 1, |i| keys.get(i) < fence),
                None => end,
            };
            run.plan.push_back(Planned { page: inner.child(child), keys: run.key..last, from: run.from.take() });
            run.key = last;
            if let Some(fence) = fence.filter(|fence| fence.starts_with(keys.get(last - 1))) {
                // The last key's entries go on in the next leaf.
                run.key = last - 1;
                run.from = Some(fence.to_vec());
            }
        }
        Ok(())
    }

    /// The inner page above a key's leaf, and the separator behind its keys.
    fn parent_of(&self, key: &[u8], counters: &Counters) -> Result<(PageGuard, Option<Vec<u8>>)> {
        let header = self.file.header();
        let mut fence = None;
        let mut page = self.fetch(header.root, counters)?;
        for level in (2..header.height as usize).rev() {
            let inner = self.inner(&page, level)?;
            let child = inner.find(key);
            if child + 1 < inner.children() {
                fence = Some(inner.separator(child).to_vec());
            }
            page = self.fetch(inner.child(child), counters)?;
        }
        Ok((page, fence))
    }
}
