//! Attributes of number columns that expressions do not see: UNSIGNED of DECIMAL, FLOAT and DOUBLE, which only storing
//! obeys, and ZEROFILL of any number, which makes it unsigned and is seen when it becomes text.

use crate::{IntWidth, SqlType, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NumberKind {
    Int(IntWidth),
    Decimal {
        #[serde(with = "crate::sql_type::stored_precision")]
        precision: u8,
        scale: u8,
    },
    Float,
    Double,
}

/// The type of a column that is declared UNSIGNED or ZEROFILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnsignedNumber {
    pub kind: NumberKind,
    /// The characters that ZEROFILL fills a value up to. `None` for a column without it.
    pub zerofill: Option<u8>,
}

impl UnsignedNumber {
    /// The type of its values without the attributes.
    pub fn plain(self) -> SqlType {
        match self.kind {
            NumberKind::Int(width) => SqlType::Int { width, unsigned: true },
            NumberKind::Decimal { precision, scale } => SqlType::Decimal { precision, scale },
            NumberKind::Float => SqlType::Float,
            NumberKind::Double => SqlType::Double,
        }
    }

    /// The type of the same values without ZEROFILL.
    pub fn unfilled(self) -> SqlType {
        match self.kind {
            NumberKind::Int(_) => self.plain(),
            _ => SqlType::Unsigned(UnsignedNumber { zerofill: None, ..self }),
        }
    }

    /// The characters that ZEROFILL fills values up to if the column has no display width (MySQL: the largest length of
    /// a value without its sign).
    pub fn default_width(kind: NumberKind) -> u8 {
        match kind {
            NumberKind::Int(IntWidth::Tiny) => 3,
            NumberKind::Int(IntWidth::Small) => 5,
            NumberKind::Int(IntWidth::Medium) => 8,
            NumberKind::Int(IntWidth::Int) => 10,
            NumberKind::Int(IntWidth::Big) => 20,
            NumberKind::Decimal { precision, scale } => precision + u8::from(scale > 0),
            NumberKind::Float => 12,
            NumberKind::Double => 22,
        }
    }

    /// The text of a value with ZEROFILL's zeros in front of it.
    pub fn filled(self, text: String) -> String {
        match self.zerofill {
            Some(width) if text.len() < usize::from(width) => format!("{text:0>width$}", width = usize::from(width)),
            _ => text,
        }
    }

    /// Returns true if the value is less than any that the column stores.
    pub fn excludes(value: &Value) -> bool {
        match value {
            Value::Int(i) | Value::Time(i) => *i < 0,
            Value::Decimal(d) => d.is_negative(),
            Value::Float(x) => *x < 0.0,
            Value::Double(x) => *x < 0.0,
            _ => false,
        }
    }

    /// The declaration; `digits` stands behind the type's name: `(7,3)`.
    pub fn declared(self, digits: &str) -> String {
        let name = match (self.kind, self.zerofill) {
            (NumberKind::Int(width), Some(n)) => format!("{}({n})", SqlType::Int { width, unsigned: false }),
            (NumberKind::Int(width), None) => SqlType::Int { width, unsigned: false }.to_string(),
            _ => self.plain().to_string(),
        };
        let zerofill = if self.zerofill.is_some() { " zerofill" } else { "" };
        format!("{name}{digits} unsigned{zerofill}")
    }
}

impl fmt::Display for UnsignedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.declared(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_and_zeros() {
        let decimal = UnsignedNumber { kind: NumberKind::Decimal { precision: 5, scale: 2 }, zerofill: Some(6) };
        assert_eq!(decimal.to_string(), "decimal(5,2) unsigned zerofill");
        assert_eq!(decimal.filled("8.50".into()), "008.50");
        let float = UnsignedNumber { kind: NumberKind::Float, zerofill: None };
        assert_eq!((float.declared("(7,3)"), float.filled("1".into())), ("float(7,3) unsigned".into(), "1".into()));
        let int = UnsignedNumber { kind: NumberKind::Int(IntWidth::Int), zerofill: Some(5) };
        assert_eq!(int.to_string(), "int(5) unsigned zerofill");
    }
}
