//! Comparison and truth of values.

use muster_algebra::CompareOp;
use muster_types::{
    Collation, Decimal, SqlType, Value, cast,
    cast::to_double,
    json::{self, JsonView},
    temporal::datetime_of,
};
use std::cmp::Ordering;

/// Three-valued truth: a number is true unless 0, text as the number it begins with.
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Bool(b) => Some(*b),
        Value::Int(i) => Some(*i != 0),
        Value::UInt(u) => Some(*u != 0),
        Value::Decimal(d) => Some(!d.is_zero()),
        other => Some(to_double(other).0 != 0.0),
    }
}

/// How two values compare; `None` if one is NULL. Values of one type compare in it. Of different types (which the
/// binder leaves none of), JSON compares as JSON, numbers
/// compare exactly, anything with a date as datetimes, and the rest as doubles.
pub fn order(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    use Value::*;
    Some(match (a, b) {
        (Null, _) | (_, Null) => return None,
        (Text(x), Text(y)) => collation.compare(x, y),
        (Json(x), Json(y)) => json::compare(JsonView::new(x), JsonView::new(y)),
        (Json(x), _) => json::compare(JsonView::new(x), JsonView::new(&document(b)?)),
        (_, Json(y)) => json::compare(JsonView::new(&document(a)?), JsonView::new(y)),
        (Bytes(x), Bytes(y)) => x.cmp(y),
        (Text(x), Bytes(y)) => x.as_bytes().cmp(y),
        (Bytes(x), Text(y)) => x.as_slice().cmp(y.as_bytes()),
        (Date(x), Date(y)) => x.cmp(y),
        (DateTime(x), DateTime(y)) | (Time(x), Time(y)) => x.cmp(y),
        (Date(_) | DateTime(_), _) | (_, Date(_) | DateTime(_)) => match (micros(a), micros(b)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => return None,
        },
        _ => match (exact(a), exact(b)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => to_double(a).0.partial_cmp(&to_double(b).0)?,
        },
    })
}

/// A value as the JSON scalar that it is beside a document.
fn document(value: &Value) -> Option<Vec<u8>> {
    json::encode(&json::scalar_of(value, None)).ok()
}

fn exact(value: &Value) -> Option<Decimal> {
    Some(match value {
        Value::Bool(b) => Decimal::new(*b as i128, 0),
        Value::Int(i) => Decimal::new(*i as i128, 0),
        Value::UInt(u) => Decimal::new(*u as i128, 0),
        Value::Decimal(d) => *d,
        _ => return None,
    })
}

/// The datetime that a value means.
pub(super) fn micros(value: &Value) -> Option<i64> {
    match value {
        Value::Date(d) => Some(datetime_of(*d, 0)),
        other => match cast(other, SqlType::DateTime { fsp: 6 }).0 {
            Value::DateTime(t) => Some(t),
            _ => None,
        },
    }
}

/// TRUE, FALSE or NULL.
pub fn compare(op: CompareOp, a: &Value, b: &Value, collation: Collation) -> Value {
    let Some(order) = order(a, b, collation) else {
        return match op {
            CompareOp::NullSafeEq => Value::Bool(a.is_null() && b.is_null()),
            _ => Value::Null,
        };
    };
    Value::Bool(match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
        CompareOp::NotEq => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::LtEq => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::GtEq => order.is_ge(),
    })
}
