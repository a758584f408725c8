//! Sums and differences of times and moments.

use super::{
    read::{self, TimeOrMoment, date_of_number},
    week,
};
use crate::{Call, ResultType, Typing};
use muster_types::{
    ErrorCode, Result, SqlType, Value, cast,
    temporal::{self, MICROS_PER_DAY, MICROS_PER_SECOND, Moment, TIME_MAX_MICROS},
};

/// Characters of a sum that is text, as MySQL declares it.
const SUM_LENGTH: u64 = 29;
/// Numbers of days from this one on are the zero date (MySQL: `get_date_from_daynr`).
const NO_DAY_FROM: i128 = 3_652_500;

/// A TIME if the first argument is one, a datetime for a date or datetime, else text.
pub fn returns_sum(typing: &Typing) -> ResultType {
    match typing.args[0].given {
        SqlType::Time { fsp } => ResultType::Of(SqlType::Time { fsp: fsp.max(typing.time_fsp(1)) }),
        ty @ (SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            ResultType::Of(SqlType::DateTime { fsp: ty.fsp().max(typing.time_fsp(1)) })
        }
        _ => ResultType::ConnectionText(SUM_LENGTH),
    }
}

pub fn returns_difference(typing: &Typing) -> ResultType {
    ResultType::Of(SqlType::Time { fsp: typing.time_fsp(0).max(typing.time_fsp(1)) })
}

pub fn returns_timestamp(typing: &Typing) -> ResultType {
    ResultType::Of(SqlType::DateTime { fsp: typing.datetime_fsp(0).max(typing.time_fsp(1)) })
}

pub fn add_time(call: &mut Call, args: &[Value]) -> Result<Value> {
    sum(call, args, 1)
}

pub fn sub_time(call: &mut Call, args: &[Value]) -> Result<Value> {
    sum(call, args, -1)
}

/// The first argument plus or minus the second one, which is a TIME.
fn sum(call: &mut Call, args: &[Value], sign: i128) -> Result<Value> {
    let (start, by) = (moved(call, args, 0), moved(call, args, 1));
    let Some(start) = read::time_or_moment(call, &start) else { return Ok(Value::Null) };
    let is_time = matches!(start, TimeOrMoment::Time(_));
    let Some(by) = added(call, &by, is_time) else { return Ok(Value::Null) };
    let sum = start.micros() + sign * by;
    let value = match start {
        TimeOrMoment::Time(_) => within_time(call, sum),
        TimeOrMoment::Moment(_) => moment_of(call, sum),
    };
    // A text has a fraction only if there is one.
    Ok(match (&value, call.ty) {
        (Value::DateTime(t) | Value::Time(t), SqlType::Text { .. }) => {
            let fsp = if t % MICROS_PER_SECOND == 0 { 0 } else { 6 };
            value.to_text(fsp).map_or(Value::Null, Value::Text)
        }
        _ => value,
    })
}

/// An argument; the text of a date that was moved by an interval as the date or datetime that it is.
fn moved(call: &Call, args: &[Value], i: usize) -> Value {
    let read = match &args[i] {
        Value::Text(text) if call.is_moved(i) => temporal::read_datetime(text),
        _ => None,
    };
    let moment = read.and_then(|read| match read.has_clock {
        true => read.moment.datetime().map(Value::DateTime),
        false => read.moment.date().map(Value::Date),
    });
    moment.unwrap_or_else(|| args[i].clone())
}

/// A TIME that is added, in microseconds. A datetime is none. A date has the days of its month next to a time
/// (`is_to_time`), next to a text that is a datetime all days since the year 0.
fn added(call: &mut Call, value: &Value, is_to_time: bool) -> Option<i128> {
    match value {
        Value::Date(date) => match call.ty {
            SqlType::DateTime { .. } => None,
            _ if is_to_time => Some(i128::from(temporal::code_parts(*date).2) * i128::from(MICROS_PER_DAY)),
            _ => Some(read::micros_of(&Moment::new(*date, 0))),
        },
        Value::DateTime(_) => None,
        other => match read::time_or_moment(call, other)? {
            TimeOrMoment::Time(t) => Some(t.into()),
            TimeOrMoment::Moment(_) => None,
        },
    }
}

/// The TIME of so many microseconds; the end of the range of TIME, with warning 1292, for more.
pub fn within_time(call: &mut Call, micros: i128) -> Value {
    if let Some(t) = i64::try_from(micros).ok().filter(|t| t.unsigned_abs() <= TIME_MAX_MICROS as u64) {
        return Value::Time(t);
    }
    let magnitude = i64::try_from(micros.abs()).unwrap_or(i64::MAX);
    let fsp = match call.ty {
        SqlType::Time { fsp } => fsp,
        _ if magnitude % MICROS_PER_SECOND == 0 => 0,
        _ => 6,
    };
    let sign = if micros < 0 { "-" } else { "" };
    let text = format!("{sign}{}", temporal::format_time(magnitude, fsp));
    call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect time value: '{text}'"));
    Value::Time(if micros < 0 { -TIME_MAX_MICROS } else { TIME_MAX_MICROS })
}

/// The datetime of so many microseconds since the year 0; NULL before the year 1, and with warning 1441 behind 9999.
fn moment_of(call: &mut Call, micros: i128) -> Value {
    let day = i128::from(MICROS_PER_DAY);
    if micros < 0 {
        return Value::Null;
    }
    match date_of_number(i64::try_from(micros / day).unwrap_or(i64::MAX)) {
        Some(temporal::ZERO_DATE) => Value::Null,
        None if micros / day >= NO_DAY_FROM => Value::Null,
        Some(date) => Value::DateTime(temporal::datetime_of(date, (micros % day) as i64)),
        None => {
            call.warn(ErrorCode::DatetimeFunctionOverflow, "Datetime function: add_time field overflow");
            Value::Null
        }
    }
}

/// `TIMESTAMP(moment)`, `TIMESTAMP(moment, time)`.
pub fn timestamp(call: &mut Call, args: &[Value]) -> Result<Value> {
    if args.len() == 1 {
        return Ok(call.cast(&args[0], call.ty));
    }
    let Some(moment) = read::moment(call, &args[0]) else { return Ok(Value::Null) };
    let by = moved(call, args, 1);
    let Some(by) = added(call, &by, false) else { return Ok(Value::Null) };
    Ok(moment_of(call, read::micros_of(&moment) + by))
}

/// `TIMEDIFF(a, b)`: of two times, two dates or two datetimes; NULL for two of different kinds.
pub fn time_diff(call: &mut Call, args: &[Value]) -> Result<Value> {
    let is_dated = read::is_dated;
    let is_time = |value: &Value| matches!(value, Value::Time(_));
    // By the types of the arguments; what was moved by an interval is a text.
    let (first, second) = (&args[0], &args[1]);
    if is_dated(first) && is_time(second) || is_time(first) && is_dated(second) {
        return Ok(Value::Null);
    }
    let dated = is_dated(first) || is_dated(second);
    let read = |call: &mut Call, value: &Value| match dated {
        true => read::moment(call, value).map(TimeOrMoment::Moment),
        false => read::time_or_moment(call, value),
    };
    let (first, second) = (&moved(call, args, 0), &moved(call, args, 1));
    let (a, b) = (read(call, first), read(call, second));
    let (Some(a), Some(b)) = (a, b) else { return Ok(Value::Null) };
    // The number 0 is a datetime, and so is one with a fraction alone.
    let is_zero = |value: &Value| match value {
        Value::Int(0) | Value::UInt(0) | Value::Bool(false) => true,
        Value::Decimal(number) => number.cut(0).is_zero(),
        Value::Double(x) => x.trunc() == 0.0,
        Value::Float(x) => x.trunc() == 0.0,
        _ => false,
    };
    let has_clock =
        |value: &Value| is_zero(value) || cast::moment(value, call.date_modes()).is_some_and(|of| of.has_clock);
    let is_day = |value: &Value| matches!(value, Value::Date(_));
    let are_alike = match dated {
        true => has_clock(first) == has_clock(second),
        false => {
            let is_time = |of: &TimeOrMoment| matches!(of, TimeOrMoment::Time(_));
            is_time(&a) == is_time(&b) && is_day(first) == is_day(second)
        }
    };
    Ok(if are_alike { within_time(call, a.micros() - b.micros()) } else { Value::Null })
}

/// `TIMESTAMPDIFF(unit, from, to)`.
pub fn timestamp_diff(call: &mut Call, args: &[Value]) -> Result<Value> {
    let unit = call.text(args, 0).unwrap_or_default();
    // Behind a NULL nothing is read.
    let mut read = |value: &Value| if value.is_null() { None } else { read::whole_moment(call, value) };
    let Some(from) = read(&args[1]) else { return Ok(Value::Null) };
    let Some(to) = read(&args[2]) else { return Ok(Value::Null) };
    let micros = (read::micros_of(&to) - read::micros_of(&from)) as i64;
    let months = || if micros < 0 { -whole_months(&to, &from) } else { whole_months(&from, &to) };
    let seconds = micros / MICROS_PER_SECOND;
    Ok(Value::Int(match unit.trim_start_matches("SQL_TSI_") {
        "MICROSECOND" => micros,
        "SECOND" => seconds,
        "MINUTE" => seconds / 60,
        "HOUR" => seconds / 3600,
        "DAY" => seconds / week::SECONDS_PER_DAY,
        "WEEK" => seconds / (7 * week::SECONDS_PER_DAY),
        "MONTH" => months(),
        "QUARTER" => months() / 3,
        _ => months() / 12,
    }))
}

/// Months between two moments, of which the first is the earlier one.
fn whole_months(from: &Moment, to: &Moment) -> i64 {
    let of = |m: &Moment| i64::from(m.year) * 12 + i64::from(m.month);
    let is_short = (to.day, to.clock) < (from.day, from.clock);
    of(to) - of(from) - i64::from(is_short)
}
