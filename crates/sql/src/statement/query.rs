//! Queries and expressions as parsed, with the text they were written in.

use sqlparser::ast;

/// A SELECT (or VALUES, TABLE, UNION, WITH ..) and its text, which names its result columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) ast: Box<ast::Query>,
    /// The query as written.
    pub text: String,
    /// The texts of select items in order, for each SELECT keyword by its place (line, column).
    pub(crate) items: Vec<((u64, u64), Vec<String>)>,
    /// Number of `?` in the whole statement.
    pub(crate) parameters: usize,
}

impl Query {
    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.parameters
    }
}

/// The texts of select items in order, for each SELECT keyword by its place (line, column).
pub(crate) type ItemTexts = [((u64, u64), Vec<String>)];

/// The written text of item `i` of the SELECT whose keyword stands at `(line, column)`.
pub(crate) fn item_text(texts: &ItemTexts, select: (u64, u64), i: usize) -> Option<&str> {
    let (_, items) = texts.iter().find(|(at, _)| *at == select)?;
    items.get(i).map(String::as_str)
}

/// One expression outside a query: the right side of SET, an argument of DO, a KILL number.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarExpr {
    pub(crate) ast: Box<ast::Expr>,
    /// As written.
    pub text: String,
    pub(crate) parameters: usize,
}

impl ScalarExpr {
    /// Number of `?` placeholders.
    pub fn parameters(&self) -> usize {
        self.parameters
    }
}
