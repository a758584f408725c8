//! Collations: how text compares, sorts, groups and matches.
//!
//! Every collation is defined by one function, [`Collation::append_sort_key`]: two texts compare as the bytes of their
//! sort keys do. Index keys, ORDER BY, GROUP BY, DISTINCT, joins and UNIQUE all use it, so they cannot disagree.
//!
//! ```text
//!   classes.rs      characters that are equal one by one
//!   definitions.rs  the collations, one line each
//!   fuzz.rs         any texts under any of them, for tests
//!   uca/            the Unicode Collation Algorithm: several weights per character
//!   order.rs        one weight per character, by a table
//!   pad_space.rs    sort keys and comparison under PAD SPACE
//!   text_traits.rs  facts about a column's values that allow comparing bytes
//!   like.rs         LIKE patterns
//! ```

mod classes;
mod definitions;
pub mod fuzz;
pub mod like;
mod order;
mod pad_space;
mod text_traits;
mod uca;

pub use definitions::Collation;
pub use like::LikePattern;
pub use text_traits::TextTraits;

use crate::charset::Charset;
use order::OrderTable;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::cmp::Ordering;
use uca::Uca;

use Collation::Utf8mb4_0900AiCi;

/// How the texts of a collation are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    /// The bytes of UTF-8, NO PAD.
    Bytes,
    /// Code points, PAD SPACE: the `_bin` collations of Unicode.
    CodePoints,
    /// The bytes of each character in the character set, PAD SPACE: the other `_bin` collations.
    Encoded,
    /// One weight per character, by the table of this name, PAD SPACE.
    Order(&'static str),
    /// The Unicode Collation Algorithm by the table of this name, with so many levels.
    Uca(&'static str, u8),
}

/// The weight of a space where code points are weights.
const SPACE: u32 = ' ' as u32;

impl Collation {
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;
    /// The collation of names and other texts of the server's own (`character_set_system`).
    pub const SYSTEM: Collation = Collation::Utf8mb3GeneralCi;

    /// All collations, in the order of their names.
    pub fn all() -> &'static [Collation] {
        definitions::ALL
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Finds a collation by MySQL's name, in any case. `utf8_` begins the names of `utf8mb3`, too.
    pub fn from_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_prefix("utf8_").map_or(name.clone(), |rest| format!("utf8mb3_{rest}"));
        let all = Collation::all();
        all.binary_search_by(|c| c.name().cmp(&name)).ok().map(|at| all[at])
    }

    /// MySQL's number, as result set metadata carries it.
    pub fn id(self) -> u16 {
        self.definition().id
    }

    /// Finds a collation by MySQL's number.
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::all().iter().copied().find(|c| c.id() == id)
    }

    pub fn character_set(self) -> Charset {
        self.definition().charset
    }

    /// Name of the character set.
    pub fn charset(self) -> &'static str {
        self.character_set().name()
    }

    /// Most bytes that one character takes in the character set.
    pub fn charset_max_bytes(self) -> u32 {
        self.character_set().max_bytes()
    }

    /// The collation a character set has when none is named; `None` for an unknown character set.
    pub fn default_of_charset(charset: &str) -> Option<Collation> {
        Charset::from_name(charset).map(Charset::default_collation)
    }

    /// The `_bin` collation of a character set, with PAD SPACE; of `binary` itself.
    pub fn binary_of_charset(charset: Charset) -> Collation {
        let is_binary = |c: &Collation| {
            c.character_set() == charset && matches!(c.algorithm(), Algorithm::CodePoints | Algorithm::Encoded)
        };
        Collation::all().iter().copied().find(is_binary).unwrap_or(Collation::Binary)
    }

    /// `SORTLEN` of `information_schema.COLLATIONS`.
    pub fn sort_length(self) -> u8 {
        self.definition().sort_length
    }

    fn algorithm(self) -> Algorithm {
        self.definition().algorithm
    }

    fn uca(self) -> Option<Uca> {
        match self.algorithm() {
            Algorithm::Uca(table, levels) => Some(Uca::of(self, table, levels)),
            _ => None,
        }
    }

    /// Returns true if spaces at the end count for nothing (PAD SPACE).
    pub fn pad_space(self) -> bool {
        match self.algorithm() {
            Algorithm::Bytes => false,
            Algorithm::CodePoints | Algorithm::Encoded | Algorithm::Order(_) => true,
            Algorithm::Uca(..) => !self.name().contains("_0900_"),
        }
    }

    /// Returns true if texts are equal only if their characters are the same, but for spaces at the end.
    pub fn is_binary(self) -> bool {
        matches!(self.algorithm(), Algorithm::Bytes | Algorithm::CodePoints | Algorithm::Encoded)
    }

    /// Returns true if capital letters differ from small ones.
    pub fn is_case_sensitive(self) -> bool {
        self.is_binary() || self.name().ends_with("_cs")
    }

    /// Returns true if texts of printable ASCII without spaces at the end are equal exactly if they are so but for the
    /// case of letters.
    pub fn ascii_folds_case(self) -> bool {
        match (self, self.algorithm()) {
            (Utf8mb4_0900AiCi, _) => true,
            (_, Algorithm::Order(_)) => OrderTable::of(self).ascii_folds_case,
            (_, Algorithm::Uca(_, 1)) => self.uca().is_some_and(|uca| uca.table.ascii_folds_case),
            _ => false,
        }
    }

    /// Returns true if texts are in the order of the bytes of UTF-8, but for spaces at the end.
    fn orders_bytes(self) -> bool {
        matches!(self.algorithm(), Algorithm::Bytes | Algorithm::CodePoints)
    }

    /// Returns true if ASCII characters are in the order of ASCII, where letters are in upper case. That puts them
    /// before '[' to '`'.
    fn orders_upper_case(self) -> bool {
        match self.algorithm() {
            Algorithm::Order(_) | Algorithm::Encoded => OrderTable::of(self).ascii_weighs_upper_case,
            // Punctuation has an order of its own under the others.
            _ => false,
        }
    }

    /// Appends the sort key of `text`: two texts compare as the bytes of their sort keys (shorter prefix first). A key
    /// may hold any byte and has no terminator that a longer key could not go on after.
    pub fn append_sort_key(self, text: &str, out: &mut Vec<u8>) {
        if self == Utf8mb4_0900AiCi && text.is_ascii() {
            return uca::append_ascii_sort_key(text, out);
        }
        match self.algorithm() {
            Algorithm::Bytes => out.extend_from_slice(text.as_bytes()),
            Algorithm::CodePoints => {
                // UTF-8 orders characters as its bytes.
                out.reserve(text.len() + 1);
                let push = |byte: u32, out: &mut Vec<u8>| out.push(byte as u8);
                pad_space::append_sort_key(text.bytes().map(u32::from), SPACE, push, out);
            }
            Algorithm::Encoded | Algorithm::Order(_) => OrderTable::of(self).append_sort_key(text, out),
            Algorithm::Uca(table, levels) => Uca::of(self, table, levels).append_sort_key(text, out),
        }
    }

    /// Appends the bytes that the sort keys of all texts beginning with `start` begin with; also of those that begin
    /// with characters that [`Self::chars_equal`] finds equal.
    pub fn append_common_sort_key(self, start: &str, out: &mut Vec<u8>) {
        match self.uca() {
            Some(uca) => uca.append_common_sort_key(start, out),
            None => {
                self.append_sort_key(start, out);
                if self.pad_space() {
                    pad_space::pop_end(out);
                }
            }
        }
    }

    /// Returns true if each character has one weight. Then texts cut to their first n characters still are in order,
    /// and texts are equal only if their characters are, one by one. Otherwise characters may weigh nothing or as much
    /// as several.
    pub fn weighs_characters_singly(self) -> bool {
        !matches!(self.algorithm(), Algorithm::Uca(..))
    }

    /// Returns true if the sort key of a text cut to its first n characters is the beginning of the text's sort key.
    pub fn cuts_keys_with_texts(self) -> bool {
        match self.algorithm() {
            Algorithm::Bytes => true,
            Algorithm::Uca(_, 1) => !self.pad_space() && !self.has_contractions(),
            _ => false,
        }
    }

    /// Returns true if some texts weigh other than their characters do one by one. LIKE does not see that.
    pub fn has_contractions(self) -> bool {
        self.uca().is_some_and(|uca| uca.table.has_contractions())
    }

    pub fn sort_key(self, text: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(text.len() + 1);
        self.append_sort_key(text, &mut key);
        key
    }

    /// Compares two texts as their sort keys compare, without building these.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        match self.algorithm() {
            Algorithm::Bytes => a.cmp(b),
            Algorithm::CodePoints => {
                let [a, b] = [a, b].map(|text| text.bytes().map(u32::from));
                pad_space::compare(a, b, SPACE, |x, y| x.cmp(&y))
            }
            Algorithm::Encoded | Algorithm::Order(_) => {
                let same = common_prefix(a, b);
                OrderTable::of(self).compare(&a[same..], &b[same..])
            }
            Algorithm::Uca(..) if self == Utf8mb4_0900AiCi && a.is_ascii() && b.is_ascii() => uca::compare_ascii(a, b),
            Algorithm::Uca(table, levels) => Uca::of(self, table, levels).compare(a, b),
        }
    }

    pub fn equals(self, a: &str, b: &str) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    /// Returns true if two characters match each other in LIKE, which compares character by character.
    pub fn chars_equal(self, a: char, b: char) -> bool {
        a == b
            || match self.algorithm() {
                Algorithm::Bytes | Algorithm::CodePoints => false,
                Algorithm::Encoded | Algorithm::Order(_) => {
                    let table = OrderTable::of(self);
                    table.weight(a) == table.weight(b)
                }
                Algorithm::Uca(table, levels) => {
                    let uca = Uca::of(self, table, levels);
                    let classes = classes::of(self, uca);
                    match (classes.get(a as usize), classes.get(b as usize)) {
                        (Some(a), Some(b)) => a == b,
                        _ => uca.chars_equal(a, b),
                    }
                }
            }
    }

    /// The bytes that WEIGHT_STRING shows of a text.
    pub fn weight_string(self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * text.len());
        match self.algorithm() {
            Algorithm::Bytes => out.extend_from_slice(text.as_bytes()),
            Algorithm::CodePoints if matches!(self.character_set(), Charset::Utf8mb3 | Charset::Ucs2) => {
                text.chars().for_each(|c| out.extend((c as u16).to_be_bytes()));
            }
            Algorithm::CodePoints => text.chars().for_each(|c| out.extend(&(c as u32).to_be_bytes()[1..])),
            Algorithm::Encoded | Algorithm::Order(_) => OrderTable::of(self).append_weights(text, &mut out),
            Algorithm::Uca(table, levels) => Uca::of(self, table, levels).append_weights(text, &mut out),
        }
        out
    }
}

/// By name, which stays when collations are added.
impl Serialize for Collation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Collation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Collation, D::Error> {
        let name = String::deserialize(deserializer)?;
        Collation::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown collation {name}")))
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

/// Length of what both texts begin with, in whole characters. Where weights are per character it decides nothing.
fn common_prefix(a: &str, b: &str) -> usize {
    let mut n = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(n) {
        n -= 1;
    }
    n
}

#[cfg(test)]
mod tests;
