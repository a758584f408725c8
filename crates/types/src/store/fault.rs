//! The problems that a value can have, in MySQL's numbers and words.

use crate::{ErrorCode, json::JsonLimit};

/// A value that cannot be stored as it is: what is wrong, and what IGNORE stores instead (`None`: nothing can be).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit<N> {
    pub fault: StoreFault,
    pub instead: Option<N>,
}

impl<N> Unfit<N> {
    pub fn new(fault: StoreFault, instead: N) -> Unfit<N> {
        Unfit { fault, instead: Some(instead) }
    }

    /// Converts the value of the fault.
    pub fn map<M>(self, f: impl FnOnce(N) -> M) -> Unfit<M> {
        Unfit { fault: self.fault, instead: self.instead.map(f) }
    }
}

/// A problem of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// 1366 for numbers and text, 1292 for dates and times; the type's name in the message.
    Incorrect(&'static str),
    OutOfRange,
    /// A date that the session's modes do not take, or that no TIMESTAMP is: 1292 as an error with the type's name in
    /// the message, and out of range as a warning.
    NoSuchDate(&'static str),
    /// A moment that is behind the last one once its fraction of a second is rounded: 1441, and as a warning also out
    /// of range.
    BehindLast,
    /// More hours than a time has: 1292 as an error, and out of range as a warning.
    BeyondTimes,
    /// A decimal with something else behind it: 1366 as an error, a note of 1265 where the decimal is stored.
    CutDecimal,
    /// A number that is out of range, and has something else behind it: the fault of the text as an error, both as
    /// warnings. `is_exact`: a decimal.
    CutBeyond {
        is_exact: bool,
    },
    /// The value has something behind it, or digits that the column does not hold.
    Truncated,
    TooLong,
    NullForNotNull,
    /// No JSON text: what is wrong, and at which byte.
    InvalidJson {
        what: &'static str,
        position: usize,
    },
    /// A byte string in a JSON column.
    BinaryJson,
    JsonLimit(JsonLimit),
    /// A JSON value in a column of a type that it is no value of; MySQL's name of the type.
    InvalidJsonCast(&'static str),
}

impl StoreFault {
    pub fn code(self) -> ErrorCode {
        match self {
            StoreFault::Incorrect("date" | "datetime" | "time")
            | StoreFault::NoSuchDate(_)
            | StoreFault::BeyondTimes => ErrorCode::TruncatedWrongValue,
            StoreFault::Incorrect(_) | StoreFault::CutDecimal | StoreFault::CutBeyond { is_exact: true } => {
                ErrorCode::TruncatedWrongValueForField
            }
            StoreFault::OutOfRange => ErrorCode::OutOfRange,
            StoreFault::BehindLast => ErrorCode::DatetimeFunctionOverflow,
            StoreFault::Truncated | StoreFault::CutBeyond { is_exact: false } => ErrorCode::DataTruncated,
            StoreFault::TooLong => ErrorCode::DataTooLong,
            StoreFault::NullForNotNull => ErrorCode::WarnNullToNotNull,
            StoreFault::InvalidJson { .. } => ErrorCode::InvalidJsonText,
            StoreFault::BinaryJson => ErrorCode::InvalidJsonCharset,
            StoreFault::JsonLimit(limit) => limit.error().code,
            StoreFault::InvalidJsonCast(_) => ErrorCode::InvalidJsonValueForCast,
        }
    }

    /// The problem as the warning has it where something else is stored instead.
    pub fn as_warning(self) -> StoreFault {
        match self {
            StoreFault::BeyondTimes
            | StoreFault::NoSuchDate(_)
            | StoreFault::BehindLast
            | StoreFault::CutBeyond { .. } => StoreFault::OutOfRange,
            StoreFault::Incorrect("date" | "datetime" | "time") | StoreFault::CutDecimal => StoreFault::Truncated,
            other => other,
        }
    }

    /// MySQL's message. `value` is the value as text, [`printable`](super::text::printable); rows count from 1.
    pub fn message(self, column: &str, value: &str, row: u64) -> String {
        match self {
            StoreFault::Incorrect(ty) => format!("Incorrect {ty} value: '{value}' for column '{column}' at row {row}"),
            StoreFault::CutDecimal | StoreFault::CutBeyond { is_exact: true } => {
                StoreFault::Incorrect("decimal").message(column, value, row)
            }
            StoreFault::BeyondTimes => StoreFault::Incorrect("time").message(column, value, row),
            StoreFault::NoSuchDate(ty) => StoreFault::Incorrect(ty).message(column, value, row),
            StoreFault::OutOfRange => format!("Out of range value for column '{column}' at row {row}"),
            StoreFault::BehindLast => "Datetime function: datetime field overflow".to_owned(),
            StoreFault::Truncated | StoreFault::CutBeyond { is_exact: false } => {
                format!("Data truncated for column '{column}' at row {row}")
            }
            StoreFault::TooLong => format!("Data too long for column '{column}' at row {row}"),
            StoreFault::InvalidJson { what, position } => {
                format!("Invalid JSON text: \"{what}\" at position {position} in value for column '{column}'.")
            }
            StoreFault::BinaryJson => {
                "Cannot create a JSON value from a string with CHARACTER SET 'binary'.".to_owned()
            }
            StoreFault::JsonLimit(limit) => limit.error().message,
            StoreFault::InvalidJsonCast(ty) => {
                format!("Invalid JSON value for CAST to {ty} from column {column} at row {row}")
            }
            StoreFault::NullForNotNull => {
                format!("Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}")
            }
        }
    }
}
