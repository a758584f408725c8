//! Pieces of texts: LEFT, RIGHT, TRIM, SUBSTRING, SUBSTRING_INDEX.

use super::{
    CallShape, ColumnFunction,
    operand::{Operand, constant_int, constant_text},
};
use arrow_array::{Array, ArrayRef, Int64Array, builder::StringViewBuilder, cast::AsArray};
use arrow_schema::DataType;
use muster_algebra::ScalarFunction;
use muster_eval::text;
use muster_types::{SqlType, collation};
use std::sync::Arc;

/// Pieces of a text with constant numbers and texts behind it; SUBSTRING also with numbers that are columns.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    use ScalarFunction::*;
    if !call.types.first()?.is_text() || !call.result.is_text() {
        return None;
    }
    match function {
        Left => {
            let count = usize::try_from(constant_int(call.constants.get(1))?).unwrap_or(0);
            Some(piece(move |text| first_characters(text, count)))
        }
        Right => {
            let count = usize::try_from(constant_int(call.constants.get(1))?).unwrap_or(0);
            Some(piece(move |text| last_characters(text, count)))
        }
        Trim | LTrim | RTrim => {
            let removed = match call.constants.get(1) {
                None => " ".to_owned(),
                removed => constant_text(removed)?,
            };
            let (leading, trailing) = (function != RTrim, function != LTrim);
            Some(piece(move |text| text::trim(text, &removed, leading, trailing)))
        }
        Substring => {
            let is_number = |ty: &SqlType| matches!(ty, SqlType::Int { unsigned: false, .. });
            call.types[1..].iter().all(is_number).then(|| Box::new(substrings) as ColumnFunction)
        }
        Library(function) if function.name == "SUBSTRING_INDEX" => {
            let (delimiter, count) = (constant_text(call.constants.get(1))?, constant_int(call.constants.get(2))?);
            Some(piece(move |text| part_at_delimiter(text, &delimiter, count)))
        }
        _ => None,
    }
}

/// The text in front of the delimiter number `count`, or behind the one of this number from the end. Delimiters that
/// overlap are those that are found from the front.
fn part_at_delimiter<'t>(text: &'t str, delimiter: &str, count: i64) -> &'t str {
    if delimiter.is_empty() || count == 0 {
        return "";
    }
    let nth = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let mut found = text.match_indices(delimiter).map(|(at, _)| at);
    if count > 0 {
        return found.nth(nth - 1).map_or(text, |end| &text[..end]);
    }
    let all = found.count();
    let last = all.checked_sub(nth).and_then(|i| text.match_indices(delimiter).nth(i));
    last.map_or(text, |(at, _)| &text[at + delimiter.len()..])
}

/// The function that takes a piece of each text.
fn piece(of: impl Fn(&str) -> &str + Send + Sync + 'static) -> ColumnFunction {
    Box::new(move |args, _| {
        let texts = args[0].texts()?;
        let mut pieces = StringViewBuilder::with_capacity(texts.len());
        texts.iter().for_each(|text| pieces.append_option(text.map(&of)));
        Some(Arc::new(pieces.finish()))
    })
}

fn first_characters(text: &str, count: usize) -> &str {
    // As many bytes as characters, unless one has several bytes.
    match text.as_bytes().get(..count) {
        None => text,
        Some(first) if first.is_ascii() => &text[..count],
        Some(_) => collation::prefix(text, count),
    }
}

fn last_characters(text: &str, count: usize) -> &str {
    let Some(skipped) = text.len().checked_sub(count) else { return text };
    if text.as_bytes()[skipped..].is_ascii() {
        return &text[skipped..];
    }
    match text.char_indices().rev().nth(count.saturating_sub(1)) {
        Some((at, _)) if count > 0 => &text[at..],
        _ if count == 0 => "",
        _ => text,
    }
}

/// Integers of an argument that is a column or a constant.
enum Numbers {
    Column(Int64Array),
    Constant(i64),
}

impl Numbers {
    fn of(operand: &Operand) -> Option<Numbers> {
        match operand {
            Operand::Constant(value) => constant_int(Some(&Some((*value).clone()))).map(Numbers::Constant),
            Operand::Column(column) => {
                let wide = arrow_cast::cast(column, &DataType::Int64).ok()?;
                Some(Numbers::Column(wide.as_primitive().clone()))
            }
        }
    }

    /// `None` for NULL.
    fn at(&self, row: usize) -> Option<i64> {
        match self {
            Numbers::Constant(n) => Some(*n),
            Numbers::Column(column) => column.is_valid(row).then(|| column.value(row)),
        }
    }
}

fn substrings(args: &[Operand], rows: usize) -> Option<ArrayRef> {
    let texts = args[0].texts()?;
    let start = Numbers::of(args.get(1)?)?;
    let length = match args.get(2) {
        None => Numbers::Constant(i64::MAX),
        Some(operand) => Numbers::of(operand)?,
    };
    let mut pieces = StringViewBuilder::with_capacity(rows);
    for (row, text) in texts.iter().enumerate() {
        let piece = match (text, start.at(row), length.at(row)) {
            (Some(text), Some(start), Some(length)) => Some(text::substring(text, start, length)),
            _ => None,
        };
        pieces.append_option(piece);
    }
    Some(Arc::new(pieces.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_counted_from_both_ends() {
        for (text, delimiter, count, want) in [
            ("www.mysql.com", ".", 2, "www.mysql"),
            ("www.mysql.com", ".", -2, "mysql.com"),
            ("www.mysql.com", ".", 9, "www.mysql.com"),
            ("www.mysql.com", ".", -9, "www.mysql.com"),
            ("www.mysql.com", "x", 1, "www.mysql.com"),
            ("aaaaa", "aa", 2, "aa"),
            ("aaaaa", "aa", -1, "a"),
            ("aöböc", "ö", -1, "c"),
            ("abc", "", 1, ""),
            ("abc", "b", 0, ""),
        ] {
            assert_eq!(part_at_delimiter(text, delimiter, count), want, "{text} {delimiter} {count}");
        }
    }

    #[test]
    fn pieces_count_characters() {
        let texts = ["", "a", "abc", "äöü", "aäbö", "日本語 text"];
        for text in texts {
            let characters: Vec<char> = text.chars().collect();
            for count in 0..12 {
                let first: String = characters.iter().take(count).collect();
                assert_eq!(first_characters(text, count), first);
                let last: String = characters.iter().skip(characters.len().saturating_sub(count)).collect();
                assert_eq!(last_characters(text, count), last, "{text} {count}");
            }
        }
    }
}
