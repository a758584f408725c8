//! Work of a scan: key ranges in order, cut into runs of leaves as cursors ask for them.

use crate::{
    Counters, Result,
    counters::Counter,
    key::ByteRange,
    tree::{LeafRun, Tree},
};
use muster_types::KeyRange;
use std::{collections::VecDeque, ops::Bound};

/// Leaves of a run at most; large enough that descending for each does not matter.
const RUN_LEAVES: u64 = 128;
/// Into at least so many runs a tree is cut, so that all cursors find work.
const RUNS_AT_LEAST: u64 = 32;

#[derive(Debug)]
struct Work {
    range: ByteRange,
    /// True if a cursor has begun with it.
    begun: bool,
    /// At most one entry can be in it.
    single: bool,
}

/// Ranges still to be read.
#[derive(Debug)]
pub(super) struct Queue {
    work: VecDeque<Work>,
    reverse: bool,
    run_leaves: usize,
    /// A scan of the whole table, whose beginning is not counted.
    whole_table: bool,
}

/// Leaves for one cursor.
pub(super) struct Morsel {
    pub run: LeafRun,
    /// At most one entry is in the range: looking it up is all there is.
    pub single: bool,
}

impl Queue {
    pub fn new(tree: &Tree, ranges: &[KeyRange], reverse: bool, whole_table: bool) -> Result<Queue> {
        let mut work = VecDeque::with_capacity(ranges.len());
        for range in ranges {
            if let Some(bytes) = tree.layout().key.byte_range(range)? {
                work.push_back(Work { range: bytes, begun: false, single: is_single(tree, range) });
            }
        }
        // Ranges that were cut to a prefix may meet or overlap; no row may come twice.
        let overlap = (1..work.len()).any(|i| match &work[i - 1].range.upper {
            Some(upper) => *upper > work[i].range.lower,
            None => true,
        });
        if overlap {
            work = merge(work.into_iter().map(|w| w.range).collect());
        }
        let leaves = tree.file().header().leaf_count;
        let run_leaves = (leaves / RUNS_AT_LEAST).clamp(1, RUN_LEAVES) as usize;
        Ok(Queue { work, reverse, run_leaves, whole_table })
    }

    /// Leaves out what stands before `key` (in a reverse scan: what does not stand before it). Beginning with the rest
    /// is a descent that counts.
    pub fn skip_to(&mut self, key: &[u8]) {
        while let Some(work) = if self.reverse { self.work.back_mut() } else { self.work.front_mut() } {
            let range = &mut work.range;
            let skips = match self.reverse {
                false => range.lower.as_slice() < key,
                true => range.upper.as_ref().is_none_or(|upper| upper.as_slice() > key),
            };
            if !skips {
                return;
            }
            match self.reverse {
                false => range.lower = key.to_vec(),
                true => range.upper = Some(key.to_vec()),
            }
            work.begun = false;
            if !range.is_empty() {
                return;
            }
            if self.reverse {
                self.work.pop_back()
            } else {
                self.work.pop_front()
            };
        }
    }

    /// Leaves out what is not in `range`.
    pub fn narrow(&mut self, range: &ByteRange) {
        self.work.retain_mut(|work| {
            let before = work.range.clone();
            work.range.intersect(range);
            work.begun &= work.range == before;
            !work.range.is_empty()
        });
    }

    /// There is nothing left to do.
    pub fn end(&mut self) {
        self.work.clear();
    }

    /// The next leaves to read; `None` when all ranges are given out. Do not hold latches of the tree when calling.
    pub fn take(&mut self, tree: &Tree, counters: &Counters) -> Result<Option<Morsel>> {
        let next = if self.reverse { self.work.pop_back() } else { self.work.pop_front() };
        let Some(Work { range, begun, single }) = next else { return Ok(None) };
        if !begun && !self.whole_table {
            let counter = match self.reverse {
                false if range.lower.is_empty() => Counter::first_lookups,
                true if range.upper.is_none() => Counter::last_lookups,
                _ => Counter::key_lookups,
            };
            counters.add(counter, 1);
        }
        let (run, rest) = tree.plan(range, self.reverse, self.run_leaves, counters)?;
        if let Some(range) = rest {
            let work = Work { range, begun: true, single };
            if self.reverse { self.work.push_back(work) } else { self.work.push_front(work) }
        }
        Ok(Some(Morsel { run, single }))
    }
}

/// Returns true if the range names all declared parts of a unique key.
fn is_single(tree: &Tree, range: &KeyRange) -> bool {
    let layout = tree.layout();
    match (&range.lower, &range.upper) {
        (Bound::Included(lower), Bound::Included(upper)) => {
            layout.unique
                && layout.declared_parts > 0
                && lower.len() == layout.declared_parts
                && lower == upper
                && !lower.iter().any(|v| v.is_null())
        }
        _ => false,
    }
}

fn merge(mut ranges: Vec<ByteRange>) -> VecDeque<Work> {
    ranges.sort_by(|a, b| a.lower.cmp(&b.lower));
    let mut merged: VecDeque<Work> = VecDeque::new();
    for range in ranges {
        match merged.back_mut() {
            Some(last) if last.range.upper.as_ref().is_none_or(|upper| *upper >= range.lower) => {
                last.range.upper = match (last.range.upper.take(), range.upper) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    _ => None,
                };
            }
            _ => merged.push_back(Work { range, begun: false, single: false }),
        }
    }
    merged
}
