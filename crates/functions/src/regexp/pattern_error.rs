//! MySQL's errors of regular expressions (3685 and following).

use muster_types::{ErrorCode, SqlError};

/// Error 3685, also for a character class that does not exist.
pub fn illegal_argument() -> SqlError {
    SqlError::new(ErrorCode::RegexpError, "Illegal argument to a regular expression.")
}

pub fn index_out_of_bounds() -> SqlError {
    SqlError::new(ErrorCode::RegexpIndexOutOfBounds, "Index out of bounds in regular expression search.")
}

pub fn internal() -> SqlError {
    SqlError::new(ErrorCode::RegexpInternal, "Internal error in the regular expression library.")
}

/// Error 3688. Lines and characters are counted from 1.
pub fn syntax(line: usize, character: usize) -> SqlError {
    let message = format!("Syntax error in regular expression on line {line}, character {character}.");
    SqlError::new(ErrorCode::RegexpRuleSyntax, message)
}

pub fn bad_escape() -> SqlError {
    SqlError::new(ErrorCode::RegexpBadEscapeSequence, "Unrecognized escape sequence in regular expression.")
}

/// Error 3690, for what cannot be matched in linear time.
pub fn unimplemented() -> SqlError {
    let message = "The regular expression contains a feature that is not implemented in this library version.";
    SqlError::new(ErrorCode::RegexpUnimplemented, message)
}

pub fn mismatched_parenthesis() -> SqlError {
    SqlError::new(ErrorCode::RegexpMismatchedParen, "Mismatched parenthesis in regular expression.")
}

pub fn bad_interval() -> SqlError {
    SqlError::new(ErrorCode::RegexpBadInterval, "Incorrect description of a {min,max} interval.")
}

/// Error 3693. The misspelling is MySQL's.
pub fn maximum_less_than_minimum() -> SqlError {
    let message = "The maximum is less than the minumum in a {min,max} interval.";
    SqlError::new(ErrorCode::RegexpMaxLtMin, message)
}

pub fn bad_back_reference() -> SqlError {
    SqlError::new(ErrorCode::RegexpInvalidBackRef, "Invalid back-reference in regular expression.")
}

pub fn unclosed_bracket() -> SqlError {
    let message = "The regular expression contains an unclosed bracket expression.";
    SqlError::new(ErrorCode::RegexpMissingCloseBracket, message)
}

pub fn invalid_range() -> SqlError {
    let message = "The regular expression contains an [x-y] character range where x comes after y.";
    SqlError::new(ErrorCode::RegexpInvalidRange, message)
}

pub fn too_big() -> SqlError {
    let message = "The regular expression pattern exceeds limits on size or complexity.";
    SqlError::new(ErrorCode::RegexpPatternTooBig, message)
}

pub fn invalid_group_name() -> SqlError {
    SqlError::new(ErrorCode::RegexpInvalidCaptureGroupName, "A capture group has an invalid name.")
}

pub fn invalid_flag() -> SqlError {
    SqlError::new(ErrorCode::RegexpInvalidFlag, "Invalid match mode flag in regular expression.")
}

pub fn number_too_big() -> SqlError {
    SqlError::new(ErrorCode::RegexpNumberTooBig, "Decimal number in regular expression is too large.")
}
