//! Constants: comparing them, and turning one into another type without loss.

use muster_algebra::{Decimal, Expr, SqlType, Value};
use muster_types::{
    IntWidth,
    store::decimal_max_256,
    temporal::{datetime_of, datetime_parts},
};

/// The value of a literal.
pub fn literal(expr: &Expr) -> Option<(&Value, SqlType)> {
    match expr {
        Expr::Literal { value, ty } => Some((value, *ty)),
        _ => None,
    }
}

/// The value of a literal, or the one that a parameter is planned for: for estimates, and for key ranges, which are
/// made anew for other values (`plan_template.rs`). Rewrites ask [`literal`] only, since they have to hold for all
/// values.
pub fn planned_value(expr: &Expr) -> Option<(&Value, SqlType)> {
    match expr {
        Expr::Parameter { ty, planned_for: Some(value), .. } => Some((value, *ty)),
        _ => literal(expr),
    }
}

/// Returns true for what has one value throughout an execution: a literal, or a parameter.
pub fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { .. } | Expr::Parameter { .. })
}

/// Returns true if the expression is the literal TRUE (or FALSE).
pub fn is_truth(expr: &Expr, truth: bool) -> bool {
    matches!(expr, Expr::Literal { value: Value::Bool(b), .. } if *b == truth)
}

/// Returns true if a predicate never holds: FALSE or NULL.
pub fn never_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal { value: Value::Bool(false) | Value::Null, .. })
}

fn int_bounds(width: IntWidth, unsigned: bool) -> (i128, i128) {
    let bits = match width {
        IntWidth::Tiny => 8,
        IntWidth::Small => 16,
        IntWidth::Medium => 24,
        IntWidth::Int => 32,
        IntWidth::Big => 64,
    };
    if unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) }
}

/// Doubles below are whole numbers exactly.
const EXACT_INTEGERS: f64 = (1u64 << 53) as f64;

/// The largest number that a column of one of these four types can hold.
fn largest_number(ty: SqlType) -> Option<u64> {
    Some(match ty {
        SqlType::Enum(members) => members.names().len() as u64,
        SqlType::Set(members) => members.all_bits(),
        SqlType::Year => u16::MAX.into(),
        SqlType::Bit { width } => u64::MAX >> (64 - u32::from(width.clamp(1, 64))),
        _ => return None,
    })
}

/// Converts a value to another type; `None` if that type cannot hold it exactly, or the two do not compare the same.
pub fn exact_value(value: &Value, from: SqlType, to: SqlType) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    match to {
        SqlType::Bool => matches!(value, Value::Bool(_)).then(|| value.clone()),
        SqlType::Int { width, unsigned } => {
            let whole = match value {
                Value::Int(i) => *i as i128,
                Value::UInt(u) => *u as i128,
                Value::Decimal(d) => Some(d.cut(0)).filter(|whole| whole == d)?.narrow()?,
                _ => return None,
            };
            let (low, high) = int_bounds(width, unsigned);
            if !(low..=high).contains(&whole) {
                return None;
            }
            Some(if unsigned { Value::UInt(whole as u64) } else { Value::Int(whole as i64) })
        }
        SqlType::Decimal { precision, scale } => {
            let d = match value {
                Value::Int(i) => Decimal::new(*i as i128, 0),
                Value::UInt(u) => Decimal::new(*u as i128, 0),
                Value::Decimal(d) => *d,
                _ => return None,
            };
            let scaled = d.rescale(scale)?;
            (scaled == d && scaled.fits(precision)).then_some(Value::Decimal(scaled))
        }
        SqlType::Double => matches!(value, Value::Double(_)).then(|| value.clone()),
        SqlType::Float => matches!(value, Value::Float(_)).then(|| value.clone()),
        SqlType::Date => match value {
            Value::Date(_) => Some(value.clone()),
            Value::DateTime(t) if datetime_parts(*t).1 == 0 => Some(Value::Date(datetime_parts(*t).0)),
            _ => None,
        },
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => match value {
            Value::DateTime(_) => Some(value.clone()),
            Value::Date(d) => Some(Value::DateTime(datetime_of(*d, 0))),
            _ => None,
        },
        SqlType::Time { .. } => matches!(value, Value::Time(_)).then(|| value.clone()),
        SqlType::Text { collation, .. } => {
            (matches!(value, Value::Text(_)) && from.collation() == Some(collation)).then(|| value.clone())
        }
        SqlType::Bytes { .. } => matches!(value, Value::Bytes(_)).then(|| value.clone()),
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } => {
            let number = match value {
                // Below 2^53 a double without a fraction is a whole number.
                Value::Double(x) if x.fract() == 0.0 && (0.0..EXACT_INTEGERS).contains(x) => *x as u64,
                other => match exact_value(other, from, SqlType::BIGINT_UNSIGNED)? {
                    Value::UInt(number) => number,
                    _ => return None,
                },
            };
            (number <= largest_number(to)?).then_some(Value::UInt(number))
        }
        SqlType::Unsigned(number) => exact_value(value, from, number.plain()),
        SqlType::Json | SqlType::Null => None,
    }
}

/// A constant as one of another type. `None` if that type cannot hold it exactly, or the two do not compare the same. A
/// parameter then serves only values for which this is so, too ([`crate::PlanTemplate`]).
pub fn exact_constant(constant: &Expr, to: SqlType) -> Option<Expr> {
    let (value, from) = planned_value(constant)?;
    let value = exact_value(value, from, to)?;
    Some(match constant {
        Expr::Parameter { index, .. } => Expr::Parameter { index: *index, ty: to, planned_for: Some(Box::new(value)) },
        _ => Expr::literal(value, to),
    })
}

/// The largest value of a type that is not above a constant which the type cannot hold: `Some(None)` if all are above
/// it, `None` if that is not known here.
pub fn floor_value(value: &Value, to: SqlType) -> Option<Option<Value>> {
    let number = match value {
        Value::Int(i) => Decimal::new(*i as i128, 0),
        Value::UInt(u) => Decimal::new(*u as i128, 0),
        Value::Decimal(d) => *d,
        Value::DateTime(t) if to == SqlType::Date => {
            return Some(Some(Value::Date(datetime_parts(*t).0)));
        }
        _ => return None,
    };
    // With as many digits behind the point as the type has.
    let floor = |scale: u8| -> Option<Decimal> {
        let cut = number.cut(scale);
        let below = if cut > number { cut.checked_sub(Decimal::new(1, scale))? } else { cut };
        below.rescale(scale)
    };
    match to.stored_type() {
        SqlType::Int { width, unsigned } => {
            let (low, high) = int_bounds(width, unsigned);
            let floor = floor(0)?.narrow()?.min(high);
            let value = if unsigned { Value::UInt(floor as u64) } else { Value::Int(floor as i64) };
            Some((floor >= low).then_some(value))
        }
        SqlType::Decimal { precision, scale } => {
            let high = Decimal::wide(decimal_max_256(precision), scale);
            let floor = floor(scale)?.min(high);
            Some((floor >= high.negated()).then_some(Value::Decimal(floor)))
        }
        _ => None,
    }
}

/// Returns true if a cast from `from` to `to` keeps every value and the order of values, so that comparing after the
/// cast is comparing before it.
pub fn is_lossless_cast(from: SqlType, to: SqlType) -> bool {
    match (from, to) {
        (SqlType::Unsigned(number), to) => number.plain() == to || is_lossless_cast(number.plain(), to),
        (SqlType::Int { width: a, unsigned: ua }, SqlType::Int { width: b, unsigned: ub }) => {
            let ((la, ha), (lb, hb)) = (int_bounds(a, ua), int_bounds(b, ub));
            lb <= la && ha <= hb
        }
        (SqlType::Int { .. } | SqlType::Decimal { .. }, SqlType::Decimal { precision, scale }) => {
            let Some((p, s)) = from.decimal_digits() else { return false };
            scale >= s && precision - scale >= p - s
        }
        (SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. }, SqlType::Double) => {
            largest_number(from).is_some_and(|largest| (largest as f64) < EXACT_INTEGERS)
        }
        (
            SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. },
            SqlType::Int { width, unsigned },
        ) => largest_number(from).is_some_and(|largest| i128::from(largest) <= int_bounds(width, unsigned).1),
        (SqlType::Year, SqlType::Decimal { precision, scale }) => precision - scale >= 5,
        (SqlType::Bit { .. }, SqlType::Decimal { precision, scale }) => precision - scale >= 20,
        (SqlType::Date, SqlType::DateTime { .. }) => true,
        (SqlType::DateTime { fsp: a }, SqlType::DateTime { fsp: b }) => a <= b,
        (SqlType::Text { collation: a, length: la, .. }, SqlType::Text { collation: b, length: lb, .. }) => {
            a == b && la <= lb
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::temporal::MICROS_PER_DAY;

    #[test]
    fn exact_conversions() {
        let d = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        let money = SqlType::Decimal { precision: 15, scale: 2 };
        assert_eq!(exact_value(&Value::Int(24), SqlType::BIGINT, money), Some(d("24.00")));
        assert_eq!(exact_value(&d("0.055"), money, money), None);
        assert_eq!(exact_value(&d("7.00"), money, SqlType::INT), Some(Value::Int(7)));
        assert_eq!(exact_value(&d("7.50"), money, SqlType::INT), None);
        assert_eq!(exact_value(&Value::Int(300), SqlType::BIGINT, SqlType::TINYINT), None);
        let noon = Value::DateTime(MICROS_PER_DAY / 2);
        assert_eq!(exact_value(&noon, SqlType::DateTime { fsp: 0 }, SqlType::Date), None);
    }

    #[test]
    fn floors_of_constants_between_values() {
        let d = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        let money = SqlType::Decimal { precision: 4, scale: 2 };
        assert_eq!(floor_value(&d("1.5"), SqlType::INT), Some(Some(Value::Int(1))));
        assert_eq!(floor_value(&d("-1.5"), SqlType::INT), Some(Some(Value::Int(-2))));
        assert_eq!(floor_value(&Value::Int(300), SqlType::TINYINT), Some(Some(Value::Int(127))));
        assert_eq!(floor_value(&Value::Int(-300), SqlType::TINYINT), Some(None));
        assert_eq!(floor_value(&d("-0.5"), SqlType::BIGINT_UNSIGNED), Some(None));
        assert_eq!(floor_value(&d("0.055"), money), Some(Some(d("0.05"))));
        assert_eq!(floor_value(&Value::Int(1000), money), Some(Some(d("99.99"))));
        assert_eq!(floor_value(&Value::DateTime(-1), SqlType::Date), Some(Some(Value::Date(-1))));
        assert_eq!(floor_value(&Value::Double(1.5), SqlType::INT), None);
    }

    #[test]
    fn casts_that_keep_order() {
        let dec = |precision, scale| SqlType::Decimal { precision, scale };
        assert!(is_lossless_cast(SqlType::INT, SqlType::BIGINT));
        assert!(!is_lossless_cast(SqlType::BIGINT, SqlType::BIGINT_UNSIGNED));
        assert!(is_lossless_cast(dec(15, 2), dec(16, 3)) && !is_lossless_cast(dec(15, 2), dec(15, 3)));
        assert!(!is_lossless_cast(SqlType::INT, SqlType::Double));
    }
}
