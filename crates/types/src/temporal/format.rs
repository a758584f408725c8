//! Dates and times as text.

use super::{MICROS_PER_SECOND, code_parts, datetime_parts};
use std::fmt::Write;

pub fn format_date(code: i32) -> String {
    let mut out = String::with_capacity(10);
    push_date(&mut out, code);
    out
}

pub fn format_datetime(datetime: i64, fsp: u8) -> String {
    let mut out = String::with_capacity(26);
    push_datetime(&mut out, datetime, fsp);
    out
}

/// Appends the text of a datetime.
pub fn push_datetime(out: &mut String, datetime: i64, fsp: u8) {
    let (date, clock) = datetime_parts(datetime);
    push_date(out, date);
    out.push(' ');
    push_clock(out, clock, fsp);
}

pub fn format_time(micros: i64, fsp: u8) -> String {
    let mut out = String::with_capacity(17);
    push_time(&mut out, micros, fsp);
    out
}

/// Appends the text of a TIME.
pub fn push_time(out: &mut String, micros: i64, fsp: u8) {
    if micros < 0 {
        out.push('-');
    }
    push_clock(out, micros.unsigned_abs() as i64, fsp);
}

/// Appends the text of a date.
pub fn push_date(out: &mut String, code: i32) {
    let (y, m, d) = code_parts(code);
    if y < 0 {
        // Writing to a String cannot fail.
        let _ = write!(out, "{y:04}");
    } else {
        push_digits(out, y.unsigned_abs().into(), 4);
    }
    out.push('-');
    push_digits(out, m.into(), 2);
    out.push('-');
    push_digits(out, d.into(), 2);
}

/// Hours, minutes and seconds, with `fsp` digits of the fraction; `micros` is not negative.
fn push_clock(out: &mut String, micros: i64, fsp: u8) {
    let seconds = micros.unsigned_abs() / MICROS_PER_SECOND.unsigned_abs();
    push_digits(out, seconds / 3600, 2);
    out.push(':');
    push_digits(out, seconds / 60 % 60, 2);
    out.push(':');
    push_digits(out, seconds % 60, 2);
    if fsp > 0 {
        let dropped = 10u64.pow(6 - u32::from(fsp.min(6)));
        out.push('.');
        push_digits(out, micros.unsigned_abs() % MICROS_PER_SECOND.unsigned_abs() / dropped, fsp.min(6).into());
    }
}

/// Appends a number in at least so many digits.
fn push_digits(out: &mut String, number: u64, width: usize) {
    const LONGEST: usize = 20;
    let (mut digits, mut start, mut rest) = ([b'0'; LONGEST], LONGEST, number);
    while rest > 0 || start > LONGEST - width {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::{super::date_code, *};

    #[test]
    fn digits_are_padded_and_cut() {
        assert_eq!(format_date(date_code(33, 1, 9)), "0033-01-09");
        assert_eq!(format_date(-1), "-001-12-31");
        let datetime = super::super::datetime_of(date_code(2024, 12, 31), 3_723_045_678);
        assert_eq!(format_datetime(datetime, 0), "2024-12-31 01:02:03");
        assert_eq!(format_datetime(datetime, 2), "2024-12-31 01:02:03.04");
        assert_eq!(format_datetime(datetime, 6), "2024-12-31 01:02:03.045678");
        assert_eq!(format_time(-838 * 3_600_000_000 - 1, 6), "-838:00:00.000001");
        assert_eq!(format_time(5, 0), "00:00:00");
    }
}
