//! Functions that pick and change parts of texts, and those of lists of texts.
//!
//! ```text
//!   characters.rs  texts and byte strings as sequences of characters
//!   lists.rs       FIELD, FIND_IN_SET, ELT, MAKE_SET, EXPORT_SET
//!   parts.rs       INSERT, SUBSTRING_INDEX, QUOTE, ORD
//!   soundex.rs     SOUNDEX
//!   weights.rs     WEIGHT_STRING
//! ```

pub mod characters;
mod lists;
mod parts;
mod soundex;
mod weights;

use muster_types::Collation;

use crate::{
    Function, ResultType,
    Takes::{AsIs, Bits, Compared, Int, Text},
    Typing, result,
};

pub const FUNCTIONS: &[Function] = &[
    Function::new("FIELD", &[Compared, Compared], result::bigint, lists::field).repeated().takes_null().never_null(),
    Function::new("FIND_IN_SET", &[Text, Text], result::bigint, lists::find_in_set).null_of_null(),
    Function::new("ELT", &[Int, Text], longest_element, lists::elt).repeated().takes_null(),
    Function::new("MAKE_SET", &[Bits, Text], joined_elements, lists::make_set).repeated().takes_null(),
    Function::new("EXPORT_SET", &[Bits, Text, Text, Text, Int], all_bits, lists::export_set).optional(2),
    Function::new("INSERT", &[Text, Int, Int, Text], both, parts::insert).like_first(),
    Function::new("SUBSTRING_INDEX", &[Text, Text, Int], first, parts::substring_index).like_first(),
    Function::new("QUOTE", &[Text], quoted, parts::quote).takes_null(),
    Function::new("ORD", &[Text], result::bigint, parts::ord).null_of_null(),
    Function::new("WEIGHT_STRING", &[AsIs, AsIs, Int], weighed, weights::weight_string).optional(2),
    Function::new("SOUNDEX", &[Text], at_least_four, soundex::soundex),
];

fn first(typing: &Typing) -> ResultType {
    ResultType::Text(typing.characters(0))
}

/// ELT: the longest text.
fn longest_element(typing: &Typing) -> ResultType {
    ResultType::Text((1..typing.args.len()).map(|i| typing.characters(i)).max().unwrap_or(0))
}

/// MAKE_SET: all texts with commas between them.
fn joined_elements(typing: &Typing) -> ResultType {
    let texts = (1..typing.args.len()).map(|i| typing.characters(i)).sum::<u64>();
    ResultType::Text(texts + (typing.args.len() as u64).saturating_sub(2))
}

/// EXPORT_SET: 64 times the longer text, with 63 separators.
fn all_bits(typing: &Typing) -> ResultType {
    let longer = typing.characters(1).max(typing.characters(2));
    let separator = if typing.args.len() > 3 { typing.characters(3) } else { 1 };
    ResultType::Text(64 * longer + 63 * separator)
}

/// INSERT: the text and what is inserted.
fn both(typing: &Typing) -> ResultType {
    ResultType::Text(typing.characters(0) + typing.characters(3))
}

/// QUOTE: each character may need a backslash, and there are two quotes.
fn quoted(typing: &Typing) -> ResultType {
    ResultType::Text(2 * typing.characters(0) + 2)
}

/// WEIGHT_STRING: with a length in bytes so many; else of each character the most that MySQL counts with.
fn weighed(typing: &Typing) -> ResultType {
    let length = typing.constant_int(2).map_or(typing.characters(0), |n| n.max(0) as u64);
    if typing.constant_text(1) == Some("BINARY") {
        return ResultType::Bytes(length);
    }
    let each = typing.args.first().and_then(|arg| arg.given.collation()).map_or(1, weight_bytes_max);
    ResultType::Bytes((length * each).max(8))
}

/// Most bytes of WEIGHT_STRING for one character, as MySQL counts them for the type of the result.
fn weight_bytes_max(collation: Collation) -> u64 {
    let max_bytes = u64::from(collation.charset_max_bytes());
    let is_unicode = collation.character_set().is_unicode();
    match collation.name() {
        "utf8mb4_0900_bin" | "binary" => max_bytes,
        name if name.contains("_0900_") => match name.rsplit('_').next() {
            Some("cs") => 96,
            _ if name.contains("_as_ci") => 64,
            _ => 32,
        },
        _ if collation.is_binary() && is_unicode => 3.min(max_bytes),
        name if is_unicode && name.contains("_general_") => 2,
        _ => max_bytes * u64::from(collation.sort_length()),
    }
}

fn at_least_four(typing: &Typing) -> ResultType {
    ResultType::Text(typing.characters(0).max(4))
}
