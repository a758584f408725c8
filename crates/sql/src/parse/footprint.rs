//! The memory that a statement takes until it runs, by estimate: as tokens, syntax tree, expressions and plan, and as the
//! copies that are made on the way.

use super::scan::{Piece, piece, uncover};

/// Bytes for each token. Measured: 400 bytes in `VALUES ROW`, 500 in `IN` lists, 700 in conditions joined by OR, 1,250
/// in select lists.
const TOKEN_BYTES: usize = 1024;
/// Bytes for each byte of text, which is what a long literal takes.
const TEXT_BYTES: usize = 16;

/// Bytes that parsing, binding and planning this statement take.
pub fn footprint(sql: &str) -> usize {
    sql.len().saturating_mul(TEXT_BYTES).saturating_add(tokens(sql).saturating_mul(TOKEN_BYTES))
}

fn tokens(sql: &str) -> usize {
    let readable = uncover(sql);
    let text = readable.as_bytes();
    let (mut tokens, mut at, mut in_word) = (0, 0, false);
    while at < text.len() {
        let (kind, end) = piece(text, at);
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
            assert_eq!(tokens(sql), want, "{sql}");
        }
        assert_eq!(footprint("select 1"), 8 * 16 + 2 * 1024);
    }
}
