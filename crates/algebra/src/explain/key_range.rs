//! Which part of an index a scan reads, as text: `(a = 1 AND 5 <= b < 9) OR (a = 2)`.

use crate::Scan;
use muster_types::{KeyRange, Value};
use std::ops::Bound;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Nothing,
    All,
    /// One whole key of a unique index.
    Row,
    /// Keys with these leading values.
    Lookup,
    Range,
}

pub(super) fn access(scan: &Scan) -> Access {
    let index = &scan.table.indexes[scan.index];
    match scan.ranges.as_slice() {
        [] => Access::Nothing,
        [range] => match fixed_values(range) {
            Some([]) => Access::All,
            // NULLs are never duplicates of each other.
            Some(values) if index.unique && values.len() == index.parts.len() && !values.contains(&Value::Null) => {
                Access::Row
            }
            Some(_) => Access::Lookup,
            None if *range == KeyRange::all() => Access::All,
            None => Access::Range,
        },
        _ => Access::Range,
    }
}

/// The leading values, when a range is all keys that begin with them.
fn fixed_values(range: &KeyRange) -> Option<&[Value]> {
    match (&range.lower, &range.upper) {
        (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
        _ => None,
    }
}

pub(super) fn ranges_text(scan: &Scan) -> String {
    /// More than these are only counted.
    const SHOWN_MAX: usize = 8;
    let mut texts: Vec<String> =
        scan.ranges.iter().take(SHOWN_MAX).map(|r| format!("({})", range_text(scan, r))).collect();
    if scan.ranges.len() > SHOWN_MAX {
        texts.push(format!("({} more)", scan.ranges.len() - SHOWN_MAX));
    }
    texts.join(" OR ")
}

fn values(bound: &Bound<Vec<Value>>) -> (&[Value], bool) {
    match bound {
        Bound::Included(v) => (v, true),
        Bound::Excluded(v) => (v, false),
        Bound::Unbounded => (&[], true),
    }
}

fn range_text(scan: &Scan, range: &KeyRange) -> String {
    let parts = &scan.table.indexes[scan.index].parts;
    let name = |i: usize| match parts.get(i) {
        Some(part) => scan.table.columns[part.column].name.clone(),
        // Behind a secondary key comes the primary key.
        None => format!("part {}", i + 1),
    };
    let ((lower, lower_in), (upper, upper_in)) = (values(&range.lower), values(&range.upper));
    let mut terms = Vec::new();
    // What both bounds begin with is fixed; an excluded bound still says something with its last value.
    let limit =
        [(lower, lower_in), (upper, upper_in)].map(|(v, included)| v.len() - (!included && !v.is_empty()) as usize);
    let same = (0..limit[0].min(limit[1])).take_while(|i| lower[*i] == upper[*i]).count();
    terms.extend((0..same).map(|i| format!("{} = {}", name(i), lower[i])));
    let (lower, upper) = (&lower[same..], &upper[same..]);
    if lower.len() <= 1 && upper.len() <= 1 {
        let descending = parts.get(same).is_some_and(|p| p.descending);
        let sign = |included: bool| if included { "<=" } else { "<" };
        let mut low = lower.first().map(|v| (v, sign(lower_in)));
        let mut high = upper.first().map(|v| (v, sign(upper_in)));
        if descending {
            std::mem::swap(&mut low, &mut high);
        }
        if low.is_some() || high.is_some() {
            let low = low.map(|(v, sign)| format!("{v} {sign} ")).unwrap_or_default();
            let high = high.map(|(v, sign)| format!(" {sign} {v}")).unwrap_or_default();
            terms.push(format!("{low}{}{high}", name(same)));
        }
    } else {
        // In the order of the keys, of several parts at once.
        let mut row = |bound: &[Value], sign: &str| {
            if !bound.is_empty() {
                let names: Vec<String> = (same..same + bound.len()).map(name).collect();
                let values: Vec<String> = bound.iter().map(Value::to_string).collect();
                terms.push(format!("({}) {sign} ({})", names.join(","), values.join(",")));
            }
        };
        row(lower, if lower_in { ">=" } else { ">" });
        row(upper, if upper_in { "<=" } else { "<" });
    }
    terms.join(" AND ")
}
