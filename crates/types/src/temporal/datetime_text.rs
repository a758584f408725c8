//! Reading a date and a time of day from text (manual 11.1.3 "Date and Time Literals").
//!
//! Text without delimiters is cut into fields by their widths: `YYYYMMDDhhmmss` with the year in four digits if there
//! are 8 or at least 14 of them, else in two. With delimiters a field ends where its digits end; any punctuation
//! stands between two fields, and space only behind the day.

use super::{MICROS_PER_SECOND, Moment, delimiter::DeprecatedDelimiter};

/// The fields of a moment that a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTimeText {
    pub moment: Moment,
    /// A time of day is written.
    pub has_clock: bool,
    /// Digits of the fraction of a second that are written, at most 6.
    pub fsp: u8,
    /// Something else stands behind the moment, which was not read.
    pub is_cut: bool,
    /// Seconds of the offset of a time zone behind the seconds, east of Greenwich: `+05:30`.
    pub offset: Option<i32>,
    /// The first delimiter that MySQL warns of.
    pub deprecated: Option<DeprecatedDelimiter>,
}

/// Position of the day among the fields, of the second, and of its fraction.
const DAY: usize = 2;
const SECOND: usize = 5;
const FRACTION: usize = 6;
/// Largest number that is read as a field; a larger one is no date.
const FIELD_MAX: u32 = 999_999;

/// The fields as numbers, with the digits each was written in.
#[derive(Default)]
struct Fields {
    values: [u32; FRACTION + 1],
    widths: [usize; FRACTION + 1],
    count: usize,
    /// There is punctuation or space between fields.
    delimited: bool,
    /// There is space between fields.
    spaced: bool,
    /// The year has one digit in front of a point, where two are meant: `7.3.13` is of the year 2007.
    has_short_year: bool,
    deprecated: Option<DeprecatedDelimiter>,
}

/// The delimiters that are usual behind the fields, from the year on.
const USUAL: [char; FRACTION + 1] = ['-', '-', ' ', ':', ':', '.', ':'];

/// Reads a date with or without a time of day at the beginning of a text; a seventh digit of the fraction rounds.
/// `None` if there is no date or a field is out of its range; what the calendar does not have is read, too.
pub fn read_datetime(text: &str) -> Option<DateTimeText> {
    let behind = text.trim_start_matches(is_space);
    let (fields, rest) = read_fields(behind)?;
    let blank = text.len() - behind.len();
    let mut read = moment(&fields, rest, behind.len() - rest.len())?;
    let in_front = DeprecatedDelimiter::superfluous(&text[..blank], 0);
    read.deprecated = in_front.or(read.deprecated.map(|delimiter| delimiter.behind(blank)));
    Some(read)
}

/// As [`read_datetime`], for text where a TIME is wanted: `None` also without a space between date and time of day, so
/// that `2001-01-01` is not a date there. `Some(None)` for a datetime with a field out of range.
pub(super) fn read_full_datetime(text: &str) -> Option<Option<DateTimeText>> {
    let (fields, rest) = read_fields(text)?;
    if fields.delimited && !fields.spaced {
        return None;
    }
    Some(moment(&fields, rest, text.len() - rest.len()))
}

pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// The fields, and the text behind them. `None` for text that is no date from the start.
fn read_fields(text: &str) -> Option<(Fields, &str)> {
    let bytes = text.as_bytes();
    bytes.first().filter(|b| b.is_ascii_digit())?;
    let run = bytes.iter().take_while(|b| b.is_ascii_digit() || **b == b'T').count();
    let by_width = matches!(bytes.get(run), None | Some(b'.'));
    let year_width = if by_width && !matches!(run, 4 | 8 | 14..) { 2 } else { 4 };
    let mut fields = Fields::default();
    let (mut at, mut end) = (0, 0);
    while fields.count <= FRACTION && bytes.get(at).is_some_and(u8::is_ascii_digit) {
        let i = fields.count;
        let width_max = match i {
            FRACTION => 6,
            _ if !by_width => usize::MAX,
            0 => year_width,
            _ => 2,
        };
        let width = bytes[at..].iter().take(width_max).take_while(|b| b.is_ascii_digit()).count();
        let value: u32 = text[at..at + width].parse().ok().filter(|n| *n <= FIELD_MAX)?;
        fields.has_short_year |= i == 0 && by_width && width == 1;
        let width_meant = if i == 0 && by_width { year_width } else { width };
        (fields.values[i], fields.widths[i]) = (value, width_meant);
        fields.count += 1;
        at += width;
        end = at;
        match bytes.get(at) {
            None => break,
            Some(b'T') if i == DAY => at += 1,
            // The point in front of no digits is part of the moment.
            Some(b'.') if i == SECOND => (at, end) = (at + 1, at + 1),
            Some(_) if i == SECOND => break,
            Some(b'+' | b'-') if i == FRACTION => break,
            Some(_) => {
                at = skip_delimiters(bytes, at, &mut fields)?;
                end = at;
            }
        }
    }
    let rest = &text[end..];
    let behind =
        if fields.widths[FRACTION] == 6 { rest.trim_start_matches(|c: char| c.is_ascii_digit()) } else { rest };
    // A sign behind the seconds begins an offset, or there is no date.
    let is_wrong = fields.count > SECOND && behind.starts_with(['+', '-']) && zone_offset(behind).is_none();
    (!is_wrong).then_some((fields, rest))
}

/// The position of the next field. `None`: a space where none may stand.
fn skip_delimiters(bytes: &[u8], mut at: usize, fields: &mut Fields) -> Option<usize> {
    let first = at;
    while let Some(b) = bytes.get(at).filter(|b| b.is_ascii_punctuation() || is_space(**b as char)) {
        if is_space(*b as char) {
            if !matches!(fields.count - 1, DAY | FRACTION) {
                return None;
            }
            fields.spaced = true;
        }
        fields.delimited = true;
        if fields.deprecated.is_none() {
            let found = deprecated(bytes, at, at == first, fields.count - 1);
            // Behind a year of one digit, MySQL takes any delimiter for the usual one, but for some behind the day.
            let is_told = |delimiter: &DeprecatedDelimiter| {
                let is_behind_day = fields.count - 1 == DAY && delimiter.found != '.';
                !fields.has_short_year || delimiter.usual.is_none() || is_behind_day
            };
            fields.deprecated = found.filter(is_told);
        }
        at += 1;
    }
    Some(at)
}

/// The delimiter at `at`, behind field `i`, if MySQL warns of it.
fn deprecated(bytes: &[u8], at: usize, is_first: bool, i: usize) -> Option<DeprecatedDelimiter> {
    let found = char::from(bytes[at]);
    let superfluous = Some(DeprecatedDelimiter { position: at, found, usual: None });
    match is_first {
        false => superfluous,
        // Nothing follows the space behind the fraction, and something has to follow that behind the day.
        true if i == FRACTION && is_space(found) || i == DAY && found == ' ' && at + 1 == bytes.len() => superfluous,
        true if found == USUAL[i] => None,
        true => Some(DeprecatedDelimiter { position: at, found, usual: Some(USUAL[i]) }),
    }
}

/// Characters of the offset of a time zone.
const OFFSET_LENGTH: usize = 6;
/// Largest offset of a time zone to either side.
const OFFSET_MINUTES_MAX: i32 = 14 * 60;

/// The offset of a time zone that the text is, in seconds: `+05:30`. The hour and the minute have two digits each, and
/// `-00:00` is none (manual 11.2.2). Space may follow.
fn zone_offset(text: &str) -> Option<i32> {
    let text = text.trim_end_matches(is_space).as_bytes();
    let [sign, h1, h2, b':', m1, m2] = *<&[u8; OFFSET_LENGTH]>::try_from(text).ok()? else { return None };
    let digits = [h1, h2, m1, m2].map(|b| i32::from(b) - i32::from(b'0'));
    let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3]);
    let all = hours * 60 + minutes;
    let is_valid = digits.iter().all(|d| (0..10).contains(d)) && minutes < 60 && all <= OFFSET_MINUTES_MAX;
    match sign {
        b'+' if is_valid => Some(all * 60),
        b'-' if is_valid && all > 0 => Some(-all * 60),
        _ => None,
    }
}

/// `end`: bytes in front of `rest`.
fn moment(fields: &Fields, mut rest: &str, mut end: usize) -> Option<DateTimeText> {
    let [year, month, day, hour, minute, second, fraction] = fields.values;
    if fields.count < 3 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let is_zero = fields.values.iter().all(|v| *v == 0);
    let year = match fields.widths[0] {
        2 if !is_zero => year + if year < 70 { 2000 } else { 1900 },
        _ => year,
    };
    let digits = fields.widths[FRACTION];
    let mut micros = fraction as i64 * 10i64.pow(6 - digits as u32);
    if digits == 6 && rest.starts_with(|c: char| c.is_ascii_digit()) {
        micros += i64::from(rest.starts_with(|c: char| c >= '5'));
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        end += rest.len() - behind.len();
        rest = behind;
    }
    let offset = if fields.count > SECOND { zone_offset(rest) } else { None };
    let behind = if offset.is_some() { "" } else { rest.trim_start_matches(is_space) };
    let blank = DeprecatedDelimiter::superfluous(&rest[..rest.len() - behind.len()], end).filter(|_| offset.is_none());
    let clock = ((hour as i64 * 60 + minute as i64) * 60 + second as i64) * MICROS_PER_SECOND + micros;
    Some(DateTimeText {
        moment: Moment::checked(i32::try_from(year).ok()?, month, day, clock)?,
        has_clock: fields.count > 3,
        fsp: digits as u8,
        is_cut: !behind.is_empty(),
        offset,
        deprecated: fields.deprecated.or(blank),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::format_datetime;

    #[test]
    fn every_shape() {
        for (text, want) in [
            ("2001-02-03", "2001-02-03 00:00:00.000000"),
            (" 2001-2-3 4:5", "2001-02-03 04:05:00.000000"),
            ("01/02/03", "2001-02-03 00:00:00.000000"),
            ("70.1.2", "1970-01-02 00:00:00.000000"),
            ("7.3.13", "2007-03-13 00:00:00.000000"),
            ("7-3-13", "0007-03-13 00:00:00.000000"),
            ("20010203T040506", "2001-02-03 04:05:06.000000"),
            ("2001-02-03T04:05:06.7", "2001-02-03 04:05:06.700000"),
            ("20071108181000", "2007-11-08 18:10:00.000000"),
            ("071108181000", "2007-11-08 18:10:00.000000"),
            ("20071108181000.25", "2007-11-08 18:10:00.250000"),
            ("2001-12-31 23:59:59.9999999", "2002-01-01 00:00:00.000000"),
            ("2001-01-01 00:00:00.", "2001-01-01 00:00:00.000000"),
            ("2001-01-01  ", "2001-01-01 00:00:00.000000"),
        ] {
            let read = read_datetime(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (format_datetime(read.moment.datetime().unwrap(), 6).as_str(), read.is_cut),
                (want, false),
                "{text}"
            );
        }
        for text in [
            "",
            "-1",
            "x",
            "2001",
            "2001-01",
            "20010101 101112",
            "2001-01-01 25:00:00",
            "2001-02-32",
            "2001-13-01",
            "2001 01 01",
        ] {
            assert_eq!(read_datetime(text), None, "{text}");
        }
    }

    #[test]
    fn offsets_of_time_zones() {
        for (text, want) in [
            ("2020-01-01 10:10:10+05:30", Some(19_800)),
            ("2020-01-01 10:10:10.25-14:00", Some(-50_400)),
            ("2020-01-01 10:10:10.1234567+00:00", Some(0)),
            ("2020-01-01 10:10:10+05:30 ", Some(19_800)),
            ("2020-01-01 10:10:10", None),
        ] {
            let read = read_datetime(text).unwrap();
            assert_eq!((read.offset, read.is_cut, read.deprecated), (want, false, None), "{text}");
        }
        for text in ["2020-01-01 10:10:10-00:00", "2020-01-01 10:10:10+14:01", "2020-01-01 10:10:10.5+5:30"] {
            assert_eq!(read_datetime(text), None, "{text}");
        }
    }

    #[test]
    fn deprecated_delimiters_are_found() {
        let told = |text: &str| {
            let found = read_datetime(text).unwrap().deprecated;
            found.map(|delimiter| (delimiter.position, delimiter.found, delimiter.usual))
        };
        for text in ["2001-01-31", "2001-01-31 10:11:12.5", "2001-01-31T10:11", "20010131", "2001-01-31 T10"] {
            assert_eq!(told(text), None, "{text}");
        }
        assert_eq!((told("7.3.13"), told("7.3/13 10/3")), (None, None));
        for (text, want) in [
            ("01/2/3", (2, '/', Some('-'))),
            ("2001-01:31", (7, ':', Some('-'))),
            ("2001--01-31", (5, '-', None)),
            ("2001/-01-31", (4, '/', Some('-'))),
            ("2001-01-31-10:11", (10, '-', Some(' '))),
            ("2001-01-31\t10", (10, '\t', Some(' '))),
            ("2001-01-31  10:11", (11, ' ', None)),
            ("2001-01-31 10-11", (13, '-', Some(':'))),
            ("2001-01-31 10::11", (14, ':', None)),
            ("2001-01-31 ", (10, ' ', None)),
            ("2001-01-31  ", (11, ' ', None)),
            ("  2001/01/31", (0, ' ', None)),
            ("2001-01-31 10:11:12 x", (19, ' ', None)),
            ("2001-01-31 10:11:12.5 x", (21, ' ', None)),
            ("2001-01-31 10:11:12.5.5", (21, '.', Some(':'))),
            ("2001-01-31 10:11:12.1234567 ", (27, ' ', None)),
            ("20010131101112.5 ", (16, ' ', None)),
        ] {
            assert_eq!(told(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_stands_behind_is_cut() {
        for text in ["2001-01-01x", "2001-01-01 10:11:12 x", "2001-01-01 10:11:12x", "2001-01-01 10:11:12.5x"] {
            assert!(read_datetime(text).unwrap().is_cut, "{text}");
        }
    }

    #[test]
    fn dates_without_a_day_are_read() {
        for (text, month, day) in
            [("2001-02-00", 2, 0), ("2001-02-31", 2, 31), ("0000-00-00", 0, 0), ("00000000", 0, 0)]
        {
            let read = read_datetime(text).unwrap();
            assert_eq!((read.moment.month, read.moment.day, read.moment.is_calendar_day()), (month, day, false));
        }
    }
}
