//! Leaves to Arrow arrays: selected rows of many leaves into one array per column, in tight loops.

use super::{
    BadPage,
    codes::Codes,
    read::{Column, Data, Nulls, Strings, are_few},
    visible::Rows,
};
use crate::{
    arrow_type,
    processor::in_wide_registers,
    tree::{block::OverflowPointer, layout::Physical},
};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal64Array, Decimal128Array, DictionaryArray, NullArray,
    PrimitiveArray, StringViewArray, types::*,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, NullBufferBuilder, ScalarBuffer};
use arrow_schema::DataType;
use muster_types::SqlType;
use std::{ops::Range, sync::Arc};

/// Most bytes of one block of strings, so that views' offsets stay small; a longer value gets a block of its own.
const BLOCK_BYTES: usize = 1 << 26;
/// Longest string that a view holds itself.
const INLINE: usize = 12;

/// An unsigned little-endian number of `W` bytes. `bytes` has at least `W`.
#[inline]
pub fn le_int<const W: usize>(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..W].copy_from_slice(&bytes[..W]);
    u64::from_le_bytes(all)
}

/// Reads values from overflow pages.
pub trait OverflowReader {
    fn read(&self, pointer: OverflowPointer) -> crate::Result<Vec<u8>>;
}

/// The cause of a failure while decoding: this page, or reading another.
#[derive(Debug)]
pub enum DecodeError {
    Page(BadPage),
    Storage(crate::StorageError),
}

impl From<BadPage> for DecodeError {
    fn from(e: BadPage) -> Self {
        DecodeError::Page(e)
    }
}

impl From<crate::StorageError> for DecodeError {
    fn from(e: crate::StorageError) -> Self {
        DecodeError::Storage(e)
    }
}

/// Collects a column's values from leaves.
pub struct ColumnSink {
    ty: SqlType,
    physical: Physical,
    values: SinkValues,
    nulls: NullBufferBuilder,
}

enum SinkValues {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I128(Vec<i128>),
    Bool(Vec<bool>),
    Views(Views),
    Codes(Box<Codes>),
}

/// Views of strings, and the blocks that the long ones point into.
#[derive(Default)]
struct Views {
    views: Vec<u128>,
    blocks: Vec<Buffer>,
    current: Vec<u8>,
}

impl ColumnSink {
    /// Makes a sink for a column of this type, with room for `rows`.
    pub fn new(ty: SqlType, rows: usize) -> ColumnSink {
        let values = match arrow_type(&ty) {
            DataType::Int8 => SinkValues::I8(Vec::with_capacity(rows)),
            DataType::Int16 => SinkValues::I16(Vec::with_capacity(rows)),
            DataType::Int32 | DataType::Date32 => SinkValues::I32(Vec::with_capacity(rows)),
            DataType::UInt8 => SinkValues::U8(Vec::with_capacity(rows)),
            DataType::UInt16 => SinkValues::U16(Vec::with_capacity(rows)),
            DataType::UInt32 => SinkValues::U32(Vec::with_capacity(rows)),
            DataType::UInt64 => SinkValues::U64(Vec::with_capacity(rows)),
            DataType::Float32 => SinkValues::F32(Vec::with_capacity(rows)),
            DataType::Float64 => SinkValues::F64(Vec::with_capacity(rows)),
            DataType::Decimal128(..) => SinkValues::I128(Vec::with_capacity(rows)),
            DataType::Boolean | DataType::Null => SinkValues::Bool(Vec::with_capacity(rows)),
            DataType::Utf8View | DataType::BinaryView => {
                SinkValues::Views(Views { views: Vec::with_capacity(rows), ..Views::default() })
            }
            _ => SinkValues::I64(Vec::with_capacity(rows)),
        };
        ColumnSink { ty, physical: Physical::of(&ty), values, nulls: NullBufferBuilder::new(rows) }
    }

    /// The same for a column of texts or byte strings that becomes a dictionary.
    pub fn coded(ty: SqlType, rows: usize) -> ColumnSink {
        let values = SinkValues::Codes(Box::new(Codes::new(ty.is_text(), rows)));
        ColumnSink { ty, physical: Physical::of(&ty), values, nulls: NullBufferBuilder::new(rows) }
    }

    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn physical(&self) -> Physical {
        self.physical
    }

    /// Appends rows of a leaf's column. The column is of this sink's class.
    pub fn append(
        &mut self,
        column: &Column<'_>,
        rows: &Rows,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        self.append_values(column, rows, overflow)?;
        match column.nulls {
            Nulls::None => self.nulls.append_n_non_nulls(rows.len()),
            Nulls::All => self.nulls.append_n_nulls(rows.len()),
            Nulls::Bitmap(_) => rows.iter().for_each(|row| self.nulls.append(!column.nulls.is_null(row))),
        }
        Ok(())
    }

    /// Appends the values alone.
    fn append_values(
        &mut self,
        column: &Column<'_>,
        rows: &Rows,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        match &mut self.values {
            SinkValues::I8(out) => ints(column, rows, out, |x| x as i8),
            SinkValues::I16(out) => ints(column, rows, out, |x| x as i16),
            SinkValues::I32(out) => ints(column, rows, out, |x| x as i32),
            SinkValues::I64(out) => ints(column, rows, out, |x| x),
            SinkValues::U8(out) => ints(column, rows, out, |x| x as u8),
            SinkValues::U16(out) => ints(column, rows, out, |x| x as u16),
            SinkValues::U32(out) => ints(column, rows, out, |x| x as u32),
            SinkValues::U64(out) => ints(column, rows, out, |x| x as u64),
            SinkValues::F32(out) => ints(column, rows, out, |x| f32::from_bits(x as u32)),
            SinkValues::F64(out) => ints(column, rows, out, |x| f64::from_bits(x as u64)),
            SinkValues::Bool(out) => ints(column, rows, out, |x| x != 0),
            SinkValues::I128(out) => match column.data {
                Data::WideConstant(x) => out.resize(out.len() + rows.len(), x),
                _ => out.extend(rows.iter().map(|row| column.wide(row))),
            },
            SinkValues::Views(out) => {
                let text = matches!(self.ty, SqlType::Text { .. });
                out.append(column, rows, text, overflow)?;
            }
            SinkValues::Codes(out) => out.append(column, rows, overflow)?,
        }
        Ok(())
    }

    /// The same for rows in runs with few rows between them, which are decoded as well and then dropped. There is at least
    /// one run.
    pub fn append_runs(
        &mut self,
        column: &Column<'_>,
        runs: &[Range<usize>],
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        if matches!(column.nulls, Nulls::Bitmap(_)) || column.overflow.is_some() {
            return runs.iter().try_for_each(|run| self.append(column, &Rows::Range(run.clone()), overflow));
        }
        let kept = runs.iter().map(Range::len).sum();
        let span = runs[0].start..runs[runs.len() - 1].end;
        let start = self.len();
        self.append_values(column, &Rows::Range(span), overflow)?;
        match &mut self.values {
            SinkValues::I8(out) => keep_runs(out, start, runs),
            SinkValues::I16(out) => keep_runs(out, start, runs),
            SinkValues::I32(out) => keep_runs(out, start, runs),
            SinkValues::I64(out) => keep_runs(out, start, runs),
            SinkValues::U8(out) => keep_runs(out, start, runs),
            SinkValues::U16(out) => keep_runs(out, start, runs),
            SinkValues::U32(out) => keep_runs(out, start, runs),
            SinkValues::U64(out) => keep_runs(out, start, runs),
            SinkValues::F32(out) => keep_runs(out, start, runs),
            SinkValues::F64(out) => keep_runs(out, start, runs),
            SinkValues::I128(out) => keep_runs(out, start, runs),
            SinkValues::Bool(out) => keep_runs(out, start, runs),
            SinkValues::Views(out) => keep_runs(&mut out.views, start, runs),
            SinkValues::Codes(out) => keep_runs(&mut out.rows, start, runs),
        }
        match column.nulls {
            Nulls::All => self.nulls.append_n_nulls(kept),
            _ => self.nulls.append_n_non_nulls(kept),
        }
        Ok(())
    }

    /// The array of all that was appended.
    pub fn finish(mut self) -> ArrayRef {
        let nulls = self.nulls.finish();
        macro_rules! primitive {
            ($type:ty, $values:expr) => {
                Arc::new(PrimitiveArray::<$type>::new(ScalarBuffer::from($values), nulls))
            };
        }
        match self.values {
            SinkValues::I8(v) => primitive!(Int8Type, v),
            SinkValues::I16(v) => primitive!(Int16Type, v),
            SinkValues::I32(v) if matches!(self.ty, SqlType::Date) => primitive!(Date32Type, v),
            SinkValues::I32(v) => primitive!(Int32Type, v),
            SinkValues::I64(v) => match self.ty {
                SqlType::DateTime { .. } | SqlType::Timestamp { .. } => primitive!(TimestampMicrosecondType, v),
                SqlType::Time { .. } => primitive!(DurationMicrosecondType, v),
                SqlType::Decimal { .. } => {
                    Arc::new(Decimal64Array::new(ScalarBuffer::from(v), nulls).with_data_type(arrow_type(&self.ty)))
                }
                _ => primitive!(Int64Type, v),
            },
            SinkValues::U8(v) => primitive!(UInt8Type, v),
            SinkValues::U16(v) => primitive!(UInt16Type, v),
            SinkValues::U32(v) => primitive!(UInt32Type, v),
            SinkValues::U64(v) => primitive!(UInt64Type, v),
            SinkValues::F32(v) => primitive!(Float32Type, v),
            SinkValues::F64(v) => primitive!(Float64Type, v),
            SinkValues::I128(v) => {
                Arc::new(Decimal128Array::new(ScalarBuffer::from(v), nulls).with_data_type(arrow_type(&self.ty)))
            }
            SinkValues::Bool(v) if matches!(self.ty, SqlType::Null) => Arc::new(NullArray::new(v.len())),
            SinkValues::Bool(v) => Arc::new(BooleanArray::new(BooleanBuffer::from(v), nulls)),
            SinkValues::Views(views) => views.finish(self.ty.is_text(), nulls),
            SinkValues::Codes(codes) => {
                let mut views = Views::default();
                for value in &codes.values {
                    let view = views.copy(value);
                    views.views.push(view);
                }
                let values = views.finish(self.ty.is_text(), None);
                let keys = PrimitiveArray::<UInt32Type>::new(ScalarBuffer::from(codes.rows), nulls);
                // SAFETY: the code of every row that is not NULL is the position of a value.
                Arc::new(unsafe { DictionaryArray::new_unchecked(keys, values) })
            }
        }
    }
}

/// Drops what lies between the runs. The values from `start` on are those of the rows from the first run to the end of
/// the last.
fn keep_runs<T: Copy>(values: &mut Vec<T>, start: usize, runs: &[Range<usize>]) {
    let mut end = start + runs[0].len();
    for run in &runs[1..] {
        let from = start + run.start - runs[0].start;
        values.copy_within(from..from + run.len(), end);
        end += run.len();
    }
    values.truncate(end);
}

/// Appends ints, converted. `convert` is inlined into one loop per encoding.
pub(super) fn ints<T: Copy>(column: &Column<'_>, rows: &Rows, out: &mut Vec<T>, convert: impl Fn(i64) -> T + Copy) {
    match column.data {
        Data::IntConstant(x) => out.resize(out.len() + rows.len(), convert(x)),
        Data::IntDelta { base, width, data } => {
            let add = move |x: u64| convert(base.wrapping_add(x as i64));
            match width {
                1 => fixed::<1, T>(data, rows, out, add),
                2 => fixed::<2, T>(data, rows, out, add),
                _ => fixed::<4, T>(data, rows, out, add),
            }
        }
        Data::IntPlain { width, signed, data } => match (width, signed) {
            (1, true) => fixed::<1, T>(data, rows, out, move |x| convert(x as i8 as i64)),
            (2, true) => fixed::<2, T>(data, rows, out, move |x| convert(x as i16 as i64)),
            (4, true) => fixed::<4, T>(data, rows, out, move |x| convert(x as i32 as i64)),
            (1, false) => fixed::<1, T>(data, rows, out, move |x| convert(x as i64)),
            (2, false) => fixed::<2, T>(data, rows, out, move |x| convert(x as i64)),
            (4, false) => fixed::<4, T>(data, rows, out, move |x| convert(x as i64)),
            _ => fixed::<8, T>(data, rows, out, move |x| convert(x as i64)),
        },
        // Columns of other classes do not come here.
        _ => out.extend(rows.iter().map(|_| convert(0))),
    }
}

#[inline]
fn fixed<const W: usize, T>(data: &[u8], rows: &Rows, out: &mut Vec<T>, convert: impl Fn(u64) -> T) {
    match rows {
        Rows::Range(range) => {
            let (values, _) = data[range.start * W..range.end * W].as_chunks::<W>();
            in_wide_registers(move || out.extend(values.iter().map(|x| convert(le_int::<W>(x)))));
        }
        Rows::List(list) => {
            let (values, _) = data.as_chunks::<W>();
            out.extend(list.iter().map(|row| convert(le_int::<W>(&values[*row as usize]))));
        }
    }
}

/// Appends views of strings of one length, which views hold themselves.
fn append_short(data: &[u8], width: usize, rows: &Rows, views: &mut Vec<u128>) {
    match width {
        // CHAR(1) is what reports group by.
        1 => fixed::<1, _>(data, rows, views, |byte| 1 | (byte as u128) << 32),
        _ => views.extend(rows.iter().map(|row| inline_view(&data[row * width..][..width]))),
    }
}

/// Checks that strings in a heap are UTF-8.
fn check_text(strings: &Strings<'_>) -> Result<(), BadPage> {
    if strings.heap.is_ascii() {
        return Ok(());
    }
    for i in 0..strings.len() {
        std::str::from_utf8(strings.get(i)).map_err(|_| BadPage("text that is not UTF-8"))?;
    }
    Ok(())
}

impl Views {
    /// The array of all values, which were checked to be UTF-8 if they are texts.
    fn finish(mut self, text: bool, nulls: Option<NullBuffer>) -> ArrayRef {
        self.close_block();
        let views = ScalarBuffer::from(self.views);
        match text {
            // SAFETY: every view is made here, from bytes that were checked to be UTF-8 and that were copied into the
            // view or into the block that the view names, within the block's length.
            true => Arc::new(unsafe { StringViewArray::new_unchecked(views, self.blocks, nulls) }),
            // SAFETY: as above; bytes need not be UTF-8.
            false => Arc::new(unsafe { BinaryViewArray::new_unchecked(views, self.blocks, nulls) }),
        }
    }

    fn close_block(&mut self) {
        if !self.current.is_empty() {
            self.blocks.push(Buffer::from(std::mem::take(&mut self.current)));
        }
    }

    /// Makes room in the current block for that many bytes. Returns block number and offset of what comes next.
    fn place(&mut self, bytes: usize) -> (u32, u32) {
        if self.current.len() + bytes > BLOCK_BYTES {
            self.close_block();
        }
        (self.blocks.len() as u32, self.current.len() as u32)
    }

    /// Copies a value. Returns its view.
    #[inline]
    fn copy(&mut self, value: &[u8]) -> u128 {
        if value.len() <= INLINE {
            return inline_view(value);
        }
        let (block, offset) = self.place(value.len());
        self.current.extend_from_slice(value);
        long_view(value, block, offset)
    }

    fn append(
        &mut self,
        column: &Column<'_>,
        rows: &Rows,
        text: bool,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        let check = |value: &[u8]| match !text || std::str::from_utf8(value).is_ok() {
            true => Ok(()),
            false => Err(BadPage("text that is not UTF-8")),
        };
        if column.overflow.is_some() {
            for row in rows.iter() {
                let view = if column.nulls.is_null(row) {
                    0
                } else if column.is_overflow(row) {
                    let pointer = OverflowPointer::from_bytes(column.bytes(row));
                    let value = overflow.read(pointer.ok_or(BadPage("overflow pointer of wrong length"))?)?;
                    check(&value)?;
                    self.copy(&value)
                } else {
                    check(column.bytes(row))?;
                    self.copy(column.bytes(row))
                };
                self.views.push(view);
            }
            return Ok(());
        }
        match column.data {
            Data::BytesConstant(value) => {
                check(value)?;
                let view = self.copy(value);
                self.views.resize(self.views.len() + rows.len(), view);
            }
            Data::BytesFixed { width, data } => {
                if text && are_few(rows.len() * width, data.len()) {
                    rows.iter().try_for_each(|row| check(&data[row * width..][..width]))?;
                } else if text && !data.is_ascii() {
                    data.chunks_exact(width.max(1)).try_for_each(check)?;
                }
                if let Rows::Range(range) = rows
                    && width > INLINE
                {
                    self.append_copied(&data[range.start * width..range.end * width], range.len(), |i| i * width);
                } else if width <= INLINE {
                    append_short(data, width, rows, &mut self.views);
                } else {
                    for row in rows.iter() {
                        let view = self.copy(&data[row * width..][..width]);
                        self.views.push(view);
                    }
                }
            }
            Data::Bytes(strings) if are_few(rows.len(), strings.len()) => {
                for row in rows.iter() {
                    check(strings.get(row))?;
                }
                self.append_each(&strings, rows.iter());
            }
            Data::Bytes(strings) => {
                if text {
                    check_text(&strings)?;
                }
                self.append_strings(&strings, rows);
            }
            Data::Dictionary { codes, entries } if rows.len() < entries.len() => {
                for row in rows.iter() {
                    let value = entries.get(codes[row] as usize);
                    check(value)?;
                    let view = self.copy(value);
                    self.views.push(view);
                }
            }
            Data::Dictionary { codes, entries } => {
                if text {
                    check_text(&entries)?;
                }
                // As many as a code can say, so that no code has to be checked.
                let mut views = [0u128; 256];
                for (i, view) in views.iter_mut().enumerate().take(entries.len()) {
                    *view = self.copy(entries.get(i));
                }
                match rows {
                    Rows::Range(range) => {
                        self.views.extend(codes[range.clone()].iter().map(|code| views[*code as usize]));
                    }
                    Rows::List(list) => {
                        self.views.extend(list.iter().map(|row| views[codes[*row as usize] as usize]));
                    }
                }
            }
            _ => self.views.resize(self.views.len() + rows.len(), 0),
        }
        Ok(())
    }

    fn append_strings(&mut self, strings: &Strings<'_>, rows: &Rows) {
        match rows {
            Rows::Range(range) if !range.is_empty() => {
                let start = strings.offset(range.start);
                let bytes = &strings.heap[start..strings.offset(range.end)];
                if bytes.len() > range.len() * INLINE / 2 {
                    let offsets = &strings.offsets()[2 * range.start..];
                    self.append_copied(bytes, range.len(), |i| {
                        le_int::<2>(&offsets[2 * i..2 * i + 2]) as usize - start
                    });
                } else {
                    self.append_each(strings, range.clone());
                }
            }
            _ => self.append_each(strings, rows.iter()),
        }
    }

    fn append_each(&mut self, strings: &Strings<'_>, rows: impl Iterator<Item = usize>) {
        for row in rows {
            let view = self.copy(strings.get(row));
            self.views.push(view);
        }
    }

    /// Copies neighbouring values at once: `count` of them, `offset(i)` says where value i begins in `bytes`, and
    /// `offset(count)` where the last ends.
    fn append_copied(&mut self, bytes: &[u8], count: usize, offset: impl Fn(usize) -> usize) {
        let (block, at) = self.place(bytes.len());
        self.current.extend_from_slice(bytes);
        self.views.reserve(count);
        let mut start = offset(0);
        self.views.extend((0..count).map(|i| {
            let end = offset(i + 1);
            let view = view_at(bytes, start..end, block, at);
            start = end;
            view
        }));
    }
}

/// The view of a value within bytes that were copied to `at` in a block.
#[inline]
fn view_at(bytes: &[u8], range: Range<usize>, block: u32, at: u32) -> u128 {
    let value = &bytes[range.start..range.end];
    if value.len() > INLINE {
        return long_view(value, block, at + range.start as u32);
    }
    // Reading a whole word and masking it beats copying a few bytes.
    match bytes.get(range.start..range.start + 16) {
        Some(word) => {
            let word = le_int::<8>(word) as u128 | (le_int::<8>(&word[8..]) as u128) << 64;
            let mask = (1u128 << (8 * value.len())) - 1;
            value.len() as u128 | (word & mask) << 32
        }
        None => inline_view(value),
    }
}

/// The view of a string of at most 12 bytes, from words that overlap: bytes written one by one and read back as a word
/// would wait for each other.
#[inline]
fn inline_view(value: &[u8]) -> u128 {
    let n = value.len();
    let word = match n {
        8.. => le_int::<8>(value) as u128 | (le_int::<8>(&value[n - 8..]) as u128) << (8 * (n - 8)),
        4.. => le_int::<4>(value) as u128 | (le_int::<4>(&value[n - 4..]) as u128) << (8 * (n - 4)),
        1.. => value[0] as u128 | (value[n / 2] as u128) << (8 * (n / 2)) | (value[n - 1] as u128) << (8 * (n - 1)),
        0 => 0,
    };
    n as u128 | word << 32
}

/// The view of a longer string: length, first four bytes, block, offset.
#[inline]
fn long_view(value: &[u8], block: u32, offset: u32) -> u128 {
    value.len() as u128 | (le_int::<4>(value) as u128) << 32 | (block as u128) << 64 | (offset as u128) << 96
}
