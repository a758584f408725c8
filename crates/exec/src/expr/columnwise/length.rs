//! LENGTH, CHAR_LENGTH and ASCII of texts.

use super::{CallShape, ColumnFunction, operand::Operand};
use arrow_array::{Array, ArrayRef, Int64Array, StringViewArray};
use muster_algebra::ScalarFunction;
use muster_types::{SqlType, charset::Charset};
use std::sync::Arc;

/// The length of a text whose bytes in its character set are those that it has here.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    let [SqlType::Text { collation, .. }] = call.types else { return None };
    let is_utf8 = matches!(collation.character_set(), Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii);
    if call.result != SqlType::BIGINT {
        return None;
    }
    match function {
        ScalarFunction::Length if is_utf8 => Some(Box::new(lengths)),
        ScalarFunction::CharLength => Some(Box::new(characters)),
        ScalarFunction::Ascii if is_utf8 => Some(Box::new(first_bytes)),
        _ => None,
    }
}

/// Lengths in bytes, which are the lower 32 bits of a view.
fn lengths(args: &[Operand], _rows: usize) -> Option<ArrayRef> {
    let texts = args[0].texts()?;
    let lengths = texts.views().iter().map(|view| i64::from(*view as u32)).collect();
    Some(Arc::new(Int64Array::new(lengths, args[0].nulls().cloned())))
}

fn characters(args: &[Operand], _rows: usize) -> Option<ArrayRef> {
    numbers(args, |text| {
        // Bytes that begin a character.
        text.as_bytes().iter().map(|byte| i64::from(byte & 0xC0 != 0x80)).sum()
    })
}

fn first_bytes(args: &[Operand], _rows: usize) -> Option<ArrayRef> {
    numbers(args, |text| text.as_bytes().first().copied().unwrap_or(0).into())
}

/// A number for each text.
fn numbers(args: &[Operand], number: impl Fn(&str) -> i64) -> Option<ArrayRef> {
    let texts: &StringViewArray = args[0].texts()?;
    let numbers = match texts.nulls() {
        None => (0..texts.len()).map(|row| number(texts.value(row))).collect(),
        Some(nulls) => {
            nulls.iter().enumerate().map(|(row, is)| if is { number(texts.value(row)) } else { 0 }).collect()
        }
    };
    Some(Arc::new(Int64Array::new(numbers, texts.nulls().cloned())))
}
