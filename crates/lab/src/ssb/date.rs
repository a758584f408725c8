//! The date table: pure calendar arithmetic, with the generator's quirks.

use super::vocabulary::{HOLIDAYS, MONTHS, WEEKDAYS};
use muster_types::temporal::{Days, days_in_month};
use std::{fmt, ops::Range};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    pub day: u32,
    /// 1 to 366.
    pub day_of_year: i32,
    /// 0 = Sunday, the true one.
    weekday: i32,
}

/// Days since 1970-01-01 of 1992-01-01, the first day.
pub fn first_day() -> i32 {
    Days::from_civil(1992, 1, 1).0
}

/// The date as YYYYMMDD.
pub fn date_key(days: i32) -> i64 {
    let (y, m, d) = Days(days).civil();
    y as i64 * 10_000 + m as i64 * 100 + d as i64
}

/// Days `range` (positions from 0).
pub fn rows(range: Range<u64>) -> impl Iterator<Item = Date> {
    range.map(|n| {
        let days = first_day() + n as i32;
        let (year, month, day) = Days(days).civil();
        let day_of_year = days - Days::from_civil(year, 1, 1).0 + 1;
        // 1970-01-01 was a Thursday.
        Date { year, month, day, day_of_year, weekday: (days + 4).rem_euclid(7) }
    })
}

impl Date {
    pub fn key(&self) -> i64 {
        self.year as i64 * 10_000 + self.month as i64 * 100 + self.day as i64
    }

    pub fn text(&self) -> String {
        format!("{} {}, {}", self.month_name(), self.day, self.year)
    }

    pub fn month_name(&self) -> &'static str {
        MONTHS[self.month as usize - 1]
    }

    /// 1 = Saturday .. 7 = Friday.
    pub fn day_in_week(&self) -> i32 {
        (self.weekday + 1) % 7 + 1
    }

    /// One day ahead of the true weekday.
    pub fn day_of_week(&self) -> &'static str {
        WEEKDAYS[self.day_in_week() as usize - 1]
    }

    pub fn year_month_number(&self) -> i64 {
        self.year as i64 * 100 + self.month as i64
    }

    /// Three letters that the misspelt names do not change.
    pub fn year_month(&self) -> String {
        format!("{}{}", &self.month_name()[..3], self.year)
    }

    pub fn week_in_year(&self) -> i32 {
        self.day_of_year / 7 + 1
    }

    pub fn season(&self) -> &'static str {
        match self.month {
            11 | 12 => "Christmas",
            5..=8 => "Summer",
            1..=3 => "Winter",
            4 => "Spring",
            _ => "Fall",
        }
    }

    pub fn last_day_in_week(&self) -> bool {
        self.day_in_week() == 7
    }

    /// Inverted in the classic generator: false on the last day of a month.
    pub fn last_day_in_month(&self) -> bool {
        self.day != days_in_month(self.year, self.month)
    }

    pub fn holiday(&self) -> bool {
        HOLIDAYS.contains(&(self.month, self.day))
    }

    pub fn weekday(&self) -> bool {
        !matches!(self.day_in_week(), 1 | 7)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}|{}|{}|", self.key(), self.text(), self.day_of_week(), self.month_name())?;
        write!(f, "{}|{}|{}|{}|", self.year, self.year_month_number(), self.year_month(), self.day_in_week())?;
        write!(f, "{}|{}|{}|{}|", self.day, self.day_of_year, self.month, self.week_in_year())?;
        write!(f, "{}|{}|", self.season(), self.last_day_in_week() as u8)?;
        write!(f, "{}|{}|{}|", self.last_day_in_month() as u8, self.holiday() as u8, self.weekday() as u8)
    }
}
