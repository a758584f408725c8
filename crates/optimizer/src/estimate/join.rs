//! How many pairs of rows have equal values in two columns.
//!
//! Values that are common on one side are looked for on the other (`eqjoinsel` of PostgreSQL, "Row Estimation
//! Examples"); of the rest each value of the side with fewer values is taken to be on the other.

use super::column::ColumnEstimate;
use muster_algebra::Value;
use muster_types::order;
use std::cmp::Ordering;

/// The factor by which two columns have more pairs of equal values than their numbers of distinct values tell: 1 unless
/// both sides know common values. NULL equals nothing.
pub fn skew(a: &ColumnEstimate, b: &ColumnEstimate) -> f64 {
    let (Some(left), Some(right), Some(ty)) = (&a.histogram, &b.histogram, a.ty) else { return 1.0 };
    if a.ty != b.ty {
        return 1.0;
    }
    let (left, right): (Vec<(&Value, f64)>, Vec<(&Value, f64)>) = (left.common().collect(), right.common().collect());
    if left.is_empty() && right.is_empty() {
        return 1.0;
    }
    // Both ascend.
    let (mut i, mut j, mut both, mut matched) = (0, 0, 0.0, 0.0);
    let (mut of_left, mut of_right) = (0.0, 0.0);
    while let (Some((x, p)), Some((y, q))) = (left.get(i), right.get(j)) {
        match order::compare(x, y, ty) {
            Some(Ordering::Less) => i += 1,
            Some(Ordering::Greater) => j += 1,
            _ => {
                both += p * q;
                of_left += p;
                of_right += q;
                matched += 1.0;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    let sum = |list: &[(&Value, f64)]| list.iter().map(|(_, share)| share).sum::<f64>();
    let side = |own: &ColumnEstimate, own_common: &[(&Value, f64)], own_matched: f64, other: (f64, f64, f64)| {
        // The other side: its rows that are not common, its common ones without a partner, its values.
        let (rest, lonely, distinct) = other;
        let common = sum(own_common);
        let own_lonely = common - own_matched;
        let own_rest = (own.known_share() - common).max(0.0);
        let values = |taken: f64| (distinct - taken).max(1.0);
        both + own_lonely * rest / values(own_common.len() as f64) + own_rest * (rest + lonely) / values(matched)
    };
    let described = |column: &ColumnEstimate, common: &[(&Value, f64)], matched: f64| {
        let all = sum(common);
        ((column.known_share() - all).max(0.0), (all - matched).max(0.0), column.distinct)
    };
    let share = side(a, &left, of_left, described(b, &right, of_right)).min(side(
        b,
        &right,
        of_right,
        described(a, &left, of_left),
    ));
    // A histogram may be older than the number of NULLs, which equal nothing.
    let share = share.min(a.known_share()).min(b.known_share());
    let even = a.known_share() * b.known_share() / a.distinct.max(b.distinct).max(1.0);
    if even <= 0.0 { 1.0 } else { (share / even).max(1e-6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::{SqlType, distribution::Histogram};
    use std::sync::Arc;

    #[test]
    fn no_more_pairs_are_expected_than_rows_have_values() {
        // The histogram is of a time at which no row was NULL.
        let histogram = Histogram::new(SqlType::INT, &[(Value::Int(5), 100)], 0, 10).map(Arc::new);
        let known = ColumnEstimate { ty: Some(SqlType::INT), histogram, ..ColumnEstimate::of_distinct(1.0) };
        let with_nulls = ColumnEstimate { null_share: 0.1, ..known.clone() };
        let share = |a: &ColumnEstimate, b: &ColumnEstimate| skew(a, b) * a.known_share() * b.known_share();
        assert!((share(&known, &known) - 1.0).abs() < 1e-9);
        assert!(share(&with_nulls, &with_nulls) <= 0.9 + 1e-9);
        assert!(share(&known, &with_nulls) <= 0.9 + 1e-9);
    }
}
