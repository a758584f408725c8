//! A value of a document in a column of JSON_TABLE.
//!
//! The value is stored as a column stores it, but what does not fit is an error, apart from texts of dates and times
//! with something behind them, and from members that an ENUM or SET does not have.

use super::scalar::{integer, number, shown};
use muster_types::{
    ErrorCode, IntWidth, Result, SqlError, SqlType, Value,
    json::{JsonNode, JsonView},
    store::{StoreFault, StoredType, Unfit, store, store_text},
};

/// The value in a column of this type; `null` is the text of it. Error: the problem of a value that the column does
/// not hold.
pub fn column_value(view: JsonView<'_>, column: StoredType) -> Result<Value, StoreFault> {
    let fault = |unfit: Unfit<Value>| unfit.fault;
    match column.ty.stored_type() {
        SqlType::Json => Ok(Value::Json(view.to_bytes())),
        SqlType::Int { .. } | SqlType::Year | SqlType::Bit { .. } => {
            let whole = match integer(view, IntWidth::Big, false) {
                None => integer(view, IntWidth::Big, true).ok_or(no_integer(view))?,
                Some(whole) => whole,
            };
            store(&whole, column).map_err(fault)
        }
        SqlType::Decimal { .. } => match number(view).ok_or(StoreFault::InvalidJsonCast("DECIMAL"))? {
            Value::Text(text) => {
                store_text(text.as_bytes(), column).map_err(|_| StoreFault::InvalidJsonCast("DECIMAL"))
            }
            number => store(&number, column).map_err(fault),
        },
        SqlType::Float | SqlType::Double => {
            let x = super::scalar::double(view).ok_or(StoreFault::InvalidJsonCast("DOUBLE"))?;
            store(&Value::Double(x), column).map_err(fault)
        }
        ty @ (SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. }) => {
            let is_time = matches!(ty, SqlType::Time { .. });
            let stored = match view.node() {
                JsonNode::Date(date) if !is_time => store(&Value::Date(date), column),
                JsonNode::DateTime(t) | JsonNode::Timestamp(t) if !is_time => store(&Value::DateTime(t), column),
                JsonNode::Time(t) if is_time => store(&Value::Time(t), column),
                _ => {
                    let text = shown(view);
                    match store_text(text.as_bytes(), column) {
                        Ok(Value::Time(0)) if !is_zero(&text) => {
                            Err(Unfit::new(StoreFault::Incorrect("time"), Value::Time(0)))
                        }
                        stored => stored,
                    }
                }
            };
            stored.or_else(with_rest)
        }
        SqlType::Enum(_) => store_text(shown(view).as_bytes(), column).or(Ok(Value::UInt(0))),
        SqlType::Set(_) => store_text(shown(view).as_bytes(), column).or_else(|unfit| match unfit.instead {
            Some(Value::UInt(members)) if members != 0 => Ok(Value::UInt(members)),
            _ => Err(unfit.fault),
        }),
        _ => store_text(shown(view).as_bytes(), column).map_err(fault),
    }
}

/// The fault of what is no integer of 64 bits: a number is too large, all else is none.
fn no_integer(view: JsonView<'_>) -> StoreFault {
    match view.node() {
        JsonNode::Int(_) | JsonNode::UInt(_) | JsonNode::Double(_) | JsonNode::Decimal(_) => StoreFault::OutOfRange,
        _ => StoreFault::InvalidJsonCast("INTEGER"),
    }
}

/// Returns true for a text with digits that are all zero.
fn is_zero(text: &str) -> bool {
    let mut digits = text.bytes().filter(u8::is_ascii_digit).peekable();
    digits.peek().is_some() && digits.all(|digit| digit == b'0')
}

/// The date or time in front of a text that goes on with something else.
fn with_rest(unfit: Unfit<Value>) -> Result<Value, StoreFault> {
    let is_read = matches!(unfit.fault, StoreFault::Incorrect(_) | StoreFault::Truncated);
    match unfit.instead {
        Some(Value::Date(date)) if is_read && date != 0 => Ok(Value::Date(date)),
        Some(Value::DateTime(t)) if is_read && t != 0 => Ok(Value::DateTime(t)),
        Some(Value::Time(t)) if is_read && t != 0 => Ok(Value::Time(t)),
        _ => Err(unfit.fault),
    }
}

/// The error of a value in a column that has ERROR ON ERROR.
pub fn column_error(fault: StoreFault, name: &str) -> SqlError {
    match fault {
        StoreFault::InvalidJsonCast(_) | StoreFault::InvalidJson { .. } => {
            SqlError::new(fault.code(), fault.message(name, "", 1))
        }
        _ => {
            let message = format!("Value is out of range for JSON_TABLE's column '{name}'");
            SqlError::new(ErrorCode::JsonTableValueOutOfRange, message)
        }
    }
}
