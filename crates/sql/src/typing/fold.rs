//! Arithmetic on literals. The rest of folding is the optimizer's; this much is done at once, because how a column
//! compares with a constant depends on the constant's value.

use muster_algebra::{ArithmeticOp, Expr};
use muster_eval::{Evaluator, PLANNED_TEXT_BYTES_MAX};
use muster_types::{CastWarning, Decimal, ErrorCode, SqlType, Value, sql_type::DECIMAL_MAX_PRECISION};

/// `l op r` of exact numbers of the types that the typing rules gave; `None` where it has to wait for execution
/// (division, overflow, doubles).
pub(crate) fn arithmetic(op: ArithmeticOp, l: &Value, r: &Value, result: SqlType) -> Option<Value> {
    if l.is_null() || r.is_null() {
        return Some(Value::Null);
    }
    let (a, b) = (exact(l)?, exact(r)?);
    match result {
        SqlType::Int { unsigned, .. } => {
            let (a, b) = (a.narrow()?, b.narrow()?);
            let value = match op {
                ArithmeticOp::Add => a.checked_add(b)?,
                ArithmeticOp::Sub => a.checked_sub(b)?,
                ArithmeticOp::Mul => a.checked_mul(b)?,
                _ => return None,
            };
            if unsigned {
                u64::try_from(value).ok().map(Value::UInt)
            } else {
                i64::try_from(value).ok().map(Value::Int)
            }
        }
        SqlType::Decimal { scale, .. } => {
            let value = match op {
                ArithmeticOp::Add => a.checked_add(b)?.rescale(scale)?,
                ArithmeticOp::Sub => a.checked_sub(b)?.rescale(scale)?,
                ArithmeticOp::Mul if a.scale + b.scale == scale => a.product(b, scale)?,
                _ => return None,
            };
            value.fits(DECIMAL_MAX_PRECISION).then_some(Value::Decimal(value))
        }
        _ => None,
    }
}

fn exact(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(i) => Some(Decimal::new(*i as i128, 0)),
        Value::UInt(u) => Some(Decimal::new(*u as i128, 0)),
        Value::Decimal(d) => Some(*d),
        _ => None,
    }
}

/// The value of an expression without columns. `None` for NULL and for what warns, which waits for execution.
pub(crate) fn constant(expr: &Expr) -> Option<Value> {
    constant_and_warnings(expr).filter(|(_, warnings)| warnings.is_empty()).map(|(value, _)| value)
}

/// The value of an expression without columns, with its warnings. `None` for NULL.
pub(crate) fn constant_and_warnings(expr: &Expr) -> Option<(Value, Vec<CastWarning>)> {
    let (value, warnings) = computed(expr)?;
    let is_known = !value.is_null() && !warnings.iter().any(|w| w.code == ErrorCode::AllowedPacketOverflowed);
    is_known.then_some((value, warnings))
}

/// Returns true for an expression without columns that is NULL.
pub(crate) fn is_null(expr: &Expr) -> bool {
    computed(expr).is_some_and(|(value, _)| value.is_null())
}

/// The value of an expression without columns, which may be NULL, with its warnings.
fn computed(expr: &Expr) -> Option<(Value, Vec<CastWarning>)> {
    let mut warnings = Vec::new();
    let value = Evaluator {
        value: &|_| None,
        ty: &|_| None,
        parameters: &[],
        warn: &mut |warning| warnings.push(warning),
        text_bytes_max: PLANNED_TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
        states: None,
    }
    .eval(expr)?
    .ok()?;
    Some((value, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_fold_and_overflow_does_not() {
        let dec = |s: &str| Value::Decimal(Decimal::parse(s).unwrap());
        let ty = SqlType::decimal(4, 2);
        assert_eq!(arithmetic(ArithmeticOp::Sub, &dec("0.06"), &dec("0.01"), ty), Some(dec("0.05")));
        assert_eq!(
            arithmetic(ArithmeticOp::Add, &Value::Int(1), &Value::Int(10), SqlType::BIGINT),
            Some(Value::Int(11))
        );
        assert_eq!(arithmetic(ArithmeticOp::Add, &Value::Int(i64::MAX), &Value::Int(1), SqlType::BIGINT), None);
        assert_eq!(arithmetic(ArithmeticOp::Div, &dec("1.0"), &dec("2.0"), ty), None);
    }
}
