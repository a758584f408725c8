//! Formats of dates and regular expressions that a statement may have; the worst outcome is NULL or an error. Called by
//! the suite with random texts, and by `fuzz/`.

use crate::{Call, CallState, LibraryFunction};
use muster_types::{
    Collation, SqlType, Value,
    temporal::{DateModes, read_datetime},
};

/// Bytes that a function may make of its arguments.
const TEXT_BYTES_MAX: usize = 1 << 16;

const TEXT: SqlType = SqlType::varchar(TEXT_BYTES_MAX as u32, Collation::DEFAULT);

/// Calls a function of the library with these arguments. `session`: the values that it asks of the session.
fn call(name: &str, session: &[Value], args: &[Value]) -> Option<Value> {
    let function = LibraryFunction::by_name(name).expect("the function is there");
    let types: Vec<Option<SqlType>> = args.iter().map(|_| Some(TEXT)).collect();
    let (mut state, mut warnings): (CallState, usize) = (None, 0);
    let mut call = Call {
        name,
        printed: &String::new,
        printed_argument: &|_| String::new(),
        ty: TEXT,
        types: &types,
        collation: Collation::DEFAULT,
        session,
        is_constant: true,
        state: &mut state,
        warnings: &mut |_| warnings += 1,
        text_bytes_max: TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
    };
    (function.value)(&mut call, args).ok()
}

/// Two texts of the bytes: in front of the first NUL, and behind it.
fn two_texts(bytes: &[u8]) -> (String, String) {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&bytes[..end]), text(bytes.get(end + 1..).unwrap_or_default()))
}

/// Reads a text by a format, and writes what it is, and a fixed moment, by the same format.
pub fn date_formats(bytes: &[u8]) {
    let (format, text) = two_texts(bytes);
    let format = Value::Text(format);
    let modes = Value::Int(DateModes::DEFAULT.bits());
    let names = Value::Text("de_DE".into());
    let read = call("STR_TO_DATE", std::slice::from_ref(&modes), &[Value::Text(text.as_str().into()), format.clone()]);
    let fixed = Value::DateTime(read_datetime("2024-02-29 23:59:59.5").and_then(|r| r.moment.datetime()).unwrap_or(0));
    for moment in read.into_iter().chain([fixed, Value::Text(text)]) {
        let written = call("DATE_FORMAT", &[modes.clone(), names.clone()], &[moment.clone(), format.clone()]);
        if let Some(Value::Text(written)) = written {
            assert!(written.len() <= TEXT_BYTES_MAX);
        }
        call("TIME_FORMAT", &[], &[moment, format.clone()]);
    }
}

/// Looks for a pattern in a text: what is found, its place, and whether something is, agree.
pub fn regular_expressions(bytes: &[u8]) {
    let (pattern, text) = two_texts(bytes);
    let args = [Value::Text(text), Value::Text(pattern)];
    let is_found = call("REGEXP_LIKE", &[], &args);
    let place = call("REGEXP_INSTR", &[], &args);
    let found = call("REGEXP_SUBSTR", &[], &args);
    call("REGEXP_REPLACE", &[], &[args[0].clone(), args[1].clone(), Value::Text("$0\\".into())]);
    if let (Some(is_found), Some(place), Some(found)) = (is_found, place, found) {
        let is_true = |value: &Value| !matches!(value, Value::Int(0) | Value::Bool(false) | Value::Null);
        assert_eq!(is_true(&is_found), is_true(&place));
        assert_eq!(is_true(&is_found), !found.is_null());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PIECES: &[&str] = &[
        "%Y",
        "%m",
        "%d",
        "%H",
        "%i",
        "%s",
        "%f",
        "%p",
        "%W",
        "%M",
        "%j",
        "%U",
        "%X %V",
        "%D",
        "%",
        "%%",
        "2024",
        "-02-",
        "29",
        "Sonntag",
        "January",
        "99",
        ":",
        " ",
        "\0",
        "(",
        ")",
        "[",
        "^",
        "]",
        "a*",
        "b+?",
        "{2,3}",
        "|",
        "\\d",
        "[[:alpha:]]",
        "(?i)",
        "$",
        "\\",
        "ä",
        "\u{1F600}",
        ".",
        "x{99999}",
        "\\b",
    ];

    proptest! {
        #[test]
        fn any_format_is_read_and_written(pieces in proptest::collection::vec(0..PIECES.len(), 0..30)) {
            let text: String = pieces.iter().map(|i| PIECES[*i]).collect();
            date_formats(text.as_bytes());
            regular_expressions(text.as_bytes());
        }

        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            date_formats(&bytes);
            regular_expressions(&bytes);
        }
    }
}
