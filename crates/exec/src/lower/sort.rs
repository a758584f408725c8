//! Sort and top-N.

use super::{Lowerer, Node, row::limit_node};
use arrow_schema::SortOptions;
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion_physical_plan::{
    ExecutionPlan,
    sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
};
use muster_algebra::{Plan, SortKey};
use muster_types::Result;
use std::sync::Arc;

/// A heap of the first rows cannot spill; more rows than this are sorted in full.
const HEAP_ROWS_MAX: u64 = 100_000;

impl Lowerer<'_> {
    pub(super) fn sort(&mut self, input: &Plan, keys: &[SortKey], fetch: Option<u64>) -> Result<Node> {
        let node = self.node(input)?;
        let (node, exprs) = self.with_subplans(node, keys.iter().map(|k| k.expr.clone()).collect())?;
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
            return Ok(limit_node(node, 0, fetch));
        };
        let rows = fetch.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let heap = if fetch.is_some_and(|n| n <= HEAP_ROWS_MAX) { rows } else { None };
        let partitioned = node.partitions() > 1;
        let sort = SortExec::new(order.clone(), node.exec.clone()).with_preserve_partitioning(partitioned);
        let mut exec: Arc<dyn ExecutionPlan> = Arc::new(if heap.is_some() { sort.with_fetch(heap) } else { sort });
        if partitioned {
            exec = Arc::new(SortPreservingMergeExec::new(order, exec).with_fetch(rows));
        } else if heap.is_none() && fetch.is_some() {
            return Ok(limit_node(Node { exec, ..node }, 0, fetch));
        }
        Ok(Node { exec, ..node })
    }
}
