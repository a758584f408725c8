//! Texts that are made of texts: UPPER, LOWER, REPLACE, REVERSE, REPEAT, LPAD, RPAD, HEX, CONCAT, CONCAT_WS.

use super::{
    CallShape, ColumnFunction,
    operand::{Operand, TextWriter, constant_int, constant_text, is_written},
};
use arrow_array::{Array, ArrayRef, builder::StringViewBuilder};
use arrow_buffer::NullBuffer;
use muster_algebra::ScalarFunction;
use muster_eval::text::{append_lower, append_upper};
use muster_types::{Collation, SqlType, charset::Charset, collation};
use std::sync::Arc;

/// Functions of texts; CONCAT and CONCAT_WS also of integers.
pub(super) fn of(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    use ScalarFunction::*;
    if !call.result.is_text() {
        return None;
    }
    let text_bytes_max = call.text_bytes_max;
    match function {
        Upper | Lower => {
            let [SqlType::Text { collation, .. }] = call.types else { return None };
            let (charset, is_upper) = (Collation::character_set(*collation), function == Upper);
            Some(changed(usize::MAX, move |text, out| match (text.is_ascii(), is_upper) {
                (true, true) => push_ascii(text, out, <[u8]>::make_ascii_uppercase),
                (true, false) => push_ascii(text, out, <[u8]>::make_ascii_lowercase),
                (false, true) => append_upper(text, charset, out),
                (false, false) => append_lower(text, charset, out),
            }))
        }
        Replace if call.types.iter().all(SqlType::is_text) => {
            let (from, to) = (constant_text(call.constants.get(1))?, constant_text(call.constants.get(2))?);
            Some(changed(text_bytes_max, move |text, out| push_replaced(text, &from, &to, out)))
        }
        Reverse if call.types.iter().all(SqlType::is_text) => Some(changed(usize::MAX, |text, out| {
            out.extend(text.chars().rev());
        })),
        Repeat if call.types[0].is_text() => {
            let count = usize::try_from(constant_int(call.constants.get(1))?).unwrap_or(0);
            // Texts of this length are made here; a longer one is not even begun.
            let length = move |text: &str| text.len().saturating_mul(count);
            Some(checked(text_bytes_max, length, move |text, out| (0..count).for_each(|_| out.push_str(text))))
        }
        LPad | RPad if call.types[0].is_text() => padded(function, call),
        Library(function) if function.name == "HEX" => {
            let [SqlType::Text { collation, .. }] = call.types else { return None };
            let is_utf8 = matches!(collation.character_set(), Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii);
            is_utf8.then(|| changed(text_bytes_max, push_hexadecimal))
        }
        Concat if call.types.iter().all(is_written) => {
            Some(Box::new(move |args, rows| concatenated(args, rows, text_bytes_max)))
        }
        ConcatWs if call.types.iter().all(is_written) && call.types.len() > 1 => {
            Some(Box::new(move |args, rows| separated(args, rows, text_bytes_max)))
        }
        _ => None,
    }
}

/// LPAD and RPAD to a constant number of characters, with a constant text that is not empty.
fn padded(function: ScalarFunction, call: &CallShape) -> Option<ColumnFunction> {
    let characters = usize::try_from(constant_int(call.constants.get(1))?).ok()?;
    let pad = match call.constants.get(2) {
        None => " ".to_owned(),
        pad => constant_text(pad).filter(|pad| !pad.is_empty())?,
    };
    // MySQL counts the most bytes that so many characters may have.
    if characters.saturating_mul(4) > call.text_bytes_max {
        return None;
    }
    let is_left = function == ScalarFunction::LPad;
    Some(changed(usize::MAX, move |text, out| {
        let missing = characters.saturating_sub(text.chars().count());
        if missing == 0 {
            return out.push_str(collation::prefix(text, characters));
        }
        if !is_left {
            out.push_str(text);
        }
        match pad.len() {
            1 => (0..missing).for_each(|_| out.push_str(&pad)),
            _ => out.extend(pad.chars().cycle().take(missing)),
        }
        if is_left {
            out.push_str(text);
        }
    }))
}

fn push_hexadecimal(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(2 * text.len());
    for byte in text.bytes() {
        out.push(DIGITS[usize::from(byte >> 4)].into());
        out.push(DIGITS[usize::from(byte & 15)].into());
    }
}

/// As [`changed`], for texts whose length is known before they are made.
fn checked(
    bytes_max: usize,
    length: impl Fn(&str) -> usize + Send + Sync + 'static,
    append: impl Fn(&str, &mut String) + Send + Sync + 'static,
) -> ColumnFunction {
    let change = changed(bytes_max, append);
    Box::new(move |args, rows| {
        let is_short = args[0].texts()?.iter().flatten().all(|text| length(text) <= bytes_max);
        if is_short { change(args, rows) } else { None }
    })
}

/// The function that changes each text. Texts of more than `bytes_max` bytes are not made here.
fn changed(bytes_max: usize, append: impl Fn(&str, &mut String) + Send + Sync + 'static) -> ColumnFunction {
    Box::new(move |args, _| {
        let texts = args[0].texts()?;
        let mut changed = StringViewBuilder::with_capacity(texts.len());
        let mut out = String::new();
        for text in texts {
            match text {
                None => changed.append_null(),
                Some(text) => {
                    out.clear();
                    append(text, &mut out);
                    if out.len() > bytes_max {
                        return None;
                    }
                    changed.append_value(&out);
                }
            }
        }
        Some(Arc::new(changed.finish()))
    })
}

fn push_ascii(text: &str, out: &mut String, change: fn(&mut [u8])) {
    let mut bytes = std::mem::take(out).into_bytes();
    let start = bytes.len();
    bytes.extend_from_slice(text.as_bytes());
    change(&mut bytes[start..]);
    // Letters of ASCII become others, so that the text stays one.
    *out = String::from_utf8(bytes).unwrap_or_default();
}

fn push_replaced(text: &str, from: &str, to: &str, out: &mut String) {
    if from.is_empty() {
        return out.push_str(text);
    }
    let mut rest = 0;
    for (at, _) in text.match_indices(from) {
        out.push_str(&text[rest..at]);
        out.push_str(to);
        rest = at + from.len();
    }
    out.push_str(&text[rest..]);
}

/// The rows in which no argument is NULL.
fn valid_rows(args: &[Operand]) -> Option<NullBuffer> {
    args.iter().fold(None, |all, arg| NullBuffer::union(all.as_ref(), arg.nulls()))
}

fn concatenated(args: &[Operand], rows: usize, bytes_max: usize) -> Option<ArrayRef> {
    let writers: Vec<TextWriter> = args.iter().map(Operand::writer).collect::<Option<_>>()?;
    let valid = valid_rows(args);
    let mut all = StringViewBuilder::with_capacity(rows);
    let mut out = String::new();
    for row in 0..rows {
        if valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
            all.append_null();
            continue;
        }
        out.clear();
        writers.iter().for_each(|writer| writer.append(row, &mut out));
        if out.len() > bytes_max {
            return None;
        }
        all.append_value(&out);
    }
    Some(Arc::new(all.finish()))
}

/// CONCAT_WS: arguments that are NULL are left out; a separator that is NULL makes NULL.
fn separated(args: &[Operand], rows: usize, bytes_max: usize) -> Option<ArrayRef> {
    let (separator, args) = args.split_first()?;
    let write_separator = separator.writer()?;
    let writers: Vec<TextWriter> = args.iter().map(Operand::writer).collect::<Option<_>>()?;
    let is_null = |arg: &Operand, row: usize| arg.nulls().is_some_and(|nulls| nulls.is_null(row));
    let mut all = StringViewBuilder::with_capacity(rows);
    let mut out = String::new();
    for row in 0..rows {
        if is_null(separator, row) {
            all.append_null();
            continue;
        }
        out.clear();
        let mut is_first = true;
        for (_, writer) in args.iter().zip(&writers).filter(|(arg, _)| !is_null(arg, row)) {
            if !std::mem::replace(&mut is_first, false) {
                write_separator.append(row, &mut out);
            }
            writer.append(row, &mut out);
        }
        if out.len() > bytes_max {
            return None;
        }
        all.append_value(&out);
    }
    Some(Arc::new(all.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_those_of_the_library() {
        for (text, from, to) in
            [("aXbXc", "X", "yy"), ("aaa", "aa", "b"), ("", "a", "b"), ("ab", "", "c"), ("äb", "ä", "")]
        {
            let mut out = String::from(">");
            push_replaced(text, from, to, &mut out);
            let want = if from.is_empty() { text.to_owned() } else { text.replace(from, to) };
            assert_eq!(out[1..], want);
        }
    }

    #[test]
    fn digits_of_bytes() {
        let mut out = String::new();
        push_hexadecimal("aö", &mut out);
        assert_eq!(out, "61C3B6");
    }

    #[test]
    fn letters_of_ascii_change_behind_what_is_there() {
        let mut out = String::from("ä");
        push_ascii("aB1", &mut out, <[u8]>::make_ascii_uppercase);
        assert_eq!(out, "äAB1");
    }
}
