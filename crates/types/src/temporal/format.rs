//! Dates and times as text.

use super::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};

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
