//! A query as the default `sql_mode` would have it written. Views keep such text, so that they mean the same whatever
//! the modes of the session that reads them.
//!
//! ```text
//!   ANSI_QUOTES           "a"              `a`
//!   NO_BACKSLASH_ESCAPES  'a\b', a LIKE b  'a\\b', a LIKE b ESCAPE ''
//!   PIPES_AS_CONCAT       a || b || c      CONCAT(a , b , c)
//!   HIGH_NOT_PRECEDENCE   NOT a            ! a
//!   IGNORE_SPACE          COUNT (*)        COUNT(*)
//!   REAL_AS_FLOAT         CAST(a AS REAL)  CAST(a AS FLOAT)
//! ```

use super::{function_words::is_function_word, source::SourceText};
use muster_types::SqlModes;
use sqlparser::tokenizer::{Token, Word};
use std::{cell::RefCell, collections::BTreeMap, ops::Range};

/// What the parser has read in another way than the default modes would. Places are positions of tokens. What is read
/// twice, since the parser tries one way and then another, is noted once.
#[derive(Debug, Default)]
pub(super) struct ModalSyntax {
    /// By the first `||` of a chain.
    concatenations: RefCell<BTreeMap<usize, Concatenation>>,
    /// NOT as `!`.
    negations: RefCell<BTreeMap<usize, ()>>,
    /// The ends of LIKE without ESCAPE.
    likes: RefCell<BTreeMap<usize, ()>>,
    /// REAL as FLOAT.
    reals: RefCell<BTreeMap<usize, ()>>,
}

/// A chain `a || b || ..`: its first token, the `||`, and the position behind its last token.
#[derive(Debug)]
struct Concatenation {
    start: usize,
    operators: Vec<usize>,
    end: usize,
}

impl ModalSyntax {
    pub fn note_concatenation(&self, start: usize, operators: Vec<usize>, end: usize) {
        if let Some(first) = operators.first().copied() {
            self.concatenations.borrow_mut().insert(first, Concatenation { start, operators, end });
        }
    }

    pub fn note_negation(&self, at: usize) {
        self.negations.borrow_mut().insert(at, ());
    }

    pub fn note_like(&self, end: usize) {
        self.likes.borrow_mut().insert(end, ());
    }

    pub fn note_real(&self, at: usize) {
        self.reals.borrow_mut().insert(at, ());
    }
}

/// Bytes of the text and what stands for them.
struct Edit {
    bytes: Range<usize>,
    text: String,
}

/// The bytes of a statement, as the default modes would have them written.
pub(super) fn default_text(source: &SourceText, bytes: Range<usize>) -> String {
    let readable = source.readable;
    if !source.modes.has(SqlModes::OF_PARSING) {
        return readable[bytes].to_owned();
    }
    let mut edits = syntax_edits(source);
    edits.extend(token_edits(source));
    // Of two at one place the first is the one that was noted first: a chain begins before what it begins with.
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    let (mut text, mut at) = (String::with_capacity(bytes.len() + 16), bytes.start);
    for edit in edits {
        if edit.bytes.start < at || edit.bytes.end > bytes.end {
            continue;
        }
        text.push_str(&readable[at..edit.bytes.start]);
        text.push_str(&edit.text);
        at = edit.bytes.end;
    }
    text.push_str(&readable[at..bytes.end]);
    text
}

fn syntax_edits(source: &SourceText) -> Vec<Edit> {
    let syntax = &source.dialect.syntax;
    let (mut edits, mut ends) = (Vec::new(), Vec::new());
    let token = |at: usize| source.starts[at]..source.ends[at];
    // The end of the last token in front of a position.
    let end_before = |end: usize| source.ends[end - 1];
    for chain in syntax.concatenations.borrow().values() {
        let start = source.starts[chain.start];
        edits.push(Edit { bytes: start..start, text: "CONCAT(".into() });
        edits.extend(chain.operators.iter().map(|at| Edit { bytes: token(*at), text: ",".into() }));
        ends.push((end_before(chain.end), ")"));
    }
    ends.extend(syntax.likes.borrow().keys().map(|end| (end_before(*end), " ESCAPE ''")));
    edits.extend(ends.into_iter().map(|(end, text)| Edit { bytes: end..end, text: text.into() }));
    edits.extend(syntax.negations.borrow().keys().map(|at| Edit { bytes: token(*at), text: "!".into() }));
    edits.extend(syntax.reals.borrow().keys().map(|at| Edit { bytes: token(*at), text: "FLOAT".into() }));
    edits
}

fn token_edits(source: &SourceText) -> Vec<Edit> {
    let modes = source.modes;
    let significant = source.significant();
    let mut edits = Vec::new();
    for (n, &at) in significant.iter().enumerate() {
        let bytes = source.starts[at]..source.ends[at];
        let written = &source.readable[bytes.clone()];
        match &source.tokens[at].token {
            Token::Word(Word { value, quote_style: Some(_), .. }) if written.starts_with('"') => {
                edits.push(Edit { bytes, text: format!("`{}`", value.replace('`', "``")) });
            }
            Token::Word(Word { value, quote_style: None, .. }) if modes.has(SqlModes::IGNORE_SPACE) => {
                let next = significant.get(n + 1).filter(|i| source.tokens[**i].token == Token::LParen);
                if let Some(next) = next.filter(|_| is_function_word(value)) {
                    edits.push(Edit { bytes: bytes.end..source.starts[*next], text: String::new() });
                }
            }
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)
                if modes.has(SqlModes::NO_BACKSLASH_ESCAPES) && written.contains('\\') =>
            {
                edits.push(Edit { bytes, text: written.replace('\\', "\\\\") });
            }
            _ => {}
        }
    }
    edits
}
