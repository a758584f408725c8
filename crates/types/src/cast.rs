//! MySQL's conversion of one value to another type: `CAST`, and the casts that MySQL makes by itself.
//!
//! ```text
//!   cast.rs           which conversion
//!   cast/json.rs      of JSON documents
//!   cast/number.rs    to integers, decimals, doubles; the number that a text begins with
//!   cast/temporal.rs  to dates and times
//!   cast/text.rs      to text and byte strings
//! ```
//!
//! A conversion never fails; storing a value into a column, which may, is the topic of [`crate::store`]. What does not
//! fit is cut to what does, or becomes NULL, with a warning (manual 14.10 "Cast Functions", 14.3 "Type Conversion",
//! 13.2 "Date and Time").

mod json;
mod number;
mod temporal;
mod text;

pub use number::{decimal_prefix, double_prefix, has_number, int_range, integer_prefix, to_double};
pub use temporal::{MomentOfValue, MomentRead, deprecation, moment, read_moment, warning_of_delimiter};

use crate::{
    ErrorCode, SqlType, Value,
    store::{self, StoredType},
    temporal::DateModes,
};

/// A warning of a conversion as `SHOW WARNINGS` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastWarning {
    pub code: ErrorCode,
    pub message: String,
}

impl CastWarning {
    /// Shaped for the end of a conversion, which wants an option.
    fn new(code: ErrorCode, message: impl Into<String>) -> Option<CastWarning> {
        Some(CastWarning { code, message: message.into() })
    }

    /// 1292: `what` is MySQL's name of the wanted type.
    fn truncated(what: &str, value: &str) -> Option<CastWarning> {
        CastWarning::new(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect {what} value: '{value}'"))
    }

    /// 1264.
    fn out_of_range() -> Option<CastWarning> {
        CastWarning::new(ErrorCode::OutOfRange, "Out of range value")
    }
}

/// The warnings of a conversion: that of the value, and behind it one of a delimiter that is deprecated, or of a number
/// that has become its complement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CastWarnings {
    of_value: Option<CastWarning>,
    second: Option<CastWarning>,
}

impl CastWarnings {
    /// The warning of a value that was lost in part or as a whole.
    pub fn of_value(self) -> Option<CastWarning> {
        self.of_value
    }

    pub fn is_empty(&self) -> bool {
        self.of_value.is_none() && self.second.is_none()
    }
}

impl From<Option<CastWarning>> for CastWarnings {
    fn from(of_value: Option<CastWarning>) -> CastWarnings {
        CastWarnings { of_value, second: None }
    }
}

impl IntoIterator for CastWarnings {
    type Item = CastWarning;
    type IntoIter = std::iter::Chain<std::option::IntoIter<CastWarning>, std::option::IntoIter<CastWarning>>;

    fn into_iter(self) -> Self::IntoIter {
        self.of_value.into_iter().chain(self.second)
    }
}

/// The value with type `to`. NULL stays NULL. Datetimes and times turn into text with six digits of fraction if they
/// have any; [`cast_from`] knows better.
pub fn cast(value: &Value, to: SqlType) -> (Value, CastWarnings) {
    cast_from(value, None, to)
}

/// Casts as [`cast`] does, for a value of type `from`: its `fsp` decides how many fractional digits a text gets.
pub fn cast_from(value: &Value, from: Option<SqlType>, to: SqlType) -> (Value, CastWarnings) {
    if value.is_null() {
        return (Value::Null, CastWarnings::default());
    }
    if let Value::Json(document) = value {
        return json::from_document(document, to, DateModes::DEFAULT);
    }
    if to == SqlType::Json {
        return (json::to_document(value, from), CastWarnings::default());
    }
    if let Some(from @ (SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. })) = from
        && !to.is_numeric()
        && from != to
        && !(to == SqlType::Year && matches!(from, SqlType::Enum(_) | SqlType::Set(_)))
    {
        return cast_from(&from.shown(value).unwrap_or(Value::Null), None, to);
    }
    if let Some(SqlType::Unsigned(number)) = from
        && (to.is_text() || to.is_bytes())
    {
        return cast_from(&Value::Text(number.filled(value.to_text(0).unwrap_or_default())), None, to);
    }
    let (value, warning) = match to {
        SqlType::Null => (Value::Null, None),
        SqlType::Unsigned(number) => return cast_from(value, from, number.plain()),
        SqlType::Bool => {
            let (x, warning) = to_double(value);
            (Value::Bool(x != 0.0), warning)
        }
        SqlType::Int { width, unsigned } => {
            let (number, warning) = number::to_int(value, width, unsigned);
            return (number, complement_of_text(value, warning));
        }
        SqlType::Decimal { precision, scale } => {
            let (number, warning) = number::to_decimal(value, precision, scale);
            return (number, number::beyond_decimals(value, warning));
        }
        SqlType::Float => {
            let (x, warning) = to_double(value);
            let narrow = (x as f32).clamp(f32::MIN, f32::MAX);
            (Value::Float(narrow), warning)
        }
        SqlType::Double => {
            let (x, warning) = to_double(value);
            (Value::Double(x), warning)
        }
        SqlType::Date => return temporal::to_date(value, DateModes::DEFAULT),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
            return temporal::to_datetime(value, fsp, DateModes::DEFAULT);
        }
        SqlType::Time { fsp } => return temporal::to_time(value, fsp, DateModes::DEFAULT),
        SqlType::Text { length, collation, .. } => text::to_text(value, from, length, collation),
        SqlType::Bytes { kind, length } => text::to_bytes(value, from, kind, length),
        SqlType::Year => temporal::to_year(value),
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. } => (stored(value, from, to), None),
        SqlType::Json => (json::to_document(value, from), None),
    };
    (value, warning.into())
}

/// The warnings of an integer: a text that goes on behind a number that becomes its complement has one more.
fn complement_of_text(value: &Value, warning: Option<CastWarning>) -> CastWarnings {
    let is_complement = warning.as_ref().is_some_and(|w| w.code == ErrorCode::Unknown);
    let text = match value {
        Value::Text(_) | Value::Bytes(_) if is_complement => value.to_text(0).unwrap_or_default(),
        _ => return warning.into(),
    };
    match integer_prefix(&text) {
        (_, true) => warning.into(),
        (_, false) => CastWarnings { of_value: CastWarning::truncated("INTEGER", &text), second: warning },
    }
}

/// Casts to a date, datetime or time as [`cast`] does, where `sql_mode` and the time zone may differ from the default.
pub fn cast_dated(value: &Value, to: SqlType, modes: DateModes) -> (Value, CastWarnings) {
    match (value, to) {
        (Value::Null, _) => (Value::Null, CastWarnings::default()),
        (Value::Json(document), _) => json::from_document(document, to, modes),
        (_, SqlType::Date) => temporal::to_date(value, modes),
        (_, SqlType::DateTime { fsp } | SqlType::Timestamp { fsp }) => temporal::to_datetime(value, fsp, modes),
        (_, SqlType::Time { fsp }) => temporal::to_time(value, fsp, modes),
        _ => cast(value, to),
    }
}

/// The value that a column of the type stores for a value.
fn stored(value: &Value, from: Option<SqlType>, to: SqlType) -> Value {
    if from == Some(to) {
        return value.clone();
    }
    let column = StoredType::new(to);
    store::store(value, column).unwrap_or_else(|unfit| unfit.instead.unwrap_or(Value::Null))
}

#[cfg(test)]
#[path = "cast_tests.rs"]
mod tests;
