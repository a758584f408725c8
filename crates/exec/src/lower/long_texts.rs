//! Long texts that functions make (`REPEAT(c, 1000000)`): each becomes a column that an operator below the expression
//! computes, in batches of few rows.

use super::{Lowerer, Node};
use crate::ops::long_text::{LongText, LongTextExec};
use arrow_schema::Schema;
use muster_algebra::{ColId, Expr};
use muster_types::{BytesKind, Result, SqlType, TextKind};
use std::sync::Arc;

/// The assumed length of a long text whose length nothing bounds or whose bound is high, in bytes.
const UNBOUNDED_BYTES: u32 = 1 << 16;
const BOUNDED_BYTES: u32 = 1 << 20;

fn assumed_bytes(ty: SqlType) -> u32 {
    match ty {
        SqlType::Text { length: u32::MAX, .. } | SqlType::Bytes { length: u32::MAX, .. } | SqlType::Json => {
            UNBOUNDED_BYTES
        }
        SqlType::Text { kind: TextKind::Char | TextKind::VarChar, length, .. }
        | SqlType::Bytes { kind: BytesKind::Binary | BytesKind::VarBinary, length } => length.min(BOUNDED_BYTES),
        SqlType::Text { .. } | SqlType::Bytes { .. } => BOUNDED_BYTES,
        _ => 0,
    }
}

impl Lowerer<'_> {
    /// The expressions, with a column that the returned node computes in place of each that is a long text.
    pub(super) fn with_long_texts(&mut self, node: Node, mut exprs: Vec<Expr>) -> Result<(Node, Vec<Expr>)> {
        let mut found: Vec<(ColId, Expr)> = Vec::new();
        for expr in &mut exprs {
            if !self.compiler(&node.scope).is_long_text(expr) {
                continue;
            }
            let id = match found.iter().find(|(_, other)| other == expr) {
                Some((id, _)) => *id,
                None => {
                    let id = self.new_column(expr.ty(&self.columns));
                    found.push((id, expr.clone()));
                    id
                }
            };
            *expr = Expr::Column(id);
        }
        if found.is_empty() {
            return Ok((node, exprs));
        }
        let compiler = self.compiler(&node.scope);
        let mut texts = Vec::with_capacity(found.len());
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        for (id, expr) in &found {
            let (rows, args) = compiler.over_columns(expr)?;
            texts.push(LongText { rows: Arc::new(rows), args });
            fields.push(self.field(*id, true));
        }
        let bytes = self.context.runtime.batch_bytes(self.threads());
        let exec = LongTextExec::new(node.exec.clone(), Arc::new(Schema::new(fields)), texts, bytes);
        for (id, _) in &found {
            self.text_bytes += assumed_bytes(self.columns.ty(*id)) as usize;
        }
        let columns = node.scope.columns.iter().copied().chain(found.into_iter().map(|(id, _)| id)).collect();
        Ok((Node::new(Arc::new(exec), columns, node.scope.traits), exprs))
    }
}
