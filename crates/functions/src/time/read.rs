//! Arguments that are dates and times.

use crate::Call;
use muster_types::{
    Decimal, ErrorCode, SqlType, Value,
    cast::{self, MomentRead},
    temporal::{self, Days, MICROS_PER_DAY, Moment, ZERO_DATE},
};
use std::cell::RefCell;

/// Day numbers up to this one are of the year 0, which MySQL makes its zero date.
const YEAR_ZERO_LAST: i64 = 365;
/// 9999-12-31.
const DAY_NUMBER_MAX: i64 = 3_652_424;
/// Digits behind the point of seconds that are read.
const SECONDS_SCALE: u8 = 9;

/// A value where MySQL takes both a TIME and a datetime.
pub enum TimeOrMoment {
    /// Microseconds, negative for a negative time.
    Time(i64),
    Moment(Moment),
}

impl TimeOrMoment {
    /// Microseconds of a TIME, or of a moment since the year 0.
    pub fn micros(&self) -> i128 {
        match self {
            TimeOrMoment::Time(t) => i128::from(*t),
            TimeOrMoment::Moment(m) => micros_of(m),
        }
    }
}

/// Microseconds since the year 0, also of a date whose month or day is zero.
pub fn micros_of(moment: &Moment) -> i128 {
    let days = day_number(moment.year, moment.month, moment.day);
    i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(moment.clock)
}

/// The number of a day since the year 0 (MySQL: `calc_daynr`); month and day may be zero.
pub fn day_number(year: i32, month: u32, day: u32) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let days = 365 * year + 31 * (month - 1) + day;
    let (year, days) = if month <= 2 { (year - 1, days) } else { (year, days - (month * 4 + 23) / 10) };
    days + year / 4 - ((year / 100 + 1) * 3) / 4
}

/// The date code of a day's number since the year 0, whose days are the zero date. `None` for a number behind the year
/// 9999.
pub fn date_of_number(day_number: i64) -> Option<i32> {
    match day_number {
        n if n <= YEAR_ZERO_LAST => Some(ZERO_DATE),
        n if n <= DAY_NUMBER_MAX => Some(Days::of_number(n).code()),
        _ => None,
    }
}

/// The moment that a value means, whose month and day may be zero; warning 1292 and `None` for what is no date.
pub fn moment(call: &mut Call, value: &Value) -> Option<Moment> {
    let modes = call.date_modes();
    cast::read_moment(value, MomentRead::Parts, modes, call.warnings).map(|(moment, _)| moment)
}

/// Returns true for a value that is a date by its type. Functions do not warn of one that the calendar does not have.
pub fn is_dated(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::DateTime(_))
}

/// The moment that a value means, on a day that can be counted; `None` for anything else, with warning 1292 for a text
/// or number.
pub fn whole_moment(call: &mut Call, value: &Value) -> Option<Moment> {
    let modes = call.date_modes();
    cast::read_moment(value, MomentRead::Day, modes, call.warnings).map(|(moment, _)| moment)
}

thread_local! {
    /// The text that was read last as a TIME without a warning, which is no datetime: often a constant.
    static LAST_TIME: RefCell<(String, i64)> = const { RefCell::new((String::new(), 0)) };
}

/// The TIME that was read last, if it was that of the same text. The modes of dates do not matter to it.
fn time_read_last(text: &str) -> Option<i64> {
    LAST_TIME.with_borrow(|(last, time)| (!text.is_empty() && last == text).then_some(*time))
}

/// A TIME in microseconds, with the warnings of a cast.
pub fn time(call: &mut Call, value: &Value) -> Option<i64> {
    if let Value::Text(text) = value {
        if let Some(time) = time_read_last(text) {
            return Some(time);
        }
        let (read, warnings) = cast::cast_dated(value, SqlType::Time { fsp: 6 }, call.date_modes());
        if let Value::Time(time) = read
            && warnings.is_empty()
            && temporal::read_time(text).is_some_and(|read| !read.is_datetime())
        {
            LAST_TIME.with_borrow_mut(|last| {
                last.0.clone_from(text);
                last.1 = time;
            });
        }
        warnings.into_iter().for_each(|w| (call.warnings)(w));
        return match read {
            Value::Time(time) => Some(time),
            _ => None,
        };
    }
    match call.cast(value, SqlType::Time { fsp: 6 }) {
        Value::Time(t) => Some(t),
        _ => None,
    }
}

/// A TIME, or a datetime where the value is one: a date, a text with date and time of day, a number that is as long.
pub fn time_or_moment(call: &mut Call, value: &Value) -> Option<TimeOrMoment> {
    /// Numbers from this one on are datetimes where a TIME is wanted.
    const DATETIME_NUMBER_MIN: f64 = 1e10;
    if let Value::Text(text) = value
        && let Some(time) = time_read_last(text)
    {
        return Some(TimeOrMoment::Time(time));
    }
    let is_moment = match value {
        Value::Date(_) | Value::DateTime(_) => true,
        Value::Text(text) => temporal::read_time(text).is_some_and(|read| read.is_datetime()),
        // The bits of a negative number.
        Value::UInt(bits) if *bits > i64::MAX as u64 => false,
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            cast::to_double(value).0.abs() >= DATETIME_NUMBER_MIN
        }
        _ => false,
    };
    match (is_moment, value) {
        // A text is read as a time here, which the zero date may stand in front of in all modes.
        (true, Value::Text(text)) if temporal::read_datetime(text).is_some_and(|read| read.moment.is_zero()) => {
            Some(TimeOrMoment::Moment(Moment::of_datetime(temporal::datetime_of(ZERO_DATE, 0))))
        }
        (true, _) => moment(call, value).map(TimeOrMoment::Moment),
        (false, _) => time(call, value).map(TimeOrMoment::Time),
    }
}

/// A number of seconds with nine digits behind the point, with the warning of a text that is none.
pub fn seconds(call: &mut Call, value: &Value) -> Option<Decimal> {
    let ty = SqlType::decimal(muster_types::decimal::NARROW_DIGITS_MAX, SECONDS_SCALE.into());
    let (value, warning) = muster_types::cast(value, ty);
    warning.into_iter().filter(|w| w.code == ErrorCode::TruncatedWrongValue).for_each(|w| (call.warnings)(w));
    match value {
        Value::Decimal(seconds) => Some(seconds),
        _ => None,
    }
}

/// Seconds with nine digits behind the point, as [`seconds`] reads them, in microseconds, rounded to `fsp` digits
/// behind the point.
pub fn micros_of_seconds(seconds: Decimal, fsp: u8) -> i128 {
    let unit = 10i128.pow(u32::from(6 - fsp.min(6)));
    let nanos = muster_types::decimal::div_round(seconds.narrow().unwrap_or(0), unit * 1000);
    nanos * unit
}

/// The year that two digits mean.
pub fn full_year(year: i64) -> i64 {
    match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_days_are_mysqls() {
        assert_eq!(day_number(2007, 10, 7), 733_321);
        assert_eq!(day_number(9999, 12, 31), DAY_NUMBER_MAX);
        assert_eq!(Days::of_number(day_number(1970, 1, 1)), Days(0));
        assert_eq!(Days::of_number(day_number(1, 1, 1)), Days::from_civil(1, 1, 1));
        assert_eq!((date_of_number(365), date_of_number(DAY_NUMBER_MAX + 1)), (Some(ZERO_DATE), None));
    }
}
