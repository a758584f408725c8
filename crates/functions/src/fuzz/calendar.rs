//! The model of DATE_FORMAT: each specifier by its definition in the manual, from the parts of a date of the calendar.

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
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A second of a day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelMoment {
    /// 1 to 9999.
    pub year: u32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub micros: u32,
}

pub fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

pub fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_of_year(year: u32) -> u32 {
    365 + u32::from(is_leap(year))
}

/// The weekday of the first of January, 0 for Monday; the year 1 began on one.
fn first_weekday(year: u32) -> u32 {
    let before = year.wrapping_sub(1);
    match year {
        // The year 0 is a leap year in front of the year 1.
        0 => 5,
        _ => (before * 365 + before / 4 - before / 100 + before / 400) % 7,
    }
}

/// The number of a week: weeks begin on Monday or Sunday; the first one is the first that has at least four days in the
/// year, or the first that begins in it; days in front of it are in week 0.
fn week(year: u32, day_of_year: u32, monday_first: bool, four_days: bool) -> u32 {
    // Days of the first of January's week that are behind it, itself included.
    let into_week = if monday_first { first_weekday(year) } else { (first_weekday(year) + 1) % 7 };
    let rest = 7 - into_week;
    let first_counts = if four_days { rest >= 4 } else { rest == 7 };
    let weeks = (day_of_year + into_week) / 7;
    weeks + u32::from(first_counts)
}

impl ModelMoment {
    fn day_of_year(&self) -> u32 {
        (1..self.month).map(|month| days_of_month(self.year, month)).sum::<u32>() + self.day - 1
    }

    fn weekday(&self) -> u32 {
        (first_weekday(self.year) + self.day_of_year()) % 7
    }

    /// The week with the year that it belongs to: the last one of the year before instead of week 0, and the first one
    /// of the next year for days that are in that.
    fn week_of_own_year(&self, monday_first: bool, four_days: bool) -> (u32, u32) {
        let number = week(self.year, self.day_of_year(), monday_first, four_days);
        if number == 0 {
            let before = self.year - 1;
            return (before, week(before, days_of_year(before) - 1, monday_first, four_days));
        }
        // The first days of the next year are in a week that begins in this one.
        let next = first_weekday(self.year + 1);
        let (days_before, four) = (if monday_first { next } else { (next + 1) % 7 }, four_days);
        let belongs_to_next = four && days_before <= 3 && self.day_of_year() + days_before >= days_of_year(self.year);
        if belongs_to_next { (self.year + 1, 1) } else { (self.year, number) }
    }

    /// The text that a specifier writes.
    pub fn written(&self, specifier: char) -> String {
        let ModelMoment { year, month, day, hour, minute, second, micros } = *self;
        let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        let am_pm = if hour < 12 { "AM" } else { "PM" };
        let (day_name, month_name) = (DAYS[self.weekday() as usize], MONTHS[month as usize - 1]);
        match specifier {
            'a' => day_name[..3].into(),
            'b' => month_name[..3].into(),
            'c' => month.to_string(),
            'D' => match (day / 10, day % 10) {
                (1, _) => format!("{day}th"),
                (_, 1) => format!("{day}st"),
                (_, 2) => format!("{day}nd"),
                (_, 3) => format!("{day}rd"),
                _ => format!("{day}th"),
            },
            'd' => format!("{day:02}"),
            'e' => day.to_string(),
            'f' => format!("{micros:06}"),
            'H' => format!("{hour:02}"),
            'h' | 'I' => format!("{hour12:02}"),
            'i' => format!("{minute:02}"),
            'j' => format!("{:03}", self.day_of_year() + 1),
            'k' => hour.to_string(),
            'l' => hour12.to_string(),
            'M' => month_name.into(),
            'm' => format!("{month:02}"),
            'p' => am_pm.into(),
            'r' => format!("{hour12:02}:{minute:02}:{second:02} {am_pm}"),
            'S' | 's' => format!("{second:02}"),
            'T' => format!("{hour:02}:{minute:02}:{second:02}"),
            'U' => format!("{:02}", week(year, self.day_of_year(), false, false)),
            'u' => format!("{:02}", week(year, self.day_of_year(), true, true)),
            'V' => format!("{:02}", self.week_of_own_year(false, false).1),
            'v' => format!("{:02}", self.week_of_own_year(true, true).1),
            'W' => day_name.into(),
            'w' => ((self.weekday() + 1) % 7).to_string(),
            'X' => format!("{:04}", self.week_of_own_year(false, false).0),
            'x' => format!("{:04}", self.week_of_own_year(true, true).0),
            'Y' => format!("{year:04}"),
            'y' => format!("{:02}", year % 100),
            other => other.to_string(),
        }
    }

    /// The text that a format writes; `None` for an empty one.
    pub fn formatted(&self, format: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = format.chars();
        while let Some(c) = rest.next() {
            match c {
                '%' => out.push_str(&rest.next().map_or("%".into(), |specifier| self.written(specifier))),
                c => out.push(c),
            }
        }
        (!format.is_empty()).then_some(out)
    }
}
