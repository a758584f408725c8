//! Join keys of the rows of a batch, which compare as the rows are ordered.

use arrow_array::{Array, ArrayRef, cast::AsArray, types::*};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, SortOptions, TimeUnit};
use datafusion_common::Result;
use std::cmp::Ordering;

/// Makes keys for both sides of a join.
pub enum KeyMaker {
    /// A single number of at most eight bytes.
    Word,
    Bytes(RowConverter),
}

/// One key for each row; those of two batches compare if one maker made them.
pub enum Keys {
    Words(Vec<u64>),
    Bytes(Rows),
}

impl KeyMaker {
    /// `types`: of the parts of the key.
    pub fn new(types: &[DataType]) -> Result<KeyMaker> {
        if let [ty] = types
            && is_word(ty)
        {
            return Ok(KeyMaker::Word);
        }
        let options = SortOptions { descending: false, nulls_first: true };
        let fields = types.iter().map(|ty| SortField::new_with_options(ty.clone(), options));
        Ok(KeyMaker::Bytes(RowConverter::new(fields.collect())?))
    }

    /// The keys of rows, and which of them have no NULL in theirs; `None`: all.
    pub fn keys(&self, parts: &[ArrayRef]) -> Result<(Keys, Option<BooleanBuffer>)> {
        let nulls = parts.iter().fold(None, |all, a| NullBuffer::union(all.as_ref(), a.logical_nulls().as_ref()));
        let valid = nulls.filter(|n| n.null_count() > 0).map(|n| n.inner().clone());
        let keys = match self {
            KeyMaker::Word => Keys::Words(words(parts[0].as_ref())),
            KeyMaker::Bytes(converter) => Keys::Bytes(converter.convert_columns(parts)?),
        };
        Ok((keys, valid))
    }
}

/// A search looks at so many rows one by one before it jumps.
const STEPS: usize = 8;

impl Keys {
    /// Returns true if no key is less than the one before. Those with NULL in them, which are not `valid`, may be
    /// anything.
    pub fn ascend(&self, valid: Option<&BooleanBuffer>) -> bool {
        let is_valid = |row: usize| valid.is_none_or(|v| v.value(row));
        match (self, valid) {
            (Keys::Words(words), None) => words.is_sorted(),
            _ => (1..self.len())
                .all(|row| !(is_valid(row - 1) && is_valid(row) && self.compare(row - 1, self, row).is_gt())),
        }
    }

    pub fn compare(&self, i: usize, other: &Keys, j: usize) -> Ordering {
        match (self, other) {
            (Keys::Words(a), Keys::Words(b)) => a[i].cmp(&b[j]),
            (Keys::Bytes(a), Keys::Bytes(b)) => a.row(i).cmp(&b.row(j)),
            // One maker makes one kind.
            (Keys::Words(_), Keys::Bytes(_)) => Ordering::Less,
            (Keys::Bytes(_), Keys::Words(_)) => Ordering::Greater,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Keys::Words(words) => words.len(),
            Keys::Bytes(rows) => rows.num_rows(),
        }
    }

    /// The end of the rows from `i` on that have the same key.
    pub fn group_end(&self, i: usize) -> usize {
        match self {
            Keys::Words(words) => first_not(i + 1, words.len(), |next| words[next] == words[i]),
            Keys::Bytes(rows) => first_not(i + 1, rows.num_rows(), |next| rows.row(next) == rows.row(i)),
        }
    }

    /// The first row from `i` on whose key is not less than row `j`'s of the other side.
    pub fn seek(&self, i: usize, other: &Keys, j: usize) -> usize {
        match (self, other) {
            (Keys::Words(a), Keys::Words(b)) => first_not(i, a.len(), |i| a[i] < b[j]),
            (Keys::Bytes(a), Keys::Bytes(b)) => first_not(i, a.num_rows(), |i| a.row(i) < b.row(j)),
            (Keys::Words(_), Keys::Bytes(_)) | (Keys::Bytes(_), Keys::Words(_)) => self.len(),
        }
    }

    /// Marks the rows from `i` on whose key the other side has from `j` on, until one of the sides ends. Returns where
    /// both then stand. `valid`: rows without NULL in their key; `None`: all.
    pub fn mark(
        &self,
        other: &Keys,
        (i, j): (usize, usize),
        valid: Option<&BooleanBuffer>,
        marks: &mut [bool],
    ) -> (usize, usize) {
        let (rows, others) = (self.len(), other.len());
        match (self, other) {
            (Keys::Words(a), Keys::Words(b)) => mark((i, rows), (j, others), |i| a[i], |j| b[j], valid, marks),
            (Keys::Bytes(a), Keys::Bytes(b)) => mark((i, rows), (j, others), |i| a.row(i), |j| b.row(j), valid, marks),
            (Keys::Words(_), Keys::Bytes(_)) | (Keys::Bytes(_), Keys::Words(_)) => (rows, j),
        }
    }
}

/// See [`Keys::mark`]; `key` and `other_key` give the keys of rows.
fn mark<K: Ord>(
    (mut i, rows): (usize, usize),
    (mut j, others): (usize, usize),
    key: impl Fn(usize) -> K,
    other_key: impl Fn(usize) -> K,
    valid: Option<&BooleanBuffer>,
    marks: &mut [bool],
) -> (usize, usize) {
    while i < rows && j < others {
        if valid.is_some_and(|valid| !valid.value(i)) {
            i += 1;
            continue;
        }
        j = first_not(j, others, |j| other_key(j) < key(i));
        if j == others {
            break;
        }
        if other_key(j) == key(i) {
            marks[i] = true;
            i += 1;
        } else {
            // Rows with NULL in their key may be passed: they have no partner either.
            i = first_not(i + 1, rows, |i| key(i) < other_key(j));
        }
    }
    (i, j)
}

/// The first of `from..end` for which `holds` is false; it is true for all before and for none behind.
fn first_not(from: usize, end: usize, holds: impl Fn(usize) -> bool) -> usize {
    let near = end.min(from + STEPS);
    if let Some(found) = (from..near).find(|i| !holds(*i)) {
        return found;
    }
    // In strides that double, then by halves of the last one.
    let (mut low, mut stride) = (near, STEPS);
    while low + stride < end && holds(low + stride) {
        low += stride;
        stride *= 2;
    }
    let mut high = end.min(low + stride);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn is_word(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _))
}

/// Numbers whose order is that of the values.
fn words(values: &dyn Array) -> Vec<u64> {
    const SIGN: u64 = 1 << 63;
    macro_rules! signed {
        ($ty:ty) => {
            values.as_primitive::<$ty>().values().iter().map(|v| *v as i64 as u64 ^ SIGN).collect()
        };
    }
    macro_rules! unsigned {
        ($ty:ty) => {
            values.as_primitive::<$ty>().values().iter().map(|v| *v as u64).collect()
        };
    }
    match values.data_type() {
        DataType::Int8 => signed!(Int8Type),
        DataType::Int16 => signed!(Int16Type),
        DataType::Int32 => signed!(Int32Type),
        DataType::Int64 => signed!(Int64Type),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Date32 => signed!(Date32Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => signed!(TimestampMicrosecondType),
        other => unreachable!("{other} is no word"),
    }
}
