//! Functions that the session answers for each row: locks by name, digests of statements.

use super::{ExprContext, text_arguments::text_result};
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item},
};
use muster_algebra::{Expr, ScalarFunction, SessionFunction};
use muster_types::{Result, SqlType, Value};
use sqlparser::ast;

/// Hexadecimal digits of a SHA-256.
const DIGEST_LENGTH: u64 = 64;
/// Most characters of a statement without its values, as MySQL tells clients.
const DIGEST_TEXT_LENGTH: u64 = 1 << 26;

impl Binder<'_> {
    /// The name of a lock is text, other arguments are integers.
    pub(super) fn session_call(
        &mut self,
        function: SessionFunction,
        name: &str,
        args: &[&ast::Expr],
        ty: SqlType,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let mut exprs = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            let item = self.expr(arg, cx)?;
            let item = match i == 0 && function != SessionFunction::PsThreadId {
                true => self.texts(vec![item], name)?.0.remove(0),
                false => self.count(item),
            };
            exprs.push(item.expr);
        }
        Ok(Item::new(Expr::Call { function: ScalarFunction::Session(function), args: exprs, ty }, ty))
    }

    /// `STATEMENT_DIGEST(statement)`, `STATEMENT_DIGEST_TEXT(statement)`.
    pub(super) fn statement_digest(
        &mut self,
        function: SessionFunction,
        name: &str,
        arg: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let item = self.expr(arg, cx)?;
        let is_constant = item.as_literal().is_some();
        let item = self.texts(vec![item], name)?.0.remove(0);
        let modes = i64::try_from(self.env.session.sql_modes().bits()).unwrap_or(0);
        let numbers = [modes, is_constant.into()].map(|n| Expr::literal(Value::Int(n), SqlType::BIGINT));
        let args = std::iter::once(item.expr).chain(numbers).collect();
        let length = match function {
            SessionFunction::StatementDigest => DIGEST_LENGTH,
            _ => DIGEST_TEXT_LENGTH,
        };
        let ty = text_result(length, self.default_collation());
        let item = Item::new(Expr::Call { function: ScalarFunction::Session(function), args, ty }, ty);
        Ok(Item { derivation: Derivation::Literal, ..item })
    }
}
