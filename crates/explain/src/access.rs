//! How a table is read: the one description from which every form of EXPLAIN prints it.

use muster_algebra::{Expr, KeyPart, Scan};
use muster_types::{BytesKind, KeyRange, SqlType, TextKind, Value};
use std::ops::Bound;

/// Which entries of an index are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    None,
    All,
    /// One whole key of a unique index.
    Row,
    /// Keys with these leading values.
    Lookup,
    /// Keys with these leading values, the last of which may also be NULL.
    LookupOrNull,
    Ranges,
}

/// How the entries are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanMode {
    /// One after the other.
    Sequential,
    /// From value to value of the first parts, which no condition restricts, to what steering finds in the others.
    Skip,
    /// One entry at least of each combination of leading values.
    Loose,
}

/// How a table is read.
pub struct TableAccess<'a> {
    pub scan: &'a Scan,
    pub entries: Entries,
    pub way: ScanMode,
    /// Number of key parts that are used.
    pub parts: usize,
    /// For a lookup: what the parts are compared with, for each row of the tables before.
    pub keys: Option<&'a [Expr]>,
}

impl<'a> TableAccess<'a> {
    pub fn of_scan(scan: &'a Scan) -> TableAccess<'a> {
        let whole = scan.ranges == [KeyRange::all()];
        let way = match scan.distinct_prefix {
            Some(_) => ScanMode::Loose,
            None if whole && !scan.steering.is_empty() => ScanMode::Skip,
            None => ScanMode::Sequential,
        };
        let entries = entries(scan);
        let ranged = scan.ranges.iter().map(used_parts).max().unwrap_or(0);
        let parts = match way {
            ScanMode::Loose => scan.distinct_prefix.unwrap_or(0).max(ranged),
            ScanMode::Skip => scan.steering.len(),
            ScanMode::Sequential if whole && (scan.index != 0 || scan.ordered) => {
                scan.table.indexes[scan.index].parts.len()
            }
            ScanMode::Sequential => ranged.max(scan.steering.len()),
        };
        TableAccess { scan, entries, way, parts, keys: None }
    }

    /// Rows of a table that are looked up for those of the tables before.
    pub fn of_lookup(scan: &'a Scan, keys: &'a [Expr]) -> TableAccess<'a> {
        let entries = if is_complete(scan, keys.len()) { Entries::Row } else { Entries::Lookup };
        TableAccess { scan, entries, way: ScanMode::Sequential, parts: keys.len(), keys: Some(keys) }
    }

    /// MySQL's name of it (manual 10.8.2).
    pub fn mysql_type(&self) -> &'static str {
        match (self.way, self.entries, self.keys.is_some()) {
            (ScanMode::Loose | ScanMode::Skip, ..) => "range",
            (_, Entries::Row, true) => "eq_ref",
            (_, Entries::Row, false) => "const",
            (_, Entries::Lookup, _) => "ref",
            (_, Entries::LookupOrNull, _) => "ref_or_null",
            (_, Entries::Ranges, _) => "range",
            (_, Entries::All | Entries::None, _) if self.scan.index == 0 && !self.scan.ordered => "ALL",
            (_, Entries::All | Entries::None, _) => "index",
        }
    }

    /// The index; `None` when the table is read as a whole, in any order.
    pub fn index_name(&self) -> Option<&'a str> {
        (self.mysql_type() != "ALL").then(|| self.scan.table.indexes[self.scan.index].name.as_str())
    }

    /// Bytes of the parts that are used, by MySQL's reckoning: one for NULL, two for a length that varies.
    pub fn key_bytes(&self) -> u64 {
        let bytes = |p: &KeyPart| {
            let column = &self.scan.table.columns[p.column];
            let varies = match column.ty {
                SqlType::Text { kind, .. } => kind != TextKind::Char,
                SqlType::Bytes { kind, .. } => kind != BytesKind::Binary,
                _ => false,
            };
            column.ty.key_bytes(p.prefix) + u64::from(column.nullable) + 2 * u64::from(varies)
        };
        self.scan.table.key_parts(self.scan.index).iter().take(self.parts).map(bytes).sum()
    }

    /// Returns true if a secondary index has everything that is read.
    pub fn is_index_only(&self) -> bool {
        self.scan.index != 0 && self.scan.is_covering()
    }

    /// Returns true if the parts of the key are all that is read, be it the primary key: MySQL's `Using index`.
    pub fn reads_keys_only(&self) -> bool {
        let parts = &self.scan.table.indexes[0].parts;
        let is_part = |column: usize| parts.iter().any(|part| part.column == column && part.prefix.is_none());
        let read = || self.scan.columns.iter().chain(&self.scan.filter_columns).map(|(_, column)| *column);
        self.is_index_only() || self.index_name().is_some() && self.scan.index == 0 && read().all(is_part)
    }
}

fn entries(scan: &Scan) -> Entries {
    match scan.ranges.as_slice() {
        [] => Entries::None,
        [range] if *range == KeyRange::all() => Entries::All,
        [range] => match fixed_values(range) {
            Some([]) => Entries::All,
            // NULLs are never duplicates of each other.
            Some(values) if is_complete(scan, values.len()) && !values.contains(&Value::Null) => Entries::Row,
            Some(_) => Entries::Lookup,
            None => Entries::Ranges,
        },
        ranges if is_value_or_null(ranges) => Entries::LookupOrNull,
        _ => Entries::Ranges,
    }
}

fn is_complete(scan: &Scan, parts: usize) -> bool {
    let index = &scan.table.indexes[scan.index];
    index.unique && parts >= index.parts.len()
}

/// The leading values, when a range is all keys that begin with them.
fn fixed_values(range: &KeyRange) -> Option<&[Value]> {
    match (&range.lower, &range.upper) {
        (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
        _ => None,
    }
}

/// Returns true if the ranges are the keys with some values, the last of which may also be NULL.
fn is_value_or_null(ranges: &[KeyRange]) -> bool {
    let [Some(x), Some(y)] = [ranges.first(), ranges.get(1)].map(|range| range.and_then(fixed_values)) else {
        return false;
    };
    let (Some((last_x, rest_x)), Some((last_y, rest_y))) = (x.split_last(), y.split_last()) else { return false };
    ranges.len() == 2 && rest_x == rest_y && (last_x.is_null() || last_y.is_null())
}

/// Number of parts of the key that a range speaks of.
fn used_parts(range: &KeyRange) -> usize {
    let parts = |b: &Bound<Vec<Value>>| match b {
        Bound::Included(v) | Bound::Excluded(v) => v.len(),
        Bound::Unbounded => 0,
    };
    parts(&range.lower).max(parts(&range.upper))
}
