//! The errors of a value of a file, with MySQL's numbers and wording.

use muster_types::{ErrorCode, SqlError};

/// Most bytes of a value in a message (MySQL prints `%-.128s`).
const VALUE_BYTES_MAX: usize = 128;
/// Warnings kept of one chunk; more are counted only.
const WARNINGS_MAX: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    /// 1366 for numbers and text, 1292 for dates and times; the type's name in the message.
    Incorrect(&'static str),
    OutOfRange,
    /// The value has something behind it, or digits that the column does not hold.
    Truncated,
    TooLong,
    NullForNotNull,
    TooFewFields,
    TooManyFields,
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
            ProblemKind::Incorrect("date" | "datetime" | "time") => ErrorCode::TruncatedWrongValue,
            ProblemKind::Incorrect(_) => ErrorCode::TruncatedWrongValueForField,
            ProblemKind::OutOfRange => ErrorCode::OutOfRange,
            ProblemKind::Truncated => ErrorCode::DataTruncated,
            ProblemKind::TooLong => ErrorCode::DataTooLong,
            ProblemKind::NullForNotNull => ErrorCode::WarnNullToNotNull,
            ProblemKind::TooFewFields => ErrorCode::WarnTooFewRecords,
            ProblemKind::TooManyFields => ErrorCode::WarnTooManyRecords,
        }
    }

    /// MySQL's message; `row` counts the file's rows from 1.
    pub fn message(&self, row: u64) -> String {
        let Problem { column, value, .. } = self;
        match self.kind {
            ProblemKind::Incorrect(ty) => format!("Incorrect {ty} value: '{value}' for column '{column}' at row {row}"),
            ProblemKind::OutOfRange => format!("Out of range value for column '{column}' at row {row}"),
            ProblemKind::Truncated => format!("Data truncated for column '{column}' at row {row}"),
            ProblemKind::TooLong => format!("Data too long for column '{column}' at row {row}"),
            ProblemKind::NullForNotNull => {
                format!("Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}")
            }
            ProblemKind::TooFewFields => format!("Row {row} doesn't contain data for all columns"),
            ProblemKind::TooManyFields => {
                format!("Row {row} was truncated; it contained more data than there were input columns")
            }
        }
    }

    /// The error, with the place in the file and the value behind MySQL's words.
    pub fn into_error(self, row: u64, line: u64, file: &str) -> SqlError {
        let mut message = format!("{} ({file}, line {line}", self.message(row));
        if !self.value.is_empty() && !matches!(self.kind, ProblemKind::Incorrect(_)) {
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
}

impl Problems {
    pub fn new(strict: bool) -> Problems {
        Problems { strict, first: None, warnings: Vec::new(), warning_count: 0 }
    }

    /// Notes a problem. Of several the one of the earliest row counts as the error, of one row that of the first
    /// column.
    #[cold]
    pub fn add(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8]) {
        self.add_graded(row, column, kind, value, false)
    }

    /// As `add`, for what is an error with IGNORE too, because there is no value to put in its place.
    #[cold]
    pub fn add_fatal(&mut self, row: usize, column: &str, kind: ProblemKind, value: &[u8]) {
        self.add_graded(row, column, kind, value, true)
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
            let problem = Problem { row, column: column.to_string(), kind, value: printable(value) };
            if fatal { self.first = Some(problem) } else { self.warnings.push(problem) }
        }
    }
}

/// The beginning of a value for a message; bytes that are not text as `\xHH`.
fn printable(value: &[u8]) -> String {
    let cut = &value[..value.len().min(VALUE_BYTES_MAX)];
    let mut text = String::with_capacity(cut.len());
    for chunk in cut.utf8_chunks() {
        text.push_str(chunk.valid());
        // A character that the cut went through is dropped, not shown as bytes.
        let cut_through =
            cut.len() < value.len() && std::ptr::eq(chunk.invalid().as_ptr_range().end, cut.as_ptr_range().end);
        if !cut_through {
            chunk.invalid().iter().for_each(|b| text.push_str(&format!("\\x{b:02X}")));
        }
    }
    text
}
