//! A literal as a value of a column's type: exactly, or not at all.

use muster_types::{ErrorCode, SqlType, Value, cast};

/// The value as the column would store it; `None` when it does not fit. Digits that the column does not hold are
/// rounded away, as MySQL does.
pub fn convert(value: &Value, ty: &SqlType) -> Option<Value> {
    let (converted, warning) = cast::cast(value, *ty);
    match warning {
        // CAST turns a negative number into a large one; a column refuses it.
        None if ty.is_unsigned() && matches!(value, Value::Int(i) if *i < 0) => None,
        None => Some(converted),
        Some(w) if w.code == ErrorCode::DataTruncated && ty.is_numeric() => Some(converted),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::{Collation, Decimal};

    #[test]
    fn fits_or_not() {
        let text = |s: &str| Value::Text(s.into());
        let c = |v: Value, ty: SqlType| convert(&v, &ty);
        assert_eq!(c(text("5"), SqlType::INT), Some(Value::Int(5)));
        assert_eq!(c(Value::Int(128), SqlType::TINYINT), None);
        assert_eq!(c(Value::Int(-1), SqlType::BIGINT_UNSIGNED), None);
        assert_eq!(c(text("x"), SqlType::INT), None);
        assert_eq!(c(text("1.005"), SqlType::decimal(5, 2)), Some(Value::Decimal(Decimal::new(101, 2))));
        assert_eq!(c(Value::Int(1000), SqlType::decimal(5, 2)), None);
        assert_eq!(c(text("1999-02-29"), SqlType::Date), None);
        assert_eq!(c(text("abc"), SqlType::varchar(2, Collation::DEFAULT)), None);
    }
}
