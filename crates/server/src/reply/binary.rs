//! Rows by type, for prepared statements: a bitmap of NULLs, then the values that are there.

use super::{
    ResultCharset,
    column::{self, column_type},
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal64Array, Decimal128Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray, UInt64Array, cast::AsArray, types::*,
};
use arrow_schema::{DataType, TimeUnit};
use muster_engine::ColumnInfo;
use muster_protocol::put_length_bytes;
use muster_types::{
    Decimal,
    charset::{self, Charset},
    temporal::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days},
};
use mysql_common::constants::ColumnType;
use std::borrow::Cow;

/// Bits that the NULL bitmap of a row leaves free at its start.
const NULL_BITMAP_OFFSET: usize = 2;

/// A column's values, integers of all widths brought to 64 bits.
pub enum Cells<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int(Cow<'a, Int64Array>),
    UInt(Cow<'a, UInt64Array>),
    Decimal64(&'a Decimal64Array, u8),
    Decimal128(&'a Decimal128Array, u8),
    Float(&'a Float32Array),
    Double(&'a Float64Array),
    Date(&'a Date32Array),
    DateTime(&'a TimestampMicrosecondArray),
    Time(&'a DurationMicrosecondArray),
    Text(&'a StringViewArray),
    Bytes(&'a BinaryViewArray),
}

impl<'a> Cells<'a> {
    /// The Arrow types that `SqlType` documents; anything else is an error of the engine and shows as NULL.
    pub fn new(array: &'a ArrayRef) -> Cells<'a> {
        match array.data_type() {
            DataType::Boolean => Cells::Bool(array.as_boolean()),
            DataType::Int8 => Cells::Int(Cow::Owned(array.as_primitive::<Int8Type>().unary(i64::from))),
            DataType::Int16 => Cells::Int(Cow::Owned(array.as_primitive::<Int16Type>().unary(i64::from))),
            DataType::Int32 => Cells::Int(Cow::Owned(array.as_primitive::<Int32Type>().unary(i64::from))),
            DataType::Int64 => Cells::Int(Cow::Borrowed(array.as_primitive())),
            DataType::UInt8 => Cells::UInt(Cow::Owned(array.as_primitive::<UInt8Type>().unary(u64::from))),
            DataType::UInt16 => Cells::UInt(Cow::Owned(array.as_primitive::<UInt16Type>().unary(u64::from))),
            DataType::UInt32 => Cells::UInt(Cow::Owned(array.as_primitive::<UInt32Type>().unary(u64::from))),
            DataType::UInt64 => Cells::UInt(Cow::Borrowed(array.as_primitive())),
            DataType::Decimal64(_, scale) => Cells::Decimal64(array.as_primitive(), *scale as u8),
            DataType::Decimal128(_, scale) => Cells::Decimal128(array.as_primitive(), *scale as u8),
            DataType::Float32 => Cells::Float(array.as_primitive()),
            DataType::Float64 => Cells::Double(array.as_primitive()),
            DataType::Date32 => Cells::Date(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Cells::DateTime(array.as_primitive()),
            DataType::Duration(TimeUnit::Microsecond) => Cells::Time(array.as_primitive()),
            DataType::Utf8View => Cells::Text(array.as_string_view()),
            DataType::BinaryView => Cells::Bytes(array.as_binary_view()),
            _ => Cells::Null,
        }
    }

    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Cells::Null => true,
            Cells::Bool(a) => a.is_null(row),
            Cells::Int(a) => a.is_null(row),
            Cells::UInt(a) => a.is_null(row),
            Cells::Decimal64(a, _) => a.is_null(row),
            Cells::Decimal128(a, _) => a.is_null(row),
            Cells::Float(a) => a.is_null(row),
            Cells::Double(a) => a.is_null(row),
            Cells::Date(a) => a.is_null(row),
            Cells::DateTime(a) => a.is_null(row),
            Cells::Time(a) => a.is_null(row),
            Cells::Text(a) => a.is_null(row),
            Cells::Bytes(a) => a.is_null(row),
        }
    }
}

/// Writes the values of one column.
pub struct Writer<'a> {
    cells: Cells<'a>,
    column_type: ColumnType,
    charset: Charset,
}

/// One writer per column.
pub fn writers<'a>(columns: &[ColumnInfo], batch: &'a RecordBatch, charset: ResultCharset) -> Vec<Writer<'a>> {
    (columns.iter().zip(batch.columns()))
        .map(|(column, array)| Writer {
            cells: Cells::new(array),
            column_type: column_type(&column.ty),
            charset: column::charset(column, charset),
        })
        .collect()
}

pub fn write_row(writers: &[Writer<'_>], row: usize, out: &mut Vec<u8>) {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (writers.len() + NULL_BITMAP_OFFSET).div_ceil(8), 0);
    for (i, writer) in writers.iter().enumerate() {
        if writer.cells.is_null(row) {
            let bit = i + NULL_BITMAP_OFFSET;
            out[bitmap + bit / 8] |= 1 << (bit % 8);
        } else {
            writer.write(row, out);
        }
    }
}

impl Writer<'_> {
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match &self.cells {
            Cells::Null => {}
            Cells::Bool(a) => self.put_integer(a.value(row) as u64, out),
            Cells::Int(a) => self.put_integer(a.value(row) as u64, out),
            Cells::UInt(a) => self.put_integer(a.value(row), out),
            Cells::Decimal64(a, scale) => {
                put_length_bytes(Decimal::new(a.value(row).into(), *scale).to_string().as_bytes(), out)
            }
            Cells::Decimal128(a, scale) => {
                put_length_bytes(Decimal::new(a.value(row), *scale).to_string().as_bytes(), out)
            }
            Cells::Float(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
            Cells::Double(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
            Cells::Date(a) => put_datetime(a.value(row) as i64 * MICROS_PER_DAY, out),
            Cells::DateTime(a) => put_datetime(a.value(row), out),
            Cells::Time(a) => put_time(a.value(row), out),
            Cells::Text(a) => put_length_bytes(&charset::encode(self.charset, a.value(row)), out),
            Cells::Bytes(a) => put_length_bytes(a.value(row), out),
        }
    }

    /// Writes as many bytes as the announced type has, in two's complement, so that signed and unsigned integers are
    /// alike.
    fn put_integer(&self, n: u64, out: &mut Vec<u8>) {
        let bytes = n.to_le_bytes();
        let width = match self.column_type {
            ColumnType::MYSQL_TYPE_TINY => 1,
            ColumnType::MYSQL_TYPE_SHORT => 2,
            ColumnType::MYSQL_TYPE_LONG | ColumnType::MYSQL_TYPE_INT24 => 4,
            _ => 8,
        };
        out.extend_from_slice(&bytes[..width]);
    }
}

/// The shortest of the protocol's forms that holds the value: 4, 7 or 11 bytes.
fn put_datetime(micros: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(micros.div_euclid(MICROS_PER_DAY) as i32);
    let clock = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (clock / MICROS_PER_SECOND, clock % MICROS_PER_SECOND);
    let length = if fraction > 0 {
        11
    } else if seconds > 0 {
        7
    } else {
        4
    };
    out.push(length);
    out.extend_from_slice(&(year as u16).to_le_bytes());
    out.extend_from_slice(&[month as u8, day as u8]);
    if length > 4 {
        out.extend_from_slice(&[(seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8]);
    }
    if length > 7 {
        out.extend_from_slice(&(fraction as u32).to_le_bytes());
    }
}

fn put_time(micros: i64, out: &mut Vec<u8>) {
    let t = micros.unsigned_abs();
    let (seconds, fraction) = (t / MICROS_PER_SECOND as u64, t % MICROS_PER_SECOND as u64);
    let length = if fraction > 0 {
        12
    } else if seconds > 0 {
        8
    } else {
        0
    };
    out.push(length);
    if length > 0 {
        out.push((micros < 0) as u8);
        out.extend_from_slice(&((seconds / 86_400) as u32).to_le_bytes());
        out.extend_from_slice(&[(seconds / 3600 % 24) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8]);
    }
    if length > 8 {
        out.extend_from_slice(&(fraction as u32).to_le_bytes());
    }
}
