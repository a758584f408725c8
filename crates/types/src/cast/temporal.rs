//! Conversion to dates and times.

use super::{CastWarning, number::to_decimal};
use crate::{
    Decimal, ErrorCode, Value,
    temporal::{
        MICROS_PER_DAY, TIME_MAX_MICROS, datetime_from_number, days_from_civil, parse_datetime, parse_time,
        round_fraction, time_from_number,
    },
};

fn incorrect(what: &str, value: &Value) -> (Value, Option<CastWarning>) {
    let text = value.to_text(6).unwrap_or_default();
    (Value::Null, CastWarning::new(ErrorCode::TruncatedWrongValue, format!("Incorrect {what} value: '{text}'")))
}

pub(super) fn to_date(value: &Value) -> (Value, Option<CastWarning>) {
    match micros(value, "date") {
        Some((t, warning)) => (Value::Date(t.div_euclid(MICROS_PER_DAY) as i32), warning),
        None => incorrect("datetime", value),
    }
}

pub(super) fn to_datetime(value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let last = days_from_civil(10_000, 1, 1) as i64 * MICROS_PER_DAY;
    match micros(value, "datetime") {
        Some((t, warning)) if round_fraction(t, fsp) < last => (Value::DateTime(round_fraction(t, fsp)), warning),
        _ => incorrect("datetime", value),
    }
}

/// Microseconds since 1970 that a value means as a date and time of day.
fn micros(value: &Value, what: &str) -> Option<(i64, Option<CastWarning>)> {
    let t = match value {
        Value::Date(d) => *d as i64 * MICROS_PER_DAY,
        Value::DateTime(t) => *t,
        // A time is one of today.
        Value::Time(t) => today()? * MICROS_PER_DAY + t,
        Value::Text(s) => return text_micros(s, what),
        Value::Bytes(b) => return text_micros(std::str::from_utf8(b).ok()?, what),
        _ => {
            let (whole, fraction) = whole_and_micros(value)?;
            datetime_from_number(whole)? + fraction
        }
    };
    Some((t, None))
}

fn today() -> Option<i64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((now.as_secs() / 86_400) as i64)
}

/// A number's integer part and its fraction as microseconds.
fn whole_and_micros(value: &Value) -> Option<(i64, i64)> {
    let Value::Decimal(Decimal { unscaled, .. }) = to_decimal(value, 38, 6).0 else { return None };
    Some((i64::try_from(unscaled / 1_000_000).ok()?, (unscaled % 1_000_000) as i64))
}

fn text_micros(text: &str, what: &str) -> Option<(i64, Option<CastWarning>)> {
    if let Some(t) = parse_datetime(text) {
        return Some((t, None));
    }
    // What begins like a date and goes on with something else is a date, with a warning.
    let text = text.trim();
    let is_part = |c: char| c.is_ascii_digit() || c.is_ascii_punctuation() || c == ' ';
    let end = text.char_indices().find(|(i, c)| !(is_part(*c) || (*c == 'T' && *i > 0))).map_or(text.len(), |(i, _)| i);
    let front = text[..end].trim_end_matches(|c: char| !c.is_ascii_digit());
    if front.is_empty() || front.len() == text.len() {
        return None;
    }
    Some((parse_datetime(front)?, CastWarning::truncated(what, text)))
}

pub(super) fn to_time(value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let t = match value {
        Value::Time(t) => Some(*t),
        Value::DateTime(t) => Some(t.rem_euclid(MICROS_PER_DAY)),
        Value::Date(_) => Some(0),
        Value::Text(s) => return text_to_time(s, value, fsp),
        Value::Bytes(b) => {
            return std::str::from_utf8(b).map_or_else(|_| incorrect("time", value), |s| text_to_time(s, value, fsp));
        }
        _ => match whole_and_micros(value) {
            Some((whole, fraction)) => match time_from_number(whole) {
                Some(t) => Some(t + fraction),
                None if (8_385_960..10_000_000_000).contains(&whole.unsigned_abs()) => return cut(whole < 0, value),
                None => datetime_from_number(whole).map(|t| t.rem_euclid(MICROS_PER_DAY) + fraction),
            },
            None => None,
        },
    };
    t.map_or_else(|| incorrect("time", value), |t| fit(t, value, fsp))
}

fn text_to_time(text: &str, value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let text = text.trim();
    // A date in front has at least two more separators than a time with days.
    if text.len() > 10
        && text.contains('-')
        && !text.starts_with('-')
        && let Some(t) = parse_datetime(text)
    {
        return fit(t.rem_euclid(MICROS_PER_DAY), value, fsp);
    }
    if let Some(t) = parse_time(text) {
        return fit(t, value, fsp);
    }
    if is_long_time(text) {
        return cut(text.starts_with('-'), value);
    }
    let front = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    match (front.len() < text.len()).then(|| parse_time(front)).flatten() {
        Some(t) => (Value::Time(round_fraction(t, fsp)), CastWarning::truncated("time", text)),
        None => incorrect("time", value),
    }
}

/// Whether a text is `hhh:mm[:ss]` with too many hours.
fn is_long_time(text: &str) -> bool {
    let Some((hours, rest)) = text.trim_start_matches('-').split_once(':') else { return false };
    hours.len() >= 3 && hours.bytes().all(|b| b.is_ascii_digit()) && parse_time(&format!("0:{rest}")).is_some()
}

fn fit(t: i64, value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let t = round_fraction(t, fsp);
    if t.abs() > TIME_MAX_MICROS { cut(t < 0, value) } else { (Value::Time(t), None) }
}

fn cut(negative: bool, value: &Value) -> (Value, Option<CastWarning>) {
    let edge = if negative { -TIME_MAX_MICROS } else { TIME_MAX_MICROS };
    (Value::Time(edge), CastWarning::truncated("time", &value.to_text(6).unwrap_or_default()))
}
