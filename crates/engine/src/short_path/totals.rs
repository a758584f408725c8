//! Aggregates over few rows.

use muster_algebra::AggregateFunction;
use muster_types::{Decimal, SqlType, Value, ValueRef};
use std::cmp::Ordering;

/// What an aggregate has come to so far.
#[derive(Debug)]
pub(super) enum Total {
    Count(i64),
    /// `None` without rows.
    Sum(Option<Decimal>),
    Average {
        sum: Decimal,
        count: i64,
    },
    Extreme {
        best: Option<Value>,
        greatest: bool,
    },
    /// The first value.
    Any(Option<Value>),
}

impl Total {
    /// Returns true for an aggregate over values of a type whose value does not depend on the order of rows.
    pub fn is_known(function: &AggregateFunction, from: SqlType, ty: SqlType) -> bool {
        let is_exact =
            matches!(from, SqlType::Int { .. } | SqlType::Decimal { .. }) && matches!(ty, SqlType::Decimal { .. });
        match function {
            AggregateFunction::Count => matches!(ty, SqlType::Int { unsigned: false, .. }),
            AggregateFunction::Sum | AggregateFunction::Avg => is_exact,
            AggregateFunction::Min | AggregateFunction::Max => {
                ty == from
                    && (from.is_numeric() || from.is_temporal())
                    && !matches!(from, SqlType::Float | SqlType::Double)
            }
            AggregateFunction::AnyValue => ty == from,
            _ => false,
        }
    }

    /// The total of no rows, for a function that is known.
    pub fn of(function: &AggregateFunction) -> Total {
        match function {
            AggregateFunction::Sum => Total::Sum(None),
            AggregateFunction::Avg => Total::Average { sum: Decimal::new(0, 0), count: 0 },
            AggregateFunction::Min => Total::Extreme { best: None, greatest: false },
            AggregateFunction::Max => Total::Extreme { best: None, greatest: true },
            AggregateFunction::AnyValue => Total::Any(None),
            _ => Total::Count(0),
        }
    }

    /// Adds a row's value, or the row itself for COUNT(*). `None` when the sum becomes too large, or for values of a
    /// kind that plans do not have.
    pub fn add(&mut self, value: Option<ValueRef<'_>>) -> Option<()> {
        if let (Total::Any(any), Some(value)) = (&mut *self, value) {
            any.get_or_insert_with(|| value.to_value());
            return Some(());
        }
        if value.is_some_and(|v| v.is_null()) {
            return Some(());
        }
        match self {
            Total::Count(n) => *n += 1,
            Total::Sum(sum) => {
                let value = exact(value?)?;
                *sum = Some(match sum {
                    Some(sum) => sum.checked_add(value)?,
                    None => value,
                });
            }
            Total::Average { sum, count } => {
                *sum = sum.checked_add(exact(value?)?)?;
                *count += 1;
            }
            Total::Extreme { best, greatest } => {
                let value = value?.to_value();
                let is_better = match best {
                    None => true,
                    Some(best) => {
                        let order = order(&value, best)?;
                        if *greatest { order.is_gt() } else { order.is_lt() }
                    }
                };
                if is_better {
                    *best = Some(value);
                }
            }
            Total::Any(_) => return None,
        }
        Some(())
    }

    /// The value of an aggregate of this type; `None` if the type cannot hold it.
    pub fn value(&self, ty: SqlType) -> Option<Value> {
        Some(match (self, ty) {
            (Total::Count(n), _) => Value::Int(*n),
            (Total::Sum(None), _) | (Total::Average { count: 0, .. }, _) => Value::Null,
            (Total::Sum(Some(sum)), SqlType::Decimal { precision, scale }) => {
                Value::Decimal(sum.rescale(scale).filter(|sum| sum.fits(precision))?)
            }
            (Total::Average { sum, count }, SqlType::Decimal { precision, scale }) => {
                let average = sum.quotient(Decimal::new((*count).into(), 0), scale)?;
                Value::Decimal(average.rescale(scale).filter(|average| average.fits(precision))?)
            }
            (Total::Sum(Some(_)) | Total::Average { .. }, _) => return None,
            (Total::Extreme { best: value, .. } | Total::Any(value), _) => value.clone().unwrap_or(Value::Null),
        })
    }
}

fn exact(value: ValueRef<'_>) -> Option<Decimal> {
    Some(match value {
        ValueRef::Bool(b) => Decimal::new(b.into(), 0),
        ValueRef::Int(i) => Decimal::new(i.into(), 0),
        ValueRef::UInt(u) => Decimal::new(u.into(), 0),
        ValueRef::Decimal(d) => d,
        _ => return None,
    })
}

/// The order of two values of one type, which is not text, bytes or floating.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) | (Value::Time(a), Value::Time(b)) => a.cmp(b),
        _ => return None,
    })
}
