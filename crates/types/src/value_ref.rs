//! Values that lie elsewhere: on a page, in a buffer. Units are those of [`Value`].

use crate::{Decimal, Value};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Float(f32),
    Double(f64),
    Date(i32),
    DateTime(i64),
    Time(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Json(&'a [u8]),
}

impl ValueRef<'_> {
    pub fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// A value of its own.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(b) => Value::Bool(b),
            ValueRef::Int(i) => Value::Int(i),
            ValueRef::UInt(u) => Value::UInt(u),
            ValueRef::Decimal(d) => Value::Decimal(d),
            ValueRef::Float(x) => Value::Float(x),
            ValueRef::Double(x) => Value::Double(x),
            ValueRef::Date(d) => Value::Date(d),
            ValueRef::DateTime(t) => Value::DateTime(t),
            ValueRef::Time(t) => Value::Time(t),
            ValueRef::Text(s) => Value::Text(s.to_owned()),
            ValueRef::Bytes(b) => Value::Bytes(b.to_vec()),
            ValueRef::Json(document) => Value::Json(document.to_vec()),
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> ValueRef<'a> {
        match value {
            Value::Null => ValueRef::Null,
            Value::Bool(b) => ValueRef::Bool(*b),
            Value::Int(i) => ValueRef::Int(*i),
            Value::UInt(u) => ValueRef::UInt(*u),
            Value::Decimal(d) => ValueRef::Decimal(*d),
            Value::Float(x) => ValueRef::Float(*x),
            Value::Double(x) => ValueRef::Double(*x),
            Value::Date(d) => ValueRef::Date(*d),
            Value::DateTime(t) => ValueRef::DateTime(*t),
            Value::Time(t) => ValueRef::Time(*t),
            Value::Text(s) => ValueRef::Text(s),
            Value::Bytes(b) => ValueRef::Bytes(b),
            Value::Json(document) => ValueRef::Json(document),
        }
    }
}
