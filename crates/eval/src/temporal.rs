//! Functions over dates and times.

use super::interval::{Interval, interval};
use muster_algebra::{IntervalUnit, ScalarFunction};
use muster_functions::time::week::{self, WeekMode};
use muster_types::{
    CastWarning, ErrorCode, SqlType, Value, cast,
    temporal::{
        self, Days, EpochMicros, MICROS_PER_DAY, MICROS_PER_SECOND, Moment, TIME_MAX_MICROS, add_months, code_parts,
        date_code, datetime_of, datetime_parts, days_in_month,
    },
    time_zone::{self, TimeZone},
};

/// `None` for functions of other topics, or without the arguments they need. No argument is NULL; `ty` is the type of
/// the result.
pub(super) fn call(
    function: ScalarFunction,
    args: &[Value],
    ty: SqlType,
    warn: &mut dyn FnMut(CastWarning),
) -> Option<Value> {
    use ScalarFunction::*;
    let day = |i: usize, warn: &mut dyn FnMut(CastWarning)| date(args.get(i)?, warn).map(Days::of_code);
    Some(match function {
        DateAdd(unit) => moved_by(&args[0], interval(args.get(1)?, unit), unit, ty, warn),
        DateSub(unit) => {
            let back = interval(args.get(1)?, unit).map(Interval::negated);
            moved_by(&args[0], back, unit, ty, warn)
        }
        Extract(unit) => extract(&args[0], unit, warn).map_or(Value::Null, Value::Int),
        DayOfWeek => int(day(0, warn).map(|d| (week::weekday(d) as i64 + 1) % 7 + 1)),
        Weekday => int(day(0, warn).map(|d| week::weekday(d) as i64)),
        DayOfYear => int(day(0, warn).map(|d| week::day_of_year(d) as i64)),
        Week => {
            let mode = week_mode(args.get(1)?);
            int(day(0, warn).map(|d| week::week(d, mode).1 as i64))
        }
        YearWeek => {
            let mode = week_mode(args.get(1)?);
            int(day(0, warn).map(|d| {
                let (year, week) = week::week(d, WeekMode { by_week_year: true, ..mode });
                year as i64 * 100 + week as i64
            }))
        }
        DateDiff => match (day(0, warn), day(1, warn)) {
            (Some(a), Some(b)) => Value::Int(i64::from(a.0) - i64::from(b.0)),
            _ => Value::Null,
        },
        LastDay => date(&args[0], warn).map_or(Value::Null, |d| {
            let (y, m, _) = code_parts(d);
            Value::Date(date_code(y, m, days_in_month(y, m)))
        }),
        ConvertTz => {
            let zone = |i: usize| TimeZone::from_name(&args.get(i)?.to_text(0)?);
            match (zone(1), zone(2), datetime(&args[0], warn)) {
                (Some(from), Some(to), Some(t)) => Value::DateTime(time_zone::convert(t, from, to)),
                _ => Value::Null,
            }
        }
        _ => return None,
    })
}

/// The mode of a week function; its last three bits count, also of a number that no double holds exactly.
fn week_mode(value: &Value) -> WeekMode {
    WeekMode::from_number(match value {
        Value::Int(n) => *n,
        other => cast::to_double(other).0 as i64,
    })
}

fn int(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Int)
}

fn convert(value: &Value, ty: SqlType, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let (value, warning) = cast(value, ty);
    warning.into_iter().for_each(warn);
    value
}

/// The date code of a value.
fn date(value: &Value, warn: &mut dyn FnMut(CastWarning)) -> Option<i32> {
    match convert(value, SqlType::Date, warn) {
        Value::Date(d) => Some(d),
        _ => None,
    }
}

fn datetime(value: &Value, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    match convert(value, SqlType::DateTime { fsp: 6 }, warn) {
        Value::DateTime(t) => Some(t),
        _ => None,
    }
}

/// The moment that a value means, whose month and day may be zero; warning 1292 and `None` for what is no date.
fn moment(value: &Value, warn: &mut dyn FnMut(CastWarning)) -> Option<Moment> {
    let of = cast::moment(value, "datetime");
    if of.is_none() {
        convert(value, SqlType::DateTime { fsp: 6 }, warn);
    }
    let of = of?;
    of.warning.into_iter().for_each(warn);
    // A fraction that was rounded up can have made the time of day a whole day.
    Some(of.moment.datetime().map_or(of.moment, Moment::of_datetime))
}

/// `start + interval`, of type `ty`. NULL with warning 1441 outside of the years 0 to 9999 or the range of TIME.
fn moved_by(
    start: &Value,
    interval: Option<Interval>,
    unit: IntervalUnit,
    ty: SqlType,
    warn: &mut dyn FnMut(CastWarning),
) -> Value {
    if let Value::Time(t) = start {
        let Some(by) = interval else { return Value::Null };
        let sum = i128::from(*t) + by.micros;
        return match i64::try_from(sum).ok().filter(|t| by.months == 0 && t.abs() <= TIME_MAX_MICROS) {
            Some(t) => Value::Time(t),
            None => overflow("time", warn),
        };
    }
    let (start, has_clock) = match start {
        Value::Date(d) => (Some(datetime_of(*d, 0)), false),
        Value::DateTime(t) => (Some(*t), true),
        other => {
            let has_clock = cast::moment(other, "datetime").is_some_and(|of| of.has_clock);
            (datetime(other, warn), has_clock)
        }
    };
    let (Some(start), Some(by)) = (start, interval) else { return Value::Null };
    let Some(moved) = moved(start, by) else { return overflow("datetime", warn) };
    let moved = match has_clock || !unit.keeps_dates() {
        true => Value::DateTime(moved),
        false => Value::Date(datetime_parts(moved).0),
    };
    match (&moved, ty) {
        // The result for a text is a text, with a fraction only if there is one.
        (Value::DateTime(t), SqlType::Text { .. }) if t % MICROS_PER_SECOND == 0 => {
            moved.to_text(0).map_or(Value::Null, Value::Text)
        }
        _ => moved,
    }
}

/// NULL, with warning 1441.
fn overflow(what: &str, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let message = format!("Datetime function: {what} field overflow");
    warn(CastWarning { code: ErrorCode::DatetimeFunctionOverflow, message });
    Value::Null
}

/// A datetime moved by an interval; `None` outside of the calendar. By days and less no moment of the year 0 is reached,
/// which MySQL makes its zero date.
fn moved(datetime: i64, by: Interval) -> Option<i64> {
    if by.micros == 0 {
        let (date, clock) = datetime_parts(datetime);
        return Some(datetime_of(add_months(date, i32::try_from(by.months).ok()?)?, clock));
    }
    let moved = i64::try_from(i128::from(EpochMicros::of_datetime(datetime).0) + by.micros).ok()?;
    let first = i64::from(Days::from_civil(1, 1, 1).0) * MICROS_PER_DAY;
    let end = i64::from(Days::from_civil(10_000, 1, 1).0) * MICROS_PER_DAY;
    (first..end).contains(&moved).then(|| EpochMicros(moved).datetime())
}

/// `EXTRACT(unit FROM value)`; `None` for what is no date or time.
fn extract(value: &Value, unit: IntervalUnit, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    use IntervalUnit::*;
    match unit {
        Day | Month | Quarter | Year | YearMonth => {
            let Moment { year, month, day, .. } = moment(value, warn)?;
            Some(match unit {
                Day => i64::from(day),
                Month => i64::from(month),
                Quarter => (i64::from(month) + 2) / 3,
                YearMonth => i64::from(year) * 100 + i64::from(month),
                _ => i64::from(year),
            })
        }
        Week => Some(week::week(Days::of_code(date(value, warn)?), WeekMode::SUNDAY).1 as i64),
        _ => extract_clock(value, unit, warn),
    }
}

/// Parts of a TIME, negative for a negative one, or of a datetime, whose day counts: those of a unit of several parts
/// are written behind each other, two digits each and six of the microseconds.
fn extract_clock(value: &Value, unit: IntervalUnit, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    let of_datetime = |t: i64| (i64::from(Moment::of_datetime(t).day), datetime_parts(t).1);
    let (day, clock) = match value {
        Value::DateTime(t) => of_datetime(*t),
        Value::Date(d) => of_datetime(datetime_of(*d, 0)),
        other => match convert(other, SqlType::Time { fsp: 6 }, warn) {
            Value::Time(t) => (datetime_day(other), t),
            _ => return None,
        },
    };
    let micros = clock.abs();
    let seconds = micros / MICROS_PER_SECOND;
    let part = |unit: IntervalUnit| match unit {
        IntervalUnit::Microsecond => micros % MICROS_PER_SECOND,
        IntervalUnit::Second => seconds % 60,
        IntervalUnit::Minute => seconds / 60 % 60,
        IntervalUnit::Hour => seconds / 3600,
        _ => day,
    };
    let magnitude = match unit.parts() {
        [] => part(unit),
        parts => parts.iter().fold(0, |written, unit| {
            written * if *unit == IntervalUnit::Microsecond { 1_000_000 } else { 100 } + part(*unit)
        }),
    };
    Some(if clock < 0 { -magnitude } else { magnitude })
}

/// The day of the month of a text that is a datetime where a TIME is wanted, else 0.
fn datetime_day(value: &Value) -> i64 {
    let Value::Text(text) = value else { return 0 };
    let is_datetime = temporal::read_time(text).is_some_and(|read| read.is_datetime);
    let datetime = if is_datetime { temporal::read_datetime(text) } else { None };
    datetime.map_or(0, |read| i64::from(read.moment.day))
}
