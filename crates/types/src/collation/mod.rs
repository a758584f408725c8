//! Collations: how text compares, sorts, groups and matches.
//!
//! Every collation is defined by one function, [`Collation::append_sort_key`]: two texts compare as the bytes of their
//! sort keys do. Index keys, ORDER BY, GROUP BY, DISTINCT, joins and UNIQUE all use it, so they cannot disagree.
//!
//! ```text
//!   uca.rs             utf8mb4_0900_ai_ci: weights of the Unicode Collation Algorithm, NO PAD
//!   general_ci.rs      utf8mb4_general_ci: one folded character per character
//!   latin1_swedish.rs  latin1_swedish_ci: one byte per character
//!   bin.rs             utf8mb4_bin: code points
//!   pad_space.rs       what the three above share: sort keys and comparison under PAD SPACE
//!   text_traits.rs     facts about a column's values that allow comparing bytes
//!   like.rs            LIKE patterns
//! ```

mod bin;
mod general_ci;
mod latin1_swedish;
pub mod like;
mod pad_space;
mod text_traits;
mod uca;

pub use like::LikePattern;
pub use text_traits::TextTraits;

use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, hash::Hash};

/// The collations Muster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collation {
    /// UCA 9.0.0, accent- and case-insensitive, NO PAD. MySQL 8's default.
    Utf8mb4_0900AiCi,
    /// Code point order, PAD SPACE.
    Utf8mb4Bin,
    /// Simple case folding per character, PAD SPACE.
    Utf8mb4GeneralCi,
    /// Windows-1252 in Swedish order, case-insensitive, PAD SPACE.
    Latin1SwedishCi,
    /// Bytes, NO PAD.
    Binary,
}

use Collation::*;

impl Collation {
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;

    /// All collations, in the order of their names.
    pub fn all() -> &'static [Collation] {
        &[Binary, Latin1SwedishCi, Utf8mb4_0900AiCi, Utf8mb4Bin, Utf8mb4GeneralCi]
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Utf8mb4_0900AiCi => "utf8mb4_0900_ai_ci",
            Utf8mb4Bin => "utf8mb4_bin",
            Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Latin1SwedishCi => "latin1_swedish_ci",
            Binary => "binary",
        }
    }

    /// Finds a collation by MySQL's name, in any case. The collations of `utf8` (`utf8mb3`) are those of `utf8mb4`, of
    /// which it is a part.
    pub fn from_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        let name = match name.as_str() {
            "utf8_general_ci" | "utf8mb3_general_ci" => "utf8mb4_general_ci",
            "utf8_bin" | "utf8mb3_bin" => "utf8mb4_bin",
            other => other,
        };
        Collation::all().iter().copied().find(|c| c.name() == name)
    }

    /// MySQL's number, as result set metadata carries it.
    pub fn id(self) -> u16 {
        match self {
            Utf8mb4_0900AiCi => 255,
            Utf8mb4Bin => 46,
            Utf8mb4GeneralCi => 45,
            Latin1SwedishCi => 8,
            Binary => 63,
        }
    }

    /// Finds a collation by MySQL's number.
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::all().iter().copied().find(|c| c.id() == id)
    }

    /// Name of the character set.
    pub fn charset(self) -> &'static str {
        match self {
            Utf8mb4_0900AiCi | Utf8mb4Bin | Utf8mb4GeneralCi => "utf8mb4",
            Latin1SwedishCi => "latin1",
            Binary => "binary",
        }
    }

    /// Most bytes that one character takes in the character set.
    pub fn charset_max_bytes(self) -> u32 {
        match self {
            Utf8mb4_0900AiCi | Utf8mb4Bin | Utf8mb4GeneralCi => 4,
            Latin1SwedishCi | Binary => 1,
        }
    }

    /// The collation a character set has when none is named; `None` for an unknown character set.
    pub fn default_of_charset(charset: &str) -> Option<Collation> {
        Some(match charset.to_ascii_lowercase().as_str() {
            "utf8mb4" => Utf8mb4_0900AiCi,
            "utf8" | "utf8mb3" => Utf8mb4GeneralCi,
            "latin1" => Latin1SwedishCi,
            "binary" => Binary,
            _ => return None,
        })
    }

    /// Returns true if spaces at the end count for nothing (PAD SPACE).
    pub fn pad_space(self) -> bool {
        matches!(self, Utf8mb4Bin | Utf8mb4GeneralCi | Latin1SwedishCi)
    }

    /// Appends the sort key of `text`: two texts compare as the bytes of their sort keys (shorter prefix first). A key
    /// may hold any byte and has no terminator that a longer key could not go on after.
    pub fn append_sort_key(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Utf8mb4_0900AiCi => uca::append_sort_key(text, out),
            Utf8mb4Bin => pad_space::append_sort_key::<bin::CodePoints>(text, out),
            Utf8mb4GeneralCi => pad_space::append_sort_key::<general_ci::Folded>(text, out),
            Latin1SwedishCi => pad_space::append_sort_key::<latin1_swedish::Swedish>(text, out),
            Binary => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Appends the bytes that the sort keys of all texts beginning with `start` begin with; also of those that begin
    /// with characters that [`Self::chars_equal`] finds equal.
    pub fn append_common_sort_key(self, start: &str, out: &mut Vec<u8>) {
        // How a run of spaces is written depends on what follows it.
        let start = if self.pad_space() { start.trim_end_matches(' ') } else { start };
        self.append_sort_key(start, out);
        if self.pad_space() {
            pad_space::pop_end(out);
        }
    }

    /// Returns true if each character has one weight. Then texts cut to their first n characters still are in order,
    /// and texts are equal only if their characters are, one by one. Otherwise characters may weigh nothing or as much
    /// as several.
    pub fn weighs_characters_singly(self) -> bool {
        self != Utf8mb4_0900AiCi
    }

    pub fn sort_key(self, text: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(text.len() + 1);
        self.append_sort_key(text, &mut key);
        key
    }

    /// Compares two texts as their sort keys compare, without building these.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        match self {
            Utf8mb4_0900AiCi => uca::compare(a, b),
            Utf8mb4Bin => pad_space::compare::<bin::CodePoints>(a, b),
            Utf8mb4GeneralCi => pad_space::compare::<general_ci::Folded>(a, b),
            Latin1SwedishCi => pad_space::compare::<latin1_swedish::Swedish>(a, b),
            Binary => a.cmp(b),
        }
    }

    pub fn equals(self, a: &str, b: &str) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    /// The character that stands for all that weigh as much as this one, under a collation that weighs characters
    /// singly; of latin1 the one whose number is the weight.
    pub fn folded(self, c: char) -> char {
        match self {
            Utf8mb4GeneralCi => general_ci::fold(c),
            Latin1SwedishCi => latin1_swedish::weight(c).into(),
            Utf8mb4_0900AiCi | Utf8mb4Bin | Binary => c,
        }
    }

    /// Returns true if two characters match each other in LIKE, which compares character by character.
    pub fn chars_equal(self, a: char, b: char) -> bool {
        a == b
            || match self {
                Utf8mb4_0900AiCi => uca::weight(a) == uca::weight(b),
                Utf8mb4GeneralCi => general_ci::fold(a) == general_ci::fold(b),
                Latin1SwedishCi => latin1_swedish::weight(a) == latin1_swedish::weight(b),
                Utf8mb4Bin | Binary => false,
            }
    }
}

/// The first `n_chars` characters.
pub fn prefix(text: &str, n_chars: usize) -> &str {
    if text.len() <= n_chars {
        return text;
    }
    match text.char_indices().nth(n_chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Length of what both texts begin with, in whole characters. Weights are per character, so it decides nothing.
fn common_prefix(a: &str, b: &str) -> usize {
    let mut n = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(n) {
        n -= 1;
    }
    n
}

#[cfg(test)]
mod tests;
