//! The errors of a row of a file, with MySQL's numbers and wording.

use muster_types::{
    ErrorCode, SqlError,
    cast::warning_of_delimiter,
    store::{StoreFault, text::printable},
    temporal::DeprecatedDelimiter,
};

/// Warnings kept of one chunk; more are counted only.
const WARNINGS_MAX: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// A value does not fit its column.
    Value(StoreFault),
    TooFewFields,
    TooManyFields,
    /// A column does not hold a part of the value, which it stores all the same.
    LostPart,
    /// A delimiter of a date or time is deprecated.
    Delimiter(DeprecatedDelimiter),
}

/// Whether SHOW WARNINGS has a problem as a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Note,
    Warning,
}

impl ProblemKind {
    /// The problem as the warning has it where something else is stored instead.
    fn as_warning(self) -> ProblemKind {
        match self {
            ProblemKind::Value(fault) => ProblemKind::Value(fault.as_warning()),
            other => other,
        }
    }
}

/// One thing wrong in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// Within its chunk, from 0.
    pub row: usize,
    /// Empty for what concerns the whole row.
    pub column: String,
    pub kind: ProblemKind,
    pub value: String,
}

impl Problem {
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            ProblemKind::Value(fault) => fault.code(),
            ProblemKind::TooFewFields => ErrorCode::WarnTooFewRecords,
            ProblemKind::TooManyFields => ErrorCode::WarnTooManyRecords,
            ProblemKind::LostPart => ErrorCode::DataTruncated,
            ProblemKind::Delimiter(delimiter) => warning_of_delimiter("", delimiter, 1).code,
        }
    }

    pub fn severity(&self) -> Severity {
        match self.kind {
            ProblemKind::LostPart => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// MySQL's message; `row` counts the file's rows from 1.
    pub fn message(&self, row: u64) -> String {
        match self.kind {
            ProblemKind::Value(fault) => fault.message(&self.column, &self.value, row),
            ProblemKind::TooFewFields => format!("Row {row} doesn't contain data for all columns"),
            ProblemKind::TooManyFields => {
                format!("Row {row} was truncated; it contained more data than there were input columns")
            }
            ProblemKind::LostPart => StoreFault::Truncated.message(&self.column, &self.value, row),
            ProblemKind::Delimiter(delimiter) => warning_of_delimiter(&self.value, delimiter, row).message,
        }
    }

    /// The error, with the place in the file and the value behind MySQL's words.
    pub fn into_error(self, row: u64, line: u64, file: &str) -> SqlError {
        let mut message = format!("{} ({file}, line {line}", self.message(row));
        let says_value = matches!(
            self.kind,
            ProblemKind::Value(
                StoreFault::Incorrect(_)
                    | StoreFault::CutDecimal
                    | StoreFault::CutBeyond { is_exact: true }
                    | StoreFault::NoSuchDate(_)
                    | StoreFault::BeyondTimes
            )
        );
        if !self.value.is_empty() && !says_value {
            message.push_str(&format!(": '{}'", self.value));
        }
        message.push(')');
        SqlError::new(self.code(), message)
    }
}

/// Collects problems of a chunk: as the first error, or as warnings.
#[derive(Debug)]
pub(super) struct Problems {
    pub strict: bool,
    pub first: Option<Problem>,
    pub warnings: Vec<Problem>,
    pub warning_count: u64,
    /// True for each field of a line of which nothing is said if it is missing.
    pub optional_fields: Vec<bool>,
}

impl Problems {
    pub fn new(strict: bool) -> Problems {
        Problems { strict, first: None, warnings: Vec::new(), warning_count: 0, optional_fields: Vec::new() }
    }

    /// Notes that a line ends before a field.
    #[cold]
    pub fn add_missing(&mut self, row: usize, field: usize) {
        if !self.optional_fields.get(field).is_some_and(|optional| *optional) {
            self.add(row, "", ProblemKind::TooFewFields, b"");
        }
    }

    /// Notes a problem. Of several the one of the earliest row counts as the error, of one row that of the first
    /// column.
    #[cold]
    pub fn add(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8]) {
        self.add_graded(row, column, kind, value, false)
    }

    /// Adds a problem as `add` does. It is an error with IGNORE, too, because there is no value to put in its place.
    #[cold]
    pub fn add_fatal(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8]) {
        self.add_graded(row, column, kind, value, true)
    }

    /// Adds what is said of a value that is stored: never an error.
    #[cold]
    pub fn note(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8]) {
        self.warning_count += 1;
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(Problem { row, column: column.to_string(), kind, value: printable(value) });
        }
    }

    /// Adds a text or byte string that was cut to what its column holds.
    #[cold]
    pub fn add_cut(&mut self, row: usize, column: &str, fault: StoreFault, value: &[u8]) {
        // As a warning, a text that is too long is one that was cut.
        let fault = if fault == StoreFault::TooLong && !self.strict { StoreFault::Truncated } else { fault };
        self.add(row, column, ProblemKind::Value(fault), value);
    }

    fn add_graded(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8], fatal: bool) {
        let fatal = fatal || self.strict;
        let wanted = if fatal {
            self.first.as_ref().is_none_or(|first| row < first.row)
        } else {
            self.warning_count += 1;
            self.warnings.len() < WARNINGS_MAX
        };
        if wanted {
            let kind = if fatal { kind } else { kind.as_warning() };
            let problem = Problem { row, column: column.to_string(), kind, value: printable(value) };
            if fatal { self.first = Some(problem) } else { self.warnings.push(problem) }
        }
    }
}
