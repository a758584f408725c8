//! Rows as bytes, for sorting and spilling: flat, short, and taken apart a column at a time.
//!
//! ```text
//!   | fixed-width values, column order, little endian | null bits | text and byte strings: LEB128 length + bytes |
//! ```
//!
//! Fixed-width values stand at the same place in every row (under a NULL stands anything), so both directions are loops
//! over one column without a branch on the type. Decimals of up to 18 digits take 8 bytes, of up to 38
//! 16, others 32. Null bits are
//! there only when some column is nullable; a set bit means NULL.

use crate::{Result, StorageError};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, LargeBinaryArray, PrimitiveArray, StringViewArray,
    builder::BinaryViewBuilder,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer, ToByteSlice, i256};
use arrow_schema::{DataType, TimeUnit};
use std::{path::PathBuf, sync::Arc};

#[derive(Debug, Clone, Copy)]
enum Slot {
    /// Byte offset in the row.
    Fixed(usize),
    Variable,
}

/// How rows of some columns lie as bytes.
#[derive(Debug, Clone)]
pub struct RowLayout {
    types: Vec<DataType>,
    slots: Vec<Slot>,
    /// Bytes before the null bits.
    fixed_bytes: usize,
    /// 0 when no column is nullable.
    null_bytes: usize,
}

/// Encoded rows, one behind the other.
#[derive(Debug, Default)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    /// The beginning of each row, and the end of the last.
    starts: Vec<usize>,
}

impl RowBuffer {
    pub fn row(&self, i: usize) -> &[u8] {
        &self.bytes[self.starts[i]..self.starts[i + 1]]
    }
}

impl RowLayout {
    /// `columns`: Arrow type and whether NULLs occur. Types are those that [`muster_types::SqlType`] documents.
    pub fn new(columns: &[(DataType, bool)]) -> RowLayout {
        let mut fixed_bytes = 0;
        let slots = columns
            .iter()
            .map(|(ty, _)| match fixed_width(ty) {
                Some(width) => {
                    fixed_bytes += width;
                    Slot::Fixed(fixed_bytes - width)
                }
                None => Slot::Variable,
            })
            .collect();
        let null_bytes = if columns.iter().any(|(_, nullable)| *nullable) { columns.len().div_ceil(8) } else { 0 };
        RowLayout { types: columns.iter().map(|(ty, _)| ty.clone()).collect(), slots, fixed_bytes, null_bytes }
    }

    /// Encodes all rows; what the buffer held before is gone. The arrays have the layout's types and one length.
    pub fn encode(&self, columns: &[ArrayRef], out: &mut RowBuffer) {
        let rows = columns.first().map_or(0, |c| c.len());
        let head = self.fixed_bytes + self.null_bytes;
        out.starts.clear();
        out.starts.resize(rows + 1, head);
        for (column, slot) in columns.iter().zip(&self.slots) {
            if let Slot::Variable = slot {
                for (i, length) in lengths(column).enumerate() {
                    out.starts[i] += length + leb128_len(length);
                }
            }
        }
        let mut at = 0;
        for start in &mut out.starts {
            at += std::mem::replace(start, at);
        }
        out.bytes.clear();
        out.bytes.resize(out.starts[rows], 0);
        // The offset of each row's next variable value.
        let mut tails: Vec<usize> = Vec::new();
        for (c, (column, slot)) in columns.iter().zip(&self.slots).enumerate() {
            match slot {
                Slot::Fixed(offset) => put_fixed(column, &mut out.bytes, &out.starts[..rows], *offset),
                Slot::Variable => {
                    if tails.is_empty() {
                        tails = out.starts[..rows].iter().map(|s| s + head).collect();
                    }
                    put_variable(column, &mut out.bytes, &mut tails);
                }
            }
            if self.null_bytes > 0 && column.null_count() > 0 {
                for (i, start) in out.starts[..rows].iter().enumerate() {
                    out.bytes[start + self.fixed_bytes + c / 8] |= u8::from(column.is_null(i)) << (c % 8);
                }
            }
        }
    }

    /// Arrays of these rows. Error: `Corrupt` when the bytes are not rows of this layout.
    pub fn decode(&self, rows: &[&[u8]]) -> Result<Vec<ArrayRef>> {
        let head = self.fixed_bytes + self.null_bytes;
        if rows.iter().any(|row| row.len() < head) {
            return Err(damaged("a sorted row is too short"));
        }
        let mut tails: Vec<usize> = Vec::new();
        let mut columns = Vec::with_capacity(self.types.len());
        for (c, (ty, slot)) in self.types.iter().zip(&self.slots).enumerate() {
            let nulls = self.nulls(rows, c);
            columns.push(match slot {
                Slot::Fixed(offset) => take_fixed(ty, rows, *offset, nulls)?,
                Slot::Variable => {
                    if tails.is_empty() {
                        tails = vec![head; rows.len()];
                    }
                    take_variable(ty, rows, &mut tails, nulls)?
                }
            });
        }
        Ok(columns)
    }

    fn nulls(&self, rows: &[&[u8]], column: usize) -> Option<NullBuffer> {
        if self.null_bytes == 0 {
            return None;
        }
        let (byte, bit) = (self.fixed_bytes + column / 8, column % 8);
        let valid = BooleanBuffer::collect_bool(rows.len(), |i| rows[i][byte] >> bit & 1 == 0);
        let nulls = NullBuffer::new(valid);
        (nulls.null_count() > 0).then_some(nulls)
    }
}

/// Bytes of a value, `None` for text and byte strings.
fn fixed_width(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Boolean => Some(1),
        DataType::Utf8View | DataType::BinaryView | DataType::LargeBinary => None,
        other => other.primitive_width(),
    }
}

fn lengths(column: &ArrayRef) -> Box<dyn Iterator<Item = usize> + '_> {
    if let Some(documents) = column.as_binary_opt::<i64>() {
        return Box::new(documents.iter().map(|document| document.map_or(0, <[u8]>::len)));
    }
    // The low 32 bits of a view are the length; a NULL's view is not defined.
    let (views, nulls) = match column.data_type() {
        DataType::Utf8View => (column.as_string_view().views(), column.nulls()),
        _ => (column.as_binary_view().views(), column.nulls()),
    };
    match nulls {
        None => Box::new(views.iter().map(|v| *v as u32 as usize)),
        Some(nulls) => {
            Box::new(views.iter().zip(nulls.iter()).map(|(v, valid)| if valid { *v as u32 as usize } else { 0 }))
        }
    }
}

fn leb128_len(n: usize) -> usize {
    (n.checked_ilog2().unwrap_or(0) / 7 + 1) as usize
}

/// Writes `n` at the front of `out`; says how many bytes it took.
fn put_leb128(mut n: usize, out: &mut [u8]) -> usize {
    let mut i = 0;
    while n >= 0x80 {
        out[i] = n as u8 | 0x80;
        n >>= 7;
        i += 1;
    }
    out[i] = n as u8;
    i + 1
}

/// Reads a number and how many bytes it took.
fn take_leb128(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut n = 0usize;
    for (i, b) in bytes.iter().take(9).enumerate() {
        n |= ((b & 0x7F) as usize) << (7 * i);
        if b & 0x80 == 0 {
            return Some((n, i + 1));
        }
    }
    None
}

macro_rules! by_primitive {
    ($ty:expr, $call:ident, $args:tt, $other:expr) => {
        match $ty {
            DataType::Int8 => by_primitive!(@ $call, Int8Type, $args),
            DataType::Int16 => by_primitive!(@ $call, Int16Type, $args),
            DataType::Int32 => by_primitive!(@ $call, Int32Type, $args),
            DataType::Int64 => by_primitive!(@ $call, Int64Type, $args),
            DataType::UInt8 => by_primitive!(@ $call, UInt8Type, $args),
            DataType::UInt16 => by_primitive!(@ $call, UInt16Type, $args),
            DataType::UInt32 => by_primitive!(@ $call, UInt32Type, $args),
            DataType::UInt64 => by_primitive!(@ $call, UInt64Type, $args),
            DataType::Float32 => by_primitive!(@ $call, Float32Type, $args),
            DataType::Float64 => by_primitive!(@ $call, Float64Type, $args),
            DataType::Decimal64(..) => by_primitive!(@ $call, Decimal64Type, $args),
            DataType::Decimal128(..) => by_primitive!(@ $call, Decimal128Type, $args),
            DataType::Decimal256(..) => by_primitive!(@ $call, Decimal256Type, $args),
            DataType::Date32 => by_primitive!(@ $call, Date32Type, $args),
            DataType::Timestamp(TimeUnit::Microsecond, None) => by_primitive!(@ $call, TimestampMicrosecondType, $args),
            DataType::Duration(TimeUnit::Microsecond) => by_primitive!(@ $call, DurationMicrosecondType, $args),
            other => $other(other),
        }
    };
    (@ $call:ident, $t:ty, ($($arg:expr),*)) => { $call::<$t>($($arg),*) };
}

fn put_fixed(column: &ArrayRef, bytes: &mut [u8], starts: &[usize], offset: usize) {
    match column.data_type() {
        DataType::Boolean => {
            for (start, v) in starts.iter().zip(column.as_boolean().values()) {
                bytes[start + offset] = v as u8;
            }
        }
        ty => by_primitive!(ty, put_primitive, (column, bytes, starts, offset), |ty| unreachable!(
            "no column has the Arrow type {ty}"
        )),
    }
}

fn put_primitive<T: ArrowPrimitiveType>(column: &ArrayRef, bytes: &mut [u8], starts: &[usize], offset: usize) {
    let values = column.as_primitive::<T>().values();
    let width = size_of::<T::Native>();
    for (start, v) in starts.iter().zip(values) {
        bytes[start + offset..start + offset + width].copy_from_slice(v.to_byte_slice());
    }
}

fn put_variable(column: &ArrayRef, bytes: &mut [u8], tails: &mut [usize]) {
    let mut put = |i: usize, value: &[u8]| {
        let at = tails[i];
        let n = put_leb128(value.len(), &mut bytes[at..]);
        bytes[at + n..at + n + value.len()].copy_from_slice(value);
        tails[i] = at + n + value.len();
    };
    match column.data_type() {
        DataType::Utf8View => {
            column.as_string_view().iter().enumerate().for_each(|(i, v)| put(i, v.unwrap_or("").as_bytes()))
        }
        DataType::LargeBinary => {
            column.as_binary::<i64>().iter().enumerate().for_each(|(i, v)| put(i, v.unwrap_or(b"")))
        }
        _ => column.as_binary_view().iter().enumerate().for_each(|(i, v)| put(i, v.unwrap_or(b""))),
    }
}

fn take_fixed(ty: &DataType, rows: &[&[u8]], offset: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match ty {
        DataType::Boolean => {
            let values = BooleanBuffer::collect_bool(rows.len(), |i| rows[i][offset] != 0);
            Ok(Arc::new(BooleanArray::new(values, nulls)))
        }
        ty => by_primitive!(ty, take_primitive, (ty, rows, offset, nulls), |ty| Err(damaged(&format!(
            "no column has the Arrow type {ty}"
        )))),
    }
}

fn fixed<const N: usize>(row: &[u8], offset: usize) -> [u8; N] {
    row[offset..offset + N].try_into().expect("a slice of N bytes")
}

/// A native value from its little-endian bytes.
trait FromRow {
    fn from_row(row: &[u8], offset: usize) -> Self;
}

macro_rules! from_row {
    ($($t:ty)*) => { $(impl FromRow for $t {
        fn from_row(row: &[u8], offset: usize) -> $t { <$t>::from_le_bytes(fixed(row, offset)) }
    })* };
}
from_row!(i8 i16 i32 i64 i128 i256 u8 u16 u32 u64 f32 f64);

fn take_primitive<T: ArrowPrimitiveType>(
    ty: &DataType,
    rows: &[&[u8]],
    offset: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    T::Native: FromRow,
{
    let values: ScalarBuffer<T::Native> = rows.iter().map(|row| T::Native::from_row(row, offset)).collect();
    Ok(Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(ty.clone())))
}

fn take_variable(ty: &DataType, rows: &[&[u8]], tails: &mut [usize], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut builder = BinaryViewBuilder::with_capacity(rows.len()).with_fixed_block_size(1 << 18);
    for (row, tail) in rows.iter().zip(tails) {
        let (length, n) = take_leb128(&row[*tail..]).ok_or_else(|| damaged("a length is cut off"))?;
        let from = *tail + n;
        let to = from.checked_add(length).filter(|to| *to <= row.len()).ok_or_else(|| damaged("a text is cut off"))?;
        builder.append_value(&row[from..to]);
        *tail = to;
    }
    let (views, buffers, _) = builder.finish().into_parts();
    let array = BinaryViewArray::try_new(views, buffers, nulls).map_err(|e| damaged(&e.to_string()))?;
    Ok(match ty {
        DataType::Utf8View => {
            let text: StringViewArray = array.to_string_view().map_err(|e| damaged(&e.to_string()))?;
            Arc::new(text)
        }
        DataType::LargeBinary => Arc::new(array.iter().collect::<LargeBinaryArray>()),
        _ => Arc::new(array),
    })
}

fn damaged(reason: &str) -> StorageError {
    StorageError::Corrupt { path: PathBuf::from("sort run"), page: 0, reason: reason.to_string() }
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
