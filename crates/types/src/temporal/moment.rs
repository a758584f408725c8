//! A date and a time of day as they were written, before the calendar is asked.

use super::{Days, MICROS_PER_DAY, code_parts, date_code, datetime_of, datetime_parts, days_in_month};

/// A date and a time of day. Month and day may be zero: MONTH('2001-02-00') is 2, though there is no such day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// 0 to 9999.
    pub year: i32,
    /// 0 to 12.
    pub month: u32,
    /// 0 to 31, and no more than the month has.
    pub day: u32,
    /// Microseconds since midnight. A fraction of a second that was rounded up can make it a whole day.
    pub clock: i64,
}

impl Moment {
    /// The moment of a date code and microseconds since its midnight.
    pub fn new(code: i32, clock: i64) -> Moment {
        let (year, month, day) = code_parts(code);
        Moment { year, month, day, clock }
    }

    /// The fields of a datetime.
    pub fn of_datetime(datetime: i64) -> Moment {
        let (code, clock) = datetime_parts(datetime);
        Moment::new(code, clock)
    }

    /// `None` for fields that no date has, and for a day that the month does not have.
    pub(super) fn checked(year: i32, month: u32, day: u32, clock: i64) -> Option<Moment> {
        let day_max = if month == 0 { 31 } else { days_in_month(year, month) };
        let valid = (0..=9999).contains(&year) && month <= 12 && day <= day_max;
        valid.then_some(Moment { year, month, day, clock })
    }

    /// MySQL's zero date, which its mode NO_ZERO_DATE takes for none.
    pub(super) fn is_zero(&self) -> bool {
        (self.year, self.month, self.day, self.clock) == (0, 0, 0, 0)
    }

    /// The date code. `None` with a month or a day of zero.
    pub fn date(&self) -> Option<i32> {
        Some(datetime_parts(self.datetime()?).0)
    }

    /// The datetime. `None` with a month or a day of zero, and behind the year 9999.
    pub fn datetime(&self) -> Option<i64> {
        if self.month == 0 || self.day == 0 {
            return None;
        }
        let code = date_code(self.year, self.month, self.day);
        if self.clock < MICROS_PER_DAY {
            return Some(datetime_of(code, self.clock));
        }
        let next = Days(Days::of_code(code).0 + 1).code();
        (next < date_code(10_000, 0, 0)).then(|| datetime_of(next, self.clock - MICROS_PER_DAY))
    }
}
