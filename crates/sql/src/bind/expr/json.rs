//! `column -> path` and `column ->> path`, JSON_ARRAYAGG and JSON_OBJECTAGG.

use super::ExprContext;
use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{AggregateCall, AggregateFunction, Expr, ScalarFunction};
use muster_functions::LibraryFunction;
use muster_types::{Result, SqlError, SqlType, Value};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

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

/// TRUE or FALSE next to a JSON value, where it is a truth value, too.
pub(super) fn truth_beside_json(expr: &ast::Expr, other: &Item) -> Option<Item> {
    truth_value(expr).filter(|_| other.ty == SqlType::Json)
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

    /// JSON_ARRAYAGG of a value, JSON_OBJECTAGG of a name and a value: the argument is the document that JSON_ARRAY and
    /// JSON_OBJECT make of them for a row. Error 1064 for DISTINCT and for another number of arguments.
    pub(super) fn json_aggregate(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
        distinct: bool,
        cx: &mut ExprContext,
    ) -> Result<AggregateCall> {
        let (function, part, count) = match name {
            "JSON_ARRAYAGG" => (AggregateFunction::JsonArrayAgg, "JSON_ARRAY", 1),
            _ => (AggregateFunction::JsonObjectAgg, "JSON_OBJECT", 2),
        };
        if distinct {
            return Err(SqlError::syntax("DISTINCT", 1));
        }
        let mut args = Vec::with_capacity(count);
        for arg in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else { return Err(SqlError::syntax(arg, 1)) };
            args.push(expr);
        }
        if args.len() != count {
            return Err(SqlError::syntax(")", 1));
        }
        let document = self.function(part, &args, cx)?;
        Ok(AggregateCall { function, args: vec![document.expr], distinct, ty: SqlType::Json })
    }
}
