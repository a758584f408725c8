//! The parts of a value that a column does not hold, though the value is stored: digits behind the point of a DECIMAL,
//! the time of day of a DATE, the day of a TIME, spaces behind a VARCHAR.

use super::{StoredType, store};
use crate::{
    Decimal, SqlType, TextKind, Value,
    cast::decimal_prefix,
    temporal::{self, DateModes, DeprecatedDelimiter, FSP_MAX, MICROS_PER_SECOND},
    time_zone::TimeZone,
};

const MICROS_OF_DAY: i64 = 86_400_000_000;
/// The smallest number of a date and time.
const FIRST_MOMENT: f64 = 1e10;

/// Returns true if a column of the type has stored a value without a part of it.
pub fn loses_part(ty: SqlType, value: &Value, stored: &Value) -> bool {
    match (ty.stored_type(), value) {
        (SqlType::Decimal { scale, .. }, _) => loses_digits(value, stored, scale),
        (SqlType::Date, _) => has_time_of_day(value),
        (SqlType::Time { .. }, _) => has_day(value),
        (SqlType::Text { kind: TextKind::VarChar, length, .. }, Value::Text(text)) => {
            text.len() > length as usize && text.chars().count() > length as usize
        }
        _ => false,
    }
}

/// The first delimiter in a text, which a column of dates or times stores, that is deprecated.
pub fn deprecated_delimiter(ty: SqlType, text: &[u8]) -> Option<DeprecatedDelimiter> {
    match (ty, text) {
        // As nearly all are.
        (
            SqlType::DateTime { .. } | SqlType::Timestamp { .. },
            [_, _, _, _, b'-', _, _, b'-', _, _, b' ', _, _, b':', _, _, b':', _, last],
        ) if last.is_ascii_digit() => None,
        (SqlType::Date, [_, _, _, _, b'-', _, _, b'-', _, last]) if last.is_ascii_digit() => None,
        (SqlType::Time { .. }, [_, _, b':', _, _, b':', _, last]) if last.is_ascii_digit() => None,
        (SqlType::Time { .. }, _) => temporal::read_time(std::str::from_utf8(text).ok()?)?.deprecated,
        (SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }, _) => {
            temporal::read_datetime(std::str::from_utf8(text).ok()?)?.deprecated
        }
        _ => None,
    }
}

/// Returns true if a number has digits behind the point that a scale does not hold.
fn loses_digits(value: &Value, stored: &Value, scale: u8) -> bool {
    let is_longer = |number: Decimal| number.scale > scale && number.cut(scale) != number;
    match (value, stored) {
        (Value::Decimal(number), _) => is_longer(*number),
        (Value::Text(text), _) => text.contains('.') && is_longer(decimal_prefix(text).0),
        (Value::DateTime(micros) | Value::Time(micros), _) => {
            scale < FSP_MAX && micros % 10i64.pow(u32::from(FSP_MAX - scale)) != 0
        }
        (Value::Double(x), Value::Decimal(stored)) => stored.to_f64() != *x,
        (Value::Float(x), Value::Decimal(stored)) => stored.to_f64() != f64::from(*x),
        _ => false,
    }
}

/// Returns true if the moment that a value tells, to the second, is not the beginning of a day.
fn has_time_of_day(value: &Value) -> bool {
    let ty = SqlType::DateTime { fsp: 0 };
    // The zero date can have a time of day, too.
    let date_modes = DateModes { no_zero_date: false, no_zero_in_date: false, ..DateModes::DEFAULT };
    let moment = StoredType { ty, digits: None, zone: TimeZone::UTC, date_modes };
    match value {
        Value::Date(_) => false,
        Value::Time(micros) | Value::DateTime(micros) => {
            let seconds = (micros + MICROS_PER_SECOND / 2).div_euclid(MICROS_PER_SECOND);
            (seconds * MICROS_PER_SECOND).rem_euclid(MICROS_OF_DAY) != 0
        }
        other => matches!(store(other, moment), Ok(Value::DateTime(micros)) if micros.rem_euclid(MICROS_OF_DAY) != 0),
    }
}

/// Returns true for a text or a number of a date and time.
fn has_day(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            temporal::read_time(text).is_some_and(|read| read.is_datetime())
                && temporal::read_datetime(text).is_some_and(|read| !read.moment.is_zero())
        }
        Value::Int(number) => *number as f64 >= FIRST_MOMENT,
        Value::UInt(number) => *number as f64 >= FIRST_MOMENT,
        Value::Decimal(number) => number.to_f64() >= FIRST_MOMENT,
        Value::Double(number) => *number >= FIRST_MOMENT,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_lost() {
        let text = |s: &str| Value::Text(s.into());
        let decimal = |s: &str| Value::Decimal(Decimal::parse(s).unwrap());
        assert!(
            loses_digits(&decimal("1.005"), &decimal("1.01"), 2) && !loses_digits(&decimal("1.100"), &Value::Null, 2)
        );
        assert!(loses_digits(&text("1.105 "), &decimal("1.11"), 2) && !loses_digits(&text("7"), &decimal("7"), 2));
        assert!(loses_digits(&Value::Double(1.005), &decimal("1.01"), 2));
        assert!(!loses_digits(&Value::Double(1.25), &decimal("1.25"), 2));
        assert!(has_time_of_day(&text("2020-01-01 10:10:10")) && !has_time_of_day(&text("2020-01-01 00:00:00.1")));
        assert!(!has_time_of_day(&text("2020-01-01")) && has_time_of_day(&Value::Int(20_200_101_101_010)));
        assert!(
            has_day(&text("2020-01-01 10:10:10"))
                && !has_day(&text("-10:10:10.123456"))
                && !has_day(&text("1 10:10:10"))
        );
    }
}
