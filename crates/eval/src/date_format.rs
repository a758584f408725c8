//! `DATE_FORMAT` (manual 14.7) and the numbering of weeks.

use muster_types::temporal::{MICROS_PER_SECOND, Moment, civil_from_days, days_from_civil};
use std::fmt::Write;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// 0 for Monday to 6 for Sunday.
pub fn weekday(days: i32) -> u32 {
    // 1970-01-01 was a Thursday.
    (days + 3).rem_euclid(7) as u32
}

/// 1 for the first of January.
pub fn day_of_year(days: i32) -> u32 {
    (days - days_from_civil(civil_from_days(days).0, 1, 1)) as u32 + 1
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
    fn first_day(self, year: i32) -> i32 {
        // The first week that must hold this day of January is the one the rule asks for.
        let inside = days_from_civil(year, 1, if self.four_days { 4 } else { 7 });
        let since_start = if self.monday_first { weekday(inside) } else { (weekday(inside) + 1) % 7 };
        inside - since_start as i32
    }
}

/// The year that the week belongs to, and the week's number in it.
pub fn week(days: i32, mode: WeekMode) -> (i32, u32) {
    let year = civil_from_days(days).0;
    let number = |year: i32| ((days - mode.first_day(year)) / 7) as u32 + 1;
    if days < mode.first_day(year) {
        if mode.by_week_year { (year - 1, number(year - 1)) } else { (year, 0) }
    } else if mode.by_week_year && days >= mode.first_day(year + 1) {
        (year + 1, 1)
    } else {
        (year, number(year))
    }
}

/// The moment in this format. A `%` before a character without a meaning is dropped. `None` for the name of a month
/// that is zero.
pub fn date_format(moment: &Moment, format: &str) -> Option<String> {
    let Moment { year, month, day, clock } = *moment;
    let days = days_from_civil(year, month, day);
    let month_name = || MONTHS.get((month as usize).wrapping_sub(1));
    let seconds = clock / MICROS_PER_SECOND;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let h12 = (h + 11) % 12 + 1;
    let am_pm = if h < 12 { "AM" } else { "PM" };
    let mut out = String::with_capacity(format.len() * 2);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(specifier) = chars.next() else {
            out.push('%');
            break;
        };
        let written = match specifier {
            'a' => write!(out, "{}", &WEEKDAYS[weekday(days) as usize][..3]),
            'b' => write!(out, "{}", &month_name()?[..3]),
            'c' => write!(out, "{month}"),
            'D' => write!(out, "{day}{}", ordinal_suffix(day)),
            'd' => write!(out, "{day:02}"),
            'e' => write!(out, "{day}"),
            'f' => write!(out, "{:06}", clock % MICROS_PER_SECOND),
            'H' => write!(out, "{h:02}"),
            'h' | 'I' => write!(out, "{h12:02}"),
            'i' => write!(out, "{m:02}"),
            'j' => write!(out, "{:03}", day_of_year(days)),
            'k' => write!(out, "{h}"),
            'l' => write!(out, "{h12}"),
            'M' => write!(out, "{}", month_name()?),
            'm' => write!(out, "{month:02}"),
            'p' => write!(out, "{am_pm}"),
            'r' => write!(out, "{h12:02}:{m:02}:{s:02} {am_pm}"),
            'S' | 's' => write!(out, "{s:02}"),
            'T' => write!(out, "{h:02}:{m:02}:{s:02}"),
            'U' => write!(out, "{:02}", week(days, WeekMode::SUNDAY).1),
            'u' => write!(out, "{:02}", week(days, WeekMode::MONDAY).1),
            'V' => write!(out, "{:02}", week(days, WeekMode::SUNDAY_YEAR).1),
            'v' => write!(out, "{:02}", week(days, WeekMode::ISO).1),
            'W' => write!(out, "{}", WEEKDAYS[weekday(days) as usize]),
            'w' => write!(out, "{}", (weekday(days) + 1) % 7),
            'X' => write!(out, "{:04}", week(days, WeekMode::SUNDAY_YEAR).0),
            'x' => write!(out, "{:04}", week(days, WeekMode::ISO).0),
            'Y' => write!(out, "{year:04}"),
            'y' => write!(out, "{:02}", year % 100),
            other => write!(out, "{other}"),
        };
        written.expect("writing to a string cannot fail");
    }
    Some(out)
}

fn ordinal_suffix(day: u32) -> &'static str {
    match (day % 10, day) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::temporal::{parse_date, parse_datetime};

    #[test]
    fn the_manuals_examples() {
        for (at, format, want) in [
            ("2009-10-04 22:23:00", "%W %M %Y", "Sunday October 2009"),
            ("2007-10-04 22:23:00", "%H:%i:%s", "22:23:00"),
            ("1900-10-04 22:23:00", "%D %y %a %d %m %b %j", "4th 00 Thu 04 10 Oct 277"),
            ("1997-10-04 22:23:00", "%H %k %I %r %T %S %w", "22 22 10 10:23:00 PM 22:23:00 00 6"),
            ("1999-01-01", "%X %V", "1998 52"),
            ("2006-06-01", "%d", "01"),
            ("2024-01-01 00:05:00.000120", "%h %l %p %f %% %q %", "12 12 AM 000120 % q %"),
        ] {
            let moment = Moment::of_micros(parse_datetime(at).unwrap());
            assert_eq!(date_format(&moment, format).unwrap(), want);
        }
    }

    #[test]
    fn weeks() {
        let modes = [WeekMode::SUNDAY, WeekMode::MONDAY, WeekMode::SUNDAY_YEAR, WeekMode::ISO];
        for (date, want) in [
            ("2008-02-20", [(2008, 7), (2008, 8), (2008, 7), (2008, 8)]),
            ("2008-12-31", [(2008, 52), (2008, 53), (2008, 52), (2009, 1)]),
            ("2000-01-01", [(2000, 0), (2000, 0), (1999, 52), (1999, 52)]),
            ("2023-01-01", [(2023, 1), (2023, 0), (2023, 1), (2022, 52)]),
        ] {
            assert_eq!(modes.map(|m| week(parse_date(date).unwrap(), m)), want, "{date}");
        }
        assert_eq!([0, 1, 2, 3].map(WeekMode::from_number), modes);
        let number = |date, mode| week(parse_date(date).unwrap(), WeekMode::from_number(mode)).1;
        assert_eq!([4, 5, 6, 7].map(|mode| number("2008-02-20", mode)), [8, 7, 8, 7]);
        assert_eq!([4, 5, 6, 7].map(|mode| number("2000-01-01", mode)), [0, 0, 52, 52]);
    }
}
