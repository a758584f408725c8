//! How values of one type are ordered, and where they lie between two others.

use crate::{
    SqlType, Value,
    cast::to_double,
    json::{self, JsonView},
    temporal::{Days, EpochMicros, MICROS_PER_DAY},
};
use std::{borrow::Cow, cmp::Ordering};

/// Bytes of a text that decide its place between two others, behind what these have in common.
const PLACE_BYTES: usize = 7;

/// How two values of one type compare; NULL is below all others. `None` when that is not known here. For text,
/// [`Value::Bytes`] is a sort key or the beginning of one, as in [`crate::KeyRange`].
pub fn compare(a: &Value, b: &Value, ty: SqlType) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::UInt(x), Value::UInt(y)) => x.cmp(y),
        (Value::Decimal(x), Value::Decimal(y)) => x.cmp(y),
        (Value::Double(x), Value::Double(y)) => x.partial_cmp(y)?,
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y)?,
        (Value::Date(x), Value::Date(y)) => x.cmp(y),
        (Value::DateTime(x), Value::DateTime(y)) | (Value::Time(x), Value::Time(y)) => x.cmp(y),
        (Value::Bytes(x), Value::Bytes(y)) => x.cmp(y),
        (Value::Json(x), Value::Json(y)) => json::compare(JsonView::new(x), JsonView::new(y)),
        (Value::Text(x), Value::Text(y)) => ty.collation()?.compare(x, y),
        (Value::Text(_), Value::Bytes(_)) | (Value::Bytes(_), Value::Text(_)) => {
            key_bytes(a, ty)?.as_ref().cmp(key_bytes(b, ty)?.as_ref())
        }
        _ => return None,
    })
}

/// The value on a number line, for interpolation: dates and datetimes on the calendar's line of time. `None` for NULL,
/// text and byte strings.
pub fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Date(d) => f64::from(Days::of_code(*d).0) * MICROS_PER_DAY as f64,
        Value::DateTime(t) => EpochMicros::of_datetime(*t).0 as f64,
        Value::Time(t) => *t as f64,
        Value::Null | Value::Text(_) | Value::Bytes(_) | Value::Json(_) => return None,
        number => to_double(number).0,
    })
}

/// Place of a value between two others of its type: 0 at `low` and below, 1 at `high` and above. Texts lie by the bytes
/// of their sort keys, behind those that `low` and `high` have in common. `None` if the values do not compare.
pub fn place(value: &Value, low: &Value, high: &Value, ty: SqlType) -> Option<f64> {
    let (at, from, to) = match (number(value), number(low), number(high)) {
        (Some(at), Some(from), Some(to)) => (at, from, to),
        _ => {
            let (at, from, to) = (key_bytes(value, ty)?, key_bytes(low, ty)?, key_bytes(high, ty)?);
            if at <= from {
                return Some(0.0);
            }
            if at >= to {
                return Some(1.0);
            }
            let common = from.iter().zip(to.iter()).take_while(|(a, b)| a == b).count();
            let fraction = |key: &[u8]| {
                let bytes = key.iter().skip(common).map(|b| f64::from(*b)).chain(std::iter::repeat(0.0));
                bytes.take(PLACE_BYTES).fold(0.0, |sum, byte| sum * 256.0 + byte)
            };
            (fraction(&at), fraction(&from), fraction(&to))
        }
    };
    match to > from {
        true => Some(((at - from) / (to - from)).clamp(0.0, 1.0)),
        false => Some(if at > from { 1.0 } else { 0.0 }),
    }
}

/// The bytes that a text or byte string is ordered by.
fn key_bytes(value: &Value, ty: SqlType) -> Option<Cow<'_, [u8]>> {
    match value {
        Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
        Value::Text(text) => Some(Cow::Owned(ty.collation()?.sort_key(text))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    #[test]
    fn numbers_and_texts_have_places() {
        let int = |i| Value::Int(i);
        assert_eq!(place(&int(25), &int(0), &int(100), SqlType::INT), Some(0.25));
        assert_eq!(place(&int(-5), &int(0), &int(100), SqlType::INT), Some(0.0));
        let ty = SqlType::varchar(20, Collation::DEFAULT);
        let text = |t: &str| Value::Text(t.into());
        let of = |t: &str| place(&text(t), &text("Customer#1000"), &text("Customer#9000"), ty).unwrap();
        assert!(of("Customer#2000") < of("customer#5000") && of("Customer#5000") < of("Customer#8999"));
        assert_eq!((of("A"), of("Z")), (0.0, 1.0));
        assert!((of("Customer#5") - 0.5).abs() < 0.2, "{}", of("Customer#5"));
    }
}
