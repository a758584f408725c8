//! Tokens, and how values and lists of values become one token while tokens are added.

use super::{
    lexer::Lexeme,
    words::{hint_word_number, number},
};

/// Most bytes of the tokens: the default of `max_digest_length`. What comes behind does not count.
const BYTES_MAX: usize = 1024;
/// Bytes of the number of a token, and of the length of a name.
const NUMBER_BYTES: usize = 2;

const VALUE: u16 = 1100;
const VALUES: u16 = 1101;
const ROW_OF_VALUE: u16 = 1102;
const ROWS_OF_VALUE: u16 = 1103;
const ROW_OF_VALUES: u16 = 1104;
const ROWS_OF_VALUES: u16 = 1105;
const NAME: u16 = 1106;
const NAME_AT: u16 = 1107;
const IN_VALUES: u16 = 1110;
const INTRODUCER: u16 = 852;

/// Words and symbols that have an expression behind them, so that a sign that follows is that of a number. MySQL does
/// not know of others, such as comparisons.
const BEFORE_EXPRESSIONS: &[&str] = &[
    "(",
    ",",
    "AND",
    "BETWEEN",
    "SELECT",
    "INTERVAL",
    "DIV",
    "MOD",
    "LIKE",
    "||",
    "|| of texts",
    "&&",
    "CASE",
    "WHEN",
    "NOT",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "OR",
    "XOR",
    "RLIKE",
    "&",
    "^",
    "DEFAULT",
    "|",
];

/// Returns true if an expression follows the word or symbol.
pub(super) fn begins_expression(printed: &str) -> bool {
    BEFORE_EXPRESSIONS.contains(&printed)
}

struct Token {
    number: u16,
    printed: &'static str,
    /// The name of a NAME or NAME_AT.
    name: String,
}

/// The tokens of a statement.
#[derive(Default)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    bytes: usize,
    is_full: bool,
}

impl Tokens {
    /// The last token, or the one `back` before it.
    fn last(&self, back: usize) -> u16 {
        let at = self.tokens.len().checked_sub(1 + back);
        at.map_or(0, |at| self.tokens[at].number)
    }

    fn push(&mut self, number: u16, printed: &'static str, name: String) {
        let length = if matches!(number, NAME | NAME_AT) { NUMBER_BYTES + name.len() } else { 0 };
        self.is_full = self.is_full || self.bytes + NUMBER_BYTES + length > BYTES_MAX;
        if !self.is_full {
            self.bytes += NUMBER_BYTES + length;
            self.tokens.push(Token { number, printed, name });
        }
    }

    /// Takes the last tokens back, none of which is a name.
    fn pop(&mut self, count: usize) {
        self.tokens.truncate(self.tokens.len() - count);
        self.bytes -= count * NUMBER_BYTES;
    }

    /// Adds what comes next.
    pub(super) fn add(&mut self, lexeme: Lexeme) {
        if self.is_full {
            return;
        }
        match lexeme {
            Lexeme::Number => {
                self.pop_signs();
                self.push_value();
            }
            Lexeme::Value => self.push_value(),
            Lexeme::Symbol(")") => self.push_end_of_row(),
            Lexeme::Name(name) => self.push(NAME, "", name),
            Lexeme::NameAt(name) => self.push(NAME_AT, "", name),
            Lexeme::Introducer => self.push(INTRODUCER, "(_charset)", String::new()),
            Lexeme::HintWord(word) => self.push(hint_word_number(word), word, String::new()),
            Lexeme::Word(printed) | Lexeme::Symbol(printed) => {
                let shown = match printed {
                    "NOT2" => "!",
                    "|| of texts" => "||",
                    "hint =" => "=",
                    printed => printed,
                };
                self.push(number(printed), shown, String::new());
            }
        }
    }

    /// Signs that belong to the number which comes are no tokens.
    fn pop_signs(&mut self) {
        let is_sign = |token: u16| token == u16::from(b'-') || token == u16::from(b'+');
        while is_sign(self.last(0)) && BEFORE_EXPRESSIONS.iter().any(|printed| number(printed) == self.last(1)) {
            self.pop(1);
        }
    }

    /// A value, which makes a list with the values in front of it.
    fn push_value(&mut self) {
        if self.last(0) == u16::from(b',') && matches!(self.last(1), VALUE | VALUES) {
            self.pop(2);
            self.push(VALUES, "?, ...", String::new());
        } else {
            self.push(VALUE, "?", String::new());
        }
    }

    /// A parenthesis that ends a row of nothing but values, which makes a list with such rows in front of it.
    fn push_end_of_row(&mut self) {
        let (row, rows, shown_row, shown_rows) = match self.last(0) {
            VALUE => (ROW_OF_VALUE, ROWS_OF_VALUE, "(?)", "(?) /* , ... */"),
            VALUES => (ROW_OF_VALUES, ROWS_OF_VALUES, "(...)", "(...) /* , ... */"),
            _ => return self.push(u16::from(b')'), ")", String::new()),
        };
        if self.last(1) != u16::from(b'(') {
            return self.push(u16::from(b')'), ")", String::new());
        }
        self.pop(2);
        if self.last(0) == number("IN") {
            self.pop(1);
            self.push(IN_VALUES, "IN (...)", String::new());
        } else if self.last(0) == u16::from(b',') && [row, rows].contains(&self.last(1)) {
            self.pop(2);
            self.push(rows, shown_rows, String::new());
        } else {
            self.push(row, shown_row, String::new());
        }
    }

    /// The tokens as text, with a space between two.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for token in &self.tokens {
            match token.number {
                NAME if token.name.is_empty() => {}
                NAME => text.extend(["`", &token.name, "` "]),
                NAME_AT => text.extend(["`", &token.name, "`"]),
                _ if token.printed == "@" => text.push('@'),
                _ => text.extend([token.printed, " "]),
            }
        }
        text.truncate(text.trim_end_matches(' ').len());
        text
    }

    /// The tokens as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes);
        for token in &self.tokens {
            bytes.extend(token.number.to_le_bytes());
            if matches!(token.number, NAME | NAME_AT) {
                let length = u16::try_from(token.name.len()).unwrap_or(u16::MAX);
                bytes.extend(length.to_le_bytes());
                bytes.extend(token.name.as_bytes());
            }
        }
        bytes
    }
}
