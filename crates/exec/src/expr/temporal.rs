//! Dates column-wise: the parts of a date, and moving it by an interval.

use super::kernel::Kernel;
use crate::{Warnings, error::external};
use arrow_array::{Array, ArrayRef, Date32Array, Int64Array, cast::AsArray, types::*};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::IntervalUnit;
use muster_types::{
    ErrorCode, SqlError,
    temporal::{
        Days, MICROS_PER_SECOND, add_months, add_years, code_parts, code_year, datetime_of, datetime_parts,
        has_zero_part, moved_day,
    },
};
use std::sync::Arc;

/// `EXTRACT(unit FROM date or datetime)`.
pub struct Extract {
    pub unit: IntervalUnit,
    pub result: DataType,
}

impl Extract {
    /// Returns true if this unit is read from dates and datetimes here.
    pub fn handles(unit: IntervalUnit) -> bool {
        use IntervalUnit::*;
        matches!(unit, Year | Quarter | Month | Day | Hour | Minute | Second)
    }
}

fn date_part(unit: IntervalUnit, date: i32) -> i64 {
    let (y, m, d) = code_parts(date);
    match unit {
        IntervalUnit::Year => y as i64,
        IntervalUnit::Quarter => (m as i64 + 2) / 3,
        IntervalUnit::Month => m as i64,
        IntervalUnit::Day => d as i64,
        _ => 0,
    }
}

fn datetime_part(unit: IntervalUnit, datetime: i64) -> i64 {
    let (date, clock) = datetime_parts(datetime);
    let seconds = clock / MICROS_PER_SECOND;
    match unit {
        IntervalUnit::Hour => seconds / 3600,
        IntervalUnit::Minute => seconds / 60 % 60,
        IntervalUnit::Second => seconds % 60,
        _ => date_part(unit, date),
    }
}

impl Kernel for Extract {
    fn label(&self) -> String {
        format!("extract_{:?}", self.unit)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let unit = self.unit;
        let parts: Int64Array = match array.data_type() {
            DataType::Date32 => {
                let dates = array.as_primitive::<Date32Type>();
                match unit {
                    IntervalUnit::Year => dates.unary(|date| i64::from(code_year(date))),
                    _ => dates.unary(|date| date_part(unit, date)),
                }
            }
            DataType::Timestamp(_, _) => {
                array.as_primitive::<TimestampMicrosecondType>().unary(|t| datetime_part(unit, t))
            }
            other => return Err(external(SqlError::internal(format!("EXTRACT from {other}")))),
        };
        Ok(arrow_cast::cast(&parts, &self.result)?)
    }
}

/// `date + INTERVAL n unit` for units of whole days, or `-`; NULL outside the calendar, with warning 1441.
pub struct DateAdd {
    pub unit: IntervalUnit,
    pub subtract: bool,
    pub warnings: Arc<Warnings>,
}

impl DateAdd {
    /// Returns true if a date stays a date under this unit.
    pub fn handles(unit: IntervalUnit) -> bool {
        use IntervalUnit::*;
        matches!(unit, Day | Week | Month | Quarter | Year)
    }
}

/// `None`: outside of the years 0 to 9999.
fn move_date(unit: IntervalUnit, date: i32, n: i64) -> Option<i32> {
    let month_steps = |k: i64| add_months(date, i32::try_from(n.checked_mul(k)?).ok()?);
    let day_steps = |k: i64| {
        let n = n.checked_mul(k)?;
        let (year, _, day) = code_parts(date);
        // Within the days that every month has, neighbouring codes are neighbouring days.
        match i64::from(day).checked_add(n)? {
            1..=28 if year > 0 => Some(date + n as i32),
            _ => moved_day(i64::from(Days::of_code(date).0).checked_add(n)?),
        }
    };
    match unit {
        IntervalUnit::Day => day_steps(1),
        IntervalUnit::Week => day_steps(7),
        IntervalUnit::Month => month_steps(1),
        IntervalUnit::Quarter => month_steps(3),
        IntervalUnit::Year => add_years(date, i32::try_from(n).ok()?),
        _ => None,
    }
}

impl Kernel for DateAdd {
    fn label(&self) -> String {
        format!("date_{}_{:?}", if self.subtract { "sub" } else { "add" }, self.unit)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (dates, counts) = (args[0].to_array(rows)?, args[1].to_array(rows)?);
        let counts = arrow_cast::cast(&counts, &DataType::Int64)?;
        let (dates, counts) = (dates.as_primitive::<Date32Type>(), counts.as_primitive::<Int64Type>());
        let signed = |n: i64| if self.subtract { n.checked_neg() } else { Some(n) };
        let moved = dates.iter().zip(counts.iter()).map(|(d, n)| {
            // A date with a part that is zero cannot be moved.
            let (d, n) = (d.filter(|d| !has_zero_part(*d))?, n?);
            let moved = signed(n).and_then(|n| move_date(self.unit, d, n));
            if moved.is_none() {
                let message = "Datetime function: datetime field overflow";
                self.warnings.push(ErrorCode::DatetimeFunctionOverflow, message);
            }
            moved
        });
        let moved: Date32Array = moved.collect();
        Ok(Arc::new(moved))
    }
}

/// A date as midnight of its day.
pub struct DateToDateTime;

impl Kernel for DateToDateTime {
    fn label(&self) -> String {
        "date_to_datetime".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let dates = array.as_primitive::<Date32Type>();
        Ok(Arc::new(dates.unary::<_, TimestampMicrosecondType>(|d| datetime_of(d, 0))))
    }
}

/// The day of a datetime.
pub struct DateTimeToDate;

impl Kernel for DateTimeToDate {
    fn label(&self) -> String {
        "datetime_to_date".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let times = array.as_primitive::<TimestampMicrosecondType>();
        Ok(Arc::new(times.unary::<_, Date32Type>(|t| datetime_parts(t).0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion_common::ScalarValue;
    use muster_types::temporal::{date_code, format_date, parse_date};

    #[test]
    fn intervals_move_dates() {
        for (from, unit, n, want) in [
            ("1998-12-01", IntervalUnit::Day, -90, "1998-09-02"),
            ("1995-01-31", IntervalUnit::Month, 1, "1995-02-28"),
            ("1996-02-29", IntervalUnit::Year, 1, "1997-02-28"),
            ("1995-11-30", IntervalUnit::Quarter, 1, "1996-02-29"),
            ("1995-02-27", IntervalUnit::Day, 1, "1995-02-28"),
            ("1995-02-27", IntervalUnit::Day, 2, "1995-03-01"),
            ("1995-03-01", IntervalUnit::Day, -1, "1995-02-28"),
            ("1995-03-14", IntervalUnit::Week, 2, "1995-03-28"),
            ("1995-03-31", IntervalUnit::Day, -5, "1995-03-26"),
        ] {
            assert_eq!(format_date(move_date(unit, parse_date(from).unwrap(), n).unwrap()), want);
        }
        assert_eq!(move_date(IntervalUnit::Day, parse_date("0001-01-01").unwrap(), -1), Some(0));
        let day = parse_date("1970-01-01").unwrap();
        // A month without such a day: only months cut it.
        let impossible = date_code(2021, 9, 31);
        assert_eq!(move_date(IntervalUnit::Year, impossible, 1), Some(date_code(2022, 9, 31)));
        assert_eq!(move_date(IntervalUnit::Month, impossible, 12), Some(date_code(2022, 9, 30)));
        assert_eq!(move_date(IntervalUnit::Year, day, 9000), None);
        assert_eq!(move_date(IntervalUnit::Day, day, i64::MAX), None);
    }

    #[test]
    fn years_over_a_boundary() {
        let dates = ["1995-12-31", "1996-01-01", "1996-12-31", "1992-06-01"].map(|d| parse_date(d).unwrap());
        let array: ArrayRef = Arc::new(Date32Array::from(dates.to_vec()));
        let kernel = Extract { unit: IntervalUnit::Year, result: DataType::Int32 };
        let years = kernel.call(&[ColumnarValue::Array(array)], 4).unwrap();
        assert_eq!(years.as_primitive::<Int32Type>().values(), &[1995, 1996, 1996, 1992]);
        let null = ColumnarValue::Scalar(ScalarValue::Date32(None));
        assert!(kernel.call(&[null], 1).unwrap().is_null(0));
    }
}
