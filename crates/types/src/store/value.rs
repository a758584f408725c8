//! One value into a column of any type.

use super::{
    StoreFault, Unfit,
    double_text::{fitted_double, usual_text},
    named, number, temporal, text,
};
use crate::{
    BytesKind, Collation, Decimal, FloatDigits, SqlType, TextKind, UnsignedNumber, Value,
    cast::{CastWarnings, cast, cast_dated, int_range, moment, to_double},
    charset::{self, Charset},
    decimal::{NARROW_DIGITS_MAX, pow10, pow10_256},
    error::ErrorCode,
    json::{self, TextError},
    sql_type::DECIMAL128_MAX_PRECISION,
    temporal::{
        DateModes, MICROS_PER_SECOND, TIME_MAX_MICROS, ZERO_DATE, datetime_of, datetime_parts, round_fraction,
        rounds_beyond_last,
    },
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

/// The number that stands for a hexadecimal literal beyond all numbers: it is larger than any decimal.
pub const LONG_LITERAL: Decimal = Decimal::wide(i256::MAX, 0);

/// Bytes of the longest hexadecimal literal that is an integer.
const INTEGER_BYTES: usize = 8;

/// A hexadecimal or bit literal: its bytes are a number's, high ones first. More than eight are beyond all columns, and
/// eight beyond those with a sign if the number has 64 digits of base 2 (MySQL: `Item_hex_string::save_in_field`).
pub fn hexadecimal(bytes: &[u8], ty: SqlType) -> Value {
    let is_bits = matches!(ty, SqlType::Bit { .. });
    if is_bits && bytes.len() <= INTEGER_BYTES || !is_bits && !ty.stored_type().is_numeric() && ty != SqlType::Year {
        return Value::Bytes(bytes.to_vec());
    }
    let number = bytes.iter().fold(0u64, |v, b| v << 8 | u64::from(*b));
    let is_signed = match ty {
        SqlType::Int { unsigned, .. } => !unsigned,
        _ => matches!(ty, SqlType::Decimal { .. } | SqlType::Float | SqlType::Double),
    };
    match bytes.len() > INTEGER_BYTES || is_signed && i64::try_from(number).is_err() {
        true => Value::Decimal(LONG_LITERAL),
        false => Value::UInt(number),
    }
}

/// A hexadecimal literal that is beyond the column: it is the largest BIGINT, even for a column of decimals.
fn store_long_literal(column: StoredType) -> Result<Value, Unfit<Value>> {
    let (column, is_unsigned) = match column.ty {
        SqlType::Unsigned(number) => (StoredType { ty: number.plain(), ..column }, true),
        SqlType::Decimal { .. } | SqlType::Float | SqlType::Double => (column, false),
        SqlType::Int { unsigned, .. } => (column, unsigned),
        _ => (column, true),
    };
    let largest = if is_unsigned { u64::MAX } else { i64::MAX.unsigned_abs() };
    store(&Value::UInt(largest), column).and_then(|stored| Err(Unfit::new(StoreFault::OutOfRange, stored)))
}

/// The value as the column stores it. NULL stays NULL: whether the column can be NULL is the caller's to know.
pub fn store(value: &Value, column: StoredType) -> Result<Value, Unfit<Value>> {
    if matches!(value, Value::Decimal(number) if *number == LONG_LITERAL) {
        return store_long_literal(column);
    }
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
        (Value::Json(document), SqlType::Json) => Ok(Value::Json(document.clone())),
        (Value::Json(_), _) => store_document(value, column),
        (_, SqlType::Json) if !matches!(value, Value::Text(_)) => Err(no_document(value)),
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
        (Value::Float(_) | Value::Double(_), SqlType::Text { length, .. } | SqlType::Bytes { length, .. })
            if is_narrow(column.ty) =>
        {
            store_double(value, length, column)
        }
        (Value::Float(_) | Value::Double(_), SqlType::Text { .. } | SqlType::Bytes { .. }) => {
            store_text(usual_text(value).as_bytes(), column)
        }
        (_, SqlType::Text { .. } | SqlType::Bytes { .. }) => {
            store_text(value.to_text(shown_digits(value)).unwrap_or_default().as_bytes(), column)
        }
        // A decimal below zero is no unsigned integer, though it may round to zero.
        (Value::Decimal(number), SqlType::Int { unsigned: true, .. }) if number.is_negative() => {
            Err(Unfit::new(StoreFault::OutOfRange, Value::UInt(0)))
        }
        (_, SqlType::Int { .. } | SqlType::Decimal { .. } | SqlType::Float | SqlType::Double) => {
            store_text(number_text(value, column.ty).as_bytes(), column)
        }
        _ => store_moment(value, column),
    }
}

/// Returns true for CHAR, VARCHAR and their kin of bytes, which write a floating-point number in as many characters as
/// they have.
fn is_narrow(ty: SqlType) -> bool {
    matches!(
        ty,
        SqlType::Text { kind: TextKind::Char | TextKind::VarChar, .. }
            | SqlType::Bytes { kind: BytesKind::Binary | BytesKind::VarBinary, .. }
    )
}

/// A floating-point number in a column of `length` characters, with the digits that there is room for (MySQL:
/// `Field_str::store(double)`).
fn store_double(value: &Value, length: u32, column: StoredType) -> Result<Value, Unfit<Value>> {
    // A FLOAT has the digits that it has as a double.
    let number = to_double(value).0;
    let text = Value::Double(number).to_text(0).unwrap_or_default();
    if text.len() <= length as usize {
        return store_text(text.as_bytes(), column);
    }
    let (text, fits) = fitted_double(number, length as usize);
    let stored = store_text(&text.as_bytes()[..text.len().min(length as usize)], column);
    match (stored, fits) {
        (Ok(cut), false) => Err(Unfit::new(StoreFault::TooLong, cut)),
        (stored, _) => stored,
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
        SqlType::Time { fsp } => {
            temporal::time(bytes, fsp, date_modes).map(Value::Time).map_err(|unfit| unfit.map(Value::Time))
        }
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
            let zeros = |bytes: &[u8]| vec![0; text::padding(bytes, kind, length)];
            let value = |bytes: &[u8]| Value::Bytes([bytes, &zeros(bytes)].concat());
            text::fitted_bytes(bytes, length).map(value).map_err(|unfit| unfit.map(value))
        }
        SqlType::Enum(members) => unsigned(named::enum_text(bytes, members)),
        SqlType::Set(members) => unsigned(named::set_text(bytes, members)),
        SqlType::Year => unsigned(named::year_text(bytes)),
        SqlType::Bit { width } => unsigned(named::bit_text(bytes, width)),
        SqlType::Json => store_json_text(bytes),
        SqlType::Bool | SqlType::Null => Ok(Value::Null),
    }
}

/// A text as a JSON document.
fn store_json_text(bytes: &[u8]) -> Result<Value, Unfit<Value>> {
    let text = String::from_utf8_lossy(bytes);
    json::parse_to_bytes(&text).map(Value::Json).map_err(|error| {
        let fault = match error {
            TextError::Syntax { what, position } => StoreFault::InvalidJson { what, position },
            TextError::Limit(limit) => StoreFault::JsonLimit(limit),
        };
        Unfit { fault, instead: None }
    })
}

/// The fault of a value that no JSON column takes as it is.
fn no_document(value: &Value) -> Unfit<Value> {
    let fault = match value {
        Value::Bytes(_) => StoreFault::BinaryJson,
        _ => StoreFault::InvalidJson { what: "not a JSON text, may need CAST", position: 0 },
    };
    Unfit { fault, instead: None }
}

/// A document in a column of another type: a scalar as what it is or reads as, all else as text.
fn store_document(document: &Value, column: StoredType) -> Result<Value, Unfit<Value>> {
    match column.ty {
        SqlType::Text { .. } | SqlType::Bytes { .. } | SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. } => {
            store_text(document.to_text(0).unwrap_or_default().as_bytes(), column)
        }
        ty => {
            let (value, warnings) = cast_dated(document, ty, column.date_modes);
            let instead = if value.is_null() { implicit_default(ty) } else { Some(value) };
            match warnings.of_value() {
                None => store(&instead.unwrap_or(Value::Null), column),
                Some(warning) if warning.code == ErrorCode::NumericJsonValueOutOfRange => {
                    Err(Unfit { fault: StoreFault::OutOfRange, instead })
                }
                Some(_) => Err(Unfit { fault: StoreFault::InvalidJsonCast(json_cast_name(ty)), instead }),
            }
        }
    }
}

/// MySQL's name of the type that a document cannot be converted to.
fn json_cast_name(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Float | SqlType::Double => "DOUBLE",
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => {
            "DATE/TIME/DATETIME/TIMESTAMP"
        }
        _ => "INTEGER",
    }
}

/// A byte string as a text: its bytes are those of the column's character set.
fn store_bytes_as_text(bytes: &[u8], collation: Collation, column: StoredType) -> Result<Value, Unfit<Value>> {
    let charset = collation.character_set();
    // Zeros make the first character whole (MySQL: `String::copy_aligned`).
    let unit = charset.min_bytes() as usize;
    let padded = [vec![0; (unit - bytes.len() % unit) % unit].as_slice(), bytes].concat();
    let bytes = padded.as_slice();
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
            let fault = match stored {
                Err(Unfit { fault: fault @ StoreFault::CutBeyond { .. }, .. }) => fault,
                Err(Unfit { fault: StoreFault::CutDecimal, .. }) => StoreFault::CutBeyond { is_exact: true },
                Err(Unfit { fault: StoreFault::Truncated, .. })
                    if matches!(plain, SqlType::Float | SqlType::Double) =>
                {
                    StoreFault::CutBeyond { is_exact: false }
                }
                _ => StoreFault::OutOfRange,
            };
            Err(Unfit { fault, instead: implicit_default(plain) })
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
    match fraction_of_zero(value, ty) {
        Some(0) => return store_moment(&Value::Int(0), column),
        Some(fraction) if matches!(ty, SqlType::DateTime { .. }) && !date_modes.no_zero_date => {
            return Ok(Value::DateTime(fraction));
        }
        _ => {}
    }
    let name = match ty {
        SqlType::Date => "date",
        SqlType::Time { .. } => "time",
        _ => "datetime",
    };
    let utc = |stored| match stored {
        Value::DateTime(local) if matches!(ty, SqlType::Timestamp { .. }) => {
            temporal::to_utc(local, zone).map(Value::DateTime).map_err(|unfit| unfit.map(Value::DateTime))
        }
        stored => Ok(stored),
    };
    if let Some(Unfit { fault, instead }) = unfit_number(value, ty, name, date_modes) {
        return Err(Unfit {
            fault,
            instead: instead.and_then(|local| utc(local).map_or_else(|unfit| unfit.instead, Some)),
        });
    }
    if let (Some(zero), Some(of)) = (zero_date(ty), moment(value, date_modes)) {
        // A number with parts that are zero is no date; the zero date and a date of another column are out of range.
        let is_number = !matches!(value, Value::Date(_) | Value::DateTime(_)) && !of.moment.is_zero();
        let is_timestamp = matches!(ty, SqlType::Timestamp { .. });
        if !date_modes.keep(&of.moment) || is_number && is_timestamp && of.moment.has_zero_part() {
            let fault = if is_number { StoreFault::Incorrect(name) } else { StoreFault::NoSuchDate(name) };
            return Err(Unfit::new(fault, zero));
        }
    }
    if let (Some(zero), Some(local)) = (zero_date(ty), moment(value, date_modes).and_then(|of| of.moment.datetime()))
        && rounds_beyond_last(local, ty.fsp())
    {
        return Err(Unfit::new(StoreFault::BehindLast, zero));
    }
    let (cast, warnings) = cast_rounded(value, ty, date_modes);
    match (cast, warnings.of_value()) {
        (Value::Null, _) | (_, Some(_)) => Err(Unfit { fault: StoreFault::Incorrect(name), instead: zero_date(ty) }),
        (stored, None) => utc(stored),
    }
}

/// The value as a date or time. Half a second before midnight is the next day, also for a date.
fn cast_rounded(value: &Value, ty: SqlType, date_modes: DateModes) -> (Value, CastWarnings) {
    match (value, ty) {
        (Value::Date(_), _) | (_, SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            cast_dated(value, ty, date_modes)
        }
        _ => match cast_dated(value, SqlType::DateTime { fsp: 0 }, date_modes) {
            (Value::DateTime(moment), warnings) => (Value::Date(datetime_parts(moment).0), warnings),
            other => other,
        },
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

/// The datetime of a number below one: the zero date with a fraction of a second. `None` for other numbers, and for one
/// that rounds to a second, which the zero date has not.
fn fraction_of_zero(value: &Value, ty: SqlType) -> Option<i64> {
    let is_fraction = matches!(value, Value::Decimal(_) | Value::Float(_) | Value::Double(_));
    let number = if is_fraction && zero_date(ty).is_some() { to_double(value).0 } else { 0.0 };
    let micros = (number > 0.0 && number < 1.0).then(|| (number * MICROS_PER_SECOND as f64).round() as i64)?;
    Some(round_fraction(micros, ty.fsp())).filter(|rounded| *rounded < MICROS_PER_SECOND)
}

/// The fault of a number that is no date or time. `None` for one that is, and for what is no number.
fn unfit_number(value: &Value, ty: SqlType, name: &'static str, date_modes: DateModes) -> Option<Unfit<Value>> {
    /// Numbers beyond those of 64 bits are none of a moment.
    const INTEGERS_END: f64 = 9.2e18;
    /// Behind all numbers of 14 digits, which those of a date and time have.
    const MOMENTS_END: f64 = 1e14;
    let is_number =
        matches!(value, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_));
    if !is_number {
        return None;
    }
    let (number, cast) = (to_double(value).0, cast_dated(value, ty, date_modes).0);
    if let SqlType::Time { .. } = ty {
        // Too many hours, and no number of a date and time either; or minutes or seconds that there are not.
        let is_no_moment = number.abs() < 1e10 || number.abs() > INTEGERS_END || cast.is_null();
        let has_too_many = number.abs() >= 8_385_960.0 && is_no_moment;
        let instead = match has_too_many {
            true if number < 0.0 => -TIME_MAX_MICROS,
            true => TIME_MAX_MICROS,
            false if cast.is_null() => 0,
            false => return None,
        };
        return Some(Unfit::new(StoreFault::BeyondTimes, Value::Time(instead)));
    }
    let zero = zero_date(ty)?;
    if number != 0.0 && !(1.0..MOMENTS_END).contains(&number) {
        return Some(Unfit::new(StoreFault::NoSuchDate(name), zero));
    }
    // A fraction of a day is lost, which is more than a note.
    let has_clock = moment(value, date_modes).is_some_and(|of| of.has_clock);
    let is_cut = number.fract() != 0.0 && !has_clock && !cast.is_null();
    is_cut.then(|| Unfit::new(StoreFault::Incorrect(name), cast))
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
        // A byte string of a fixed length is filled up with zeros.
        SqlType::Bytes { kind: BytesKind::Binary, length } => Value::Bytes(vec![0; length as usize]),
        SqlType::Bytes { .. } => Value::Bytes(Vec::new()),
        // MySQL's implicit default of an ENUM is its first member.
        SqlType::Enum(_) => Value::UInt(1),
        SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } => Value::UInt(0),
        SqlType::Json => Value::Json(json::NULL_BYTES.to_vec()),
        dated => return zero_date(dated),
    })
}
