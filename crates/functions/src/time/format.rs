//! DATE_FORMAT and TIME_FORMAT (manual 14.7).

use super::{
    read::{self, day_number},
    week::{WeekMode, week_of_date, weekday},
};
use crate::{Call, ResultType, Typing, locale::Locale};
use muster_types::{
    Result, Value,
    temporal::{Days, MICROS_PER_SECOND, Moment},
};
use std::borrow::Cow;

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
    let format = text_argument(call, args);
    // The name of the language is the last value of the session.
    let locale = match call.session.last() {
        Some(Value::Text(name)) => Locale::by_name(name).unwrap_or_else(Locale::english),
        _ => Locale::english(),
    };
    let hours = moment.clock / (3600 * MICROS_PER_SECOND);
    Ok(text(Written { moment, hours, is_time: false, locale }.write(&format)))
}

/// `TIME_FORMAT(time, format)`.
pub fn time_format(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some(time) = read::time(call, &args[0]) else { return Ok(Value::Null) };
    let format = text_argument(call, args);
    let moment = Moment { year: 0, month: 0, day: 0, clock: time.abs() };
    let hours = moment.clock / (3600 * MICROS_PER_SECOND);
    let written = Written { moment, hours, is_time: true, locale: Locale::english() }.write(&format);
    Ok(text(written.map(|text| if time < 0 { format!("-{text}") } else { text })))
}

/// The format, which is the second argument.
fn text_argument<'a>(call: &Call, args: &'a [Value]) -> Cow<'a, str> {
    match args.get(1) {
        Some(Value::Text(format)) => Cow::Borrowed(format),
        _ => call.text(args, 1).unwrap_or_default().into(),
    }
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
        let clock_of = |hour: i64, out: &mut String| {
            for (part, separator) in [(hour, ":"), (m, ":"), (s, "")] {
                push_digits(out, part, 2);
                out.push_str(separator);
            }
        };
        match specifier {
            'a' => out.push_str(self.locale.short_days[weekday(self.days()?) as usize]),
            'b' => out.push_str(self.locale.short_months.get(month_at)?),
            'c' => push_digits(out, month, 1),
            'D' if self.is_time => return None,
            'D' => {
                push_digits(out, day, 1);
                out.push_str(ordinal_suffix(day));
            }
            'd' => push_digits(out, day, 2),
            'e' => push_digits(out, day, 1),
            'f' => push_digits(out, clock % MICROS_PER_SECOND, 6),
            'H' => push_digits(out, h, 2),
            'h' | 'I' => push_digits(out, h12, 2),
            'i' => push_digits(out, m, 2),
            'j' if self.is_time => return None,
            'j' => push_digits(out, day_number(year, month, day) - day_number(year, 1, 1) + 1, 3),
            'k' => push_digits(out, h, 1),
            'l' => push_digits(out, h12, 1),
            'M' => out.push_str(self.locale.months.get(month_at)?),
            'm' => push_digits(out, month, 2),
            'p' => out.push_str(am_pm),
            'r' => {
                clock_of(h12, out);
                out.push(' ');
                out.push_str(am_pm);
            }
            'S' | 's' => push_digits(out, s, 2),
            'T' => clock_of(h, out),
            'U' => push_digits(out, self.week(WeekMode::SUNDAY)?.1, 2),
            'u' => push_digits(out, self.week(WeekMode::MONDAY)?.1, 2),
            'V' => push_digits(out, self.week(WeekMode::SUNDAY_YEAR)?.1, 2),
            'v' => push_digits(out, self.week(WeekMode::ISO)?.1, 2),
            'W' => out.push_str(self.locale.days[weekday(self.days()?) as usize]),
            'w' => push_digits(out, (weekday(self.days()?) + 1) % 7, 1),
            'X' => push_digits(out, self.week(WeekMode::SUNDAY_YEAR)?.0, 4),
            'x' => push_digits(out, self.week(WeekMode::ISO)?.0, 4),
            'Y' => push_digits(out, year, 4),
            'y' => push_digits(out, year % 100, 2),
            other => out.push(other),
        }
        Some(())
    }

    /// The year and the week; `None` of a TIME and of a date without year and month.
    fn week(&self, mode: WeekMode) -> Option<(u32, u32)> {
        let Moment { year, month, day, .. } = self.moment;
        self.days().map(|_| week_of_date(year, month, day, mode))
    }

    /// The day; `None` of a TIME and of a date without year and month.
    fn days(&self) -> Option<Days> {
        let Moment { year, month, day, .. } = self.moment;
        let has_date = !self.is_time && (month != 0 || year != 0);
        has_date.then(|| Days::of_number(day_number(year, month, day)))
    }
}

/// Appends a number in at least so many digits.
fn push_digits(out: &mut String, number: impl Into<i64>, width: usize) {
    const LONGEST: usize = 20;
    let number = number.into();
    let (mut digits, mut start, mut rest) = ([b'0'; LONGEST], LONGEST, number.unsigned_abs());
    while rest > 0 || start > LONGEST - width {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        out.push('-');
    }
    out.push_str(std::str::from_utf8(&digits[start..]).unwrap_or_default());
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
