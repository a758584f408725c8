//! `JSON_TABLE(document, path COLUMNS (..)) alias` as a table with arguments, which sqlparser reads:
//!
//! ```text
//!   JSON_TABLE(document, path, 'the list of columns')
//! ```
//!
//! The types of columns are those of CREATE TABLE, of which sqlparser knows a part. So the list is checked here,
//! becomes one text among the tokens, and is read from that text when the table is bound.

use super::{column::column_of_type, cursor::Cursor, default_text::default_text, source::SourceText};
use crate::{ColumnSpec, DeprecatedPart};
use muster_types::{Result, SqlModes};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace, Word},
};

/// A column of the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenColumn {
    Ordinality(String),
    Value(Box<ValueColumn>),
    /// `NESTED PATH path COLUMNS (..)`.
    Nested {
        path: String,
        columns: Vec<WrittenColumn>,
    },
}

/// `name type [EXISTS] PATH path [.. ON EMPTY] [.. ON ERROR]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueColumn {
    pub spec: ColumnSpec,
    pub exists: bool,
    pub path: String,
    pub on_empty: Option<WrittenFallback>,
    pub on_error: Option<WrittenFallback>,
    /// The words ON ERROR stand in front of ON EMPTY, which is deprecated.
    pub is_reversed: bool,
}

/// The value of a column that has none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenFallback {
    Null,
    Error,
    /// A JSON text.
    Default(String),
    /// A literal that is no text.
    OtherDefault,
}

/// Makes one text of each list of columns. Error 1064.
pub(super) fn rewrite(source: &mut SourceText) -> Result<()> {
    let significant = source.significant();
    let is_call =
        |pair: &[usize]| source.word(pair[0]) == "JSON_TABLE" && source.tokens[pair[1]].token == Token::LParen;
    let calls: Vec<usize> = significant.windows(2).filter(|pair| is_call(pair)).map(|pair| pair[0]).collect();
    // The innermost of several comes last.
    for at in calls.into_iter().rev() {
        rewrite_call(source, at)?;
    }
    Ok(())
}

fn rewrite_call(source: &mut SourceText, name: usize) -> Result<()> {
    let Some(columns) = columns_word(source, name) else { return Err(source.error_at(source.starts[name])) };
    if !follows_path(source, columns) {
        return Err(source.error_at(source.starts[columns]));
    }
    let (open, close) = {
        let mut c = Cursor::new(source);
        while c.position() < source.starts[columns] {
            c.advance();
        }
        c.expect("COLUMNS")?;
        let start = c.position();
        column_list(&mut c)?;
        let end = c.last_end();
        c.expect_token(&Token::RParen)?;
        (start, end)
    };
    let text = default_text(source, open..close);
    for at in columns..source.tokens.len() {
        if source.starts[at] < open || source.ends[at] > close || source.starts[at] >= close {
            continue;
        }
        source.tokens[at].token = Token::Whitespace(Whitespace::Space);
    }
    let first = (columns + 1..source.tokens.len()).find(|at| source.starts[*at] >= open);
    if let Some(first) = first {
        source.tokens[first].token = Token::SingleQuotedString(text);
        source.ends[first] = close;
    }
    source.tokens[columns].token = Token::Comma;
    let word = Word { value: "JSON_TABLE".into(), quote_style: None, keyword: Keyword::NoKeyword };
    source.tokens[name].token = Token::Word(word);
    Ok(())
}

/// Returns true if a comma and a text stand in front of a token.
fn follows_path(source: &SourceText, at: usize) -> bool {
    let mut before = (0..at).rev().filter(|i| !matches!(source.tokens[*i].token, Token::Whitespace(_)));
    let is_text = before
        .next()
        .is_some_and(|i| matches!(source.tokens[i].token, Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)));
    // The character set of the text may stand between them.
    let is_next = |i: usize| source.tokens[i].token == Token::Comma || source.word(i).starts_with('_');
    is_text && before.next().is_some_and(is_next)
}

/// The position of the word COLUMNS of a call; `None` if there is none before the call's parenthesis ends.
fn columns_word(source: &SourceText, name: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in name + 1..source.tokens.len() {
        match &source.tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth <= 1 => return None,
            Token::RParen => depth -= 1,
            _ if depth == 1 && source.word(at) == "COLUMNS" => return Some(at),
            _ => {}
        }
    }
    None
}

/// Reads a list that [`rewrite`] has made a text of.
pub(crate) fn read_columns(text: &str) -> Result<Vec<WrittenColumn>> {
    let source = SourceText::new(text, text, SqlModes::NONE)?;
    column_list(&mut Cursor::new(&source))
}

fn column_list(c: &mut Cursor) -> Result<Vec<WrittenColumn>> {
    c.parenthesised(column)
}

fn column(c: &mut Cursor) -> Result<WrittenColumn> {
    if c.at("NESTED") && !matches!(c.peek(1), Token::Word(word) if !word.value.eq_ignore_ascii_case("PATH")) {
        c.expect("NESTED")?;
        c.expect("PATH")?;
        let path = text(c)?;
        c.expect("COLUMNS")?;
        return Ok(WrittenColumn::Nested { path, columns: column_list(c)? });
    }
    let name = c.unreserved()?;
    if c.accept("FOR ORDINALITY") {
        return Ok(WrittenColumn::Ordinality(name));
    }
    let mut spec = column_of_type(c, name)?;
    if c.accept("COLLATE") {
        let name = c.name_or_string()?;
        spec.deprecated.extend(DeprecatedPart::of_collation(&name));
        spec.collation = Some(name);
    }
    let exists = c.accept("EXISTS");
    c.expect("PATH")?;
    let path = text(c)?;
    let mut column = ValueColumn { spec, exists, path, on_empty: None, on_error: None, is_reversed: false };
    while let Some(said) = fallback(c)? {
        c.expect("ON")?;
        if column.on_empty.is_none() && c.accept("EMPTY") {
            column.is_reversed = column.on_error.is_some();
            column.on_empty = Some(said);
        } else if column.on_error.is_none() && c.accept("ERROR") {
            column.on_error = Some(said);
        } else {
            return Err(c.error());
        }
    }
    Ok(WrittenColumn::Value(Box::new(column)))
}

/// A text, perhaps with its character set in front of it.
fn text(c: &mut Cursor) -> Result<String> {
    if matches!(c.peek(0), Token::Word(word) if word.quote_style.is_none() && word.value.starts_with('_')) {
        c.advance();
    }
    c.string()
}

fn fallback(c: &mut Cursor) -> Result<Option<WrittenFallback>> {
    Ok(match c.accept_any(&["NULL", "ERROR", "DEFAULT"]) {
        Some("NULL") => Some(WrittenFallback::Null),
        Some("ERROR") => Some(WrittenFallback::Error),
        Some(_) => {
            let is_text = matches!(c.peek(0), Token::SingleQuotedString(_) | Token::DoubleQuotedString(_))
                || matches!(c.peek(0), Token::Word(word) if word.value.starts_with('_'));
            Some(match is_text {
                true => WrittenFallback::Default(text(c)?),
                false => {
                    c.expression()?;
                    WrittenFallback::OtherDefault
                }
            })
        }
        None => None,
    })
}
