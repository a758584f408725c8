//! Dates and times made of numbers.

use super::read::{self, date_of_number, day_number};
use crate::{Call, ResultType, Typing, call::int};
use muster_types::{
    ErrorCode, Result, SqlType, Value,
    temporal::{FSP_MAX, MICROS_PER_SECOND, TIME_MAX_MICROS, ZERO_DATE},
};

/// A TIME with the digits that the argument has behind the point.
fn time_of(typing: &Typing, i: usize) -> ResultType {
    let decimals = typing.args.get(i).and_then(|arg| arg.decimals);
    ResultType::Of(SqlType::Time { fsp: decimals.map_or(FSP_MAX, |digits| digits.min(FSP_MAX)) })
}

pub fn returns_time(typing: &Typing) -> ResultType {
    time_of(typing, 0)
}

pub fn returns_time_of_third(typing: &Typing) -> ResultType {
    time_of(typing, 2)
}

/// `MAKEDATE(year, day of the year)`.
pub fn make_date(_: &mut Call, args: &[Value]) -> Result<Value> {
    let (year, day) = (int(args, 0), int(args, 1));
    if !(0..=9999).contains(&year) || day <= 0 {
        return Ok(Value::Null);
    }
    let first = day_number(read::full_year(year) as i32, 1, 1);
    Ok(date_of_number(first.saturating_add(day - 1)).map_or(Value::Null, Value::Date))
}

/// `MAKETIME(hour, minute, second)`; NULL for minutes and seconds that no time has.
/// Most digits of seconds in front of the point.
const SECONDS_DIGITS: u8 = 18;

pub fn make_time(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (hour, minute) = (int(args, 0), int(args, 1));
    let Some(second) = read::seconds(call, &args[2]) else { return Ok(Value::Null) };
    // Two words of nine digits hold the seconds (MySQL: `decimal2lldiv_t`).
    if second.precision().saturating_sub(second.scale) > SECONDS_DIGITS {
        let second = args[2].to_text(6).unwrap_or_default();
        let second = if second.contains('.') { second.trim_end_matches('0').trim_end_matches('.') } else { &second };
        call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect DECIMAL value: '{second}'"));
        return Ok(Value::Null);
    }
    let sixty = 60 * 10i128.pow(u32::from(second.scale));
    if !(0..60).contains(&minute) || !second.narrow().is_some_and(|units| (0..sixty).contains(&units)) {
        return Ok(Value::Null);
    }
    let whole = (i128::from(hour).abs() * 60 + i128::from(minute)) * 60 * i128::from(MICROS_PER_SECOND);
    let micros = whole + read::micros_of_seconds(second, call.ty.fsp());
    let exceeds = whole + read::micros_of_seconds(second, FSP_MAX) > i128::from(TIME_MAX_MICROS);
    let magnitude = if exceeds || micros > i128::from(TIME_MAX_MICROS) {
        let second = args[2].to_text(6).unwrap_or_default();
        let second = if second.find('.').unwrap_or(second.len()) < 2 { format!("0{second}") } else { second };
        let message = format!("Truncated incorrect time value: '{hour}:{minute:02}:{second}'");
        call.warn(ErrorCode::TruncatedWrongValue, message);
        TIME_MAX_MICROS
    } else {
        micros as i64
    };
    Ok(Value::Time(if hour < 0 { -magnitude } else { magnitude }))
}

pub fn sec_to_time(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(seconds) = read::seconds(call, &args[0]) else { return Ok(Value::Null) };
    let micros = read::micros_of_seconds(seconds, call.ty.fsp());
    let most = i128::from(TIME_MAX_MICROS);
    // A fraction that is too long is cut off before it can be rounded away.
    if micros.abs() <= most && read::micros_of_seconds(seconds, FSP_MAX).abs() <= most {
        return Ok(Value::Time(micros as i64));
    }
    let text = args[0].to_text(6).unwrap_or_default();
    call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect time value: '{text}'"));
    Ok(Value::Time(micros.clamp(-most, most) as i64))
}

/// `FROM_DAYS(number)`: the zero date for the days of the year 0.
pub fn from_days(call: &mut Call, args: &[Value]) -> Result<Value> {
    /// Numbers from this one on are the zero date again.
    const ZERO_AGAIN: i64 = 3_652_500;
    let number = int(args, 0);
    match date_of_number(number) {
        Some(date) => Ok(Value::Date(date)),
        None if number >= ZERO_AGAIN => Ok(Value::Date(ZERO_DATE)),
        None => {
            call.warn(ErrorCode::DatetimeFunctionOverflow, "Datetime function: from_days field overflow");
            Ok(Value::Null)
        }
    }
}
