//! Seconds since 1970-01-01 00:00:00 UTC, and the clock of the machine.

use super::{format, read};
use crate::{Call, ResultType, Typing, call::int};
use muster_types::{
    Decimal, Result, SqlType, Value,
    temporal::{EpochMicros, FSP_MAX, MICROS_PER_SECOND, Moment, read_datetime},
    time_zone::TimeZone,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// The first second beyond what these functions take: 3001-01-19 00:00:00 UTC.
const SECONDS_END: i64 = 32_536_771_200;
/// Digits in front of the point of seconds, as MySQL declares them.
const WHOLE_DIGITS: u32 = 11;

/// The session's time zone, which is the value of this position among those that the function asks for.
fn zone(call: &Call, asked: usize) -> TimeZone {
    TimeZone::from_name(&call.session_text(asked)).unwrap_or(TimeZone::UTC)
}

/// An integer, or a decimal with the fractional seconds of the argument.
pub fn returns_seconds(typing: &Typing) -> ResultType {
    let fsp = match typing.args.first().and_then(|arg| arg.value.as_ref()) {
        Some(Value::Text(text)) if read_datetime(text).is_none() => FSP_MAX,
        _ => typing.datetime_fsp(0),
    };
    ResultType::Of(match fsp {
        0 => SqlType::BIGINT,
        fsp => SqlType::decimal(WHOLE_DIGITS + u32::from(fsp), fsp.into()),
    })
}

/// `UNIX_TIMESTAMP(local time)`: 0 out of range and for what is no date.
pub fn unix_timestamp(call: &mut Call, args: &[Value]) -> Result<Value> {
    let moment = read::moment(call, &args[0]).filter(|moment| moment.is_calendar_day());
    let local = moment.and_then(|moment| moment.datetime());
    let utc = local.map(|local| zone(call, 1).to_utc(local).unwrap_or_else(|after| after));
    let utc = utc.map_or(0, |utc| EpochMicros::of_datetime(utc).0);
    let seconds = utc.div_euclid(MICROS_PER_SECOND);
    let utc = if (1..SECONDS_END).contains(&seconds) { utc } else { 0 };
    Ok(match call.ty {
        SqlType::Decimal { .. } => Value::Decimal(Decimal::new(utc.into(), FSP_MAX)),
        _ => Value::Int(utc / MICROS_PER_SECOND),
    })
}

/// A datetime with the digits behind the point of the argument, or text in a format.
pub fn returns_datetime(typing: &Typing) -> ResultType {
    match typing.args.len() {
        1 => {
            let decimals = typing.args[0].decimals;
            ResultType::Of(SqlType::DateTime { fsp: decimals.map_or(FSP_MAX, |digits| digits.min(FSP_MAX)) })
        }
        _ => format::returns(typing),
    }
}

/// `FROM_UNIXTIME(seconds)`, `FROM_UNIXTIME(seconds, format)`: NULL out of range.
pub fn from_unixtime(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(seconds) = read::seconds(call, &args[0]) else { return Ok(Value::Null) };
    let fsp = if args.len() == 1 { call.ty.fsp() } else { FSP_MAX };
    let micros = read::micros_of_seconds(seconds, fsp);
    let range = 0..i128::from(SECONDS_END) * i128::from(MICROS_PER_SECOND);
    if !range.contains(&micros) || seconds.is_negative() {
        return Ok(Value::Null);
    }
    let local = zone(call, 0).local_datetime(EpochMicros(micros as i64));
    match args.len() {
        1 => Ok(Value::DateTime(local)),
        _ => format::formatted(call, Moment::of_datetime(local), args),
    }
}

pub fn returns_sysdate(typing: &Typing) -> ResultType {
    let fsp = typing.constant_int(0).and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
    ResultType::Of(SqlType::DateTime { fsp: fsp.min(FSP_MAX) })
}

/// The time when the function is called, not that of the statement.
pub fn sysdate(call: &mut Call, args: &[Value]) -> Result<Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let local = zone(call, 0).local_datetime(EpochMicros(i64::try_from(now).unwrap_or(0)));
    let unit = 10i64.pow(6 - int(args, 0).clamp(0, 6) as u32);
    Ok(Value::DateTime(local.div_euclid(unit) * unit))
}
