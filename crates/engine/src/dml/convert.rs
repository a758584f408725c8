//! A value on its way into a column: stored as the column stores it, or an error, or with a warning what MySQL stores
//! instead.

use crate::statement::StatementContext;
use muster_algebra::{ColumnDef, ColumnMeta};
use muster_types::{
    BytesKind, ErrorCode, Result, SqlError, SqlModes, SqlType, TextKind, Value,
    charset::{Charset, valid_up_to},
    store::{
        StoreFault, StoredType, Unfit, fraction_cut, implicit_default, loses_part, store,
        text::{incorrect_part, printable},
    },
    temporal::{Moment, datetime_of, datetime_parts, moved_datetime, read_datetime, read_time},
};
use std::borrow::Cow;

/// What becomes of values that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leniency {
    /// They are errors.
    Strict,
    /// They are warnings, and what MySQL stores instead is stored: without a strict `sql_mode`.
    Lenient,
    /// The same, and NULL is no exception: with IGNORE.
    Ignore,
}

/// Returns true for strings of these lengths whose own length takes as many bytes, one or two.
fn are_alike(a: u32, b: u32, bytes_of_character: u32) -> bool {
    let is_short = |length: u32| length.saturating_mul(bytes_of_character) <= u8::MAX.into();
    is_short(a) == is_short(b)
}

/// Converts the values of a statement.
#[derive(Clone, Copy)]
pub struct Conversion<'a> {
    pub context: &'a StatementContext,
    pub leniency: Leniency,
    /// True for the one row of `INSERT .. VALUES`, where NULL for a NOT NULL column is always an error.
    pub null_is_error: bool,
    /// The table of the columns, which messages of JSON columns name; empty if it is not known.
    pub table: &'a str,
}

impl<'a> Conversion<'a> {
    pub fn new(context: &'a StatementContext, ignore: bool) -> Conversion<'a> {
        let leniency = match ignore {
            true => Leniency::Ignore,
            false if context.is_strict() => Leniency::Strict,
            false => Leniency::Lenient,
        };
        Conversion { context, leniency, null_is_error: false, table: "" }
    }

    /// The same for the columns of this table.
    pub fn of_table<'b>(&self, table: &'b str) -> Conversion<'b>
    where
        'a: 'b,
    {
        Conversion { table, ..*self }
    }

    pub fn is_strict(&self) -> bool {
        self.leniency == Leniency::Strict
    }

    /// Converts a value for a column; `row` counts the statement's rows from 1. Errors: 1048, and those of values that
    /// do not fit.
    pub fn stored(&self, column: &ColumnDef, value: &Value, row: u64) -> Result<Value> {
        if value.is_null() {
            return if column.nullable { Ok(Value::Null) } else { self.null(column) };
        }
        let (zone, date_modes) = (self.context.clock.time_zone, self.context.date_modes());
        let taken = self.of_today(value, column.ty);
        if self.context.session.variables.settings().modes.has(SqlModes::TIME_TRUNCATE_FRACTIONAL) {
            let stored = StoredType { ty: column.ty, digits: None, zone, date_modes };
            if let Some((cut, moment)) = fraction_cut(&taken, stored) {
                // A date has lost its time of day.
                let given = if column.ty == SqlType::Date { &moment } else { &*taken };
                self.note_if(loses_part(column.ty, given, &cut), column, &taken, row);
                return Ok(cut);
            }
        }
        match store(&taken, StoredType { ty: column.ty, digits: column.digits, zone, date_modes }) {
            Ok(stored) => {
                self.note_lost_parts(column, value, &stored, row);
                Ok(stored)
            }
            Err(unfit) => self.unfit(column, value, unfit, row),
        }
    }

    /// Error 1265 in strict mode for a string of a column that is longer than the column it is copied to, if MySQL
    /// copies its bytes (`do_varstring`): blanks at its end count, too.
    pub fn refuse_cut(&self, from: &ColumnMeta, column: &ColumnDef, value: &Value, row: u64) -> Result<()> {
        if !self.is_strict() || from.origin.is_none() {
            return Ok(());
        }
        let (length, longest) = match (value, from.ty, column.ty) {
            (
                Value::Text(text),
                SqlType::Text { kind: TextKind::VarChar, length: given, collation },
                SqlType::Text { kind: TextKind::VarChar, length, collation: other },
            ) if collation == other && are_alike(given, length, collation.charset_max_bytes()) => {
                (text.chars().count(), length)
            }
            (
                Value::Bytes(bytes),
                SqlType::Bytes { kind: BytesKind::VarBinary, length: given },
                SqlType::Bytes { kind: BytesKind::VarBinary, length },
            ) if are_alike(given, length, 1) => (bytes.len(), length),
            _ => return Ok(()),
        };
        match length > longest as usize {
            true => {
                let fault = StoreFault::Truncated;
                Err(SqlError::new(fault.code(), fault.message(&column.name, "", row)))
            }
            false => Ok(()),
        }
    }

    /// A time for a column of dates is one of the statement's day.
    fn of_today<'v>(&self, value: &'v Value, ty: SqlType) -> Cow<'v, Value> {
        let is_dated =
            matches!(ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Year);
        let Value::Time(time) = value else { return Cow::Borrowed(value) };
        if !is_dated {
            return Cow::Borrowed(value);
        }
        let (today, _) = datetime_parts(self.context.clock.now_datetime());
        Cow::Owned(Value::DateTime(moved_datetime(datetime_of(today, 0), *time)))
    }

    /// NULL for a column that cannot be NULL: error 1048, or with a warning of that number the implicit default.
    fn null(&self, column: &ColumnDef) -> Result<Value> {
        let error = SqlError::new(ErrorCode::BadNull, format!("Column '{}' cannot be null", column.name));
        let refused = match self.leniency {
            Leniency::Strict => true,
            Leniency::Lenient => self.null_is_error,
            Leniency::Ignore => false,
        };
        match instead_of_null(column).filter(|_| !refused) {
            None => Err(error),
            Some(instead) => {
                self.context.warn(error.code, error.message);
                Ok(instead)
            }
        }
    }

    /// What NULL has become before, with a warning, in this column that cannot be NULL.
    pub fn null_again(&self, column: &ColumnDef) -> Result<Value> {
        instead_of_null(column).map_or_else(|| self.null(column), Ok)
    }

    /// A column without a value and without a default: error 1364, or with a warning of that number the implicit
    /// default.
    pub fn no_default(&self, column: &ColumnDef) -> Result<Value> {
        if let (SqlType::Enum(_), Some(first)) = (column.ty, implicit_default(column.ty)) {
            return Ok(first);
        }
        let message = format!("Field '{}' doesn't have a default value", column.name);
        let error = SqlError::new(ErrorCode::NoDefaultForField, message);
        match implicit_default(column.ty).filter(|_| !self.is_strict()) {
            None => Err(error),
            Some(instead) => {
                self.context.warn(error.code, error.message);
                Ok(instead)
            }
        }
    }

    /// A default as it is stored. A date that the session's modes refuse, which were others when the table was made, is
    /// an error, or stored with a warning.
    pub fn kept_default(&self, column: &ColumnDef, value: &Value) -> Result<Value> {
        let (moment, what) = match value {
            Value::Date(date) => (Moment::new(*date, 0), "date"),
            Value::DateTime(datetime) => (Moment::of_datetime(*datetime), "datetime"),
            other => return Ok(other.clone()),
        };
        if self.context.date_modes().keep(&moment) {
            return Ok(value.clone());
        }
        let unfit = Unfit { fault: StoreFault::NoSuchDate(what), instead: Some(value.clone()) };
        self.unfit(column, value, unfit, 1)
    }

    /// An error that concerns one row: with IGNORE a warning of its number, and the row is left out.
    pub fn tolerate(&self, error: SqlError) -> Result<()> {
        if self.leniency != Leniency::Ignore {
            return Err(error);
        }
        self.context.warn(error.code, error.message);
        Ok(())
    }

    /// The errors that warnings are where values that do not fit are errors (MySQL: `Strict_error_handler`): warnings
    /// of the rows that a statement has read, behind the first `known` ones of the statement.
    pub fn refuse_warnings(&self, known: usize) -> Result<()> {
        let warnings = &self.context.diagnostics.warnings;
        match warnings
            .find_since(known, |warning| warning.code.is_refused_by_strict_modes())
            .filter(|_| self.is_strict())
        {
            Some(warning) => Err(SqlError::new(warning.code, warning.message)),
            None => Ok(()),
        }
    }

    fn unfit(&self, column: &ColumnDef, value: &Value, unfit: Unfit<Value>, row: u64) -> Result<Value> {
        let shown = match value {
            Value::Text(text) => printable(text.as_bytes()),
            Value::Bytes(bytes) => printable(bytes),
            other => other.to_text(other_digits(other)).unwrap_or_default(),
        };
        let shown = match (unfit.fault, column.ty, value) {
            (StoreFault::Incorrect("string"), SqlType::Text { collation, .. }, Value::Text(text)) => {
                incorrect_part(text.as_bytes(), collation.character_set()).unwrap_or(shown)
            }
            (StoreFault::Incorrect("string"), SqlType::Text { collation, .. }, Value::Bytes(bytes)) => {
                let charset = collation.character_set();
                incorrect_part(&bytes[valid_up_to(charset, bytes)..], Charset::Utf8mb4).unwrap_or(shown)
            }
            _ => shown,
        };
        let name = match unfit.fault {
            StoreFault::InvalidJson { .. } if !self.table.is_empty() => &format!("{}.{}", self.table, column.name),
            _ => &column.name,
        };
        let message = unfit.fault.message(name, &shown, row);
        let is_fatal =
            matches!(unfit.fault, StoreFault::InvalidJson { .. } | StoreFault::BinaryJson | StoreFault::JsonLimit(_));
        // What is no document is an error in every mode.
        let instead = unfit.instead.or_else(|| column.nullable.then_some(Value::Null)).filter(|_| !is_fatal);
        match instead.filter(|_| !self.is_strict()) {
            None => Err(SqlError::new(unfit.fault.code(), message)),
            Some(instead) => {
                let fault = match (unfit.fault, column.ty) {
                    // The one fault whose number depends on the mode, whatever IGNORE says.
                    (StoreFault::TooLong, SqlType::Bit { .. }) if self.context.is_strict() => StoreFault::TooLong,
                    (StoreFault::TooLong, SqlType::Bit { .. }) => StoreFault::OutOfRange,
                    // As a warning, a text that is too long is one that was cut.
                    (StoreFault::TooLong, _) => StoreFault::Truncated,
                    (fault, _) => fault.as_warning(),
                };
                let message = fault.message(&column.name, &shown, row);
                let truncated = || StoreFault::Truncated.message(name, &shown, row);
                match unfit.fault {
                    StoreFault::BehindLast => {
                        self.context.warn(unfit.fault.code(), unfit.fault.message(name, &shown, row))
                    }
                    StoreFault::CutBeyond { is_exact: true } => {
                        self.context.note(ErrorCode::DataTruncated, truncated())
                    }
                    StoreFault::CutBeyond { .. } => self.context.warn(ErrorCode::DataTruncated, truncated()),
                    _ => {}
                }
                let is_read = match unfit.fault {
                    StoreFault::Incorrect(_) => true,
                    StoreFault::NoSuchDate(_) => is_day_beyond_timestamps(column.ty, value),
                    _ => false,
                };
                if is_read {
                    self.warn_of_delimiter(column, value, row);
                }
                match unfit.fault {
                    StoreFault::CutDecimal => {
                        self.context.note(fault.code(), message);
                        self.note_lost_parts(column, value, &instead, row);
                    }
                    _ => self.context.warn(fault.code(), message),
                }
                if unfit.fault == StoreFault::Incorrect("time") && is_time_beyond(value) {
                    self.context.warn(ErrorCode::OutOfRange, StoreFault::OutOfRange.message(name, &shown, row));
                }
                Ok(instead)
            }
        }
    }
}

/// Returns true for a text of a time that is beyond all times.
fn is_time_beyond(value: &Value) -> bool {
    matches!(value, Value::Text(text) if read_time(text).is_some_and(|read| read.is_clamped))
}

/// Returns true for the text of a day of the calendar that a TIMESTAMP does not hold.
fn is_day_beyond_timestamps(ty: SqlType, value: &Value) -> bool {
    let Value::Text(text) = value else { return false };
    matches!(ty, SqlType::Timestamp { .. }) && read_datetime(text).is_some_and(|read| read.moment.is_calendar_day())
}

/// What a column that cannot be NULL stores for one. For a NULL an ENUM gets the value of a wrong text, not its first
/// member.
fn instead_of_null(column: &ColumnDef) -> Option<Value> {
    match column.ty {
        SqlType::Enum(_) => Some(Value::UInt(0)),
        ty => implicit_default(ty),
    }
}

/// Digits of a fraction of a second that a message shows.
fn other_digits(value: &Value) -> u8 {
    match value {
        Value::DateTime(t) | Value::Time(t) if t % 1_000_000 != 0 => 6,
        _ => 0,
    }
}
