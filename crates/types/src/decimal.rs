//! Exact decimal numbers: an unscaled 256-bit integer and the number of digits behind the point.
//!
//! Nearly all numbers fit 128 bits, and operations on those stay in 128 bits. Results that need more than 256 bits in
//! between (the product of two numbers of 65 digits) are computed with `num-bigint`.

pub use arrow_buffer::i256;

use crate::wide::{divide_round_256, mul_div_cut_256, mul_div_round_256, quotient_and_rest};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, fmt};

/// `unscaled / 10^scale`. Holds [`DIGITS_MAX`] digits.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(from = "StoredDecimal", into = "StoredDecimal")]
pub struct Decimal {
    /// The unscaled number in two's complement, the lowest word first. Words of 64 bits, because an integer that asks
    /// for 16-byte alignment would make every [`crate::Value`] 16 bytes larger.
    words: [u64; 4],
    pub scale: u8,
}

/// Digits of the largest unscaled number.
pub const DIGITS_MAX: u32 = 76;
/// Digits of the largest number in 128 bits.
pub const NARROW_DIGITS_MAX: u32 = 38;

/// A decimal as files have it: `unscaled + high * 10^38`. Numbers of up to 38 digits have no `high`.
#[derive(Serialize, Deserialize)]
struct StoredDecimal {
    unscaled: i128,
    #[serde(default, skip_serializing_if = "is_zero")]
    high: i128,
    scale: u8,
}

fn is_zero(x: &i128) -> bool {
    *x == 0
}

impl From<Decimal> for StoredDecimal {
    fn from(d: Decimal) -> StoredDecimal {
        let (high, low) = match d.narrow() {
            Some(unscaled) => (0, unscaled),
            None => {
                let (high, low) = quotient_and_rest(d.unscaled(), POWERS[NARROW_DIGITS_MAX as usize]);
                (high.as_i128(), low.as_i128())
            }
        };
        StoredDecimal { unscaled: low, high, scale: d.scale }
    }
}

impl From<StoredDecimal> for Decimal {
    fn from(d: StoredDecimal) -> Decimal {
        let high = i256::from_i128(d.high).wrapping_mul(POWERS[NARROW_DIGITS_MAX as usize]);
        Decimal::wide(high.wrapping_add(i256::from_i128(d.unscaled)), d.scale)
    }
}

/// 10^n for n up to 76.
static POWERS: [i256; DIGITS_MAX as usize + 1] = {
    let mut powers = [i256::ONE; DIGITS_MAX as usize + 1];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1].wrapping_mul(i256::from_i128(10));
        n += 1;
    }
    powers
};

/// 10^n for n up to 38.
pub fn pow10(n: u32) -> Option<i128> {
    10i128.checked_pow(n)
}

/// 10^n for n up to 76.
pub fn pow10_256(n: u32) -> Option<i256> {
    POWERS.get(n as usize).copied()
}

/// Returns true if a number has at most [`DIGITS_MAX`] digits.
pub fn fits_256(unscaled: i256) -> bool {
    let limit = POWERS[DIGITS_MAX as usize];
    unscaled < limit && unscaled > limit.wrapping_neg()
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
/// nine digits, at least `increment` more than the operands have.
pub fn quotient_scale(dividend: u32, divisor: u32, increment: u32) -> u32 {
    let words = |digits: u32| digits.div_ceil(9) * 9;
    let spare = words(dividend) - dividend + words(divisor) - divisor;
    words(words(dividend) + words(divisor) + increment.saturating_sub(spare))
}

/// The [`quotient_scale`] of a division whose result has `result` digits behind the point. Its increment is not known:
/// it is the default, zero if the result has no digits, and larger if the result has more than the default gives.
pub fn quotient_scale_for(dividend: u32, divisor: u32, result: u32) -> u32 {
    let increment = if result == 0 { 0 } else { DIV_INCREMENT };
    match quotient_scale(dividend, divisor, increment) {
        computed if computed < result => result.div_ceil(9) * 9,
        computed => computed,
    }
}

/// `unscaled` at another scale, rounded half away from zero. `None` if it does not fit 128 bits.
pub fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        unscaled.checked_mul(pow10((to - from) as u32)?)
    } else {
        // Half of 10^39 is more than 128 bits hold.
        Some(pow10((from - to) as u32).map_or(0, |unit| div_round(unscaled, unit)))
    }
}

/// `unscaled` at another scale, rounded half away from zero. `None` if it has more than [`DIGITS_MAX`] digits.
pub fn rescale_256(unscaled: i256, from: u8, to: u8) -> Option<i256> {
    if to == from || unscaled == i256::ZERO {
        return Some(unscaled);
    }
    if to > from {
        return unscaled.checked_mul(pow10_256((to - from) as u32)?).filter(|n| fits_256(*n));
    }
    // Half of 10^77 is more than 256 bits hold.
    Some(pow10_256((from - to) as u32).map_or(i256::ZERO, |unit| divide_round_256(unscaled, unit)))
}

/// The quotient of unscaled numbers of scale `a` and `b`, as MySQL computes it: cut behind the digits to which it is
/// computed, and rounded if its type has fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotientDigits {
    /// Digits behind the point of the quotient.
    pub scale: u8,
    /// Powers of ten that the dividend is multiplied with; if negative, the divisor.
    pub shift: i32,
    /// True if digits behind the last are cut; false if the last is rounded.
    pub is_cut: bool,
}

impl QuotientDigits {
    /// `scale`: of the quotient's type.
    pub fn of(a: u8, b: u8, scale: u8) -> QuotientDigits {
        let computed = quotient_scale_for(a as u32, b as u32, scale as u32);
        let is_cut = computed <= scale as u32;
        let scale = if is_cut { computed as u8 } else { scale };
        QuotientDigits { scale, shift: scale as i32 + b as i32 - a as i32, is_cut }
    }

    /// The quotient of two unscaled numbers; `None` if it has more than [`DIGITS_MAX`] digits or `b` is zero.
    pub fn divide(self, a: i256, b: i256) -> Option<i256> {
        let power = pow10_256(self.shift.unsigned_abs())?;
        let divide = if self.is_cut { mul_div_cut_256 } else { mul_div_round_256 };
        let quotient = match self.shift >= 0 {
            true => divide(a, power, b)?,
            false => divide(a, i256::ONE, b.checked_mul(power)?)?,
        };
        Some(quotient).filter(|q| fits_256(*q))
    }
}

impl Decimal {
    #[inline]
    pub const fn new(unscaled: i128, scale: u8) -> Decimal {
        let sign = (unscaled >> 127) as u64;
        Decimal { words: [unscaled as u64, (unscaled >> 64) as u64, sign, sign], scale }
    }

    #[inline]
    pub const fn wide(unscaled: i256, scale: u8) -> Decimal {
        let (low, high) = unscaled.to_parts();
        Decimal { words: [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64], scale }
    }

    /// The number without its point.
    #[inline]
    pub const fn unscaled(self) -> i256 {
        let [a, b, c, d] = self.words;
        i256::from_parts(a as u128 | (b as u128) << 64, (c as u128 | (d as u128) << 64) as i128)
    }

    /// The number without its point, if 128 bits hold it.
    #[inline]
    pub const fn narrow(self) -> Option<i128> {
        let [a, b, c, d] = self.words;
        let sign = (b as i64 >> 63) as u64;
        if c == sign && d == sign { Some((a as u128 | (b as u128) << 64) as i128) } else { None }
    }

    pub const fn is_zero(self) -> bool {
        matches!(self.words, [0, 0, 0, 0])
    }

    pub const fn is_negative(self) -> bool {
        (self.words[3] as i64) < 0
    }

    /// Returns the number with another scale, rounded half away from zero; `None` if it has more than 76 digits.
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        if scale == self.scale {
            return Some(self);
        }
        if let Some(unscaled) = self.narrow().and_then(|n| rescale(n, self.scale, scale)) {
            return Some(Decimal::new(unscaled, scale));
        }
        Some(Decimal::wide(rescale_256(self.unscaled(), self.scale, scale)?, scale))
    }

    /// Returns the number with at most so many digits behind the point, without those that are behind them.
    pub fn cut(self, scale: u8) -> Decimal {
        match self.scale.checked_sub(scale) {
            None | Some(0) => self,
            Some(digits) => match (self.narrow(), pow10(digits as u32)) {
                (Some(n), Some(unit)) => Decimal::new(n / unit, scale),
                _ => {
                    let unit = pow10_256(digits as u32);
                    let kept = unit.and_then(|unit| self.unscaled().checked_div(unit));
                    Decimal::wide(kept.unwrap_or(i256::ZERO), scale)
                }
            },
        }
    }

    /// Returns the number without zeros at the end of its fraction.
    pub fn without_zeros(self) -> Decimal {
        let mut shortest = self;
        while let Some(scale) = shortest.scale.checked_sub(1) {
            let shorter = shortest.cut(scale);
            if shorter != shortest {
                break;
            }
            shortest = shorter;
        }
        shortest
    }

    /// Returns the number with at most so many digits behind the point, rounded half away from zero.
    pub fn rounded(self, scale: u8) -> Decimal {
        self.rescale(scale.min(self.scale)).unwrap_or(self)
    }

    /// The nearest integer, halves away from zero.
    pub fn round(self) -> i256 {
        self.rounded(0).unscaled()
    }

    /// Digits in all, at least one more than the scale needs is not counted: 0.05 has precision 2.
    pub fn precision(self) -> u8 {
        let digits = match self.narrow().map(i128::unsigned_abs) {
            Some(narrow) => match u64::try_from(narrow) {
                Ok(short) => short.checked_ilog10(),
                Err(_) => narrow.checked_ilog10(),
            },
            None => {
                let magnitude = self.unscaled().wrapping_abs();
                Some(POWERS.partition_point(|power| *power <= magnitude) as u32 - 1)
            }
        };
        let digits = digits.map_or(1, |last| last as u8 + 1);
        digits.max(self.scale)
    }

    /// Returns true if the number has no digits beyond those of `DECIMAL(precision, ..)` of the same scale.
    pub fn fits(self, precision: u8) -> bool {
        self.precision() <= precision
    }

    /// Reads `[+-]digits[.digits]` (no exponent); `None` when the text is anything else or has more than 76 digits.
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
        let all = || whole.bytes().chain(fraction.bytes());
        if !all().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let magnitude = unsigned_of_digits(all())?;
        let unscaled = if negative { magnitude.wrapping_neg() } else { magnitude };
        Some(Decimal::wide(unscaled, u8::try_from(fraction.len()).ok()?))
    }

    pub fn to_f64(self) -> f64 {
        const EXACT_POWERS: u8 = 22;
        const EXACT_INTEGERS: u128 = 1 << 53;
        if let Some(n) = self.narrow().filter(|n| self.scale <= EXACT_POWERS && n.unsigned_abs() <= EXACT_INTEGERS) {
            // Both numbers are exact doubles, so that one division rounds correctly.
            return n as f64 / 10f64.powi(i32::from(self.scale));
        }
        // Through text, so that the nearest double is found and not one off by an ulp.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    fn compare(self, other: Decimal) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.rescale(scale), other.rescale(scale)) {
            (Some(a), Some(b)) => match (a.narrow(), b.narrow()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => a.unscaled().cmp(&b.unscaled()),
            },
            // What has too many digits at the scale of the other is the larger, or the less.
            (None, _) => i256::ZERO.cmp(&self.unscaled()).reverse(),
            (_, None) => i256::ZERO.cmp(&other.unscaled()),
        }
    }
}

/// Exact arithmetic. `None`: more than [`DIGITS_MAX`] digits.
impl Decimal {
    fn fitting(unscaled: i256, scale: u8) -> Option<Decimal> {
        fits_256(unscaled).then(|| Decimal::wide(unscaled, scale))
    }

    /// Both numbers at the larger of their scales.
    fn aligned(self, other: Decimal) -> Option<(i256, i256, u8)> {
        let scale = self.scale.max(other.scale);
        Some((self.rescale(scale)?.unscaled(), other.rescale(scale)?.unscaled(), scale))
    }

    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let (a, b, scale) = self.aligned(other)?;
        Decimal::fitting(a.checked_add(b)?, scale)
    }

    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.negated())
    }

    pub fn negated(self) -> Decimal {
        Decimal::wide(self.unscaled().wrapping_neg(), self.scale)
    }

    pub fn abs(self) -> Decimal {
        if self.is_negative() { self.negated() } else { self }
    }

    /// The product with `scale` digits behind the point, rounded.
    pub fn product(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let natural = self.scale.checked_add(other.scale)?;
        if let (Some(a), Some(b)) = (self.narrow(), other.narrow())
            && let Some(product) = a.checked_mul(b)
        {
            return Decimal::new(product, natural).rescale(scale);
        }
        let (a, b) = (self.unscaled(), other.unscaled());
        match natural.checked_sub(scale) {
            Some(surplus) => Decimal::fitting(mul_div_round_256(a, b, pow10_256(surplus as u32)?)?, scale),
            None => Decimal::fitting(rescale_256(a.checked_mul(b)?, natural, scale)?, scale),
        }
    }

    /// The quotient, which has at most `scale` digits behind the point. The divisor is not zero.
    pub fn quotient(self, divisor: Decimal, scale: u8) -> Option<Decimal> {
        let digits = QuotientDigits::of(self.scale, divisor.scale, scale);
        Some(Decimal::wide(digits.divide(self.unscaled(), divisor.unscaled())?, digits.scale))
    }

    /// The quotient without what is behind the point. The divisor is not zero.
    pub fn whole_quotient(self, divisor: Decimal) -> Option<i256> {
        let shift = divisor.scale as i32 - self.scale as i32;
        QuotientDigits { scale: 0, shift, is_cut: true }.divide(self.unscaled(), divisor.unscaled())
    }

    /// The rest of the division without digits behind the point, which has the sign of `self`. The divisor is not zero.
    pub fn remainder(self, divisor: Decimal) -> Option<Decimal> {
        if let Some((a, b, scale)) = self.aligned(divisor) {
            return Some(Decimal::wide(a.checked_rem(b)?, scale));
        }
        let scale = self.scale.max(divisor.scale);
        let power = |d: Decimal| pow10_256((scale - d.scale) as u32);
        let rest =
            crate::wide::rest_of_products((self.unscaled(), power(self)?), (divisor.unscaled(), power(divisor)?))?;
        Decimal::fitting(rest, scale)
    }
}

/// The number of these digits (ASCII); `None` if there are more than [`DIGITS_MAX`] without leading zeros.
pub fn unsigned_of_digits(digits: impl Iterator<Item = u8>) -> Option<i256> {
    let (mut narrow, mut wide, mut count) = (0u128, None::<i256>, 0);
    for b in digits {
        let digit = (b - b'0') as u128;
        count += (count > 0 || digit > 0) as u32;
        match &mut wide {
            _ if count > DIGITS_MAX => return None,
            Some(wide) => *wide = wide.wrapping_mul(i256::from_i128(10)).wrapping_add(i256::from_parts(digit, 0)),
            None if count < NARROW_DIGITS_MAX => narrow = narrow * 10 + digit,
            None => {
                let so_far = i256::from_parts(narrow, 0).wrapping_mul(i256::from_i128(10));
                wide = Some(so_far.wrapping_add(i256::from_parts(digit, 0)));
            }
        }
    }
    Some(wide.unwrap_or(i256::from_parts(narrow, 0)))
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

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.narrow() {
            Some(narrow) => narrow.unsigned_abs().to_string(),
            None => {
                let magnitude = self.unscaled().wrapping_abs();
                let (high, low) = quotient_and_rest(magnitude, POWERS[NARROW_DIGITS_MAX as usize]);
                format!("{}{:0>38}", high.as_i128(), low.as_i128())
            }
        };
        let scale = self.scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let sign = if self.is_negative() { "-" } else { "" };
        if scale == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{fraction}") }
    }
}

#[cfg(test)]
#[path = "decimal_tests.rs"]
mod tests;
