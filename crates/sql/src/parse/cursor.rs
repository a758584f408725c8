//! Reading tokens: words, names, strings, and expressions through sqlparser.

use super::{
    default_text::default_text,
    function_words::is_function_word,
    reserved::is_reserved,
    source::{LITERAL_ROWS, ON_DUPLICATE, SourceText},
};
use crate::{InsertRows, Query, ScalarExpr, TableName};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::{
    ast,
    parser::{Parser, ParserError},
    tokenizer::{Location, Token, Whitespace, Word},
};

/// How deep expressions and queries may nest. What recurses over them needs stack in proportion.
const MAX_NESTING: usize = 150;

/// A place in the tokens of one statement. Words compare without case; a quoted identifier is never a word.
pub(crate) struct Cursor<'s, 'a> {
    pub source: &'s SourceText<'a>,
    parser: Parser<'s>,
}

impl<'s, 'a> Cursor<'s, 'a> {
    pub fn new(source: &'s SourceText<'a>) -> Cursor<'s, 'a> {
        let parser = Parser::new(&source.dialect)
            .with_recursion_limit(MAX_NESTING)
            .with_tokens_with_locations(source.tokens.clone());
        Cursor { source, parser }
    }

    /// The `n`th token from here.
    pub fn peek(&self, n: usize) -> &Token {
        &self.parser.peek_nth_token_ref(n).token
    }

    /// The `n`th token from here as a bare word in upper case; empty if it is none.
    pub fn word(&self, n: usize) -> String {
        match self.peek(n) {
            Token::Word(Word { value, quote_style: None, .. }) => value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    pub fn at(&self, word: &str) -> bool {
        self.at_nth(0, word)
    }

    pub fn at_nth(&self, n: usize, word: &str) -> bool {
        matches!(self.peek(n), Token::Word(Word { value, quote_style: None, .. }) if value.eq_ignore_ascii_case(word))
    }

    /// Takes the words if they all follow.
    pub fn accept(&mut self, words: &str) -> bool {
        let count = words.split(' ').enumerate().take_while(|(n, w)| self.at_nth(*n, w)).count();
        if count < words.split(' ').count() {
            return false;
        }
        (0..count).for_each(|_| self.parser.advance_token());
        true
    }

    /// Takes one of these, and says which.
    pub fn accept_any(&mut self, choices: &[&'static str]) -> Option<&'static str> {
        choices.iter().find(|c| self.accept(c)).copied()
    }

    pub fn expect(&mut self, words: &str) -> Result<()> {
        if self.accept(words) { Ok(()) } else { Err(self.error()) }
    }

    pub fn accept_token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    pub fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.accept_token(token) { Ok(()) } else { Err(self.error()) }
    }

    pub fn advance(&mut self) {
        self.parser.advance_token();
    }

    /// Returns true if nothing but `;` is left.
    pub fn at_end(&self) -> bool {
        matches!(self.peek(0), Token::EOF | Token::SemiColon)
    }

    /// Checks that nothing follows but `;`.
    pub fn finish(&mut self) -> Result<()> {
        while self.accept_token(&Token::SemiColon) {}
        if *self.peek(0) == Token::EOF { Ok(()) } else { Err(self.error()) }
    }

    /// Error 1064 at the last of these words that has been taken.
    pub fn error_at_word(&self, words: &[&str]) -> SqlError {
        let is_it = |at: &usize| match &self.source.tokens[*at].token {
            Token::Word(Word { value, quote_style: None, .. }) => words.iter().any(|w| value.eq_ignore_ascii_case(w)),
            _ => false,
        };
        let taken = 0..self.parser.index().min(self.source.tokens.len());
        taken.rev().find(is_it).map_or_else(|| self.error(), |at| self.source.error_at(self.source.starts[at]))
    }

    /// Byte where the next token begins.
    pub fn position(&self) -> usize {
        let all = self.source.tokens.len();
        let next = (self.parser.index()..all).find(|i| !matches!(self.source.tokens[*i].token, Token::Whitespace(_)));
        next.map_or(self.source.text.len(), |i| self.source.starts[i])
    }

    /// Byte where the last token taken ends.
    pub fn last_end(&self) -> usize {
        match self.parser.index() {
            0 => 0,
            n => self.source.ends.get(n - 1).copied().unwrap_or(self.source.text.len()),
        }
    }

    /// Error 1064 at the next token.
    pub fn error(&self) -> SqlError {
        self.source.error_at(self.position())
    }

    /// Any identifier, quoted or not.
    pub fn identifier(&mut self) -> Result<String> {
        match self.peek(0) {
            Token::Word(w) => {
                let name = w.value.clone();
                let is_call = || w.quote_style.is_none() && *self.peek(1) == Token::LParen && is_function_word(&name);
                if is_call() {
                    return Err(self.error());
                }
                self.advance();
                Ok(name)
            }
            _ => Err(self.error()),
        }
    }

    /// An identifier that is no reserved word, or stands in quotes.
    pub fn unreserved(&mut self) -> Result<String> {
        match self.peek(0) {
            Token::Word(w) if w.quote_style.is_none() && is_reserved(&w.value) => Err(self.error()),
            _ => self.identifier(),
        }
    }

    /// `[database.]name`.
    pub fn table_name(&mut self) -> Result<TableName> {
        let first = self.unreserved()?;
        let name = if self.accept_token(&Token::Period) {
            TableName { database: Some(first), name: self.identifier()? }
        } else {
            TableName { database: None, name: first }
        };
        let wrong = |code, what| Err(SqlError::new(code, format!("Incorrect {what} name ''")));
        match &name {
            TableName { database: Some(database), .. } if database.is_empty() => {
                wrong(ErrorCode::WrongDbName, "database")
            }
            TableName { name, .. } if name.is_empty() => wrong(ErrorCode::WrongTableName, "table"),
            _ => Ok(name),
        }
    }

    /// A string literal.
    pub fn string(&mut self) -> Result<String> {
        match self.try_string() {
            Some(s) => Ok(s),
            None => Err(self.error()),
        }
    }

    pub fn try_string(&mut self) -> Option<String> {
        let (Token::SingleQuotedString(s) | Token::DoubleQuotedString(s)) = self.peek(0) else { return None };
        let text = s.clone();
        self.advance();
        Some(text)
    }

    /// A name given bare, quoted, or as a string: `utf8mb4`, `'utf8mb4'`.
    pub fn name_or_string(&mut self) -> Result<String> {
        match self.try_string() {
            Some(s) => Ok(s),
            None => self.identifier(),
        }
    }

    pub fn unsigned(&mut self) -> Result<u64> {
        let Token::Number(digits, _) = self.peek(0) else { return Err(self.error()) };
        let n = digits.parse().map_err(|_| self.error())?;
        self.advance();
        Ok(n)
    }

    /// A list in parentheses.
    pub fn parenthesised<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_token(&Token::LParen)?;
        let list = self.list(item)?;
        self.expect_token(&Token::RParen)?;
        Ok(list)
    }

    /// One or more, with commas between.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut found = vec![item(self)?];
        while self.accept_token(&Token::Comma) {
            found.push(item(self)?);
        }
        Ok(found)
    }

    /// Any expression.
    pub fn expression(&mut self) -> Result<ScalarExpr> {
        let start = self.position();
        let ast = self.parser.parse_expr().map_err(|e| self.parser_error(e))?;
        let text = self.source.text[start..self.last_end().max(start)].to_string();
        let (parameters, assigns) = (self.source.parameters, self.source.assigns_variables());
        Ok(ScalarExpr { ast: Box::new(ast), text, parameters, assigns })
    }

    /// A SELECT, WITH, VALUES, TABLE, or one in parentheses.
    pub fn query(&mut self) -> Result<Query> {
        let start = self.position();
        let ast = self.parser.parse_query().map_err(|e| self.parser_error(e))?;
        let text = default_text(self.source, start..self.last_end().max(start)).trim_end().to_string();
        let items = super::items::select_items(self.source);
        let (parameters, assigns) = (self.source.parameters, self.source.assigns_variables());
        Ok(Query { ast, text, items, parameters, assigns })
    }

    /// Tables and joins, as in FROM.
    pub fn table_references(&mut self) -> Result<Vec<ast::TableWithJoins>> {
        self.list(|c| c.parser.parse_table_and_joins().map_err(|e| c.parser_error(e)))
    }

    /// A key of ORDER BY.
    pub fn order_key(&mut self) -> Result<ast::OrderByExpr> {
        self.parser.parse_order_by_expr().map_err(|e| self.parser_error(e))
    }

    /// `WITH name AS (..), ..`.
    pub fn with_clause(&mut self) -> Result<ast::With> {
        self.expect("WITH")?;
        let with_token = self.parser.get_current_token().clone().into();
        let recursive = self.accept("RECURSIVE");
        let cte_tables = self.list(|c| c.parser.parse_cte().map_err(|e| c.parser_error(e)))?;
        Ok(ast::With { with_token, recursive, cte_tables })
    }

    /// The `/*+ .. */` behind the next token, without the signs.
    pub fn hints(&self) -> Option<String> {
        let all = &self.source.tokens;
        let next = (self.parser.index()..all.len()).find(|i| !matches!(all[*i].token, Token::Whitespace(_)))?;
        all[next + 1..].iter().map_while(|t| if let Token::Whitespace(w) = &t.token { Some(w) } else { None }).find_map(
            |space| match space {
                Whitespace::MultiLineComment(text) => text.strip_prefix('+').map(str::to_string),
                _ => None,
            },
        )
    }

    /// Takes the rows of literals that were cut out of the text here.
    pub fn accept_literal_rows(&mut self) -> Option<InsertRows> {
        let here = matches!(self.peek(0), Token::CustomBinaryOperator(name) if name == LITERAL_ROWS);
        let rows = if here { self.source.literal_rows.take() } else { None };
        if rows.is_some() {
            self.advance();
        }
        rows
    }

    /// Takes `ON DUPLICATE KEY UPDATE`.
    pub fn accept_on_duplicate(&mut self) -> bool {
        self.accept_token(&Token::CustomBinaryOperator(ON_DUPLICATE.into()))
    }

    fn parser_error(&self, error: ParserError) -> SqlError {
        match error {
            ParserError::RecursionLimitExceeded => SqlError::new(
                ErrorCode::TooHighLevelOfNesting,
                format!("Too high level of nesting: more than {MAX_NESTING} levels"),
            ),
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => match location(&message) {
                Some(at) => self.source.error_at_location(at),
                None if message.ends_with("found: EOF") => self.source.error_at(self.source.text.len()),
                None => self.error(),
            },
        }
    }
}

/// The place at the end of sqlparser's messages: `.. at Line: 1, Column: 8`.
fn location(message: &str) -> Option<Location> {
    let (_, place) = message.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.trim().parse().ok()?))
}
