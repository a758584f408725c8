//! The words of MySQL 8.0.33's grammar with the numbers of their tokens.
//!
//! `words.txt` has a word, its number, and another word if that is what digests print of it. A word with `(` behind it
//! is one of the grammar only in front of a parenthesis. `hint_words.txt` has the words of optimizer hints.

use std::{collections::HashMap, sync::LazyLock};

/// A word as it is printed, and the number of its token.
#[derive(Debug, Clone, Copy)]
struct Word {
    printed: &'static str,
    number: u16,
}

type Words = HashMap<&'static str, Word>;

static WORDS: LazyLock<Words> = LazyLock::new(|| words(include_str!("words.txt")));
static HINT_WORDS: LazyLock<Words> = LazyLock::new(|| words(include_str!("hint_words.txt")));
/// The numbers of words by their printed form.
static NUMBERS: LazyLock<HashMap<&'static str, u16>> =
    LazyLock::new(|| WORDS.values().map(|word| (word.printed, word.number)).collect());

/// Symbols whose number is not that of their character, and words that are read in other ways.
const SYMBOLS: &[(&str, u16)] = &[
    ("&&", 273),
    ("=", 415),
    ("<=>", 416),
    (">=", 456),
    (">", 469),
    ("->", 514),
    ("<=", 522),
    ("<", 549),
    ("!=", 614),
    ("NOT2", 621),
    ("||", 642),
    ("|| of texts", 644),
    (":=", 757),
    ("<<", 759),
    (">>", 760),
    ("WITH ROLLUP", 894),
    ("->>", 907),
    ("hint =", b'=' as u16),
    ("/*+", 1108),
    ("*/", 1109),
];

fn words(table: &'static str) -> Words {
    let line = |line: &'static str| {
        let mut columns = line.split(' ');
        let (name, number) = (columns.next()?, columns.next()?.parse().ok()?);
        Some((name, Word { printed: columns.next().unwrap_or(name.trim_end_matches('(')), number }))
    };
    table.lines().filter_map(line).collect()
}

/// The printed form of a word of the grammar. `is_call`: a parenthesis follows.
pub(super) fn canonical_word(word: &str, is_call: bool) -> Option<&'static str> {
    let word = word.to_ascii_uppercase();
    let call = if is_call { WORDS.get(format!("{word}(").as_str()) } else { None };
    call.or_else(|| WORDS.get(word.as_str())).map(|word| word.printed)
}

/// A word of hints as it is printed.
pub(super) fn hint_word(word: &str) -> Option<&'static str> {
    HINT_WORDS.get(word.to_ascii_uppercase().as_str()).map(|word| word.printed)
}

/// The number of a word of hints in its printed form.
pub(super) fn hint_word_number(printed: &str) -> u16 {
    HINT_WORDS.get(printed).map_or(0, |word| word.number)
}

/// The number of a word in its printed form, or of a symbol.
pub(super) fn number(printed: &str) -> u16 {
    let symbol = SYMBOLS.iter().find(|(symbol, _)| *symbol == printed).map(|(_, number)| *number);
    let character = || printed.bytes().next().map_or(0, u16::from);
    symbol.or_else(|| NUMBERS.get(printed).copied()).unwrap_or_else(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_form_has_one_number() {
        for word in WORDS.values() {
            assert_eq!(NUMBERS[word.printed], word.number, "{}", word.printed);
        }
        assert!(WORDS.len() > 700 && HINT_WORDS.len() > 40);
        assert_eq!((number("SELECT"), number("("), number("<")), (748, u16::from(b'('), 549));
    }
}
