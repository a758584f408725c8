//! A date and a time of day as they were written, before the calendar is asked.

use super::{Days, MICROS_PER_DAY, code_parts, date_code, datetime_of, datetime_parts, days_in_month};

/// A date and a time of day. Month and day may be zero, and the day beyond those that the month has:
/// MONTH('2001-02-00') is 2, though there is no such day. Which of them are taken for dates [`super::DateModes`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// 0 to 9999.
    pub year: i32,
    /// 0 to 12.
    pub month: u32,
    /// 0 to 31.
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

    /// `None` for fields that no date has. Each month has 31 days here.
    pub(super) fn checked(year: i32, month: u32, day: u32, clock: i64) -> Option<Moment> {
        let valid = (0..=9999).contains(&year) && month <= 12 && day <= 31;
        valid.then_some(Moment { year, month, day, clock })
    }

    /// Returns true for MySQL's zero date at midnight.
    pub fn is_zero(&self) -> bool {
        (self.year, self.month, self.day, self.clock) == (0, 0, 0, 0)
    }

    /// Returns true if the month or the day is zero.
    pub fn has_zero_part(&self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// Returns true if the month has the day, or one of both is zero.
    pub fn is_within_month(&self) -> bool {
        self.month == 0 || self.day <= days_in_month(self.year, self.month)
    }

    /// The day that can be counted; `None` if a part is zero. A day beyond the month's last is one of the next month.
    pub fn days(&self) -> Option<Days> {
        (!self.has_zero_part()).then(|| Days::from_civil(self.year, self.month, self.day))
    }

    /// Returns true if the calendar has the day.
    pub fn is_calendar_day(&self) -> bool {
        !self.has_zero_part() && self.is_within_month()
    }

    /// The date code.
    pub fn date(&self) -> Option<i32> {
        Some(datetime_parts(self.datetime()?).0)
    }

    /// The datetime. `None` behind the year 9999, and if a part is zero where the fraction of a second was rounded up
    /// to the next day.
    pub fn datetime(&self) -> Option<i64> {
        if self.clock < MICROS_PER_DAY {
            return Some(datetime_of(date_code(self.year, self.month, self.day), self.clock));
        }
        let next = Days(self.days()?.0 + 1).code();
        (next < date_code(10_000, 0, 0)).then(|| datetime_of(next, self.clock - MICROS_PER_DAY))
    }
}
