//! The memory that a statement takes until it runs, by estimate: as tokens, syntax tree, expressions and plan, and as
//! the copies that are made on the way.

use super::{
    literal_rows::extent_and_values,
    scan::{Piece, piece, uncover},
};
use muster_types::SqlModes;

/// Bytes for each token. Measured: 400 bytes in `VALUES ROW`, 500 in `IN` lists, 700 in conditions joined by OR, 1,250
/// in select lists.
const TOKEN_BYTES: usize = 1024;
/// Bytes for each byte of text, which is what a long literal takes.
const TEXT_BYTES: usize = 16;

/// Bytes for each literal in the rows of an INSERT: the value as parsed and as bound.
const LITERAL_BYTES: usize = 128;
/// Bytes for each byte of text of such rows.
const LITERAL_TEXT_BYTES: usize = 4;

/// Bytes that parsing, binding and planning this statement take, whatever the `sql_mode`.
pub fn footprint(sql: &str) -> usize {
    let readable = uncover(sql, SqlModes::NONE);
    let general =
        |text: &str| text.len().saturating_mul(TEXT_BYTES).saturating_add(tokens(text).saturating_mul(TOKEN_BYTES));
    match extent_and_values(&readable) {
        None => general(&readable),
        Some((rows, values)) => general(&readable[..rows.start])
            .saturating_add(general(&readable[rows.end..]))
            .saturating_add(values.saturating_mul(LITERAL_BYTES))
            .saturating_add(rows.len().saturating_mul(LITERAL_TEXT_BYTES)),
    }
}

fn tokens(text: &str) -> usize {
    let text = text.as_bytes();
    let (mut tokens, mut at, mut in_word) = (0, 0, false);
    while at < text.len() {
        let (kind, end) = piece(text, at, SqlModes::NONE);
        let word = kind == Piece::Other && is_of_word(text[at]);
        let begins = match kind {
            Piece::Space | Piece::Comment | Piece::VersionComment => false,
            Piece::Quoted | Piece::Semicolon | Piece::Other => !(word && in_word),
        };
        tokens += begins as usize;
        in_word = word;
        at = end;
    }
    tokens
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | b'.') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted() {
        for (sql, want) in [
            ("", 0),
            ("select 1", 2),
            ("SELECT a.b, 'x y', `c d` /* e f */ FROM t -- g", 8),
            ("(1,2.5)<=@a", 8),
            ("/*!40101 SET */ x = 1;", 5),
        ] {
            assert_eq!(tokens(&uncover(sql, SqlModes::NONE)), want, "{sql}");
        }
        assert_eq!(footprint("select 1"), 8 * 16 + 2 * 1024);
        assert_eq!(footprint("insert t values (1, 'a'), (2, 'b')"), 16 * 16 + 3 * 1024 + 4 * 128 + 18 * 4);
    }
}
