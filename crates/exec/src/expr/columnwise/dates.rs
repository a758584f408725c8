//! Numbers of dates and of times: days and weeks, differences, the parts of a TIME; dates of dates.

use super::{CallShape, ColumnFunction, operand::Operand};
use arrow_array::{Array, ArrayRef, Date32Array, Int64Array, TimestampMicrosecondArray, cast::AsArray, types::*};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use muster_algebra::{IntervalUnit, ScalarFunction};
use muster_functions::time::week::{WeekMode, day_of_year, week, weekday};
use muster_types::{
    SqlType, Value,
    temporal::{
        Days, MICROS_PER_DAY, MICROS_PER_SECOND, add_months, code_parts, date_code, datetime_of, datetime_parts,
        days_in_month, is_calendar_day, moved_day,
    },
};
use std::sync::Arc;

const SECONDS_PER_DAY: i64 = 24 * 3600;

/// A number of a day of the calendar and of the microseconds since its midnight.
type OfMoment = Box<dyn Fn(i32, i64) -> i64 + Send + Sync>;

/// Functions of dates, datetimes and times, whose modes are the default ones.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    use ScalarFunction::*;
    let is_dated = |ty: &SqlType| matches!(ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
    let first = call.types.first()?;
    match function {
        LastDay if call.types.len() == 1 && is_dated(first) && call.result == SqlType::Date => {
            return Some(Box::new(last_days));
        }
        DateAdd(unit) | DateSub(unit) if matches!(first, SqlType::DateTime { .. }) && call.result == *first => {
            let Some(Some(Value::Int(count))) = call.constants.get(1).filter(|_| call.types.len() == 2) else {
                return None;
            };
            let count = if matches!(function, DateSub(_)) { count.checked_neg()? } else { *count };
            let step = Step::of(unit, count)?;
            return Some(Box::new(move |args, _| moved(args, &step)));
        }
        _ if call.result != SqlType::BIGINT => return None,
        Library(function) if function.name == "TIME_TO_SEC" && matches!(first, SqlType::Time { .. }) => {
            return Some(Box::new(|args, _| time_parts(args, |micros| micros / MICROS_PER_SECOND)));
        }
        Extract(unit) if matches!(call.types, [SqlType::Time { .. }]) => {
            return time_part(unit)
                .map(|part| Box::new(move |args: &[Operand], _| time_parts(args, part)) as ColumnFunction);
        }
        DateDiff if call.types.len() == 2 && call.types.iter().all(is_dated) => return Some(Box::new(differences)),
        _ if !is_dated(first) => return None,
        _ => {}
    }
    let number = number_of_moment(function, call)?;
    Some(Box::new(move |args, _| numbers(args, &number)))
}

fn number_of_moment(function: ScalarFunction, call: &CallShape) -> Option<OfMoment> {
    use ScalarFunction::*;
    let days = |code: i32| Days::of_code(code);
    let number: OfMoment = match (function, call.types.len()) {
        (DayOfWeek, 1) => Box::new(move |code, _| (i64::from(weekday(days(code))) + 1) % 7 + 1),
        (Weekday, 1) => Box::new(move |code, _| weekday(days(code)).into()),
        (DayOfYear, 1) => Box::new(move |code, _| day_of_year(days(code)).into()),
        (Week, 2) => {
            let mode = week_mode(call)?;
            Box::new(move |code, _| week(days(code), mode).1.into())
        }
        (YearWeek, 2) => {
            let mode = WeekMode { by_week_year: true, ..week_mode(call)? };
            Box::new(move |code, _| {
                let (year, week) = week(days(code), mode);
                i64::from(year) * 100 + i64::from(week)
            })
        }
        (Extract(IntervalUnit::YearMonth), 1) => Box::new(|code, _| {
            let (year, month, _) = code_parts(code);
            i64::from(year) * 100 + i64::from(month)
        }),
        (Extract(IntervalUnit::Microsecond), 1) => Box::new(|_, clock| clock % MICROS_PER_SECOND),
        (Library(function), _) if function.given(call.types).len() == 1 && has_default_modes(call) => {
            let day_number = |code: i32| Days::of_code(code).number();
            match function.name {
                "TO_DAYS" => Box::new(move |code, _| day_number(code)),
                "TO_SECONDS" => {
                    Box::new(move |code, clock| day_number(code) * SECONDS_PER_DAY + clock / MICROS_PER_SECOND)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(number)
}

fn week_mode(call: &CallShape) -> Option<WeekMode> {
    match call.constants.get(1) {
        Some(Some(Value::Int(mode))) => Some(WeekMode::from_number(*mode)),
        _ => None,
    }
}

/// Modes do not matter for days of the calendar behind the year 0; they are constants behind the arguments.
fn has_default_modes(call: &CallShape) -> bool {
    call.constants[1..].iter().all(Option::is_some)
}

/// Calls `each` with the date code and the microseconds since midnight of each row that is not NULL. `None` if one of
/// them is no day of the calendar, whose functions may be NULL or warn.
fn each_moment(operand: &Operand, mut each: impl FnMut(usize, i32, i64)) -> Option<Option<NullBuffer>> {
    let Operand::Column(column) = operand else { return None };
    let is_day = |code: i32| code_parts(code).0 > 0 && is_calendar_day(code);
    let valid = |row: usize| column.is_valid(row);
    match column.data_type() {
        DataType::Date32 => {
            for (row, code) in column.as_primitive::<Date32Type>().values().iter().enumerate() {
                match (valid(row), is_day(*code)) {
                    (true, true) => each(row, *code, 0),
                    (true, false) => return None,
                    (false, _) => {}
                }
            }
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            for (row, datetime) in column.as_primitive::<TimestampMicrosecondType>().values().iter().enumerate() {
                let (code, clock) = datetime_parts(*datetime);
                match (valid(row), is_day(code)) {
                    (true, true) => each(row, code, clock),
                    (true, false) => return None,
                    (false, _) => {}
                }
            }
        }
        _ => return None,
    }
    Some(column.nulls().cloned())
}

fn rows_of(operand: &Operand) -> usize {
    match operand {
        Operand::Column(column) => column.len(),
        Operand::Constant(_) => 0,
    }
}

fn numbers(args: &[Operand], number: &OfMoment) -> Option<ArrayRef> {
    let mut numbers = vec![0; rows_of(args.first()?)];
    let nulls = each_moment(&args[0], |row, code, clock| numbers[row] = number(code, clock))?;
    Some(Arc::new(Int64Array::new(numbers.into(), nulls)))
}

fn differences(args: &[Operand], _rows: usize) -> Option<ArrayRef> {
    let mut days = vec![0i64; rows_of(args.first()?)];
    // Dates that stand beside NULL are read, too, which matters if they are wrong.
    let first = each_moment(&args[0], |row, code, _| days[row] = Days::of_code(code).0.into())?;
    let second = each_moment(&args[1], |row, code, _| days[row] -= i64::from(Days::of_code(code).0))?;
    Some(Arc::new(Int64Array::new(days.into(), NullBuffer::union(first.as_ref(), second.as_ref()))))
}

fn last_days(args: &[Operand], _rows: usize) -> Option<ArrayRef> {
    let mut dates = vec![0; rows_of(args.first()?)];
    let nulls = each_moment(&args[0], |row, code, _| {
        let (year, month, _) = code_parts(code);
        dates[row] = date_code(year, month, days_in_month(year, month));
    })?;
    Some(Arc::new(Date32Array::new(dates.into(), nulls)))
}

/// A constant step of an interval.
enum Step {
    Months(i32),
    Micros(i64),
}

impl Step {
    /// So many of the units; `None` for units of several parts, and for steps beyond the calendar.
    fn of(unit: IntervalUnit, count: i64) -> Option<Step> {
        const BEYOND: u64 = (10_000 * 366 * SECONDS_PER_DAY * MICROS_PER_SECOND) as u64;
        let months = |months: i64| i32::try_from(count.checked_mul(months)?).ok().map(Step::Months);
        let micros =
            |unit: i64| Some(count.checked_mul(unit)?).filter(|by| by.unsigned_abs() < BEYOND).map(Step::Micros);
        match unit {
            IntervalUnit::Year => months(12),
            IntervalUnit::Quarter => months(3),
            IntervalUnit::Month => months(1),
            IntervalUnit::Week => micros(7 * MICROS_PER_DAY),
            IntervalUnit::Day => micros(MICROS_PER_DAY),
            IntervalUnit::Hour => micros(3600 * MICROS_PER_SECOND),
            IntervalUnit::Minute => micros(60 * MICROS_PER_SECOND),
            IntervalUnit::Second => micros(MICROS_PER_SECOND),
            IntervalUnit::Microsecond => micros(1),
            _ => None,
        }
    }

    /// The datetime that a moment becomes; `None` outside of the calendar.
    fn moved(&self, code: i32, clock: i64) -> Option<i64> {
        match self {
            Step::Months(months) => Some(datetime_of(add_months(code, *months)?, clock)),
            Step::Micros(by) => {
                let moved = clock + by;
                if (0..MICROS_PER_DAY).contains(&moved) {
                    return Some(datetime_of(code, moved));
                }
                let day = i64::from(Days::of_code(code).0) + moved.div_euclid(MICROS_PER_DAY);
                Some(datetime_of(moved_day(day)?, moved.rem_euclid(MICROS_PER_DAY)))
            }
        }
    }
}

fn moved(args: &[Operand], step: &Step) -> Option<ArrayRef> {
    let mut datetimes = vec![0; rows_of(args.first()?)];
    let mut is_whole = true;
    let nulls = each_moment(&args[0], |row, code, clock| match step.moved(code, clock) {
        Some(moved) => datetimes[row] = moved,
        None => is_whole = false,
    })?;
    is_whole.then(|| Arc::new(TimestampMicrosecondArray::new(datetimes.into(), nulls)) as ArrayRef)
}

/// A part of a TIME without its sign.
fn time_part(unit: IntervalUnit) -> Option<fn(i64) -> i64> {
    Some(match unit {
        IntervalUnit::Hour => |micros| micros / MICROS_PER_SECOND / 3600,
        IntervalUnit::Minute => |micros| micros / MICROS_PER_SECOND / 60 % 60,
        IntervalUnit::Second => |micros| micros / MICROS_PER_SECOND % 60,
        IntervalUnit::Microsecond => |micros| micros % MICROS_PER_SECOND,
        _ => return None,
    })
}

fn time_parts(args: &[Operand], part: fn(i64) -> i64) -> Option<ArrayRef> {
    let Some(Operand::Column(column)) = args.first() else { return None };
    let times = column.as_primitive_opt::<DurationMicrosecondType>()?;
    // Division cuts towards zero: the part of a negative time is negative.
    let parts = times.values().iter().map(|micros| part(*micros)).collect();
    Some(Arc::new(Int64Array::new(parts, times.nulls().cloned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::temporal::{format_datetime, read_datetime};

    #[test]
    fn steps_move_datetimes() {
        for (from, unit, count, want) in [
            ("2024-02-29 23:30:00", IntervalUnit::Minute, 90, "2024-03-01 01:00:00"),
            ("2024-03-01 00:30:00", IntervalUnit::Hour, -1, "2024-02-29 23:30:00"),
            ("2024-01-31 10:00:00", IntervalUnit::Month, 1, "2024-02-29 10:00:00"),
            ("2024-01-31 10:00:00", IntervalUnit::Week, -1, "2024-01-24 10:00:00"),
            ("9999-12-31 23:59:59", IntervalUnit::Second, 1, ""),
            ("9999-12-31 23:59:59", IntervalUnit::Year, 1, ""),
        ] {
            let datetime = read_datetime(from).and_then(|read| read.moment.datetime()).expect("a datetime");
            let (code, clock) = datetime_parts(datetime);
            let moved = Step::of(unit, count).expect("a step").moved(code, clock);
            assert_eq!(moved.map_or(String::new(), |moved| format_datetime(moved, 0)), want, "{from} {unit:?} {count}");
        }
        assert!(Step::of(IntervalUnit::Day, i64::MAX).is_none() && Step::of(IntervalUnit::YearMonth, 1).is_none());
    }
}
