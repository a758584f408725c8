//! Sets of keys: for each interval of the first part's values, the set of what may follow it.
//!
//! ```text
//!   (a = 1 AND b = 2) OR (a = 3 AND b < 5)          b = 2
//!     a = 1 -- b = 2                                  any a -- b = 2
//!     a = 3 -- b < 5
//! ```
//!
//! So every combination of intervals by AND and OR is a set. MySQL's range optimizer has the same as `SEL_ARG` graphs.

use crate::interrupt::Interrupt;
use crate::intervals::{Cut, Interval, compare_cuts, max_cut};
use muster_algebra::SqlType;
use std::cmp::Ordering;
use std::rc::Rc;

/// Some of the keys of an index, seen from one of its parts on.
#[derive(Debug, Clone, PartialEq)]
pub enum KeySet {
    All,
    /// Ascending by values, apart from each other; nothing that follows is empty. Without any, no key qualifies.
    Branches(Rc<[Branch]>),
}

/// The keys whose next part is in an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    pub values: Interval,
    pub rest: KeySet,
}

impl KeySet {
    pub fn none() -> KeySet {
        KeySet::Branches(Rc::new([]))
    }

    /// The keys whose part `level` is in one of these normalised intervals.
    pub fn of_part(level: usize, intervals: Vec<Interval>) -> KeySet {
        if intervals.is_empty() {
            return KeySet::none();
        }
        if intervals == [Interval::ALL] {
            return KeySet::All;
        }
        let branches: Rc<[Branch]> = intervals.into_iter().map(|values| Branch { values, rest: KeySet::All }).collect();
        (0..level).fold(KeySet::Branches(branches), |rest, _| {
            KeySet::Branches(Rc::new([Branch { values: Interval::ALL, rest }]))
        })
    }

    pub fn is_none(&self) -> bool {
        matches!(self, KeySet::Branches(b) if b.is_empty())
    }

    /// Returns true if both are certainly the same set. The test is cheap.
    pub fn is_same(&self, other: &KeySet) -> bool {
        match (self, other) {
            (KeySet::All, KeySet::All) => true,
            (KeySet::Branches(a), KeySet::Branches(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The part that the set restricts and its branches there, if it restricts one part only.
    pub fn of_one_level(&self) -> Option<(usize, &[Branch])> {
        let (mut set, mut level) = (self, 0);
        loop {
            let KeySet::Branches(branches) = set else { return None };
            match &branches[..] {
                [Branch { values, rest: rest @ KeySet::Branches(_) }] if *values == Interval::ALL => {
                    (set, level) = (rest, level + 1);
                }
                branches => return branches.iter().all(|b| b.rest == KeySet::All).then_some((level, branches)),
            }
        }
    }

    /// Calls `f` with each interval and the level of its part. What several branches share is visited once for
    /// neighbours.
    pub fn visit(&self, level: usize, f: &mut dyn FnMut(usize, &Interval)) {
        let KeySet::Branches(branches) = self else { return };
        let mut before: Option<&KeySet> = None;
        for branch in branches.iter() {
            f(level, &branch.values);
            if before.is_none_or(|b| !b.is_same(&branch.rest)) {
                branch.rest.visit(level + 1, f);
            }
            before = Some(&branch.rest);
        }
    }
}

/// Works on the sets of one index.
pub struct KeySets<'a> {
    /// The types of the key's parts.
    pub types: &'a [SqlType],
    /// Steps that one operation may take: an intersection of two sets, or the union of a whole list (`sweep.rs`).
    pub work_max: usize,
    /// An operation of a statement that has been stopped takes too much work.
    pub interrupt: &'a Interrupt,
}

/// Steps between two looks at the interrupt.
const STEPS_PER_CHECK: usize = 1024;

impl KeySets<'_> {
    /// The keys in both sets; `None` if finding them takes too much work.
    pub fn intersection(&self, a: &KeySet, b: &KeySet) -> Option<KeySet> {
        self.intersect(a, b, 0, &mut self.work_max.clone())
    }

    /// The keys in all of the sets, each of which comes with the numbers of those that it is made of, and the numbers
    /// of those that are left out because finding their keys takes too much work.
    pub fn intersect_by_halves(&self, mut sets: Vec<(KeySet, Vec<usize>)>) -> (KeySet, Vec<usize>) {
        let mut left_out = Vec::new();
        // By halves, so that no set is gone through more often than the logarithm of their number.
        while sets.len() > 1 {
            let mut pairs = sets.into_iter();
            let mut halved = Vec::with_capacity(pairs.len().div_ceil(2));
            while let Some((a, mut of_a)) = pairs.next() {
                halved.push(match pairs.next() {
                    Some((b, of_b)) => match self.intersection(&a, &b) {
                        Some(both) => {
                            of_a.extend(of_b);
                            (both, of_a)
                        }
                        None => {
                            left_out.extend(of_b);
                            (a, of_a)
                        }
                    },
                    None => (a, of_a),
                });
            }
            sets = halved;
        }
        (sets.pop().map_or(KeySet::All, |(set, _)| set), left_out)
    }

    /// Counts a step; `None` if there were too many.
    fn step(&self, work: &mut usize) -> Option<()> {
        *work = work.checked_sub(1)?;
        (!work.is_multiple_of(STEPS_PER_CHECK) || self.interrupt.check().is_ok()).then_some(())
    }

    fn intersect(&self, a: &KeySet, b: &KeySet, level: usize, work: &mut usize) -> Option<KeySet> {
        let (x, y) = match (a, b) {
            (KeySet::All, other) | (other, KeySet::All) => return Some(other.clone()),
            (KeySet::Branches(x), KeySet::Branches(y)) => (x, y),
        };
        // Of a key without parts (that of a table without a primary key) there are all keys or none.
        if x.is_empty() || y.is_empty() {
            return Some(KeySet::none());
        }
        let ty = self.types[level];
        let mut joined = Joined::default();
        // Branches often share what follows.
        let mut known: Option<(&KeySet, &KeySet, KeySet)> = None;
        let (mut i, mut j) = (0, 0);
        while let (Some(p), Some(q)) = (x.get(i), y.get(j)) {
            self.step(work)?;
            let low = max_cut(p.values.low.clone(), q.values.low.clone(), ty);
            let order = compare_cuts(&p.values.high, &q.values.high, ty);
            let high = if order == Ordering::Less { &p.values.high } else { &q.values.high };
            let values = Interval { low, high: high.clone() };
            if !values.is_empty(ty) {
                let rest = match &known {
                    Some((r, s, rest)) if r.is_same(&p.rest) && s.is_same(&q.rest) => rest.clone(),
                    _ => self.intersect(&p.rest, &q.rest, level + 1, work)?,
                };
                known = Some((&p.rest, &q.rest, rest.clone()));
                joined.push(values, rest);
            }
            if order != Ordering::Greater {
                i += 1;
            }
            if order != Ordering::Less {
                j += 1;
            }
        }
        Some(joined.into_set())
    }
}

/// Branches in the order they come, neighbours with the same rest made one.
#[derive(Default)]
pub struct Joined {
    branches: Vec<Branch>,
}

impl Joined {
    pub fn push(&mut self, values: Interval, rest: KeySet) {
        if rest.is_none() {
            return;
        }
        match self.branches.last_mut() {
            Some(last) if last.values.high == values.low && last.rest == rest => last.values.high = values.high,
            _ => self.branches.push(Branch { values, rest }),
        }
    }

    pub fn into_set(self) -> KeySet {
        match self.branches.as_slice() {
            [Branch { values: Interval { low: Cut::Start, high: Cut::End }, rest: KeySet::All }] => KeySet::All,
            _ => KeySet::Branches(self.branches.into()),
        }
    }
}
