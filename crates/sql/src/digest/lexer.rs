//! The text of a statement as lexemes (manual 11 "Language Structure").

use super::words::{canonical_word, hint_word};
use crate::parse::{has_escapes, is_introducer};
use muster_types::SqlModes;

/// A stretch of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lexeme {
    /// A word of the grammar, as digests print it.
    Word(&'static str),
    /// A word of optimizer hints.
    HintWord(&'static str),
    Name(String),
    /// A name in a hint that `@` follows.
    NameAt(String),
    /// A number, which a sign may belong to.
    Number,
    /// A text or another value.
    Value,
    /// The introducer of a character set: `_latin1`.
    Introducer,
    /// An operator or a punctuation mark, also the beginning and the end of hints.
    Symbol(&'static str),
}

/// The longest come first.
const SYMBOLS: &[&str] = &[
    "->>", "<=>", "->", "<=", "<>", "<<", ">=", ">>", "!=", "&&", "||", ":=", "(", ")", ",", ".", "+", "-", "*", "/",
    "%", "|", "&", "^", "~", "!", "<", ">", "=", "@", ";", ":", "{", "}", "?",
];

/// Statements whose first word may have hints behind it.
const HINTED: &[&str] = &["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"];

/// What the next lexeme is, where what has come before decides it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Any,
    /// A name that is no word of the grammar: it stands right behind a point.
    Name,
    /// A word or a name with points in it: the name of a user variable or a host.
    Host,
    /// The second `@` of a system variable.
    SecondAt,
    /// The name of a system variable, or GLOBAL and the like.
    Variable,
}

/// Reads lexemes with the places where they begin.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    modes: SqlModes,
    expected: Expected,
    is_in_hint: bool,
    /// The word just read takes hints.
    takes_hints: bool,
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

impl<'a> Lexer<'a> {
    /// `text`: a statement without version comments.
    pub(super) fn new(text: &'a str, modes: SqlModes) -> Lexer<'a> {
        Lexer { text, at: 0, modes, expected: Expected::Any, is_in_hint: false, takes_hints: false }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The end of the bytes from `from` on that are as wanted.
    fn end_of(&self, from: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let bytes = &self.text.as_bytes()[from..];
        from + bytes.iter().position(|b| !wanted(*b)).unwrap_or(bytes.len())
    }

    /// Passes over space and comments. Returns true at the beginning of hints, which it passes over, too.
    fn skip_space(&mut self) -> bool {
        loop {
            let rest = self.rest();
            let is_dashed = rest.starts_with("--") && self.byte(self.at + 2) <= b' ';
            if self.is_in_hint && !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
                return false;
            } else if rest.starts_with('#') || is_dashed {
                self.at = self.end_of(self.at, |b| b != b'\n');
            } else if rest.starts_with("/*+") && self.takes_hints {
                self.at += 3;
                return true;
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.at += 2 + comment.find("*/").map_or(comment.len(), |end| end + 2);
            } else if rest.starts_with(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()) {
                self.at += 1;
            } else {
                return false;
            }
        }
    }

    /// A text between quotes, which are passed over. The content is that of a name.
    fn quoted(&mut self, quote: u8) -> String {
        let has_escapes = has_escapes(quote, self.modes);
        let (mut content, from) = (Vec::new(), self.at + 1);
        self.at = from;
        while self.at < self.text.len() {
            let b = self.byte(self.at);
            if b == b'\\' && has_escapes {
                self.at += 1;
            } else if b == quote {
                if self.byte(self.at + 1) != quote {
                    break;
                }
                self.at += 1;
            }
            content.push(self.byte(self.at));
            self.at += 1;
        }
        self.at = (self.at + 1).min(self.text.len());
        String::from_utf8(content).unwrap_or_default()
    }

    /// The end of a number that begins here with a digit or a point; `None` if it is the beginning of a name.
    fn number_end(&self) -> Option<usize> {
        for (prefix, digits) in [("0x", 16), ("0b", 2)] {
            if self.rest().starts_with(prefix) {
                let end = self.end_of(self.at + 2, |b| char::from(b).is_digit(digits));
                return Some(end).filter(|end| *end > self.at + 2 && !is_name_byte(self.byte(*end)));
            }
        }
        let digits = self.end_of(self.at, |b| b.is_ascii_digit());
        if self.byte(digits) == b'.' {
            let end = self.end_of(digits + 1, |b| b.is_ascii_digit());
            return Some(self.exponent_end(end).unwrap_or(end));
        }
        match self.exponent_end(digits) {
            Some(end) => Some(end),
            None => Some(digits).filter(|end| !is_name_byte(self.byte(*end))),
        }
    }

    /// The end of the exponent of ten that begins at `at`, if there is one.
    fn exponent_end(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let digits = at + 1 + usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        Some(self.end_of(digits, |b| b.is_ascii_digit())).filter(|end| *end > digits)
    }

    /// A word, or a name without quotes.
    fn word(&mut self) -> Lexeme {
        let end = self.end_of(self.at, is_name_byte);
        let word = &self.text[self.at..end];
        let expected = std::mem::replace(&mut self.expected, Expected::Any);
        let name = || Lexeme::Name(word.to_owned());
        self.at = end;
        if self.is_in_hint {
            return self.hint_name(word);
        }
        if expected == Expected::Name {
            return name();
        }
        if expected != Expected::Variable {
            if self.byte(end) == b'.' && is_name_byte(self.byte(end + 1)) {
                return name();
            }
            if is_introducer(word) {
                return Lexeme::Introducer;
            }
        }
        let paren = match self.modes.has(SqlModes::IGNORE_SPACE) {
            true => self.end_of(end, |b| b.is_ascii_whitespace()),
            false => end,
        };
        let is_call = self.byte(paren) == b'(' && expected == Expected::Any;
        match canonical_word(word, is_call) {
            Some("WITH") => Lexeme::Word(self.rollup().unwrap_or("WITH")),
            Some("NOT") if self.modes.has(SqlModes::HIGH_NOT_PRECEDENCE) => Lexeme::Word("NOT2"),
            Some(word) => Lexeme::Word(word),
            None => name(),
        }
    }

    /// `WITH ROLLUP` is one word of the grammar.
    fn rollup(&mut self) -> Option<&'static str> {
        let behind_with = self.at;
        self.skip_space();
        let end = self.end_of(self.at, is_name_byte);
        let is_rollup = self.text[self.at..end].eq_ignore_ascii_case("rollup");
        self.at = if is_rollup { end } else { behind_with };
        is_rollup.then_some("WITH ROLLUP")
    }

    fn hint_name(&mut self, word: &str) -> Lexeme {
        match hint_word(word) {
            Some(word) => Lexeme::HintWord(word),
            None => self.name_in_hint(word.to_owned()),
        }
    }

    fn name_in_hint(&self, name: String) -> Lexeme {
        if self.byte(self.at) == b'@' { Lexeme::NameAt(name) } else { Lexeme::Name(name) }
    }

    /// A lexeme of hints that is no word; `None` for what is passed over.
    fn in_hint(&mut self) -> Option<Lexeme> {
        let b = self.byte(self.at);
        if self.rest().starts_with("*/") {
            self.at += 2;
            self.is_in_hint = false;
            return Some(Lexeme::Symbol("*/"));
        }
        Some(match b {
            b'`' => {
                let name = self.quoted(b);
                self.name_in_hint(name)
            }
            b'\'' | b'"' => {
                let end = self.rest().find("*/").map_or(self.text.len(), |end| self.at + end);
                let (content, start) = (self.quoted(b), self.at);
                // MySQL passes over what comes behind an empty text, or one without an end.
                if content.is_empty() || start > end {
                    self.at = end;
                    return None;
                }
                Lexeme::Value
            }
            b'0'..=b'9' => {
                let digits = self.end_of(self.at, |b| b.is_ascii_digit());
                let has_unit = matches!(self.byte(digits), b'k' | b'K' | b'm' | b'M' | b'g' | b'G');
                let has_point = self.byte(digits) == b'.' && self.byte(digits + 1).is_ascii_digit();
                let end = match has_point {
                    true => self.end_of(digits + 1, |b| b.is_ascii_digit()),
                    false => digits + usize::from(has_unit),
                };
                if is_name_byte(self.byte(end)) {
                    return Some(self.word());
                }
                self.at = end;
                Lexeme::Value
            }
            b if is_name_byte(b) => self.word(),
            b'.' => {
                self.at += 1;
                return None;
            }
            b'=' => {
                self.at += 1;
                Lexeme::Symbol("hint =")
            }
            _ => self.symbol()?,
        })
    }

    /// An operator or a punctuation mark; `None` for a character that is none.
    fn symbol(&mut self) -> Option<Lexeme> {
        let Some(symbol) = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) else {
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            return None;
        };
        self.at += symbol.len();
        let next = self.byte(self.at);
        self.expected = match *symbol {
            "." if is_name_byte(next) => Expected::Name,
            "@" if self.is_in_hint => Expected::Any,
            "@" if self.expected == Expected::SecondAt => Expected::Variable,
            "@" if next == b'@' => Expected::SecondAt,
            "@" if !matches!(next, b'\'' | b'"' | b'`') => Expected::Host,
            _ => Expected::Any,
        };
        Some(Lexeme::Symbol(match *symbol {
            "<>" => "!=",
            "||" if self.modes.has(SqlModes::PIPES_AS_CONCAT) => "|| of texts",
            symbol => symbol,
        }))
    }

    /// `None` for a character that belongs to nothing.
    fn lexeme(&mut self) -> Option<Lexeme> {
        if self.is_in_hint {
            return self.in_hint();
        }
        let (b, next) = (self.byte(self.at), self.byte(self.at + 1));
        if self.expected == Expected::Host {
            self.expected = Expected::Any;
            self.at =
                self.end_of(self.at, |b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$') || b >= 0x80);
            return Some(Lexeme::Value);
        }
        let is_name = self.expected == Expected::Name;
        match b {
            b'`' => Some(Lexeme::Name(self.quoted(b))),
            b'"' if self.modes.has(SqlModes::ANSI_QUOTES) => Some(Lexeme::Name(self.quoted(b))),
            b'\'' | b'"' => {
                self.quoted(b);
                Some(Lexeme::Value)
            }
            b'n' | b'N' | b'x' | b'X' | b'b' | b'B' if next == b'\'' => {
                self.at += 1;
                self.quoted(next);
                let is_text = matches!(b, b'n' | b'N');
                Some(if is_text { Lexeme::Value } else { Lexeme::Number })
            }
            b'0'..=b'9' if !is_name => match self.number_end() {
                Some(end) => {
                    self.at = end;
                    Some(Lexeme::Number)
                }
                None => Some(self.word()),
            },
            b'.' if !is_name && next.is_ascii_digit() && !self.is_behind_name() => {
                self.at = self.number_end().unwrap_or(self.at + 1);
                Some(Lexeme::Number)
            }
            b if is_name_byte(b) => Some(self.word()),
            _ => self.symbol(),
        }
    }

    /// Returns true right behind a name without quotes.
    fn is_behind_name(&self) -> bool {
        self.at.checked_sub(1).is_some_and(|before| is_name_byte(self.byte(before)))
    }
}

impl Iterator for Lexer<'_> {
    type Item = (usize, Lexeme);

    fn next(&mut self) -> Option<(usize, Lexeme)> {
        while self.at < self.text.len() {
            let begins_hints = self.skip_space();
            self.takes_hints = false;
            let start = self.at;
            if begins_hints {
                let inside = self.rest().trim_ascii_start();
                if let Some(behind) = inside.strip_prefix("*/") {
                    self.at = self.text.len() - behind.len();
                    continue;
                }
                self.is_in_hint = true;
                return Some((start, Lexeme::Symbol("/*+")));
            }
            if start >= self.text.len() {
                return None;
            }
            if let Some(lexeme) = self.lexeme() {
                self.takes_hints = matches!(lexeme, Lexeme::Word(word) if HINTED.contains(&word));
                return Some((start, lexeme));
            }
        }
        None
    }
}
