//! Single values and Arrow arrays of them, both ways. The mapping of types stands at [`SqlType`].

use arrow_array::{
    Array, ArrayRef,
    builder::{BinaryViewBuilder, StringViewBuilder},
    cast::AsArray,
    new_null_array,
    types::*,
};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use muster_types::{Decimal, IntWidth, Result, SqlError, SqlType, Value};
use std::sync::Arc;

/// The Arrow type of values of this type.
pub fn data_type(ty: SqlType) -> DataType {
    match ty {
        SqlType::Null => DataType::Null,
        SqlType::Bool => DataType::Boolean,
        SqlType::Int { width, unsigned } => match (width, unsigned) {
            (IntWidth::Tiny, false) => DataType::Int8,
            (IntWidth::Small, false) => DataType::Int16,
            (IntWidth::Medium | IntWidth::Int, false) => DataType::Int32,
            (IntWidth::Big, false) => DataType::Int64,
            (IntWidth::Tiny, true) => DataType::UInt8,
            (IntWidth::Small, true) => DataType::UInt16,
            (IntWidth::Medium | IntWidth::Int, true) => DataType::UInt32,
            (IntWidth::Big, true) => DataType::UInt64,
        },
        SqlType::Decimal { precision, scale } => DataType::Decimal128(precision.min(38), scale.min(38) as i8),
        SqlType::Float => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Date => DataType::Date32,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Time { .. } => DataType::Duration(TimeUnit::Microsecond),
        SqlType::Text { .. } => DataType::Utf8View,
        SqlType::Bytes { .. } => DataType::BinaryView,
    }
}

fn mismatch(value: &Value, ty: SqlType) -> SqlError {
    SqlError::internal(format!("value {value} is not of type {ty}"))
}

/// The value as an integer, if it is a whole number.
fn whole(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Bool(b) => *b as i128,
        Value::Int(i) => *i as i128,
        Value::UInt(u) => *u as i128,
        Value::Decimal(d) => d.rescale(0)?.unscaled,
        _ => return None,
    })
}

/// A value as a scalar of the type; numbers of another kind are converted when nothing is lost.
pub fn scalar(value: &Value, ty: SqlType) -> Result<ScalarValue> {
    let wrong = || mismatch(value, ty);
    if value.is_null() {
        return ScalarValue::try_from(&data_type(ty)).map_err(SqlError::internal);
    }
    let int = || whole(value).ok_or_else(wrong);
    let double = || -> Result<f64> {
        Ok(match value {
            Value::Double(x) => *x,
            Value::Float(x) => *x as f64,
            Value::Decimal(d) => d.to_f64(),
            other => whole(other).ok_or_else(wrong)? as f64,
        })
    };
    Ok(match ty {
        SqlType::Null => ScalarValue::Null,
        SqlType::Bool => ScalarValue::Boolean(Some(int()? != 0)),
        SqlType::Int { .. } => {
            let n = int()?;
            match data_type(ty) {
                DataType::Int8 => ScalarValue::Int8(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::Int16 => ScalarValue::Int16(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::Int32 => ScalarValue::Int32(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::Int64 => ScalarValue::Int64(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::UInt8 => ScalarValue::UInt8(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::UInt16 => ScalarValue::UInt16(Some(n.try_into().map_err(|_| wrong())?)),
                DataType::UInt32 => ScalarValue::UInt32(Some(n.try_into().map_err(|_| wrong())?)),
                _ => ScalarValue::UInt64(Some(n.try_into().map_err(|_| wrong())?)),
            }
        }
        SqlType::Decimal { precision, scale } => {
            let d = match value {
                Value::Decimal(d) => *d,
                _ => Decimal::new(int()?, 0),
            };
            let d = d.rescale(scale).ok_or_else(wrong)?;
            ScalarValue::Decimal128(Some(d.unscaled), precision.min(38), scale as i8)
        }
        SqlType::Float => ScalarValue::Float32(Some(double()? as f32)),
        SqlType::Double => ScalarValue::Float64(Some(double()?)),
        SqlType::Date => match value {
            Value::Date(d) => ScalarValue::Date32(Some(*d)),
            _ => return Err(wrong()),
        },
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => match value {
            Value::DateTime(t) => ScalarValue::TimestampMicrosecond(Some(*t), None),
            Value::Date(d) => {
                ScalarValue::TimestampMicrosecond(Some(*d as i64 * muster_types::temporal::MICROS_PER_DAY), None)
            }
            _ => return Err(wrong()),
        },
        SqlType::Time { .. } => match value {
            Value::Time(t) => ScalarValue::DurationMicrosecond(Some(*t)),
            _ => return Err(wrong()),
        },
        SqlType::Text { .. } => match value {
            Value::Text(s) => ScalarValue::Utf8View(Some(s.clone())),
            Value::Bytes(b) => ScalarValue::Utf8View(Some(String::from_utf8_lossy(b).into_owned())),
            _ => return Err(wrong()),
        },
        SqlType::Bytes { .. } => match value {
            Value::Bytes(b) => ScalarValue::BinaryView(Some(b.clone())),
            Value::Text(s) => ScalarValue::BinaryView(Some(s.clone().into_bytes())),
            _ => return Err(wrong()),
        },
    })
}

/// The value in a row of an array.
///
/// The array has the Arrow type of some [`SqlType`]; anything else is an internal error.
pub fn value_at(array: &dyn Array, row: usize) -> Result<Value> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(array.as_primitive::<Int8Type>().value(row) as i64),
        DataType::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(row) as i64),
        DataType::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row) as i64),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => Value::UInt(array.as_primitive::<UInt8Type>().value(row) as u64),
        DataType::UInt16 => Value::UInt(array.as_primitive::<UInt16Type>().value(row) as u64),
        DataType::UInt32 => Value::UInt(array.as_primitive::<UInt32Type>().value(row) as u64),
        DataType::UInt64 => Value::UInt(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            Value::Decimal(Decimal::new(array.as_primitive::<Decimal128Type>().value(row), (*scale).max(0) as u8))
        }
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Value::DateTime(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            Value::Time(array.as_primitive::<DurationMicrosecondType>().value(row))
        }
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_string()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        other => return Err(SqlError::internal(format!("no MySQL value is of Arrow type {other}"))),
    })
}

/// An array of these values, all of type `ty`.
pub fn array_of(values: &[Value], ty: SqlType) -> Result<ArrayRef> {
    match ty {
        SqlType::Null => Ok(new_null_array(&DataType::Null, values.len())),
        SqlType::Text { .. } => {
            let mut builder = StringViewBuilder::with_capacity(values.len());
            for value in values {
                match value {
                    Value::Null => builder.append_null(),
                    Value::Text(s) => builder.append_value(s),
                    other => return Err(mismatch(other, ty)),
                }
            }
            Ok(Arc::new(builder.finish()))
        }
        SqlType::Bytes { .. } => {
            let mut builder = BinaryViewBuilder::with_capacity(values.len());
            for value in values {
                match value {
                    Value::Null => builder.append_null(),
                    Value::Bytes(b) => builder.append_value(b),
                    other => return Err(mismatch(other, ty)),
                }
            }
            Ok(Arc::new(builder.finish()))
        }
        _ if values.is_empty() => Ok(new_null_array(&data_type(ty), 0)),
        _ => {
            let scalars: Vec<ScalarValue> = values.iter().map(|v| scalar(v, ty)).collect::<Result<_>>()?;
            ScalarValue::iter_to_array(scalars).map_err(SqlError::internal)
        }
    }
}

/// The value of a scalar that came from [`scalar`] or from an operator.
pub fn value_of(scalar: &ScalarValue) -> Result<Value> {
    let array = scalar.to_array().map_err(SqlError::internal)?;
    value_at(array.as_ref(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Collation;

    #[test]
    fn values_go_both_ways() {
        let cases = [
            (Value::Bool(true), SqlType::Bool),
            (Value::Int(-5), SqlType::TINYINT),
            (Value::UInt(u64::MAX), SqlType::BIGINT_UNSIGNED),
            (Value::Decimal(Decimal::new(-12345, 2)), SqlType::decimal(65, 2)),
            (Value::Float(1.5), SqlType::Float),
            (Value::Double(-2.5), SqlType::Double),
            (Value::Date(10_000), SqlType::Date),
            (Value::DateTime(1_234_567), SqlType::DateTime { fsp: 6 }),
            (Value::Time(-1), SqlType::Time { fsp: 6 }),
            (Value::Text("a longer text than twelve bytes".into()), SqlType::varchar(40, Collation::DEFAULT)),
            (Value::Bytes(vec![0, 255]), SqlType::Bytes { kind: muster_types::BytesKind::Blob, length: 10 }),
        ];
        for (value, ty) in cases {
            let array = array_of(&[Value::Null, value.clone()], ty).unwrap();
            assert_eq!(array.data_type(), &data_type(ty));
            assert_eq!(value_at(array.as_ref(), 0).unwrap(), Value::Null);
            assert_eq!(value_at(array.as_ref(), 1).unwrap(), value);
        }
        assert!(scalar(&Value::Int(300), SqlType::TINYINT).is_err());
        assert!(scalar(&Value::Text("x".into()), SqlType::BIGINT).is_err());
    }
}
