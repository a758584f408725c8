//! Dates and times as numbers: YYYYMMDD, YYYYMMDDhhmmss and hhmmss.

use super::{MICROS_PER_SECOND, Moment, TIME_MAX_MICROS, code_parts, datetime_parts};

/// The date as the number YYYYMMDD.
pub fn date_number(code: i32) -> i64 {
    let (y, m, d) = code_parts(code);
    y as i64 * 10_000 + m as i64 * 100 + d as i64
}

/// The time of day or TIME as the number hhmmss, negative for a negative time, without the fraction.
pub fn clock_number(micros: i64) -> i64 {
    let s = micros / MICROS_PER_SECOND;
    s / 3600 * 10_000 + s / 60 % 60 * 100 + s % 60
}

/// The datetime as the number YYYYMMDDhhmmss, without the fraction.
pub fn datetime_number(datetime: i64) -> i64 {
    let (date, clock) = datetime_parts(datetime);
    date_number(date) * 1_000_000 + clock_number(clock)
}

/// Reads `[YY]YYMMDD` or `[YY]YYMMDDhhmmss`, and whether there is a time of day. Two-digit years from 70 on are of the
/// 20th century; 0 is the zero date. `None` for a number that is neither.
pub fn moment_from_number(n: i64) -> Option<(Moment, bool)> {
    let (full, has_clock) = match n {
        0 => (0, false),
        101..=691_231 => ((n + 20_000_000) * 1_000_000, false),
        700_101..=991_231 => ((n + 19_000_000) * 1_000_000, false),
        991_232..=99_991_231 => (n * 1_000_000, false),
        101_000_000..=691_231_235_959 => (n + 20_000_000_000_000, true),
        700_101_000_000..=991_231_235_959 => (n + 19_000_000_000_000, true),
        991_231_235_960..=99_991_231_235_959 => (n, true),
        _ => return None,
    };
    let (date, clock) = (full / 1_000_000, full % 1_000_000);
    let (h, min, s) = (clock / 10_000, clock / 100 % 100, clock % 100);
    if h >= 24 || min >= 60 || s >= 60 {
        return None;
    }
    let clock = ((h * 60 + min) * 60 + s) * MICROS_PER_SECOND;
    let (y, m, d) = ((date / 10_000) as i32, (date / 100 % 100) as u32, (date % 100) as u32);
    Some((Moment::checked(y, m, d, clock)?, has_clock))
}

/// Reads `[-]hhmmss` as microseconds.
pub fn time_from_number(n: i64) -> Option<i64> {
    let t = i64::try_from(n.unsigned_abs()).ok()?;
    let (h, m, s) = (t / 10_000, t / 100 % 100, t % 100);
    let micros = h.checked_mul(3600)?.checked_add(m * 60 + s)?.checked_mul(MICROS_PER_SECOND)?;
    (m < 60 && s < 60 && micros <= TIME_MAX_MICROS).then_some(if n < 0 { -micros } else { micros })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::format_datetime;

    #[test]
    fn numbers_are_dates() {
        for (n, want) in [
            (980_902, "1998-09-02 00:00:00"),
            (20_071_108_181_000, "2007-11-08 18:10:00"),
            (71_108_181_000, "2007-11-08 18:10:00"),
            (1_000_101, "0100-01-01 00:00:00"),
        ] {
            assert_eq!(
                moment_from_number(n).map(|(m, _)| format_datetime(m.datetime().unwrap(), 0)).as_deref(),
                Some(want),
                "{n}"
            );
        }
        for n in [1, 100, 691_232, 20_010_132, 20_071_108_241_000, i64::MAX, i64::MIN] {
            assert_eq!(moment_from_number(n), None, "{n}");
        }
        assert_eq!(moment_from_number(20_010_200).map(|(m, _)| (m.month, m.day)), Some((2, 0)));
    }
}
