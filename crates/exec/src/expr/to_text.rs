//! Integers, decimals, dates and times as texts, column-wise.

use super::kernel::{Kernel, KernelExpr};
use crate::arrow_value::arrow_type;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, builder::StringViewBuilder, cast::AsArray, types::*,
};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use muster_types::{
    SqlType,
    temporal::{push_date, push_datetime, push_time},
};
use std::{fmt::Write, sync::Arc};

/// The text of each value of a type.
struct ValueText {
    from: SqlType,
}

/// The cast of a number, a date or a time to a text that is long enough for all of them; `None` for other casts.
pub fn text_cast(
    arg: &Arc<dyn PhysicalExpr>,
    from: SqlType,
    to: SqlType,
    nullable: bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    let SqlType::Text { length, .. } = to else { return None };
    let is_long_enough = length >= longest(from)?;
    is_long_enough.then(|| KernelExpr::build(ValueText { from }, vec![arg.clone()], DataType::Utf8View, nullable))
}

/// Characters of the longest text of a value; `None` for types whose texts are not made here.
fn longest(ty: SqlType) -> Option<u32> {
    let fraction = match ty.fsp() {
        0 => 0,
        fsp => 1 + u32::from(fsp),
    };
    Some(match ty {
        SqlType::Int { .. } => u32::from(ty.decimal_digits()?.0) + 1,
        SqlType::Decimal { precision, .. } if matches!(arrow_type(&ty), DataType::Decimal64(..)) => {
            // A sign, a point and a zero in front of that.
            u32::from(precision) + 3
        }
        SqlType::Date => "2001-02-03".len() as u32,
        SqlType::DateTime { .. } => "2001-02-03 04:05:06".len() as u32 + fraction,
        SqlType::Time { .. } => "-838:59:59".len() as u32 + fraction,
        _ => return None,
    })
}

impl Kernel for ValueText {
    fn label(&self) -> String {
        format!("text_of_{:?}", self.from)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let fsp = self.from.fsp();
        Ok(match array.data_type() {
            DataType::Date32 => texts::<Date32Type>(array.as_primitive(), push_date_code),
            DataType::Timestamp(..) => {
                texts::<TimestampMicrosecondType>(array.as_primitive(), |t, out| push_datetime(out, t, fsp))
            }
            DataType::Duration(..) => {
                texts::<DurationMicrosecondType>(array.as_primitive(), |t, out| push_time(out, t, fsp))
            }
            DataType::Decimal64(_, scale) => {
                let scale = (*scale).max(0) as usize;
                texts::<Decimal64Type>(array.as_primitive(), |n, out| push_decimal(n, scale, out))
            }
            DataType::UInt64 => texts::<UInt64Type>(array.as_primitive(), push_integer),
            _ => texts::<Int64Type>(arrow_cast::cast(&array, &DataType::Int64)?.as_primitive(), push_integer),
        })
    }
}

/// A text for each value that is not NULL.
fn texts<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, append: impl Fn(T::Native, &mut String)) -> ArrayRef {
    let mut texts = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for value in values {
        match value {
            None => texts.append_null(),
            Some(value) => {
                text.clear();
                append(value, &mut text);
                texts.append_value(&text);
            }
        }
    }
    Arc::new(texts.finish())
}

fn push_date_code(code: i32, out: &mut String) {
    push_date(out, code);
}

fn push_integer(number: impl std::fmt::Display, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{number}");
}

/// A decimal with `scale` digits behind the point.
fn push_decimal(unscaled: i64, scale: usize, out: &mut String) {
    let unit = 10u64.pow(scale as u32);
    let (whole, fraction) = (unscaled.unsigned_abs() / unit, unscaled.unsigned_abs() % unit);
    let sign = if unscaled < 0 { "-" } else { "" };
    let _ = match scale {
        0 => write!(out, "{sign}{whole}"),
        _ => write!(out, "{sign}{whole}.{fraction:0scale$}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_value::{array_of, value_at};
    use muster_types::{Collation, Decimal, Value, cast_from, temporal::datetime_of};

    #[test]
    fn texts_are_those_of_the_cast() {
        let decimal = |n: i64| Value::Decimal(Decimal::new(n.into(), 3));
        let day = muster_types::temporal::date_code(2024, 2, 29);
        let cases = [
            (SqlType::BIGINT, vec![Value::Int(0), Value::Int(i64::MIN), Value::Null, Value::Int(7)]),
            (SqlType::BIGINT_UNSIGNED, vec![Value::UInt(u64::MAX)]),
            (
                SqlType::decimal(18, 3),
                vec![decimal(5), decimal(-5), decimal(-123_456), decimal(0), decimal(i64::MAX / 10)],
            ),
            (SqlType::decimal(5, 0), vec![Value::Decimal(Decimal::new(-5, 0))]),
            (SqlType::Date, vec![Value::Date(day), Value::Date(0)]),
            (SqlType::DateTime { fsp: 0 }, vec![Value::DateTime(datetime_of(day, 1_000_000))]),
            (SqlType::DateTime { fsp: 3 }, vec![Value::DateTime(datetime_of(day, 1_020_000))]),
            (SqlType::Time { fsp: 0 }, vec![Value::Time(-3_600_000_000), Value::Time(900 * 3_600_000_000)]),
            (SqlType::Time { fsp: 6 }, vec![Value::Time(-1)]),
        ];
        let text = SqlType::varchar(26, Collation::DEFAULT);
        for (from, values) in cases {
            let column = array_of(&values, from).expect("values of the type");
            let texts = ValueText { from }.call(&[ColumnarValue::Array(column)], values.len()).expect("texts");
            for (row, value) in values.iter().enumerate() {
                let want = cast_from(value, Some(from), text).0;
                assert_eq!(value_at(texts.as_ref(), row).expect("a text"), want, "{from:?}");
            }
        }
    }
}
