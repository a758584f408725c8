//! `JSON_VALUE`: the one value that a path leads to, in a type that the statement names.
//!
//! Unlike CAST nothing is cut or read in part: a value that the type does not hold is an error, for which the statement
//! says what the result is.

use super::argument::{binary_text, path};
use crate::{Call, call::int};
use muster_types::{
    BytesKind, ErrorCode, IntWidth, Result, SqlError, SqlType, Value,
    cast::{double_prefix, int_range, integer_prefix},
    json::{self, JsonNode, JsonView},
    store::{StoredType, store, store_text},
    temporal::{DateModes, FSP_MAX},
};
use std::borrow::Cow;

/// Bits of the last argument: the statement has ERROR ON EMPTY, or ERROR ON ERROR.
pub const ERROR_ON_EMPTY: i64 = 1;
pub const ERROR_ON_ERROR: i64 = 2;

/// `JSON_VALUE` as the binder calls it: the document, the path, NULL of the wanted type, the values for nothing and for
/// an error, and bits of what is an error.
pub(super) fn value(call: &mut Call, args: &[Value]) -> Result<Value> {
    let [document, _, _, on_empty, on_error, _] = args else { return Ok(Value::Null) };
    let bits = int(args, 5);
    let fallback = |error: SqlError, bit: i64, instead: &Value| match bits & bit != 0 {
        true => Err(error),
        false => Ok(instead.clone()),
    };
    let bytes = match document {
        Value::Json(bytes) => Cow::Borrowed(bytes.as_slice()),
        Value::Text(text) => match json::parse_to_bytes(text) {
            Ok(bytes) => Cow::Owned(bytes),
            Err(error) => {
                let error = error.in_argument(1, call.name);
                if bits & ERROR_ON_ERROR == 0 {
                    call.warn(error.code, error.message.clone());
                }
                return fallback(error, ERROR_ON_ERROR, on_error);
            }
        },
        Value::Bytes(_) => return Err(binary_text()),
        _ => return Ok(Value::Null),
    };
    let Some(path) = path(args, 1)? else { return Ok(Value::Null) };
    let found = json::seek(JsonView::new(&bytes), &path);
    let ty = call.types.get(2).copied().flatten().unwrap_or(SqlType::Json);
    match found.as_slice() {
        [] => {
            let message = "No value was found by 'json_value' on the specified path.";
            fallback(SqlError::new(ErrorCode::MissingJsonValue, message), ERROR_ON_EMPTY, on_empty)
        }
        [one] if matches!(one.node(), JsonNode::Null) => Ok(Value::Null),
        [one] => match in_type(*one, ty, call.date_modes()) {
            Some(value) => Ok(value),
            None => fallback(out_of_range(ty, "value"), ERROR_ON_ERROR, on_error),
        },
        _ => {
            let message = "More than one value was found by 'json_value' on the specified path.";
            fallback(SqlError::new(ErrorCode::MultipleJsonValues, message), ERROR_ON_ERROR, on_error)
        }
    }
}

/// Error 1690: `what` is "value" or, for a value of the statement, "DEFAULT value".
pub fn out_of_range(ty: SqlType, what: &str) -> SqlError {
    let name = match ty {
        SqlType::Int { unsigned: true, .. } => "UNSIGNED",
        SqlType::Int { .. } => "SIGNED",
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Float | SqlType::Double => "DOUBLE",
        SqlType::Date => "DATE",
        SqlType::DateTime { .. } => "DATETIME",
        SqlType::Time { .. } => "TIME",
        SqlType::Year => "YEAR",
        SqlType::Json => "JSON",
        _ if what == "value" => "STRING",
        _ => "CHAR",
    };
    let message = format!("{name} {what} is out of range in 'json_value'");
    SqlError::new(ErrorCode::DataOutOfRange, message)
}

/// The value as one of the type; `None` if the type does not hold all of it.
fn in_type(view: JsonView<'_>, ty: SqlType, modes: DateModes) -> Option<Value> {
    match ty {
        SqlType::Json => Some(Value::Json(view.to_bytes())),
        SqlType::Text { length, collation, .. } => {
            let text = shown(view);
            let fits = text.chars().count() <= length as usize;
            (fits && collation.character_set().has_all(&text)).then_some(Value::Text(text))
        }
        SqlType::Bytes { length, kind } => {
            debug_assert_ne!(kind, BytesKind::Binary, "nothing is filled up with zeros here");
            let bytes = shown(view).into_bytes();
            (bytes.len() <= length as usize).then_some(Value::Bytes(bytes))
        }
        SqlType::Int { width, unsigned } => integer(view, width, unsigned),
        SqlType::Year => match integer(view, IntWidth::Small, true)? {
            Value::UInt(year @ (0 | 1901..=2155)) => Some(Value::UInt(year)),
            _ => None,
        },
        SqlType::Decimal { .. } => match number(view)? {
            Value::Text(text) => store_text(text.as_bytes(), StoredType::new(ty)).ok(),
            number => store(&number, StoredType::new(ty)).ok(),
        },
        SqlType::Float => double(view).map(|x| x as f32).map(|x| Value::Float(if x.is_finite() { x } else { 0.0 })),
        SqlType::Double => double(view).map(Value::Double),
        _ => moment(view, ty, modes),
    }
}

pub(super) fn shown(view: JsonView<'_>) -> String {
    json::scalar_text(view).unwrap_or_else(|| json::to_text(view))
}

/// The number that a scalar is, or the text of it.
pub(super) fn number(view: JsonView<'_>) -> Option<Value> {
    Some(match view.node() {
        JsonNode::Int(n) => Value::Int(n),
        JsonNode::UInt(n) => Value::UInt(n),
        JsonNode::Bool(b) => Value::Int(b.into()),
        JsonNode::Double(x) => Value::Double(x),
        JsonNode::Decimal(d) => Value::Decimal(d),
        JsonNode::Text(text) => Value::Text(text.to_owned()),
        _ => return None,
    })
}

/// A whole number; one with a fraction is rounded, but a text must be one as a whole.
pub(super) fn integer(view: JsonView<'_>, width: IntWidth, unsigned: bool) -> Option<Value> {
    let (min, max) = int_range(width, unsigned);
    let whole = match number(view)? {
        Value::Int(n) => n.into(),
        Value::UInt(n) => n.into(),
        Value::Double(x) => {
            let whole = x.round_ties_even();
            // One beyond the signed integers is none, even if it is positive.
            if (-(2f64.powi(63))..2f64.powi(63)).contains(&whole) { whole as i128 } else { return None }
        }
        Value::Decimal(d) => return store(&Value::Decimal(d), StoredType::new(SqlType::Int { width, unsigned })).ok(),
        Value::Text(text) => match integer_prefix(&text) {
            (n, true) if text.ends_with(|c: char| c.is_ascii_digit()) => n,
            _ => return None,
        },
        _ => return None,
    };
    let fits = (min..=max).contains(&whole);
    fits.then_some(if unsigned { Value::UInt(whole as u64) } else { Value::Int(whole as i64) })
}

pub(super) fn double(view: JsonView<'_>) -> Option<f64> {
    Some(match number(view)? {
        Value::Text(text) if text.is_empty() => 0.0,
        Value::Text(text) => match double_prefix(&text) {
            (x, true) if !text.ends_with(' ') && x.abs() < f64::MAX => x,
            _ => return None,
        },
        other => muster_types::cast::to_double(&other).0,
    })
}

/// A date or time, or a text of one. Digits behind those of the type are cut off.
fn moment(view: JsonView<'_>, ty: SqlType, modes: DateModes) -> Option<Value> {
    let whole = StoredType { date_modes: modes, ..StoredType::new(whole_type(ty)) };
    let value = match (view.node(), ty) {
        (JsonNode::Text(text), SqlType::Time { .. }) if !text.contains(':') => return None,
        (JsonNode::Text(text), _) => store_text(text.as_bytes(), whole).ok()?,
        (JsonNode::Date(_) | JsonNode::DateTime(_) | JsonNode::Timestamp(_), SqlType::Time { .. }) => return None,
        (JsonNode::Date(date), _) => store(&Value::Date(date), whole).ok()?,
        (JsonNode::DateTime(t) | JsonNode::Timestamp(t), _) => store(&Value::DateTime(t), whole).ok()?,
        (JsonNode::Time(t), SqlType::Time { .. }) => Value::Time(t),
        _ => return None,
    };
    let step = 10i64.pow((FSP_MAX - ty.fsp().min(FSP_MAX)).into());
    Some(match (value, ty) {
        (Value::DateTime(t), SqlType::Date) => muster_types::cast(&Value::DateTime(t), SqlType::Date).0,
        (Value::DateTime(t), _) => Value::DateTime(t - t.rem_euclid(step)),
        (Value::Time(t), _) => Value::Time(t - t % step),
        (other, _) => other,
    })
}

/// The type with all digits of the fraction of a second.
fn whole_type(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Time { .. } => SqlType::Time { fsp: FSP_MAX },
        _ => SqlType::DateTime { fsp: FSP_MAX },
    }
}
