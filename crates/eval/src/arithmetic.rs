//! Arithmetic: integers that never wrap, exact decimals, doubles that never become infinite.

use muster_algebra::ArithmeticOp;
use muster_types::{
    CastWarning, Decimal, ErrorCode, IntWidth, SqlError, SqlType, Value, cast, cast::to_double,
    decimal::NARROW_DIGITS_MAX,
};

/// The result does not fit its type; `0` is MySQL's name of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange(pub &'static str);

impl OutOfRange {
    /// Error 1690, which names the expression.
    pub fn in_expr(self, expr: &str) -> SqlError {
        SqlError::new(ErrorCode::DataOutOfRange, format!("{} value is out of range in '{expr}'", self.0))
    }
}

const DECIMAL: OutOfRange = OutOfRange("DECIMAL");
const DOUBLE: OutOfRange = OutOfRange("DOUBLE");

fn bigint(unsigned: bool) -> OutOfRange {
    OutOfRange(if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" })
}

/// `a op b` as a value of type `ty`. NULL if either is; NULL with warning 1365 when dividing by zero.
pub fn arithmetic(
    op: ArithmeticOp,
    a: &Value,
    b: &Value,
    ty: SqlType,
    warn: &mut dyn FnMut(CastWarning),
) -> Result<Value, OutOfRange> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    let result = match ty {
        SqlType::Int { unsigned, .. } => integers(op, a, b, unsigned)?,
        SqlType::Bool => integers(op, a, b, false)?,
        SqlType::Decimal { scale, .. } => decimals(op, to_decimal(a), to_decimal(b), scale)?.map(Value::Decimal),
        _ => doubles(op, to_double(a).0, to_double(b).0)?.map(Value::Double),
    };
    Ok(result.unwrap_or_else(|| {
        warn(CastWarning { code: ErrorCode::DivisionByZero, message: "Division by 0".into() });
        Value::Null
    }))
}

/// `None`: division by zero.
fn integers(op: ArithmeticOp, a: &Value, b: &Value, unsigned: bool) -> Result<Option<Value>, OutOfRange> {
    let result = match (whole(a), whole(b)) {
        (Some(x), Some(y)) => match op {
            ArithmeticOp::Add => x.checked_add(y),
            ArithmeticOp::Sub => x.checked_sub(y),
            ArithmeticOp::Mul => x.checked_mul(y),
            ArithmeticOp::Div | ArithmeticOp::IntDiv if y == 0 => return Ok(None),
            ArithmeticOp::Mod if y == 0 => return Ok(None),
            ArithmeticOp::Div | ArithmeticOp::IntDiv => x.checked_div(y),
            ArithmeticOp::Mod => x.checked_rem(y),
        },
        // DIV over decimals and doubles: their quotient without its fraction.
        _ if op == ArithmeticOp::IntDiv => {
            let (x, y) = (to_decimal(a), to_decimal(b));
            if y.is_zero() {
                return Ok(None);
            }
            x.whole_quotient(y).and_then(|quotient| quotient.to_i128())
        }
        _ => {
            let scaled = decimals(op, to_decimal(a), to_decimal(b), 0)?;
            match scaled {
                Some(d) => d.narrow(),
                None => return Ok(None),
            }
        }
    };
    let fitted = match unsigned {
        true => result.and_then(|n| u64::try_from(n).ok()).map(Value::UInt),
        false => result.and_then(|n| i64::try_from(n).ok()).map(Value::Int),
    };
    fitted.map(Some).ok_or(bigint(unsigned))
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(b) => Some(*b as i128),
        Value::Int(i) => Some(*i as i128),
        Value::UInt(u) => Some(*u as i128),
        _ => None,
    }
}

/// Any value but NULL as an exact number, with the digits behind the point that it has.
pub(super) fn to_decimal(value: &Value) -> Decimal {
    match value {
        Value::Decimal(d) => *d,
        Value::Text(s) => cast::decimal_prefix(s).0,
        Value::Float(x) => cast::decimal_prefix(&format!("{x:e}")).0,
        Value::Double(x) => cast::decimal_prefix(&format!("{x:e}")).0,
        other => match whole(other) {
            Some(n) => Decimal::new(n, 0),
            None => match muster_types::cast(other, SqlType::decimal(NARROW_DIGITS_MAX, 6)).0 {
                Value::Decimal(d) => d,
                _ => Decimal::new(0, 0),
            },
        },
    }
}

/// `None`: division by zero.
fn decimals(op: ArithmeticOp, a: Decimal, b: Decimal, scale: u8) -> Result<Option<Decimal>, OutOfRange> {
    if b.is_zero() && matches!(op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod) {
        return Ok(None);
    }
    let exact = match op {
        ArithmeticOp::Add => a.checked_add(b),
        ArithmeticOp::Sub => a.checked_sub(b),
        ArithmeticOp::Mod => a.remainder(b),
        ArithmeticOp::Mul => a.product(b, scale),
        // Cut behind the digits to which it is computed, and rounded if its type has fewer.
        ArithmeticOp::Div => a.quotient(b, scale),
        ArithmeticOp::IntDiv => a.whole_quotient(b).map(|quotient| Decimal::wide(quotient, 0)),
    };
    exact.and_then(|d| d.rescale(scale)).map(Some).ok_or(DECIMAL)
}

/// `None`: division by zero.
fn doubles(op: ArithmeticOp, a: f64, b: f64) -> Result<Option<f64>, OutOfRange> {
    let x = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Sub => a - b,
        ArithmeticOp::Mul => a * b,
        ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod if b == 0.0 => return Ok(None),
        ArithmeticOp::Div => a / b,
        ArithmeticOp::IntDiv => (a / b).trunc(),
        ArithmeticOp::Mod => a % b,
    };
    finite(x).map(Some)
}

pub(super) fn finite(x: f64) -> Result<f64, OutOfRange> {
    if x.is_finite() { Ok(x) } else { Err(DOUBLE) }
}

/// `-a` as a value of type `ty`.
pub fn negate(a: &Value, ty: SqlType) -> Result<Value, OutOfRange> {
    if a.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty {
        SqlType::Int { unsigned, .. } => {
            integers(ArithmeticOp::Sub, &Value::Int(0), a, unsigned)?.unwrap_or(Value::Null)
        }
        SqlType::Bool => integers(ArithmeticOp::Sub, &Value::Int(0), a, false)?.unwrap_or(Value::Null),
        SqlType::Decimal { scale, .. } => {
            let d = to_decimal(a).rescale(scale).ok_or(DECIMAL)?;
            Value::Decimal(d.negated())
        }
        _ => Value::Double(-to_double(a).0),
    })
}

/// The 64 bits of a value as bit functions see it (manual 14.12): integers as they are, others rounded to one.
pub(super) fn bits(value: &Value) -> u64 {
    match value {
        Value::UInt(u) => *u,
        Value::Int(i) => *i as u64,
        other => match muster_types::cast(other, SqlType::Int { width: IntWidth::Big, unsigned: false }).0 {
            Value::Int(i) => i as u64,
            _ => 0,
        },
    }
}
