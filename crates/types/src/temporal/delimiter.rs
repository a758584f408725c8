//! Delimiters of dates and times that MySQL has deprecated since 8.0.29 (manual 11.1.3 "Date and Time Literals").

use std::fmt;

/// The first delimiter in a text that is not the usual one of its place, or is one more than is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeprecatedDelimiter {
    /// Bytes in front of it.
    pub position: usize,
    pub found: char,
    /// The delimiter that the standard has in this place; `None` for one that is superfluous.
    pub usual: Option<char>,
}

impl DeprecatedDelimiter {
    /// The same delimiter in a text with so many more bytes in front.
    pub(super) fn behind(self, bytes: usize) -> DeprecatedDelimiter {
        DeprecatedDelimiter { position: self.position + bytes, ..self }
    }

    /// A superfluous delimiter: the first character of `blank`, if there is one.
    pub(super) fn superfluous(blank: &str, position: usize) -> Option<DeprecatedDelimiter> {
        blank.chars().next().map(|found| DeprecatedDelimiter { position, found, usual: None })
    }

    /// MySQL's warning 4095 or 4096, for this text in a row, from 1 on.
    pub fn message(&self, text: &str, row: u64) -> String {
        let (found, position) = (Shown(self.found), self.position);
        let place = format!("Delimiter '{found}' in position {position} in datetime value '{text}' at row {row} is");
        match self.usual {
            Some(usual) => format!("{place} deprecated. Prefer the standard '{usual}'."),
            None => format!("{place} superfluous and is deprecated. Please remove."),
        }
    }
}

/// A delimiter as a warning shows it.
struct Shown(char);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '\t' => f.write_str("\\t"),
            '\n' => f.write_str("\\n"),
            '\r' => f.write_str("\\r"),
            '\u{b}' => f.write_str("\\v"),
            '\u{c}' => f.write_str("\\f"),
            other => write!(f, "{other}"),
        }
    }
}
