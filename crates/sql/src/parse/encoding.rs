//! A statement's bytes to text. `_binary'..'` literals hold bytes that are no text: they become `_binary X'..'`. So do
//! literals of queries and changes of rows that are not of the statement's character set: they are values for columns
//! of bytes, as dumps write them, or are compared with such values, as Django does.

use super::scan::{self, Piece};
use muster_types::{
    ErrorCode, Result, SqlError, SqlModes,
    charset::{self, Charset},
};
use std::{borrow::Cow, fmt::Write};

const INTRODUCER: &[u8] = b"_binary";
/// Bytes that error 1300 shows.
const SHOWN_BYTES: usize = 3;

/// The text of statements that came in a character set. Error 1300 for bytes that are not of it.
pub fn statement_text(charset: Charset, sql: &[u8], modes: SqlModes) -> Result<Cow<'_, str>> {
    let foreign = |sql| takes_bytes(sql).then_some(charset);
    if !sql.is_ascii() && sql.windows(INTRODUCER.len()).any(|w| w.eq_ignore_ascii_case(INTRODUCER)) {
        return decode_owned(charset, &with_bytes_as_hex(sql, foreign(sql), modes));
    }
    let text = decode(charset, sql);
    if text.is_err() && foreign(sql).is_some() {
        decode_owned(charset, &with_bytes_as_hex(sql, Some(charset), modes))
    } else {
        text
    }
}

fn decode_owned(charset: Charset, sql: &[u8]) -> Result<Cow<'static, str>> {
    decode(charset, sql).map(|text| Cow::Owned(text.into_owned()))
}

/// Returns true for a statement whose literals may be bytes: one that reads or changes rows.
fn takes_bytes(sql: &[u8]) -> bool {
    let mut at = 0;
    while at < sql.len() && (sql[at].is_ascii_whitespace() || scan::piece(sql, at, SqlModes::NONE).0 == Piece::Comment)
    {
        at = scan::piece(sql, at, SqlModes::NONE).1;
    }
    let begins = |word: &str| sql[at..].get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()));
    ["INSERT", "REPLACE", "UPDATE", "DELETE", "SELECT", "WITH", "SET", "DO", "("].into_iter().any(begins)
}

fn decode(charset: Charset, bytes: &[u8]) -> Result<Cow<'_, str>> {
    charset::decode(charset, bytes).ok_or_else(|| {
        let wrong = &bytes[charset::valid_up_to(charset, bytes)..];
        let shown = hex(&wrong[..wrong.len().min(SHOWN_BYTES)]);
        let message = format!("Invalid {} character string: '{shown}'", charset.name());
        SqlError::new(ErrorCode::InvalidCharacterString, message)
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{b:02X}");
        out
    })
}

/// Literals of bytes in hexadecimal digits: those with the introducer `_binary`, and with a character set those that
/// are not of it.
fn with_bytes_as_hex(sql: &[u8], charset: Option<Charset>, modes: SqlModes) -> Vec<u8> {
    let mut out = Vec::with_capacity(sql.len() * 2);
    let mut at = 0;
    while at < sql.len() {
        let (kind, mut end) = scan::piece(sql, at, modes);
        let quote = sql[at];
        let is_name = quote == b'`' || quote == b'"' && modes.has(SqlModes::ANSI_QUOTES);
        let is_literal = kind == Piece::Quoted && !is_name;
        let introducer = if is_literal { introducer(&out) } else { None };
        let is_binary = introducer.is_some_and(|word| word.eq_ignore_ascii_case(INTRODUCER));
        if is_literal && (is_binary || charset.is_some()) {
            // A doubled quote stands for itself.
            while sql.get(end) == Some(&quote) {
                end = scan::piece(sql, end, modes).1;
            }
            let is_foreign = |bytes: &[u8]| charset.is_some_and(|charset| charset::decode(charset, bytes).is_none());
            let is_hex = |bytes: &Vec<u8>| if is_binary { !bytes.is_ascii() } else { is_foreign(bytes) };
            if let Some(bytes) = unescape(&sql[at..end], scan::has_escapes(quote, modes)).filter(is_hex) {
                let binary = if introducer.is_some() { "" } else { "_binary " };
                let space = if out.ends_with(b" ") { "" } else { " " };
                out.extend_from_slice(format!("{space}{binary}X'{}'", hex(&bytes)).as_bytes());
                at = end;
                continue;
            }
        }
        out.extend_from_slice(&sql[at..end]);
        at = end;
    }
    out
}

/// The first of several literals that stand side by side, as in `'a' 'b'`. `None` if there is one only.
pub(crate) fn first_of_literals(written: &str, modes: SqlModes) -> Option<String> {
    let start = written.find(['\'', '"'])?;
    let (text, quote) = (written.as_bytes(), written.as_bytes()[start]);
    let mut end = scan::piece(text, start, modes).1;
    while text.get(end) == Some(&quote) {
        end = scan::piece(text, end, modes).1;
    }
    let literal = unescape(&text[start..end], scan::has_escapes(quote, modes))?;
    let has_more = text[end..].iter().any(|b| matches!(b, b'\'' | b'"'));
    String::from_utf8(literal).ok().filter(|_| has_more)
}

/// The text of a quoted literal, with its quotes; `None` if it is not ended.
pub fn literal_text(literal: &str, modes: SqlModes) -> Option<String> {
    let quote = *literal.as_bytes().first()?;
    String::from_utf8(unescape(literal.as_bytes(), scan::has_escapes(quote, modes))?).ok()
}

/// The introducer of a character set that the text ends with: `_latin1`.
fn introducer(before: &[u8]) -> Option<&[u8]> {
    let before = before.trim_ascii_end();
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_$`.@".contains(b);
    let word = &before[before.iter().rposition(|b| !is_name(b)).map_or(0, |at| at + 1)..];
    Some(word).filter(|word| std::str::from_utf8(word).is_ok_and(is_introducer))
}

/// Returns true if a word is `_` and the name of a character set.
pub(crate) fn is_introducer(word: &str) -> bool {
    word.strip_prefix('_').is_some_and(|name| Charset::from_name(name).is_some())
}

/// The bytes of a quoted literal (manual 11.1.1, "Special Character Escape Sequences"); `None` when it is not ended.
fn unescape(literal: &[u8], has_escapes: bool) -> Option<Vec<u8>> {
    let (quote, inner) = literal.split_first()?;
    let inner = inner.strip_suffix(&[*quote])?;
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.iter();
    while let Some(&b) = rest.next() {
        match b {
            b'\\' if has_escapes => match *rest.next()? {
                b'0' => out.push(0),
                b'b' => out.push(8),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'Z' => out.push(26),
                c @ (b'%' | b'_') => out.extend([b'\\', c]),
                c => out.push(c),
            },
            b if b == *quote => out.push(*rest.next()?),
            b => out.push(b),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(charset: Charset, sql: &[u8]) -> Result<Cow<'_, str>> {
        statement_text(charset, sql, SqlModes::NONE)
    }

    #[test]
    fn bytes_are_read_in_the_clients_character_set() {
        assert_eq!(read(Charset::Latin1, b"select 'caf\xE9'").unwrap(), "select 'café'");
        assert_eq!(read(Charset::Utf8mb4, "select 'é'".as_bytes()).unwrap(), "select 'é'");
        let e = read(Charset::Utf8mb4, b"select \xFFabc").unwrap_err();
        assert_eq!((e.code.number(), &*e.message), (1300, "Invalid utf8mb4 character string: 'FF6162'"));
        assert!(read(Charset::Ascii, "é".as_bytes()).is_err());
        assert!(read(Charset::Utf8mb3, "😀".as_bytes()).is_err());
    }

    #[test]
    fn binary_literals_keep_their_bytes() {
        for (sql, want) in [
            (&b"select _binary'\xFF\\0\\'a'"[..], "select _binary X'FF002761'"),
            (b"select _BINARY '\xE9''x', 'ok'", "select _BINARY X'E92778', 'ok'"),
            (b"select _binary\"\xE9\"\"\"", "select _binary X'E922'"),
            (b"select _binary'ascii', '\xC3\xA9'", "select _binary'ascii', 'é'"),
            (b"select a_binary'\xC3\xA9'", "select a_binary'é'"),
            (b"select '_binary' '\xC3\xA9'", "select '_binary' 'é'"),
            (b"select _binary'\xC3\xA9", "select _binary'é"),
        ] {
            assert_eq!(read(Charset::Utf8mb4, sql).unwrap(), want);
        }
    }

    #[test]
    fn values_that_are_no_text_keep_their_bytes() {
        for (sql, want) in [
            (&b" /* a */ insert into t values ('\xC3\xA9','\xFF\\'','x')"[..], "('é', _binary X'FF27','x')"),
            (b"UPDATE t SET a='\xE9', b = _binary'\xFF'", "SET a= _binary X'E9', b = _binary X'FF'"),
            (b"replace t values (_latin1'\xE9', `a`)", "(_latin1 X'E9', `a`)"),
            (b"select a from t where b = '\xFE'", "where b = _binary X'FE'"),
            (b"(select '\xFE')", "(select _binary X'FE')"),
            (b"delete from t where b = '\\0F\xFE' or c = '\xC3\xA9'", "b = _binary X'0046FE' or c = 'é'"),
        ] {
            let text = read(Charset::Utf8mb4, sql).unwrap();
            assert!(text.ends_with(want), "{text}");
        }
        for sql in [
            &b"insert into t\xFF values (1)"[..],
            b"create table t (a int comment '\xFF')",
            b"insert into `\xFF` values (1)",
        ] {
            assert!(read(Charset::Utf8mb4, sql).is_err());
        }
    }

    #[test]
    fn modes_decide_what_is_a_literal() {
        let read = |sql, modes| statement_text(Charset::Utf8mb4, sql, modes).map(Cow::into_owned);
        let plain = SqlModes::NO_BACKSLASH_ESCAPES;
        assert_eq!(read(b"insert into t values ('\xFF\\')", plain).unwrap(), "insert into t values ( _binary X'FF5C')");
        assert!(read(b"insert into t (\"\xFF\") values (1)", SqlModes::ANSI_QUOTES).is_err());
    }
}
