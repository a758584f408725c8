//! Notes of the parts of values that columns do not hold: digits behind the point of a DECIMAL, the time of day of a
//! DATE, the day of a TIME. The values are stored all the same.

use super::convert::Conversion;
use muster_algebra::ColumnDef;
use muster_types::{
    Decimal, ErrorCode, SqlType, Value,
    cast::decimal_prefix,
    store::{StoredType, store, text::printable},
    temporal::{self, DateModes, round_fraction},
    time_zone::TimeZone,
};

const MICROS_OF_DAY: i64 = 86_400_000_000;
/// The smallest number of a date and time.
const FIRST_MOMENT: f64 = 1e10;

impl Conversion<'_> {
    /// Notes what the column does not hold of a value that it stores: 1265, for dates and times in a strict `sql_mode`
    /// 1292. `row` counts the statement's rows from 1.
    pub fn note_lost_parts(&self, column: &ColumnDef, value: &Value, stored: &Value, row: u64) {
        if self.context.filled_table.get().is_some() {
            // The column is made for the values.
            return;
        }
        let what = match column.ty.stored_type() {
            SqlType::Decimal { scale, .. } if loses_digits(value, stored, scale) => None,
            SqlType::Date if has_time_of_day(value) => Some("date"),
            SqlType::Time { .. } if has_day(value) => Some("time"),
            _ => return,
        };
        let name = &column.name;
        match what.filter(|_| self.is_strict()) {
            Some(what) => {
                let shown = match value {
                    Value::Text(text) => printable(text.as_bytes()),
                    other => other.to_text(0).unwrap_or_default(),
                };
                let message = format!("Incorrect {what} value: '{shown}' for column '{name}' at row {row}");
                self.context.note(ErrorCode::TruncatedWrongValue, message);
            }
            None => {
                self.context.note(ErrorCode::DataTruncated, format!("Data truncated for column '{name}' at row {row}"));
            }
        }
    }
}

/// Returns true if a number has digits behind the point that a scale does not hold.
fn loses_digits(value: &Value, stored: &Value, scale: u8) -> bool {
    let is_longer = |number: Decimal| number.scale > scale && number.cut(scale) != number;
    match (value, stored) {
        (Value::Decimal(number), _) => is_longer(*number),
        (Value::Text(text), _) => text.contains('.') && is_longer(decimal_prefix(text).0),
        (Value::Double(x), Value::Decimal(stored)) => stored.to_f64() != *x,
        (Value::Float(x), Value::Decimal(stored)) => stored.to_f64() != f64::from(*x),
        _ => false,
    }
}

/// Returns true if the moment that a value tells, to the second, is not the beginning of a day.
fn has_time_of_day(value: &Value) -> bool {
    let ty = SqlType::DateTime { fsp: 0 };
    let moment = StoredType { ty, digits: None, zone: TimeZone::UTC, date_modes: DateModes::DEFAULT };
    match value {
        Value::Date(_) => false,
        Value::Time(micros) => *micros != 0,
        Value::DateTime(micros) => round_fraction(*micros, 0).rem_euclid(MICROS_OF_DAY) != 0,
        other => matches!(store(other, moment), Ok(Value::DateTime(micros)) if micros.rem_euclid(MICROS_OF_DAY) != 0),
    }
}

/// Returns true for a text or a number of a date and time.
fn has_day(value: &Value) -> bool {
    match value {
        Value::Text(text) => {
            temporal::read_time(text).is_some_and(|read| read.is_datetime)
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
