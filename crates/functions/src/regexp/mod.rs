//! Regular expressions: REGEXP_LIKE, which is also `REGEXP` and `RLIKE`, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.
//!
//! ```text
//!   translate.rs      a pattern in ICU's syntax becomes one of the crate `regex`
//!   class.rs          character classes
//!   compiled.rs       compiled patterns and their matches
//!   replacement.rs    the replacement of REGEXP_REPLACE
//!   pattern_error.rs  MySQL's errors
//! ```
//!
//! A search takes time linear in the text, whatever the pattern; docs/differences.md says what that costs. Byte strings
//! are searched as texts of the 256 characters that their bytes stand for in latin1.

mod class;
mod compiled;
mod pattern_error;
mod replacement;
#[cfg(test)]
mod tests;
mod translate;

use crate::{
    Call, Function, ResultType,
    Takes::{Int, Text},
    Typing,
    call::int,
    result,
};
use compiled::Pattern;
use muster_types::{ErrorCode, Result, SqlError, Value};
use pattern_error::index_out_of_bounds;
use replacement::Replacement;
use std::{borrow::Cow, rc::Rc};
use translate::Modes;

pub const FUNCTIONS: &[Function] = &[
    Function::new("REGEXP_LIKE", &[Text, Text, Text], result::truth, like).optional(1).of_one_charset().null_of_null(),
    Function::new("REGEXP_INSTR", &[Text, Text, Int, Int, Int, Text], result::bigint, instr)
        .optional(4)
        .of_one_charset()
        .null_of_null(),
    Function::new("REGEXP_SUBSTR", &[Text, Text, Int, Int, Text], of_subject, substr).optional(3).of_one_charset(),
    Function::new("REGEXP_REPLACE", &[Text, Text, Text, Int, Int, Text], longest, replace).optional(3).of_one_charset(),
];

/// Returns true if a pattern in ICU's syntax is found in a text, where case counts; `None` for what is no pattern.
pub(crate) fn finds(pattern: &str, text: &str) -> Option<bool> {
    Pattern::of(pattern, Modes::default()).ok().map(|pattern| pattern.is_match(text))
}

fn of_subject(typing: &Typing) -> ResultType {
    ResultType::Text(typing.characters(0))
}

/// Most characters of REGEXP_REPLACE: MySQL does not look at its arguments.
fn longest(_: &Typing) -> ResultType {
    ResultType::Text(1 << 24)
}

/// An argument as text; the bytes of a byte string as the characters of latin1.
fn text(args: &[Value], i: usize) -> Cow<'_, str> {
    match args.get(i) {
        Some(Value::Text(text)) => Cow::Borrowed(text),
        Some(Value::Bytes(bytes)) => bytes.iter().map(|b| *b as char).collect::<String>().into(),
        Some(other) => other.to_text(6).unwrap_or_default().into(),
        None => Cow::Borrowed(""),
    }
}

/// A result as the arguments are: text, or a byte string of characters that stand for bytes.
fn result_text(args: &[Value], text: String) -> Value {
    match args[..2].iter().any(|arg| matches!(arg, Value::Bytes(_))) {
        true => Value::Bytes(text.chars().map(|c| c as u8).collect()),
        false => Value::Text(text),
    }
}

/// The compiled pattern of a call whose match type, if there is one, is at `match_type`.
fn pattern(call: &Call, args: &[Value], match_type: usize) -> Result<Rc<Pattern>> {
    let mut modes = Modes { ignores_case: !call.collation.is_case_sensitive(), ..Modes::default() };
    for c in text(args, match_type).chars() {
        match c {
            'c' => modes.ignores_case = false,
            'i' => modes.ignores_case = true,
            'm' => modes.multi_line = true,
            'n' => modes.dot_all = true,
            'u' => modes.unix_lines = true,
            _ => {
                let name = call.name;
                return Err(SqlError::new(ErrorCode::WrongArguments, format!("Incorrect arguments to {name}")));
            }
        }
    }
    Pattern::of(&text(args, 1), modes)
}

/// The byte at which the character number `position`, counted from 1, begins; also of the one behind the last.
fn start(text: &str, position: i64) -> Result<usize> {
    let skipped = usize::try_from(position - 1).map_err(|_| index_out_of_bounds())?;
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.take(skipped.saturating_add(1)).nth(skipped).ok_or_else(index_out_of_bounds)
}

/// An argument that is an integer, or what stands for one that is left out.
fn optional(args: &[Value], i: usize, otherwise: i64) -> i64 {
    if i < args.len() { int(args, i) } else { otherwise }
}

/// Error 1583 for a position below 1.
fn check_position(call: &Call, position: i64) -> Result<()> {
    if position > 0 {
        return Ok(());
    }
    let message = format!("Incorrect parameters in the call to native function '{}'", call.name);
    Err(SqlError::new(ErrorCode::WrongParametersToNativeFct, message))
}

fn like(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(pattern(call, args, 2)?.is_match(&text(args, 0))))
}

/// `REGEXP_INSTR(text, pattern [, position [, occurrence [, return option [, match type]]]])`.
fn instr(call: &mut Call, args: &[Value]) -> Result<Value> {
    let option = optional(args, 4, 0);
    if !matches!(option, 0 | 1) {
        let message = format!("Incorrect arguments to {}: return_option must be 1 or 0.", call.name);
        return Err(SqlError::new(ErrorCode::WrongArguments, message));
    }
    let pattern = pattern(call, args, 5)?;
    let (text, position) = (text(args, 0), optional(args, 2, 1));
    // Other than in the functions below, the position must be that of a character.
    if position < 1 || !text.is_empty() && position > text.chars().count() as i64 {
        return Err(index_out_of_bounds());
    }
    let from = if text.is_empty() { 0 } else { start(&text, position)? };
    let found = pattern.occurrence(&text, from, optional(args, 3, 1));
    Ok(Value::Int(found.map_or(0, |found| {
        let end = if option == 1 { found.end() } else { found.start() };
        text[..end].chars().count() as i64 + 1
    })))
}

/// `REGEXP_SUBSTR(text, pattern [, position [, occurrence [, match type]]])`.
fn substr(call: &mut Call, args: &[Value]) -> Result<Value> {
    let position = optional(args, 2, 1);
    check_position(call, position)?;
    let pattern = pattern(call, args, 4)?;
    let text = text(args, 0);
    let found = pattern.occurrence(&text, start(&text, position)?, optional(args, 3, 1));
    Ok(found.map_or(Value::Null, |found| result_text(args, found.as_str().to_string())))
}

/// `REGEXP_REPLACE(text, pattern, replacement [, position [, occurrence [, match type]]])`; occurrence 0 means all.
fn replace(call: &mut Call, args: &[Value]) -> Result<Value> {
    let position = optional(args, 3, 1);
    check_position(call, position)?;
    let pattern = pattern(call, args, 5)?;
    let (subject, to) = (text(args, 0), text(args, 2));
    let from = start(&subject, position)?;
    if subject.is_empty() {
        return Ok(args[0].clone());
    }
    let (mut replaced, mut copied, mut replacement) = (String::new(), 0, None);
    let occurrence = optional(args, 4, 0);
    let skipped = usize::try_from(occurrence.max(1) - 1).unwrap_or(usize::MAX);
    let most = if occurrence == 0 { usize::MAX } else { 1 };
    for found in pattern.matches(&subject, from).skip(skipped).take(most) {
        // A replacement that is wrong matters only if there is a match.
        let replacement = match &replacement {
            Some(replacement) => replacement,
            None => replacement.insert(Replacement::parse(&to, &pattern)?),
        };
        let (range, groups) = (found.whole.range(), replacement.groups(&pattern, &found));
        let bytes = replaced.len() + replacement.bytes(&groups) + subject.len() - copied;
        if bytes > call.text_bytes_max && !call.has_room(bytes)? {
            return Ok(Value::Null);
        }
        replaced.push_str(&subject[copied..range.start]);
        replacement.append(&groups, &mut replaced);
        copied = range.end;
    }
    replaced.push_str(&subject[copied..]);
    Ok(result_text(args, replaced))
}
