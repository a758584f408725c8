//! `INSERT INTO t (..) VALUES (1, 'x'), ..`: rows of literals, straight from the text to values.
//!
//! A statement with many rows has no token and no expression for each of their values. What is read here is cut out of
//! the text before it is made tokens; the first row that holds anything but literals, `?` and DEFAULT, and all rows
//! behind it, are left to the grammar of expressions.

use super::{
    column::{hex_bytes, number},
    scan::{Piece, has_escapes, piece},
};
use crate::{InsertRows, InsertValue};
use muster_types::{SqlModes, Value};
use std::ops::Range;

/// The rows of literals of an INSERT, and the bytes of the text that they stand in.
#[derive(Debug)]
pub(super) struct LiteralRows {
    pub rows: InsertRows,
    pub start: usize,
    pub end: usize,
    /// Number of `?` in them.
    pub parameters: usize,
}

/// The rows of literals that the VALUES of an INSERT or REPLACE begins with; `None` for any other statement, and when
/// the first row is no such row.
pub(super) fn literal_rows(text: &str, modes: SqlModes) -> Option<LiteralRows> {
    let mut rows = InsertRows::default();
    let extent = each_row(text, modes, |values| {
        let begin = rows.values.len();
        rows.values.append(values);
        rows.end_row(begin);
    })?;
    Some(LiteralRows { rows, start: extent.start, end: extent.end, parameters: extent.parameters })
}

/// The bytes that these rows stand in, and the number of their values.
pub(super) fn extent_and_values(text: &str) -> Option<(Range<usize>, usize)> {
    let mut count = 0;
    let extent = each_row(text, SqlModes::NONE, |values| {
        count += values.len();
        values.clear();
    })?;
    Some((extent.start..extent.end, count))
}

struct Extent {
    start: usize,
    end: usize,
    parameters: usize,
}

/// Reads row after row; `take` leaves nothing in what it is given.
fn each_row(text: &str, modes: SqlModes, mut take: impl FnMut(&mut Vec<InsertValue>)) -> Option<Extent> {
    let start = first_row(text.as_bytes(), modes)?;
    let mut scan = Scan { text, modes, at: start, parameters: 0 };
    let mut extent = Extent { start, end: start, parameters: 0 };
    let mut values = Vec::new();
    while scan.row(&mut values).is_some() {
        take(&mut values);
        (extent.end, extent.parameters) = (scan.at, scan.parameters);
        scan.skip_space();
        if !scan.take(b',') {
            break;
        }
        scan.skip_space();
    }
    (extent.end > start).then_some(extent)
}

/// Where the first row of VALUES begins: `INSERT .. t [(names)] VALUES (`.
fn first_row(text: &[u8], modes: SqlModes) -> Option<usize> {
    let (mut at, mut words, mut lists) = (0, 0, 0);
    loop {
        match text.get(at)? {
            b'(' if words > 1 && lists == 0 => {
                at = names_in_parentheses(text, at, modes)?;
                lists += 1;
            }
            b'.' | b'`' => at = piece(text, at, modes).1,
            b'"' if modes.has(SqlModes::ANSI_QUOTES) => at = piece(text, at, modes).1,
            b if is_of_word(*b) => {
                let length = text[at..].iter().take_while(|b| is_of_word(**b)).count();
                let word = &text[at..at + length];
                let is = |w: &str| word.eq_ignore_ascii_case(w.as_bytes());
                at += length;
                if words == 0 && !is("INSERT") && !is("REPLACE") {
                    return None;
                }
                // A query, assignments, or what the grammar has to refuse.
                if ["SELECT", "SET", "WITH", "TABLE", "PARTITION"].into_iter().any(is) {
                    return None;
                }
                if words > 1 && (is("VALUES") || is("VALUE")) {
                    at = skip_space(text, at, modes);
                    return (text.get(at) == Some(&b'(')).then_some(at);
                }
                words += 1;
            }
            _ => match piece(text, at, modes) {
                (Piece::Space | Piece::Comment, end) => at = end,
                _ => return None,
            },
        }
    }
}

/// The end of a list of names that begins at `at`.
fn names_in_parentheses(text: &[u8], at: usize, modes: SqlModes) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b')' => return Some(at + 1),
            b',' | b'.' => at += 1,
            b'`' => at = piece(text, at, modes).1,
            b'"' if modes.has(SqlModes::ANSI_QUOTES) => at = piece(text, at, modes).1,
            b if is_of_word(*b) => at += 1,
            _ => match piece(text, at, modes) {
                (Piece::Space | Piece::Comment, end) => at = end,
                _ => return None,
            },
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn skip_space(text: &[u8], mut at: usize, modes: SqlModes) -> usize {
    while at < text.len() {
        match piece(text, at, modes) {
            (Piece::Space | Piece::Comment, end) => at = end,
            _ => break,
        }
    }
    at
}

struct Scan<'a> {
    text: &'a str,
    modes: SqlModes,
    at: usize,
    parameters: usize,
}

impl<'a> Scan<'a> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += found as usize;
        found
    }

    fn skip_space(&mut self) {
        if self.next().is_some_and(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'-' | b'#')) {
            self.at = skip_space(self.text.as_bytes(), self.at, self.modes);
        }
    }

    /// `(value, ..)`; `None` if anything in it is no literal.
    fn row(&mut self, values: &mut Vec<InsertValue>) -> Option<()> {
        if !self.take(b'(') {
            return None;
        }
        self.skip_space();
        if self.take(b')') {
            return Some(());
        }
        loop {
            values.push(self.value()?);
            self.skip_space();
            match self.next()? {
                b',' => self.at += 1,
                b')' => {
                    self.at += 1;
                    return Some(());
                }
                // Behind the literal an expression goes on.
                _ => return None,
            }
            self.skip_space();
        }
    }

    fn value(&mut self) -> Option<InsertValue> {
        match self.next()? {
            b'"' if self.modes.has(SqlModes::ANSI_QUOTES) => None,
            b'\'' | b'"' => self.string().map(|s| InsertValue::Literal(Value::Text(s))),
            b'?' => {
                self.at += 1;
                self.parameters += 1;
                Some(InsertValue::Parameter(self.parameters - 1))
            }
            b'-' => {
                self.at += 1;
                self.number(true)
            }
            b'0' if self.text.as_bytes().get(self.at + 1) == Some(&b'x') => {
                self.at += 2;
                let digits = self.word();
                hex_bytes(digits).filter(|_| !digits.is_empty()).map(InsertValue::Hexadecimal)
            }
            b'0'..=b'9' | b'.' => self.number(false),
            _ => self.named_value(),
        }
    }

    /// NULL, TRUE, FALSE, DEFAULT, `x'0f'` and `_binary'..'`.
    fn named_value(&mut self) -> Option<InsertValue> {
        let word = self.word();
        let is = |w: &str| word.eq_ignore_ascii_case(w);
        if is("x") && self.next() == Some(b'\'') {
            return hex_bytes(&self.string()?).map(InsertValue::Hexadecimal);
        }
        Some(InsertValue::Literal(if is("NULL") {
            Value::Null
        } else if is("TRUE") || is("FALSE") {
            Value::Int(is("TRUE") as i64)
        } else if is("DEFAULT") {
            return Some(InsertValue::Default);
        } else if is("_binary") {
            self.skip_space();
            match self.next() {
                Some(b'"') if self.modes.has(SqlModes::ANSI_QUOTES) => return None,
                Some(b'\'' | b'"') => Value::Bytes(self.string()?.into_bytes()),
                _ => return None,
            }
        } else {
            return None;
        }))
    }

    fn word(&mut self) -> &'a str {
        let rest: &'a str = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| is_of_word(*b)).count();
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self, negative: bool) -> Option<InsertValue> {
        let rest = &self.text.as_bytes()[self.at..];
        let digits = |from: usize| rest[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let whole = digits(0);
        let mut length = whole;
        if rest.get(length) == Some(&b'.') {
            length += 1 + digits(length + 1);
        } else if (1..=18).contains(&whole) && !matches!(rest.get(whole), Some(b'e' | b'E')) {
            let n = rest[..whole].iter().fold(0i64, |n, digit| n * 10 + (digit - b'0') as i64);
            self.at += whole;
            return Some(InsertValue::Literal(Value::Int(if negative { -n } else { n })));
        }
        if !rest[..length].iter().any(u8::is_ascii_digit) {
            return None;
        }
        if let Some(b'e' | b'E') = rest.get(length) {
            let sign = matches!(rest.get(length + 1), Some(b'+' | b'-')) as usize;
            let exponent = digits(length + 1 + sign);
            if exponent == 0 {
                return None;
            }
            length += 1 + sign + exponent;
        }
        let text = &self.text[self.at..self.at + length];
        self.at += length;
        number(text, negative).ok().map(InsertValue::Literal)
    }

    /// A string between quotes, with MySQL's escapes (manual 11.1.1).
    fn string(&mut self) -> Option<String> {
        let (quote, rest) = (self.next()?, &self.text[self.at + 1..]);
        let has_escapes = has_escapes(quote, self.modes);
        let is_special = |b| b == quote || (b == b'\\' && has_escapes);
        let special = |from: usize| rest[from..].bytes().position(is_special).map(|n| from + n);
        let mut end = special(0)?;
        if rest.as_bytes()[end] == quote && rest.as_bytes().get(end + 1) != Some(&quote) {
            self.at += end + 2;
            return Some(rest[..end].to_string());
        }
        let (mut text, mut copied) = (String::with_capacity(end + 16), 0);
        loop {
            text.push_str(&rest[copied..end]);
            let next = rest[end + 1..].chars().next();
            match (rest.as_bytes()[end] == quote, next) {
                (true, Some(c)) if c == quote as char => text.push(c),
                (true, _) => {
                    self.at += end + 2;
                    return Some(text);
                }
                (false, Some(c)) => push_escaped(&mut text, c),
                (false, None) => return None,
            }
            copied = end + 1 + next.map_or(0, char::len_utf8);
            end = special(copied)?;
        }
    }
}

/// The character that a backslash and `c` stand for.
fn push_escaped(text: &mut String, c: char) {
    if matches!(c, '%' | '_') {
        text.push('\\');
    }
    text.push(match c {
        '0' => '\0',
        'b' => '\u{8}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'Z' => '\u{1a}',
        other => other,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, &str)> {
        let found = literal_rows(text, SqlModes::NONE)?;
        let values: Vec<String> = found
            .rows
            .values
            .iter()
            .map(|v| match v {
                InsertValue::Literal(value) => format!("{value:?}"),
                InsertValue::Hexadecimal(bytes) => format!("x{bytes:?}"),
                InsertValue::Parameter(n) => format!("?{n}"),
                other => format!("{other:?}"),
            })
            .collect();
        Some((format!("{}x{}: {}", found.rows.rows, found.rows.width, values.join(" ")), &text[found.end..]))
    }

    #[test]
    fn rows_of_literals_are_read() {
        for (text, want, rest) in [
            ("insert into t values (1,-2), (3 , 4);", "2x2: Int(1) Int(-2) Int(3) Int(4)", ";"),
            ("INSERT t VALUE ()", "1x0: ", ""),
            ("insert into `d`.`v (`(a, `b)`) values('x')", "1x1: Text(\"x\")", ""),
            ("replace /* c */ into t\nvalues\n(null, TRUE, default) on", "1x3: Null Int(1) Default", " on"),
            ("insert into t values ('it''s', \"a\\n\\%\\q\")", "1x2: Text(\"it's\") Text(\"a\\n\\\\%q\")", ""),
            ("insert into t values (x'0f', 0x1, _binary 'a')", "1x3: x[15] x[1] Bytes([97])", ""),
            ("insert into t values (1.5, .5, 1e2, 99999999999999999999)", "", ""),
            ("insert into t values (18446744073709551615)", "1x1: UInt(18446744073709551615)", ""),
            ("insert into t values (?, 'a', ?), (?, 'b', ?)", "2x3: ?0 Text(\"a\") ?1 ?2 Text(\"b\") ?3", ""),
            ("insert into t values (1), (now()), (2)", "1x1: Int(1)", ", (now()), (2)"),
        ] {
            let (found, behind) = read(text).unwrap_or_else(|| panic!("{text}"));
            assert!(want.is_empty() || found == want, "{text}: {found}");
            assert_eq!(behind, rest, "{text}");
        }
    }

    #[test]
    fn all_else_is_left_alone() {
        for text in [
            "insert into t values (1 + 1)",
            "insert into t values ('a' 'b')",
            "insert into t values (a)",
            "insert into t values ('open",
            "insert into t values (1",
            "insert into t values row(1)",
            "insert into t set a = 1 on duplicate key update a = values(a)",
            "insert into t select values (1)",
            "insert into value (a) values (1)",
            "explain insert into t values (1)",
            "select 1",
            "",
        ] {
            assert!(literal_rows(text, SqlModes::NONE).is_none(), "{text}");
        }
    }
}
