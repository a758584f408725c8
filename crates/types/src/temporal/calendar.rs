//! The calendar: the proleptic Gregorian one, but for the year 0, which has 365 days as in MySQL.
//!
//! Conversions follow Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". There the year 0 is a leap year;
//! here the days in front of its 29 February are one day later, so that days go on without a gap.

use super::{ZERO_DATE, code_parts, date_code};

/// 0000-03-01, in days since 1970-01-01.
const MARCH_OF_YEAR_ZERO: i32 = -719_468;
/// The day before 0000-01-01, which MySQL numbers 0; 0001-01-01; 9999-12-31.
const FIRST_DAY: i32 = -719_528;
const FIRST_DAY_OF_YEAR_ONE: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// A day of the calendar as the number of days since 1970-01-01: what differences, weekdays and weeks are computed
/// with. Values and columns hold date codes instead ([`date_code`]), which are plain `i32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days(pub i32);

impl Days {
    /// The day of a civil date. The fields are not checked: a day of 0 is the day before the month's first, a month of
    /// 0 the December before the year.
    pub fn from_civil(year: i32, month: u32, day: u32) -> Days {
        let days = gregorian_days(year, month, day);
        Days(if days < MARCH_OF_YEAR_ZERO { days + 1 } else { days })
    }

    /// The year, month and day of the month.
    pub fn civil(self) -> (i32, u32, u32) {
        if self.0 < MARCH_OF_YEAR_ZERO { gregorian_civil(self.0 - 1) } else { gregorian_civil(self.0) }
    }

    /// The day of a date code; what the calendar does not have counts as in [`Days::from_civil`].
    pub fn of_code(code: i32) -> Days {
        let (year, month, day) = code_parts(code);
        Days::from_civil(year, month, day)
    }

    /// The date code of the day.
    pub fn code(self) -> i32 {
        let (year, month, day) = self.civil();
        date_code(year, month, day)
    }

    /// The number of the day since the year 0 (`TO_DAYS`).
    pub fn number(self) -> i64 {
        i64::from(self.0) - i64::from(FIRST_DAY)
    }

    /// The day of a number since the year 0; the last one that there is for a number behind it.
    pub fn of_number(number: i64) -> Days {
        Days(i32::try_from(number + i64::from(FIRST_DAY)).unwrap_or(i32::MAX))
    }
}

fn gregorian_days(year: i32, month: u32, day: u32) -> i32 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let mp = (month as i32 + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day as i32 - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
}

fn gregorian_civil(days: i32) -> (i32, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + (month <= 2) as i32, month, day)
}

/// Returns true if the year has a 29 February; in MySQL the year 0 has none.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) && year != 0
}

pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + is_leap_year(year) as u32,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date code moved by whole months; the day is cut to the month's last (MySQL's `DATE_ADD .. MONTH`). `None`
/// outside of the years 0 to 9999.
pub fn add_months(code: i32, months: i32) -> Option<i32> {
    let (y, m, d) = code_parts(code);
    let index = y.checked_mul(12)?.checked_add(m as i32 - 1)?.checked_add(months)?;
    let (y, m) = (index.div_euclid(12), index.rem_euclid(12) as u32 + 1);
    (0..=9999).contains(&y).then(|| date_code(y, m, d.min(days_in_month(y, m))))
}

/// The date code moved by whole years. A day that its month does not have, such as 31 September, is kept, but for the
/// 29th of February (MySQL's `DATE_ADD .. YEAR`). `None` outside of the years 0 to 9999.
pub fn add_years(code: i32, years: i32) -> Option<i32> {
    let (year, month, day) = code_parts(code);
    let year = year.checked_add(years).filter(|year| (0..=9999).contains(year))?;
    let day = if (month, day) == (2, 29) { day.min(days_in_month(year, month)) } else { day };
    Some(date_code(year, month, day))
}

/// The date code of a day since 1970-01-01 that an interval of days or less has led to: the zero date in the year 0.
/// `None` outside of the years 0 to 9999.
pub fn moved_day(days: i64) -> Option<i32> {
    let days = i32::try_from(days).ok()?;
    match days {
        ..FIRST_DAY => None,
        FIRST_DAY..FIRST_DAY_OF_YEAR_ONE => Some(ZERO_DATE),
        FIRST_DAY_OF_YEAR_ONE..=LAST_DAY => Some(Days(days).code()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_goes_both_ways() {
        let mut days = Days::from_civil(0, 1, 1);
        for y in (0..8).chain(1600..2400) {
            if y == 1600 {
                days = Days::from_civil(1600, 1, 1);
            }
            for m in 1..=12 {
                for d in 1..=days_in_month(y, m) {
                    assert_eq!(Days::from_civil(y, m, d), days);
                    assert_eq!(days.civil(), (y, m, d));
                    assert_eq!(Days::of_code(days.code()), days);
                    days.0 += 1;
                }
            }
        }
    }

    #[test]
    fn the_year_zero_has_365_days() {
        assert_eq!(Days::from_civil(1, 1, 1).0 - Days::from_civil(0, 1, 1).0, 365);
        assert_eq!(Days(Days::from_civil(0, 1, 1).0 + 3_652_423).civil(), (9999, 12, 31));
    }

    #[test]
    fn days_of_the_year_zero_are_the_zero_date() {
        let day = |y, m, d| i64::from(Days::from_civil(y, m, d).0);
        assert_eq!(moved_day(day(1, 1, 1)), Some(date_code(1, 1, 1)));
        assert_eq!((moved_day(day(0, 12, 31)), moved_day(day(0, 1, 1))), (Some(ZERO_DATE), Some(ZERO_DATE)));
        assert_eq!((moved_day(day(0, 1, 1) - 1), moved_day(day(0, 1, 1) - 2)), (Some(ZERO_DATE), None));
        assert_eq!((moved_day(day(9999, 12, 31) + 1), moved_day(i64::MAX)), (None, None));
        assert_eq!(moved_day(day(9999, 12, 31)), Some(date_code(9999, 12, 31)));
    }
}
