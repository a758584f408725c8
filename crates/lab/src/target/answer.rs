//! Answers of targets, and the readings of their values that workloads need.

use super::{Result, TargetError};
use muster_engine::types::{Decimal, Value};

/// The result of a statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Empty for a statement without a result set. A server's decimals, dates and times are texts.
    pub rows: Vec<Vec<Value>>,
    pub affected_rows: u64,
}

impl Answer {
    /// The first row. Error: there is none.
    pub fn row(&self) -> Result<&[Value]> {
        let first = self.rows.first().map(Vec::as_slice);
        first.ok_or_else(|| TargetError::Answer("a statement that must find a row found none".into()))
    }

    /// The first value of the first row as an integer. Errors: no row, no integer.
    pub fn number(&self) -> Result<i64> {
        integer(self.row()?.first().unwrap_or(&Value::Null))
    }

    /// All rows as texts; `None` for NULL.
    pub fn texts(&self) -> Vec<Vec<Option<String>>> {
        self.rows.iter().map(|row| row.iter().map(|value| value.to_text(0)).collect()).collect()
    }
}

fn unreadable(value: &Value, what: &str) -> TargetError {
    TargetError::Answer(format!("{value:?} is no {what}"))
}

/// The value as an integer. Error: it is none.
pub fn integer(value: &Value) -> Result<i64> {
    let number = match value {
        Value::Int(i) => Some(*i),
        Value::UInt(u) => i64::try_from(*u).ok(),
        Value::Bool(b) => Some(i64::from(*b)),
        Value::Decimal(d) => d.rescale(0).and_then(|d| i64::try_from(d.narrow()?).ok()),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| unreadable(value, "integer"))
}

/// An amount of money in hundredths. Error: it is no number, or has more digits behind the point.
pub fn cents(value: &Value) -> Result<i64> {
    let decimal = match value {
        Value::Decimal(d) => Some(*d),
        Value::Int(i) => Some(Decimal::new((*i).into(), 0)),
        Value::Text(text) => Decimal::parse(text),
        _ => None,
    };
    let unscaled = decimal.and_then(|d| d.rescale(2)).and_then(Decimal::narrow);
    unscaled.and_then(|n| i64::try_from(n).ok()).ok_or_else(|| unreadable(value, "amount of money"))
}

/// The value as text. Error: it is NULL.
pub fn text(value: &Value) -> Result<String> {
    value.to_text(0).ok_or_else(|| unreadable(value, "text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_targets_are_read_alike() {
        for value in [Value::Int(7), Value::Text("7".into()), Value::Decimal(Decimal::new(700, 2))] {
            assert_eq!((integer(&value), cents(&value)), (Ok(7), Ok(700)), "{value:?}");
        }
        assert_eq!(cents(&Value::Text("-10.05".into())), Ok(-1005));
        assert!(integer(&Value::Null).is_err() && cents(&Value::Text("x".into())).is_err());
        assert!(Answer::default().row().is_err());
    }
}
