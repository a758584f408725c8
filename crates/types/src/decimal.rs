//! Exact decimal numbers: an unscaled 128-bit integer and the number of digits behind the point.

use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, fmt};

/// `unscaled / 10^scale`. Holds 38 digits.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Decimal {
    pub unscaled: i128,
    pub scale: u8,
}

/// 10^n for n up to 38.
pub fn pow10(n: u32) -> Option<i128> {
    10i128.checked_pow(n)
}

/// The bits of a number that 64 do not hold: 0 if it is an `i64`.
#[inline(always)]
pub fn beyond_i64(x: i128) -> u64 {
    (x >> 64) as u64 ^ (x as i64 >> 63) as u64
}

/// `a / b` rounded half away from zero, MySQL's rounding of exact values (manual 14.24.4). `b` is not zero.
pub fn div_round(a: i128, b: i128) -> i128 {
    let (q, r) = (a / b, a % b);
    if r.unsigned_abs() >= b.unsigned_abs() - r.unsigned_abs() {
        if (a < 0) == (b < 0) { q + 1 } else { q - 1 }
    } else {
        q
    }
}

/// Digits that `/` and AVG add behind the point: the default of `div_precision_increment`.
pub const DIV_INCREMENT: u32 = 4;

/// Digits behind the point to which a quotient is computed, and behind which it is cut (MySQL: `do_div_mod`): words of
/// nine digits, at least [`DIV_INCREMENT`] more than the operands have.
pub fn quotient_scale(dividend: u32, divisor: u32) -> u32 {
    let words = |digits: u32| digits.div_ceil(9) * 9;
    let spare = words(dividend) - dividend + words(divisor) - divisor;
    words(words(dividend) + words(divisor) + DIV_INCREMENT.saturating_sub(spare))
}

impl Decimal {
    pub fn new(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    /// Returns the number with another scale, rounded half away from zero; `None` if it has more than 38 digits.
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        let unscaled = match scale.cmp(&self.scale) {
            Ordering::Equal => self.unscaled,
            Ordering::Greater => self.unscaled.checked_mul(pow10((scale - self.scale) as u32)?)?,
            Ordering::Less => div_round(self.unscaled, pow10((self.scale - scale) as u32)?),
        };
        Some(Decimal { unscaled, scale })
    }

    /// Digits in all, at least one more than the scale needs is not counted: 0.05 has precision 2.
    pub fn precision(self) -> u8 {
        let digits = match u64::try_from(self.unscaled.unsigned_abs()) {
            Ok(short) => short.checked_ilog10(),
            Err(_) => self.unscaled.unsigned_abs().checked_ilog10(),
        };
        let digits = digits.map_or(1, |last| last as u8 + 1);
        digits.max(self.scale)
    }

    /// Reads `[+-]digits[.digits]` (no exponent); `None` when the text is anything else or has more than 38 digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut unscaled: i128 = 0;
        for b in whole.bytes().chain(fraction.bytes()) {
            if !b.is_ascii_digit() {
                return None;
            }
            unscaled = unscaled.checked_mul(10)?.checked_add((b - b'0') as i128)?;
        }
        if unscaled.unsigned_abs() >= 10u128.pow(38) {
            return None;
        }
        Some(Decimal {
            unscaled: if negative { -unscaled } else { unscaled },
            scale: u8::try_from(fraction.len()).ok()?,
        })
    }

    pub fn to_f64(self) -> f64 {
        // Through text, so that the nearest double is found and not one off by an ulp.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    fn compare(self, other: Decimal) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.rescale(scale), other.rescale(scale)) {
            (Some(a), Some(b)) => a.unscaled.cmp(&b.unscaled),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(*other)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.unsigned_abs().to_string();
        let scale = self.scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let sign = if self.unscaled < 0 { "-" } else { "" };
        if scale == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{fraction}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for text in ["0", "-1.50", "0.05", "99999999999999999999999999999999999999", "-0.00000001"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "-", "1e3", "1.2.3", "100000000000000000000000000000000000000"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        for (a, b, want) in [(5, 2, 3), (-5, 2, -3), (4, 3, 1), (-4, 3, -1), (5, -2, -3), (1, 2, 1), (1, 3, 0)] {
            assert_eq!(div_round(a, b), want, "{a}/{b}");
        }
    }
}
