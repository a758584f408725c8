//! A date and a time of day as they were written, before the calendar is asked.

use super::{MICROS_PER_DAY, days_from_civil, days_in_month};

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
    /// The moment of a day since 1970-01-01 and microseconds since its midnight.
    pub fn new(days: i32, clock: i64) -> Moment {
        let (year, month, day) = super::civil_from_days(days);
        Moment { year, month, day, clock }
    }

    /// The moment of microseconds since 1970-01-01.
    pub fn of_micros(micros: i64) -> Moment {
        Moment::new(micros.div_euclid(MICROS_PER_DAY) as i32, micros.rem_euclid(MICROS_PER_DAY))
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

    /// Days since 1970-01-01. `None` with a month or a day of zero.
    pub fn days(&self) -> Option<i32> {
        i32::try_from(self.micros()?.div_euclid(MICROS_PER_DAY)).ok()
    }

    /// Microseconds since 1970-01-01. `None` with a month or a day of zero, and behind the year 9999.
    pub fn micros(&self) -> Option<i64> {
        if self.month == 0 || self.day == 0 {
            return None;
        }
        let micros = days_from_civil(self.year, self.month, self.day) as i64 * MICROS_PER_DAY + self.clock;
        (micros < days_from_civil(10_000, 1, 1) as i64 * MICROS_PER_DAY).then_some(micros)
    }
}
