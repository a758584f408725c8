//! Values of ENUM, SET, YEAR and BIT columns.

use super::{StoreFault, Unfit, number, text};
use crate::{MemberList, Value, cast::to_double, temporal};

/// YEAR values below this one are of the years from 2000 on, those up to [`SHORT_YEAR_MAX`] of the years before.
const YEAR_OF_2000: i128 = 70;
const SHORT_YEAR_MAX: i128 = 99;
const YEAR_BEFORE_FIRST: i128 = 1900;
const YEAR_MAX: i128 = 2155;

/// The position of the member that a text is, or whose number it is (MySQL: `Field_enum::store`).
pub fn enum_text(bytes: &[u8], members: MemberList) -> Result<u64, Unfit<u64>> {
    let wrong = Unfit::new(StoreFault::Truncated, 0);
    // Bytes of no character have no weight.
    let text = String::from_utf8_lossy(text::without_padding(bytes));
    let text = text.replace(char::REPLACEMENT_CHARACTER, "");
    if let Some(position) = members.position(&text) {
        return Ok(position as u64);
    }
    match text.parse::<u64>() {
        Ok(number) if number <= members.names().len() as u64 => Ok(number),
        _ => Err(wrong),
    }
}

/// The position that a number is.
pub fn enum_number(value: &Value, members: MemberList) -> Result<u64, Unfit<u64>> {
    match u64::try_from(truncated(value)) {
        Ok(position) if (1..=members.names().len() as u64).contains(&position) => Ok(position),
        _ => Err(Unfit::new(StoreFault::Truncated, 0)),
    }
}

/// The bits of the members that a text names, or whose number it is.
pub fn set_text(bytes: &[u8], members: MemberList) -> Result<u64, Unfit<u64>> {
    let text = text::valid(text::without_padding(bytes)).map_err(|_| Unfit::new(StoreFault::Truncated, 0))?;
    let (bits, all) = members.set_bits(text);
    if all && (!text.is_empty() || bytes.is_empty()) {
        return Ok(bits);
    }
    if bits == 0
        && let Ok(number) = text.parse::<u64>()
        && number <= members.all_bits()
    {
        return Ok(number);
    }
    Err(Unfit::new(StoreFault::Truncated, bits))
}

/// The bits that a number is; those that no member has are dropped.
pub fn set_number(value: &Value, members: MemberList) -> Result<u64, Unfit<u64>> {
    let bits = match value {
        // By way of a floating-point number (MySQL: `Field_enum::store(double)`).
        Value::Decimal(number) => number.to_f64() as i64 as u64,
        other => truncated(other) as u64,
    };
    match bits & members.all_bits() {
        kept if kept == bits => Ok(bits),
        kept => Err(Unfit::new(StoreFault::Truncated, kept)),
    }
}

/// The year of a text (MySQL: `Field_year::store`): two digits are a year from 1970 to 2069, and so is a zero that is
/// not written with four.
pub fn year_text(bytes: &[u8]) -> Result<u64, Unfit<u64>> {
    let (number, fault) = match number::integer(bytes, i64::MIN.into(), i64::MAX.into()) {
        Ok(number) => (number, None),
        Err(Unfit { fault: StoreFault::Truncated, instead: Some(number) }) => (number, Some(StoreFault::Truncated)),
        Err(unfit) => return Err(Unfit::new(unfit.fault, 0)),
    };
    let year = match number {
        0 if bytes.len() != 4 => Ok(2000),
        number => full_year(number),
    };
    match (year, fault) {
        (Ok(year), Some(fault)) => Err(Unfit::new(fault, year)),
        (year, _) => year,
    }
}

/// The year of a number or of a date.
pub fn year_value(value: &Value) -> Result<u64, Unfit<u64>> {
    let date = match value {
        Value::Date(date) => Some(*date),
        Value::DateTime(datetime) => Some(temporal::datetime_parts(*datetime).0),
        _ => None,
    };
    match (value, date) {
        (_, Some(date)) => full_year(temporal::code_year(date).into()),
        // A number below zero is none, though it may round to zero.
        (Value::Decimal(_) | Value::Double(_) | Value::Float(_), None) if to_double(value).0 < 0.0 => {
            Err(Unfit::new(StoreFault::OutOfRange, 0))
        }
        (Value::Decimal(d), None) => full_year(d.round().to_i128().unwrap_or(i128::MAX)),
        (number, None) => full_year(truncated(number)),
    }
}

fn full_year(number: i128) -> Result<u64, Unfit<u64>> {
    match number {
        0 => Ok(0),
        1..YEAR_OF_2000 => Ok((number + 2000) as u64),
        YEAR_OF_2000..=SHORT_YEAR_MAX => Ok((number + YEAR_BEFORE_FIRST) as u64),
        _ if (YEAR_BEFORE_FIRST + 1..=YEAR_MAX).contains(&number) => Ok(number as u64),
        _ => Err(Unfit::new(StoreFault::OutOfRange, 0)),
    }
}

/// The bits of a byte string.
pub fn bit_text(bytes: &[u8], width: u8) -> Result<u64, Unfit<u64>> {
    let start = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
    let significant = &bytes[start..];
    if significant.len() > 8 {
        return Err(Unfit::new(StoreFault::TooLong, bits_max(width)));
    }
    fitting_bits(significant.iter().fold(0, |bits, b| bits << 8 | u64::from(*b)), width)
}

/// The bits of a number; of a negative integer or double all 64. A decimal is one without a sign.
pub fn bit_number(value: &Value, width: u8) -> Result<u64, Unfit<u64>> {
    let number = match value {
        Value::Decimal(d) if d.is_negative() => return Err(Unfit::new(StoreFault::OutOfRange, 0)),
        Value::Decimal(d) => match d.round().to_i128() {
            Some(whole) if whole <= u64::MAX.into() => whole,
            _ => return Err(Unfit::new(StoreFault::OutOfRange, bits_max(width))),
        },
        other => truncated(other),
    };
    fitting_bits(number as u64, width)
}

fn fitting_bits(bits: u64, width: u8) -> Result<u64, Unfit<u64>> {
    let max = bits_max(width);
    if bits <= max { Ok(bits) } else { Err(Unfit::new(StoreFault::TooLong, max)) }
}

fn bits_max(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width.clamp(1, 64)))
}

/// A number without its fraction; 0 for what is none.
fn truncated(value: &Value) -> i128 {
    match value {
        Value::Bool(b) => i128::from(*b),
        Value::Int(i) => i128::from(*i),
        Value::UInt(u) => i128::from(*u),
        Value::Decimal(d) => d.cut(0).narrow().unwrap_or(i128::MAX),
        Value::Float(x) => *x as i64 as i128,
        Value::Double(x) => *x as i64 as i128,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
