//! The tokens of one statement, and where they stand in its text.

use super::{dialect::MusterDialect, literal_rows::literal_rows, select_into::IntoClause};
use crate::InsertRows;
use muster_types::{Result, SqlError, SqlModes};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace, Word},
};
use std::cell::Cell;

/// Longest text an error quotes, in characters (MySQL: `%-.80s`).
const NEAR_CHARS: usize = 80;

/// One statement's text and tokens. Every token knows its bytes; the vectors run in parallel.
pub(crate) struct SourceText<'a> {
    pub text: &'a str,
    pub modes: SqlModes,
    pub dialect: MusterDialect,
    /// The text with version comments uncovered, byte for byte in place.
    pub readable: &'a str,
    pub tokens: Vec<TokenWithSpan>,
    pub starts: Vec<usize>,
    pub ends: Vec<usize>,
    /// Number of `?`.
    pub parameters: usize,
    /// The clause of `SELECT .. INTO`, which is blanked: it may stand in three places.
    pub into: Option<IntoClause>,
    /// The rows of literals of an INSERT, for which [`LITERAL_ROWS`] stands among the tokens. Taken by who reads them.
    pub literal_rows: Cell<Option<InsertRows>>,
}

/// The token in place of an INSERT's rows of literals.
pub(super) const LITERAL_ROWS: &str = "VALUES (..)";
/// The token in place of these words. No join takes its ON for its own.
pub(super) const ON_DUPLICATE: &str = "ON DUPLICATE KEY UPDATE";

impl<'a> SourceText<'a> {
    /// Cuts the text into tokens.
    pub fn new(text: &'a str, readable: &'a str, modes: SqlModes) -> Result<SourceText<'a>> {
        let mut source = SourceText {
            text,
            modes,
            dialect: MusterDialect::new(modes),
            readable,
            tokens: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            parameters: 0,
            into: None,
            literal_rows: Cell::new(None),
        };
        match literal_rows(readable, modes) {
            None => source.tokenize(readable, 0)?,
            Some(found) => {
                source.tokenize(&readable[..found.start], 0)?;
                source.push(Token::CustomBinaryOperator(LITERAL_ROWS.into()), found.start, found.end);
                source.parameters += found.parameters;
                source.literal_rows.set(Some(found.rows));
                source.tokenize(&readable[found.end..], found.end)?;
            }
        }
        super::operators::split(&mut source);
        super::texts::reread(&mut source);
        source.join_user_variables();
        super::digit_names::separate(&mut source);
        super::refused::check(&source)?;
        super::function_words::quote_spaced(&mut source, modes);
        super::json_table::rewrite(&mut source)?;
        super::operators::replace(&mut source);
        super::explicit_table::rewrite(&mut source)?;
        super::from_first::rewrite(&mut source)?;
        super::locking::rewrite(&mut source);
        super::table_brackets::rewrite(&mut source);
        super::joins::group(&mut source);
        super::select_into::take(&mut source)?;
        Ok(source)
    }

    /// Adds the tokens of a part of the text that begins at the byte `base`. `?` becomes `?0`, `?1` and so on.
    fn tokenize(&mut self, part: &str, base: usize) -> Result<()> {
        let tokens = match Tokenizer::new(&self.dialect, part).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(e) => return Err(syntax_error(self.text, base + offset_of(&self.text[base..], e.location))),
        };
        let (starts, ends) = offsets(&self.text[base..], &tokens);
        self.starts.extend(starts.into_iter().map(|at| base + at));
        self.ends.extend(ends.into_iter().map(|at| base + at));
        let from = place_of(self.text, base);
        for TokenWithSpan { mut token, span } in tokens {
            let at = self.tokens.len();
            if let Token::Placeholder(name) = &mut token {
                if name != "?" {
                    return Err(syntax_error(self.text, self.starts[at]));
                }
                // The binder needs to know which is which.
                *name = format!("?{}", self.parameters);
                self.parameters += 1;
            }
            if let Token::Word(Word { quote_style: quote @ Some('"'), .. }) = &mut token {
                // sqlparser takes names in double quotes for strings here and there.
                *quote = Some('`');
            }
            let span = Span::new(behind(from, span.start), behind(from, span.end));
            self.tokens.push(TokenWithSpan { token, span });
        }
        Ok(())
    }

    /// Makes one word of `@'a b'`, `@"a b"` and @`a b`. The `@` of an account stands behind a name.
    fn join_user_variables(&mut self) {
        for at in 0..self.tokens.len().saturating_sub(1) {
            let is_sign = match &self.tokens[at].token {
                Token::AtSign => true,
                Token::Word(Word { value, quote_style: None, .. }) => value == "@",
                _ => false,
            };
            let before = at.checked_sub(1).map(|before| &self.tokens[before].token);
            let follows_name = matches!(
                before,
                Some(Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::Word(_) | Token::Number(..))
            );
            if !is_sign || follows_name || self.starts[at + 1] != self.ends[at] {
                continue;
            }
            let name = match &self.tokens[at + 1].token {
                Token::SingleQuotedString(name) | Token::DoubleQuotedString(name) => name,
                Token::Word(Word { value, quote_style: Some(_), .. }) => value,
                _ => continue,
            };
            let word = Word { value: format!("@{name}"), quote_style: None, keyword: Keyword::NoKeyword };
            self.tokens[at].token = Token::Word(word);
            self.ends[at] = self.ends[at + 1];
            self.tokens[at + 1].token = Token::Whitespace(Whitespace::Space);
        }
    }

    /// Adds one token that stands for the bytes from `start` to `end`.
    fn push(&mut self, token: Token, start: usize, end: usize) {
        let span = Span::new(place_of(self.text, start), place_of(self.text, end));
        self.tokens.push(TokenWithSpan { token, span });
        self.starts.push(start);
        self.ends.push(end);
    }

    /// Error 1064 at a byte of the text.
    pub fn error_at(&self, at: usize) -> SqlError {
        syntax_error(self.text, at)
    }

    /// Error 1064 at a place that the parser has named.
    pub fn error_at_location(&self, at: Location) -> SqlError {
        self.error_at(offset(self.text, &line_starts(self.text), at))
    }

    /// Puts a token that the text has not behind another one, whose place it is given.
    pub fn insert(&mut self, at: usize, token: Token) {
        let span = self.tokens[at - 1].span;
        self.tokens.insert(at, TokenWithSpan { token, span });
        self.starts.insert(at, self.starts[at - 1]);
        self.ends.insert(at, self.ends[at - 1]);
    }

    /// Returns true if an expression of the statement may assign to a user variable.
    pub fn assigns_variables(&self) -> bool {
        self.tokens.iter().any(|token| token.token == Token::Assignment)
    }

    /// Positions of the tokens that are neither space nor comment.
    pub fn significant(&self) -> Vec<usize> {
        (0..self.tokens.len()).filter(|i| !matches!(self.tokens[*i].token, Token::Whitespace(_) | Token::EOF)).collect()
    }

    /// The word at a position in upper case; empty for anything else and for a name in quotes.
    pub fn word(&self, at: usize) -> String {
        match &self.tokens[at].token {
            Token::Word(Word { value, quote_style: None, .. }) => value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// The keyword at a position, if it is a bare one.
    pub fn keyword(&self, at: usize) -> Keyword {
        match &self.tokens[at].token {
            Token::Word(Word { keyword, quote_style: None, .. }) => *keyword,
            _ => Keyword::NoKeyword,
        }
    }
}

/// Error 1064: the text from `at` on, and its line.
fn syntax_error(text: &str, at: usize) -> SqlError {
    let at = at.min(text.len());
    let line = text[..at].matches('\n').count() as u64 + 1;
    let near: String = text[at..].trim_end_matches([';', ' ', '\n', '\t', '\r']).chars().take(NEAR_CHARS).collect();
    SqlError::syntax(near, line)
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect()
}

/// The line and column of a byte.
fn place_of(text: &str, at: usize) -> Location {
    let before = &text[..at];
    let line = before.bytes().filter(|b| *b == b'\n').count() as u64 + 1;
    let column = before[before.rfind('\n').map_or(0, |i| i + 1)..].chars().count() as u64 + 1;
    Location::new(line, column)
}

/// A place in a part of the text that begins at `from`.
fn behind(from: Location, at: Location) -> Location {
    match at.line {
        0 => at,
        1 => Location::new(from.line, from.column + at.column - 1),
        line => Location::new(from.line + line - 1, at.column),
    }
}

/// The byte of a text at a place that a parser of the text has named.
pub(crate) fn offset_of(text: &str, at: Location) -> usize {
    offset(text, &line_starts(text), at)
}

/// The byte at a line and column, both counted from one; columns are characters.
fn offset(text: &str, lines: &[usize], at: Location) -> usize {
    let Some(start) = (at.line as usize).checked_sub(1).and_then(|l| lines.get(l)) else { return text.len() };
    let column = (at.column as usize).saturating_sub(1);
    text[*start..].char_indices().nth(column).map_or(text.len(), |(i, _)| start + i)
}

/// First byte and end of every token. Tokens follow each other in the text, so one walk finds all.
fn offsets(text: &str, tokens: &[TokenWithSpan]) -> (Vec<usize>, Vec<usize>) {
    let mut walk = text.char_indices();
    let (mut line, mut column, mut at) = (1u64, 1u64, 0usize);
    let mut reach = |to: Location| {
        while (line, column) < (to.line, to.column) {
            let Some((i, c)) = walk.next() else { break };
            at = i + c.len_utf8();
            if c == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        at
    };
    tokens.iter().map(|t| (reach(t.span.start), reach(t.span.end))).unzip()
}
