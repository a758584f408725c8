//! `column -> path` and `column ->> path`.

use super::ExprContext;
use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{Expr, ScalarFunction};
use muster_functions::LibraryFunction;
use muster_types::{Result, SqlError, SqlType, Value};
use sqlparser::ast;

/// Returns true for a column in front of `->` and a text behind it: the grammar has no others.
fn is_column_and_text(left: &ast::Expr, right: &ast::Expr) -> bool {
    let is_column = matches!(left, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
    let is_text =
        |value: &ast::Value| matches!(value, ast::Value::SingleQuotedString(_) | ast::Value::DoubleQuotedString(_));
    is_column && matches!(right, ast::Expr::Value(value) if is_text(&value.value))
}

/// TRUE or FALSE as a JSON function and CAST take them: a truth value, where they are numbers everywhere else.
pub(super) fn truth_value(expr: &ast::Expr) -> Option<Item> {
    let ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Boolean(truth), .. }) = expr else { return None };
    Some(Item::literal(Value::Bool(*truth), SqlType::Bool))
}

impl Binder<'_> {
    /// JSON_EXTRACT of a column, and with `unquotes` JSON_UNQUOTE of that. Error 1064 for anything but a column and a
    /// text.
    pub(super) fn json_path(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        unquotes: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        if !is_column_and_text(left, right) {
            let arrow = if unquotes { "->>" } else { "->" };
            return Err(SqlError::syntax(format!("{arrow}{right}"), 1));
        }
        let part = self.function("JSON_EXTRACT", &[left, right], cx)?;
        match LibraryFunction::by_name("JSON_UNQUOTE").filter(|_| unquotes) {
            None => Ok(part),
            Some(function) => {
                let ty = crate::typing::JSON_TEXT;
                let function = ScalarFunction::Library(function);
                Ok(Item::new(Expr::Call { function, args: vec![part.expr], ty }, ty))
            }
        }
    }
}
