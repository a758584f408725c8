//! One value, as literals, keys, parameters and result cells carry it.

use crate::{
    Decimal,
    json::{self, JsonView},
    temporal,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A single MySQL value. `Date` is a date code and `DateTime` the code of its date times the microseconds of a day,
/// plus the microseconds since midnight, without a time zone ([`temporal::date_code`]); `Time` is in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Float(f32),
    Double(f64),
    Date(i32),
    DateTime(i64),
    Time(i64),
    Text(String),
    Bytes(Vec<u8>),
    /// A JSON document in its binary form ([`crate::json`]).
    Json(Vec<u8>),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value as text of MySQL's text protocol; `None` for NULL. `fsp`: digits of fractional seconds to print.
    pub fn to_text(&self, fsp: u8) -> Option<String> {
        Some(match self {
            Value::Null => return None,
            Value::Bool(b) => (*b as u8).to_string(),
            Value::Int(i) => i.to_string(),
            Value::UInt(u) => u.to_string(),
            Value::Decimal(d) => d.to_string(),
            Value::Float(x) => format_float(*x),
            Value::Double(x) => format_double(*x),
            Value::Date(d) => temporal::format_date(*d),
            Value::DateTime(t) => temporal::format_datetime(*t, fsp),
            Value::Time(t) => temporal::format_time(*t, fsp),
            Value::Text(s) => s.clone(),
            Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            Value::Json(document) => json::to_text(JsonView::new(document)),
        })
    }
}

impl Value {
    /// Writes a value as [`Value::to_text`] does; a floating-point number with `decimals` digits behind the point, if
    /// that is given.
    pub fn to_text_with(&self, fsp: u8, decimals: Option<u8>) -> Option<String> {
        match (self, decimals) {
            (Value::Float(x), Some(decimals)) => Some(format_fixed(*x as f64, decimals)),
            (Value::Double(x), Some(decimals)) => Some(format_fixed(*x, decimals)),
            _ => self.to_text(fsp),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(s) => write!(f, "'{}'", s.replace('\\', "\\\\").replace('\'', "''")),
            Value::Bytes(b) => {
                f.write_str("0x")?;
                b.iter().try_for_each(|x| write!(f, "{x:02X}"))
            }
            Value::Date(_) => write!(f, "DATE'{}'", self.to_text(0).unwrap_or_default()),
            Value::DateTime(_) => write!(f, "TIMESTAMP'{}'", self.to_text(6).unwrap_or_default()),
            Value::Time(_) => write!(f, "TIME'{}'", self.to_text(6).unwrap_or_default()),
            other => f.write_str(&other.to_text(6).unwrap_or_else(|| "NULL".into())),
        }
    }
}

/// A double the way MySQL prints it: shortest text that reads back the same, exponents below 1e-15 and, of integers,
/// from 1e15 on.
pub fn format_double(x: f64) -> String {
    let a = x.abs();
    if a != 0.0 && !(1e-15..1e15).contains(&a) && x.fract() == 0.0 || a < 1e-15 && a != 0.0 {
        format!("{x:e}")
    } else {
        format!("{x}")
    }
}

/// A floating-point number with this many digits behind the point. Digits beyond the shortest text that reads back the
/// same are zeros, as MySQL writes them.
pub fn format_fixed(x: f64, decimals: u8) -> String {
    let shortest = format!("{x}");
    let digits = shortest.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    match usize::from(decimals).checked_sub(digits) {
        Some(zeros) => {
            let point = if digits == 0 && decimals > 0 { "." } else { "" };
            format!("{shortest}{point}{:0<zeros$}", "")
        }
        None => format!("{x:.*}", decimals as usize),
    }
}

/// A float the way MySQL prints it: six significant digits, trailing zeros dropped.
pub fn format_float(x: f32) -> String {
    format_double(rounded_float(x))
}

/// A float with the six significant digits that it shows.
pub(crate) fn rounded_float(x: f32) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x.into())
}
