//! Conversion to numbers.

use super::{CastWarning, CastWarnings};
use crate::{
    Decimal, ErrorCode, IntWidth, Value,
    decimal::{DIGITS_MAX, NARROW_DIGITS_MAX, pow10_256, unsigned_of_digits},
    json::JsonView,
    sql_type::DECIMAL_MAX_PRECISION,
    temporal,
};
use arrow_buffer::i256;

/// Parts of the number that a text begins with.
struct Prefix<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
    /// The number as a whole, as Rust reads it.
    text: &'a str,
    /// True if there is a digit, and nothing but white space follows.
    clean: bool,
}

fn split(text: &str, with_fraction: bool) -> Prefix<'_> {
    // In front of an integer only blanks and tabs are skipped (MySQL: `my_strtoll10`).
    let text = match with_fraction {
        true => text.trim_start_matches(is_space),
        false => text.trim_start_matches([' ', '\t']),
    };
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let start = matches!(bytes.first(), Some(b'-' | b'+')) as usize;
    let whole_end = digits(start);
    let mut end = whole_end;
    let mut fraction = "";
    let mut exponent = 0;
    if with_fraction {
        if bytes.get(end) == Some(&b'.') {
            let fraction_end = digits(end + 1);
            if fraction_end > end + 1 || whole_end > start {
                fraction = &text[end + 1..fraction_end];
                end = fraction_end;
            }
        }
        if end > start && matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = matches!(bytes.get(end + 1), Some(b'-' | b'+')) as usize;
            let exponent_end = digits((end + 1 + sign).min(bytes.len()));
            if exponent_end > end + 1 + sign {
                // A longer exponent is as good as infinite.
                let limit = if bytes[end + 1] == b'-' { -100_000 } else { 100_000 };
                exponent = text[end + 1..exponent_end].parse().unwrap_or(limit);
                end = exponent_end;
            }
        }
    }
    let has_digit = whole_end > start || !fraction.is_empty();
    Prefix {
        negative: bytes.first() == Some(&b'-'),
        whole: &text[start..whole_end],
        fraction,
        exponent,
        text: if has_digit { &text[..end] } else { "0" },
        clean: has_digit && text[end..].trim_end_matches(is_space).is_empty(),
    }
}

/// White space of ASCII, with the vertical tab.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// The integer a text begins with (0 without one; huge ones are cut to 38 digits), and whether it is the whole text.
pub fn integer_prefix(text: &str) -> (i128, bool) {
    let p = split(text, false);
    let limit = 10i128.pow(NARROW_DIGITS_MAX) - 1;
    let mut n = 0i128;
    for b in p.whole.bytes() {
        n = n.saturating_mul(10).saturating_add((b - b'0') as i128).min(limit);
    }
    (if p.negative { -n } else { n }, p.clean)
}

/// The exact number a text begins with, and whether it is the whole text. Digits behind the 76th are rounded away;
/// numbers too big become the largest there is.
pub fn decimal_prefix(text: &str) -> (Decimal, bool) {
    let p = split(text, true);
    let (unscaled, scale) = digits_to_decimal(p.whole, p.fraction, p.exponent);
    (Decimal::wide(if p.negative { unscaled.wrapping_neg() } else { unscaled }, scale), p.clean)
}

/// The number without its sign and its point, and the digits behind the point.
fn digits_to_decimal(whole: &str, fraction: &str, exponent: i32) -> (i256, u8) {
    let digits = || whole.bytes().chain(fraction.bytes());
    let Some(leading_zeros) = digits().position(|d| d != b'0') else {
        return (i256::ZERO, u8::try_from(fraction.len().min(DIGITS_MAX as usize)).unwrap_or(0));
    };
    // Digits in front of the point, counted from the first that is not 0.
    let before_point = whole.len() as i64 + exponent as i64 - leading_zeros as i64;
    if before_point > DIGITS_MAX as i64 {
        return (largest(DIGITS_MAX), 0);
    }
    let scale_wanted = (fraction.len() as i64 - exponent as i64).max(0);
    let scale = scale_wanted.min(DIGITS_MAX as i64 - before_point.max(0));
    let keep = before_point + scale;
    if keep < 0 {
        return (i256::ZERO, scale as u8);
    }
    let mut rest = digits().skip(leading_zeros);
    let kept = (0..keep).map(|_| rest.next().unwrap_or(b'0'));
    let mut unscaled = unsigned_of_digits(kept).unwrap_or(largest(DIGITS_MAX));
    if rest.next().unwrap_or(b'0') >= b'5' {
        unscaled = unscaled.wrapping_add(i256::ONE).min(largest(DIGITS_MAX));
    }
    (unscaled, scale as u8)
}

/// The largest number of so many digits.
fn largest(digits: u32) -> i256 {
    pow10_256(digits).map_or(i256::MAX, |power| power.wrapping_sub(i256::ONE))
}

/// Returns true if a text begins with a number, be it one of a fraction alone.
pub fn has_number(text: &str) -> bool {
    let p = split(text, true);
    !p.whole.is_empty() || !p.fraction.is_empty()
}

/// The double a text begins with, and whether it is the whole text.
pub fn double_prefix(text: &str) -> (f64, bool) {
    let p = split(text, true);
    let x: f64 = p.text.parse().unwrap_or(0.0);
    // MySQL has no infinities.
    (x.clamp(f64::MIN, f64::MAX), p.clean && x.is_finite())
}

/// Any value as a double; 0 for NULL.
pub fn to_double(value: &Value) -> (f64, Option<CastWarning>) {
    let x = match value {
        Value::Null => 0.0,
        Value::Bool(b) => *b as u8 as f64,
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Decimal(d) => d.to_f64(),
        Value::Float(x) => *x as f64,
        Value::Double(x) => *x,
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => temporal_decimal(value).to_f64(),
        Value::Json(document) => return super::json::double_of(JsonView::new(document)),
        Value::Text(_) | Value::Bytes(_) => {
            let text = value.to_text(6).unwrap_or_default();
            let (x, clean) = double_prefix(&text);
            // A blank text is 0 without a warning.
            let is_silent = clean || text.trim_end().is_empty();
            return (x, if is_silent { None } else { CastWarning::truncated("DOUBLE", &text) });
        }
    };
    (x, None)
}

/// A temporal value as MySQL's number, with six digits of fraction when it has any.
fn temporal_decimal(value: &Value) -> Decimal {
    let (whole, micros) = match value {
        Value::Date(d) => (temporal::date_number(*d), 0),
        Value::DateTime(t) => (temporal::datetime_number(*t), t.rem_euclid(temporal::MICROS_PER_SECOND)),
        Value::Time(t) => (temporal::clock_number(*t), t % temporal::MICROS_PER_SECOND),
        _ => (0, 0),
    };
    match micros {
        0 => Decimal::new(whole as i128, 0),
        _ => Decimal::new(whole as i128 * 1_000_000 + micros as i128, 6),
    }
}

pub(super) fn to_decimal(value: &Value, precision: u8, scale: u8) -> (Value, Option<CastWarning>) {
    let (exact, warning) = match value {
        Value::Int(i) => (Decimal::new(*i as i128, 0), None),
        Value::UInt(u) => (Decimal::new(*u as i128, 0), None),
        Value::Bool(b) => (Decimal::new(*b as i128, 0), None),
        Value::Decimal(d) => (*d, None),
        // The shortest text that reads back the same, as MySQL does.
        Value::Double(x) => (decimal_prefix(&format!("{x:e}")).0, None),
        Value::Float(x) => (decimal_prefix(&format!("{x:e}")).0, None),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => (temporal_decimal(value), None),
        Value::Text(_) | Value::Bytes(_) | Value::Json(_) | Value::Null => {
            let text = value.to_text(6).unwrap_or_default();
            let (d, clean) = decimal_prefix(&text);
            (d, if clean { None } else { CastWarning::truncated("DECIMAL", &text) })
        }
    };
    let scale = scale.min(DIGITS_MAX as u8);
    let precision = precision.max(scale);
    match exact.rescale(scale) {
        Some(d) if d.fits(precision) => (Value::Decimal(d), warning),
        _ => {
            let edge = Decimal::wide(largest(precision as u32), scale);
            let edge = if exact.is_negative() { edge.negated() } else { edge };
            // See `SqlType::compared_decimal`.
            let is_compared = precision > DECIMAL_MAX_PRECISION;
            (Value::Decimal(edge), if is_compared { warning } else { CastWarning::out_of_range() })
        }
    }
}

/// The warnings of a decimal: a floating-point number that has more digits than any decimal has one of its own.
pub(super) fn beyond_decimals(value: &Value, warning: Option<CastWarning>) -> CastWarnings {
    /// The least number of more digits than nine words of nine digits hold.
    const BEYOND: f64 = 1e81;
    match value {
        Value::Double(x) if x.abs() >= BEYOND => {
            // MySQL shows the number without its exponent.
            let shown = format!("{x:e}");
            let digits = shown.split('e').next().unwrap_or_default();
            CastWarnings { of_value: CastWarning::truncated("DECIMAL", digits), second: warning }
        }
        _ => warning.into(),
    }
}

/// Smallest and largest value of an integer type.
pub fn int_range(width: IntWidth, unsigned: bool) -> (i128, i128) {
    let bits = match width {
        IntWidth::Tiny => 8,
        IntWidth::Small => 16,
        IntWidth::Medium => 24,
        IntWidth::Int => 32,
        IntWidth::Big => 64,
    };
    if unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

pub(super) fn to_int(value: &Value, width: IntWidth, unsigned: bool) -> (Value, Option<CastWarning>) {
    let text = || value.to_text(6).unwrap_or_default();
    let (n, mut warning) = match value {
        Value::Null => (0, None),
        Value::Bool(b) => (*b as i128, None),
        Value::Int(i) => (*i as i128, None),
        Value::UInt(u) => (*u as i128, None),
        Value::Decimal(d) => (round_to_integer(*d), None),
        // To the nearest, halves to even, as C's rint does.
        Value::Float(x) => (x.round_ties_even() as i128, None),
        Value::Double(x) => (x.round_ties_even() as i128, None),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            let overflow = match value {
                Value::DateTime(t) if temporal::rounds_beyond_last(*t, 0) => {
                    let message = "Datetime function: datetime field overflow";
                    CastWarning::new(ErrorCode::DatetimeFunctionOverflow, message)
                }
                _ => None,
            };
            (round_to_integer(rounded_temporal(value)), overflow)
        }
        Value::Text(_) | Value::Bytes(_) | Value::Json(_) => {
            let text = text();
            let (n, clean) = integer_prefix(&text);
            (n, if clean { None } else { CastWarning::truncated("INTEGER", &text) })
        }
    };
    let is_text = matches!(value, Value::Text(_) | Value::Bytes(_));
    // A text is the nearest integer of 64 bits, signed or not, before it is anything else (MySQL: `my_strtoll10`).
    let is_cut = is_text && !(i64::MIN as i128..=u64::MAX as i128).contains(&n);
    let n = if is_cut { n.clamp(i64::MIN as i128, u64::MAX as i128) } else { n };
    if is_cut {
        warning = CastWarning::truncated("INTEGER", &text());
    }
    let (min, max) = int_range(width, unsigned);
    let is_double = matches!(value, Value::Float(_) | Value::Double(_));
    let is_exact_or_double = is_double || matches!(value, Value::Decimal(_));
    // What a double can be of integers is a signed one.
    let max = if is_double && width == IntWidth::Big { max.min(i64::MAX.into()) } else { max };
    let fitted = if (min..=max).contains(&n) {
        // MySQL takes the sign of a text for a negative number, be it zero or not.
        if is_text && unsigned && width == IntWidth::Big && is_negative_zero(&text()) {
            warning = CastWarning::new(ErrorCode::Unknown, COMPLEMENT_OF_NEGATIVE);
        }
        n
    } else if width == IntWidth::Big && is_complement(value, n, unsigned) {
        if is_text && !is_cut {
            let message = match unsigned {
                true => COMPLEMENT_OF_NEGATIVE,
                false => "Cast to signed converted positive out-of-range integer to its negative complement",
            };
            warning = CastWarning::new(ErrorCode::Unknown, message);
        }
        if unsigned { n as i64 as u64 as i128 } else { n as u64 as i64 as i128 }
    } else {
        warning = match width {
            IntWidth::Big if matches!(value, Value::Decimal(_)) => CastWarning::truncated("DECIMAL", &text()),
            IntWidth::Big => CastWarning::truncated("INTEGER", &text()),
            _ => CastWarning::out_of_range(),
        };
        match value {
            // A decimal or a double is a signed integer first, whose bits are taken.
            _ if is_exact_or_double && width == IntWidth::Big && unsigned && n < 0 => i64::MIN as u64 as i128,
            _ => n.clamp(min, max),
        }
    };
    (if unsigned { Value::UInt(fitted as u64) } else { Value::Int(fitted as i64) }, warning)
}

/// The message of warning 1105 for a negative number that becomes an unsigned one.
const COMPLEMENT_OF_NEGATIVE: &str = "Cast to unsigned converted negative integer to its positive complement";

/// Returns true for a text that begins with zero and a minus sign.
fn is_negative_zero(text: &str) -> bool {
    let p = split(text, false);
    p.negative && !p.whole.is_empty() && p.whole.bytes().all(|b| b == b'0')
}

/// Returns true if the 64 bits are taken as they are: between the two 64-bit types, and from negative numbers to
/// unsigned ones.
fn is_complement(value: &Value, n: i128, unsigned: bool) -> bool {
    let same_bits =
        if unsigned { n >= i64::MIN as i128 && n < 0 } else { n > i64::MAX as i128 && n <= u64::MAX as i128 };
    same_bits && (unsigned || !matches!(value, Value::Decimal(_) | Value::Double(_) | Value::Float(_)))
}

fn round_to_integer(d: Decimal) -> i128 {
    // Beyond 128 bits it is out of every range.
    d.round().to_i128().unwrap_or(if d.is_negative() { i128::MIN } else { i128::MAX })
}

/// Fractional seconds round into the seconds before the digits become a number: 23:59:59.5 is the next day.
fn rounded_temporal(value: &Value) -> Decimal {
    temporal_decimal(&match value {
        // Behind the last moment there is its day (MySQL: `my_datetime_adjust_frac`).
        Value::DateTime(t) if temporal::rounds_beyond_last(*t, 0) => {
            let day = temporal::MICROS_PER_DAY;
            Value::DateTime(t.div_euclid(day) * day)
        }
        Value::DateTime(t) => Value::DateTime(temporal::round_datetime(*t, 0)),
        Value::Time(t) => Value::Time(temporal::round_fraction(*t, 0)),
        other => other.clone(),
    })
}
