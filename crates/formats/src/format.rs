//! The layout of rows in a delimited file, and the destinations of its fields.

use muster_types::{
    ErrorCode, FloatDigits, Result, SqlError, SqlType, Value, charset::Charset, temporal::DateModes,
    time_zone::TimeZone,
};
use std::collections::HashMap;

/// A column of the table that is loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetColumn {
    pub name: String,
    pub ty: SqlType,
    /// M and D of `FLOAT(M,D)` and `DOUBLE(M,D)`.
    pub digits: Option<FloatDigits>,
    pub nullable: bool,
    /// The value of rows that have no field for the column. `None` is NULL, and for a NOT NULL column error 1364.
    pub default: Option<Value>,
    /// The zone of local times in the file, which a TIMESTAMP column stores in UTC.
    pub time_zone: TimeZone,
    /// Which dates that the calendar does not have are stored.
    pub date_modes: DateModes,
    /// True if digits of the fraction of a second that the column does not hold are cut, not rounded
    /// (TIME_TRUNCATE_FRACTIONAL).
    pub cuts_fractions: bool,
}

/// The destination of a field of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldTarget {
    /// Position among [`DelimitedOptions::columns`].
    Column(usize),
    /// Position as before, of a column that is NULL in rows that lack the field, without a warning: a user variable.
    Optional(usize),
    /// The field is read and dropped.
    Skip,
}

/// The FIELDS and LINES clauses of LOAD DATA (manual 15.2.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelimitedFormat {
    pub fields_terminated_by: Vec<u8>,
    /// `OPTIONALLY` makes no difference when reading.
    pub fields_enclosed_by: Option<u8>,
    pub fields_escaped_by: Option<u8>,
    pub lines_starting_by: Vec<u8>,
    pub lines_terminated_by: Vec<u8>,
    pub ignore_lines: u64,
    /// An empty field without quotes is NULL (CSV as most programs write it; MySQL has no such rule).
    pub empty_is_null: bool,
    pub charset: Charset,
}

impl Default for DelimitedFormat {
    /// LOAD DATA without any clause: tabs, newlines, escaped by `\`.
    fn default() -> Self {
        DelimitedFormat {
            fields_terminated_by: b"\t".to_vec(),
            fields_enclosed_by: None,
            fields_escaped_by: Some(b'\\'),
            lines_starting_by: Vec::new(),
            lines_terminated_by: b"\n".to_vec(),
            ignore_lines: 0,
            empty_is_null: false,
            charset: Charset::Utf8mb4,
        }
    }
}

impl DelimitedFormat {
    /// The format that dbgen writes: `|` behind every field, nothing quoted or escaped.
    pub fn tbl() -> DelimitedFormat {
        DelimitedFormat { fields_terminated_by: b"|".to_vec(), fields_escaped_by: None, ..DelimitedFormat::default() }
    }

    /// RFC 4180 with a header line; `line_end` as found behind the header.
    pub fn csv(line_end: &[u8]) -> DelimitedFormat {
        DelimitedFormat {
            fields_terminated_by: b",".to_vec(),
            fields_enclosed_by: Some(b'"'),
            fields_escaped_by: None,
            lines_terminated_by: line_end.to_vec(),
            ignore_lines: 1,
            empty_is_null: true,
            ..DelimitedFormat::default()
        }
    }

    /// Returns true if nothing but the two terminators has a meaning (in bytes without the escape character).
    pub(super) fn is_plain(&self) -> bool {
        self.fields_enclosed_by.is_none()
            && self.lines_starting_by.is_empty()
            && self.fields_terminated_by.len() == 1
            && self.lines_terminated_by.len() == 1
            && self.fields_terminated_by != self.lines_terminated_by
    }

    /// Error 1235 for what MySQL can read and this cannot.
    pub(super) fn check(&self) -> Result<()> {
        if self.fields_terminated_by.is_empty() {
            return Err(SqlError::unsupported("LOAD DATA with FIELDS TERMINATED BY ''"));
        }
        if self.lines_terminated_by.is_empty() {
            return Err(SqlError::unsupported("LOAD DATA with LINES TERMINATED BY ''"));
        }
        let end = &self.lines_terminated_by;
        if self.lines_starting_by.windows(end.len()).any(|w| w == end) {
            return Err(SqlError::unsupported("LOAD DATA with a line end in LINES STARTING BY"));
        }
        Ok(())
    }
}

/// Everything that reading a delimited file needs to know beside its bytes.
#[derive(Debug, Clone)]
pub struct DelimitedOptions {
    pub format: DelimitedFormat,
    /// The destinations of the fields of a line, in their order.
    pub fields: Vec<FieldTarget>,
    /// All columns of the table, and what else fields go to.
    pub columns: Vec<TargetColumn>,
    /// Name of the file in messages.
    pub file_name: String,
    /// Malformed values are errors. Otherwise (IGNORE) they are adjusted as MySQL does, with a warning.
    pub strict: bool,
    /// Threads that parse, beside one that reads.
    pub threads: usize,
}

impl DelimitedOptions {
    /// Fields go to the table's columns in order.
    pub fn all_columns(format: DelimitedFormat, columns: Vec<TargetColumn>, file_name: &str) -> DelimitedOptions {
        let fields = (0..columns.len()).map(FieldTarget::Column).collect();
        DelimitedOptions { format, fields, columns, file_name: file_name.to_string(), strict: true, threads: 2 }
    }

    /// Errors: 1235 for a format that is not supported, 1110 for a column named twice, 1364 for a NOT NULL column
    /// that gets neither field nor default.
    pub(super) fn check(&self) -> Result<()> {
        self.format.check()?;
        let mut taken = vec![false; self.columns.len()];
        for field in &self.fields {
            if let FieldTarget::Column(i) | FieldTarget::Optional(i) = *field {
                let slot = taken.get_mut(i).ok_or_else(|| SqlError::internal("a field of no column"))?;
                if std::mem::replace(slot, true) {
                    let message = format!("Column '{}' specified twice", self.columns[i].name);
                    return Err(SqlError::new(ErrorCode::FieldSpecifiedTwice, message));
                }
            }
        }
        let missing = |(c, taken): &(&TargetColumn, bool)| !taken && !c.nullable && c.default.is_none();
        match self.columns.iter().zip(taken).find(missing) {
            Some((column, _)) if self.strict => Err(no_default(column)),
            _ => Ok(()),
        }
    }
}

pub(super) fn no_default(column: &TargetColumn) -> SqlError {
    SqlError::new(ErrorCode::NoDefaultForField, format!("Field '{}' doesn't have a default value", column.name))
}

/// Reads the header line of a CSV file: the format for the rest, and which column each field is. Names compare without
/// case. Error 1054 for a name that is no column, 1235 for bytes that are not text.
pub fn csv_header(header: &[u8], columns: &[TargetColumn]) -> Result<(DelimitedFormat, Vec<FieldTarget>)> {
    let header = header.strip_suffix(b"\n").unwrap_or(header);
    let (header, line_end): (_, &[u8]) = match header.strip_suffix(b"\r") {
        Some(header) => (header, b"\r\n"),
        None => (header, b"\n"),
    };
    let header = header.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(header);
    let header = std::str::from_utf8(header).map_err(|_| SqlError::unsupported("a CSV header that is not in UTF-8"))?;
    let by_name: HashMap<String, usize> = columns.iter().enumerate().map(|(i, c)| (c.name.to_lowercase(), i)).collect();
    let field = |name: String| match by_name.get(&name.trim().to_lowercase()) {
        Some(i) => Ok(FieldTarget::Column(*i)),
        None => Err(SqlError::unknown_column(name.trim(), "field list")),
    };
    let fields = split_header(header).into_iter().map(field).collect::<Result<_>>()?;
    Ok((DelimitedFormat::csv(line_end), fields))
}

fn split_header(header: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut quoted = false;
    for c in header.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => names.push(String::new()),
            c => names.last_mut().expect("never empty").push(c),
        }
    }
    names
}
