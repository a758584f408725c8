//! Sort and top-N.

use super::{Lowerer, Node, row::limit_node};
use crate::ops::sort::SortExec;
use arrow_schema::SortOptions;
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use muster_algebra::{Plan, SortKey};
use muster_types::Result;
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn sort(&mut self, input: &Plan, keys: &[SortKey], fetch: Option<u64>) -> Result<Node> {
        let node = self.node(input)?;
        let (node, exprs) = self.with_subplans(node, keys.iter().map(|k| k.expr.clone()).collect())?;
        let (node, exprs) = self.with_long_texts(node, exprs)?;
        let keys: Vec<SortKey> =
            keys.iter().zip(exprs).map(|(k, expr)| SortKey { expr, descending: k.descending }).collect();
        self.sort_node(node, &keys, fetch)
    }

    pub(super) fn sort_node(&mut self, node: Node, keys: &[SortKey], fetch: Option<u64>) -> Result<Node> {
        let compiler = self.compiler(&node.scope);
        let mut sorted = Vec::with_capacity(keys.len());
        for key in keys {
            let options = SortOptions { descending: key.descending, nulls_first: !key.descending };
            sorted.push(PhysicalSortExpr::new(compiler.ordering_key(&key.expr)?, options));
        }
        let Some(order) = LexOrdering::new(sorted) else {
            return limit_node(node, 0, fetch);
        };
        let rows = fetch.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let sort = SortExec::new(node.exec, order, rows, self.context.buffers.sort_bytes, self.spill_space());
        Ok(Node { exec: Arc::new(sort), ..node })
    }
}
