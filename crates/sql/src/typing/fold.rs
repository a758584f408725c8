//! Arithmetic on literals. The rest of folding is the optimizer's; this much is done at once, because how a column
//! compares with a constant depends on the constant's value.

use muster_algebra::{ArithmeticOp, IntervalUnit};
use muster_types::{
    Decimal, SqlType, Value,
    temporal::{self, MICROS_PER_DAY, MICROS_PER_SECOND},
};

/// `l op r` of exact numbers of the types that the typing rules gave; `None` where it has to wait for execution
/// (division, overflow, doubles).
pub(crate) fn arithmetic(op: ArithmeticOp, l: &Value, r: &Value, result: SqlType) -> Option<Value> {
    if l.is_null() || r.is_null() {
        return Some(Value::Null);
    }
    let (a, b) = (exact(l)?, exact(r)?);
    match result {
        SqlType::Int { unsigned, .. } => {
            let (a, b) = (a.unscaled, b.unscaled);
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
                ArithmeticOp::Add | ArithmeticOp::Sub => {
                    let (a, b) = (a.rescale(scale)?.unscaled, b.rescale(scale)?.unscaled);
                    let sum = if op == ArithmeticOp::Add { a.checked_add(b)? } else { a.checked_sub(b)? };
                    Decimal::new(sum, scale)
                }
                ArithmeticOp::Mul if a.scale + b.scale == scale => {
                    Decimal::new(a.unscaled.checked_mul(b.unscaled)?, scale)
                }
                _ => return None,
            };
            (value.precision() <= 38).then_some(Value::Decimal(value))
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

/// A date or datetime moved by `count` units; NULL beyond the years 0 to 9999. `None` for other values.
pub(crate) fn date_add(value: &Value, unit: IntervalUnit, count: i64) -> Option<Value> {
    let (days, clock) = match value {
        Value::Null => return Some(Value::Null),
        Value::Date(d) => (*d, None),
        Value::DateTime(t) => (t.div_euclid(MICROS_PER_DAY) as i32, Some(t.rem_euclid(MICROS_PER_DAY))),
        _ => return None,
    };
    Some(add(days, clock, unit, count).unwrap_or(Value::Null))
}

fn add(days: i32, clock: Option<i64>, unit: IntervalUnit, count: i64) -> Option<Value> {
    let months = match unit {
        IntervalUnit::Month => Some(1),
        IntervalUnit::Quarter => Some(3),
        IntervalUnit::Year => Some(12),
        _ => None,
    };
    if let Some(months) = months {
        let moved = temporal::add_months(days, i32::try_from(count.checked_mul(months)?).ok()?)?;
        return Some(match clock {
            None => Value::Date(moved),
            Some(clock) => Value::DateTime(moved as i64 * MICROS_PER_DAY + clock),
        });
    }
    let micros = match unit {
        IntervalUnit::Microsecond => 1,
        IntervalUnit::Second => MICROS_PER_SECOND,
        IntervalUnit::Minute => 60 * MICROS_PER_SECOND,
        IntervalUnit::Hour => 3600 * MICROS_PER_SECOND,
        IntervalUnit::Week => 7 * MICROS_PER_DAY,
        _ => MICROS_PER_DAY,
    };
    let moved = (days as i64 * MICROS_PER_DAY + clock.unwrap_or(0)).checked_add(count.checked_mul(micros)?)?;
    let day = i32::try_from(moved.div_euclid(MICROS_PER_DAY)).ok()?;
    let (first, last) = (temporal::days_from_civil(0, 1, 1), temporal::days_from_civil(9999, 12, 31));
    if !(first..=last).contains(&day) {
        return None;
    }
    // A date stays one unless the unit is a part of a day.
    Some(if clock.is_none() && micros % MICROS_PER_DAY == 0 { Value::Date(day) } else { Value::DateTime(moved) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Value {
        Value::Date(temporal::parse_date(text).unwrap())
    }

    #[test]
    fn dates_move() {
        for (from, unit, count, want) in [
            ("1998-12-01", IntervalUnit::Day, -90, "1998-09-02"),
            ("1995-12-31", IntervalUnit::Month, 2, "1996-02-29"),
            ("1994-01-01", IntervalUnit::Year, 1, "1995-01-01"),
            ("1994-01-31", IntervalUnit::Quarter, 1, "1994-04-30"),
            ("1994-01-01", IntervalUnit::Week, 1, "1994-01-08"),
        ] {
            assert_eq!(date_add(&date(from), unit, count), Some(date(want)), "{from}");
        }
        assert_eq!(date_add(&date("9999-12-31"), IntervalUnit::Day, 1), Some(Value::Null));
        assert_eq!(date_add(&date("2000-01-01"), IntervalUnit::Year, i64::MAX), Some(Value::Null));
        let noon = Value::DateTime(temporal::parse_datetime("1998-12-01 12:00:00").unwrap());
        assert_eq!(date_add(&date("1998-12-01"), IntervalUnit::Hour, 12), Some(noon));
    }

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
