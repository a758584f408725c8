//! Raw text: where quotes and comments begin and end.
//!
//! The tokenizer of sqlparser works on one statement; this looks at the text before it: to split a script at `;`, and
//! to uncover the statements that MySQL hides from other servers in `/*! ... */`.

use muster_types::SqlModes;
use std::borrow::Cow;

/// `/*!NNNNN ... */` is executed up to this version of MySQL.
const VERSION_ID: u32 = 80_400;

/// A stretch of text that is lexed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Space,
    /// `-- `, `#` or `/* */`.
    Comment,
    /// `/*! ... */`: statements for MySQL.
    VersionComment,
    /// Between quotes of any kind.
    Quoted,
    Semicolon,
    Other,
}

/// Returns true if a backslash between quotes of this kind changes the character behind it.
pub(crate) fn has_escapes(quote: u8, modes: SqlModes) -> bool {
    match quote {
        b'`' => false,
        b'"' if modes.has(SqlModes::ANSI_QUOTES) => false,
        _ => !modes.has(SqlModes::NO_BACKSLASH_ESCAPES),
    }
}

/// The piece that begins at `at`, and where it ends. An unterminated one reaches to the end.
pub(super) fn piece(text: &[u8], at: usize, modes: SqlModes) -> (Piece, usize) {
    let rest = &text[at..];
    match rest[0] {
        quote @ (b'\'' | b'"' | b'`') => (Piece::Quoted, at + quoted(rest, has_escapes(quote, modes))),
        b'#' => (Piece::Comment, at + line(rest)),
        b'-' if rest.get(1) == Some(&b'-') && rest.get(2).is_none_or(|b| b.is_ascii_whitespace() || *b < b' ') => {
            (Piece::Comment, at + line(rest))
        }
        b'/' if rest.starts_with(b"/*!") => (Piece::VersionComment, at + version_comment(rest, modes)),
        b'/' if rest.starts_with(b"/*") => (Piece::Comment, at + block(rest)),
        b';' => (Piece::Semicolon, at + 1),
        b if b.is_ascii_whitespace() => (Piece::Space, at + 1),
        _ => (Piece::Other, at + 1),
    }
}

fn quoted(rest: &[u8], has_escapes: bool) -> usize {
    let quote = rest[0];
    let mut i = 1;
    while i < rest.len() {
        if rest[i] == b'\\' && has_escapes {
            i += 2;
        } else if rest[i] == quote {
            // A doubled quote stands for itself: it ends one piece and begins the next, which lexes the same.
            return i + 1;
        } else {
            i += 1;
        }
    }
    rest.len()
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |i| i + 1)
}

fn block(rest: &[u8]) -> usize {
    rest[2..].windows(2).position(|w| w == b"*/").map_or(rest.len(), |i| i + 4)
}

/// The statement inside may hold quotes and comments with `*/` in them.
fn version_comment(rest: &[u8], modes: SqlModes) -> usize {
    let mut i = 3;
    while i < rest.len() {
        if rest[i..].starts_with(b"*/") {
            return i + 2;
        }
        i = match rest[i] {
            b'/' if rest[i..].starts_with(b"/*!") => i + 3,
            _ => piece(rest, i, modes).1,
        };
    }
    rest.len()
}

/// The statements of a text, cut at `;` outside of quotes and comments, as written and without the `;`. Pieces without
/// any statement (only space and comments) are left out. The text is read in the default `sql_mode`.
pub fn split(sql: &str) -> Vec<&str> {
    split_under(sql, SqlModes::NONE)
}

/// Cuts a text as [`split`] does, under the modes of a session.
pub fn split_under(sql: &str, modes: SqlModes) -> Vec<&str> {
    let text = sql.as_bytes();
    let mut found = Vec::new();
    // Where the statement's first word stands, once there is one.
    let mut begin = None;
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = piece(text, at, modes);
        match kind {
            Piece::Semicolon => found.extend(begin.take().map(|b: usize| sql[b..at].trim_end())),
            Piece::Space | Piece::Comment => {}
            _ => begin = begin.or(Some(at)),
        }
        at = end;
    }
    found.extend(begin.map(|b| sql[b..].trim_end()));
    found
}

/// The text with `/*!NNNNN` and its `*/` blanked, so that what they enclose is read; what is meant for newer versions
/// is blanked as a whole. Every byte keeps its place.
pub(crate) fn uncover(sql: &str, modes: SqlModes) -> Cow<'_, str> {
    if !sql.contains("/*!") {
        return Cow::Borrowed(sql);
    }
    let text = sql.as_bytes();
    let mut out = text.to_vec();
    let mut open = 0;
    let mut at = 0;
    while at < text.len() {
        if open > 0 && text[at..].starts_with(b"*/") {
            out[at..at + 2].fill(b' ');
            open -= 1;
            at += 2;
            continue;
        }
        let (kind, end) = piece(text, at, modes);
        if kind != Piece::VersionComment {
            at = end;
            continue;
        }
        let digits = text[at + 3..].iter().take(6).take_while(|b| b.is_ascii_digit()).count();
        // MySQL reads five or six digits; fewer belong to the statement.
        let digits = if digits >= 5 { digits } else { 0 };
        let version: u32 = sql[at + 3..at + 3 + digits].parse().unwrap_or(0);
        if version > VERSION_ID {
            // Line breaks stay, for the line numbers of errors.
            out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
            at = end;
        } else {
            out[at..at + 3 + digits].fill(b' ');
            open += 1;
            at += 3 + digits;
        }
    }
    // Only whole ASCII characters, or whole comments, were blanked.
    String::from_utf8(out).map_or(Cow::Borrowed(sql), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_outside_of_quotes_and_comments() {
        for (text, want) in [
            ("select 1; select 2;", vec!["select 1", "select 2"]),
            ("select ';', \";\", `;` ; x", vec!["select ';', \";\", `;`", "x"]),
            ("select 'it''s;' ; y", vec!["select 'it''s;'", "y"]),
            (r"select 'a\';b'; z", vec![r"select 'a\';b'", "z"]),
            ("-- a;\nselect 1 # b;\n;/* c; */ ;", vec!["select 1 # b;"]),
            ("select 5--6; x", vec!["select 5--6", "x"]),
            ("/*!40101 SET NAMES utf8; */;", vec!["/*!40101 SET NAMES utf8; */"]),
            ("  ;; \n", vec![]),
            ("select 'open; x", vec!["select 'open; x"]),
        ] {
            assert_eq!(split(text), want, "{text}");
        }
    }

    #[test]
    fn version_comments_are_uncovered_in_place() {
        for (text, want) in [
            ("/*!40101 SET x=1 */;", "         SET x=1   ;"),
            ("select /*! straight_join */ 1", "select     straight_join    1"),
            ("a /*!99999 b */ c", "a               c"),
            ("select '/*!40101 x */'", "select '/*!40101 x */'"),
            ("select 1 /* x */", "select 1 /* x */"),
            ("/*!50003 select '*/' */", "         select '*/'   "),
        ] {
            assert_eq!(uncover(text, SqlModes::NONE), want, "{text}");
        }
    }
}
