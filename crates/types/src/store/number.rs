//! Text to the number that a column stores, by MySQL's rules: digits that the column does not have are rounded away, a
//! number beyond its range is the nearest in it, and what stands behind a number does not belong to it.

use super::{StoreFault, Unfit};
use crate::{
    FloatDigits,
    decimal::{div_round, pow10, rescale_256},
};
use arrow_buffer::i256;
use std::ops::RangeInclusive;

/// An exact number read from text: `negative`, digits, and what was left.
struct Number {
    negative: bool,
    /// The number without its sign and point: its first digits, as many as there is room for.
    unscaled: Magnitude,
    scale: i32,
    /// Digits in all; 0: not a number.
    digits: usize,
    /// Something other than spaces stands behind it.
    rest: bool,
}

#[derive(Clone, Copy)]
enum Magnitude {
    Narrow(i128),
    Wide(i256),
}

impl Magnitude {
    /// The number with one digit more; `None` if there is no room for it.
    fn push(self, digit: u8) -> Option<Magnitude> {
        // Room for the digit by which a number is rounded up.
        const NARROW_MAX: i128 = 10i128.pow(36);
        let (ten, digit) = (i256::from_i128(10), i128::from(digit));
        let push = |wide: i256| wide.wrapping_mul(ten).wrapping_add(i256::from_i128(digit));
        match self {
            Magnitude::Narrow(n) if n < NARROW_MAX => Some(Magnitude::Narrow(n * 10 + digit)),
            Magnitude::Narrow(n) => Some(Magnitude::Wide(push(i256::from_i128(n)))),
            // 10^75: the unsigned bits above are those of a number that is larger.
            Magnitude::Wide(wide) if wide.to_parts().1 < 1 << 121 => Some(Magnitude::Wide(push(wide))),
            Magnitude::Wide(_) => None,
        }
    }
}

/// Reads `[spaces][+-]digits[.digits][e[+-]digits][spaces]`.
fn read_number(text: &[u8]) -> Number {
    let text = text.trim_ascii_start();
    let (negative, mut at) = match text.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let mut number = Number { negative, unscaled: Magnitude::Narrow(0), scale: 0, digits: 0, rest: false };
    let mut point = false;
    while let Some(b) = text.get(at) {
        match b {
            b'0'..=b'9' => {
                number.digits += 1;
                match number.unscaled.push(b - b'0') {
                    Some(longer) => (number.unscaled, number.scale) = (longer, number.scale + point as i32),
                    None => number.scale -= !point as i32,
                }
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

/// Digits of the longest decimal that MySQL computes with.
const DECIMAL_DIGITS_MAX: i32 = 81;

impl Number {
    /// Digits in front of the point.
    fn whole_digits(&self) -> i32 {
        i32::try_from(self.digits).unwrap_or(i32::MAX).saturating_sub(self.scale)
    }

    /// The number times 10^scale, rounded half away from zero. `None`: it does not fit 128 bits.
    fn rescale(&self, scale: i32) -> Option<i128> {
        let Magnitude::Narrow(unscaled) = self.unscaled else { return self.rescale_256(scale)?.to_i128() };
        let value = if unscaled == 0 {
            0
        } else if scale >= self.scale {
            unscaled.checked_mul(pow10((scale - self.scale) as u32)?)?
        } else {
            pow10((self.scale - scale) as u32).map_or(0, |power| div_round(unscaled, power))
        };
        Some(if self.negative { -value } else { value })
    }

    /// As [`Number::rescale`], in 256 bits.
    fn rescale_256(&self, scale: i32) -> Option<i256> {
        let unscaled = match self.unscaled {
            Magnitude::Narrow(n) => i256::from_i128(n),
            Magnitude::Wide(n) => n,
        };
        let unscaled = if self.negative { unscaled.wrapping_neg() } else { unscaled };
        // Only the distance matters: one of the two is zero.
        let distance = |n: i32| u8::try_from(n).unwrap_or(u8::MAX);
        match scale >= self.scale {
            true => rescale_256(unscaled, 0, distance(scale - self.scale)),
            false => rescale_256(unscaled, distance(self.scale - scale), 0),
        }
    }
}

/// An integer in `min..=max`. Fractions are rounded, as MySQL does.
#[inline]
pub fn integer(text: &[u8], min: i128, max: i128) -> Result<i128, Unfit<i128>> {
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
fn integer_slow(text: &[u8], min: i128, max: i128) -> Result<i128, Unfit<i128>> {
    let mut number = read_number(text);
    if number.rest && number.digits > 0 {
        number = read_number(without_empty_exponent(text));
    }
    if number.digits == 0 {
        return Err(Unfit::new(StoreFault::Incorrect("integer"), 0));
    }
    match number.rescale(0) {
        Some(n) if min <= n && n <= max => {
            if number.rest {
                Err(Unfit::new(StoreFault::Truncated, n))
            } else {
                Ok(n)
            }
        }
        _ => Err(Unfit::new(StoreFault::OutOfRange, if number.negative { min } else { max })),
    }
}

/// The text without an exponent that has no digits: one belongs to an integer (MySQL: `my_strntoull10rnd`).
fn without_empty_exponent(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    let unsigned = text.strip_suffix(b"+").or_else(|| text.strip_suffix(b"-")).unwrap_or(text);
    unsigned.strip_suffix(b"e").or_else(|| unsigned.strip_suffix(b"E")).unwrap_or(text)
}

/// A decimal with `scale` digits behind the point and unscaled value up to `max`. More digits are rounded.
#[inline]
pub fn decimal(text: &[u8], scale: u8, max: i128) -> Result<i128, Unfit<i128>> {
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
fn decimal_slow(text: &[u8], scale: u8, max: i128) -> Result<i128, Unfit<i128>> {
    let number = read_number(text);
    fitted_decimal(&number, number.rescale(scale as i32), -max..=max)
}

/// A decimal with `scale` digits behind the point and unscaled value up to `max`. More digits are rounded.
pub fn decimal_256(text: &[u8], scale: u8, max: i256) -> Result<i256, Unfit<i256>> {
    let number = read_number(text);
    fitted_decimal(&number, number.rescale_256(scale as i32), max.wrapping_neg()..=max)
}

/// The number that was read, if it is one and in range; `unscaled`: at the column's scale.
fn fitted_decimal<T: PartialOrd + Copy + Default>(
    number: &Number,
    unscaled: Option<T>,
    range: RangeInclusive<T>,
) -> Result<T, Unfit<T>> {
    match unscaled {
        _ if number.digits == 0 => Err(Unfit::new(StoreFault::Incorrect("decimal"), T::default())),
        Some(n) if range.contains(&n) && number.rest => Err(Unfit::new(StoreFault::CutDecimal, n)),
        Some(n) if range.contains(&n) => Ok(n),
        // Beyond all decimals, MySQL does not look at what stands behind the number.
        _ if number.rest && number.whole_digits() <= DECIMAL_DIGITS_MAX => {
            let end = if number.negative { range.start() } else { range.end() };
            Err(Unfit::new(StoreFault::CutBeyond { is_exact: true }, *end))
        }
        _ => Err(Unfit::new(StoreFault::OutOfRange, if number.negative { *range.start() } else { *range.end() })),
    }
}

/// A floating-point number with magnitude up to `max`, and with the digits that the column has, if it says so.
pub fn float(text: &[u8], max: f64, digits: Option<FloatDigits>) -> Result<f64, Unfit<f64>> {
    let fitted = |x: f64| digits.map_or(Ok(x), |d| d.fit(x));
    match any_float(text, max) {
        Ok(x) => fitted(x).map_err(|largest| Unfit::new(StoreFault::OutOfRange, largest)),
        Err(unfit) => Err(unfit.map(|x| fitted(x).unwrap_or_else(|largest| largest))),
    }
}

fn any_float(text: &[u8], max: f64) -> Result<f64, Unfit<f64>> {
    let text = text.trim_ascii();
    let longest = |n: usize| std::str::from_utf8(&text[..n]).ok().and_then(|s| s.parse::<f64>().ok());
    // Rust also reads "inf" and "nan", which MySQL does not.
    let numeric = text.iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
    let (value, used) = match longest(numeric) {
        Some(value) => (value, numeric),
        None => (0..numeric).rev().find_map(|n| longest(n).map(|v| (v, n))).unwrap_or((0.0, 0)),
    };
    if value.abs() > max {
        return Err(Unfit::new(StoreFault::OutOfRange, max.copysign(value)));
    }
    if used == 0 || used < text.len() {
        return Err(Unfit::new(StoreFault::Truncated, value));
    }
    Ok(value)
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
