//! One value into a column of any type.

use super::{StoreFault, Unfit, named, number, temporal, text};
use crate::{
    Collation, Decimal, FloatDigits, SqlType, UnsignedNumber, Value,
    cast::{cast, cast_dated, int_range, moment, to_double},
    charset::{self, Charset},
    decimal::{NARROW_DIGITS_MAX, pow10, pow10_256},
    sql_type::DECIMAL128_MAX_PRECISION,
    temporal::{DateModes, TIME_MAX_MICROS, ZERO_DATE, datetime_of},
    time_zone::TimeZone,
};
use arrow_buffer::i256;
use std::borrow::Cow;

/// The properties of a column that storing a value depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredType {
    pub ty: SqlType,
    /// M and D of FLOAT(M,D) and DOUBLE(M,D).
    pub digits: Option<FloatDigits>,
    /// Zone of the local times that a TIMESTAMP stores in UTC.
    pub zone: TimeZone,
    /// Which dates that the calendar does not have are stored.
    pub date_modes: DateModes,
}

impl StoredType {
    /// A column of the type in UTC, with the default modes.
    pub fn new(ty: SqlType) -> StoredType {
        StoredType { ty, digits: None, zone: TimeZone::UTC, date_modes: DateModes::DEFAULT }
    }
}

/// The value as the column stores it. NULL stays NULL: whether the column can be NULL is the caller's to know.
pub fn store(value: &Value, column: StoredType) -> Result<Value, Unfit<Value>> {
    if let SqlType::Unsigned(number) = column.ty {
        let is_negative = match value {
            Value::Text(text) => is_negative_number(text.as_bytes()),
            Value::Bytes(bytes) => is_negative_number(bytes),
            number => UnsignedNumber::excludes(number),
        };
        let plain = StoredType { ty: number.plain(), ..column };
        return not_negative(store(value, plain), is_negative, plain.ty);
    }
    match (value, column.ty) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Text(text), _) => store_text(text.as_bytes(), column),
        (Value::Bytes(bytes), SqlType::Text { collation, .. }) => store_bytes_as_text(bytes, collation, column),
        (Value::Bytes(bytes), _) => store_text(bytes, column),
        (_, SqlType::Year) => unsigned(named::year_value(value)),
        (
            Value::Date(_) | Value::DateTime(_) | Value::Time(_),
            SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. },
        ) => store_text(value.to_text(shown_digits(value)).unwrap_or_default().as_bytes(), column),
        // The number that another ENUM column has for a wrong value.
        (Value::UInt(0), SqlType::Enum(_)) => Ok(Value::UInt(0)),
        (_, SqlType::Enum(members)) => unsigned(named::enum_number(value, members)),
        (_, SqlType::Set(members)) => unsigned(named::set_number(value, members)),
        (_, SqlType::Bit { width }) => unsigned(named::bit_number(value, width)),
        (_, SqlType::Text { .. } | SqlType::Bytes { .. }) => {
            store_text(value.to_text(shown_digits(value)).unwrap_or_default().as_bytes(), column)
        }
        (_, SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Float | SqlType::Double) => {
            store_text(number_text(value, column.ty).as_bytes(), column)
        }
        _ => store_moment(value, column),
    }
}

/// A field of text as the column stores it.
pub fn store_text(bytes: &[u8], column: StoredType) -> Result<Value, Unfit<Value>> {
    let StoredType { ty, digits, zone, date_modes } = column;
    match ty {
        SqlType::Unsigned(number) => {
            let plain = StoredType { ty: number.plain(), ..column };
            not_negative(store_text(bytes, plain), is_negative_number(bytes), plain.ty)
        }
        SqlType::Int { width, unsigned } => {
            let (min, max) = int_range(width, unsigned);
            let value = |n: i128| if unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
            number::integer(bytes, min, max).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Decimal { precision, scale } if precision > DECIMAL128_MAX_PRECISION => {
            let value = |n: i256| Value::Decimal(Decimal::wide(n, scale));
            number::decimal_256(bytes, scale, decimal_max_256(precision)).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Decimal { precision, scale } => {
            let value = |n: i128| Value::Decimal(Decimal::new(n, scale));
            number::decimal(bytes, scale, decimal_max(precision)).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Float => {
            let value = |x: f64| Value::Float(x as f32);
            number::float(bytes, f32::MAX as f64, digits).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Double => {
            number::float(bytes, f64::MAX, digits).map(Value::Double).map_err(|unfit| unfit.map(Value::Double))
        }
        SqlType::Date => temporal::date(bytes, date_modes).map(Value::Date).map_err(|unfit| unfit.map(Value::Date)),
        SqlType::DateTime { fsp } => {
            let stored = temporal::datetime(bytes, fsp, date_modes);
            stored.map(Value::DateTime).map_err(|unfit| unfit.map(Value::DateTime))
        }
        SqlType::Timestamp { fsp } => {
            let stored = temporal::timestamp(bytes, fsp, zone, date_modes);
            stored.map(Value::DateTime).map_err(|unfit| unfit.map(Value::DateTime))
        }
        SqlType::Time { fsp } => temporal::time(bytes, fsp).map(Value::Time).map_err(|unfit| unfit.map(Value::Time)),
        SqlType::Text { kind, length, collation } if collation.character_set() != Charset::Utf8mb4 => {
            let stored = text::fitted_in_charset(bytes, kind, length, collation.character_set());
            let value = |text: Cow<'_, str>| Value::Text(text.into_owned());
            stored.map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Text { kind, length, .. } => {
            let value = |text: &str| Value::Text(text.to_string());
            let (kept, fault) = match text::fitted(bytes, kind, length) {
                Ok(kept) => (kept, None),
                Err(unfit) => (unfit.instead.unwrap_or_default(), Some(unfit.fault)),
            };
            let stored = text::valid(kept).map(value).map_err(|unfit| unfit.map(value));
            match fault {
                None => stored,
                Some(fault) => Err(Unfit { fault, instead: stored.map_or_else(|unfit| unfit.instead, Some) }),
            }
        }
        SqlType::Bytes { kind, length } => {
            let value = |bytes: &[u8]| {
                let zeros = text::padding(bytes, kind, length);
                Value::Bytes([bytes, &vec![0; zeros]].concat())
            };
            text::fitted_bytes(bytes, length).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Enum(members) => unsigned(named::enum_text(bytes, members)),
        SqlType::Set(members) => unsigned(named::set_text(bytes, members)),
        SqlType::Year => unsigned(named::year_text(bytes)),
        SqlType::Bit { width } => unsigned(named::bit_text(bytes, width)),
        SqlType::Bool | SqlType::Null => Ok(Value::Null),
    }
}

/// A byte string as a text: its bytes are those of the column's character set.
fn store_bytes_as_text(bytes: &[u8], collation: Collation, column: StoredType) -> Result<Value, Unfit<Value>> {
    let charset = collation.character_set();
    let valid = charset::valid_up_to(charset, bytes);
    let text = charset::decode(charset, &bytes[..valid]).unwrap_or_default();
    let stored = store_text(text.as_bytes(), column);
    match stored {
        Ok(kept) if valid < bytes.len() => Err(Unfit::new(StoreFault::Incorrect("string"), kept)),
        stored => stored,
    }
}

/// The value as a column without negative numbers stores it: a negative one is out of range, even if it rounds to zero.
/// `plain`: its type without UNSIGNED.
fn not_negative(stored: Result<Value, Unfit<Value>>, is_negative: bool, plain: SqlType) -> Result<Value, Unfit<Value>> {
    match stored {
        Ok(_) | Err(Unfit { instead: Some(_), .. }) if is_negative => {
            Err(Unfit { fault: StoreFault::OutOfRange, instead: implicit_default(plain) })
        }
        other => other,
    }
}

/// Returns true if the text begins with a number below zero.
pub fn is_negative_number(text: &[u8]) -> bool {
    let Some(digits) = text.trim_ascii_start().strip_prefix(b"-") else { return false };
    let number = digits.iter().take_while(|b| b.is_ascii_digit() || **b == b'.');
    number.into_iter().any(|b| (b'1'..=b'9').contains(b))
}

fn unsigned(stored: Result<u64, Unfit<u64>>) -> Result<Value, Unfit<Value>> {
    stored.map(Value::UInt).map_err(|unfit| unfit.map(Value::UInt))
}

/// A number, date or time as the text of a number, which a column of type `ty` rounds as it would round the value.
fn number_text(value: &Value, ty: SqlType) -> String {
    let number = match value {
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) if ty.is_integer() => cast(value, SqlType::BIGINT).0,
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => cast(value, SqlType::decimal(NARROW_DIGITS_MAX, 6)).0,
        Value::Float(x) => Value::Double(*x as f64),
        other => other.clone(),
    };
    match number {
        // Doubles are rounded to even integers, exact numbers away from zero.
        Value::Double(x) if ty.is_integer() => format!("{:.0}", x.round_ties_even()),
        other => other.to_text(0).unwrap_or_default(),
    }
}

/// A number, date or time as a date or time.
fn store_moment(value: &Value, column: StoredType) -> Result<Value, Unfit<Value>> {
    let StoredType { ty, zone, date_modes, .. } = column;
    let name = match ty {
        SqlType::Date => "date",
        SqlType::Time { .. } => "time",
        _ => "datetime",
    };
    if let (Some(zero), Some(of)) = (zero_date(ty), moment(value, date_modes)) {
        // A number with parts that are zero is no date; the zero date and a date of another column are out of range.
        let is_number = !matches!(value, Value::Date(_) | Value::DateTime(_)) && !of.moment.is_zero();
        let is_timestamp = matches!(ty, SqlType::Timestamp { .. });
        if !date_modes.keep(&of.moment) || is_number && is_timestamp && of.moment.has_zero_part() {
            let fault = if is_number { StoreFault::Incorrect(name) } else { StoreFault::NoSuchDate(name) };
            return Err(Unfit::new(fault, zero));
        }
    }
    let (cast, warnings) = cast_dated(value, ty, date_modes);
    match ((cast, warnings.of_value()), ty) {
        ((_, Some(_)), SqlType::Time { .. }) if is_beyond_times(value) => {
            let edge = if to_double(value).0 < 0.0 { -TIME_MAX_MICROS } else { TIME_MAX_MICROS };
            Err(Unfit { fault: StoreFault::BeyondTimes, instead: Some(Value::Time(edge)) })
        }
        ((Value::Null, _) | (_, Some(_)), _) => {
            Err(Unfit { fault: StoreFault::Incorrect(name), instead: zero_date(ty) })
        }
        ((Value::DateTime(local), None), SqlType::Timestamp { .. }) => {
            temporal::to_utc(local, zone).map(Value::DateTime).map_err(|unfit| unfit.map(Value::DateTime))
        }
        ((stored, None), _) => Ok(stored),
    }
}

/// The zero date of a type; `None` for a type that holds no dates.
fn zero_date(ty: SqlType) -> Option<Value> {
    match ty {
        SqlType::Date => Some(Value::Date(ZERO_DATE)),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Some(Value::DateTime(datetime_of(ZERO_DATE, 0))),
        _ => None,
    }
}

/// Returns true if a number has too many hours for a time, and is no number of a date and time either.
fn is_beyond_times(value: &Value) -> bool {
    let number = to_double(value).0.abs();
    (8_385_960.0..1e10).contains(&number)
}

/// Digits of the fraction of a second that the text of a value has.
fn shown_digits(value: &Value) -> u8 {
    match value {
        Value::DateTime(t) | Value::Time(t) if t % crate::temporal::MICROS_PER_SECOND != 0 => 6,
        _ => 0,
    }
}

/// Largest unscaled value of a decimal type of up to 38 digits.
pub fn decimal_max(precision: u8) -> i128 {
    pow10(precision as u32).map_or(i128::MAX, |p| p - 1)
}

/// Largest unscaled value of a decimal type.
pub fn decimal_max_256(precision: u8) -> i256 {
    pow10_256(precision as u32).map_or(i256::MAX, |p| p.wrapping_sub(i256::ONE))
}

/// The implicit default of a NOT NULL column, which IGNORE stores for a NULL (manual 13.6). `None` for types that no
/// column has.
pub fn implicit_default(ty: SqlType) -> Option<Value> {
    Some(match ty {
        SqlType::Unsigned(number) => return implicit_default(number.plain()),
        SqlType::Int { unsigned: true, .. } => Value::UInt(0),
        SqlType::Int { .. } => Value::Int(0),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::new(0, scale)),
        SqlType::Float => Value::Float(0.0),
        SqlType::Double => Value::Double(0.0),
        SqlType::Time { .. } => Value::Time(0),
        SqlType::Text { .. } => Value::Text(String::new()),
        SqlType::Bytes { .. } => Value::Bytes(Vec::new()),
        // MySQL's implicit default of an ENUM is its first member.
        SqlType::Enum(_) => Value::UInt(1),
        SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } => Value::UInt(0),
        dated => return zero_date(dated),
    })
}
