//! SELECT .. INTO OUTFILE and INTO DUMPFILE: rows in the form that LOAD DATA reads, or the bytes of one row.

use super::server_file;
use crate::{
    ColumnInfo,
    statement::{Done, StatementContext, query},
    threads,
};
use arrow_array::RecordBatch;
use futures::StreamExt;
use muster_sql::{FileFormat, OutFile, Query};
use muster_storage::value_at;
use muster_types::{
    ErrorCode, Result, SqlError, SqlType, Value,
    charset::{self, Charset},
};
use std::{
    fs::OpenOptions,
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
};

/// Letters behind the escape character that mean something else than themselves (MySQL: `ESCAPE_CHARS`).
const ESCAPE_LETTERS: &str = "ntrb0ZN";
/// Characters of numbers (MySQL: `NUMERIC_CHARS`).
const NUMERIC: &str = ".0123456789e+-";

/// Runs a query and writes its rows into a new file. Errors: 1045 without the privilege FILE, 1290 for a place outside
/// of `secure_file_priv`, 1086 if the file is there, 1172 for a second row in a DUMPFILE.
pub fn select_into_file(
    context: &Arc<StatementContext>,
    query: &Query,
    file: &OutFile,
    parameters: &[Value],
) -> Result<Done> {
    let path = server_file::new_path(context, &file.path)?;
    if path.exists() {
        return Err(SqlError::new(ErrorCode::FileExists, format!("File '{}' already exists", file.path)));
    }
    context.warn_of_charset(file.charset.as_deref(), None);
    let charset = match file.charset.as_deref() {
        None | Some("binary") => None,
        Some(name) => match Charset::from_name(&name.to_ascii_lowercase()) {
            Some(charset) => Some(charset),
            None => {
                let message = format!("Unknown character set: '{name}'");
                return Err(SqlError::new(ErrorCode::UnknownCharacterSet, message));
            }
        },
    };
    let mut result = query::select(context, query, parameters)?;
    let mut writer = RowWriter::new(&path, file, charset, &result.columns)?;
    let mut count = 0u64;
    let written = loop {
        match threads::wait(result.rows.next()) {
            Err(e) | Ok(Some(Err(e))) => break Err(e),
            Ok(None) => break Ok(()),
            Ok(Some(Ok(batch))) => {
                if let Err(e) = writer.batch(&batch, &mut count) {
                    break Err(e);
                }
            }
        }
    };
    written.and_then(|()| writer.finish()).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    Ok(Done::rows(count))
}

/// Writes rows.
struct RowWriter<'a> {
    out: BufWriter<std::fs::File>,
    path: &'a str,
    columns: &'a [ColumnInfo],
    format: Option<&'a FileFormat>,
    charset: Option<Charset>,
}

impl<'a> RowWriter<'a> {
    fn new(
        path: &Path,
        file: &'a OutFile,
        charset: Option<Charset>,
        columns: &'a [ColumnInfo],
    ) -> Result<RowWriter<'a>> {
        let made = OpenOptions::new().write(true).create_new(true).open(path);
        let out = BufWriter::new(made.map_err(|e| cannot_write(&file.path, &e))?);
        Ok(RowWriter { out, path: &file.path, columns, format: file.format.as_ref(), charset })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| cannot_write(self.path, &e))
    }

    fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(|e| cannot_write(self.path, &e))
    }

    /// Writes the rows of a batch and counts them.
    fn batch(&mut self, batch: &RecordBatch, count: &mut u64) -> Result<()> {
        for row in 0..batch.num_rows() {
            *count += 1;
            let values = batch.columns().iter().map(|column| value_at(column, row));
            self.row(&values.collect::<Result<Vec<_>>>()?, *count)?;
        }
        Ok(())
    }

    fn row(&mut self, values: &[Value], number: u64) -> Result<()> {
        let Some(format) = self.format else { return self.dump(values, number) };
        self.write(format.lines_starting_by.as_bytes())?;
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                self.write(format.fields_terminated_by.as_bytes())?;
            }
            let field = self.field(format, i, value);
            self.write(&field)?;
        }
        self.write(format.lines_terminated_by.as_bytes())
    }

    /// The bytes of the values, one behind the other.
    fn dump(&mut self, values: &[Value], number: u64) -> Result<()> {
        if number > 1 {
            return Err(SqlError::new(ErrorCode::TooManyRows, "Result consisted of more than one row"));
        }
        for (i, value) in values.iter().enumerate() {
            // NULL is a zero byte.
            let bytes = self.bytes(i, value).unwrap_or_else(|| vec![0]);
            self.write(&bytes)?;
        }
        Ok(())
    }

    /// The value as it is written, without what is around it; `None` for NULL.
    fn bytes(&self, i: usize, value: &Value) -> Option<Vec<u8>> {
        match value {
            Value::Null => None,
            Value::Bytes(bytes) => Some(bytes.clone()),
            value => {
                let text = self.columns.get(i).and_then(|column| column.shown(value)).unwrap_or_default();
                Some(match self.charset {
                    Some(charset) => charset::encode(charset, &text).into_owned(),
                    None => text.into_bytes(),
                })
            }
        }
    }

    /// The value with its quotes and escapes (MySQL: `Query_result_export::send_data`).
    fn field(&self, format: &FileFormat, i: usize, value: &Value) -> Vec<u8> {
        let escape = format.fields_escaped_by;
        let Some(bytes) = self.bytes(i, value) else {
            return escape.map_or_else(|| b"NULL".to_vec(), |escape| format!("{escape}N").into_bytes());
        };
        let declared = self.columns.get(i).map_or(SqlType::Null, |column| column.shape.ty.unwrap_or(column.ty));
        let is_text = !declared.is_numeric() || matches!(declared, SqlType::Bit { .. });
        let enclosed = format.fields_enclosed_by.filter(|_| is_text || !format.optionally_enclosed);
        let separator = format.fields_enclosed_by.or_else(|| format.fields_terminated_by.chars().next());
        let is_unsafe = separator.is_some_and(|c| NUMERIC.contains(c));
        let mut field = Vec::with_capacity(bytes.len() + 2);
        field.extend(enclosed.map(|c| c as u8));
        match escape.filter(|_| is_text || is_unsafe) {
            None => field.extend(bytes),
            Some(escape) => Escaping::new(format, escape, separator, enclosed.is_some()).add(&bytes, &mut field),
        }
        field.extend(enclosed.map(|c| c as u8));
        field
    }
}

/// Which bytes of a value are escaped.
struct Escaping {
    escape: u8,
    separator: Option<u8>,
    terminator: Option<u8>,
    line_end: Option<u8>,
    is_enclosed: bool,
    /// An escaped separator would mean something else.
    is_ambiguous_separator: bool,
    is_ambiguous_terminator: bool,
}

impl Escaping {
    fn new(format: &FileFormat, escape: char, separator: Option<char>, is_enclosed: bool) -> Escaping {
        let first = |text: &str| text.bytes().next();
        let terminator = format.fields_terminated_by.chars().next();
        let is_ambiguous = |c: Option<char>| c.is_some_and(|c| ESCAPE_LETTERS.contains(c));
        Escaping {
            escape: escape as u8,
            separator: separator.map(|c| c as u8),
            terminator: first(&format.fields_terminated_by),
            line_end: first(&format.lines_terminated_by),
            is_enclosed,
            is_ambiguous_separator: is_ambiguous(separator),
            is_ambiguous_terminator: is_ambiguous(terminator),
        }
    }

    fn add(&self, bytes: &[u8], field: &mut Vec<u8>) {
        for byte in bytes {
            let ends_field = Some(*byte) == if self.is_enclosed { self.separator } else { self.terminator };
            let is_special = *byte == self.escape || ends_field || Some(*byte) == self.line_end || *byte == 0;
            // Doubling is for what encloses.
            let is_kept = !self.is_enclosed && self.is_ambiguous_terminator && Some(*byte) == self.terminator;
            if is_special && !is_kept {
                let doubles = self.is_ambiguous_separator && Some(*byte) == self.separator;
                field.push(if doubles { *byte } else { self.escape });
                field.push(if *byte == 0 { b'0' } else { *byte });
            } else {
                field.push(*byte);
            }
        }
    }
}

fn cannot_write(path: &str, error: &std::io::Error) -> SqlError {
    let message =
        format!("Can't create/write to file '{path}' (OS errno {} - {error})", error.raw_os_error().unwrap_or(0));
    SqlError::new(ErrorCode::CantCreateFile, message)
}
