//! Rows from the partitions of one node to those of another.

use super::{Lowerer, Node};
use crate::{
    expr::Physical,
    ops::{concatenate::ConcatenateExec, exchange::ExchangeExec},
};
use datafusion_physical_plan::{ExecutionPlan, coalesce_partitions::CoalescePartitionsExec};
use muster_algebra::{ExchangeKind, Expr, Plan, PlanOp};
use muster_types::{Result, SqlError};
use std::sync::Arc;

impl Lowerer<'_> {
    /// An exchange of the rows of a node. `keys`: what to hash, where that is not each key as it is grouped by.
    pub(super) fn exchange(&self, plan: &Plan, node: Node, keys: Option<Vec<Physical>>) -> Result<Node> {
        let PlanOp::Exchange { kind, .. } = &plan.op else { return Err(SqlError::internal("not an exchange")) };
        let exec: Arc<dyn ExecutionPlan> = match kind {
            ExchangeKind::Gather => Arc::new(CoalescePartitionsExec::new(node.exec.clone())),
            ExchangeKind::Concatenate => Arc::new(ConcatenateExec::new(node.exec.clone())),
            ExchangeKind::Hash { keys: exprs } => {
                let keys = match keys {
                    Some(keys) => keys,
                    None => self.exchange_keys(&node, exprs)?,
                };
                Arc::new(ExchangeExec::new(node.exec.clone(), keys, plan.partitions))
            }
        };
        self.finished(plan, Node { exec, ..node })
    }

    fn exchange_keys(&self, node: &Node, keys: &[Expr]) -> Result<Vec<Physical>> {
        match &node.accumulated {
            Some(accumulated) => Ok(accumulated.group_keys()),
            None => {
                let compiler = self.compiler(&node.scope);
                keys.iter().map(|key| Ok(compiler.grouping_key(key)?.0)).collect()
            }
        }
    }

    /// One side of a join, below the exchange over it if there is one: the join says what is hashed, and computes its
    /// keys in the partitions that are below.
    pub(super) fn side<'p>(&mut self, plan: &'p Plan) -> Result<(Node, Option<&'p Plan>)> {
        match &plan.op {
            PlanOp::Exchange { input, .. } => Ok((self.node(input)?, Some(plan))),
            _ => Ok((self.node(plan)?, None)),
        }
    }

    /// The side as it was planned. `keys`: of the join.
    pub(super) fn exchanged(
        &self,
        side: Node,
        exchange: Option<&Plan>,
        keys: impl Iterator<Item = Physical>,
    ) -> Result<Node> {
        match exchange {
            Some(exchange) => self.exchange(exchange, side, Some(keys.collect())),
            None => Ok(side),
        }
    }
}
