//! Reads a table as a scan says: its ranges, its steering, its order.

use super::interpreter::{Cell, cell};
use muster_algebra::{KeyPart, KeyRange, Scan, Value};
use std::cmp::Ordering;
use std::ops::Bound;

/// The rows that a scan reads, before any condition is checked. Of a loose scan only those that it must deliver.
pub fn scanned<'a>(scan: &Scan, rows: &'a [Vec<Cell>]) -> Vec<&'a Vec<Cell>> {
    let parts = scan.table.key_parts(scan.index);
    let mut found: Vec<&Vec<Cell>> = rows
        .iter()
        .filter(|cells| {
            let hits = scan.ranges.iter().filter(|r| in_range(cells, &parts, r)).count();
            assert!(hits <= 1, "ranges overlap: {:?}", scan.ranges);
            hits == 1 && is_steered_to(cells, &parts, scan)
        })
        .collect();
    for pair in scan.ranges.windows(2) {
        assert!(is_ascending(&pair[0], &pair[1], &parts), "ranges do not ascend: {:?}", scan.ranges);
    }
    if scan.ordered || scan.distinct_prefix.is_some() {
        found.sort_by(|a, b| compare_keys(a, b, &parts));
        if scan.reverse {
            found.reverse();
        }
    }
    if let Some(n) = scan.distinct_prefix {
        found.dedup_by(|later, first| compare_keys(later, first, &parts[..n]) == Ordering::Equal);
    }
    found
}

fn compare_cells(a: Cell, b: Cell, part: &KeyPart) -> Ordering {
    if part.descending { b.cmp(&a) } else { a.cmp(&b) }
}

fn compare_keys(a: &[Cell], b: &[Cell], parts: &[KeyPart]) -> Ordering {
    let each = parts.iter().map(|p| compare_cells(a[p.column], b[p.column], p));
    each.fold(Ordering::Equal, Ordering::then)
}

/// Compares a row with a bound by as many parts as the bound has.
fn compare_bound(cells: &[Cell], bound: &[Value], parts: &[KeyPart]) -> Ordering {
    let each = parts.iter().zip(bound).map(|(p, v)| compare_cells(cells[p.column], cell(v), p));
    each.fold(Ordering::Equal, Ordering::then)
}

fn is_within(below: Bound<Ordering>, above: Bound<Ordering>) -> bool {
    let from = match below {
        Bound::Unbounded => true,
        Bound::Included(order) => order != Ordering::Less,
        Bound::Excluded(order) => order == Ordering::Greater,
    };
    from && match above {
        Bound::Unbounded => true,
        Bound::Included(order) => order != Ordering::Greater,
        Bound::Excluded(order) => order == Ordering::Less,
    }
}

fn in_range(cells: &[Cell], parts: &[KeyPart], range: &KeyRange) -> bool {
    let compared = |bound: &Bound<Vec<Value>>| bound.as_ref().map(|b| compare_bound(cells, b, parts));
    is_within(compared(&range.lower), compared(&range.upper))
}

fn is_steered_to(cells: &[Cell], parts: &[KeyPart], scan: &Scan) -> bool {
    parts.iter().zip(&scan.steering).all(|(part, intervals)| {
        let Some(intervals) = intervals else { return true };
        let compared = |b: &Bound<Value>| b.as_ref().map(|v| compare_cells(cells[part.column], cell(v), part));
        let hits = intervals.iter().filter(|i| is_within(compared(&i.lower), compared(&i.upper))).count();
        assert!(hits <= 1, "intervals overlap: {intervals:?}");
        hits == 1
    })
}

/// Returns true if the second range begins behind the end of the first one.
fn is_ascending(first: &KeyRange, second: &KeyRange, parts: &[KeyPart]) -> bool {
    let (Bound::Included(upper) | Bound::Excluded(upper)) = &first.upper else { return false };
    let (Bound::Included(lower) | Bound::Excluded(lower)) = &second.lower else { return false };
    let each = parts.iter().zip(upper.iter().zip(lower)).map(|(p, (u, l))| compare_cells(cell(u), cell(l), p));
    each.fold(Ordering::Equal, Ordering::then) != Ordering::Greater
}
