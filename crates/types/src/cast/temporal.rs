//! Conversion to dates and times.

use super::{CastWarning, CastWarnings, number::to_decimal};
use crate::{
    ErrorCode, SqlType, Value,
    decimal::{NARROW_DIGITS_MAX, div_round},
    store::{self, StoreFault, StoredType, Unfit},
    temporal::{
        DateModes, Days, DeprecatedDelimiter, EpochMicros, MICROS_PER_DAY, Moment, TIME_MAX_MICROS, blank_in_front,
        date_code, datetime_of, is_space, moment_from_number, read_datetime, round_datetime, round_fraction,
        rounds_beyond_zero_part, time_from_number,
    },
};

/// NULL, with warning 1292 of what is no date.
fn incorrect(value: &Value) -> (Value, CastWarnings) {
    (Value::Null, Some(incorrect_datetime(value)).into())
}

/// Warning 1292 of what is no date or datetime.
fn incorrect_datetime(value: &Value) -> CastWarning {
    let message = format!("Incorrect datetime value: '{}'", value.to_text(6).unwrap_or_default());
    CastWarning { code: ErrorCode::TruncatedWrongValue, message }
}

/// The warnings of a text that a moment or time was read from: `what` is there, and something else behind it if
/// `is_cut`.
fn warnings_of_text(text: &str, what: &str, is_cut: bool, deprecated: Option<DeprecatedDelimiter>) -> CastWarnings {
    let of_value = if is_cut { CastWarning::truncated(what, text) } else { None };
    CastWarnings { of_value, second: deprecated.map(|d| warning_of_delimiter(text, d, 1)) }
}

/// Warning 4095 or 4096. Where expressions are computed, rows are not counted: each is the first.
pub fn warning_of_delimiter(text: &str, delimiter: DeprecatedDelimiter, row: u64) -> CastWarning {
    let code = match delimiter.usual {
        Some(_) => ErrorCode::DeprecatedDelimiter,
        None => ErrorCode::SuperfluousDelimiter,
    };
    CastWarning { code, message: delimiter.message(text, row) }
}

/// Warning 4095 or 4096 of a text that is a date or datetime.
pub fn deprecation(text: &str) -> Option<CastWarning> {
    read_datetime(text)?.deprecated.map(|delimiter| warning_of_delimiter(text, delimiter, 1))
}

/// The moment that a value means, and how it was written.
pub struct MomentOfValue {
    pub moment: Moment,
    /// A time of day is part of the value, if only midnight.
    pub has_clock: bool,
    /// Text stands behind the moment, or a delimiter is deprecated.
    pub warnings: CastWarnings,
}

pub(super) fn to_date(value: &Value, modes: DateModes) -> (Value, CastWarnings) {
    match kept_moment(value, modes).map(|of| (of.moment.date(), of.warnings)) {
        Some((Some(date), warnings)) => (Value::Date(date), warnings),
        _ => incorrect(value),
    }
}

/// The moment of a value that becomes a date or datetime. Dates and datetimes are taken as they are.
fn kept_moment(value: &Value, modes: DateModes) -> Option<MomentOfValue> {
    moment(value, modes).filter(|of| is_dated(value) || modes.keep(&of.moment))
}

fn is_dated(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::DateTime(_))
}

/// `CAST(x AS YEAR)`: what a YEAR column would store, NULL for what it would refuse.
pub(super) fn to_year(value: &Value) -> (Value, Option<CastWarning>) {
    let column = StoredType::new(SqlType::Year);
    let text = || value.to_text(0).unwrap_or_default();
    if let Value::Text(_) | Value::Bytes(_) = value {
        return year_of_text(&text());
    }
    let rounded = match value {
        Value::Double(x) => Value::Double(x.round_ties_even()),
        Value::Float(x) => Value::Double(f64::from(*x).round_ties_even()),
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

/// The year of the integer that a text begins with. NULL with warning 1525 for a negative one, for one beyond 64 bits
/// and for a text without one; warning 1292 for a text that goes on, and for what is no year.
fn year_of_text(text: &str) -> (Value, Option<CastWarning>) {
    let number = text.trim_start_matches(is_space);
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let wrong = || (Value::Null, CastWarning::new(ErrorCode::WrongValue, format!("Incorrect YEAR value: '{text}'")));
    if is_negative || digits == 0 {
        return wrong();
    }
    let cut = || CastWarning::truncated("YEAR", text);
    // Zero is a year of two digits in a text.
    let year = match number[..digits].parse() {
        Ok(0) => Ok(Value::UInt(2000)),
        Ok(number) => store::store(&Value::UInt(number), StoredType::new(SqlType::Year)),
        // Digits that 64 bits do not hold are the number -1.
        Err(_) => return wrong(),
    };
    match year {
        Ok(year) if digits == number.len() => (year, None),
        Ok(year) => (year, cut()),
        Err(_) => (Value::Null, cut()),
    }
}

pub(super) fn to_datetime(value: &Value, fsp: u8, modes: DateModes) -> (Value, CastWarnings) {
    let end = datetime_of(date_code(10_000, 0, 0), 0);
    match kept_moment(value, modes).map(|of| (of.moment.datetime(), of.warnings)) {
        Some((Some(t), warnings)) if round_datetime(t, fsp) < end && !rounds_beyond_zero_part(t, fsp) => {
            (Value::DateTime(round_datetime(t, fsp)), warnings)
        }
        _ => incorrect(value),
    }
}

/// What a function needs of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentRead {
    /// Parts of it, which may be zero (MySQL: `TIME_FUZZY_DATE`).
    Parts,
    /// A day that can be counted. Numbers of a year before 1000 have none.
    Day,
}

/// The moment that a function of dates reads, and whether it has a time of day, if only midnight. `None`, with warning
/// 1292, for what is no date; without one for a value of type DATE or DATETIME.
pub fn read_moment(
    value: &Value,
    needs: MomentRead,
    modes: DateModes,
    warn: &mut dyn FnMut(CastWarning),
) -> Option<(Moment, bool)> {
    let number = match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            whole_and_micros(value)
        }
        _ => None,
    };
    let Some(of) = moment(value, modes) else {
        warn(incorrect_datetime(value));
        return None;
    };
    let is_short = number.is_some_and(|(whole, _)| YEARS_BELOW_1000.contains(&whole));
    if needs == MomentRead::Day && (of.moment.has_zero_part() || is_short) {
        if !is_dated(value) {
            warn(incorrect_datetime(value));
        }
        return None;
    }
    if number.is_some_and(|(whole, fraction)| whole > 0 && fraction > 0) && !of.has_clock {
        CastWarning::truncated("date", &value.to_text(6).unwrap_or_default()).into_iter().for_each(&mut *warn);
    }
    of.warnings.into_iter().for_each(warn);
    // A fraction that was rounded up can have made the time of day a whole day.
    Some((of.moment.datetime().map_or(of.moment, Moment::of_datetime), of.has_clock))
}

/// Numbers of dates with years of fewer than four digits, which are not those of two.
const YEARS_BELOW_1000: std::ops::Range<i64> = 991_232..10_000_101;

/// The date and time of day that a value means; month and day may be zero. `None` for NULL, for what is no date, and
/// for a text or number that the modes do not read as one; the number 0 is the zero date in all modes.
pub fn moment(value: &Value, modes: DateModes) -> Option<MomentOfValue> {
    let (moment, has_clock) = match value {
        Value::Date(d) => (Moment::new(*d, 0), false),
        Value::DateTime(t) => (Moment::of_datetime(*t), true),
        // A time is one of today.
        Value::Time(t) => {
            (Moment::of_datetime(EpochMicros(i64::from(today()?.0) * MICROS_PER_DAY + t).datetime()), true)
        }
        Value::Text(s) => return text_moment(s, modes),
        Value::Bytes(b) => return text_moment(std::str::from_utf8(b).ok()?, modes),
        _ => {
            let (whole, fraction) = whole_and_micros(value).filter(|(_, fraction)| *fraction >= 0)?;
            let (moment, has_clock) = moment_from_number(whole)?;
            let modes = DateModes { no_zero_date: false, ..modes };
            if !modes.read(&moment) {
                return None;
            }
            // Of a date alone the fraction does not count, but beside the zero date it is a time of day.
            (Moment { clock: moment.clock + if has_clock || whole == 0 { fraction } else { 0 }, ..moment }, has_clock)
        }
    };
    Some(MomentOfValue { moment, has_clock, warnings: CastWarnings::default() })
}

fn text_moment(text: &str, modes: DateModes) -> Option<MomentOfValue> {
    let read = modes.read_text(text)?;
    let what = if read.has_clock { "datetime" } else { "date" };
    let warnings = warnings_of_text(text, what, read.is_cut, read.deprecated);
    Some(MomentOfValue { moment: read.moment, has_clock: read.has_clock, warnings })
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
    // A float is the number that it is, not the one that it shows.
    let exact = match value {
        Value::Float(x) => &Value::Double(f64::from(*x)),
        other => other,
    };
    let Value::Decimal(number) = to_decimal(exact, NARROW_DIGITS_MAX as u8, SCALE).0 else { return None };
    let unscaled = number.narrow()?;
    let unit = 10i128.pow(SCALE as u32);
    Some((i64::try_from(unscaled / unit).ok()?, div_round(unscaled % unit, unit / 1_000_000) as i64))
}

pub(super) fn to_time(value: &Value, fsp: u8, modes: DateModes) -> (Value, CastWarnings) {
    let t = match value {
        Value::Time(t) => Some(*t),
        Value::DateTime(t) => Some(t.rem_euclid(MICROS_PER_DAY)),
        Value::Date(_) => Some(0),
        Value::Text(s) => return text_to_time(s, value, fsp, modes),
        Value::Bytes(b) => {
            return std::str::from_utf8(b).map_or_else(|_| no_time(value), |s| text_to_time(s, value, fsp, modes));
        }
        // An unsigned number that is no signed one has the bits of a negative one.
        Value::UInt(bits) if *bits > i64::MAX as u64 => return to_time(&Value::Int(*bits as i64), fsp, modes),
        _ => match whole_and_micros(value) {
            Some((whole, fraction)) => match time_from_number(whole) {
                Some(t) => Some(t + fraction),
                // A number beyond the range of TIME is none, unless it is as long as a datetime.
                None if (8_385_960..10_000_000_000).contains(&whole.unsigned_abs()) => return no_time(value),
                None => {
                    let moment = moment_from_number(whole).filter(|(moment, _)| moment.is_calendar_day());
                    moment.map(|(moment, _)| moment.clock + fraction)
                }
            },
            None => None,
        },
    };
    t.map_or_else(|| no_time(value), |t| fit(t, value, fsp))
}

/// NULL, with the warning that MySQL has for what is no time.
fn no_time(value: &Value) -> (Value, CastWarnings) {
    (Value::Null, CastWarning::truncated("time", &value.to_text(6).unwrap_or_default()).into())
}

fn text_to_time(text: &str, value: &Value, fsp: u8, modes: DateModes) -> (Value, CastWarnings) {
    let Some(read) = modes.read_time(text) else {
        return (Value::Null, warnings_of_text(text, "time", true, blank_in_front(text)));
    };
    let (time, warnings) = match read.is_clamped {
        true => cut(read.micros < 0, value),
        false => fit(read.micros, value, fsp),
    };
    let is_cut = read.is_cut || !warnings.is_empty();
    (time, warnings_of_text(text, "time", is_cut, read.deprecated))
}

fn fit(t: i64, value: &Value, fsp: u8) -> (Value, CastWarnings) {
    let t = round_fraction(t, fsp);
    if t.abs() > TIME_MAX_MICROS { cut(t < 0, value) } else { (Value::Time(t), CastWarnings::default()) }
}

fn cut(negative: bool, value: &Value) -> (Value, CastWarnings) {
    let edge = if negative { -TIME_MAX_MICROS } else { TIME_MAX_MICROS };
    (Value::Time(edge), CastWarning::truncated("time", &value.to_text(6).unwrap_or_default()).into())
}
