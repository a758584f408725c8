//! Many sets of keys at once: their intervals are sorted and gone through in order, so that each is looked at once.
//! Combining the sets two by two would look at each as often as the number of sets can be halved.

use super::key_set::{Branch, Joined, KeySet, KeySets};
use crate::intervals::{Cut, Interval, compare_cuts};
use muster_algebra::SqlType;
use std::cmp::Ordering;
use std::collections::BTreeMap;

impl KeySets<'_> {
    /// The keys in any of the sets; `None` if finding them takes too much work.
    pub fn union_of(&self, sets: &[KeySet]) -> Option<KeySet> {
        self.unite(sets.iter().collect(), 0, &mut self.work_max.clone())
    }

    fn unite(&self, sets: Vec<&KeySet>, level: usize, work: &mut usize) -> Option<KeySet> {
        let mut branches: Vec<&Branch> = Vec::with_capacity(sets.len());
        for set in sets {
            match set {
                KeySet::All => return Some(KeySet::All),
                KeySet::Branches(own) => branches.extend(own.iter()),
            }
        }
        if branches.is_empty() {
            return Some(KeySet::none());
        }
        self.spend(branches.len(), work)?;
        let ty = self.types[level];
        branches.sort_by(|a, b| compare_cuts(&a.values.low, &b.values.low, ty));
        let mut joined = Joined::default();
        let mut left = branches.as_slice();
        while let Some((first, _)) = left.split_first() {
            // Those that overlap, directly or through others.
            let mut high = &first.values.high;
            let mut count = 1;
            while let Some(next) = left.get(count)
                && compare_cuts(high, &next.values.low, ty) == Ordering::Greater
            {
                if compare_cuts(high, &next.values.high, ty) == Ordering::Less {
                    high = &next.values.high;
                }
                count += 1;
            }
            let (overlapping, behind) = left.split_at(count);
            if overlapping.iter().all(|b| b.rest.is_same(&first.rest)) {
                joined.push(Interval { low: first.values.low.clone(), high: high.clone() }, first.rest.clone());
            } else {
                self.unite_overlapping(overlapping, level, &mut joined, work)?;
            }
            left = behind;
        }
        Some(joined.into_set())
    }

    /// Cuts overlapping branches, which come by their low ends, where any of them begins or ends.
    fn unite_overlapping(
        &self,
        branches: &[&Branch],
        level: usize,
        joined: &mut Joined,
        work: &mut usize,
    ) -> Option<()> {
        let ty = self.types[level];
        let mut cuts: Vec<(&Cut, isize)> = ends(branches.iter().map(|b| &b.values), ty);
        self.spend(pieces(&cuts, ty), work)?;
        cuts.dedup_by(|a, b| compare_cuts(a.0, b.0, ty) == Ordering::Equal);
        let mut waiting = branches.iter().peekable();
        let mut here: Vec<&Branch> = Vec::new();
        for piece in cuts.windows(2) {
            let (low, high) = (piece[0].0, piece[1].0);
            here.retain(|b| compare_cuts(&b.values.high, low, ty) == Ordering::Greater);
            while let Some(next) = waiting.next_if(|b| compare_cuts(&b.values.low, low, ty) != Ordering::Greater) {
                here.push(next);
            }
            let rest = match here.as_slice() {
                [only] => only.rest.clone(),
                several => self.unite(several.iter().map(|b| &b.rest).collect(), level + 1, work)?,
            };
            joined.push(Interval { low: low.clone(), high: high.clone() }, rest);
        }
        Some(())
    }

    /// The keys in all of the sets, and which of the sets are left out because finding theirs takes too much work.
    pub fn intersection_of(&self, sets: Vec<KeySet>) -> (KeySet, Vec<usize>) {
        // Each branch of a long OR is an AND of two or three conditions, mostly on parts of their own.
        if let [a, b] = sets.as_slice() {
            let [level_a, level_b] = [a, b].map(|set| set.of_one_level().map(|(level, _)| level));
            let (first, second, number) = if level_b < level_a { (b, a, 0) } else { (a, b, 1) };
            if level_a != level_b {
                return match self.intersection(first, second) {
                    Some(both) => (both, Vec::new()),
                    None => (first.clone(), vec![number]),
                };
            }
        }
        // Sets that restrict one part only have a common one, whose intervals take one sweep.
        let mut by_level: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut others: Vec<(KeySet, Vec<usize>)> = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            match set.of_one_level() {
                _ if *set == KeySet::All => {}
                Some((level, _)) => by_level.entry(level).or_default().push(i),
                None => others.push((set.clone(), vec![i])),
            }
        }
        for (level, members) in by_level {
            let lists: Vec<&[Branch]> =
                members.iter().filter_map(|i| sets[*i].of_one_level()).map(|(_, branches)| branches).collect();
            let common = match members.as_slice() {
                [only] => sets[*only].clone(),
                _ => KeySet::of_part(level, common(&lists, self.types.get(level).copied())),
            };
            others.push((common, members));
        }
        self.intersect_by_halves(others)
    }

    /// Counts steps; `None` if there were too many, or the statement has been stopped.
    fn spend(&self, steps: usize, work: &mut usize) -> Option<()> {
        *work = work.checked_sub(steps)?;
        self.interrupt.check().is_ok().then_some(())
    }
}

/// The ends of intervals in order: 1 where one begins, -1 where one ends.
fn ends<'i>(intervals: impl Iterator<Item = &'i Interval>, ty: SqlType) -> Vec<(&'i Cut, isize)> {
    let mut ends: Vec<(&Cut, isize)> = intervals.flat_map(|i| [(&i.low, 1), (&i.high, -1)]).collect();
    ends.sort_by(|a, b| compare_cuts(a.0, b.0, ty));
    ends
}

/// The ends that are at one place.
fn places<'c, 'i>(ends: &'c [(&'i Cut, isize)], ty: SqlType) -> impl Iterator<Item = &'c [(&'i Cut, isize)]> {
    ends.chunk_by(move |a, b| compare_cuts(a.0, b.0, ty) == Ordering::Equal)
}

/// The number of pieces that intervals with these ends are cut into, where each is cut at all ends that are within it.
fn pieces(ends: &[(&Cut, isize)], ty: SqlType) -> usize {
    let (mut open, mut pieces) = (0_usize, 0_usize);
    for place in places(ends, ty) {
        open = place.iter().fold(open, |open, (_, change)| open.saturating_add_signed(*change));
        pieces = pieces.saturating_add(open);
    }
    pieces
}

/// The intervals of values that are in all of the lists, each of which is normalised. `ty`: of the values; `None` for a
/// key without parts, of which there are all keys or none.
fn common(lists: &[&[Branch]], ty: Option<SqlType>) -> Vec<Interval> {
    let Some(ty) = ty else { return Vec::new() };
    let ends = ends(lists.iter().flat_map(|list| list.iter().map(|b| &b.values)), ty);
    let (mut open, mut since) = (0_isize, None);
    let mut common = Vec::new();
    for place in places(&ends, ty) {
        open += place.iter().map(|(_, change)| change).sum::<isize>();
        match (open == lists.len() as isize, since) {
            (true, None) => since = Some(place[0].0),
            (false, Some(low)) => {
                common.push(Interval { low: Cut::clone(low), high: place[0].0.clone() });
                since = None;
            }
            _ => {}
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Interrupt;
    use crate::testing::random::Random;
    use muster_algebra::Value;

    const TYPES: [SqlType; 2] = [SqlType::INT, SqlType::INT];

    /// A set over two parts with values below 8.
    fn random_set(random: &mut Random) -> KeySet {
        let interval = |random: &mut Random| {
            let low = random.below(8) as i64;
            let high = low + random.below(4) as i64;
            match random.below(5) {
                0 => Interval { low: Cut::Start, high: Cut::After(Value::Int(high)) },
                1 => Interval { low: Cut::Before(Value::Int(low)), high: Cut::End },
                2 => Interval::point(Value::Int(low)),
                3 => Interval { low: Cut::After(Value::Int(low)), high: Cut::After(Value::Int(high + 1)) },
                _ => Interval { low: Cut::Before(Value::Int(low)), high: Cut::After(Value::Int(high)) },
            }
        };
        let first = KeySet::of_part(0, vec![interval(random)]);
        let second = KeySet::of_part(1, vec![interval(random)]);
        match random.below(4) {
            0 => first,
            1 => second,
            2 => KeySet::of_part(0, Vec::new()),
            _ => with_rest(&first, &second),
        }
    }

    /// The keys of both sets, of which the first restricts the first part and the second the second part.
    fn with_rest(first: &KeySet, second: &KeySet) -> KeySet {
        let (KeySet::Branches(first), KeySet::Branches(second)) = (first, second) else { return first.clone() };
        let rest = second[0].rest.clone();
        KeySet::Branches(first.iter().map(|b| Branch { values: b.values.clone(), rest: rest.clone() }).collect())
    }

    fn holds(set: &KeySet, key: &[i64]) -> bool {
        let KeySet::Branches(branches) = set else { return true };
        let point = Interval::point(Value::Int(key[0]));
        let within = |i: &Interval| {
            compare_cuts(&i.low, &point.low, TYPES[0]) != Ordering::Greater
                && compare_cuts(&point.high, &i.high, TYPES[0]) != Ordering::Greater
        };
        branches.iter().any(|b| within(&b.values) && holds(&b.rest, &key[1..]))
    }

    #[test]
    fn sweeps_find_the_keys_of_each_set() {
        let interrupt = Interrupt::default();
        let sets = KeySets { types: &TYPES, work_max: 1 << 20, interrupt: &interrupt };
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let list: Vec<KeySet> = (0..1 + random.below(6)).map(|_| random_set(&mut random)).collect();
            let any = sets.union_of(&list).expect("little work");
            let (all, left_out) = sets.intersection_of(list.clone());
            assert!(left_out.is_empty());
            for key in (-1..14).flat_map(|a| (-1..14).map(move |b| [a, b])) {
                assert_eq!(holds(&any, &key), list.iter().any(|set| holds(set, &key)), "{key:?} in any of {list:?}");
                assert_eq!(holds(&all, &key), list.iter().all(|set| holds(set, &key)), "{key:?} in all of {list:?}");
            }
            any.visit(0, &mut |level, interval| assert!(!interval.is_empty(TYPES[level]), "{any:?}"));
        }
    }

    #[test]
    fn nested_intervals_with_other_keys_behind_take_too_much_work() {
        let interrupt = Interrupt::default();
        let sets = KeySets { types: &TYPES, work_max: 20_000, interrupt: &interrupt };
        let below = |i: i64| KeySet::of_part(0, vec![Interval { low: Cut::Start, high: Cut::Before(Value::Int(i)) }]);
        let nested = |i: i64| with_rest(&below(i), &KeySet::of_part(1, vec![Interval::point(Value::Int(i))]));
        assert!(sets.union_of(&(0..100).map(nested).collect::<Vec<_>>()).is_some());
        assert!(sets.union_of(&(0..1000).map(nested).collect::<Vec<_>>()).is_none());
        assert!(sets.union_of(&(0..1000).map(below).collect::<Vec<_>>()).is_some(), "one interval");
    }
}
