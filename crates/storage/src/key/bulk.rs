//! Keys of many rows from Arrow arrays, with the types resolved once per batch.

use super::{KeyCodec, KeyKind, KeyPartCodec, complement, cut_bytes, cut_text, encode};
use crate::{Result, StorageError};
use arrow_array::{Array, ArrayRef, cast::AsArray, types::*};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use std::ops::Range;

/// Keys, one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Bytes of neighbouring keys.
    pub fn bytes_of(&self, which: Range<usize>) -> usize {
        let before = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        before(which.end) - before(which.start)
    }

    /// Bytes of all keys.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Makes room for so many more keys of so many bytes in all.
    pub fn reserve(&mut self, keys: usize, bytes: usize) {
        self.ends.reserve(keys);
        self.bytes.reserve(bytes);
    }

    /// Drops the first `count` keys.
    pub fn drain(&mut self, count: usize) {
        if count > 0 {
            let cut = self.ends[count - 1];
            self.bytes.drain(..cut);
            self.ends.drain(..count);
            self.ends.iter_mut().for_each(|end| *end -= cut);
        }
    }
}

/// Some keys in an order.
#[derive(Clone, Copy)]
pub struct KeyList<'a> {
    keys: &'a Keys,
    /// Which of them; all, as they stand, if `None`.
    order: Option<&'a [u32]>,
}

impl<'a> KeyList<'a> {
    pub fn all(keys: &'a Keys) -> KeyList<'a> {
        KeyList { keys, order: None }
    }

    /// The keys with these numbers.
    pub fn of(keys: &'a Keys, order: &'a [u32]) -> KeyList<'a> {
        KeyList { keys, order: Some(order) }
    }

    pub fn len(&self) -> usize {
        self.order.map_or(self.keys.len(), <[u32]>::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.keys.get(self.order.map_or(i, |order| order[i] as usize))
    }
}

impl KeyCodec {
    /// Appends the keys of these rows. `columns` are the tree's stored columns, with the Arrow types that
    /// [`muster_types::SqlType`] documents; only those of key parts are looked at.
    pub fn append_keys(&self, columns: &[ArrayRef], rows: Range<usize>, keys: &mut Keys) -> Result<()> {
        self.append_keys_of_parts(columns, self.parts.len(), rows, keys)
    }

    /// Appends the first `parts` parts of each key.
    pub fn append_keys_of_parts(
        &self,
        columns: &[ArrayRef],
        parts: usize,
        rows: Range<usize>,
        keys: &mut Keys,
    ) -> Result<()> {
        let parts = &self.parts[..parts];
        let sources = parts.iter().map(|p| ColumnSource::new(p, &columns[p.column])).collect::<Result<Vec<_>>>()?;
        append(parts, &sources, rows, keys);
        Ok(())
    }

    /// Appends the beginnings of keys: `arrays` holds the values of the leading parts, one array per part with the
    /// Arrow type that the part's column type documents. Errors: `WrongType` for more arrays than parts, and for a
    /// NULL where the column has none (no key has such a part).
    pub fn append_leading_parts(&self, arrays: &[ArrayRef], rows: Range<usize>, keys: &mut Keys) -> Result<()> {
        let wrong = |value: String| Err(StorageError::WrongType { value });
        let Some(parts) = self.parts.get(..arrays.len()) else {
            return wrong(format!("{} arrays for {} key parts", arrays.len(), self.parts.len()));
        };
        let mut sources = Vec::with_capacity(parts.len());
        for (part, array) in parts.iter().zip(arrays) {
            if rows.end > array.len() {
                return wrong(format!("an array of {} rows for {}", array.len(), rows.end));
            }
            if !part.nullable && array.slice(rows.start, rows.len()).null_count() > 0 {
                return wrong("NULL in a key part that is NOT NULL".to_string());
            }
            sources.push(ColumnSource::new(part, array)?);
        }
        append(parts, &sources, rows, keys);
        Ok(())
    }
}

/// Appends the keys of rows, one source per part.
fn append(parts: &[KeyPartCodec], sources: &[ColumnSource<'_>], rows: Range<usize>, keys: &mut Keys) {
    keys.ends.reserve(rows.len());
    let width: Option<usize> = parts.iter().map(|p| p.kind.fixed_width().filter(|_| !p.nullable)).sum();
    match width {
        Some(width) => {
            // All keys are equally long: one column after the other, each in a loop of its own type.
            let start = keys.bytes.len();
            keys.bytes.resize(start + width * rows.len(), 0);
            let mut offset = 0;
            for (part, source) in parts.iter().zip(sources) {
                let part_width = part.kind.fixed_width().unwrap_or(0);
                source.write_strided(part, rows.clone(), &mut keys.bytes[start..], width, offset);
                offset += part_width;
            }
            keys.ends.extend((1..=rows.len()).map(|i| start + i * width));
        }
        None => {
            for row in rows {
                for (part, source) in parts.iter().zip(sources) {
                    source.append(part, row, &mut keys.bytes);
                }
                keys.ends.push(keys.bytes.len());
            }
        }
    }
}

/// A column's values, downcast once.
struct ColumnSource<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    I128(&'a [i128]),
    I256(&'a [i256]),
    Bool(&'a arrow_array::BooleanArray),
    Text(&'a arrow_array::StringViewArray),
    Bytes(&'a arrow_array::BinaryViewArray),
}

/// Returns true if values of this kind come from such an array.
fn fits(kind: KeyKind, values: &Values) -> bool {
    match kind {
        KeyKind::Int { width, .. } => match values {
            Values::I8(_) | Values::U8(_) | Values::Bool(_) => width == 1,
            Values::I16(_) | Values::U16(_) => width == 2,
            Values::I32(_) | Values::U32(_) => width == 4,
            Values::I64(_) | Values::U64(_) => width == 8,
            _ => false,
        },
        KeyKind::Decimal64 { .. } => matches!(values, Values::I64(_)),
        KeyKind::Decimal128 { .. } => matches!(values, Values::I128(_)),
        KeyKind::Decimal256 { .. } => matches!(values, Values::I256(_)),
        KeyKind::Float => matches!(values, Values::F32(_)),
        KeyKind::Double => matches!(values, Values::F64(_)),
        KeyKind::Text(_) => matches!(values, Values::Text(_)),
        KeyKind::Bytes => matches!(values, Values::Bytes(_)),
    }
}

impl<'a> ColumnSource<'a> {
    fn new(part: &KeyPartCodec, array: &'a ArrayRef) -> Result<ColumnSource<'a>> {
        let values = match array.data_type() {
            DataType::Int8 => Values::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Values::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Values::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Values::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Values::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Values::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Values::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Values::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float32 => Values::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Values::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Date32 => Values::I32(array.as_primitive::<Date32Type>().values()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Values::I64(array.as_primitive::<TimestampMicrosecondType>().values())
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                Values::I64(array.as_primitive::<DurationMicrosecondType>().values())
            }
            DataType::Decimal64(..) => Values::I64(array.as_primitive::<Decimal64Type>().values()),
            DataType::Decimal128(..) => Values::I128(array.as_primitive::<Decimal128Type>().values()),
            DataType::Decimal256(..) => Values::I256(array.as_primitive::<Decimal256Type>().values()),
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Utf8View => Values::Text(array.as_string_view()),
            DataType::BinaryView => Values::Bytes(array.as_binary_view()),
            other => return Err(StorageError::WrongType { value: format!("an array of {other}") }),
        };
        if !fits(part.kind, &values) {
            return Err(StorageError::WrongType { value: format!("an array of {}", array.data_type()) });
        }
        Ok(ColumnSource { nulls: array.nulls(), values })
    }

    fn append(&self, part: &KeyPartCodec, row: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let null = part.nullable && self.nulls.is_some_and(|n| n.is_null(row));
        if part.nullable {
            out.push(!null as u8);
        }
        if !null {
            match &self.values {
                Values::I8(v) => encode::int(v[row] as i64, 1, true, out),
                Values::I16(v) => encode::int(v[row] as i64, 2, true, out),
                Values::I32(v) => encode::int(v[row] as i64, 4, true, out),
                Values::I64(v) => encode::int(v[row], 8, true, out),
                Values::U8(v) => encode::int(v[row] as i64, 1, false, out),
                Values::U16(v) => encode::int(v[row] as i64, 2, false, out),
                Values::U32(v) => encode::int(v[row] as i64, 4, false, out),
                Values::U64(v) => encode::int(v[row] as i64, 8, false, out),
                Values::F32(v) => encode::float(v[row], out),
                Values::F64(v) => encode::double(v[row], out),
                Values::I128(v) => encode::wide(v[row], out),
                Values::I256(v) => encode::wide256(v[row], out),
                Values::Bool(v) => encode::int(v.value(row) as i64, 1, true, out),
                Values::Text(v) => match part.kind {
                    KeyKind::Text(collation) => encode::text(cut_text(v.value(row), part.prefix), collation, out),
                    _ => encode::bytes(cut_bytes(v.value(row).as_bytes(), part.prefix), out),
                },
                Values::Bytes(v) => encode::bytes(cut_bytes(v.value(row), part.prefix), out),
            }
        }
        if part.descending {
            complement(&mut out[start..]);
        }
    }

    /// Writes a NOT NULL part of fixed width: row i's bytes at `i * stride + offset`.
    fn write_strided(&self, part: &KeyPartCodec, rows: Range<usize>, out: &mut [u8], stride: usize, offset: usize) {
        fn each<T: Copy, const W: usize>(
            values: &[T],
            out: &mut [u8],
            stride: usize,
            offset: usize,
            complemented: bool,
            encode: impl Fn(T) -> [u8; W],
        ) {
            let flip = if complemented { 0xFF } else { 0 };
            for (value, key) in values.iter().zip(out.chunks_exact_mut(stride)) {
                key[offset..offset + W].copy_from_slice(&encode(*value).map(|b| b ^ flip));
            }
        }
        let d = part.descending;
        match &self.values {
            Values::I8(v) => each(&v[rows], out, stride, offset, d, |x| (x as u8 ^ 1 << 7).to_be_bytes()),
            Values::I16(v) => each(&v[rows], out, stride, offset, d, |x| (x as u16 ^ 1 << 15).to_be_bytes()),
            Values::I32(v) => each(&v[rows], out, stride, offset, d, |x| (x as u32 ^ 1 << 31).to_be_bytes()),
            Values::I64(v) => each(&v[rows], out, stride, offset, d, |x| (x as u64 ^ 1 << 63).to_be_bytes()),
            Values::U8(v) => each(&v[rows], out, stride, offset, d, u8::to_be_bytes),
            Values::U16(v) => each(&v[rows], out, stride, offset, d, u16::to_be_bytes),
            Values::U32(v) => each(&v[rows], out, stride, offset, d, u32::to_be_bytes),
            Values::U64(v) => each(&v[rows], out, stride, offset, d, u64::to_be_bytes),
            Values::I128(v) => each(&v[rows], out, stride, offset, d, |x| (x as u128 ^ 1 << 127).to_be_bytes()),
            Values::I256(_)
            | Values::F32(_)
            | Values::F64(_)
            | Values::Bool(_)
            | Values::Text(_)
            | Values::Bytes(_) => {
                let mut key = Vec::new();
                for (row, slot) in rows.zip(out.chunks_exact_mut(stride)) {
                    key.clear();
                    self.append(part, row, &mut key);
                    slot[offset..offset + key.len()].copy_from_slice(&key);
                }
            }
        }
    }
}
