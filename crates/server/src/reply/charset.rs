//! The character set of results: `character_set_results`.

use muster_types::{
    Collation,
    charset::{self, Charset},
};
use std::borrow::Cow;

/// The character set of texts in results; `None`: each text in its column's own character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultCharset(pub Option<Charset>);

impl ResultCharset {
    /// Before anything else was agreed upon.
    pub const UTF8: ResultCharset = ResultCharset(Some(Charset::Utf8mb4));

    /// The character set that values of a column are converted to. `binary` leaves them as they are.
    pub fn of_column(self, own: Collation) -> Charset {
        match self.0 {
            Some(charset) if charset != Charset::Binary => charset,
            _ => own.character_set(),
        }
    }

    /// The collation's number in a column's definition, and the most bytes that its characters take.
    pub fn metadata(self, own: Collation) -> (u16, u32) {
        match self.0 {
            Some(charset) => (charset.default_collation_id(), charset.max_bytes()),
            None => (own.id(), own.charset_max_bytes()),
        }
    }

    /// A name in a column's definition.
    pub fn name(self, text: &str) -> Cow<'_, [u8]> {
        charset::encode(self.0.unwrap_or(Charset::Utf8mb4), text)
    }

    /// An error's message.
    pub fn message(self, text: &str) -> Vec<u8> {
        charset::encode_message(self.0.unwrap_or(Charset::Utf8mb4), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_leaves_columns_their_own_and_binary_their_bytes() {
        let (latin1, utf8) = (Collation::Latin1SwedishCi, Collation::Utf8mb4Bin);
        let null = ResultCharset(None);
        assert_eq!((null.of_column(latin1), null.metadata(latin1)), (Charset::Latin1, (8, 1)));
        assert_eq!((null.of_column(utf8), null.metadata(utf8)), (Charset::Utf8mb4, (46, 4)));
        let binary = ResultCharset(Some(Charset::Binary));
        assert_eq!((binary.of_column(latin1), binary.metadata(latin1)), (Charset::Latin1, (63, 1)));
        let utf8mb3 = ResultCharset(Some(Charset::Utf8mb3));
        assert_eq!((utf8mb3.of_column(latin1), utf8mb3.metadata(latin1)), (Charset::Utf8mb3, (33, 3)));
        assert_eq!(utf8mb3.message("a😀"), b"a\\+01F600");
    }
}
