//! Intervals of one column's values, and those that a condition leaves.
//!
//! ```text
//!   Interval, Cut   values between two cuts                  this file
//!   ColumnValues    the values that a condition is TRUE for  column_values.rs
//!   Part            the same in one part of a key            part_values.rs
//! ```
//!
//! An interval lies between two cuts, and a cut lies between values: so `<= 5` and `> 5` meet at one cut, and an
//! interval is empty exactly if its cuts are not in order.

pub mod column_values;
pub mod part_values;

use muster_algebra::{SqlType, Value};
use muster_types::order;
use std::cmp::Ordering;

/// A position in the order of a column's values, NULL below all others. For text, [`Value::Bytes`] is a sort key or the
/// beginning of one, as in [`muster_algebra::KeyRange`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    Start,
    Before(Value),
    After(Value),
    End,
}

/// The values between two cuts.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    pub low: Cut,
    pub high: Cut,
}

impl Interval {
    pub const ALL: Interval = Interval { low: Cut::Start, high: Cut::End };
    pub const NOT_NULL: Interval = Interval { low: Cut::After(Value::Null), high: Cut::End };

    pub fn point(value: Value) -> Interval {
        Interval { low: Cut::Before(value.clone()), high: Cut::After(value) }
    }

    /// The only value, if there is just one.
    pub fn as_point(&self, ty: SqlType) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Cut::Before(a), Cut::After(b)) if compare_values(a, b, ty) == Ordering::Equal => Some(a),
            _ => None,
        }
    }

    pub fn is_empty(&self, ty: SqlType) -> bool {
        compare_cuts(&self.low, &self.high, ty) != Ordering::Less
    }
}

/// Returns true if a value can be in a cut of a column of this type; all others that can compare with it.
pub fn is_ordered(value: &Value, ty: SqlType) -> bool {
    order::compare(value, value, ty).is_some()
}

fn compare_values(a: &Value, b: &Value, ty: SqlType) -> Ordering {
    order::compare(a, b, ty).expect("values of one type, each of which compares with itself")
}

pub fn compare_cuts(a: &Cut, b: &Cut, ty: SqlType) -> Ordering {
    match (a, b) {
        (Cut::Start, Cut::Start) | (Cut::End, Cut::End) => Ordering::Equal,
        (Cut::Start, _) | (_, Cut::End) => Ordering::Less,
        (_, Cut::Start) | (Cut::End, _) => Ordering::Greater,
        (Cut::Before(x), Cut::Before(y)) | (Cut::After(x), Cut::After(y)) => compare_values(x, y, ty),
        (Cut::Before(x), Cut::After(y)) => compare_values(x, y, ty).then(Ordering::Less),
        (Cut::After(x), Cut::Before(y)) => compare_values(x, y, ty).then(Ordering::Greater),
    }
}

/// The later of two cuts.
pub fn max_cut(a: Cut, b: Cut, ty: SqlType) -> Cut {
    if compare_cuts(&a, &b, ty) == Ordering::Less { b } else { a }
}

/// Returns ascending, disjoint and non-empty intervals of the same values.
pub fn normalised(mut intervals: Vec<Interval>, ty: SqlType) -> Vec<Interval> {
    intervals.retain(|i| !i.is_empty(ty));
    intervals.sort_by(|a, b| compare_cuts(&a.low, &b.low, ty));
    let mut result: Vec<Interval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match result.last_mut() {
            Some(last) if compare_cuts(&last.high, &next.low, ty) != Ordering::Less => {
                let high = std::mem::replace(&mut last.high, Cut::End);
                last.high = max_cut(high, next.high, ty);
            }
            _ => result.push(next),
        }
    }
    result
}

/// Returns the intervals of all values that are in none of these normalised intervals.
pub fn complement(intervals: &[Interval]) -> Vec<Interval> {
    let mut result = Vec::with_capacity(intervals.len() + 1);
    let mut low = Cut::Start;
    for interval in intervals {
        if interval.low != Cut::Start {
            result.push(Interval { low, high: interval.low.clone() });
        }
        low = interval.high.clone();
    }
    if low != Cut::End {
        result.push(Interval { low, high: Cut::End });
    }
    result
}

/// The values that are in both of two normalised lists of intervals.
pub fn intersection(a: &[Interval], b: &[Interval], ty: SqlType) -> Vec<Interval> {
    let (mut common, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let low = max_cut(x.low.clone(), y.low.clone(), ty);
        let x_ends_first = compare_cuts(&x.high, &y.high, ty) == Ordering::Less;
        let high = if x_ends_first { &x.high } else { &y.high };
        let both = Interval { low, high: high.clone() };
        if !both.is_empty(ty) {
            common.push(both);
        }
        if x_ends_first { i += 1 } else { j += 1 }
    }
    common
}
