//! Leaves to Arrow arrays: selected rows of many leaves into one array per column, in tight loops.

use super::{
    BadPage,
    codes::Codes,
    column::{Column, Data, Nulls},
    rows::{MixedRows, RowSelection},
    views::Views,
};
use crate::{
    arrow_type,
    processor::in_wide_registers,
    tree::page::{block::OverflowPointer, layout::Physical},
};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, NullArray,
    PrimitiveArray, types::*,
};
use arrow_buffer::{BooleanBuffer, NullBufferBuilder, ScalarBuffer, i256};
use arrow_schema::DataType;
use muster_types::SqlType;
use std::{ops::Range, sync::Arc};

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
    I256(Vec<i256>),
    Bool(Vec<bool>),
    Views(Views),
    Codes(Box<Codes>),
}

/// Does the same with the values of whatever type a sink has.
macro_rules! each_value {
    ($values:expr, $out:ident => $do:expr) => {
        match $values {
            SinkValues::I8($out) => $do,
            SinkValues::I16($out) => $do,
            SinkValues::I32($out) => $do,
            SinkValues::I64($out) => $do,
            SinkValues::U8($out) => $do,
            SinkValues::U16($out) => $do,
            SinkValues::U32($out) => $do,
            SinkValues::U64($out) => $do,
            SinkValues::F32($out) => $do,
            SinkValues::F64($out) => $do,
            SinkValues::I128($out) => $do,
            SinkValues::I256($out) => $do,
            SinkValues::Bool($out) => $do,
            SinkValues::Views(views) => {
                let $out = &mut views.views;
                $do
            }
            SinkValues::Codes(codes) => {
                let $out = &mut codes.rows;
                $do
            }
        }
    };
}

impl ColumnSink {
    /// Makes a sink for a column of this type, with room for `rows`.
    pub fn new(ty: SqlType, rows: usize) -> ColumnSink {
        let ty = ty.stored_type();
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
            DataType::Decimal256(..) => SinkValues::I256(Vec::with_capacity(rows)),
            DataType::Boolean | DataType::Null => SinkValues::Bool(Vec::with_capacity(rows)),
            DataType::Utf8View | DataType::BinaryView | DataType::LargeBinary => {
                SinkValues::Views(Views::with_capacity(rows))
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
        rows: &RowSelection,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        if let RowSelection::Mixed(mixed) = rows {
            return self.append_mixed(column, rows, mixed, overflow);
        }
        self.append_values(column, rows, overflow)?;
        match column.nulls {
            Nulls::None => self.nulls.append_n_non_nulls(rows.len()),
            Nulls::All => self.nulls.append_n_nulls(rows.len()),
            Nulls::Bitmap(_) => rows.iter().for_each(|row| self.nulls.append(!column.nulls.is_null(row))),
        }
        Ok(())
    }

    /// Appends the values alone, of rows of the base.
    pub(super) fn append_values(
        &mut self,
        column: &Column<'_>,
        rows: &RowSelection,
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
            SinkValues::I256(out) => out.extend(rows.iter().map(|row| column.wide256(row))),
            SinkValues::Views(out) => {
                let text = matches!(self.ty, SqlType::Text { .. });
                out.append(column, rows, text, overflow)?;
            }
            SinkValues::Codes(out) => out.append(column, rows, overflow)?,
        }
        Ok(())
    }

    /// Appends rows of which some lie in records, or which are runs of the base.
    fn append_mixed(
        &mut self,
        column: &Column<'_>,
        rows: &RowSelection,
        mixed: &MixedRows,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        let start = self.len();
        if column.overflow.is_some() {
            // Values that are decoded in the place of another row must not lead to pages that may be gone.
            for row in rows.iter() {
                each_value!(&mut self.values, out => out.push(Default::default()));
                self.set(self.nulls.len(), column, row, overflow)?;
                self.nulls.append(!column.is_null(row));
            }
            return Ok(());
        }
        self.append_values(column, rows.decoded(), overflow)?;
        each_value!(&mut self.values, out => mixed.arrange(out, start));
        let mut nulls = false;
        for (place, row) in mixed.outside(column) {
            self.set(start + place, column, row, overflow)?;
            nulls |= column.is_null(row);
        }
        match column.nulls {
            Nulls::None if !nulls => self.nulls.append_n_non_nulls(rows.len()),
            _ => rows.iter().for_each(|row| self.nulls.append(!column.is_null(row))),
        }
        Ok(())
    }

    /// Puts the value of one row in a place that has another.
    fn set(
        &mut self,
        place: usize,
        column: &Column<'_>,
        row: usize,
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        let int = || column.int(row);
        match &mut self.values {
            SinkValues::I8(out) => out[place] = int() as i8,
            SinkValues::I16(out) => out[place] = int() as i16,
            SinkValues::I32(out) => out[place] = int() as i32,
            SinkValues::I64(out) => out[place] = int(),
            SinkValues::U8(out) => out[place] = int() as u8,
            SinkValues::U16(out) => out[place] = int() as u16,
            SinkValues::U32(out) => out[place] = int() as u32,
            SinkValues::U64(out) => out[place] = int() as u64,
            SinkValues::F32(out) => out[place] = f32::from_bits(int() as u32),
            SinkValues::F64(out) => out[place] = f64::from_bits(int() as u64),
            SinkValues::Bool(out) => out[place] = int() != 0,
            SinkValues::I128(out) => out[place] = column.wide(row),
            SinkValues::I256(out) => out[place] = column.wide256(row),
            SinkValues::Views(out) => out.views[place] = out.of_row(column, row, self.ty.is_text(), overflow)?,
            SinkValues::Codes(out) => out.rows[place] = out.code_of_row(column, row, overflow)?,
        }
        Ok(())
    }

    /// The same for rows in runs with few rows between them, which are decoded as well and then dropped. There is at
    /// least one run.
    pub fn append_runs(
        &mut self,
        column: &Column<'_>,
        runs: &[Range<usize>],
        overflow: &dyn OverflowReader,
    ) -> Result<(), DecodeError> {
        if matches!(column.nulls, Nulls::Bitmap(_)) || column.overflow.is_some() {
            return runs.iter().try_for_each(|run| self.append(column, &RowSelection::Range(run.clone()), overflow));
        }
        let kept = runs.iter().map(Range::len).sum();
        let span = runs[0].start..runs[runs.len() - 1].end;
        let start = self.len();
        self.append_values(column, &RowSelection::Range(span), overflow)?;
        each_value!(&mut self.values, out => keep_runs(out, start, runs));
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
            SinkValues::I256(v) => {
                Arc::new(Decimal256Array::new(ScalarBuffer::from(v), nulls).with_data_type(arrow_type(&self.ty)))
            }
            SinkValues::Bool(v) if matches!(self.ty, SqlType::Null) => Arc::new(NullArray::new(v.len())),
            SinkValues::Bool(v) => Arc::new(BooleanArray::new(BooleanBuffer::from(v), nulls)),
            SinkValues::Views(views) if self.ty == SqlType::Json => views.finish_documents(nulls),
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

/// Appends ints, converted.
pub(super) fn ints<T: Copy>(
    column: &Column<'_>,
    rows: &RowSelection,
    out: &mut Vec<T>,
    convert: impl Fn(i64) -> T + Copy,
) {
    let start = out.len();
    base_ints(column, rows.decoded(), out, convert);
    if let RowSelection::Mixed(mixed) = rows {
        mixed.arrange(out, start);
        mixed.outside(column).for_each(|(place, row)| out[start + place] = convert(column.int(row)));
    }
}

/// The same for rows of the base. `convert` is inlined into one loop per encoding.
fn base_ints<T: Copy>(column: &Column<'_>, rows: &RowSelection, out: &mut Vec<T>, convert: impl Fn(i64) -> T + Copy) {
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
pub(super) fn fixed<const W: usize, T>(data: &[u8], rows: &RowSelection, out: &mut Vec<T>, convert: impl Fn(u64) -> T) {
    match rows.decoded() {
        RowSelection::Range(range) => {
            let (values, _) = data[range.start * W..range.end * W].as_chunks::<W>();
            in_wide_registers(move || out.extend(values.iter().map(|x| convert(le_int::<W>(x)))));
        }
        RowSelection::List(list) => {
            let (values, _) = data.as_chunks::<W>();
            out.extend(list.iter().map(|row| convert(le_int::<W>(&values[*row as usize]))));
        }
        // Decoded rows are never mixed.
        RowSelection::Mixed(_) => {}
    }
}
