//! Dates and times: date codes and microseconds, civil fields, and MySQL's forms of them as text and numbers.
//!
//! ```text
//!   temporal.rs            units; conversions that callers want whole
//!   temporal/code.rs       the numbers that dates and datetimes are kept as
//!   temporal/calendar.rs   days that can be counted, years, months, days of the month
//!   temporal/moment.rs     a date and a time of day as fields, whose month or day may be zero
//!   temporal/modes.rs      what a session decides of reading dates
//!   temporal/datetime_text.rs   reading a date or datetime from text
//!   temporal/time_text.rs       reading a TIME from text
//!   temporal/delimiter.rs       delimiters in these texts that are deprecated
//!   temporal/number.rs     dates and times as numbers, both ways
//!   temporal/format.rs     dates and times as text
//! ```

mod calendar;
mod code;
mod datetime_text;
mod delimiter;
mod format;
mod modes;
mod moment;
mod number;
mod time_text;

pub use calendar::{Days, add_months, add_years, days_in_month, is_leap_year, moved_day};
pub use code::{
    EpochMicros, ZERO_DATE, code_parts, code_year, date_code, datetime_of, datetime_parts, has_zero_part,
    is_calendar_day, moved_datetime,
};
pub(crate) use datetime_text::is_space;
pub use datetime_text::{DateTimeText, read_datetime};
pub use delimiter::DeprecatedDelimiter;
pub use format::{format_date, format_datetime, format_time, push_date, push_datetime, push_time};
pub use modes::DateModes;
pub use moment::Moment;
pub use number::{clock_number, date_number, datetime_number, moment_from_number, time_from_number};
pub use time_text::{NoTime, TimeText, blank_in_front, no_time, read_time};

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Largest TIME: 838:59:59 (manual 13.2.3).
pub const TIME_MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;
/// Most digits of fractional seconds.
pub const FSP_MAX: u8 = 6;

/// Rounds to `fsp` digits of fractional seconds, half away from zero.
pub fn round_fraction(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    let (whole, rest) = (micros.div_euclid(unit), micros.rem_euclid(unit));
    let up = if micros < 0 { rest * 2 > unit } else { rest * 2 >= unit };
    (whole + (up && unit > 1) as i64) * unit
}

/// Rounds a datetime to `fsp` digits of fractional seconds, half to the later moment.
pub fn round_datetime(datetime: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    let (_, clock) = datetime_parts(datetime);
    let rounded = (clock + unit / 2) / unit * unit;
    moved_datetime(datetime, rounded - clock)
}

/// Returns true if a datetime, rounded to `fsp` digits, is behind the year 9999.
pub fn rounds_beyond_last(datetime: i64, fsp: u8) -> bool {
    datetime >= datetime_of(date_code(9999, 12, 31), 0)
        && round_datetime(datetime, fsp) >= datetime_of(date_code(10_000, 0, 0), 0)
}

/// Returns true if rounding a datetime to `fsp` digits would move it on to the next second, though a part of its date
/// is zero: there is no next second of such a date.
pub fn rounds_beyond_zero_part(datetime: i64, fsp: u8) -> bool {
    let (date, clock) = datetime_parts(datetime);
    let fraction = clock % MICROS_PER_SECOND;
    has_zero_part(date) && round_fraction(fraction, fsp) == MICROS_PER_SECOND
}

/// The date code of the whole text; a time of day behind it is read and dropped. `None` for what is not a date of the
/// calendar, or has something else behind it.
pub fn parse_date(text: &str) -> Option<i32> {
    Some(datetime_parts(parse_datetime(text)?).0)
}

/// The datetime that the whole text is. `None` as for [`parse_date`].
pub fn parse_datetime(text: &str) -> Option<i64> {
    let read = read_datetime(text)?;
    let datetime = read.moment.datetime().filter(|t| is_calendar_day(datetime_parts(*t).0))?;
    (!read.is_cut && read.offset.is_none()).then_some(datetime)
}

/// The TIME that the whole text is, in microseconds. `None` for what is no time or is out of the range of TIME; of a
/// datetime it is the time of day.
pub fn parse_time(text: &str) -> Option<i64> {
    let read = read_time(text)?;
    if read.is_cut || read.is_clamped { None } else { Some(read.micros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_mysqls_forms() {
        let want = date_code(1998, 9, 2);
        for text in ["1998-09-02", "19980902", "98-9-2", "1998/09/02", "1998-09-02 00:00:00"] {
            assert_eq!(parse_date(text), Some(want), "{text}");
        }
        for text in ["1998-13-01", "1998-02-29", "x", "1998-09", "1998-09-02x"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9:. T/é]{0,24}") {
            let _ = (parse_date(&text), parse_datetime(&text), parse_time(&text));
            for to in [crate::SqlType::Date, crate::SqlType::DateTime { fsp: 6 }, crate::SqlType::Time { fsp: 0 }] {
                let (got, warning) = crate::cast(&crate::Value::Text(text.clone()), to);
                proptest::prop_assert!(!got.is_null() || !warning.is_empty());
            }
        }
    }

    #[test]
    fn times_go_both_ways() {
        for text in ["00:00:00", "-838:59:59", "12:34:56"] {
            assert_eq!(format_time(parse_time(text).unwrap(), 0), text);
        }
        for (text, want) in [("1 10", "34:00:00"), ("1 10:11", "34:11:00"), ("1011", "00:10:11")] {
            assert_eq!(format_time(parse_time(text).unwrap(), 0), want);
        }
        assert_eq!(format_datetime(parse_datetime("1999-12-31 23:59:59.5").unwrap(), 3), "1999-12-31 23:59:59.500");
    }

    #[test]
    fn fractions_round_half_away_from_zero() {
        for (micros, fsp, want) in [(1_500_000, 0, 2_000_000), (-1_500_000, 0, -2_000_000), (1_449_999, 1, 1_400_000)] {
            assert_eq!(round_fraction(micros, fsp), want);
        }
        let of_year = |fraction: i64| datetime_of(date_code(2001, 0, 0), fraction);
        assert!(rounds_beyond_zero_part(of_year(500_000), 0) && !rounds_beyond_zero_part(of_year(499_999), 0));
        assert!(!rounds_beyond_zero_part(of_year(500_000), 1));
        for (text, fsp, want) in [
            ("2001-01-31 23:59:59.5", 0, "2001-02-01 00:00:00.000000"),
            ("2001-01-31 23:59:59.499999", 0, "2001-01-31 23:59:59.000000"),
            ("2001-01-31 23:59:59.999995", 5, "2001-02-01 00:00:00.000000"),
        ] {
            assert_eq!(format_datetime(round_datetime(parse_datetime(text).unwrap(), fsp), 6), want);
        }
    }
}
