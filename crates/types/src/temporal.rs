//! Dates and times: days and microseconds, civil fields, and MySQL's text forms.
//!
//! The calendar is the proleptic Gregorian one; conversions follow Howard Hinnant,
//! "chrono-Compatible Low-Level Date Algorithms".

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Largest TIME: 838:59:59 (manual 13.2.3).
pub const TIME_MAX_MICROS: i64 = (HOURS_MAX * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;
const HOURS_MAX: i64 = 838;

/// Days since 1970-01-01 of a civil date; the fields are not checked.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let mp = (month as i32 + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day as i32 - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + (month <= 2) as i32, month, day)
}

pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + is_leap_year(year) as u32,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date moved by whole months; the day is cut to the month's last (MySQL's `DATE_ADD .. MONTH`).
pub fn add_months(days: i32, months: i32) -> Option<i32> {
    let (y, m, d) = civil_from_days(days);
    let index = y.checked_mul(12)?.checked_add(m as i32 - 1)?.checked_add(months)?;
    let (y, m) = (index.div_euclid(12), index.rem_euclid(12) as u32 + 1);
    (0..=9999).contains(&y).then(|| days_from_civil(y, m, d.min(days_in_month(y, m))))
}

/// The date as the number YYYYMMDD.
pub fn date_number(days: i32) -> i64 {
    let (y, m, d) = civil_from_days(days);
    y as i64 * 10_000 + m as i64 * 100 + d as i64
}

/// The time of day or TIME as the number hhmmss, negative for a negative time, without the fraction.
pub fn clock_number(micros: i64) -> i64 {
    let s = micros / MICROS_PER_SECOND;
    s / 3600 * 10_000 + s / 60 % 60 * 100 + s % 60
}

/// The datetime as the number YYYYMMDDhhmmss, without the fraction.
pub fn datetime_number(micros: i64) -> i64 {
    date_number(micros.div_euclid(MICROS_PER_DAY) as i32) * 1_000_000 + clock_number(micros.rem_euclid(MICROS_PER_DAY))
}

/// Reads `[YY]YYMMDD` or `[YY]YYMMDDhhmmss` as microseconds; `None` for a number that is no date of the calendar.
pub fn datetime_from_number(n: i64) -> Option<i64> {
    // Two-digit years: 70-99 are 19xx.
    let full = match n {
        101..=691_231 => (n + 20_000_000) * 1_000_000,
        700_101..=991_231 => (n + 19_000_000) * 1_000_000,
        10_000_101..=99_991_231 => n * 1_000_000,
        101_000_000..=691_231_235_959 => n + 20_000_000_000_000,
        700_101_000_000..=991_231_235_959 => n + 19_000_000_000_000,
        10_000_101_000_000..=99_991_231_235_959 => n,
        _ => return None,
    };
    let (date, clock) = (full / 1_000_000, full % 1_000_000);
    let (y, m, d) = ((date / 10_000) as i32, (date / 100 % 100) as u32, (date % 100) as u32);
    if !(1..=12).contains(&m) || d < 1 || d > days_in_month(y, m) {
        return None;
    }
    let (h, min, s) = (clock / 10_000, clock / 100 % 100, clock % 100);
    (h < 24 && min < 60 && s < 60)
        .then_some(days_from_civil(y, m, d) as i64 * MICROS_PER_DAY + ((h * 60 + min) * 60 + s) * MICROS_PER_SECOND)
}

/// Reads `[-]hhmmss` as microseconds.
pub fn time_from_number(n: i64) -> Option<i64> {
    let t = i64::try_from(n.unsigned_abs()).ok()?;
    let (h, m, s) = (t / 10_000, t / 100 % 100, t % 100);
    let micros = h.checked_mul(3600)?.checked_add(m * 60 + s)?.checked_mul(MICROS_PER_SECOND)?;
    (m < 60 && s < 60 && micros <= TIME_MAX_MICROS).then_some(if n < 0 { -micros } else { micros })
}

/// Rounds to `fsp` digits of fractional seconds, half away from zero.
pub fn round_fraction(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp.min(6) as u32);
    let (whole, rest) = (micros.div_euclid(unit), micros.rem_euclid(unit));
    let up = if micros < 0 { rest * 2 > unit } else { rest * 2 >= unit };
    (whole + (up && unit > 1) as i64) * unit
}

/// Reads `YYYY-MM-DD` with MySQL's freedom: any punctuation between the fields, one-digit fields, two-digit years
/// (70-99 are 19xx), or `YYYYMMDD` / `YYMMDD` without any. `None` for what is not a date of the calendar.
pub fn parse_date(text: &str) -> Option<i32> {
    let (date, rest) = split_date(text.trim())?;
    (rest.is_empty() || parse_clock(rest.trim_start_matches(['T', ' '])).is_some()).then_some(date)
}

/// Reads a date and an optional time of day, `YYYY-MM-DD[ T]hh:mm:ss[.ffffff]`, as microseconds.
pub fn parse_datetime(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() == 14 && text.bytes().all(|b| b.is_ascii_digit()) {
        let clock = format!("{}:{}:{}", &text[8..10], &text[10..12], &text[12..14]);
        return Some(parse_date(&text[..8])? as i64 * MICROS_PER_DAY + parse_clock(&clock)?);
    }
    let (date, rest) = split_date(text)?;
    let clock = if rest.is_empty() { 0 } else { parse_clock(rest.trim_start_matches(['T', ' ']))? };
    Some(date as i64 * MICROS_PER_DAY + clock)
}

/// Reads a TIME: `[-][D ]hh:mm[:ss[.f]]` or `[-]hhmmss[.f]`, as microseconds.
pub fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (days, clock) = match text.split_once(' ') {
        Some((d, c)) => (digits(d)?, c),
        None => (0, text),
    };
    // Behind days, a lone number is hours.
    let micros = if clock.contains(':') || text.len() > clock.len() {
        let mut fields = clock.splitn(3, ':');
        let h: i64 = digits(fields.next()?)?;
        let m: i64 = fields.next().map_or(Some(0), digits)?;
        let s = fields.next().map_or(Some(0), seconds)?;
        (m < 60 && h <= HOURS_MAX).then(|| (h * 60 + m) * 60 * MICROS_PER_SECOND + s)?
    } else {
        let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let n: i64 = digits(whole)?;
        let (h, m, s) = (n / 10_000, n / 100 % 100, n % 100);
        let fraction = fraction_micros(fraction)?;
        (m < 60 && s < 60 && h <= HOURS_MAX).then(|| ((h * 60 + m) * 60 + s) * MICROS_PER_SECOND + fraction)?
    };
    let micros = micros.checked_add(days.checked_mul(MICROS_PER_DAY)?)?;
    (micros <= TIME_MAX_MICROS).then_some(if negative { -micros } else { micros })
}

pub fn format_date(days: i32) -> String {
    let (y, m, d) = civil_from_days(days);
    format!("{y:04}-{m:02}-{d:02}")
}

pub fn format_datetime(micros: i64, fsp: u8) -> String {
    let days = micros.div_euclid(MICROS_PER_DAY) as i32;
    let clock = micros.rem_euclid(MICROS_PER_DAY);
    let s = clock / MICROS_PER_SECOND;
    format!("{} {:02}:{:02}:{:02}{}", format_date(days), s / 3600, s / 60 % 60, s % 60, fraction(clock, fsp))
}

pub fn format_time(micros: i64, fsp: u8) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let t = micros.unsigned_abs() as i64;
    let s = t / MICROS_PER_SECOND;
    format!("{sign}{:02}:{:02}:{:02}{}", s / 3600, s / 60 % 60, s % 60, fraction(t, fsp))
}

fn fraction(micros: i64, fsp: u8) -> String {
    if fsp == 0 {
        return String::new();
    }
    let digits = format!("{:06}", micros % MICROS_PER_SECOND);
    format!(".{}", &digits[..fsp.min(6) as usize])
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn fraction_micros(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // One digit more than is kept decides the rounding.
    let padded: i64 = format!("{text:0<7}")[..7].parse().ok()?;
    Some((padded + 5) / 10)
}

fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let s = digits(whole)?;
    let fraction = fraction_micros(fraction)?;
    (s < 60).then(|| s * MICROS_PER_SECOND + fraction)
}

fn parse_clock(text: &str) -> Option<i64> {
    let mut fields = text.splitn(3, ':');
    let h = digits(fields.next()?)?;
    let m = fields.next().map_or(Some(0), digits)?;
    let s = fields.next().map_or(Some(0), seconds)?;
    (h < 24 && m < 60).then(|| (h * 60 + m) * 60 * MICROS_PER_SECOND + s)
}

/// The date in front, and the text behind it.
fn split_date(text: &str) -> Option<(i32, &str)> {
    let bytes = text.as_bytes();
    let run = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (y, m, d, used, year_digits) = if run == 8 || run == 6 {
        let y = digits(&text[..run - 4])?;
        (y, digits(&text[run - 4..run - 2])?, digits(&text[run - 2..run])?, run, run - 4)
    } else {
        let mut at = 0;
        let mut fields = [0i64; 3];
        for (i, field) in fields.iter_mut().enumerate() {
            let n = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
            if n == 0 || n > 4 || (i > 0 && n > 2) {
                return None;
            }
            *field = digits(&text[at..at + n])?;
            at += n;
            if i < 2 {
                if !bytes.get(at)?.is_ascii_punctuation() {
                    return None;
                }
                at += 1;
            }
        }
        (fields[0], fields[1], fields[2], at, run)
    };
    let y = if year_digits <= 2 { if y < 70 { 2000 + y } else { 1900 + y } } else { y } as i32;
    let (m, d) = (u32::try_from(m).ok()?, u32::try_from(d).ok()?);
    if !(1..=12).contains(&m) || d < 1 || d > days_in_month(y, m) {
        return None;
    }
    Some((days_from_civil(y, m, d), &text[used..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_goes_both_ways() {
        let mut days = days_from_civil(1600, 1, 1);
        for y in 1600..2400 {
            for m in 1..=12 {
                for d in 1..=days_in_month(y, m) {
                    assert_eq!(days_from_civil(y, m, d), days);
                    assert_eq!(civil_from_days(days), (y, m, d));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn dates_in_mysqls_forms() {
        let want = days_from_civil(1998, 9, 2);
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
                proptest::prop_assert!(!got.is_null() || warning.is_some());
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
}
