//! Statistics of a workload's tables as a database that holds them has them, read from a file that the tests of the lab
//! write.
//!
//! ```text
//!   table   NAME  ROWS
//!   column  NAME  DISTINCT  [MIN  MAX]
//!   sample  ROWS                                      rows of the table, as the file beside a table holds them
//!   index   NAME  LEAF_PAGES  HEIGHT  DISTINCT...     distinct values of the first part, of the first two parts, ...
//!   until   ROWS  VALUE                              number of entries of that index whose first part is at most VALUE
//! ```
//!
//! Fields are separated by tabs. Between two values of `until` the entries are taken to be spread evenly; of texts, all
//! values are listed. All pages are in memory.

use muster_algebra::{ColumnStatistics, IndexStatistics, KeyRange, TableDef, Value};
use muster_types::distribution::{Distribution, RowSample};
use muster_types::{Decimal, SqlType, temporal};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct TableStatistics {
    pub rows: f64,
    /// By position in [`TableDef::columns`].
    pub columns: HashMap<usize, ColumnStatistics>,
    /// By position in [`TableDef::indexes`].
    pub indexes: HashMap<usize, Index>,
    pub distribution: Option<Distribution>,
}

#[derive(Clone)]
pub struct Index {
    pub known: IndexStatistics,
    /// Ascending values of the first part, each with the number of entries up to it.
    until: Vec<(Value, f64)>,
    /// Type of the first part; `None` for an index without parts.
    ty: Option<SqlType>,
}

/// Reads a file of statistics of these tables.
pub fn read(text: &str, tables: &HashMap<String, Arc<TableDef>>) -> HashMap<String, TableStatistics> {
    let mut all: HashMap<String, TableStatistics> = HashMap::new();
    // The table and the index that the lines are about.
    let mut current: Option<(&TableDef, usize)> = None;
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| -> f64 { fields[i].parse().unwrap_or_else(|_| panic!("no number in {line}")) };
        if fields[0] == "table" {
            current = Some((&tables[fields[1]], 0));
            all.insert(fields[1].into(), TableStatistics { rows: number(2), ..TableStatistics::default() });
            continue;
        }
        let (table, index) = current.as_mut().expect("a table before its columns");
        let statistics = all.get_mut(&table.name).expect("the table has begun");
        match fields[0] {
            "column" => {
                let column = table.column(fields[1]).unwrap_or_else(|| panic!("no column {}", fields[1]));
                let bound = |i: usize| fields.get(i).and_then(|f| value(f, table.columns[column].ty));
                let known = ColumnStatistics {
                    distinct: number(2),
                    min: bound(3),
                    max: bound(4),
                    ..ColumnStatistics::default()
                };
                statistics.columns.insert(column, known);
            }
            "sample" => {
                let sample: RowSample = serde_json::from_str(fields[1]).expect("a sample");
                let types = table.columns.iter().map(|column| column.ty).collect();
                let distribution = Distribution::new(sample, types, BTreeMap::new());
                assert!(distribution.is_sound(table.columns.len()), "the sample of {}", table.name);
                for (column, known) in &mut statistics.columns {
                    known.histogram = distribution.histogram(*column, known.distinct);
                }
                statistics.distribution = Some(distribution);
            }
            "index" => {
                *index = table.index(fields[1]).unwrap_or_else(|| panic!("no index {}", fields[1]));
                let known = IndexStatistics {
                    leaf_pages: number(2),
                    height: number(3) as u32,
                    distinct: (4..fields.len()).map(number).collect(),
                    resident_share: 1.0,
                    clustering: None,
                };
                let ty = table.indexes[*index].parts.first().map(|p| table.columns[p.column].ty);
                statistics.indexes.insert(*index, Index { known, until: Vec::new(), ty });
            }
            "until" => {
                let found = statistics.indexes.get_mut(index).expect("an index before its values");
                let value = found.ty.and_then(|ty| value(fields[2], ty)).expect("a value of the first part");
                found.until.push((value, number(1)));
            }
            other => panic!("a line of {other}"),
        }
    }
    all
}

fn value(text: &str, ty: SqlType) -> Option<Value> {
    Some(match ty {
        SqlType::Date => Value::Date(temporal::parse_date(text)?),
        SqlType::Decimal { .. } => Value::Decimal(Decimal::parse(text)?),
        SqlType::Int { .. } => Value::Int(text.parse().ok()?),
        _ => Value::Text(text.into()),
    })
}

impl Index {
    /// The number of entries in these ranges, as far as the values of the first part tell; `None` if none are known.
    /// `total`: the entries of the index.
    pub fn range_rows(&self, ranges: &[KeyRange], total: f64) -> Option<f64> {
        (!self.until.is_empty()).then(|| ranges.iter().map(|range| self.one_range(range, total)).sum())
    }

    fn one_range(&self, range: &KeyRange, total: f64) -> f64 {
        let values = |bound: &Bound<Vec<Value>>| match bound {
            Bound::Included(values) | Bound::Excluded(values) => values.clone(),
            Bound::Unbounded => Vec::new(),
        };
        let (lower, upper) = (values(&range.lower), values(&range.upper));
        let (low, high) = (lower.first(), upper.first());
        if let (Some(value), true) = (low, low == high) {
            let parts = if lower == upper { lower.len() } else { 1 };
            return self.equal(value, total) / (self.values(parts) / self.values(1));
        }
        // Entries with the first value of a bound are inside, if the bound has further parts.
        let is_outside = |bound: &Bound<Vec<Value>>| matches!(bound, Bound::Excluded(values) if values.len() == 1);
        let share = |value: &Value| self.equal(value, total);
        let from = low.map_or(0.0, |v| self.up_to(v) - if is_outside(&range.lower) { 0.0 } else { share(v) });
        let to = high.map_or(total, |v| self.up_to(v) - if is_outside(&range.upper) { share(v) } else { 0.0 });
        (to - from).max(0.0)
    }

    /// The number of entries whose first part is this value.
    fn equal(&self, value: &Value, total: f64) -> f64 {
        match (value, self.place(value)) {
            (Value::Null, _) => 0.0,
            (Value::Text(_) | Value::Bytes(_), Ok(at)) => {
                self.until[at].1 - if at > 0 { self.until[at - 1].1 } else { 0.0 }
            }
            (Value::Text(_) | Value::Bytes(_), Err(_)) => 0.0,
            _ => total / self.values(1),
        }
    }

    /// The number of distinct values of this many leading parts.
    fn values(&self, parts: usize) -> f64 {
        self.known.distinct.get(parts - 1).or(self.known.distinct.last()).copied().unwrap_or(1.0).max(1.0)
    }

    /// The number of entries whose first part is this value or less.
    fn up_to(&self, value: &Value) -> f64 {
        match self.place(value) {
            _ if value.is_null() => 0.0,
            Ok(at) => self.until[at].1,
            Err(0) => 0.0,
            Err(at) if at == self.until.len() => self.until[at - 1].1,
            Err(at) => {
                let ((a, before), (b, after)) = (&self.until[at - 1], &self.until[at]);
                match (number(a), number(value), number(b)) {
                    (Some(a), Some(x), Some(b)) if a < b => before + (after - before) * (x - a) / (b - a),
                    _ => *before,
                }
            }
        }
    }

    /// Where a value stands, or would stand, among the known ones.
    fn place(&self, value: &Value) -> Result<usize, usize> {
        let key = |v: &Value| match (v, self.ty) {
            (Value::Text(text), Some(SqlType::Text { collation, .. })) => Some(collation.sort_key(text)),
            (Value::Bytes(bytes), _) => Some(bytes.clone()),
            _ => None,
        };
        let sought = key(value);
        self.until.binary_search_by(|(known, _)| match (key(known), &sought) {
            (Some(a), Some(b)) => a.as_slice().cmp(b),
            _ => number(known).partial_cmp(&number(value)).expect("numbers and dates compare"),
        })
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Date(d) => Some(f64::from(temporal::Days::of_code(*d).0)),
        Value::Decimal(d) => d.to_string().parse().ok(),
        _ => None,
    }
}
