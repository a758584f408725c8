//! From a set of keys to ranges of the index, and to what steers a scan behind them.

use super::key_set::{Branch, KeySet};
use crate::intervals::{Cut, Interval, normalised};
use muster_algebra::{KeyInterval, KeyRange, SqlType, Value};
use std::ops::Bound;

/// What is known of a part when ranges are made.
pub struct FlatPart {
    pub ty: SqlType,
    pub descending: bool,
    /// True if the part holds whole values.
    pub whole: bool,
}

/// Ranges that hold all keys of a set.
pub struct Flat {
    /// Disjoint and ascending in the order of the index.
    pub ranges: Vec<KeyRange>,
    /// The first part of which some branch's conditions are not in the ranges; all conditions on parts before it are.
    pub complete_parts: usize,
}

/// The ranges of a set, of as many leading parts as keep them at `ranges_max`. `None` if there are more even of the
/// first part's alone.
pub fn flatten(set: &KeySet, parts: &[FlatPart], ranges_max: usize) -> Option<Flat> {
    let depth = (1..=parts.len()).rev().find(|depth| fits(set, 0, *depth, parts, &mut ranges_max.clone()))?;
    let mut flattening =
        Flattening { parts, depth, prefix: Vec::new(), ranges: Vec::new(), complete_parts: usize::MAX };
    flattening.add(set);
    Some(Flat { ranges: flattening.ranges, complete_parts: flattening.complete_parts })
}

/// Returns true if a set, seen from part `level` on, has at most `left` ranges over the parts before `depth`.
fn fits(set: &KeySet, level: usize, depth: usize, parts: &[FlatPart], left: &mut usize) -> bool {
    let KeySet::Branches(branches) = set else {
        let fits = *left > 0;
        *left = left.saturating_sub(1);
        return fits;
    };
    branches.iter().all(|branch| {
        let goes_on = level + 1 < depth && branch.values.as_point(parts[level].ty).is_some();
        let rest = if goes_on { &branch.rest } else { &KeySet::All };
        fits(rest, level + 1, depth, parts, left)
    })
}

struct Flattening<'a> {
    parts: &'a [FlatPart],
    depth: usize,
    prefix: Vec<Value>,
    ranges: Vec<KeyRange>,
    complete_parts: usize,
}

impl Flattening<'_> {
    fn add(&mut self, set: &KeySet) {
        match set {
            KeySet::All if self.prefix.is_empty() => self.push(KeyRange::all()),
            KeySet::All => self.push(KeyRange::prefix(self.prefix.clone())),
            KeySet::Branches(branches) if self.parts[self.prefix.len()].descending => {
                branches.iter().rev().for_each(|b| self.add_branch(b));
            }
            KeySet::Branches(branches) => branches.iter().for_each(|b| self.add_branch(b)),
        }
    }

    fn add_branch(&mut self, branch: &Branch) {
        let level = self.prefix.len();
        let part = &self.parts[level];
        match branch.values.as_point(part.ty) {
            Some(value) if level + 1 < self.depth => {
                self.prefix.push(value.clone());
                self.add(&branch.rest);
                self.prefix.pop();
            }
            _ => {
                if branch.rest != KeySet::All {
                    self.complete_parts = self.complete_parts.min(level + 1);
                }
                let interval = in_key_order(&branch.values, part.descending);
                let range = KeyRange { lower: self.bound(interval.lower), upper: self.bound(interval.upper) };
                self.push(range);
            }
        }
    }

    fn bound(&self, bound: Bound<Value>) -> Bound<Vec<Value>> {
        let with = |value| self.prefix.iter().cloned().chain([value]).collect();
        match bound {
            Bound::Included(value) => Bound::Included(with(value)),
            Bound::Excluded(value) => Bound::Excluded(with(value)),
            Bound::Unbounded if self.prefix.is_empty() => Bound::Unbounded,
            Bound::Unbounded => Bound::Included(self.prefix.clone()),
        }
    }

    /// Adds a range behind the others; one that begins where the last one ends is made one with it.
    fn push(&mut self, range: KeyRange) {
        if let Some(last) = self.ranges.last_mut() {
            let touches = match (&last.upper, &range.lower) {
                (Bound::Included(a), Bound::Excluded(b)) | (Bound::Excluded(a), Bound::Included(b)) => a == b,
                _ => false,
            };
            if touches {
                last.upper = range.upper;
                return;
            }
        }
        self.ranges.push(range);
    }
}

/// The interval with its ends in the order of the key.
fn in_key_order(interval: &Interval, descending: bool) -> KeyInterval {
    let bound = |cut: &Cut, low: bool| match cut {
        Cut::Start | Cut::End => Bound::Unbounded,
        Cut::Before(v) if low => Bound::Included(v.clone()),
        Cut::After(v) if !low => Bound::Included(v.clone()),
        Cut::Before(v) | Cut::After(v) => Bound::Excluded(v.clone()),
    };
    let (low, high) = (bound(&interval.low, true), bound(&interval.high, false));
    if descending { KeyInterval { lower: high, upper: low } } else { KeyInterval { lower: low, upper: high } }
}

/// What conditions that are not in the ranges leave of the parts from `complete_parts` on. Empty if that is nothing
/// worth going by.
pub fn steering(set: &KeySet, parts: &[FlatPart], complete_parts: usize) -> Vec<Option<Vec<KeyInterval>>> {
    let mut found: Vec<Option<Vec<Interval>>> = vec![Some(Vec::new()); parts.len()];
    collect(set, 0, &mut found);
    let mut steering: Vec<Option<Vec<KeyInterval>>> = Vec::new();
    for (level, (part, intervals)) in parts.iter().zip(found).enumerate() {
        let intervals = intervals.map(|i| normalised(i, part.ty)).filter(|i| {
            let says_little = matches!(i.as_slice(), [one] if *one == Interval::ALL || *one == Interval::NOT_NULL);
            level >= complete_parts && part.whole && !says_little
        });
        steering.push(intervals.map(|mut intervals| {
            if part.descending {
                intervals.reverse();
            }
            intervals.iter().map(|i| in_key_order(i, part.descending)).collect()
        }));
    }
    while steering.last() == Some(&None) {
        steering.pop();
    }
    steering
}

/// Adds the intervals of each level; a level at which some branch admits all is `None`.
fn collect(set: &KeySet, level: usize, found: &mut [Option<Vec<Interval>>]) {
    match set {
        KeySet::All => found[level..].iter_mut().for_each(|f| *f = None),
        KeySet::Branches(branches) => {
            let mut before: Option<&KeySet> = None;
            for branch in branches.iter() {
                if let Some(intervals) = &mut found[level] {
                    intervals.push(branch.values.clone());
                }
                if before.is_none_or(|b| !b.is_same(&branch.rest)) {
                    collect(&branch.rest, level + 1, found);
                }
                before = Some(&branch.rest);
            }
        }
    }
}
