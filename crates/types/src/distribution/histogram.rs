//! Equi-height histograms (MySQL manual, "Optimizer Statistics").
//!
//! A bucket holds whole values only, so a value that is more frequent than a bucket is high has one of its own: the
//! common values of a column are the buckets of one value. With no more values than buckets each value has its own.

use crate::{SqlType, Value, order};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Steps of the search for the height of buckets (`equi_height.cc` of MySQL 8.0 makes as many).
const SEARCH_STEPS: usize = 10;

/// A value that no more rows of a sample have may be there so often by chance.
const COMMON_ROWS: f64 = 10.0;

/// Neighbouring values of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// The least and the greatest value, both inclusive.
    pub lower: Value,
    pub upper: Value,
    /// Share of all rows, those with NULL among them, whose value is not above `upper`, 0 to 1.
    pub until: f64,
    /// Number of distinct values.
    pub distinct: f64,
}

/// The values of one column. All shares are of all rows, those with NULL among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    pub ty: SqlType,
    /// Ascending and disjoint.
    pub buckets: Vec<Bucket>,
    /// Share of the rows that are NULL, 0 to 1.
    pub null_share: f64,
    /// Share of the table's rows that were read for it, 0 to 1.
    pub sampling_rate: f64,
    /// The number of buckets that a statement has asked for; `None`: made of a sample by itself.
    pub specified: Option<usize>,
    /// Microseconds since 1970-01-01 UTC; 0 if made of a sample by itself.
    pub updated: i64,
}

impl Bucket {
    /// Returns true if the bucket holds one value and no others.
    pub fn is_single(&self, ty: SqlType) -> bool {
        self.distinct <= 1.0 && order::compare(&self.lower, &self.upper, ty) == Some(Ordering::Equal)
    }
}

impl Histogram {
    /// `values`: ascending and distinct, each with its number of rows; NULL is not among them. `buckets_max`: at least
    /// 1. `None` without any row.
    pub fn new(ty: SqlType, values: &[(Value, u64)], nulls: u64, buckets_max: usize) -> Option<Histogram> {
        let rows = values.iter().map(|(_, count)| count).sum::<u64>() + nulls;
        if rows == 0 {
            return None;
        }
        let share = |count: u64| count as f64 / rows as f64;
        let height = match values.len() <= buckets_max {
            true => 0,
            false => bucket_height(values, buckets_max),
        };
        let mut buckets: Vec<Bucket> = Vec::new();
        let (mut first, mut in_bucket, mut until) = (0, 0, 0);
        for (at, (value, count)) in values.iter().enumerate() {
            in_bucket += count;
            until += count;
            if values.get(at + 1).is_some_and(|(_, next)| in_bucket + next <= height) {
                continue;
            }
            buckets.push(Bucket {
                lower: values[first].0.clone(),
                upper: value.clone(),
                until: share(until),
                distinct: (at + 1 - first) as f64,
            });
            (first, in_bucket) = (at + 1, 0);
        }
        let null_share = share(nulls);
        Some(Histogram { ty, buckets, null_share, sampling_rate: 1.0, specified: None, updated: 0 })
    }

    /// The histogram of a sample of so many rows, for a column that has so many distinct values. Those that the sample
    /// has not seen are spread over the buckets of more than one value, and over those whose one value may be as rare
    /// as the others.
    pub fn with_distinct(mut self, distinct: f64, sample_rows: f64) -> Histogram {
        let ty = self.ty;
        let mut before = 0.0;
        let is_common: Vec<bool> = self
            .buckets
            .iter()
            .map(|bucket| {
                let rows = (bucket.until - before) * sample_rows;
                before = bucket.until;
                bucket.is_single(ty) && rows > COMMON_ROWS
            })
            .collect();
        let common = is_common.iter().filter(|is_common| **is_common).count() as f64;
        let others = || self.buckets.iter().zip(&is_common).filter(|(_, is_common)| !**is_common);
        let seen: f64 = others().map(|(bucket, _)| bucket.distinct).sum();
        let factor = ((distinct - common) / seen).max(1.0);
        if seen > 0.0 && factor.is_finite() {
            let others = self.buckets.iter_mut().zip(&is_common).filter(|(_, is_common)| !**is_common);
            others.for_each(|(bucket, _)| bucket.distinct *= factor);
        }
        self
    }

    /// Returns true if each bucket holds one value: MySQL's "singleton".
    pub fn is_singleton(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.is_single(self.ty))
    }

    /// Share of the rows that are not NULL.
    pub fn known_share(&self) -> f64 {
        self.buckets.last().map_or(0.0, |last| last.until)
    }

    /// The first bucket that does not end below a value.
    fn bucket_of(&self, value: &Value) -> usize {
        let below = |bucket: &Bucket| order::compare(&bucket.upper, value, self.ty) == Some(Ordering::Less);
        self.buckets.partition_point(below)
    }

    fn share_before(&self, bucket: usize) -> f64 {
        bucket.checked_sub(1).map_or(0.0, |before| self.buckets[before].until)
    }

    /// Share of the rows whose value is below this one, or equal to it if that is `inclusive`.
    pub fn share_below(&self, value: &Value, inclusive: bool) -> f64 {
        let at = self.bucket_of(value);
        let Some(bucket) = self.buckets.get(at) else { return self.known_share() };
        let (before, share) = (self.share_before(at), bucket.until - self.share_before(at));
        let at_upper = order::compare(value, &bucket.upper, self.ty) == Some(Ordering::Equal);
        if at_upper {
            let one = if inclusive { 0.0 } else { share / bucket.distinct.max(1.0) };
            return bucket.until - one;
        }
        match order::compare(value, &bucket.lower, self.ty) {
            Some(Ordering::Less) => before,
            Some(Ordering::Equal) => before + if inclusive { share / bucket.distinct.max(1.0) } else { 0.0 },
            _ => before + share * order::place(value, &bucket.lower, &bucket.upper, self.ty).unwrap_or(0.5),
        }
    }

    /// Share of the rows whose value equals this one; `None` if it lies between buckets or outside of all, so that no
    /// row that was read has it.
    pub fn share_equal(&self, value: &Value) -> Option<f64> {
        let at = self.bucket_of(value);
        let bucket = self.buckets.get(at)?;
        let is_inside = order::compare(&bucket.lower, value, self.ty)? != Ordering::Greater;
        is_inside.then(|| (bucket.until - self.share_before(at)) / bucket.distinct.max(1.0))
    }

    /// Values that have a bucket of their own, each with its share of the rows.
    pub fn common(&self) -> impl Iterator<Item = (&Value, f64)> {
        self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.is_single(self.ty)).map(|(at, bucket)| {
            let share = bucket.until - self.share_before(at);
            (&bucket.lower, share)
        })
    }

    /// Mean and variance of the values that are numbers, dates or times, on the line of [`order::number`].
    pub fn spread(&self) -> Option<(f64, f64)> {
        let known = self.known_share();
        let (mut sum, mut squares) = (0.0, 0.0);
        for (at, bucket) in self.buckets.iter().enumerate() {
            let share = (bucket.until - self.share_before(at)) / known;
            let (low, high) = (order::number(&bucket.lower)?, order::number(&bucket.upper)?);
            // The values are taken for evenly spread within the bucket.
            sum += share * (low + high) / 2.0;
            squares += share * (low * low + low * high + high * high) / 3.0;
        }
        (known > 0.0).then(|| (sum, (squares - sum * sum).max(0.0)))
    }

    /// Returns true if the buckets are in order and the shares are shares.
    pub fn is_sound(&self) -> bool {
        let is_share = |share: f64| (-1e-9..=1.0 + 1e-9).contains(&share);
        let in_order = |a: &Value, b: &Value| order::compare(a, b, self.ty).is_some_and(Ordering::is_le);
        let pairs = self.buckets.windows(2);
        is_share(self.null_share)
            && self.buckets.iter().all(|b| is_share(b.until) && b.distinct >= 1.0 && in_order(&b.lower, &b.upper))
            && pairs.into_iter().all(|p| p[0].until <= p[1].until && in_order(&p[0].upper, &p[1].lower))
    }
}

/// The least height at which the values fit into so many buckets, about.
fn bucket_height(values: &[(Value, u64)], buckets_max: usize) -> u64 {
    let all: u64 = values.iter().map(|(_, count)| count).sum();
    if buckets_max <= 1 {
        return all;
    }
    let (mut low, mut high) = (0, 2 * all / (buckets_max as u64 - 1) + 1);
    for _ in 0..SEARCH_STEPS {
        if high <= low + 1 {
            break;
        }
        let middle = (low + high) / 2;
        match fits(values, middle, buckets_max) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

fn fits(values: &[(Value, u64)], height: u64, buckets_max: usize) -> bool {
    let (mut buckets, mut in_bucket) = (1, 0);
    for (_, count) in values {
        if in_bucket > 0 && in_bucket + count > height {
            buckets += 1;
            in_bucket = 0;
        }
        in_bucket += count;
    }
    buckets <= buckets_max
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[(i64, u64)], nulls: u64, buckets: usize) -> Histogram {
        let values: Vec<(Value, u64)> = counts.iter().map(|(v, n)| (Value::Int(*v), *n)).collect();
        Histogram::new(SqlType::INT, &values, nulls, buckets).expect("rows")
    }

    #[test]
    fn frequent_values_have_buckets_of_their_own() {
        // Half of the rows have 500; each other number of 0 to 999 has one.
        let counts: Vec<(i64, u64)> = (0..1000).map(|v| (v, if v == 500 { 999 } else { 1 })).collect();
        let h = of(&counts, 0, 100);
        assert!(h.buckets.len() <= 100 && h.is_sound());
        let half = 999.0 / 1998.0;
        assert_eq!(h.share_equal(&Value::Int(500)), Some(half));
        assert_eq!(h.common().collect::<Vec<_>>(), [(&Value::Int(500), half)]);
        assert!((h.share_equal(&Value::Int(3)).unwrap() - 1.0 / 1998.0).abs() < 1e-9);
        assert_eq!(h.share_equal(&Value::Int(1000)), None);
        let below = |v, inclusive| h.share_below(&Value::Int(v), inclusive);
        assert!((below(250, false) - 250.0 / 1998.0).abs() < 0.002, "{}", below(250, false));
        assert!((below(500, true) - below(500, false) - half).abs() < 1e-9);
        assert_eq!((below(-1, true), below(5000, false)), (0.0, 1.0));
    }

    #[test]
    fn nulls_and_few_values() {
        let h = of(&[(1, 5), (2, 15)], 80, 16);
        assert!(h.is_singleton());
        assert_eq!((h.null_share, h.known_share()), (0.8, 0.2));
        assert!((h.share_equal(&Value::Int(2)).unwrap() - 0.15).abs() < 1e-12);
        assert!((h.share_below(&Value::Int(2), false) - 0.05).abs() < 1e-12);
        let all_null = of(&[], 7, 16);
        assert_eq!((all_null.known_share(), all_null.share_equal(&Value::Int(1))), (0.0, None));
        assert!(Histogram::new(SqlType::INT, &[], 0, 16).is_none());
    }

    #[test]
    fn what_a_sample_has_not_seen_is_spread_over_the_buckets() {
        let counts: Vec<(i64, u64)> = (0..600).map(|v| (v, 1)).collect();
        let h = of(&counts, 0, 100).with_distinct(6000.0, 600.0);
        assert!((h.share_equal(&Value::Int(77)).unwrap() - 1.0 / 6000.0).abs() < 1e-4);
        let (mean, variance) = of(&counts, 0, 100).spread().expect("numbers");
        assert!((mean - 299.5).abs() < 1.0 && (variance - 30_000.0).abs() < 600.0, "{mean} {variance}");
    }
}
