//! Arguments of functions over columns.

use arrow_array::{Array, ArrayRef, StringViewArray, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use muster_types::{SqlType, Value};
use std::fmt::Write;

/// An argument of a batch.
pub enum Operand<'a> {
    Column(&'a ArrayRef),
    Constant(&'a Value),
}

impl<'a> Operand<'a> {
    /// The column of texts; `None` for anything else.
    pub fn texts(&self) -> Option<&'a StringViewArray> {
        match self {
            Operand::Column(column) => column.as_string_view_opt(),
            Operand::Constant(_) => None,
        }
    }

    /// The rows in which the argument is not NULL; `None`: all of them.
    pub fn nulls(&self) -> Option<&'a NullBuffer> {
        match *self {
            Operand::Column(column) => column.nulls(),
            Operand::Constant(_) => None,
        }
    }

    /// A reader of the texts that the argument is written as; `None` for an argument that is not written here: anything
    /// but texts and integers.
    pub fn writer(&self) -> Option<TextWriter<'a>> {
        Some(match self {
            Operand::Constant(Value::Text(text)) => TextWriter::Constant(text),
            Operand::Constant(_) => return None,
            Operand::Column(column) => match column.data_type() {
                DataType::Utf8View => TextWriter::Texts(column.as_string_view()),
                DataType::Int32 => TextWriter::Int32(column.as_primitive()),
                DataType::Int64 => TextWriter::Int64(column.as_primitive()),
                _ => return None,
            },
        })
    }
}

/// Writes an argument of a row as text.
pub enum TextWriter<'a> {
    Constant(&'a str),
    Texts(&'a StringViewArray),
    Int32(&'a arrow_array::Int32Array),
    Int64(&'a arrow_array::Int64Array),
}

impl TextWriter<'_> {
    /// Appends the text of a row, which is not NULL.
    pub fn append(&self, row: usize, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            TextWriter::Constant(text) => out.write_str(text),
            TextWriter::Texts(texts) => out.write_str(texts.value(row)),
            TextWriter::Int32(numbers) => write!(out, "{}", numbers.value(row)),
            TextWriter::Int64(numbers) => write!(out, "{}", numbers.value(row)),
        };
    }
}

/// Returns true for texts, and for integers that are written without leading zeros.
pub fn is_written(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text { .. } | SqlType::Int { unsigned: false, .. })
}

/// The integer of a constant argument.
pub fn constant_int(constant: Option<&Option<Value>>) -> Option<i64> {
    match constant {
        Some(Some(Value::Int(n))) => Some(*n),
        _ => None,
    }
}

/// The text of a constant argument.
pub fn constant_text(constant: Option<&Option<Value>>) -> Option<String> {
    match constant {
        Some(Some(Value::Text(text))) => Some(text.clone()),
        _ => None,
    }
}
