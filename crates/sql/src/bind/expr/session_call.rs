//! Functions that the session answers for each row: locks by name.

use super::ExprContext;
use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{Expr, ScalarFunction, SessionFunction};
use muster_types::{Result, SqlType};
use sqlparser::ast;

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
}
