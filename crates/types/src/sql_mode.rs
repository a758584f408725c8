//! The modes of `sql_mode` as a set (manual 5.1.11 "Server SQL Modes").

use std::ops::BitOr;

/// A set of SQL modes. Its bits are those of MySQL, since `SET sql_mode = 4` names modes by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SqlModes(u64);

/// Reasons for which a value is no set of modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadModes {
    /// A word of the text is no mode.
    Word(String),
    /// The number has bits beyond those of all modes.
    Number,
    /// The number has bits of modes that MySQL 8.0 no longer has.
    Removed(u64),
}

/// The modes and their names, in the order of their bits. The order is also that in which they are printed.
const NAMES: &[(SqlModes, &str)] = &[
    (SqlModes::REAL_AS_FLOAT, "REAL_AS_FLOAT"),
    (SqlModes::PIPES_AS_CONCAT, "PIPES_AS_CONCAT"),
    (SqlModes::ANSI_QUOTES, "ANSI_QUOTES"),
    (SqlModes::IGNORE_SPACE, "IGNORE_SPACE"),
    (SqlModes(1 << 4), "NOT_USED"),
    (SqlModes::ONLY_FULL_GROUP_BY, "ONLY_FULL_GROUP_BY"),
    (SqlModes::NO_UNSIGNED_SUBTRACTION, "NO_UNSIGNED_SUBTRACTION"),
    (SqlModes::NO_DIR_IN_CREATE, "NO_DIR_IN_CREATE"),
    (SqlModes::ANSI, "ANSI"),
    (SqlModes::NO_AUTO_VALUE_ON_ZERO, "NO_AUTO_VALUE_ON_ZERO"),
    (SqlModes::NO_BACKSLASH_ESCAPES, "NO_BACKSLASH_ESCAPES"),
    (SqlModes::STRICT_TRANS_TABLES, "STRICT_TRANS_TABLES"),
    (SqlModes::STRICT_ALL_TABLES, "STRICT_ALL_TABLES"),
    (SqlModes::NO_ZERO_IN_DATE, "NO_ZERO_IN_DATE"),
    (SqlModes::NO_ZERO_DATE, "NO_ZERO_DATE"),
    (SqlModes::ALLOW_INVALID_DATES, "ALLOW_INVALID_DATES"),
    (SqlModes::ERROR_FOR_DIVISION_BY_ZERO, "ERROR_FOR_DIVISION_BY_ZERO"),
    (SqlModes::TRADITIONAL, "TRADITIONAL"),
    (SqlModes::HIGH_NOT_PRECEDENCE, "HIGH_NOT_PRECEDENCE"),
    (SqlModes::NO_ENGINE_SUBSTITUTION, "NO_ENGINE_SUBSTITUTION"),
    (SqlModes::PAD_CHAR_TO_FULL_LENGTH, "PAD_CHAR_TO_FULL_LENGTH"),
    (SqlModes::TIME_TRUNCATE_FRACTIONAL, "TIME_TRUNCATE_FRACTIONAL"),
];

/// All bits of numbers that `SET sql_mode` looks at.
const BITS: u64 = (1 << 33) - 1;

impl SqlModes {
    pub const NONE: SqlModes = SqlModes(0);
    pub const REAL_AS_FLOAT: SqlModes = SqlModes(1);
    pub const PIPES_AS_CONCAT: SqlModes = SqlModes(1 << 1);
    pub const ANSI_QUOTES: SqlModes = SqlModes(1 << 2);
    pub const IGNORE_SPACE: SqlModes = SqlModes(1 << 3);
    pub const ONLY_FULL_GROUP_BY: SqlModes = SqlModes(1 << 5);
    pub const NO_UNSIGNED_SUBTRACTION: SqlModes = SqlModes(1 << 6);
    pub const NO_DIR_IN_CREATE: SqlModes = SqlModes(1 << 7);
    pub const ANSI: SqlModes = SqlModes(1 << 18);
    pub const NO_AUTO_VALUE_ON_ZERO: SqlModes = SqlModes(1 << 19);
    pub const NO_BACKSLASH_ESCAPES: SqlModes = SqlModes(1 << 20);
    pub const STRICT_TRANS_TABLES: SqlModes = SqlModes(1 << 21);
    pub const STRICT_ALL_TABLES: SqlModes = SqlModes(1 << 22);
    pub const NO_ZERO_IN_DATE: SqlModes = SqlModes(1 << 23);
    pub const NO_ZERO_DATE: SqlModes = SqlModes(1 << 24);
    pub const ALLOW_INVALID_DATES: SqlModes = SqlModes(1 << 25);
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlModes = SqlModes(1 << 26);
    pub const TRADITIONAL: SqlModes = SqlModes(1 << 27);
    pub const HIGH_NOT_PRECEDENCE: SqlModes = SqlModes(1 << 29);
    pub const NO_ENGINE_SUBSTITUTION: SqlModes = SqlModes(1 << 30);
    pub const PAD_CHAR_TO_FULL_LENGTH: SqlModes = SqlModes(1 << 31);
    pub const TIME_TRUNCATE_FRACTIONAL: SqlModes = SqlModes(1 << 32);

    /// The modes under which the same text is another statement.
    pub const OF_PARSING: SqlModes = SqlModes(
        Self::REAL_AS_FLOAT.0
            | Self::PIPES_AS_CONCAT.0
            | Self::ANSI_QUOTES.0
            | Self::IGNORE_SPACE.0
            | Self::NO_BACKSLASH_ESCAPES.0
            | Self::HIGH_NOT_PRECEDENCE.0,
    );
    /// The modes that a prepared statement follows when it runs, not when it was prepared.
    pub const OF_EXECUTION: SqlModes = SqlModes(Self::PAD_CHAR_TO_FULL_LENGTH.0 | Self::TIME_TRUNCATE_FRACTIONAL.0);
    /// The modes that a value of `sql_mode` is strict by.
    const STRICT: SqlModes = SqlModes(Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0);
    /// The modes that MySQL wants to merge with the strict ones.
    const MERGED: SqlModes =
        SqlModes(Self::NO_ZERO_IN_DATE.0 | Self::NO_ZERO_DATE.0 | Self::ERROR_FOR_DIVISION_BY_ZERO.0);

    /// Returns true if the set has a mode, or any one of several.
    pub fn has(self, modes: SqlModes) -> bool {
        self.0 & modes.0 != 0
    }

    /// The bits of the modes, which [`SqlModes::from_number`] reads.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The modes that are in both sets.
    pub fn both(self, other: SqlModes) -> SqlModes {
        SqlModes(self.0 & other.0)
    }

    /// The modes that are not in the other set.
    pub fn without(self, other: SqlModes) -> SqlModes {
        SqlModes(self.0 & !other.0)
    }

    pub fn is_strict(self) -> bool {
        self.has(Self::STRICT)
    }

    /// Returns true if the set has some of the modes that belong together, the strict ones and those of dates and of
    /// divisions, but not all: warning 3135.
    pub fn is_half_strict(self) -> bool {
        let is_whole = self.is_strict() && self.both(Self::MERGED) == Self::MERGED;
        (self.is_strict() || self.has(Self::MERGED)) && !is_whole
    }

    /// Reads names with commas between them, in any case. Empty names count for nothing; spaces may stand behind the
    /// last one.
    pub fn from_text(text: &str) -> Result<SqlModes, BadModes> {
        let words = text.trim_end_matches(' ').split(',').filter(|word| !word.is_empty());
        let mode = |word: &str| {
            let found = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(word));
            found.map(|(mode, _)| *mode).ok_or_else(|| BadModes::Word(word.to_owned()))
        };
        words.map(mode).try_fold(SqlModes::NONE, |all, mode| Ok(all | mode?)).map(SqlModes::with_parts)
    }

    /// Reads the number whose bits are modes.
    pub fn from_number(number: u64) -> Result<SqlModes, BadModes> {
        if number & !BITS != 0 {
            return Err(BadModes::Number);
        }
        let known = NAMES.iter().fold(0, |bits, (mode, _)| bits | mode.0);
        match number & !known {
            0 => Ok(SqlModes(number).with_parts()),
            removed => Err(BadModes::Removed(removed)),
        }
    }

    /// The set with the modes that ANSI and TRADITIONAL stand for.
    fn with_parts(self) -> SqlModes {
        let mut all = self;
        if self.has(Self::ANSI) {
            all = all
                | Self::REAL_AS_FLOAT
                | Self::PIPES_AS_CONCAT
                | Self::ANSI_QUOTES
                | Self::IGNORE_SPACE
                | Self::ONLY_FULL_GROUP_BY;
        }
        if self.has(Self::TRADITIONAL) {
            all = all | Self::STRICT | Self::MERGED | Self::NO_ENGINE_SUBSTITUTION;
        }
        all
    }
}

impl BitOr for SqlModes {
    type Output = SqlModes;

    fn bitor(self, other: SqlModes) -> SqlModes {
        SqlModes(self.0 | other.0)
    }
}

/// The names with commas between them.
impl std::fmt::Display for SqlModes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = NAMES.iter().filter(|(mode, _)| self.has(*mode)).map(|(_, name)| *name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_modes() {
        for (text, want) in [
            ("", ""),
            (",,ansi_quotes,,", "ANSI_QUOTES"),
            ("IGNORE_SPACE,ansi_quotes  ", "ANSI_QUOTES,IGNORE_SPACE"),
            ("ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"),
            (
                "TRADITIONAL",
                "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                 TRADITIONAL,NO_ENGINE_SUBSTITUTION",
            ),
        ] {
            assert_eq!(SqlModes::from_text(text).unwrap().to_string(), want, "{text}");
        }
        for (text, word) in
            [("x", "x"), ("ANSI,ORACLE", "ORACLE"), ("ANSI ,x", "ANSI "), (" ANSI", " ANSI"), ("1", "1")]
        {
            assert_eq!(SqlModes::from_text(text), Err(BadModes::Word(word.into())), "{text}");
        }
    }

    #[test]
    fn numbers_are_bits() {
        assert_eq!(SqlModes::from_number(6).unwrap().to_string(), "PIPES_AS_CONCAT,ANSI_QUOTES");
        assert_eq!(SqlModes::from_number(1 << 18), SqlModes::from_text("ANSI"));
        assert_eq!(SqlModes::from_number(1 << 32), Ok(SqlModes::TIME_TRUNCATE_FRACTIONAL));
        assert_eq!(SqlModes::from_number(260), Err(BadModes::Removed(256)));
        assert_eq!(SqlModes::from_number(1 << 33), Err(BadModes::Number));
    }

    #[test]
    fn strict_modes_want_company() {
        let half = |text: &str| SqlModes::from_text(text).unwrap().is_half_strict();
        assert!(half("STRICT_ALL_TABLES") && half("NO_ZERO_DATE") && half("STRICT_TRANS_TABLES,NO_ZERO_DATE"));
        assert!(half("NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO"));
        assert!(!half("") && !half("ANSI") && !half("TRADITIONAL"));
    }
}
