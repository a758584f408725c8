//! Formats of dates and regular expressions that a statement may have, beside simple models of what they mean. Called
//! by the suite with random bytes, and by `fuzz/`.
//!
//! ```text
//!   date_formats.rs         DATE_FORMAT, STR_TO_DATE, TIME_FORMAT, GET_FORMAT
//!   calendar.rs             the model of DATE_FORMAT
//!   regular_expressions.rs  REGEXP_LIKE, _INSTR, _SUBSTR, _REPLACE
//!   backtracking.rs         the model of a search
//! ```

mod backtracking;
mod calendar;
mod date_formats;
mod regular_expressions;

pub use date_formats::date_formats;
pub use regular_expressions::regular_expressions;

use crate::{Call, CallState, LibraryFunction};
use muster_types::{CastWarning, Collation, SqlType, Value};

/// Bytes that a function may make of its arguments.
const TEXT_BYTES_MAX: usize = 1 << 16;

const TEXT: SqlType = SqlType::varchar(TEXT_BYTES_MAX as u32, Collation::DEFAULT);

/// A call of a function of the library.
struct TriedCall<'a> {
    name: &'a str,
    /// Type of the result.
    ty: SqlType,
    /// The values that it asks of the session.
    session: &'a [Value],
    args: &'a [Value],
}

impl TriedCall<'_> {
    /// The value, and the warnings; `None` for an error.
    fn run(&self) -> Option<(Value, Vec<CastWarning>)> {
        let function = LibraryFunction::by_name(self.name).expect("the function is there");
        let types: Vec<Option<SqlType>> = self.args.iter().map(|_| Some(TEXT)).collect();
        let (mut state, mut warnings): (CallState, Vec<CastWarning>) = (None, Vec::new());
        let mut call = Call {
            name: self.name,
            printed: &String::new,
            printed_argument: &|_| String::new(),
            ty: self.ty,
            types: &types,
            collation: Collation::DEFAULT,
            session: self.session,
            state: &mut state,
            warnings: &mut |w| warnings.push(w),
            text_bytes_max: TEXT_BYTES_MAX,
            reserve: &mut |_| Ok(()),
        };
        let value = (function.value)(&mut call, self.args).ok()?;
        Some((value, warnings))
    }
}

/// Calls a function whose result is a text.
fn call(name: &str, session: &[Value], args: &[Value]) -> Option<Value> {
    TriedCall { name, ty: TEXT, session, args }.run().map(|(value, _)| value)
}

/// Two texts of the bytes: in front of the first NUL, and behind it.
fn two_texts(bytes: &[u8]) -> (String, String) {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&bytes[..end]), text(bytes.get(end + 1..).unwrap_or_default()))
}

/// Decisions that bytes make, one byte each; 0 when there are no more.
struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes }
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `end`, which is at most 256.
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A number of 32 bits.
    fn number(&mut self) -> u32 {
        (0..4).fold(0, |number, _| number << 8 | u32::from(self.byte()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, test_runner::TestRunner};

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

    fn both(bytes: &[u8]) {
        date_formats(bytes);
        regular_expressions(bytes);
    }

    proptest! {
        #[test]
        fn any_format_is_read_and_written(pieces in vec(0..PIECES.len(), 0..30)) {
            let text: String = pieces.iter().map(|i| PIECES[*i]).collect();
            both(text.as_bytes());
        }

        #[test]
        fn any_bytes(bytes in vec(any::<u8>(), 0..100)) {
            both(&bytes);
        }
    }

    /// Some minutes of random bytes.
    #[test]
    #[ignore = "takes minutes"]
    fn fuzz_of_formats_and_patterns() {
        let mut runner = TestRunner::new(ProptestConfig::with_cases(2_000_000));
        let outcome = runner.run(&vec(any::<u8>(), 0..100), |bytes| {
            both(&bytes);
            Ok(())
        });
        outcome.expect("all inputs agree with the models");
    }
}
