//! DATE_FORMAT and TIME_FORMAT (manual 14.7).

use super::{
    read::{self, day_number},
    week::{WeekMode, week, weekday},
};
use crate::{Call, ResultType, Typing, locale::Locale};
use muster_types::{
    Result, Value,
    temporal::{Days, MICROS_PER_SECOND, Moment},
};
use std::fmt::Write;

/// The value that is written: a moment, or a time without a date.
struct Written<'a> {
    moment: Moment,
    /// Hours of the moment's clock, of a TIME also beyond a day.
    hours: i64,
    is_time: bool,
    locale: &'a Locale,
}

/// The characters that a constant format writes at most (MySQL: `format_length`); without one ten for each of the
/// format's.
pub fn returns(typing: &Typing) -> ResultType {
    ResultType::ConnectionText(match typing.constant_text(1) {
        Some(format) => characters(format),
        None => typing.characters(1).saturating_mul(10),
    })
}

fn characters(format: &str) -> u64 {
    let mut sum = 0;
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        let specifier = if c == '%' { chars.next() } else { None };
        sum += match specifier {
            None | Some('w') => 1,
            // Names, in whatever language.
            Some('M' | 'W') => 64,
            Some('a' | 'b') => 32,
            Some('r') => 11,
            Some('T') => 8,
            // Hours of a TIME are not only those of a day.
            Some('H' | 'k') => 7,
            Some('f') => 6,
            Some('D' | 'Y' | 'x' | 'X') => 4,
            Some('j') => 3,
            Some('U' | 'u' | 'V' | 'v' | 'y' | 'm' | 'd' | 'h' | 'i' | 'I' | 'l' | 'p' | 'S' | 's' | 'c' | 'e') => 2,
            // Any other character is written as it is.
            Some(_) => 1,
        };
    }
    sum
}

/// `DATE_FORMAT(moment, format)`; also the end of `FROM_UNIXTIME(seconds, format)`.
pub fn date_format(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(moment) = read::moment(call, &args[0]) else { return Ok(Value::Null) };
    formatted(call, moment, args)
}

/// A moment in the format that is the second argument.
pub fn formatted(call: &Call, moment: Moment, args: &[Value]) -> Result<Value> {
    let format = call.text(args, 1).unwrap_or_default();
    // The name of the language is the last value of the session.
    let locale = call.session.last().and_then(|name| name.to_text(0));
    let locale = locale.and_then(|name| Locale::by_name(&name)).unwrap_or_else(Locale::english);
    let hours = moment.clock / (3600 * MICROS_PER_SECOND);
    Ok(text(Written { moment, hours, is_time: false, locale }.write(&format)))
}

/// `TIME_FORMAT(time, format)`.
pub fn time_format(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(time) = read::time(call, &args[0]) else { return Ok(Value::Null) };
    let format = call.text(args, 1).unwrap_or_default();
    let moment = Moment { year: 0, month: 0, day: 0, clock: time.abs() };
    let hours = moment.clock / (3600 * MICROS_PER_SECOND);
    let written = Written { moment, hours, is_time: true, locale: Locale::english() }.write(&format);
    Ok(text(written.map(|text| if time < 0 { format!("-{text}") } else { text })))
}

fn text(written: Option<String>) -> Value {
    written.map_or(Value::Null, Value::Text)
}

impl Written<'_> {
    /// The moment in this format. A `%` before a character without a meaning is dropped. `None` for an empty format and
    /// for what the moment has not: the name of a month that is zero, the weekday of a TIME.
    fn write(&self, format: &str) -> Option<String> {
        if format.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(format.len() * 2);
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some(specifier) => self.specified(specifier, &mut out)?,
                None => out.push('%'),
            }
        }
        Some(out)
    }

    fn specified(&self, specifier: char, out: &mut String) -> Option<()> {
        let Moment { year, month, day, clock } = self.moment;
        let seconds = clock / MICROS_PER_SECOND;
        let (h, m, s) = (self.hours, seconds / 60 % 60, seconds % 60);
        let h12 = (h % 24 + 11) % 12 + 1;
        let am_pm = if h % 24 < 12 { "AM" } else { "PM" };
        let month_at = (month as usize).wrapping_sub(1);
        let written = match specifier {
            'a' => write!(out, "{}", self.locale.short_days[weekday(self.days()?) as usize]),
            'b' => write!(out, "{}", self.locale.short_months.get(month_at)?),
            'c' => write!(out, "{month}"),
            'D' if self.is_time => return None,
            'D' => write!(out, "{day}{}", ordinal_suffix(day)),
            'd' => write!(out, "{day:02}"),
            'e' => write!(out, "{day}"),
            'f' => write!(out, "{:06}", clock % MICROS_PER_SECOND),
            'H' => write!(out, "{h:02}"),
            'h' | 'I' => write!(out, "{h12:02}"),
            'i' => write!(out, "{m:02}"),
            'j' if self.is_time => return None,
            'j' => write!(out, "{:03}", day_number(year, month, day) - day_number(year, 1, 1) + 1),
            'k' => write!(out, "{h}"),
            'l' => write!(out, "{h12}"),
            'M' => write!(out, "{}", self.locale.months.get(month_at)?),
            'm' => write!(out, "{month:02}"),
            'p' => write!(out, "{am_pm}"),
            'r' => write!(out, "{h12:02}:{m:02}:{s:02} {am_pm}"),
            'S' | 's' => write!(out, "{s:02}"),
            'T' => write!(out, "{h:02}:{m:02}:{s:02}"),
            'U' => write!(out, "{:02}", week(self.days()?, WeekMode::SUNDAY).1),
            'u' => write!(out, "{:02}", week(self.days()?, WeekMode::MONDAY).1),
            'V' => write!(out, "{:02}", week(self.days()?, WeekMode::SUNDAY_YEAR).1),
            'v' => write!(out, "{:02}", week(self.days()?, WeekMode::ISO).1),
            'W' => write!(out, "{}", self.locale.days[weekday(self.days()?) as usize]),
            'w' => write!(out, "{}", (weekday(self.days()?) + 1) % 7),
            'X' => write!(out, "{:04}", week(self.days()?, WeekMode::SUNDAY_YEAR).0),
            'x' => write!(out, "{:04}", week(self.days()?, WeekMode::ISO).0),
            'Y' => write!(out, "{year:04}"),
            'y' => write!(out, "{:02}", year % 100),
            other => write!(out, "{other}"),
        };
        written.ok()
    }

    /// The day; `None` of a TIME and of a date without year and month.
    fn days(&self) -> Option<Days> {
        let Moment { year, month, day, .. } = self.moment;
        let has_date = !self.is_time && (month != 0 || year != 0);
        has_date.then(|| read::days_of_number(day_number(year, month, day)))
    }
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
    use muster_types::temporal::parse_datetime;

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
            let moment = Moment::of_datetime(parse_datetime(at).unwrap());
            let hours = moment.clock / (3600 * MICROS_PER_SECOND);
            let written = Written { moment, hours, is_time: false, locale: Locale::english() };
            assert_eq!(written.write(format).unwrap(), want);
        }
    }
}
