//! The part of an index that a scan reads, as text: `(a = 1 AND 5 <= b < 9) OR (a = 2)`.

use muster_algebra::{Scan, TableDef};
use muster_types::{KeyInterval, KeyPart, KeyRange, SqlType, Value};
use std::ops::Bound;

/// More ranges or intervals than these are only counted.
const SHOWN_MAX: usize = 8;

/// Ranges of an index, each as text.
pub fn range_texts(table: &TableDef, index: usize, ranges: &[KeyRange]) -> Vec<String> {
    let parts = Parts::of(table, index);
    ranges.iter().map(|range| range_text(&parts, range)).collect()
}

pub fn ranges_text(scan: &Scan) -> String {
    let parts = Parts::of(&scan.table, scan.index);
    let mut texts: Vec<String> =
        scan.ranges.iter().take(SHOWN_MAX).map(|r| format!("({})", range_text(&parts, r))).collect();
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

/// The parts of a key, and what they are called.
struct Parts<'a> {
    table: &'a TableDef,
    parts: Vec<KeyPart>,
}

impl Parts<'_> {
    fn of(table: &TableDef, index: usize) -> Parts<'_> {
        Parts { table, parts: table.key_parts(index) }
    }

    fn name(&self, i: usize) -> String {
        match self.parts.get(i) {
            Some(part) => self.table.columns[part.column].name.clone(),
            None => format!("part {}", i + 1),
        }
    }

    /// A value of a part: of an ENUM its text.
    fn value(&self, i: usize, value: &Value) -> String {
        let ty = self.parts.get(i).map(|part| self.table.columns[part.column].ty);
        match ty {
            Some(ty @ (SqlType::Enum(_) | SqlType::Set(_))) => ty.shown(value).unwrap_or(Value::Null).to_string(),
            _ => value.to_string(),
        }
    }

    /// `5 <= a < 9`: bounds in the order of the key.
    fn interval(&self, i: usize, lower: Bound<&Value>, upper: Bound<&Value>) -> String {
        if let (Bound::Included(a), Bound::Included(b)) = (lower, upper)
            && a == b
        {
            return format!("{} = {}", self.name(i), self.value(i, a));
        }
        let descending = self.parts.get(i).is_some_and(|p| p.descending);
        let (low, high) = if descending { (upper, lower) } else { (lower, upper) };
        let low = signed(low).map(|(v, sign)| format!("{} {sign} ", self.value(i, v))).unwrap_or_default();
        let high = signed(high).map(|(v, sign)| format!(" {sign} {}", self.value(i, v))).unwrap_or_default();
        format!("{low}{}{high}", self.name(i))
    }
}

fn signed(bound: Bound<&Value>) -> Option<(&Value, &'static str)> {
    match bound {
        Bound::Included(v) => Some((v, "<=")),
        Bound::Excluded(v) => Some((v, "<")),
        Bound::Unbounded => None,
    }
}

/// The conditions of a scan's steering as text: `(5 <= b < 9) AND (c = 1 OR c = 2)`.
pub fn steering_text(scan: &Scan) -> String {
    let parts = Parts::of(&scan.table, scan.index);
    let one = |i: usize, intervals: &[KeyInterval]| {
        let mut texts: Vec<String> = intervals
            .iter()
            .take(SHOWN_MAX)
            .map(|interval| parts.interval(i, interval.lower.as_ref(), interval.upper.as_ref()))
            .collect();
        if intervals.len() > SHOWN_MAX {
            texts.push(format!("{} more", intervals.len() - SHOWN_MAX));
        }
        format!("({})", texts.join(" OR "))
    };
    let steered = scan.steering.iter().enumerate().filter_map(|(i, set)| Some(one(i, set.as_ref()?)));
    steered.collect::<Vec<_>>().join(" AND ")
}

fn range_text(parts: &Parts<'_>, range: &KeyRange) -> String {
    let ((lower, lower_in), (upper, upper_in)) = (values(&range.lower), values(&range.upper));
    let mut terms = Vec::new();
    // What both bounds begin with is fixed; an excluded bound still says something with its last value.
    let limit =
        [(lower, lower_in), (upper, upper_in)].map(|(v, included)| v.len() - (!included && !v.is_empty()) as usize);
    let same = (0..limit[0].min(limit[1])).take_while(|i| lower[*i] == upper[*i]).count();
    terms.extend((0..same).map(|i| format!("{} = {}", parts.name(i), parts.value(i, &lower[i]))));
    let (lower, upper) = (&lower[same..], &upper[same..]);
    if lower.len() <= 1 && upper.len() <= 1 {
        fn bound(values: &[Value], included: bool) -> Bound<&Value> {
            match values.first() {
                Some(v) if included => Bound::Included(v),
                Some(v) => Bound::Excluded(v),
                None => Bound::Unbounded,
            }
        }
        if !lower.is_empty() || !upper.is_empty() {
            terms.push(parts.interval(same, bound(lower, lower_in), bound(upper, upper_in)));
        }
    } else {
        // In the order of the keys, of several parts at once.
        let mut row = |bound: &[Value], sign: &str| {
            if !bound.is_empty() {
                let names: Vec<String> = (same..same + bound.len()).map(|i| parts.name(i)).collect();
                let values: Vec<String> = (same..).zip(bound).map(|(i, v)| parts.value(i, v)).collect();
                terms.push(format!("({}) {sign} ({})", names.join(","), values.join(",")));
            }
        };
        row(lower, if lower_in { ">=" } else { ">" });
        row(upper, if upper_in { "<=" } else { "<" });
    }
    terms.join(" AND ")
}
