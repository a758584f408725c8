//! `NAME_CONST(name, value)`: a constant as a column of this name.

use super::ExprContext;
use crate::{bind::binder::Binder, typing::Item};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast;

impl Binder<'_> {
    /// Errors: 1210 for what is no literal, 1382 without a name.
    pub(super) fn name_const(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let wrong = || SqlError::new(ErrorCode::WrongArguments, "Incorrect arguments to NAME_CONST");
        let [name, value] = args else { return Err(wrong()) };
        if !is_literal(name) || !is_literal(value) {
            return Err(wrong());
        }
        if self.expr(name, cx)?.is_null_literal() {
            let message = "The 'NAME_CONST' syntax is reserved for purposes internal to the MySQL server";
            return Err(SqlError::new(ErrorCode::ReservedSyntax, message));
        }
        self.expr(value, cx)
    }
}

/// A number, a text or NULL, also with a sign or a collation. TRUE and FALSE are none, as in MySQL.
fn is_literal(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => !matches!(value.value, ast::Value::Placeholder(_) | ast::Value::Boolean(_)),
        ast::Expr::TypedString(_) | ast::Expr::Prefixed { .. } => true,
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => matches!(**expr, ast::Expr::Value(_)),
        ast::Expr::Collate { expr, .. } | ast::Expr::Nested(expr) => is_literal(expr),
        _ => false,
    }
}
