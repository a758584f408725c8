//! STR_TO_DATE (manual 14.7), as MySQL's `extract_date_time` reads.

use super::{
    read::{day_number, full_year},
    week::weekday,
};
use crate::{Call, ResultType, Typing, locale::Locale};
use muster_types::{
    ErrorCode, Result, SqlType, Value,
    temporal::{
        DateModes, Days, FSP_MAX, MICROS_PER_DAY, MICROS_PER_SECOND, ZERO_DATE, code_parts, date_code, datetime_of,
    },
};

/// Specifiers that make a result a time, and those that make it a date; days of months make neither.
const TIME_SPECIFIERS: &str = "HISThiklrs";
const DATE_SPECIFIERS: &str = "MVUXYWabcjmvuxyw";
/// Most characters of a text in a warning.
const WARNED_CHARACTERS: usize = 128;

/// The type that a constant format says; without one a datetime.
pub fn returns(typing: &Typing) -> ResultType {
    let Some(format) = typing.constant_text(1) else {
        return ResultType::Of(SqlType::DateTime { fsp: FSP_MAX });
    };
    let (mut has_date, mut has_time, mut has_fraction) = (false, false, false);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let Some(specifier) = (if c == '%' { chars.next() } else { None }) else { continue };
        has_fraction |= specifier == 'f';
        has_time |= specifier == 'f' || TIME_SPECIFIERS.contains(specifier);
        has_date |= DATE_SPECIFIERS.contains(specifier);
    }
    let fsp = if has_fraction { FSP_MAX } else { 0 };
    ResultType::Of(match (has_date, has_time) {
        (true, true) => SqlType::DateTime { fsp },
        (false, true) => SqlType::Time { fsp },
        _ => SqlType::Date,
    })
}

/// `STR_TO_DATE(text, format)`. NULL, with warning 1411, for a text that the format does not fit, and for a date with
/// parts that are zero under NO_ZERO_DATE. Each month has 31 days.
pub fn str_to_date(call: &mut Call, args: &[Value]) -> Result<Value> {
    let (text, format) = (call.text(args, 0).unwrap_or_default(), call.text(args, 1).unwrap_or_default());
    let mut read = Fields::default();
    let rest = read.read(&text, &format).and_then(|rest| read.complete().map(|()| rest));
    let value = match rest {
        Ok(_) => read.value(call.ty, call.date_modes()),
        Err(wanted) => Err(wanted),
    };
    match value {
        Ok(value) => {
            if !rest.unwrap_or_default().trim_start_matches(is_space).is_empty() {
                let what = match call.ty {
                    SqlType::Date => "date",
                    SqlType::Time { .. } => "time",
                    _ => "datetime",
                };
                call.warn(ErrorCode::TruncatedWrongValue, format!("Truncated incorrect {what} value: '{text}'"));
            }
            Ok(value)
        }
        Err(Wanted(wanted)) => {
            let text: String = text.chars().take(WARNED_CHARACTERS).collect();
            let message = format!("Incorrect {wanted} value: '{text}' for function str_to_date");
            call.warn(ErrorCode::WrongValueForType, message);
            Ok(Value::Null)
        }
    }
}

/// The kind of value that a text should have been.
#[derive(Debug, Clone, Copy)]
struct Wanted(&'static str);

const DATETIME: Wanted = Wanted("datetime");

/// A specifier of week numbers: `%U` and `%V` begin weeks on Sunday, `%V` and `%v` go with a year of their own.
#[derive(Clone, Copy)]
struct Week {
    number: i64,
    sunday_first: bool,
    has_own_year: bool,
}

#[derive(Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Hours are those of a clock of twelve; `afternoon` is 12 behind noon.
    is_twelve_hours: bool,
    afternoon: i64,
    /// 1 for Monday to 7 for Sunday; 0 for none.
    weekday: i64,
    day_of_year: i64,
    week: Option<Week>,
    /// The year of `%X` or `%x`, and whether its weeks begin on Sunday.
    week_year: Option<(i64, bool)>,
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0B'
}

/// The number in at most so many characters, with space in front of it, and the text behind it.
fn number(text: &str, width: usize) -> std::result::Result<(i64, usize, &str), Wanted> {
    let end = text.char_indices().nth(width).map_or(text.len(), |(at, _)| at);
    let digits = text[..end].trim_start_matches([' ', '\t']);
    let start = end - digits.len();
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let value = digits[..count].parse().map_err(|_| DATETIME)?;
    Ok((value, start + count, &text[start + count..]))
}

/// The position from 1 of the word that the text begins with, in any case, and the text behind it. The first letters
/// will do if no other word has them (MySQL: `find_type`).
fn word<'t>(text: &'t str, words: &[&str]) -> std::result::Result<(i64, &'t str), Wanted> {
    let (letters, rest) = text.split_at(text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len()));
    let begins = |word: &&str| word.get(..letters.len()).is_some_and(|start| start.eq_ignore_ascii_case(letters));
    let mut candidates = (1..).zip(words).filter(|(_, word)| begins(word));
    let whole = candidates.clone().find(|(_, word)| word.len() == letters.len());
    let alone = match (candidates.next(), candidates.next()) {
        (only, None) => only,
        _ => None,
    };
    whole.or(alone).map(|(position, _)| (position, rest)).ok_or(DATETIME)
}

impl Fields {
    /// Reads a text by a format; the text behind what the format takes.
    fn read<'t>(&mut self, text: &'t str, format: &str) -> std::result::Result<&'t str, Wanted> {
        let mut text = text;
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            text = text.trim_start_matches(is_space);
            if text.is_empty() {
                break;
            }
            match chars.peek() {
                Some(specifier) if c == '%' => {
                    text = self.specified(*specifier, text)?;
                    chars.next();
                }
                _ if is_space(c) => {}
                _ => text = text.strip_prefix(c).ok_or(DATETIME)?,
            }
        }
        if self.is_twelve_hours {
            if !(1..=12).contains(&self.hour) {
                return Err(DATETIME);
            }
            self.hour = self.hour % 12 + self.afternoon;
        }
        Ok(text)
    }

    fn specified<'t>(&mut self, specifier: char, text: &'t str) -> std::result::Result<&'t str, Wanted> {
        let names = Locale::english();
        let width = match specifier {
            'Y' | 'X' | 'x' => 4,
            'f' => 6,
            'j' => 3,
            'w' => 1,
            _ => 2,
        };
        match specifier {
            'M' => return word(text, &names.months).map(|(n, rest)| self.set_month(n, rest)),
            'b' => return word(text, &names.short_months).map(|(n, rest)| self.set_month(n, rest)),
            'W' => return word(text, &names.days).map(|(n, rest)| self.set_weekday(n, rest)),
            'a' => return word(text, &names.short_days).map(|(n, rest)| self.set_weekday(n, rest)),
            'p' => return self.read_half_of_day(text),
            'r' => return self.part(text, "%I:%i:%S %p"),
            'T' => return self.part(text, "%H:%i:%S"),
            '.' => return Ok(text.trim_start_matches(|c: char| c.is_ascii_punctuation())),
            '@' => return Ok(text.trim_start_matches(char::is_alphabetic)),
            '#' => return Ok(text.trim_start_matches(|c: char| c.is_ascii_digit())),
            _ => {}
        }
        if !"YycmdeDhIlkHisSfwjVUvuXx".contains(specifier) {
            return Err(DATETIME);
        }
        let (value, digits, rest) = number(text, width)?;
        match specifier {
            'Y' if digits <= 2 => self.year = full_year(value),
            'Y' => self.year = value,
            'y' => self.year = full_year(value),
            'c' | 'm' => self.month = value,
            'd' | 'e' => self.day = value,
            'D' => {
                self.day = value;
                // The ending of an ordinal number.
                return Ok(rest.char_indices().nth(2).map_or("", |(at, _)| &rest[at..]));
            }
            'h' | 'I' | 'l' => (self.hour, self.is_twelve_hours) = (value, true),
            'k' | 'H' => self.hour = value,
            'i' => self.minute = value,
            's' | 'S' => self.second = value,
            'f' => self.micros = value * 10i64.pow(6 - digits.min(6) as u32),
            'w' if value >= 7 => return Err(DATETIME),
            'w' => self.weekday = if value == 0 { 7 } else { value },
            'j' => self.day_of_year = value,
            'X' | 'x' => self.week_year = Some((value, specifier == 'X')),
            _ => {
                let has_own_year = matches!(specifier, 'V' | 'v');
                if value > 53 || has_own_year && value == 0 {
                    return Err(DATETIME);
                }
                let sunday_first = matches!(specifier, 'U' | 'V');
                self.week = Some(Week { number: value, sunday_first, has_own_year });
            }
        }
        Ok(rest)
    }

    fn set_month<'t>(&mut self, month: i64, rest: &'t str) -> &'t str {
        self.month = month;
        rest
    }

    fn set_weekday<'t>(&mut self, weekday: i64, rest: &'t str) -> &'t str {
        self.weekday = weekday;
        rest
    }

    fn read_half_of_day<'t>(&mut self, text: &'t str) -> std::result::Result<&'t str, Wanted> {
        let half = text.get(..2).filter(|_| self.is_twelve_hours).ok_or(DATETIME)?;
        match half.to_ascii_uppercase().as_str() {
            "PM" => self.afternoon = 12,
            "AM" => {}
            _ => return Err(DATETIME),
        }
        Ok(&text[2..])
    }

    /// A specifier that stands for several ones.
    fn part<'t>(&mut self, text: &'t str, format: &str) -> std::result::Result<&'t str, Wanted> {
        let mut part = Fields::default();
        let rest = part.read(text, format).map_err(|_| Wanted("time"))?;
        (self.hour, self.minute, self.second) = (part.hour, part.minute, part.second);
        Ok(rest)
    }

    /// Finds the date by the day of the year or the week, and looks whether all fields are in their ranges.
    fn complete(&mut self) -> std::result::Result<(), Wanted> {
        if self.day_of_year > 0 {
            self.set_date(day_number(self.year as i32, 1, 1) + self.day_of_year - 1)?;
        }
        if let Some(week) = self.week
            && self.weekday > 0
        {
            let year = match (week.has_own_year, self.week_year) {
                (true, Some((year, sunday_first))) if sunday_first == week.sunday_first => year,
                (false, None) => self.year,
                _ => return Err(DATETIME),
            };
            let first = day_number(year as i32, 1, 1);
            let monday_based = i64::from(weekday(Days::of_number(first)));
            let of_first = if week.sunday_first { (monday_based + 1) % 7 } else { monday_based };
            let is_first_week = if week.sunday_first { of_first == 0 } else { of_first <= 3 };
            let in_week = if week.sunday_first { self.weekday % 7 } else { self.weekday - 1 };
            let begin = first - of_first + if is_first_week { 0 } else { 7 };
            self.set_date(begin + (week.number - 1) * 7 + in_week)?;
        }
        let is_within = self.month <= 12 && self.day <= 31 && self.hour <= 23 && self.minute <= 59 && self.second <= 59;
        if is_within { Ok(()) } else { Err(DATETIME) }
    }

    /// Error for a day outside of the years 1 to 9999.
    fn set_date(&mut self, day_number: i64) -> std::result::Result<(), Wanted> {
        let date = super::read::date_of_number(day_number).filter(|date| *date != ZERO_DATE).ok_or(DATETIME)?;
        let (year, month, day) = code_parts(date);
        (self.year, self.month, self.day) = (year.into(), month.into(), day.into());
        Ok(())
    }

    fn value(&self, ty: SqlType, modes: DateModes) -> std::result::Result<Value, Wanted> {
        let clock = ((self.hour * 60 + self.minute) * 60 + self.second) * MICROS_PER_SECOND + self.micros;
        if let SqlType::Time { .. } = ty {
            return Ok(Value::Time(self.day * MICROS_PER_DAY + clock));
        }
        let (year, month, day) = (self.year as i32, self.month as u32, self.day as u32);
        if modes.no_zero_date && (year == 0 || month == 0 || day == 0) {
            return Err(DATETIME);
        }
        let date = date_code(year, month, day);
        Ok(match ty {
            SqlType::Date => Value::Date(date),
            _ => Value::DateTime(datetime_of(date, clock)),
        })
    }
}
