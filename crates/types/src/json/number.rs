//! Numbers of JSON text, computed step by step as RapidJSON does at its normal precision, so that doubles have the bits
//! that they have in MySQL (the last bit of a number of more than 17 digits may differ from the nearest double).

use super::{JsonValue, text::TextError};

/// What a number is read from.
struct Digits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Digits<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// The next digit, unless something else comes.
    fn digit(&mut self) -> Option<u8> {
        let digit = self.peek().checked_sub(b'0').filter(|d| *d < 10)?;
        self.at += 1;
        Some(digit)
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == byte && self.at < self.bytes.len();
        self.at += usize::from(is_there);
        is_there
    }
}

/// Integers up to here take another decimal digit as doubles without loss.
const EXACT_MAX: u64 = 0x1F_FFFF_FFFF_FFFF;
/// Digits that a double is computed of.
const SIGNIFICANT: u32 = 17;
/// A double that another digit may make infinite.
const NEARLY_INFINITE: f64 = 1.797_693_134_862_315_7e307;
/// Exponents beyond this one are all alike.
const EXPONENT_END: i32 = 214_748_364;

/// A number as far as it has been read.
struct Reading {
    /// The number while it is an integer of 64 bits.
    exact: Option<u64>,
    /// The number without its exponents once it is none.
    double: f64,
    /// Digits that count.
    significant: u32,
    /// The exponent that the digits behind the point make.
    exponent: i32,
    is_double: bool,
}

/// The number at a position, and where it ends.
pub(super) fn number(bytes: &[u8], start: usize) -> Result<(JsonValue, usize), TextError> {
    let mut digits = Digits { bytes, at: start };
    let minus = digits.take(b'-');
    let mut reading = Reading { exact: Some(0), double: 0.0, significant: 0, exponent: 0, is_double: false };
    reading.whole(&mut digits, minus, start)?;
    if digits.take(b'.') {
        reading.fraction(&mut digits)?;
    }
    let mut exponent = 0;
    if digits.take(b'e') || digits.take(b'E') {
        reading.become_double();
        exponent = exponent_of(&mut digits, 308 - reading.exponent, start)?;
    }
    if !reading.is_double {
        return Ok((integer(reading.exact.unwrap_or(0), minus), digits.at));
    }
    let value = scaled(reading.double, exponent.saturating_add(reading.exponent));
    if value.is_infinite() {
        return Err(too_big(start));
    }
    Ok((JsonValue::Double(if minus { -value } else { value }), digits.at))
}

impl Reading {
    fn become_double(&mut self) {
        if let Some(whole) = self.exact.take() {
            self.double = whole as f64;
        }
        self.is_double = true;
    }

    /// The digits in front of the point, exact as long as they fit.
    fn whole(&mut self, digits: &mut Digits<'_>, minus: bool, start: usize) -> Result<(), TextError> {
        match digits.digit() {
            None => return Err(TextError::new("Invalid value.", digits.at)),
            // No digit follows a zero.
            Some(0) => return Ok(()),
            Some(first) => self.exact = Some(first.into()),
        }
        while let Some(digit) = digits.digit() {
            match self.exact.and_then(|whole| next_exact(whole, digit, minus)) {
                Some(next) => {
                    self.exact = Some(next);
                    self.significant += 1;
                }
                None => {
                    self.become_double();
                    if self.double >= NEARLY_INFINITE {
                        return Err(too_big(start));
                    }
                    self.double = self.double * 10.0 + f64::from(digit);
                }
            }
        }
        Ok(())
    }

    /// The digits behind the point: exact while a double is, then as many as count.
    fn fraction(&mut self, digits: &mut Digits<'_>) -> Result<(), TextError> {
        let mut next = digits.digit();
        if next.is_none() {
            return Err(TextError::new("Miss fraction part in number.", digits.at));
        }
        if let Some(mut whole) = self.exact {
            while let Some(digit) = next.filter(|_| whole <= EXACT_MAX) {
                whole = whole * 10 + u64::from(digit);
                self.exponent = self.exponent.saturating_sub(1);
                self.significant += u32::from(whole != 0);
                next = digits.digit();
            }
            self.exact = Some(whole);
        }
        self.become_double();
        while let Some(digit) = next {
            if self.significant < SIGNIFICANT {
                self.double = self.double * 10.0 + f64::from(digit);
                self.exponent -= 1;
                self.significant += u32::from(self.double > 0.0);
            }
            next = digits.digit();
        }
        Ok(())
    }
}

/// The exponent behind `e`, which is at most `most`.
fn exponent_of(digits: &mut Digits<'_>, most: i32, start: usize) -> Result<i32, TextError> {
    let negative = !digits.take(b'+') && digits.take(b'-');
    let Some(first) = digits.digit() else {
        return Err(TextError::new("Miss exponent in number.", digits.at));
    };
    let mut exponent = i32::from(first);
    while let Some(digit) = digits.digit() {
        exponent = exponent.saturating_mul(10).saturating_add(digit.into()).min(EXPONENT_END);
    }
    match negative {
        true => Ok(-exponent),
        false if exponent > most => Err(too_big(start)),
        false => Ok(exponent),
    }
}

fn too_big(start: usize) -> TextError {
    TextError::new("Number too big to be stored in double.", start)
}

/// The number with another digit, if it still is one of 64 bits.
fn next_exact(whole: u64, digit: u8, minus: bool) -> Option<u64> {
    let next = whole.checked_mul(10)?.checked_add(digit.into())?;
    (!minus || next <= i64::MIN.unsigned_abs()).then_some(next)
}

/// Positive integers of more than 32 bits are unsigned in MySQL.
fn integer(whole: u64, minus: bool) -> JsonValue {
    match (minus, whole) {
        (true, _) => JsonValue::Int((whole as i64).wrapping_neg()),
        (false, 0..=0xFFFF_FFFF) => JsonValue::Int(whole as i64),
        (false, _) => JsonValue::UInt(whole),
    }
}

/// `digits * 10^exponent` by one multiplication or division, or by two for the smallest numbers.
fn scaled(digits: f64, exponent: i32) -> f64 {
    let once = |x: f64, exponent: i32| match exponent {
        ..-308 => 0.0,
        0.. => x * power_of_ten(exponent),
        _ => x / power_of_ten(-exponent),
    };
    if exponent < -308 { once(once(digits, -308), exponent.saturating_add(308)) } else { once(digits, exponent) }
}

/// The double nearest to a power of ten.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}
