//! Dates and times as text.

use super::{MICROS_PER_SECOND, code_parts, datetime_parts};

pub fn format_date(code: i32) -> String {
    let (y, m, d) = code_parts(code);
    format!("{y:04}-{m:02}-{d:02}")
}

pub fn format_datetime(datetime: i64, fsp: u8) -> String {
    let (date, clock) = datetime_parts(datetime);
    let s = clock / MICROS_PER_SECOND;
    format!("{} {:02}:{:02}:{:02}{}", format_date(date), s / 3600, s / 60 % 60, s % 60, fraction(clock, fsp))
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
