//! Aggregates over few rows.

use super::plan::Aggregate;
use muster_algebra::AggregateFunction;
use muster_types::{Decimal, SqlType, Value, ValueRef};
use std::cmp::Ordering;

/// What an aggregate has come to so far.
#[derive(Debug)]
pub enum Total {
    Count(i64),
    /// The unscaled sum; `None` without rows.
    Sum(Option<i128>),
    Extreme {
        best: Option<Value>,
        greatest: bool,
    },
}

impl Total {
    pub fn new(aggregate: &Aggregate) -> Total {
        match aggregate.function {
            AggregateFunction::Sum => Total::Sum(None),
            AggregateFunction::Min => Total::Extreme { best: None, greatest: false },
            AggregateFunction::Max => Total::Extreme { best: None, greatest: true },
            _ => Total::Count(0),
        }
    }

    /// Adds a row's value, or the row itself for COUNT(*). `None` when the sum becomes too large, or for values of a
    /// kind that plans do not have.
    pub fn add(&mut self, value: Option<ValueRef<'_>>) -> Option<()> {
        if value.is_some_and(|v| v.is_null()) {
            return Some(());
        }
        match self {
            Total::Count(n) => *n += 1,
            Total::Sum(sum) => {
                let unscaled = match value? {
                    ValueRef::Int(i) => i128::from(i),
                    ValueRef::UInt(u) => i128::from(u),
                    ValueRef::Decimal(d) => d.narrow()?,
                    _ => return None,
                };
                *sum = Some(sum.unwrap_or(0).checked_add(unscaled)?);
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
        }
        Some(())
    }

    /// The value; `None` if the type of the result cannot hold it.
    pub fn value(&self, aggregate: &Aggregate) -> Option<Value> {
        Some(match (self, aggregate.ty) {
            (Total::Count(n), _) => Value::Int(*n),
            (Total::Sum(None), _) => Value::Null,
            (Total::Sum(Some(sum)), SqlType::Decimal { precision, scale }) => {
                let sum = Decimal::new(*sum, scale);
                if !sum.fits(precision) {
                    return None;
                }
                Value::Decimal(sum)
            }
            (Total::Sum(Some(_)), _) => return None,
            (Total::Extreme { best, .. }, _) => best.clone().unwrap_or(Value::Null),
        })
    }
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
