//! Single values as scalars of DataFusion. Values and arrays: [`muster_storage::array_of`], [`muster_storage::value_at`].

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
pub use muster_storage::{array_of, arrow_type, value_at};
use muster_types::{Decimal, Result, SqlError, SqlType, Value};

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
        return ScalarValue::try_from(&arrow_type(&ty)).map_err(SqlError::internal);
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
            match arrow_type(&ty) {
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
            match arrow_type(&ty) {
                DataType::Decimal64(..) => {
                    let unscaled = i64::try_from(d.unscaled).map_err(|_| wrong())?;
                    ScalarValue::Decimal64(Some(unscaled), precision, scale as i8)
                }
                _ => ScalarValue::Decimal128(Some(d.unscaled), precision.min(38), scale as i8),
            }
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

/// The value of a scalar that came from [`scalar`] or from an operator.
pub fn value_of(scalar: &ScalarValue) -> Result<Value> {
    let array = scalar.to_array().map_err(SqlError::internal)?;
    value_at(array.as_ref(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_of_their_type() {
        let date = scalar(&Value::Date(1), SqlType::DateTime { fsp: 0 }).unwrap();
        assert_eq!(value_of(&date).unwrap(), Value::DateTime(muster_types::temporal::MICROS_PER_DAY));
        assert!(scalar(&Value::Int(300), SqlType::TINYINT).is_err());
        assert!(scalar(&Value::Text("x".into()), SqlType::BIGINT).is_err());
    }
}
