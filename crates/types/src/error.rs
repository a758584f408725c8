//! MySQL's errors: number, SQLSTATE and wording, in one place.
//!
//! ```text
//!   ErrorCode   numbers and SQLSTATEs                            error/codes.rs
//!   SqlError    constructors of what is raised in several places  error/wording.rs
//! ```

mod codes;
mod wording;

pub use codes::ErrorCode;

use std::fmt;

pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// An error as a MySQL client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    pub code: ErrorCode,
    pub message: String,
}

impl SqlError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> SqlError {
        SqlError { code, message: message.into() }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code.number(), self.code.sqlstate(), self.message)
    }
}

impl std::error::Error for SqlError {}
