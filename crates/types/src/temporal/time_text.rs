//! Reading a TIME from text (manual 11.1.3 and 13.2.3): `[-][D ]hh[:mm[:ss]][.f]`, `[-]hhmmss[.f]`, or the time of day
//! of a datetime.

use super::{
    MICROS_PER_DAY, MICROS_PER_SECOND, TIME_MAX_MICROS,
    datetime_text::{DateTimeText, is_space, read_full_datetime},
    delimiter::DeprecatedDelimiter,
};

/// Least length of a text that can be a datetime where a TIME is wanted.
const DATETIME_LENGTH: usize = 12;

/// The fields of a TIME that a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeText {
    /// Microseconds, negative for a negative time, within the range of TIME.
    pub micros: i64,
    /// Digits of the fraction of a second that are written, at most 6.
    pub fsp: u8,
    /// Something else stands behind the time, which was not read.
    pub is_cut: bool,
    /// The time was out of the range of TIME; `micros` is the end of the range.
    pub is_clamped: bool,
    /// The datetime that the text is, of which `micros` is the time of day.
    pub datetime: Option<DateTimeText>,
    /// The first delimiter that MySQL warns of.
    pub deprecated: Option<DeprecatedDelimiter>,
}

impl TimeText {
    /// Returns true if the text is a datetime.
    pub fn is_datetime(&self) -> bool {
        self.datetime.is_some()
    }
}

/// Reads a TIME at the beginning of a text; a seventh digit of the fraction rounds. `None` if there is none, or its
/// minutes or seconds are out of range.
pub fn read_time(text: &str) -> Option<TimeText> {
    let (whole, in_front) = (text, blank_in_front(text));
    let text = text.trim_start_matches(is_space);
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if text.len() >= DATETIME_LENGTH
        && let Some(datetime) = read_full_datetime(text)
    {
        let read = datetime?;
        let micros = read.moment.clock.rem_euclid(MICROS_PER_DAY);
        let deprecated = in_front.or(read.deprecated.map(|delimiter| delimiter.behind(whole.len() - text.len())));
        let (fsp, is_cut) = (read.fsp, read.is_cut);
        return Some(TimeText { micros, fsp, is_cut, is_clamped: false, datetime: Some(read), deprecated });
    }
    let (seconds, rest) = whole_seconds(text)?;
    let (fraction, fsp, rest) = fraction(rest);
    if rest.len() == text.len() && !text.is_empty() || text.is_empty() || is_exponent(rest) {
        return None;
    }
    let micros = seconds.checked_mul(MICROS_PER_SECOND).and_then(|s| s.checked_add(fraction)).unwrap_or(i64::MAX);
    let magnitude = micros.min(TIME_MAX_MICROS);
    let behind = rest.trim_start_matches(is_space);
    let blank = || DeprecatedDelimiter::superfluous(&rest[..rest.len() - behind.len()], whole.len() - rest.len());
    let deprecated = in_front.or_else(|| blank_behind_number(whole, text)).or_else(blank);
    Some(TimeText {
        micros: if negative { -magnitude } else { magnitude },
        fsp,
        is_cut: !behind.is_empty(),
        is_clamped: magnitude < micros,
        datetime: None,
        deprecated,
    })
}

/// The space in front of a text, which is superfluous, be there a time or not.
pub fn blank_in_front(text: &str) -> Option<DeprecatedDelimiter> {
    let behind = text.trim_start_matches(is_space);
    DeprecatedDelimiter::superfluous(&text[..text.len() - behind.len()], 0)
}

/// The space behind the first number of `text`, the end of `whole`, if it is more than one or nothing follows it.
fn blank_behind_number(whole: &str, text: &str) -> Option<DeprecatedDelimiter> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = behind.trim_start_matches(is_space);
    let blank = &behind[..behind.len() - rest.len()];
    let is_superfluous = blank.len() > 1 || rest.is_empty();
    DeprecatedDelimiter::superfluous(blank, whole.len() - behind.len()).filter(|_| is_superfluous)
}

/// Why a text is no TIME (MySQL: `str_to_time`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTime {
    /// The text is empty, a sign, or a number in exponent notation: 0, of which MySQL says nothing.
    Zero,
    /// There is a time, whose minutes, seconds or day are out of range.
    OutOfRange,
    /// The text does not begin with a time, or with a number that is too large for any.
    Other,
}

/// Why [`read_time`] has not found a time in a text.
pub fn no_time(text: &str) -> NoTime {
    let text = text.trim_start_matches(is_space);
    let text = text.strip_prefix('-').unwrap_or(text);
    if text.is_empty() {
        return NoTime::Zero;
    }
    // A text that is long enough to be read as a datetime, and is none, is no time either.
    if text.len() >= DATETIME_LENGTH && matches!(read_full_datetime(text), Some(None)) {
        return NoTime::Other;
    }
    match whole_seconds(text) {
        Some((_, rest)) if is_exponent(fraction(rest).2) => NoTime::Zero,
        None if starts_with_digit(text) && number(text).is_some() => NoTime::OutOfRange,
        _ => NoTime::Other,
    }
}

/// The days, hours, minutes and seconds in seconds, and the text behind them.
fn whole_seconds(text: &str) -> Option<(i64, &str)> {
    let (first, rest) = number(text)?;
    let behind = rest.trim_start_matches(is_space);
    let (days, mut fields, mut rest) = if behind.len() < rest.len() && behind.len() > 1 && starts_with_digit(behind) {
        let (hours, rest) = number(behind)?;
        (first, vec![hours], rest)
    } else if next_field(behind).is_some() {
        (0, vec![first], behind)
    } else {
        let (h, m, s) = (first / 10_000, first / 100 % 100, first % 100);
        // The rest behind the digits is looked at without the space in front of it.
        return (m < 60 && s < 60).then_some((h * 3600 + m * 60 + s, behind));
    };
    while fields.len() < 3 {
        let Some(field) = next_field(rest) else { break };
        let (value, behind) = number(field)?;
        fields.push(value);
        rest = behind;
    }
    fields.resize(3, 0);
    if fields[1] > 59 || fields[2] > 59 {
        return None;
    }
    Some(((days * 24 + fields[0]) * 3600 + fields[1] * 60 + fields[2], rest))
}

/// The text behind a colon, if digits stand there.
fn next_field(text: &str) -> Option<&str> {
    text.strip_prefix(':').filter(|t| starts_with_digit(t))
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The number in front, 0 without digits, and the text behind it. `None` for one that is too large for any time.
fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value: u32 = if end == 0 { 0 } else { text[..end].parse().ok()? };
    Some((i64::from(value), &text[end..]))
}

/// A point and digits in microseconds, the number of those digits, and the text behind them.
fn fraction(text: &str) -> (i64, u8, &str) {
    let Some(behind) = text.strip_prefix('.') else { return (0, 0, text) };
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    if end == 0 {
        // A point at the very end is part of the time.
        return (0, 0, if behind.is_empty() { behind } else { text });
    }
    let micros: i64 = format!("{:0<7}", &behind[..end])[..7].parse().unwrap_or(0);
    ((micros + 5) / 10, end.min(6) as u8, &behind[end..])
}

/// A number in exponent notation is no time.
fn is_exponent(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return false };
    starts_with_digit(rest.strip_prefix(['-', '+']).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::format_time;

    #[test]
    fn every_shape() {
        for (text, want, cut) in [
            ("10:11:12", "10:11:12.000000", false),
            ("-20:20:20", "-20:20:20.000000", false),
            ("1 02:00:00", "26:00:00.000000", false),
            // One digit behind a space is not enough for hours.
            ("1 2", "00:00:01.000000", true),
            ("1 02", "26:00:00.000000", false),
            ("10:11", "10:11:00.000000", false),
            ("101112.5", "10:11:12.500000", false),
            ("12", "00:00:12.000000", false),
            ("10:11:12.1234567", "10:11:12.123457", false),
            ("2001-01-01", "00:20:01.000000", true),
            ("2001-01-01 10:11:12.5", "10:11:12.500000", false),
            ("20010101101112", "10:11:12.000000", false),
            ("10:11:12x", "10:11:12.000000", true),
            (".5", "00:00:00.500000", false),
        ] {
            let read = read_time(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((format_time(read.micros, 6).as_str(), read.is_cut), (want, cut), "{text}");
        }
        for text in ["", "-", "x", "10:60:00", "10:11:60", "1e5", "99999999999", "2001-01-01 25:00:00"] {
            assert_eq!(read_time(text), None, "{text}");
        }
    }

    #[test]
    fn superfluous_spaces_are_found() {
        let told = |text: &str| read_time(text).unwrap().deprecated.map(|delimiter| delimiter.position);
        for text in ["10:11", "1 10", "101112 x", "10 : 11", "- 1", "1 2", "10. ", "2001-01-31 x", "2001-01-31 "] {
            assert_eq!(told(text), None, "{text}");
        }
        for (text, want) in [
            ("1  10:11", 1),
            ("-1  10", 2),
            ("-  10:11", 1),
            ("1  2", 1),
            ("12 ", 2),
            ("1 10 ", 4),
            ("10:11  x", 5),
            (" 10:11 ", 0),
            ("2001 01 31", 7),
            ("2001-01-31  10:11", 11),
            ("2001-01-31  ", 11),
        ] {
            assert_eq!(told(text), Some(want), "{text}");
        }
    }

    #[test]
    fn times_out_of_range_are_clamped() {
        for (text, want) in
            [("839:00:00", TIME_MAX_MICROS), ("-838:59:59.5", -TIME_MAX_MICROS), ("99 00:00:00", TIME_MAX_MICROS)]
        {
            let read = read_time(text).unwrap();
            assert_eq!((read.micros, read.is_clamped), (want, true), "{text}");
        }
        assert!(!read_time("-838:59:59").unwrap().is_clamped);
    }
}
