//! The columns of a batch, value by value.

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal64Array, Decimal128Array, Decimal256Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int64Array, LargeBinaryArray, StringViewArray,
    TimestampMicrosecondArray, UInt64Array, cast::AsArray, types::*,
};
use arrow_schema::{DataType, TimeUnit};
use muster_types::{Decimal, ValueRef};
use std::borrow::Cow;

/// A column's values, integers of all widths brought to 64 bits.
pub enum Cells<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int(Cow<'a, Int64Array>),
    UInt(Cow<'a, UInt64Array>),
    Decimal64(&'a Decimal64Array, u8),
    Decimal128(&'a Decimal128Array, u8),
    Decimal256(&'a Decimal256Array, u8),
    Float(&'a Float32Array),
    Double(&'a Float64Array),
    Date(&'a Date32Array),
    DateTime(&'a TimestampMicrosecondArray),
    Time(&'a DurationMicrosecondArray),
    Text(&'a StringViewArray),
    Bytes(&'a BinaryViewArray),
    Json(&'a LargeBinaryArray),
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
            DataType::Decimal256(_, scale) => Cells::Decimal256(array.as_primitive(), *scale as u8),
            DataType::Float32 => Cells::Float(array.as_primitive()),
            DataType::Float64 => Cells::Double(array.as_primitive()),
            DataType::Date32 => Cells::Date(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Cells::DateTime(array.as_primitive()),
            DataType::Duration(TimeUnit::Microsecond) => Cells::Time(array.as_primitive()),
            DataType::Utf8View => Cells::Text(array.as_string_view()),
            DataType::BinaryView => Cells::Bytes(array.as_binary_view()),
            DataType::LargeBinary => Cells::Json(array.as_binary()),
            _ => Cells::Null,
        }
    }

    /// The value in a row.
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        if self.is_null(row) {
            return ValueRef::Null;
        }
        match self {
            Cells::Null => ValueRef::Null,
            Cells::Bool(a) => ValueRef::Bool(a.value(row)),
            Cells::Int(a) => ValueRef::Int(a.value(row)),
            Cells::UInt(a) => ValueRef::UInt(a.value(row)),
            Cells::Decimal64(a, scale) => ValueRef::Decimal(Decimal::new(a.value(row).into(), *scale)),
            Cells::Decimal128(a, scale) => ValueRef::Decimal(Decimal::new(a.value(row), *scale)),
            Cells::Decimal256(a, scale) => ValueRef::Decimal(Decimal::wide(a.value(row), *scale)),
            Cells::Float(a) => ValueRef::Float(a.value(row)),
            Cells::Double(a) => ValueRef::Double(a.value(row)),
            Cells::Date(a) => ValueRef::Date(a.value(row)),
            Cells::DateTime(a) => ValueRef::DateTime(a.value(row)),
            Cells::Time(a) => ValueRef::Time(a.value(row)),
            Cells::Text(a) => ValueRef::Text(a.value(row)),
            Cells::Bytes(a) => ValueRef::Bytes(a.value(row)),
            Cells::Json(a) => ValueRef::Json(a.value(row)),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Cells::Null => true,
            Cells::Bool(a) => a.is_null(row),
            Cells::Int(a) => a.is_null(row),
            Cells::UInt(a) => a.is_null(row),
            Cells::Decimal64(a, _) => a.is_null(row),
            Cells::Decimal128(a, _) => a.is_null(row),
            Cells::Decimal256(a, _) => a.is_null(row),
            Cells::Float(a) => a.is_null(row),
            Cells::Double(a) => a.is_null(row),
            Cells::Date(a) => a.is_null(row),
            Cells::DateTime(a) => a.is_null(row),
            Cells::Time(a) => a.is_null(row),
            Cells::Text(a) => a.is_null(row),
            Cells::Bytes(a) => a.is_null(row),
            Cells::Json(a) => a.is_null(row),
        }
    }
}
