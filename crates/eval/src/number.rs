//! Functions over numbers.

use super::arithmetic::{OutOfRange, bits, finite, to_decimal};
use muster_algebra::ScalarFunction;
use muster_types::{
    CastWarning, Decimal, ErrorCode, Value,
    cast::to_double,
    decimal::{div_round, i256, pow10, rescale_256},
};

/// A function of one or two numbers, none of them NULL; `None` for functions of other topics. The caller gives the
/// result its type.
pub(super) fn call(
    function: ScalarFunction,
    args: &[Value],
    warn: &mut dyn FnMut(CastWarning),
) -> Option<Result<Value, OutOfRange>> {
    use ScalarFunction::*;
    let x = args.first()?;
    let double = || to_double(x).0;
    Some(Ok(match function {
        Abs => return Some(abs(x)),
        Sign => Value::Int(sign(x)),
        Ceil => to_integer(x, f64::ceil, |d| !d.is_negative()),
        Floor => to_integer(x, f64::floor, Decimal::is_negative),
        Round => return Some(round(x, args.get(1).map_or(0, digits_arg))),
        Truncate => truncate(x, digits_arg(args.get(1)?)),
        Sqrt if double() < 0.0 => Value::Null,
        Sqrt => Value::Double(double().sqrt()),
        Pow => return Some(finite(double().powf(to_double(args.get(1)?).0)).map(Value::Double)),
        Exp => return Some(finite(double().exp()).map(Value::Double)),
        Ln | Log10 | Log2 if double() <= 0.0 => {
            let message = "Invalid argument for logarithm".to_string();
            warn(CastWarning { code: ErrorCode::InvalidArgumentForLogarithm, message });
            Value::Null
        }
        Log => logarithm(double(), to_double(args.get(1)?).0, warn),
        Ln => Value::Double(double().ln()),
        Log10 => Value::Double(double().log10()),
        // MySQL's quotient, whose last digit is not always that of the logarithm.
        Log2 => Value::Double(double().log2()),
        Sin => Value::Double(double().sin()),
        Cos => Value::Double(double().cos()),
        Tan => Value::Double(double().tan()),
        BitAnd => Value::UInt(bits(x) & bits(args.get(1)?)),
        BitOr => Value::UInt(bits(x) | bits(args.get(1)?)),
        BitXor => Value::UInt(bits(x) ^ bits(args.get(1)?)),
        BitNot => Value::UInt(!bits(x)),
        BitCount => Value::Int(match x {
            Value::Bytes(bytes) => bytes.iter().map(|b| i64::from(b.count_ones())).sum(),
            other => bits(other).count_ones().into(),
        }),
        ShiftLeft => Value::UInt(shift(bits(x), bits(args.get(1)?), u64::checked_shl)),
        ShiftRight => Value::UInt(shift(bits(x), bits(args.get(1)?), u64::checked_shr)),
        _ => return None,
    }))
}

/// `LOG(base, x)`. NULL with warning 3020 without a logarithm.
fn logarithm(base: f64, x: f64, warn: &mut dyn FnMut(CastWarning)) -> Value {
    if base <= 0.0 || x <= 0.0 || base == 1.0 {
        let message = "Invalid argument for logarithm".to_string();
        warn(CastWarning { code: ErrorCode::InvalidArgumentForLogarithm, message });
        return Value::Null;
    }
    Value::Double(x.ln() / base.ln())
}

/// The second argument of ROUND and TRUNCATE, as far as it can matter.
fn digits_arg(value: &Value) -> i64 {
    match value {
        Value::UInt(u) => i64::try_from(*u).unwrap_or(i64::MAX),
        other => bits(other) as i64,
    }
    .clamp(-400, 400)
}

/// Shifting by 64 and more gives 0.
fn shift(x: u64, by: u64, op: fn(u64, u32) -> Option<u64>) -> u64 {
    u32::try_from(by).ok().and_then(|by| op(x, by)).unwrap_or(0)
}

fn abs(x: &Value) -> Result<Value, OutOfRange> {
    Ok(match x {
        Value::Int(i) => Value::Int(i.checked_abs().ok_or(OutOfRange("BIGINT"))?),
        Value::UInt(_) | Value::Bool(_) => x.clone(),
        Value::Decimal(d) => Value::Decimal(d.abs()),
        _ => Value::Double(to_double(x).0.abs()),
    })
}

fn sign(x: &Value) -> i64 {
    match x {
        Value::Int(i) => i.signum(),
        Value::UInt(u) => (*u > 0) as i64,
        Value::Decimal(d) if d.is_negative() => -1,
        Value::Decimal(d) => !d.is_zero() as i64,
        _ => {
            let x = to_double(x).0;
            if x > 0.0 {
                1
            } else if x < 0.0 {
                -1
            } else {
                0
            }
        }
    }
}

/// CEIL and FLOOR. `is_away`: of a decimal with a fraction, whether its integer is the one farther from zero.
fn to_integer(x: &Value, approximate: fn(f64) -> f64, is_away: fn(Decimal) -> bool) -> Value {
    match x {
        Value::Int(_) | Value::UInt(_) | Value::Bool(_) => x.clone(),
        Value::Decimal(d) => {
            let cut = d.cut(0);
            let step = Decimal::new(if d.is_negative() { -1 } else { 1 }, 0);
            let farther = if is_away(*d) && cut != *d { cut.checked_add(step) } else { None };
            Value::Decimal(farther.unwrap_or(cut))
        }
        _ => Value::Double(approximate(to_double(x).0)),
    }
}

/// `ROUND(x, digits)`: exact numbers half away from zero, doubles to the nearest (halves to even).
fn round(x: &Value, digits: i64) -> Result<Value, OutOfRange> {
    match x {
        Value::Int(_) | Value::UInt(_) | Value::Bool(_) => {
            let n = to_decimal(x).narrow().unwrap_or(0);
            let rounded = match digits {
                0.. => n,
                // A 64-bit number has at most 20 digits.
                -20..0 => pow10(digits.unsigned_abs() as u32).map_or(0, |unit| div_round(n, unit) * unit),
                _ => 0,
            };
            match x {
                Value::UInt(_) => u64::try_from(rounded).map(Value::UInt).map_err(|_| OutOfRange("BIGINT UNSIGNED")),
                _ => i64::try_from(rounded).map(Value::Int).map_err(|_| OutOfRange("BIGINT")),
            }
        }
        Value::Decimal(d) => Ok(Value::Decimal(at_digits(*d, digits, Decimal::rounded))),
        _ => finite(double_at_digits(to_double(x).0, digits, f64::round_ties_even)).map(Value::Double),
    }
}

/// `TRUNCATE(x, digits)`: towards zero.
fn truncate(x: &Value, digits: i64) -> Value {
    match x {
        Value::Int(_) | Value::UInt(_) | Value::Bool(_) => {
            let n = at_digits(to_decimal(x), digits, Decimal::cut).narrow().unwrap_or(0);
            match x {
                Value::UInt(_) => Value::UInt(n as u64),
                _ => Value::Int(n as i64),
            }
        }
        Value::Decimal(d) => Value::Decimal(at_digits(*d, digits, Decimal::cut)),
        _ => Value::Double(double_at_digits(to_double(x).0, digits, f64::trunc)),
    }
}

/// The number with a number of digits behind the point (negative: zeros in front of it) as `shorten` leaves it.
fn at_digits(d: Decimal, digits: i64, shorten: fn(Decimal, u8) -> Decimal) -> Decimal {
    if digits >= d.scale as i64 {
        return d;
    }
    if let Ok(scale) = u8::try_from(digits) {
        return shorten(d, scale);
    }
    // Zeros in front of the point are digits behind it of a number that is so much less.
    let zeros = u8::try_from(-digits).unwrap_or(u8::MAX);
    let kept = match d.scale.checked_add(zeros) {
        Some(scale) => shorten(Decimal::wide(d.unscaled(), scale), 0).unscaled(),
        None => i256::ZERO,
    };
    Decimal::wide(rescale_256(kept, 0, zeros).unwrap_or(i256::ZERO), 0)
}

fn double_at_digits(x: f64, digits: i64, cut: fn(f64) -> f64) -> f64 {
    // Powers beyond 1e22 are exact only when they are read from text.
    let power: f64 = format!("1e{}", digits.unsigned_abs()).parse().unwrap_or(f64::INFINITY);
    match digits >= 0 {
        true if (x * power).is_finite() => cut(x * power) / power,
        true => x,
        false if power.is_finite() => cut(x / power) * power,
        false => 0.0,
    }
}
