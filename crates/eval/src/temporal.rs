//! Functions over dates and times.

use super::interval::{Interval, interval};
use muster_algebra::{IntervalUnit, ScalarFunction};
use muster_functions::time::week::{self, WeekMode};
use muster_types::{
    CastWarning, ErrorCode, SqlType, Value,
    cast::{self, MomentRead, cast},
    temporal::{
        self, DateModes, Days, EpochMicros, MICROS_PER_DAY, MICROS_PER_SECOND, Moment, TIME_MAX_MICROS, add_months,
        add_years, date_code, datetime_of, datetime_parts, days_in_month, has_zero_part,
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
    // Behind its arguments a function has the session's modes of dates, where they are not the default ones.
    let day = |i: usize, of: usize, warn: &mut dyn FnMut(CastWarning)| day_of(args.get(i)?, modes(args.get(of)), warn);
    Some(match function {
        ReadDate => {
            let (value, warning) = cast::cast_dated(&args[0], ty, modes(args.get(1)));
            warning.into_iter().for_each(warn);
            value
        }
        DateAdd(unit) => {
            moved_by(start(&args[0], modes(args.get(2)), warn), interval(args.get(1)?, unit), unit, ty, warn)
        }
        DateSub(unit) => {
            let back = interval(args.get(1)?, unit).map(Interval::negated);
            moved_by(start(&args[0], modes(args.get(2)), warn), back, unit, ty, warn)
        }
        Extract(IntervalUnit::Week) => {
            let mode = args.get(2).map_or(WeekMode::SUNDAY, week_mode);
            int(moment(&args[0], modes(args.get(1)), warn)
                .map(|of| week::week_of_date(of.year, of.month, of.day, mode).1.into()))
        }
        Extract(unit) => extract(&args[0], unit, modes(args.get(1)), warn).map_or(Value::Null, Value::Int),
        DayOfWeek => int(day(0, 1, warn).map(|d| (week::weekday(d) as i64 + 1) % 7 + 1)),
        Weekday => int(day(0, 1, warn).map(|d| week::weekday(d) as i64)),
        DayOfYear => int(day(0, 1, warn).map(|d| week::day_of_year(d) as i64)),
        Week => {
            let mode = week_mode(args.get(1)?);
            int(day(0, 2, warn).map(|d| week::week(d, mode).1 as i64))
        }
        YearWeek => {
            let mode = week_mode(args.get(1)?);
            int(day(0, 2, warn).map(|d| {
                let (year, week) = week::week(d, WeekMode { by_week_year: true, ..mode });
                // The year before the year 0 wraps around, as in MySQL.
                (year as u32).wrapping_mul(100).wrapping_add(week).into()
            }))
        }
        DateDiff => match (day(0, 2, warn), day(1, 2, warn)) {
            (Some(a), Some(b)) => Value::Int(i64::from(a.0) - i64::from(b.0)),
            _ => Value::Null,
        },
        LastDay => {
            let needs = if args.len() > 2 { MomentRead::Day } else { MomentRead::Parts };
            last_day(&args[0], needs, modes(args.get(1)), warn)
        }
        ConvertTz => {
            let zone = |i: usize| TimeZone::from_name(&args.get(i)?.to_text(0)?);
            match (zone(1), zone(2), datetime(&args[0], warn)) {
                // A TIMESTAMP, which is stored in UTC.
                (Some(TimeZone::UTC), Some(to), Some(t)) if matches!(ty, SqlType::Timestamp { .. }) => {
                    Value::DateTime(to.from_utc(t))
                }
                (Some(from), Some(to), Some(t)) if !has_zero_part(datetime_parts(t).0) => {
                    Value::DateTime(time_zone::convert(t, from, to))
                }
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

/// Numbers from this one on are datetimes where a TIME is wanted.
const FIRST_MOMENT: f64 = 1e10;

/// The modes of dates that an argument holds; without one the default ones.
fn modes(argument: Option<&Value>) -> DateModes {
    match argument {
        Some(Value::Int(bits)) => DateModes::from_bits(*bits),
        _ => DateModes::DEFAULT,
    }
}

/// The day of a value; `None` for a date with a part that is zero.
fn day_of(value: &Value, modes: DateModes, warn: &mut dyn FnMut(CastWarning)) -> Option<Days> {
    let (moment, _) = cast::read_moment(value, MomentRead::Day, modes, warn)?;
    moment.date().map(Days::of_code)
}

/// The last day of the month that a value is in, whatever its day. NULL, with warning 1292, for a month that is zero,
/// and for a day that is zero if the last day `needs` a whole one.
fn last_day(value: &Value, needs: MomentRead, modes: DateModes, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let read = cast::read_moment(value, needs, modes, warn);
    let Some((Moment { year, month, day, .. }, _)) = read else { return Value::Null };
    if month == 0 {
        warn_incorrect(&Value::Date(date_code(year, month, day)), warn);
        return Value::Null;
    }
    Value::Date(date_code(year, month, days_in_month(year, month)))
}

/// Warning 1292 for what is no datetime.
fn warn_incorrect(value: &Value, warn: &mut dyn FnMut(CastWarning)) {
    let message = format!("Incorrect datetime value: '{}'", value.to_text(6).unwrap_or_default());
    warn(CastWarning { code: ErrorCode::TruncatedWrongValue, message });
}

fn datetime(value: &Value, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    match convert(value, SqlType::DateTime { fsp: 6 }, warn) {
        Value::DateTime(t) => Some(t),
        _ => None,
    }
}

/// The moment that a value means, whose month and day may be zero; warning 1292 and `None` for what is no date.
fn moment(value: &Value, modes: DateModes, warn: &mut dyn FnMut(CastWarning)) -> Option<Moment> {
    cast::read_moment(value, MomentRead::Parts, modes, warn).map(|(moment, _)| moment)
}

/// The first argument of an addition of an interval.
enum Start {
    Time(i64),
    /// A datetime without a part that is zero, and whether it has a time of day.
    DateTime(i64, bool),
    /// What is no date, or one with a part that is zero.
    None,
}

fn start(value: &Value, modes: DateModes, warn: &mut dyn FnMut(CastWarning)) -> Start {
    let (datetime, has_clock) = match value {
        Value::Time(t) => return Start::Time(*t),
        Value::Date(d) => (datetime_of(*d, 0), false),
        Value::DateTime(t) => (*t, true),
        other => {
            let read = cast::read_moment(other, MomentRead::Day, modes, warn);
            match read.and_then(|(moment, has_clock)| Some((moment.datetime()?, has_clock))) {
                Some(read) => read,
                None => return Start::None,
            }
        }
    };
    match has_zero_part(datetime_parts(datetime).0) {
        true => Start::None,
        false => Start::DateTime(datetime, has_clock),
    }
}

/// The warnings of DATE_ADD and DATE_SUB with an interval that is NULL, which read the date all the same, and of
/// DATEDIFF with a date that is NULL, which reads the other one.
pub(super) fn warn_beside_null(function: ScalarFunction, args: &[Value], warn: &mut dyn FnMut(CastWarning)) {
    if let (ScalarFunction::DateDiff, [first, second, rest @ ..]) = (function, args) {
        for date in [first, second].into_iter().filter(|date| !date.is_null()) {
            day_of(date, modes(rest.first()), warn);
        }
    }
    if let [date, Value::Null, rest @ ..] = args
        && !date.is_null()
        && matches!(function, ScalarFunction::DateAdd(_) | ScalarFunction::DateSub(_))
    {
        start(date, modes(rest.first()), warn);
    }
}

/// `start + interval`, of type `ty`. NULL with warning 1441 outside of the years 0 to 9999 or the range of TIME.
fn moved_by(
    start: Start,
    interval: Option<Interval>,
    unit: IntervalUnit,
    ty: SqlType,
    warn: &mut dyn FnMut(CastWarning),
) -> Value {
    let (start, has_clock) = match start {
        Start::None => return Value::Null,
        Start::Time(t) => {
            let Some(by) = interval else { return Value::Null };
            // MySQL adds the low 64 bits of an interval that they do not hold.
            let sum = t.wrapping_add(by.micros as i64);
            return match Some(sum).filter(|t| by.months == 0 && t.unsigned_abs() <= TIME_MAX_MICROS as u64) {
                Some(t) => Value::Time(t),
                None => overflow("time", warn),
            };
        }
        Start::DateTime(start, has_clock) => (start, has_clock),
    };
    let Some(by) = interval else { return overflow("date_add_interval", warn) };
    let Some(moved) = moved(start, by, unit) else { return overflow("datetime", warn) };
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

/// A datetime moved by an interval; `None` outside of the calendar. By days and less the days of the year 0 are the
/// zero date, with their time of day.
fn moved(datetime: i64, by: Interval, unit: IntervalUnit) -> Option<i64> {
    use IntervalUnit::*;
    if matches!(unit, Month | Quarter | Year | YearMonth) {
        let (date, clock) = datetime_parts(datetime);
        let months = i32::try_from(by.months).ok()?;
        let moved = match unit {
            Year => add_years(date, months / 12),
            _ => add_months(date, months),
        };
        return Some(datetime_of(moved?, clock));
    }
    let moved = i64::try_from(i128::from(EpochMicros::of_datetime(datetime).0) + by.micros).ok()?;
    let (day, clock) = (moved.div_euclid(MICROS_PER_DAY), moved.rem_euclid(MICROS_PER_DAY));
    Some(datetime_of(temporal::moved_day(day)?, clock))
}

/// `EXTRACT(unit FROM value)`; `None` for what is no date or time.
fn extract(value: &Value, unit: IntervalUnit, modes: DateModes, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    use IntervalUnit::*;
    match unit {
        Day | Month | Quarter | Year | YearMonth => {
            let Moment { year, month, day, .. } = moment(value, modes, warn)?;
            Some(match unit {
                Day => i64::from(day),
                Month => i64::from(month),
                Quarter => (i64::from(month) + 2) / 3,
                YearMonth => i64::from(year) * 100 + i64::from(month),
                _ => i64::from(year),
            })
        }
        _ => extract_clock(value, unit, modes, warn),
    }
}

/// Parts of a TIME, negative for a negative one, or of a datetime, whose day counts: those of a unit of several parts
/// are written behind each other, two digits each and six of the microseconds.
fn extract_clock(
    value: &Value,
    unit: IntervalUnit,
    modes: DateModes,
    warn: &mut dyn FnMut(CastWarning),
) -> Option<i64> {
    let of_datetime = |t: i64| (i64::from(Moment::of_datetime(t).day), datetime_parts(t).1);
    let (day, clock) = match value {
        Value::DateTime(t) => of_datetime(*t),
        Value::Date(d) => of_datetime(datetime_of(*d, 0)),
        other => {
            let (time, warnings) = cast::cast_dated(other, SqlType::Time { fsp: 6 }, modes);
            warnings.into_iter().for_each(&mut *warn);
            match time {
                Value::Time(t) => (datetime_day(other, modes), t),
                _ => return None,
            }
        }
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

/// The day of the month of a text or number that is a datetime where a TIME is wanted, else 0.
fn datetime_day(value: &Value, modes: DateModes) -> i64 {
    let Value::Text(text) = value else {
        let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_));
        let is_moment = is_number && cast::to_double(value).0 >= FIRST_MOMENT;
        let of = if is_moment { cast::moment(value, modes) } else { None };
        return of.map_or(0, |of| i64::from(of.moment.day));
    };
    let datetime = modes.read_time(text).and_then(|read| read.datetime);
    datetime.map_or(0, |read| i64::from(read.moment.day))
}
