//! Defaults of columns: a literal as a value of the column's type, exactly or not at all; and how it is shown.

use muster_algebra::{ColumnDef, DefaultValue};
use muster_types::{
    SqlType, Value,
    cast::moment,
    store::{LONG_LITERAL, StoreFault, StoredType, store},
    temporal::DateModes,
    time_zone::TimeZone,
};

/// The value as the column stores it; `None` when it does not fit. Digits that the column does not hold are rounded
/// away, as MySQL does. Unless the session is strict, a date that is refused for a part that is zero becomes the zero
/// date, and a hexadecimal literal beyond the column the largest number, with the fault to warn of.
pub fn convert(value: &Value, column: StoredType, is_strict: bool) -> Option<(Value, Option<StoreFault>)> {
    let unfit = match store(value, column) {
        Ok(stored) => return Some((stored, None)),
        Err(unfit) => unfit,
    };
    let zeros_allowed = DateModes { no_zero_date: false, no_zero_in_date: false, ..column.date_modes };
    let has_zero_part = moment(value, zeros_allowed).is_some_and(|of| of.moment.has_zero_part());
    let is_taken = match unfit.fault {
        StoreFault::NoSuchDate(_) => has_zero_part,
        StoreFault::OutOfRange => matches!(value, Value::Decimal(number) if *number == LONG_LITERAL),
        _ => false,
    };
    unfit.instead.filter(|_| is_taken && !is_strict).map(|instead| (instead, Some(unfit.fault.as_warning())))
}

/// The default as a session in `zone` sees it.
pub fn shown(column: &ColumnDef, zone: TimeZone) -> Option<DefaultValue> {
    match (column.ty, column.default.as_ref()?) {
        (SqlType::Timestamp { .. }, DefaultValue::Value(Value::DateTime(utc))) => {
            Some(DefaultValue::Value(Value::DateTime(zone.from_utc(*utc))))
        }
        (_, default) => Some(default.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::{Collation, Decimal, temporal::EpochMicros};

    #[test]
    fn fits_or_not() {
        let text = |s: &str| Value::Text(s.into());
        let c = |v: Value, ty: SqlType| convert(&v, StoredType::new(ty), true).map(|(value, _)| value);
        assert_eq!(c(text("5"), SqlType::INT), Some(Value::Int(5)));
        assert_eq!(c(Value::Int(128), SqlType::TINYINT), None);
        assert_eq!(c(Value::Int(-1), SqlType::BIGINT_UNSIGNED), None);
        assert_eq!(c(text("x"), SqlType::INT), None);
        assert_eq!(c(text("1.005"), SqlType::decimal(5, 2)), Some(Value::Decimal(Decimal::new(101, 2))));
        assert_eq!(c(Value::Int(1000), SqlType::decimal(5, 2)), None);
        assert_eq!(c(text("1999-02-29"), SqlType::Date), None);
        assert_eq!(c(text("abc"), SqlType::varchar(2, Collation::DEFAULT)), None);
        let timestamp = StoredType { zone: TimeZone::Fixed(7200), ..StoredType::new(SqlType::Timestamp { fsp: 0 }) };
        let first = Value::DateTime(EpochMicros(1_000_000).datetime());
        assert_eq!(convert(&text("1970-01-01 02:00:01"), timestamp, true), Some((first, None)));
        assert_eq!(convert(&text("1970-01-01 02:00:00"), timestamp, false), None);
        let zero = convert(&text("0000-00-00"), StoredType::new(SqlType::Date), false);
        assert_eq!(zero, Some((Value::Date(0), Some(StoreFault::OutOfRange))));
        assert_eq!(convert(&text("0000-00-00"), StoredType::new(SqlType::Date), true), None);
    }
}
