//! What share of a table's rows has certain values in a column.

use super::{RANGE_SHARE, SMALLEST_SHARE};
use crate::intervals::{Cut, Interval};
use muster_algebra::{SqlType, Value};
use muster_types::{distribution::Histogram, order};
use std::cmp::Ordering;
use std::sync::Arc;

/// Places at which two columns are compared to find out how often one is below the other.
const PLACES: usize = 16;

/// What is known of a column's values.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnEstimate {
    /// Number of distinct values, NULL not counted; at least 1.
    pub distinct: f64,
    /// Share of rows that are NULL, 0 to 1.
    pub null_share: f64,
    /// Smallest and largest value.
    pub range: Option<(Value, Value)>,
    /// The type of a table's column.
    pub ty: Option<SqlType>,
    /// Rows of the table it comes from.
    pub rows: f64,
    /// Share of these rows that may lie outside of `range`: they came or changed later.
    pub changed_share: f64,
    pub histogram: Option<Arc<Histogram>>,
    /// The sample that has the column, and its position there.
    pub(super) sampled: Option<(usize, usize)>,
}

/// A bound of an interval: its value, and whether the interval has it. `None`: no bound.
type Bound<'a> = Option<(&'a Value, bool)>;

impl ColumnEstimate {
    /// A computed column of which the number of distinct values is known, and nothing else.
    pub fn of_distinct(distinct: f64) -> ColumnEstimate {
        ColumnEstimate {
            distinct: distinct.max(1.0),
            null_share: 0.0,
            range: None,
            ty: None,
            rows: distinct,
            changed_share: 0.0,
            histogram: None,
            sampled: None,
        }
    }

    /// Share of the rows that are not NULL.
    pub fn known_share(&self) -> f64 {
        1.0 - self.null_share
    }

    /// Share of the rows whose value is in one of these normalised intervals, 0 to 1.
    pub fn share(&self, intervals: &[Interval]) -> f64 {
        if let Some(gaps) = gaps(intervals) {
            // All values but a few.
            let without: f64 = gaps.map(|value| self.equal(value)).sum();
            return (self.known_share() - without).max(0.0);
        }
        intervals.iter().map(|interval| self.interval(interval)).sum::<f64>().min(1.0)
    }

    /// Number of distinct values in these normalised intervals, NULL not counted.
    pub fn distinct_within(&self, intervals: &[Interval]) -> f64 {
        let is_point = |interval: &&Interval| self.ty.is_some_and(|ty| interval.as_point(ty).is_some());
        let (points, ranges): (Vec<&Interval>, Vec<&Interval>) = intervals.iter().partition(is_point);
        let ranges: Vec<Interval> = ranges.into_iter().cloned().collect();
        let points = points.into_iter().filter(|point| point.low != Cut::Before(Value::Null)).count() as f64;
        let share = if ranges.is_empty() { 0.0 } else { self.share(&ranges) };
        points + self.distinct * (share / self.known_share().max(SMALLEST_SHARE)).min(1.0)
    }

    fn interval(&self, interval: &Interval) -> f64 {
        let is_null = |cut: &Cut| matches!(cut, Cut::Before(Value::Null) | Cut::After(Value::Null));
        if interval.high == Cut::Before(Value::Null) {
            return 0.0;
        }
        let nulls = match interval.low {
            Cut::Start | Cut::Before(Value::Null) => self.null_share,
            _ => 0.0,
        };
        if is_null(&interval.high) {
            return nulls;
        }
        if let (Cut::Before(low), Cut::After(high), Some(ty)) = (&interval.low, &interval.high, self.ty)
            && order::compare(low, high, ty) == Some(Ordering::Equal)
        {
            return self.equal(low);
        }
        let low = match &interval.low {
            cut if is_null(cut) => None,
            Cut::Before(value) => Some((value, true)),
            Cut::After(value) => Some((value, false)),
            Cut::Start | Cut::End => None,
        };
        let high = match &interval.high {
            Cut::Before(value) => Some((value, false)),
            Cut::After(value) => Some((value, true)),
            Cut::Start | Cut::End => None,
        };
        nulls + self.between(low, high)
    }

    /// Share of the rows between two bounds.
    fn between(&self, low: Bound<'_>, high: Bound<'_>) -> f64 {
        if low.is_none() && high.is_none() {
            return self.known_share();
        }
        // One value at least is in the range of a predicate that somebody asks.
        let one_value = (self.known_share() / self.distinct).min(self.known_share());
        let inside = match (&self.histogram, self.range.is_some()) {
            (Some(histogram), _) => {
                let below = |bound: Bound<'_>, all: f64, is_low: bool| {
                    bound.map_or(all, |(value, has_it)| histogram.share_below(value, has_it != is_low))
                };
                below(high, histogram.known_share(), false) - below(low, 0.0, true)
            }
            (None, true) => {
                let place = |bound: Bound<'_>, at_end| bound.map_or(Some(at_end), |(value, _)| self.place(value));
                match (place(low, 0.0), place(high, 1.0)) {
                    (Some(low), Some(high)) => (high - low).max(0.0) * self.known_share(),
                    _ => self.unknown_range(low, high),
                }
            }
            (None, false) => return self.unknown_range(low, high),
        };
        let least = if self.histogram.is_some() && self.is_apart(low, high) { SMALLEST_SHARE } else { one_value };
        (inside + self.beyond(low, high) * self.known_share()).clamp(least.min(self.known_share()), self.known_share())
    }

    /// Returns true if all values lie below or above a range.
    fn is_apart(&self, low: Bound<'_>, high: Bound<'_>) -> bool {
        let (Some((min, max)), Some(ty)) = (&self.range, self.ty) else { return false };
        let is = |bound: Bound<'_>, of: &Value, wanted| {
            bound.is_some_and(|(value, _)| order::compare(value, of, ty) == Some(wanted))
        };
        is(low, max, Ordering::Greater) || is(high, min, Ordering::Less)
    }

    /// Share of the rows in a range of which nothing is known but how many ends it has.
    fn unknown_range(&self, low: Bound<'_>, high: Bound<'_>) -> f64 {
        let ends = i32::from(low.is_some()) + i32::from(high.is_some());
        RANGE_SHARE.powi(ends) * self.known_share()
    }

    /// Place of a value between the smallest and the largest, 0 to 1.
    fn place(&self, value: &Value) -> Option<f64> {
        let (min, max) = self.range.as_ref()?;
        match (order::number(value), order::number(min), order::number(max)) {
            // A value of another type.
            (Some(at), Some(min), Some(max)) => {
                let width = (max - min).max(f64::MIN_POSITIVE);
                Some(((at - min) / width).clamp(0.0, 1.0))
            }
            _ => order::place(value, min, max, self.ty?),
        }
    }

    /// Share of the rows that have this value.
    pub fn equal(&self, value: &Value) -> f64 {
        if value.is_null() {
            return self.null_share;
        }
        let one = self.known_share() / self.distinct;
        if self.is_outside(value) {
            return one.min(self.changed_share).max(SMALLEST_SHARE);
        }
        let Some(histogram) = &self.histogram else { return one };
        if let Some(share) = histogram.share_equal(value) {
            return share;
        }
        // No row that was read has it.
        if histogram.sampling_rate >= 1.0 {
            return one.min(self.changed_share).max(SMALLEST_SHARE);
        }
        let (count, share) = histogram.common().fold((0.0, 0.0), |(count, sum), (_, share)| (count + 1.0, sum + share));
        let rest = (self.known_share() - share).max(0.0) / (self.distinct - count).max(1.0);
        rest.min(one).max(SMALLEST_SHARE)
    }

    /// Returns true if a value is below the smallest one or above the largest.
    fn is_outside(&self, value: &Value) -> bool {
        let (Some((min, max)), Some(ty)) = (&self.range, self.ty) else { return false };
        match (order::number(value), order::number(min), order::number(max)) {
            (Some(at), Some(min), Some(max)) => at < min || at > max,
            _ => {
                order::compare(value, min, ty) == Some(Ordering::Less)
                    || order::compare(value, max, ty) == Some(Ordering::Greater)
            }
        }
    }

    /// Share of the rows between two bounds that came or changed since the column's range was found out. They are taken
    /// to follow the largest value as closely as the others follow each other, as those with growing keys do; for an
    /// interval with none of the values that were known, to be all there.
    fn beyond(&self, low: Bound<'_>, high: Bound<'_>) -> f64 {
        let changed = self.changed_share;
        let Some((min, max)) = self.range.as_ref().filter(|_| changed > 0.0) else { return 0.0 };
        let compared =
            |bound: Bound<'_>, with: &Value| bound.and_then(|(value, _)| order::compare(value, with, self.ty?));
        if compared(low, max) == Some(Ordering::Greater) || compared(high, min) == Some(Ordering::Less) {
            return changed;
        }
        let above = high.is_none() || compared(high, max) == Some(Ordering::Greater);
        if !above {
            return 0.0;
        }
        let number = |bound: Bound<'_>| bound.and_then(|(value, _)| order::number(value));
        let (Some(min), Some(max), Some(high)) = (order::number(min), order::number(max), number(high)) else {
            return changed;
        };
        let grown = (max - min) * changed / (1.0 - changed).max(f64::EPSILON);
        changed * ((high - max) / grown.max(f64::MIN_POSITIVE)).min(1.0)
    }

    /// Share of pairs of rows of which this column's value is below the other's, if both have a number line.
    pub fn share_below(&self, other: &ColumnEstimate) -> Option<f64> {
        let (min, max) = self.range.as_ref()?;
        let (low, high) = (order::number(min)?, order::number(max)?);
        let (other_min, other_max) = other.range.as_ref()?;
        let (other_low, other_high) = (order::number(other_min)?, order::number(other_max)?);
        let width = (other_high - other_low).max(f64::MIN_POSITIVE);
        let above = |at: f64| ((other_high - at) / width).clamp(0.0, 1.0);
        let step = (high - low) / PLACES as f64;
        let share = (0..PLACES).map(|i| above(low + step * (i as f64 + 0.5))).sum::<f64>() / PLACES as f64;
        Some(share * self.known_share() * other.known_share())
    }

    /// Mean and variance of the values, on the line of [`order::number`].
    pub fn spread(&self) -> Option<(f64, f64)> {
        if let Some(spread) = self.histogram.as_ref().and_then(|h| h.spread()) {
            return Some(spread);
        }
        let (min, max) = self.range.as_ref()?;
        let (min, max) = (order::number(min)?, order::number(max)?);
        Some(((min + max) / 2.0, (max - min) * (max - min) / 12.0))
    }
}

/// The values that are left out, if the intervals are all values but NULL and some single ones.
fn gaps(intervals: &[Interval]) -> Option<impl Iterator<Item = &Value>> {
    // Nothing lies below NULL.
    let below = usize::from(intervals.first()?.high == Cut::Before(Value::Null));
    let intervals = &intervals[below..];
    let (first, last) = (intervals.first()?, intervals.last()?);
    let is_all = intervals.len() > 1 && first.low == Cut::After(Value::Null) && last.high == Cut::End;
    let gap = |pair: &'_ [Interval]| matches!((&pair[0].high, &pair[1].low), (Cut::Before(a), Cut::After(b)) if a == b);
    (is_all && intervals.windows(2).all(gap)).then(|| {
        intervals[..intervals.len() - 1].iter().filter_map(|interval| match &interval.high {
            Cut::Before(value) => Some(value),
            _ => None,
        })
    })
}
