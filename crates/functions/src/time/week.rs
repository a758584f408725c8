//! Days of weeks and years, and the numbering of weeks.

use super::read::day_number;
use muster_types::temporal::{Days, is_leap_year};

pub(super) const SECONDS_PER_DAY: i64 = 86_400;

/// 0 for Monday to 6 for Sunday.
pub fn weekday(day: Days) -> u32 {
    // 1970-01-01 was a Thursday.
    (day.0 + 3).rem_euclid(7) as u32
}

/// 1 for the first of January.
pub fn day_of_year(day: Days) -> u32 {
    (day.0 - Days::from_civil(day.civil().0, 1, 1).0) as u32 + 1
}

/// How weeks are numbered (the `mode` of MySQL's WEEK()).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekMode {
    pub monday_first: bool,
    /// The first week is the first one with at least four days in the year; else the first that begins in it.
    pub four_days: bool,
    /// Days before the first week belong to the last week of the year before; else to week 0.
    pub by_week_year: bool,
}

impl WeekMode {
    /// Mode 0.
    pub const SUNDAY: WeekMode = WeekMode { monday_first: false, four_days: false, by_week_year: false };
    /// Mode 1.
    pub const MONDAY: WeekMode = WeekMode { monday_first: true, four_days: true, by_week_year: false };
    /// Mode 2.
    pub const SUNDAY_YEAR: WeekMode = WeekMode { by_week_year: true, ..WeekMode::SUNDAY };
    /// Mode 3, ISO 8601.
    pub const ISO: WeekMode = WeekMode { by_week_year: true, ..WeekMode::MONDAY };

    /// Returns the mode for the number that WEEK() takes; of a larger number the last three bits count.
    pub fn from_number(mode: i64) -> WeekMode {
        let monday_first = mode & 1 != 0;
        // The third bit is turned about where weeks begin on Monday.
        WeekMode { monday_first, four_days: (mode & 4 != 0) != monday_first, by_week_year: mode & 2 != 0 }
    }

    /// The day the first week of a year begins on.
    fn first_day(self, year: i32) -> Days {
        // The first week that must hold this day of January is the one the rule asks for.
        let inside = Days::from_civil(year, 1, if self.four_days { 4 } else { 7 });
        let since_start = if self.monday_first { weekday(inside) } else { (weekday(inside) + 1) % 7 };
        Days(inside.0 - since_start as i32)
    }
}

/// The year that the week belongs to, and the week's number in it.
pub fn week(day: Days, mode: WeekMode) -> (i32, u32) {
    let year = day.civil().0;
    let number = |year: i32| ((day.0 - mode.first_day(year).0) / 7) as u32 + 1;
    if day < mode.first_day(year) {
        if mode.by_week_year { (year - 1, number(year - 1)) } else { (year, 0) }
    } else if mode.by_week_year && day >= mode.first_day(year + 1) {
        (year + 1, 1)
    } else {
        (year, number(year))
    }
}

/// The year and the week of a date, whose month and day may be zero, as MySQL counts them (`calc_week`): what comes out
/// below zero is as large as 32 bits can be.
pub fn week_of_date(year: i32, month: u32, day: u32, mode: WeekMode) -> (u32, u32) {
    // Numbers of days as unsigned integers of 32 bits.
    let number = |year: u32, month: u32, day: u32| day_number(year as i32, month, day) as u32;
    let days_of = |year: u32| 365 + u32::from(is_leap_year(year as i32));
    let mut year = year as u32;
    let (days, mut first) = (number(year, month, day), number(year, 1, 1));
    let mut weekday = (first + 5 + u32::from(!mode.monday_first)) % 7;
    let starts_late = |weekday: u32| if mode.four_days { weekday >= 4 } else { weekday != 0 };
    let mut by_week_year = mode.by_week_year;
    if month == 1 && day <= 7 - weekday {
        if !by_week_year && starts_late(weekday) {
            return (year, 0);
        }
        by_week_year = true;
        year = year.wrapping_sub(1);
        let before = days_of(year);
        first = first.wrapping_sub(before);
        weekday = (weekday + 53 * 7 - before) % 7;
    }
    let begin = if starts_late(weekday) { first.wrapping_add(7 - weekday) } else { first.wrapping_sub(weekday) };
    let days = days.wrapping_sub(begin);
    if by_week_year && days >= 52 * 7 {
        let weekday = (weekday + days_of(year)) % 7;
        if !starts_late(weekday) {
            return (year.wrapping_add(1), 1);
        }
    }
    (year, days / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_of_dates_are_those_of_days() {
        for day in (0..40_000).map(|day| Days(day * 17 - 300_000)) {
            let (year, month, of_month) = day.civil();
            for mode in [WeekMode::SUNDAY, WeekMode::MONDAY, WeekMode::SUNDAY_YEAR, WeekMode::ISO] {
                let (of_year, number) = week(day, mode);
                assert_eq!(
                    week_of_date(year, month, of_month, mode),
                    (of_year as u32, number),
                    "{year}-{month}-{of_month}"
                );
            }
        }
        assert_eq!(week_of_date(2001, 2, 0, WeekMode::SUNDAY), (2001, 4));
        assert_eq!(week_of_date(2001, 0, 0, WeekMode::SUNDAY), (2001, 613_566_752));
        assert_eq!(week_of_date(0, 1, 1, WeekMode::ISO), (u32::MAX, 52));
    }
    use muster_types::temporal::parse_date;

    #[test]
    fn weeks() {
        let modes = [WeekMode::SUNDAY, WeekMode::MONDAY, WeekMode::SUNDAY_YEAR, WeekMode::ISO];
        for (date, want) in [
            ("2008-02-20", [(2008, 7), (2008, 8), (2008, 7), (2008, 8)]),
            ("2008-12-31", [(2008, 52), (2008, 53), (2008, 52), (2009, 1)]),
            ("2000-01-01", [(2000, 0), (2000, 0), (1999, 52), (1999, 52)]),
            ("2023-01-01", [(2023, 1), (2023, 0), (2023, 1), (2022, 52)]),
        ] {
            assert_eq!(modes.map(|m| week(Days::of_code(parse_date(date).unwrap()), m)), want, "{date}");
        }
        assert_eq!([0, 1, 2, 3].map(WeekMode::from_number), modes);
        let number = |date, mode| week(Days::of_code(parse_date(date).unwrap()), WeekMode::from_number(mode)).1;
        assert_eq!([4, 5, 6, 7].map(|mode| number("2008-02-20", mode)), [8, 7, 8, 7]);
        assert_eq!([4, 5, 6, 7].map(|mode| number("2000-01-01", mode)), [0, 0, 52, 52]);
    }
}
