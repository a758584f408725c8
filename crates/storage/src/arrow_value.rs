//! Values and Arrow arrays of them, both ways. Which Arrow type values of a SQL type have stands at [`SqlType`].

use arrow_array::{
    Array, ArrayRef, BooleanArray, PrimitiveArray,
    builder::{BinaryViewBuilder, LargeBinaryBuilder, StringViewBuilder},
    cast::AsArray,
    new_null_array,
    types::{
        ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};
use muster_types::{
    Decimal, ErrorCode, IntWidth, Result, SqlError, SqlType, Value,
    sql_type::{DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
    temporal::datetime_of,
};
use std::sync::Arc;

/// The Arrow type of a column, as [`SqlType`] documents it.
pub fn arrow_type(ty: &SqlType) -> DataType {
    match *ty {
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
        SqlType::Decimal { precision, scale } if precision <= DECIMAL64_MAX_PRECISION => {
            DataType::Decimal64(precision, scale as i8)
        }
        SqlType::Decimal { precision, scale } if precision > DECIMAL128_MAX_PRECISION => {
            DataType::Decimal256(precision, scale as i8)
        }
        SqlType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        SqlType::Float => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Date => DataType::Date32,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Time { .. } => DataType::Duration(TimeUnit::Microsecond),
        SqlType::Enum(members) if members.fits_one_byte() => DataType::UInt8,
        SqlType::Enum(_) | SqlType::Year => DataType::UInt16,
        SqlType::Set(_) | SqlType::Bit { .. } => DataType::UInt64,
        SqlType::Unsigned(number) => arrow_type(&number.plain()),
        SqlType::Text { .. } => DataType::Utf8View,
        SqlType::Bytes { .. } => DataType::BinaryView,
        SqlType::Json => DataType::LargeBinary,
    }
}

/// The value in a row of an array. Error: an internal one, for an array of an Arrow type that no [`SqlType`] has.
pub fn value_at(array: &dyn Array, row: usize) -> Result<Value> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(Value::Null);
    }
    macro_rules! native {
        ($t:ty) => {
            array.as_primitive::<$t>().value(row)
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Int(native!(Int8Type).into()),
        DataType::Int16 => Value::Int(native!(Int16Type).into()),
        DataType::Int32 => Value::Int(native!(Int32Type).into()),
        DataType::Int64 => Value::Int(native!(Int64Type)),
        DataType::UInt8 => Value::UInt(native!(UInt8Type).into()),
        DataType::UInt16 => Value::UInt(native!(UInt16Type).into()),
        DataType::UInt32 => Value::UInt(native!(UInt32Type).into()),
        DataType::UInt64 => Value::UInt(native!(UInt64Type)),
        DataType::Decimal64(_, scale) => {
            Value::Decimal(Decimal::new(native!(Decimal64Type).into(), (*scale).max(0) as u8))
        }
        DataType::Decimal128(_, scale) => Value::Decimal(Decimal::new(native!(Decimal128Type), (*scale).max(0) as u8)),
        DataType::Decimal256(_, scale) => Value::Decimal(Decimal::wide(native!(Decimal256Type), (*scale).max(0) as u8)),
        DataType::Float32 => Value::Float(native!(Float32Type)),
        DataType::Float64 => Value::Double(native!(Float64Type)),
        DataType::Date32 => Value::Date(native!(Date32Type)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => Value::DateTime(native!(TimestampMicrosecondType)),
        DataType::Duration(TimeUnit::Microsecond) => Value::Time(native!(DurationMicrosecondType)),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_owned()),
        DataType::LargeBinary => Value::Json(array.as_binary::<i64>().value(row).to_owned()),
        other => return Err(SqlError::internal(format!("no SQL value is of Arrow type {other}"))),
    })
}

/// An array of these values, for a column of type `ty`. Numbers of another kind are converted when nothing is lost, a
/// date is the datetime of its midnight, bytes are UTF-8 text as far as they can be. Error: an internal one, for a
/// value that is not of the type.
pub fn array_of<'a>(values: impl IntoIterator<Item = &'a Value>, ty: SqlType) -> Result<ArrayRef> {
    let values = Values { values: values.into_iter(), ty };
    Ok(match arrow_type(&ty) {
        DataType::Null => new_null_array(&DataType::Null, values.values.count()),
        DataType::Boolean => {
            let bools = values.map(|v| whole(v).map(|i| i != 0)).collect::<Result<Vec<_>>>()?;
            Arc::new(BooleanArray::from(bools))
        }
        DataType::Int8 => values.integers::<Int8Type>()?,
        DataType::Int16 => values.integers::<Int16Type>()?,
        DataType::Int32 => values.integers::<Int32Type>()?,
        DataType::Int64 => values.integers::<Int64Type>()?,
        DataType::UInt8 => values.integers::<UInt8Type>()?,
        DataType::UInt16 => values.integers::<UInt16Type>()?,
        DataType::UInt32 => values.integers::<UInt32Type>()?,
        DataType::UInt64 => values.integers::<UInt64Type>()?,
        DataType::Decimal64(precision, scale) => {
            let array = values.primitive::<Decimal64Type>(|v| i64::try_from(unscaled(v, scale)?.narrow()?).ok())?;
            Arc::new(array.with_precision_and_scale(precision, scale).map_err(SqlError::internal)?)
        }
        DataType::Decimal128(precision, scale) => {
            let array = values.primitive::<Decimal128Type>(|v| unscaled(v, scale)?.narrow())?;
            Arc::new(array.with_precision_and_scale(precision, scale).map_err(SqlError::internal)?)
        }
        DataType::Decimal256(precision, scale) => {
            let array = values.primitive::<Decimal256Type>(|v| Some(unscaled(v, scale)?.unscaled()))?;
            Arc::new(array.with_precision_and_scale(precision, scale).map_err(SqlError::internal)?)
        }
        DataType::Float32 => Arc::new(values.primitive::<Float32Type>(float)?),
        DataType::Float64 => Arc::new(values.primitive::<Float64Type>(double)?),
        DataType::Date32 => {
            Arc::new(values.primitive::<Date32Type>(|v| if let Value::Date(d) = v { Some(*d) } else { None })?)
        }
        DataType::Timestamp(..) => Arc::new(values.primitive::<TimestampMicrosecondType>(|v| match v {
            Value::DateTime(t) => Some(*t),
            Value::Date(d) => Some(datetime_of(*d, 0)),
            _ => None,
        })?),
        DataType::Duration(_) => Arc::new(
            values.primitive::<DurationMicrosecondType>(|v| if let Value::Time(t) = v { Some(*t) } else { None })?,
        ),
        DataType::LargeBinary => values.documents()?,
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::new().with_deduplicate_strings();
            for v in values.values {
                match v {
                    Value::Null => builder.append_null(),
                    Value::Bytes(b) => builder.append_value(b),
                    Value::Text(s) => builder.append_value(s.as_bytes()),
                    v => return Err(mismatch(v, ty)),
                }
            }
            Arc::new(builder.finish())
        }
        _ => {
            let mut builder = StringViewBuilder::new().with_deduplicate_strings();
            for v in values.values {
                match v {
                    Value::Null => builder.append_null(),
                    Value::Text(s) => builder.append_value(s),
                    Value::Bytes(b) => builder.append_value(String::from_utf8_lossy(b)),
                    v => return Err(mismatch(v, ty)),
                }
            }
            Arc::new(builder.finish())
        }
    })
}

/// Error 1690 for a decimal of more digits than the bits of its type hold, which a result can have.
fn mismatch(value: &Value, ty: SqlType) -> SqlError {
    if let (Value::Decimal(d), SqlType::Decimal { precision, .. }) = (value, ty)
        && !d.fits(precision)
    {
        return SqlError::new(ErrorCode::DataOutOfRange, format!("DECIMAL value is out of range in '{d}'"));
    }
    SqlError::internal(format!("value {value} is not of type {ty}"))
}

/// The value as an integer, if it is a whole number.
fn whole(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(i) => (*i).into(),
        Value::UInt(u) => (*u).into(),
        Value::Decimal(d) => d.rescale(0).filter(|whole| whole == d)?.narrow()?,
        _ => return None,
    })
}

/// The number at this scale, rounded.
fn unscaled(value: &Value, scale: i8) -> Option<Decimal> {
    let decimal = match value {
        Value::Decimal(d) => *d,
        v => Decimal::new(whole(v)?, 0),
    };
    decimal.rescale(scale as u8)
}

fn float(value: &Value) -> Option<f32> {
    match value {
        Value::Float(x) => Some(*x),
        other => double(other).map(|x| x as f32),
    }
}

fn double(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Double(x) => *x,
        Value::Float(x) => (*x).into(),
        Value::Decimal(d) => d.to_f64(),
        other => whole(other)? as f64,
    })
}

struct Values<I> {
    values: I,
    ty: SqlType,
}

impl<'a, I: Iterator<Item = &'a Value>> Values<I> {
    /// NULLs stay; what `get` does not take is an error.
    fn map<T>(self, get: impl Fn(&Value) -> Option<T>) -> impl Iterator<Item = Result<Option<T>>> {
        self.values.map(move |v| match v {
            Value::Null => Ok(None),
            v => get(v).map(Some).ok_or_else(|| mismatch(v, self.ty)),
        })
    }

    fn documents(self) -> Result<ArrayRef> {
        let mut builder = LargeBinaryBuilder::new();
        for value in self.values {
            match value {
                Value::Null => builder.append_null(),
                Value::Json(document) => builder.append_value(document),
                other => return Err(mismatch(other, self.ty)),
            }
        }
        Ok(Arc::new(builder.finish()))
    }

    fn primitive<T: ArrowPrimitiveType>(self, get: impl Fn(&Value) -> Option<T::Native>) -> Result<PrimitiveArray<T>> {
        self.map(get).collect()
    }

    fn integers<T: ArrowPrimitiveType>(self) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        Ok(Arc::new(self.primitive::<T>(|v| T::Native::try_from(whole(v)?).ok())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::{BytesKind, Collation};

    #[test]
    fn values_go_both_ways() {
        let cases = [
            (Value::Bool(true), SqlType::Bool),
            (Value::Int(-128), SqlType::TINYINT),
            (Value::UInt(u64::MAX), SqlType::BIGINT_UNSIGNED),
            (Value::Decimal(Decimal::new(-12345, 2)), SqlType::decimal(65, 2)),
            (Value::Decimal(Decimal::new(-999_999_999_999_999_999, 4)), SqlType::decimal(18, 4)),
            (Value::Float(1.5), SqlType::Float),
            (Value::Double(-0.1), SqlType::Double),
            (Value::Date(10_000), SqlType::Date),
            (Value::DateTime(1_234_567), SqlType::DateTime { fsp: 6 }),
            (Value::Time(-1_000_000), SqlType::Time { fsp: 0 }),
            (Value::Text("a longer text than twelve bytes: é".into()), SqlType::varchar(40, Collation::DEFAULT)),
            (Value::Bytes(vec![0, 255]), SqlType::Bytes { kind: BytesKind::Blob, length: 9 }),
            (Value::Json(muster_types::json::NULL_BYTES.to_vec()), SqlType::Json),
        ];
        for (value, ty) in cases {
            let array = array_of(&[Value::Null, value.clone()], ty).unwrap();
            assert_eq!(array.data_type(), &arrow_type(&ty));
            assert_eq!(value_at(&array, 0).unwrap(), Value::Null);
            assert_eq!(value_at(&array, 1).unwrap(), value);
            assert_eq!(array_of(&[], ty).unwrap().data_type(), &arrow_type(&ty));
        }
    }

    #[test]
    fn what_is_converted_and_what_is_wrong() {
        let one = |value: Value, ty| array_of(&[value], ty).and_then(|array| value_at(&array, 0));
        assert_eq!(one(Value::Decimal(Decimal::new(700, 2)), SqlType::INT).unwrap(), Value::Int(7));
        assert_eq!(one(Value::Int(7), SqlType::decimal(5, 2)).unwrap(), Value::Decimal(Decimal::new(700, 2)));
        assert_eq!(one(Value::Int(7), SqlType::Double).unwrap(), Value::Double(7.0));
        assert_eq!(one(Value::Date(1), SqlType::DateTime { fsp: 0 }).unwrap(), Value::DateTime(datetime_of(1, 0)));
        for (value, ty) in [
            (Value::Int(300), SqlType::TINYINT),
            (Value::Decimal(Decimal::new(705, 2)), SqlType::INT),
            (Value::Text("x".into()), SqlType::BIGINT),
            (Value::Int(1), SqlType::varchar(9, Collation::DEFAULT)),
        ] {
            assert!(one(value.clone(), ty).unwrap_err().message.contains(&value.to_string()));
        }
    }
}
