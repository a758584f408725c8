//! Collations: how text compares, sorts, groups and matches.
//!
//! Every collation is defined by one function, [`Collation::append_sort_key`]: two texts compare as the bytes of their
//! sort keys do. Index keys, ORDER BY, GROUP BY, DISTINCT, joins and UNIQUE all use it, so they cannot disagree.

use serde::{Deserialize, Serialize};

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

impl Collation {
    pub const DEFAULT: Collation = Collation::Utf8mb4_0900AiCi;
}

/// What is known of all values of a text column: decides where bytes may be compared instead of sort keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTraits {
    /// No byte above 0x7F.
    pub ascii: bool,
    /// Bit i: the letter 'A' + i occurs in upper case.
    pub upper: u32,
    /// Bit i: the letter 'a' + i occurs in lower case.
    pub lower: u32,
    /// Some value ends with a space.
    pub trailing_space: bool,
    /// Some value has a control character (collations may ignore it).
    pub control: bool,
}

impl Default for TextTraits {
    /// Of no values at all.
    fn default() -> Self {
        TextTraits { ascii: true, upper: 0, lower: 0, trailing_space: false, control: false }
    }
}
