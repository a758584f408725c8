//! Functions over dates and times.

use super::date_format;
use muster_algebra::{IntervalUnit, ScalarFunction};
use muster_types::{
    CastWarning, Decimal, ErrorCode, SqlType, Value, cast,
    temporal::{
        MICROS_PER_DAY, MICROS_PER_SECOND, TIME_MAX_MICROS, add_months, civil_from_days, days_from_civil,
        days_in_month, parse_date,
    },
    time_zone::{self, TimeZone},
};

/// `None` for functions of other topics, or without the arguments they need. No argument is NULL.
pub(super) fn call(function: ScalarFunction, args: &[Value], warn: &mut dyn FnMut(CastWarning)) -> Option<Value> {
    use ScalarFunction::*;
    let day = |i: usize, warn: &mut dyn FnMut(CastWarning)| days(args.get(i)?, warn);
    Some(match function {
        DateAdd(unit) => date_add(&args[0], args.get(1)?, unit, warn),
        Extract(unit) => extract(&args[0], unit, warn).map_or(Value::Null, Value::Int),
        DayOfWeek => int(day(0, warn).map(|d| (date_format::weekday(d) as i64 + 1) % 7 + 1)),
        Weekday => int(day(0, warn).map(|d| date_format::weekday(d) as i64)),
        DayOfYear => int(day(0, warn).map(|d| date_format::day_of_year(d) as i64)),
        Week => {
            let mode = date_format::WeekMode::from_number(cast::to_double(args.get(1)?).0 as i64);
            int(day(0, warn).map(|d| date_format::week(d, mode).1 as i64))
        }
        YearWeek => {
            let mode = date_format::WeekMode::from_number(cast::to_double(args.get(1)?).0 as i64);
            int(day(0, warn).map(|d| {
                let (year, week) = date_format::week(d, date_format::WeekMode { by_week_year: true, ..mode });
                year as i64 * 100 + week as i64
            }))
        }
        DateDiff => match (day(0, warn), day(1, warn)) {
            (Some(a), Some(b)) => Value::Int(a as i64 - b as i64),
            _ => Value::Null,
        },
        LastDay => day(0, warn).map_or(Value::Null, |d| {
            let (y, m, _) = civil_from_days(d);
            Value::Date(days_from_civil(y, m, days_in_month(y, m)))
        }),
        DateFormat => {
            let format = args.get(1)?.to_text(0)?;
            let micros = match &args[0] {
                Value::Time(t) => Some(*t),
                other => datetime(other, warn),
            };
            micros.map_or(Value::Null, |t| Value::Text(date_format::date_format(t, &format)))
        }
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

fn int(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Int)
}

fn convert(value: &Value, ty: SqlType, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let (value, warning) = cast(value, ty);
    warning.into_iter().for_each(warn);
    value
}

fn days(value: &Value, warn: &mut dyn FnMut(CastWarning)) -> Option<i32> {
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

/// What one step of an interval is.
enum Step {
    Months(i64),
    Micros(i64),
}

fn step(unit: IntervalUnit) -> Step {
    match unit {
        IntervalUnit::Microsecond => Step::Micros(1),
        IntervalUnit::Second => Step::Micros(MICROS_PER_SECOND),
        IntervalUnit::Minute => Step::Micros(60 * MICROS_PER_SECOND),
        IntervalUnit::Hour => Step::Micros(3600 * MICROS_PER_SECOND),
        IntervalUnit::Day => Step::Micros(MICROS_PER_DAY),
        IntervalUnit::Week => Step::Micros(7 * MICROS_PER_DAY),
        IntervalUnit::Month => Step::Months(1),
        IntervalUnit::Quarter => Step::Months(3),
        IntervalUnit::Year => Step::Months(12),
    }
}

/// `value + INTERVAL count unit`. A date stays one under units of a day and more; a result outside the years 0 to
/// 9999 is NULL with warning 1441.
fn date_add(value: &Value, count: &Value, unit: IntervalUnit, warn: &mut dyn FnMut(CastWarning)) -> Value {
    let whole_days =
        !matches!(unit, IntervalUnit::Microsecond | IntervalUnit::Second | IntervalUnit::Minute | IntervalUnit::Hour);
    let start = match value {
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => value.clone(),
        Value::Text(s) if whole_days && !s.trim().contains([' ', 'T', ':']) && parse_date(s).is_some() => {
            convert(value, SqlType::Date, warn)
        }
        other => convert(other, SqlType::DateTime { fsp: 6 }, warn),
    };
    let moved = match &start {
        Value::Null => return Value::Null,
        Value::Date(d) => moved(*d as i64 * MICROS_PER_DAY, count, unit).map(|t| match whole_days {
            true => Value::Date(t.div_euclid(MICROS_PER_DAY) as i32),
            false => Value::DateTime(t),
        }),
        Value::DateTime(t) => moved(*t, count, unit).map(Value::DateTime),
        Value::Time(t) => match (amount(count, unit), step(unit)) {
            (Some(by), Step::Micros(_)) => t.checked_add(by).filter(|t| t.abs() <= TIME_MAX_MICROS).map(Value::Time),
            _ => None,
        },
        _ => None,
    };
    moved.unwrap_or_else(|| {
        let name = if matches!(start, Value::Time(_)) { "time" } else { "datetime" };
        let message = format!("Datetime function: {name} field overflow");
        warn(CastWarning { code: ErrorCode::DatetimeFunctionOverflow, message });
        Value::Null
    })
}

/// The interval in microseconds, or in months for units made of months. Seconds may have a fraction.
fn amount(count: &Value, unit: IntervalUnit) -> Option<i64> {
    let quiet: &mut dyn FnMut(CastWarning) = &mut |_| {};
    if unit == IntervalUnit::Second && !matches!(count, Value::Int(_) | Value::UInt(_)) {
        return match convert(count, SqlType::Decimal { precision: 38, scale: 6 }, quiet) {
            Value::Decimal(Decimal { unscaled, .. }) => i64::try_from(unscaled).ok(),
            _ => None,
        };
    }
    let n = match convert(count, SqlType::BIGINT, quiet) {
        Value::Int(n) => n,
        _ => return None,
    };
    match step(unit) {
        Step::Months(each) | Step::Micros(each) => n.checked_mul(each),
    }
}

fn moved(micros: i64, count: &Value, unit: IntervalUnit) -> Option<i64> {
    let by = amount(count, unit)?;
    let t = match step(unit) {
        Step::Months(_) => {
            let day = add_months(micros.div_euclid(MICROS_PER_DAY) as i32, i32::try_from(by).ok()?)?;
            day as i64 * MICROS_PER_DAY + micros.rem_euclid(MICROS_PER_DAY)
        }
        Step::Micros(_) => micros.checked_add(by)?,
    };
    let first = days_from_civil(0, 1, 1) as i64 * MICROS_PER_DAY;
    let end = days_from_civil(10_000, 1, 1) as i64 * MICROS_PER_DAY;
    (first..end).contains(&t).then_some(t)
}

/// `EXTRACT(unit FROM value)`; `None` for what is no date.
fn extract(value: &Value, unit: IntervalUnit, warn: &mut dyn FnMut(CastWarning)) -> Option<i64> {
    use IntervalUnit::*;
    if matches!(unit, Microsecond | Second | Minute | Hour) {
        let (t, sign) = match value {
            Value::DateTime(t) => (t.rem_euclid(MICROS_PER_DAY), 1),
            Value::Date(_) => (0, 1),
            other => match convert(other, SqlType::Time { fsp: 6 }, warn) {
                Value::Time(t) => (t.abs(), t.signum()),
                _ => return None,
            },
        };
        let seconds = t / MICROS_PER_SECOND;
        return Some(
            sign * match unit {
                Microsecond => t % MICROS_PER_SECOND,
                Second => seconds % 60,
                Minute => seconds / 60 % 60,
                _ => seconds / 3600,
            },
        );
    }
    let d = days(value, warn)?;
    let (year, month, day) = civil_from_days(d);
    Some(match unit {
        Day => day as i64,
        Week => date_format::week(d, date_format::WeekMode::SUNDAY).1 as i64,
        Month => month as i64,
        Quarter => (month as i64 + 2) / 3,
        _ => year as i64,
    })
}
