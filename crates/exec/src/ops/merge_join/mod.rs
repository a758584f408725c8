//! Merge join: both inputs come in the order of the join's keys, and are read side by side.
//!
//! ```text
//!   left rows  --> keys.rs --+
//!                            +--> merge.rs --> pairs --> pairs.rs --> joined rows, in the order of the left input's
//! keys
//!   right rows --> keys.rs --+       |
//!                                    v
//!                                 group.rs   rows of one key that have to be read again
//! ```
//!
//! Rows of equal keys are paired where they are. Only if a group goes on past the ends of both batches, the right rows
//! of the group are kept, in memory or on disk.

mod group;
mod keys;
mod merge;
#[cfg(test)]
mod merge_join_bench;
mod pairs;
#[cfg(test)]
mod tests;

use super::{plan_methods::own_metrics, spill::SpillSpace, unordered};
use crate::expr::Physical;
use arrow_schema::SchemaRef;
use datafusion_common::{Result, internal_err, tree_node::TreeNodeRecursion};
use datafusion_execution::{TaskContext, memory_pool::MemoryConsumer};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, apply_expression_roots,
    common::spawn_buffered,
    coop::cooperative,
    joins::utils::{ColumnIndex, JoinFilter},
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput},
    stream::RecordBatchStreamAdapter,
};
use merge::Merge;
use muster_algebra::JoinKind;
use std::{fmt, sync::Arc};

/// Batches of an input that are read ahead, so that both inputs and the join run side by side.
const AHEAD_BATCHES: usize = 2;

/// The description of a merge join.
pub struct MergeJoinSpec {
    pub kind: JoinKind,
    /// The keys of both sides, in the same Arrow types.
    pub keys: Vec<(Physical, Physical)>,
    /// Further conditions.
    pub residual: Option<JoinFilter>,
    /// The joined row's columns; of the left side alone for semi and anti joins.
    pub output: Vec<ColumnIndex>,
    pub space: SpillSpace,
}

/// The operator. Inputs have one partition, in the ascending order of the keys, NULL first.
pub struct MergeJoinExec {
    inputs: [Arc<dyn ExecutionPlan>; 2],
    spec: Arc<MergeJoinSpec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl MergeJoinExec {
    /// `schema`: of the output.
    pub fn new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        spec: Arc<MergeJoinSpec>,
        schema: SchemaRef,
    ) -> MergeJoinExec {
        let metrics = ExecutionPlanMetricsSet::new();
        MergeJoinExec { inputs: [left, right], spec, properties: unordered(schema, 1), metrics }
    }
}

impl DisplayAs for MergeJoinExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "MergeJoinExec: {:?} on=[", self.spec.kind)?;
        self.spec.keys.iter().try_for_each(|(l, r)| write!(f, " {l} = {r}"))?;
        write!(f, " ]")?;
        match &self.spec.residual {
            Some(residual) => write!(f, ", filter={}", residual.expression()),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for MergeJoinExec {
    fn name(&self) -> &str {
        "MergeJoinExec"
    }

    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Physical) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.spec.keys.iter().flat_map(|(l, r)| [l, r]), f)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 2]>::try_from(children) {
            Ok([left, right]) => Ok(Arc::new(MergeJoinExec::new(left, right, self.spec.clone(), self.schema()))),
            Err(children) => internal_err!("{} inputs for a join", children.len()),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = |side: usize| -> Result<SendableRecordBatchStream> {
            Ok(spawn_buffered(self.inputs[side].execute(partition, context.clone())?, AHEAD_BATCHES))
        };
        let memory = MemoryConsumer::new("merge join").with_can_spill(true).register(context.memory_pool());
        let batch_rows = context.session_config().batch_size();
        let merge = Merge::new(self.spec.clone(), self.schema(), [input(0)?, input(1)?], memory, batch_rows)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let rows = futures::stream::try_unfold((merge, metrics), |(mut merge, metrics)| async move {
            Ok(merge.next().await?.map(|batch| (batch.record_output(&metrics), (merge, metrics))))
        });
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(self.schema(), Box::pin(rows)))))
    }
}
