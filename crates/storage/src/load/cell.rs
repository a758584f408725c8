//! Single values out of Arrow arrays.

use arrow_array::{
    Array,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
        Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use muster_types::{Decimal, Value};

/// The value at `row`. The array has one of the types that [`muster_types::SqlType`] documents; any other reads as NULL.
pub(super) fn value_at(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    macro_rules! native {
        ($t:ty) => {
            array.as_primitive::<$t>().value(row)
        };
    }
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(native!(Int8Type).into()),
        DataType::Int16 => Value::Int(native!(Int16Type).into()),
        DataType::Int32 => Value::Int(native!(Int32Type).into()),
        DataType::Int64 => Value::Int(native!(Int64Type)),
        DataType::UInt8 => Value::UInt(native!(UInt8Type).into()),
        DataType::UInt16 => Value::UInt(native!(UInt16Type).into()),
        DataType::UInt32 => Value::UInt(native!(UInt32Type).into()),
        DataType::UInt64 => Value::UInt(native!(UInt64Type)),
        DataType::Decimal128(_, scale) => Value::Decimal(Decimal::new(native!(Decimal128Type), *scale as u8)),
        DataType::Float32 => Value::Float(native!(Float32Type)),
        DataType::Float64 => Value::Double(native!(Float64Type)),
        DataType::Date32 => Value::Date(native!(Date32Type)),
        DataType::Timestamp(..) => Value::DateTime(native!(TimestampMicrosecondType)),
        DataType::Duration(..) => Value::Time(native!(DurationMicrosecondType)),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_string()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        _ => Value::Null,
    }
}

/// Digits of fractional seconds to print a column of this type with.
pub(super) fn fsp_of(ty: &muster_types::SqlType) -> u8 {
    use muster_types::SqlType::{DateTime, Time, Timestamp};
    match *ty {
        DateTime { fsp } | Timestamp { fsp } | Time { fsp } => fsp,
        _ => 0,
    }
}
