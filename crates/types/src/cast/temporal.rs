//! Conversion to dates and times.

use super::{CastWarning, number::to_decimal};
use crate::{
    ErrorCode, SqlType, Value,
    decimal::{NARROW_DIGITS_MAX, div_round},
    store::{self, StoreFault, StoredType, Unfit},
    temporal::{
        DateModes, Days, EpochMicros, MICROS_PER_DAY, Moment, TIME_MAX_MICROS, date_code, datetime_of,
        moment_from_number, read_datetime, read_time, round_datetime, round_fraction, rounds_beyond_zero_part,
        time_from_number,
    },
};

fn incorrect(what: &str, value: &Value) -> (Value, Option<CastWarning>) {
    let text = value.to_text(6).unwrap_or_default();
    (Value::Null, CastWarning::new(ErrorCode::TruncatedWrongValue, format!("Incorrect {what} value: '{text}'")))
}

/// The moment that a value means, and how it was written.
pub struct MomentOfValue {
    pub moment: Moment,
    /// A time of day is part of the value, if only midnight.
    pub has_clock: bool,
    /// Text stands behind the moment.
    pub warning: Option<CastWarning>,
}

pub(super) fn to_date(value: &Value, modes: DateModes) -> (Value, Option<CastWarning>) {
    match kept_moment(value, "date", modes).map(|of| (of.moment.date(), of.warning)) {
        Some((Some(date), warning)) => (Value::Date(date), warning),
        _ => incorrect("datetime", value),
    }
}

/// The moment of a value that becomes a date or datetime. Dates and datetimes are taken as they are.
fn kept_moment(value: &Value, what: &str, modes: DateModes) -> Option<MomentOfValue> {
    let is_dated = matches!(value, Value::Date(_) | Value::DateTime(_));
    moment(value, what, modes).filter(|of| is_dated || modes.keep(&of.moment))
}

/// `CAST(x AS YEAR)`: what a YEAR column would store, NULL for what it would refuse.
pub(super) fn to_year(value: &Value) -> (Value, Option<CastWarning>) {
    let column = StoredType::new(SqlType::Year);
    let text = || value.to_text(0).unwrap_or_default();
    let rounded = match value {
        Value::Double(x) => Value::Double(x.round_ties_even()),
        other => other.clone(),
    };
    match store::store(&rounded, column) {
        Ok(year) => (year, None),
        Err(Unfit { fault: StoreFault::Truncated, instead: Some(year) }) => {
            (year, CastWarning::truncated("YEAR", &text()))
        }
        Err(Unfit { fault: StoreFault::Incorrect(_), .. }) => {
            (Value::Null, CastWarning::new(ErrorCode::WrongValue, format!("Incorrect YEAR value: '{}'", text())))
        }
        Err(_) => (Value::Null, CastWarning::truncated("YEAR", &text())),
    }
}

pub(super) fn to_datetime(value: &Value, fsp: u8, modes: DateModes) -> (Value, Option<CastWarning>) {
    let end = datetime_of(date_code(10_000, 0, 0), 0);
    match kept_moment(value, "datetime", modes).map(|of| (of.moment.datetime(), of.warning)) {
        Some((Some(t), warning)) if round_datetime(t, fsp) < end && !rounds_beyond_zero_part(t, fsp) => {
            (Value::DateTime(round_datetime(t, fsp)), warning)
        }
        _ => incorrect("datetime", value),
    }
}

/// The date and time of day that a value means; month and day may be zero. `what` is the wanted type's name in the
/// warning for a text that goes on behind the moment. `None` for NULL, for what is no date, and for a text or number
/// that the modes do not read as one; the number 0 is the zero date in all modes.
pub fn moment(value: &Value, what: &str, modes: DateModes) -> Option<MomentOfValue> {
    let (moment, has_clock) = match value {
        Value::Date(d) => (Moment::new(*d, 0), false),
        Value::DateTime(t) => (Moment::of_datetime(*t), true),
        // A time is one of today.
        Value::Time(t) => {
            (Moment::of_datetime(EpochMicros(i64::from(today()?.0) * MICROS_PER_DAY + t).datetime()), true)
        }
        Value::Text(s) => return text_moment(s, what, modes),
        Value::Bytes(b) => return text_moment(std::str::from_utf8(b).ok()?, what, modes),
        _ => {
            let (whole, fraction) = whole_and_micros(value).filter(|(_, fraction)| *fraction >= 0)?;
            let (moment, has_clock) = moment_from_number(whole)?;
            let modes = DateModes { no_zero_date: false, ..modes };
            if whole == 0 && fraction > 0 || !modes.read(&moment) {
                return None;
            }
            (Moment { clock: moment.clock + if has_clock { fraction } else { 0 }, ..moment }, has_clock)
        }
    };
    Some(MomentOfValue { moment, has_clock, warning: None })
}

fn text_moment(text: &str, what: &str, modes: DateModes) -> Option<MomentOfValue> {
    let read = read_datetime(text).filter(|read| modes.read(&read.moment))?;
    let warning = if read.is_cut { CastWarning::truncated(what, text) } else { None };
    Some(MomentOfValue { moment: read.moment, has_clock: read.has_clock, warning })
}

fn today() -> Option<Days> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Days((now.as_secs() / 86_400) as i32))
}

/// A number's integer part, and its fraction as microseconds of the number's sign: a million of them for .9999999,
/// which does not round the integer part up, since 59 seconds are not followed by 60.
fn whole_and_micros(value: &Value) -> Option<(i64, i64)> {
    // Digits behind the point that are looked at: more than a double has behind a date.
    const SCALE: u8 = 12;
    let Value::Decimal(number) = to_decimal(value, NARROW_DIGITS_MAX as u8, SCALE).0 else { return None };
    let unscaled = number.narrow()?;
    let unit = 10i128.pow(SCALE as u32);
    Some((i64::try_from(unscaled / unit).ok()?, div_round(unscaled % unit, unit / 1_000_000) as i64))
}

pub(super) fn to_time(value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let t = match value {
        Value::Time(t) => Some(*t),
        Value::DateTime(t) => Some(t.rem_euclid(MICROS_PER_DAY)),
        Value::Date(_) => Some(0),
        Value::Text(s) => return text_to_time(s, value, fsp),
        Value::Bytes(b) => {
            return std::str::from_utf8(b).map_or_else(|_| no_time(value), |s| text_to_time(s, value, fsp));
        }
        _ => match whole_and_micros(value) {
            Some((whole, fraction)) => match time_from_number(whole) {
                Some(t) => Some(t + fraction),
                // A number beyond the range of TIME is none, unless it is as long as a datetime.
                None if (8_385_960..10_000_000_000).contains(&whole.unsigned_abs()) => return no_time(value),
                None => moment_from_number(whole).map(|(moment, _)| moment.clock + fraction),
            },
            None => None,
        },
    };
    t.map_or_else(|| no_time(value), |t| fit(t, value, fsp))
}

/// NULL, with the warning that MySQL has for what is no time.
fn no_time(value: &Value) -> (Value, Option<CastWarning>) {
    (Value::Null, CastWarning::truncated("time", &value.to_text(6).unwrap_or_default()))
}

fn text_to_time(text: &str, value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    match read_time(text) {
        None => no_time(value),
        Some(read) if read.is_clamped => cut(read.micros < 0, value),
        Some(read) if read.is_cut => {
            (Value::Time(round_fraction(read.micros, fsp)), CastWarning::truncated("time", text))
        }
        Some(read) => fit(read.micros, value, fsp),
    }
}

fn fit(t: i64, value: &Value, fsp: u8) -> (Value, Option<CastWarning>) {
    let t = round_fraction(t, fsp);
    if t.abs() > TIME_MAX_MICROS { cut(t < 0, value) } else { (Value::Time(t), None) }
}

fn cut(negative: bool, value: &Value) -> (Value, Option<CastWarning>) {
    let edge = if negative { -TIME_MAX_MICROS } else { TIME_MAX_MICROS };
    (Value::Time(edge), CastWarning::truncated("time", &value.to_text(6).unwrap_or_default()))
}
