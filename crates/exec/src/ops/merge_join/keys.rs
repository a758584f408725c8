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

impl Keys {
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
        (i + 1..self.len()).find(|next| self.compare(i, self, *next).is_ne()).unwrap_or(self.len())
    }
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
