//! The type of a function's result.

use muster_types::{Collation, SqlType, Value};

/// An argument, as far as it is known when a statement is bound.
#[derive(Debug, Clone)]
pub struct ArgumentType {
    /// Its type, as the function gets it.
    pub ty: SqlType,
    /// Its type in the statement, before it was converted.
    pub given: SqlType,
    /// Most characters that it has as text.
    pub characters: u32,
    /// Most characters that it has in the statement, before it was converted.
    pub given_characters: u32,
    /// Digits of fractional seconds that it has as a datetime, and as a TIME; of a constant text those that are
    /// written.
    pub datetime_fsp: u8,
    pub time_fsp: u8,
    /// Digits behind the point of a number, and of the seconds of a date or time; `None` for as many as a
    /// floating-point number takes, and for text.
    pub decimals: Option<u8>,
    /// The value, if it is constant and not NULL.
    pub value: Option<Value>,
    /// True for an argument that is NULL in every row.
    pub is_null: bool,
}

/// Arguments and surroundings that the type of a result may depend on.
#[derive(Debug, Clone)]
pub struct Typing {
    pub args: Vec<ArgumentType>,
    /// The collation that the text arguments have come to; the connection's without any.
    pub collation: Collation,
    /// The values that the function asks of the session.
    pub session: Vec<Value>,
}

impl Typing {
    /// Characters of an argument; 0 of one that is left out.
    pub fn characters(&self, i: usize) -> u64 {
        self.args.get(i).map_or(0, |arg| arg.characters.into())
    }

    /// The integer that a constant argument is.
    pub fn constant_int(&self, i: usize) -> Option<i64> {
        match self.args.get(i)?.value.as_ref()? {
            Value::Int(n) => Some(*n),
            Value::UInt(n) => i64::try_from(*n).ok(),
            _ => None,
        }
    }

    /// The text that a constant argument is.
    pub fn constant_text(&self, i: usize) -> Option<&str> {
        match self.args.get(i)?.value.as_ref()? {
            Value::Text(text) => Some(text),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Digits of fractional seconds of an argument as a datetime.
    pub fn datetime_fsp(&self, i: usize) -> u8 {
        self.args.get(i).map_or(0, |arg| arg.datetime_fsp)
    }

    /// Digits of fractional seconds of an argument as a TIME.
    pub fn time_fsp(&self, i: usize) -> u8 {
        self.args.get(i).map_or(0, |arg| arg.time_fsp)
    }
}

/// The type of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultType {
    Of(SqlType),
    /// At most this many characters under the collation of the text arguments, which also says how strong it is next
    /// to others.
    Text(u64),
    /// At most this many characters under the connection's collation, as a literal.
    ConnectionText(u64),
    /// At most this many characters of utf8mb3, as a literal.
    SystemText(u64),
    /// At most this many bytes.
    Bytes(u64),
}

/// Results whose type does not depend on the arguments.
pub mod result {
    use super::{ResultType, Typing};
    use muster_types::SqlType;

    pub fn bigint(_: &Typing) -> ResultType {
        ResultType::Of(SqlType::BIGINT)
    }

    /// 0 or 1.
    pub fn truth(_: &Typing) -> ResultType {
        ResultType::Of(SqlType::Bool)
    }

    pub fn bigint_unsigned(_: &Typing) -> ResultType {
        ResultType::Of(SqlType::BIGINT_UNSIGNED)
    }

    pub fn double(_: &Typing) -> ResultType {
        ResultType::Of(SqlType::Double)
    }

    pub fn date(_: &Typing) -> ResultType {
        ResultType::Of(SqlType::Date)
    }
}
