//! Some rows of a table, at random, in the order of the primary key, column by column.
//!
//! A column is a dictionary of its values, in their order, and for each row a number in it. So a condition on one
//! column is asked once for each value, and a range of values is a range of numbers.

use super::{Histogram, SAMPLE_BUCKETS};
use crate::{SqlType, Value, order};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Answers that are kept with a sample.
const ANSWERS_MAX: usize = 512;
/// A value that makes up at least so much of a sample is one that the column has more than once.
const COMMON_ROWS: u64 = 2;

/// One bit for each row of a sample, the rows of a word from its lowest bit on.
pub type Bits = Arc<[u64]>;

/// One column of a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleColumn {
    /// The values that the rows have, ascending and distinct; NULL is not among them. Texts of one place in a collation
    /// stand by their bytes.
    pub values: Vec<Value>,
    /// For each row the position of its value, or [`SampleColumn::NULL`] or [`SampleColumn::UNKNOWN`].
    pub codes: Vec<u16>,
}

impl SampleColumn {
    pub const NULL: u16 = u16::MAX;
    /// A long value that was not read.
    pub const UNKNOWN: u16 = u16::MAX - 1;

    /// `values`: one for each row; `None` for one that is not known.
    pub fn new(values: &[Option<Value>], ty: SqlType) -> SampleColumn {
        let by_order = |a: &Value, b: &Value| {
            order::compare(a, b, ty).unwrap_or(Ordering::Equal).then_with(|| match (a, b) {
                (Value::Text(a), Value::Text(b)) => a.cmp(b),
                _ => Ordering::Equal,
            })
        };
        let mut rows: Vec<usize> = (0..values.len()).collect();
        let known = |row: &usize| values[*row].as_ref().filter(|value| !value.is_null());
        rows.retain(|row| known(row).is_some());
        rows.sort_by(|a, b| match (known(a), known(b)) {
            (Some(a), Some(b)) => by_order(a, b),
            _ => Ordering::Equal,
        });
        let mut codes: Vec<u16> = values.iter().map(|v| if v.is_none() { Self::UNKNOWN } else { Self::NULL }).collect();
        let mut distinct: Vec<Value> = Vec::new();
        for row in rows {
            let Some(value) = known(&row) else { continue };
            if distinct.last().is_none_or(|last| by_order(last, value) != Ordering::Equal) {
                distinct.push(value.clone());
            }
            codes[row] = (distinct.len() - 1).min(usize::from(Self::UNKNOWN - 1)) as u16;
        }
        SampleColumn { values: distinct, codes }
    }

    /// The value of a row; `None` for one that was not read.
    pub fn value(&self, row: usize) -> Option<&Value> {
        const NULL: &Value = &Value::Null;
        match *self.codes.get(row)? {
            Self::NULL => Some(NULL),
            code => self.values.get(usize::from(code)),
        }
    }

    /// Returns true if some values were not read.
    pub fn has_unknown(&self) -> bool {
        self.codes.contains(&Self::UNKNOWN)
    }

    /// Number of rows of each value of the dictionary.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.values.len()];
        for code in &self.codes {
            if let Some(count) = counts.get_mut(usize::from(*code)) {
                *count += 1;
            }
        }
        counts
    }

    /// The rows whose value's position passes a test.
    pub fn rows_where(&self, of_null: bool, passes: impl Fn(u16) -> bool) -> Bits {
        let bit = |code: &u16| match *code {
            Self::NULL => of_null,
            code => code != Self::UNKNOWN && passes(code),
        };
        let word = |codes: &[u16]| codes.iter().rev().fold(0, |word, code| word << 1 | u64::from(bit(code)));
        self.codes.chunks(64).map(word).collect()
    }
}

/// The values of a column in rows that were sampled when the table had other columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampledColumn<'v> {
    /// Those of the column at this position.
    Known(usize),
    /// All rows have this value.
    Constant(&'v Value),
}

/// Some rows of a table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowSample {
    rows: usize,
    /// Rows that the table had.
    of_rows: u64,
    columns: Vec<SampleColumn>,
    /// Rows for which conditions hold, by the hash of the condition.
    #[serde(skip)]
    answers: Answers,
}

#[derive(Debug, Default)]
struct Answers {
    rows: Mutex<HashMap<u64, Bits>>,
    /// Distinct combinations of columns in a table of so many rows.
    combinations: Mutex<HashMap<(Vec<usize>, u64), f64>>,
}

impl Clone for Answers {
    fn clone(&self) -> Answers {
        Answers::default()
    }
}

impl RowSample {
    /// The same rows with other columns.
    pub fn with_columns(&self, columns: &[SampledColumn<'_>]) -> RowSample {
        let column = |column: &SampledColumn<'_>| match column {
            SampledColumn::Known(at) => self.columns.get(*at).cloned().unwrap_or_default(),
            SampledColumn::Constant(Value::Null) => {
                SampleColumn { values: Vec::new(), codes: vec![SampleColumn::NULL; self.rows] }
            }
            SampledColumn::Constant(value) => {
                SampleColumn { values: vec![Value::clone(value)], codes: vec![0; self.rows] }
            }
        };
        let columns = columns.iter().map(column).collect();
        RowSample { rows: self.rows, of_rows: self.of_rows, columns, answers: Answers::default() }
    }
}

impl PartialEq for RowSample {
    fn eq(&self, other: &RowSample) -> bool {
        (self.rows, self.of_rows, &self.columns) == (other.rows, other.of_rows, &other.columns)
    }
}

impl RowSample {
    /// `rows`: in the order of the primary key, each with a value for each column; `None` for a value that was not
    /// read. `of_rows`: rows that the table has.
    pub fn new(rows: Vec<Vec<Option<Value>>>, types: &[SqlType], of_rows: u64) -> RowSample {
        let mut by_column: Vec<Vec<Option<Value>>> = types.iter().map(|_| Vec::with_capacity(rows.len())).collect();
        let count = rows.len();
        for row in rows {
            let values = row.into_iter().chain(std::iter::repeat(None));
            by_column.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let columns = by_column.iter().zip(types).map(|(values, ty)| SampleColumn::new(values, *ty)).collect();
        RowSample { rows: count, of_rows: of_rows.max(count as u64), columns, answers: Answers::default() }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns true if these are all rows that the table had.
    pub fn is_whole(&self) -> bool {
        self.rows as u64 >= self.of_rows
    }

    pub fn column(&self, column: usize) -> Option<&SampleColumn> {
        self.columns.get(column)
    }

    /// The rows for which a condition holds, from an earlier answer or from `answer`. `hash`: of the condition with the
    /// positions of its columns.
    pub fn remembered(&self, hash: u64, answer: impl FnOnce() -> Option<Bits>) -> Option<Bits> {
        let answers = || self.answers.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = answers().get(&hash) {
            return Some(Arc::clone(known));
        }
        let found = answer()?;
        let mut answers = answers();
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        answers.insert(hash, Arc::clone(&found));
        Some(found)
    }

    /// The histogram of a column that has so many distinct values in all.
    pub(super) fn histogram(&self, column: usize, ty: SqlType, distinct: f64) -> Option<Histogram> {
        let column = self.columns.get(column)?;
        if column.has_unknown() {
            return None;
        }
        let mut values: Vec<(Value, u64)> = Vec::with_capacity(column.values.len());
        for (value, count) in column.values.iter().zip(column.counts()) {
            match values.last_mut() {
                // Texts that are equal in their collation.
                Some((last, n)) if order::compare(last, value, ty) == Some(Ordering::Equal) => *n += count,
                _ => values.push((value.clone(), count)),
            }
        }
        let nulls = column.codes.iter().filter(|code| **code == SampleColumn::NULL).count() as u64;
        // A value that only one row of a sample has is no common one: it stands for others, too.
        let is_common = self.is_whole() || values.iter().all(|(_, count)| *count >= COMMON_ROWS);
        let buckets = if is_common { SAMPLE_BUCKETS } else { SAMPLE_BUCKETS.min(values.len().div_ceil(2)) };
        let mut histogram = Histogram::new(ty, &values, nulls, buckets.max(1))?;
        histogram.sampling_rate = self.rows as f64 / self.of_rows.max(1) as f64;
        Some(if self.is_whole() { histogram } else { histogram.with_distinct(distinct, self.rows as f64) })
    }

    /// Rank correlation of a column with the order of the rows, -1 to 1: 1 if its values ascend with the primary key.
    /// `None` if that is not known.
    pub fn correlation(&self, column: usize) -> Option<f64> {
        let column = self.columns.get(column)?;
        let known = column.codes.iter().enumerate().filter(|(_, code)| **code < SampleColumn::UNKNOWN);
        let (mut n, mut x, mut y, mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for (row, code) in known {
            let (a, b) = (row as f64, f64::from(*code));
            n += 1.0;
            x += a;
            y += b;
            xx += a * a;
            yy += b * b;
            xy += a * b;
        }
        let spread = (n * xx - x * x) * (n * yy - y * y);
        (spread > 0.0).then(|| (n * xy - x * y) / spread.sqrt())
    }

    /// Distinct combinations that these columns have in all of a table of so many rows (Duj1: Haas and Stokes,
    /// "Estimating the Number of Classes in a Finite Population", 1998). Rows with a NULL count as having one value.
    pub fn distinct(&self, columns: &[usize], of_rows: f64) -> Option<f64> {
        let known = || self.answers.combinations.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (columns.to_vec(), of_rows as u64);
        if let Some(distinct) = known().get(&key) {
            return Some(*distinct);
        }
        let distinct = self.counted_distinct(columns, of_rows)?;
        let mut known = known();
        if known.len() >= ANSWERS_MAX {
            known.clear();
        }
        known.insert(key, distinct);
        Some(distinct)
    }

    fn counted_distinct(&self, columns: &[usize], of_rows: f64) -> Option<f64> {
        let columns: Vec<&SampleColumn> = columns.iter().map(|c| self.columns.get(*c)).collect::<Option<_>>()?;
        if columns.iter().any(|c| c.has_unknown()) || self.rows == 0 {
            return None;
        }
        let mut seen: HashMap<Vec<u16>, u32> = HashMap::with_capacity(self.rows);
        for row in 0..self.rows {
            *seen.entry(columns.iter().map(|c| c.codes[row]).collect()).or_default() += 1;
        }
        let distinct = seen.len() as f64;
        if self.is_whole() {
            return Some(distinct);
        }
        let once = seen.values().filter(|count| **count == 1).count() as f64;
        let n = self.rows as f64;
        let share = (n / of_rows.max(n)).min(1.0);
        Some((n * distinct / (n - once + once * share)).clamp(distinct, of_rows.max(distinct)))
    }

    /// Returns true if all columns have a value for each row.
    pub fn is_sound(&self, columns: usize) -> bool {
        let is_code =
            |column: &SampleColumn, code: u16| code >= SampleColumn::UNKNOWN || usize::from(code) < column.values.len();
        self.columns.len() == columns
            && self.rows < usize::from(SampleColumn::UNKNOWN)
            && self.columns.iter().all(|c| c.codes.len() == self.rows && c.codes.iter().all(|code| is_code(c, *code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    fn sample(rows: usize, row: impl Fn(i64) -> Vec<Option<Value>>, of_rows: u64) -> RowSample {
        let types = [SqlType::INT, SqlType::INT, SqlType::varchar(20, Collation::DEFAULT)];
        RowSample::new((0..rows as i64).map(row).collect(), &types, of_rows)
    }

    fn row(i: i64) -> Vec<Option<Value>> {
        let number = if i % 10 == 0 { Value::Null } else { Value::Int(i % 7) };
        vec![Some(Value::Int(i)), Some(number), Some(Value::Text(if i % 2 == 0 { "a" } else { "A" }.into()))]
    }

    #[test]
    fn columns_are_dictionaries_in_order() {
        let sample = sample(200, row, 200);
        assert!(sample.is_sound(3) && !sample.is_sound(2));
        let numbers = sample.column(1).unwrap();
        assert_eq!(numbers.values, (0..7).map(Value::Int).collect::<Vec<_>>());
        assert_eq!(numbers.value(10), Some(&Value::Null));
        assert_eq!(numbers.value(13), Some(&Value::Int(6)));
        let bits = numbers.rows_where(true, |code| code == 6);
        assert_eq!((bits[0] >> 13 & 1, bits[0] >> 10 & 1, bits[0] >> 12 & 1), (1, 1, 0));
        // Texts that are equal under the collation are one value of the histogram.
        assert_eq!(sample.column(2).unwrap().values.len(), 2);
        let histogram = sample.histogram(2, SqlType::varchar(20, Collation::DEFAULT), 1.0).unwrap();
        assert_eq!(histogram.share_equal(&Value::Text("A".into())), Some(1.0));
        assert_eq!(sample.histogram(1, SqlType::INT, 7.0).unwrap().null_share, 0.1);
    }

    #[test]
    fn correlation_and_combinations() {
        let sample = sample(1000, |i| vec![Some(Value::Int(i)), Some(Value::Int(-i)), Some(Value::Null)], 1_000_000);
        assert!(sample.correlation(0).unwrap() > 0.999 && sample.correlation(1).unwrap() < -0.999);
        assert_eq!(sample.correlation(2), None);
        assert_eq!(sample.distinct(&[2], 1e6), Some(1.0));
        assert!(sample.distinct(&[0, 1], 1e6).unwrap() > 9e5, "each row has its own");
        let few = super::tests::sample(
            1000,
            |i| vec![Some(Value::Int(i % 20)), Some(Value::Int(i % 20 / 2)), None],
            1_000_000,
        );
        assert!((few.distinct(&[0, 1], 1e6).unwrap() - 20.0).abs() < 1.0, "correlated columns have few pairs");
        assert_eq!(few.distinct(&[2], 1e6), None);
    }

    #[test]
    fn a_sample_is_the_same_when_it_is_read_back() {
        let sample = sample(100, row, 1000);
        let read: RowSample = serde_json::from_str(&serde_json::to_string(&sample).unwrap()).unwrap();
        assert_eq!(sample, read);
    }
}
