//! Between values and Arrow: result sets that the engine itself makes (SHOW, EXPLAIN), and single values read out.

use crate::{ColumnInfo, Outcome, ResultSet};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, RecordBatch, RecordBatchOptions,
    builder::{BinaryViewBuilder, StringViewBuilder},
    cast::AsArray,
    new_null_array,
    types::*,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use futures::StreamExt;
use muster_types::{Decimal, IntWidth, Result, SqlError, SqlType, Value};
use std::sync::Arc;

/// The Arrow type of a SQL type (the table in [`SqlType`]'s documentation).
pub fn arrow_type(ty: &SqlType) -> DataType {
    match *ty {
        SqlType::Null => DataType::Null,
        SqlType::Bool => DataType::Boolean,
        SqlType::Int { width, unsigned } => match (width, unsigned) {
            (IntWidth::Tiny, false) => DataType::Int8,
            (IntWidth::Tiny, true) => DataType::UInt8,
            (IntWidth::Small, false) => DataType::Int16,
            (IntWidth::Small, true) => DataType::UInt16,
            (IntWidth::Medium | IntWidth::Int, false) => DataType::Int32,
            (IntWidth::Medium | IntWidth::Int, true) => DataType::UInt32,
            (IntWidth::Big, false) => DataType::Int64,
            (IntWidth::Big, true) => DataType::UInt64,
        },
        SqlType::Decimal { precision, scale } => DataType::Decimal128(precision.min(38), scale as i8),
        SqlType::Float => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Date => DataType::Date32,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Time { .. } => DataType::Duration(TimeUnit::Microsecond),
        SqlType::Text { .. } => DataType::Utf8View,
        SqlType::Bytes { .. } => DataType::BinaryView,
    }
}

/// A computed column of a result.
pub fn column(name: impl Into<String>, ty: SqlType, nullable: bool) -> ColumnInfo {
    ColumnInfo {
        name: name.into(),
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        org_name: String::new(),
        ty,
        nullable,
        primary_key: false,
        unique_key: false,
        multiple_key: false,
        auto_increment: false,
    }
}

/// A text column of a result, of this many characters.
pub fn text_column(name: &str, length: u32) -> ColumnInfo {
    column(name, SqlType::varchar(length, muster_types::Collation::Utf8mb4GeneralCi), true)
}

/// Rows that are already there, as a result.
pub fn outcome(columns: Vec<ColumnInfo>, rows: &[Vec<Value>]) -> Result<Outcome> {
    let batch = batch(&columns, rows)?;
    let batches = if rows.is_empty() { Vec::new() } else { vec![Ok(batch)] };
    Ok(Outcome::Rows(ResultSet { columns, rows: futures::stream::iter(batches).boxed() }))
}

fn schema_of(columns: &[ColumnInfo]) -> Arc<Schema> {
    Arc::new(Schema::new(columns.iter().map(|c| Field::new(&c.name, arrow_type(&c.ty), true)).collect::<Vec<_>>()))
}

/// One batch of rows; every value must be of its column's type.
pub fn batch(columns: &[ColumnInfo], rows: &[Vec<Value>]) -> Result<RecordBatch> {
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(i, c)| array(&c.ty, rows.iter().map(|r| r.get(i).unwrap_or(&Value::Null))))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema_of(columns), arrays, &options).map_err(SqlError::internal)
}

fn wrong(ty: &SqlType, value: &Value) -> SqlError {
    SqlError::internal(format!("value {value} in a column of type {ty}"))
}

fn array<'a>(ty: &SqlType, values: impl Iterator<Item = &'a Value>) -> Result<ArrayRef> {
    /// Numbers of one Arrow type; `$get` maps a value to `Option<native>`, `None` when it does not fit.
    macro_rules! primitive {
        ($arrow:ty, $get:expr) => {{
            let get = $get;
            let items = values
                .map(|v| match v {
                    Value::Null => Ok(None),
                    v => get(v).map(Some).ok_or_else(|| wrong(ty, v)),
                })
                .collect::<Result<Vec<_>>>()?;
            Arc::new(items.into_iter().collect::<arrow_array::PrimitiveArray<$arrow>>()) as ArrayRef
        }};
    }
    fn int(v: &Value) -> Option<i128> {
        match *v {
            Value::Int(i) => Some(i.into()),
            Value::UInt(u) => Some(u.into()),
            Value::Bool(b) => Some(b.into()),
            _ => None,
        }
    }
    macro_rules! integer {
        ($arrow:ty, $native:ty) => {
            primitive!($arrow, |v: &Value| int(v).and_then(|i| <$native>::try_from(i).ok()))
        };
    }
    Ok(match arrow_type(ty) {
        DataType::Null => new_null_array(&DataType::Null, values.count()),
        DataType::Boolean => {
            let items = values
                .map(|v| match v {
                    Value::Null => Ok(None),
                    v => int(v).map(|i| Some(i != 0)).ok_or_else(|| wrong(ty, v)),
                })
                .collect::<Result<Vec<_>>>()?;
            Arc::new(BooleanArray::from(items))
        }
        DataType::Int8 => integer!(Int8Type, i8),
        DataType::UInt8 => integer!(UInt8Type, u8),
        DataType::Int16 => integer!(Int16Type, i16),
        DataType::UInt16 => integer!(UInt16Type, u16),
        DataType::Int32 => integer!(Int32Type, i32),
        DataType::UInt32 => integer!(UInt32Type, u32),
        DataType::Int64 => integer!(Int64Type, i64),
        DataType::UInt64 => integer!(UInt64Type, u64),
        DataType::Decimal128(precision, scale) => {
            let items = values
                .map(|v| match v {
                    Value::Null => Ok(None),
                    Value::Decimal(d) => d.rescale(scale as u8).map(|d| Some(d.unscaled)).ok_or_else(|| wrong(ty, v)),
                    v => int(v)
                        .and_then(|i| Decimal::new(i, 0).rescale(scale as u8))
                        .map(|d| Some(d.unscaled))
                        .ok_or_else(|| wrong(ty, v)),
                })
                .collect::<Result<Vec<_>>>()?;
            let array = Decimal128Array::from(items).with_precision_and_scale(precision, scale);
            Arc::new(array.map_err(SqlError::internal)?)
        }
        DataType::Float32 => primitive!(Float32Type, |v: &Value| match v {
            Value::Float(x) => Some(*x),
            Value::Double(x) => Some(*x as f32),
            v => int(v).map(|i| i as f32),
        }),
        DataType::Float64 => primitive!(Float64Type, |v: &Value| match v {
            Value::Double(x) => Some(*x),
            Value::Float(x) => Some((*x).into()),
            v => int(v).map(|i| i as f64),
        }),
        DataType::Date32 => primitive!(Date32Type, |v: &Value| match v {
            Value::Date(d) => Some(*d),
            _ => None,
        }),
        DataType::Timestamp(..) => primitive!(TimestampMicrosecondType, |v: &Value| match v {
            Value::DateTime(t) => Some(*t),
            _ => None,
        }),
        DataType::Duration(_) => primitive!(DurationMicrosecondType, |v: &Value| match v {
            Value::Time(t) => Some(*t),
            _ => None,
        }),
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::new();
            for v in values {
                match v {
                    Value::Null => builder.append_null(),
                    Value::Bytes(b) => builder.append_value(b),
                    Value::Text(s) => builder.append_value(s.as_bytes()),
                    v => return Err(wrong(ty, v)),
                }
            }
            Arc::new(builder.finish())
        }
        _ => {
            let mut builder = StringViewBuilder::new();
            for v in values {
                match v {
                    Value::Null => builder.append_null(),
                    v => builder.append_value(v.to_text(6).unwrap_or_default()),
                }
            }
            Arc::new(builder.finish())
        }
    })
}

/// The value in one row of a result column.
pub fn value_at(array: &dyn Array, row: usize) -> Result<Value> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(Value::Null);
    }
    macro_rules! int {
        ($arrow:ty) => {
            Value::Int(array.as_primitive::<$arrow>().value(row).into())
        };
    }
    macro_rules! uint {
        ($arrow:ty) => {
            Value::UInt(array.as_primitive::<$arrow>().value(row).into())
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => uint!(UInt8Type),
        DataType::UInt16 => uint!(UInt16Type),
        DataType::UInt32 => uint!(UInt32Type),
        DataType::UInt64 => uint!(UInt64Type),
        DataType::Decimal128(_, scale) => {
            Value::Decimal(Decimal::new(array.as_primitive::<Decimal128Type>().value(row), *scale as u8))
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
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_owned()),
        other => return Err(SqlError::internal(format!("a result column of type {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Collation;

    #[test]
    fn values_come_back_as_they_went_in() {
        let cases = [
            (SqlType::Bool, Value::Bool(true)),
            (SqlType::TINYINT, Value::Int(-128)),
            (SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)),
            (SqlType::decimal(10, 2), Value::Decimal(Decimal::new(-12345, 2))),
            (SqlType::Float, Value::Float(1.5)),
            (SqlType::Double, Value::Double(-0.1)),
            (SqlType::Date, Value::Date(10_000)),
            (SqlType::DateTime { fsp: 6 }, Value::DateTime(123_456_789)),
            (SqlType::Time { fsp: 0 }, Value::Time(-1_000_000)),
            (SqlType::varchar(9, Collation::DEFAULT), Value::Text("é".into())),
            (SqlType::Bytes { kind: muster_types::BytesKind::Blob, length: 9 }, Value::Bytes(vec![0, 255])),
        ];
        for (ty, value) in cases {
            let batch = batch(&[column("c", ty, true)], &[vec![value.clone()], vec![Value::Null]]).unwrap();
            assert_eq!(value_at(batch.column(0), 0).unwrap(), value);
            assert_eq!(value_at(batch.column(0), 1).unwrap(), Value::Null);
        }
        let e = batch(&[column("c", SqlType::TINYINT, true)], &[vec![Value::Int(200)]]).unwrap_err();
        assert!(e.message.contains("200"));
    }
}
