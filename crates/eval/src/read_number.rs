//! Numbers of texts where MySQL warns in another way than CAST does, and of texts that were made of dates and times;
//! the texts that columns store of numbers.

use muster_algebra::{NumberReading, ScalarFunction};
use muster_types::{
    CastWarning, ErrorCode, SqlType, Value,
    cast::{decimal_prefix, has_number, to_double},
    cast_from,
    store::fitted_double,
    temporal,
};

/// Type of the number of a date and time with its microseconds.
const MOMENT_AS_DECIMAL: SqlType = SqlType::Decimal { precision: 20, scale: 6 };

/// A function that reads a number; `None` for another one.
pub(super) fn call(
    function: ScalarFunction,
    value: &Value,
    ty: SqlType,
    warn: &mut dyn FnMut(CastWarning),
) -> Option<Value> {
    match function {
        ScalarFunction::ReadNumber(reading) => Some(read_number(reading, value, ty, warn)),
        ScalarFunction::FittedDouble => Some(fitted_text(value, ty)),
        ScalarFunction::MomentNumber => Some(moment_number(&value.to_text(6)?, ty, warn)),
        _ => None,
    }
}

/// The number that a text begins with, as type `ty`.
pub fn read_number(reading: NumberReading, value: &Value, ty: SqlType, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let text = value.to_text(6).unwrap_or_default();
    if reading == NumberReading::Bits {
        let is_negative = text.trim_start().starts_with('-');
        let (bits, warning) =
            cast_from(value, None, if is_negative { SqlType::BIGINT } else { SqlType::BIGINT_UNSIGNED });
        warning.into_iter().for_each(warn);
        return match bits {
            Value::Int(n) => Value::UInt(n as u64),
            other => other,
        };
    }
    let (number, warning) = cast_from(value, None, ty);
    match reading {
        NumberReading::Quiet => {}
        _ => warn_of_decimal(reading, &text, warn),
    }
    warning.into_iter().filter(|w| w.code == ErrorCode::OutOfRange).for_each(warn);
    number
}

/// Warns of a text that is no decimal, or goes on behind one.
fn warn_of_decimal(reading: NumberReading, text: &str, warn: &mut dyn FnMut(CastWarning)) {
    let has_none = !has_number(text);
    if has_none && matches!(reading, NumberReading::Column | NumberReading::Result) {
        let message = "Incorrect DECIMAL value: '0' for column '' at row -1".to_string();
        warn(CastWarning { code: ErrorCode::TruncatedWrongValueForField, message });
    }
    let is_cut = has_none || !decimal_prefix(text).1;
    if is_cut && matches!(reading, NumberReading::Column | NumberReading::Literal) {
        let message = format!("Truncated incorrect DECIMAL value: '{text}'");
        warn(CastWarning { code: ErrorCode::TruncatedWrongValue, message });
    }
}

/// The number of a date, datetime or time that a function has made a text: `YYYY-MM-DD[ hh:mm:ss[.f]]` or
/// `[-]hh:mm:ss[.f]`. Warns of one that the type does not hold.
fn moment_number(text: &str, ty: SqlType, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let moment = match text.starts_with('-') || !text.contains('-') {
        true => temporal::read_time(text).map(|read| Value::Time(read.micros)),
        false => temporal::read_datetime(text).and_then(|read| match read.has_clock {
            true => read.moment.datetime().map(Value::DateTime),
            false => read.moment.date().map(Value::Date),
        }),
    };
    let Some(moment) = moment else { return Value::Null };
    // An integer is the number rounded, so that 59.5 seconds are 60.
    let number = match ty.is_integer() {
        true => cast_from(&moment, None, MOMENT_AS_DECIMAL).0,
        false => moment,
    };
    let (number, warnings) = cast_from(&number, None, ty);
    warnings.into_iter().for_each(warn);
    number
}

/// A floating-point number as a text or byte string of this type stores it.
fn fitted_text(value: &Value, ty: SqlType) -> Value {
    let (SqlType::Text { length, .. } | SqlType::Bytes { length, .. }) = ty else { return value.clone() };
    let mut text = Value::Double(to_double(value).0).to_text(0).unwrap_or_default();
    if text.len() > length as usize {
        text = fitted_double(to_double(value).0, length as usize).0;
    }
    match ty.is_bytes() {
        true => Value::Bytes(text.into_bytes()),
        false => Value::Text(text),
    }
}
