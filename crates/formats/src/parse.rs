//! Bytes of a field to a number, date or time, by MySQL's rules for storing text into a column.

use super::problem::ProblemKind;
use muster_types::{
    decimal::pow10,
    temporal::{self, MICROS_PER_DAY, TIME_MAX_MICROS},
    time_zone::{self, TimeZone},
};

/// A value that cannot be stored as it is: what is wrong, and what IGNORE stores instead (`None`: nothing can be).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad<N> {
    pub kind: ProblemKind,
    pub instead: Option<N>,
}

impl<N> Bad<N> {
    fn new(kind: ProblemKind, instead: N) -> Bad<N> {
        Bad { kind, instead: Some(instead) }
    }
}

/// An exact number read from text: `negative`, digits, and what was left.
struct Number {
    negative: bool,
    /// `None`: more than 38 digits.
    unscaled: Option<u128>,
    scale: i32,
    /// Digits in all; 0: not a number.
    digits: usize,
    /// Something other than spaces stands behind it.
    rest: bool,
}

/// Reads `[spaces][+-]digits[.digits][e[+-]digits][spaces]`.
fn read_number(text: &[u8]) -> Number {
    let text = text.trim_ascii_start();
    let (negative, mut at) = match text.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let mut number = Number { negative, unscaled: Some(0), scale: 0, digits: 0, rest: false };
    let mut point = false;
    while let Some(b) = text.get(at) {
        match b {
            b'0'..=b'9' => {
                number.digits += 1;
                number.scale += point as i32;
                number.unscaled = number.unscaled.and_then(|n| n.checked_mul(10)?.checked_add((b - b'0') as u128));
            }
            b'.' if !point => point = true,
            _ => break,
        }
        at += 1;
    }
    if number.digits > 0 && matches!(text.get(at), Some(b'e' | b'E')) {
        let (sign, from) = match text.get(at + 1) {
            Some(b'-') => (-1, at + 2),
            Some(b'+') => (1, at + 2),
            _ => (1, at + 1),
        };
        let length = text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        if length > 0 {
            // Beyond four digits it makes no difference any more.
            let exponent = text[from..from + length].iter().fold(0i32, |e, b| (e * 10 + (b - b'0') as i32).min(9999));
            number.scale = number.scale.saturating_sub(sign * exponent);
            at = from + length;
        }
    }
    number.rest = text[at..].iter().any(|b| !b.is_ascii_whitespace());
    number
}

impl Number {
    /// The number times 10^scale, rounded half away from zero, and whether digits were lost. `None`: too large.
    fn rescale(&self, scale: i32) -> Option<(i128, bool)> {
        let unscaled = self.unscaled?;
        let (value, lost) = if unscaled == 0 {
            (0, false)
        } else if scale >= self.scale {
            (unscaled.checked_mul(pow10((scale - self.scale) as u32)? as u128)?, false)
        } else {
            match pow10((self.scale - scale) as u32) {
                Some(power) => {
                    let power = power as u128;
                    let (q, r) = (unscaled / power, unscaled % power);
                    (q + (r >= power - r) as u128, r > 0)
                }
                None => (0, true),
            }
        };
        let value = i128::try_from(value).ok()?;
        Some((if self.negative { -value } else { value }, lost))
    }
}

/// An integer in `min..=max`. Fractions are rounded, as MySQL does.
#[inline]
pub(super) fn integer(text: &[u8], min: i128, max: i128) -> Result<i128, Bad<i128>> {
    // Nearly all: up to 18 digits and perhaps a sign.
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if (1..=18).contains(&digits.len()) {
        let mut n = 0i64;
        let mut clean = true;
        for b in digits {
            let d = b.wrapping_sub(b'0');
            clean &= d < 10;
            n = n * 10 + (d & 15) as i64;
        }
        let n = if digits.len() < text.len() { -n } else { n } as i128;
        if clean && min <= n && n <= max {
            return Ok(n);
        }
    }
    integer_slow(text, min, max)
}

#[cold]
fn integer_slow(text: &[u8], min: i128, max: i128) -> Result<i128, Bad<i128>> {
    let number = read_number(text);
    if number.digits == 0 {
        return Err(Bad::new(ProblemKind::Incorrect("integer"), 0));
    }
    match number.rescale(0) {
        Some((n, _)) if min <= n && n <= max => {
            if number.rest {
                Err(Bad::new(ProblemKind::Truncated, n))
            } else {
                Ok(n)
            }
        }
        _ => Err(Bad::new(ProblemKind::OutOfRange, if number.negative { min } else { max })),
    }
}

/// A decimal with `scale` digits behind the point and unscaled value up to `max`. More digits are rounded.
#[inline]
pub(super) fn decimal(text: &[u8], scale: u8, max: i128) -> Result<i128, Bad<i128>> {
    // Nearly all: up to 18 digits, and as many behind the point as the column has.
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let point = digits.len().wrapping_sub(scale as usize + 1);
    if scale > 0 && (1..=18).contains(&point) && digits.len() <= 19 && digits[point] == b'.' {
        let mut n = 0i64;
        let mut clean = true;
        for (i, b) in digits.iter().enumerate() {
            if i != point {
                let d = b.wrapping_sub(b'0');
                clean &= d < 10;
                n = n * 10 + (d & 15) as i64;
            }
        }
        if clean && n as i128 <= max {
            return Ok(if digits.len() < text.len() { -n } else { n } as i128);
        }
    }
    decimal_slow(text, scale, max)
}

#[cold]
fn decimal_slow(text: &[u8], scale: u8, max: i128) -> Result<i128, Bad<i128>> {
    let number = read_number(text);
    if number.digits == 0 {
        return Err(Bad::new(ProblemKind::Incorrect("decimal"), 0));
    }
    match number.rescale(scale as i32) {
        Some((n, _)) if n.abs() <= max => {
            if number.rest {
                Err(Bad::new(ProblemKind::Incorrect("decimal"), n))
            } else {
                Ok(n)
            }
        }
        _ => Err(Bad::new(ProblemKind::OutOfRange, if number.negative { -max } else { max })),
    }
}

/// A floating-point number with magnitude up to `max`.
pub(super) fn float(text: &[u8], max: f64) -> Result<f64, Bad<f64>> {
    let text = text.trim_ascii();
    let longest = |n: usize| std::str::from_utf8(&text[..n]).ok().and_then(|s| s.parse::<f64>().ok());
    // Rust also reads "inf" and "nan", which MySQL does not.
    let numeric = text.iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
    let (value, used) = match longest(numeric) {
        Some(value) => (value, numeric),
        None => (0..numeric).rev().find_map(|n| longest(n).map(|v| (v, n))).unwrap_or((0.0, 0)),
    };
    if value.abs() > max {
        return Err(Bad::new(ProblemKind::OutOfRange, max.copysign(value)));
    }
    if used == 0 || used < text.len() {
        return Err(Bad::new(ProblemKind::Truncated, value));
    }
    Ok(value)
}

/// Days since 1970-01-01. There is no zero date: IGNORE stores NULL instead where the column can be NULL.
#[inline]
pub(super) fn date(text: &[u8]) -> Result<i32, Bad<i32>> {
    if let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text {
        let d = [y1, y2, y3, y4, m1, m2, d1, d2].map(|b| b.wrapping_sub(b'0') as u32);
        let (year, month, day) = ((d[0] * 10 + d[1]) * 100 + d[2] * 10 + d[3], d[4] * 10 + d[5], d[6] * 10 + d[7]);
        let plain = d.iter().all(|d| *d < 10) && (1..=12).contains(&month) && day >= 1;
        if plain && (day <= 28 || day <= temporal::days_in_month(year as i32, month)) {
            return Ok(temporal::days_from_civil(year as i32, month, day));
        }
    }
    moment(text, "date")
        .map(|t| t.div_euclid(MICROS_PER_DAY) as i32)
        .map_err(|bad| Bad { kind: bad.kind, instead: bad.instead.map(|t| t.div_euclid(MICROS_PER_DAY) as i32) })
}

/// Microseconds since 1970-01-01, rounded to `fsp` digits.
pub(super) fn datetime(text: &[u8], fsp: u8) -> Result<i64, Bad<i64>> {
    // Before 1970 too the half is rounded to the later moment.
    let unit = unit_of(fsp);
    let round = |t: i64| (t + unit / 2).div_euclid(unit) * unit;
    moment(text, "datetime").map(round).map_err(|bad| Bad { kind: bad.kind, instead: bad.instead.map(round) })
}

/// Microseconds since 1970-01-01. IGNORE stores the date in front of a text that goes on with something else.
fn moment(text: &[u8], what: &'static str) -> Result<i64, Bad<i64>> {
    let read = std::str::from_utf8(text).ok().and_then(temporal::read_datetime);
    let micros = read.and_then(|read| read.moment.micros());
    match (micros, read.is_some_and(|read| read.is_cut)) {
        (Some(t), false) => Ok(t),
        (instead, _) => Err(Bad { kind: ProblemKind::Incorrect(what), instead }),
    }
}

/// A TIMESTAMP: a datetime from 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 (manual 13.2.2).
/// In UTC: the text is local time of `zone`. One that the clocks left out becomes the moment when they went on.
pub(super) fn timestamp(text: &[u8], fsp: u8, zone: TimeZone) -> Result<i64, Bad<i64>> {
    to_utc(datetime(text, fsp)?, zone)
}

/// The moment of a local time, for a TIMESTAMP.
pub(super) fn to_utc(local: i64, zone: TimeZone) -> Result<i64, Bad<i64>> {
    let bad = |instead| Bad { kind: ProblemKind::Incorrect("datetime"), instead };
    let utc = zone.to_utc(local).map_err(|after| bad(Some(after)))?;
    if time_zone::is_timestamp(utc) { Ok(utc) } else { Err(bad(None)) }
}

/// Microseconds, rounded to `fsp` digits. IGNORE stores the time in front of a text that goes on with something else,
/// and the end of TIME's range for a time that is out of it.
pub(super) fn time(text: &[u8], fsp: u8) -> Result<i64, Bad<i64>> {
    let bad = |instead| Err(Bad { kind: ProblemKind::Incorrect("time"), instead: Some(instead) });
    let Some(read) = std::str::from_utf8(text).ok().and_then(temporal::read_time) else { return bad(0) };
    let rounded = temporal::round_fraction(read.micros, fsp);
    let in_range = rounded.clamp(-TIME_MAX_MICROS, TIME_MAX_MICROS);
    if read.is_cut || read.is_clamped || in_range != rounded { bad(in_range) } else { Ok(in_range) }
}

fn unit_of(fsp: u8) -> i64 {
    10i64.pow(6 - fsp.min(6) as u32)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
