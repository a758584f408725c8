//! Date codes: the numbers that dates are kept as.
//!
//! The code of a date is `(year * 13 + month) * 32 + day`, so each year has 13 months (one of them zero) of 32 days
//! (one of them zero). Dates whose month or day is zero, the zero date `0000-00-00` and days that the calendar does not
//! have (`2001-02-31`) have codes of their own, and the order of codes is MySQL's order of dates. A datetime is the
//! code of its date times [`MICROS_PER_DAY`], plus the microseconds since midnight.
//!
//! Two codes that differ by one are not always neighbouring days. Whatever counts days or moves dates converts codes to
//! [`Days`] or [`EpochMicros`] first.

use super::{Days, MICROS_PER_DAY};

/// Codes of one month.
const MONTH_CODES: i32 = 32;
/// Codes of one year.
const YEAR_CODES: i32 = 13 * MONTH_CODES;

/// The code of 0000-00-00, and as a datetime that of its midnight: the smallest one.
pub const ZERO_DATE: i32 = 0;

/// The code of a date whose fields are within 0..=9999, 0..=12 and 0..=31.
pub const fn date_code(year: i32, month: u32, day: u32) -> i32 {
    year * YEAR_CODES + month as i32 * MONTH_CODES + day as i32
}

/// The year, month and day of a date code.
#[inline]
pub const fn code_parts(code: i32) -> (i32, u32, u32) {
    let (year, rest) = (code.div_euclid(YEAR_CODES), code.rem_euclid(YEAR_CODES));
    (year, (rest / MONTH_CODES) as u32, (rest % MONTH_CODES) as u32)
}

/// The year of a date code.
#[inline]
pub const fn code_year(code: i32) -> i32 {
    code.div_euclid(YEAR_CODES)
}

/// The datetime of a date code and microseconds since its midnight.
#[inline]
pub const fn datetime_of(code: i32, clock: i64) -> i64 {
    code as i64 * MICROS_PER_DAY + clock
}

/// The date code of a datetime, and the microseconds since its midnight.
#[inline]
pub const fn datetime_parts(datetime: i64) -> (i32, i64) {
    (datetime.div_euclid(MICROS_PER_DAY) as i32, datetime.rem_euclid(MICROS_PER_DAY))
}

/// Returns true if the code is that of a day of the calendar: no part is zero, and the month has the day. The year 0 is
/// one of the calendar's.
pub fn is_calendar_day(code: i32) -> bool {
    let (year, month, day) = code_parts(code);
    month != 0 && day != 0 && (day <= 28 || day <= super::days_in_month(year, month))
}

/// Returns true if the month or the day of a date code is zero.
#[inline]
pub const fn has_zero_part(code: i32) -> bool {
    code.rem_euclid(MONTH_CODES) == 0 || code.rem_euclid(YEAR_CODES) < MONTH_CODES
}

/// Microseconds since 1970-01-01 00:00:00 on the calendar's line of time, on which differences are spans of time. Time
/// zones and the clock of the machine count in them; datetimes are codes instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EpochMicros(pub i64);

impl EpochMicros {
    /// The moment of a datetime. A day that the calendar does not have counts as [`Days::of_code`] says.
    pub fn of_datetime(datetime: i64) -> EpochMicros {
        let (code, clock) = datetime_parts(datetime);
        EpochMicros(i64::from(Days::of_code(code).0).wrapping_mul(MICROS_PER_DAY).wrapping_add(clock))
    }

    /// The datetime of the moment.
    pub fn datetime(self) -> i64 {
        let days = Days(self.0.div_euclid(MICROS_PER_DAY) as i32);
        datetime_of(days.code(), self.0.rem_euclid(MICROS_PER_DAY))
    }
}

/// The datetime moved by microseconds on the calendar's line of time.
pub fn moved_datetime(datetime: i64, micros: i64) -> i64 {
    let (_, clock) = datetime_parts(datetime);
    match (0..MICROS_PER_DAY).contains(&clock.wrapping_add(micros)) {
        true => datetime + micros,
        false => EpochMicros(EpochMicros::of_datetime(datetime).0.wrapping_add(micros)).datetime(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_the_fields_and_the_order() {
        let mut last = -1;
        for year in (0..3).chain(1999..2002).chain([9999]) {
            for month in 0..=12 {
                for day in 0..=31 {
                    let code = date_code(year, month, day);
                    assert!(code > last);
                    assert_eq!((code_parts(code), code_year(code)), ((year, month, day), year));
                    last = code;
                }
            }
        }
        assert_eq!((date_code(0, 0, 0), code_parts(-1)), (ZERO_DATE, (-1, 12, 31)));
    }

    #[test]
    fn days_of_the_calendar() {
        for (date, want) in [
            ((2000, 2, 29), true),
            ((2001, 2, 29), false),
            ((2001, 4, 31), false),
            ((2001, 0, 1), false),
            ((2001, 1, 0), false),
            ((0, 0, 0), false),
            ((0, 1, 1), true),
        ] {
            let code = date_code(date.0, date.1, date.2);
            assert_eq!(is_calendar_day(code), want, "{date:?}");
            assert_eq!(has_zero_part(code), date.1 == 0 || date.2 == 0, "{date:?}");
        }
    }

    #[test]
    fn moments_go_both_ways() {
        for micros in [0, -1, 1, 951_782_400_000_000, 253_402_300_799_999_999] {
            assert_eq!(EpochMicros::of_datetime(EpochMicros(micros).datetime()), EpochMicros(micros));
        }
        let last = datetime_of(date_code(2000, 2, 29), MICROS_PER_DAY - 1);
        assert_eq!(moved_datetime(last, 1), datetime_of(date_code(2000, 3, 1), 0));
        assert_eq!(moved_datetime(last, -1), last - 1);
    }
}
