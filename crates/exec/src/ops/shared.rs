//! Rows that a statement reads in several places (a common table expression or a view named twice): computed when the
//! first of them asks, kept until the statement ends, in memory and behind that in a file.

use super::{
    compact::{compact, held_bytes},
    only,
    plan_methods::{no_expressions, own_metrics},
    reschedule::reschedule,
    spill::{SpillFile, SpillSpace, SpillWriter},
    unordered,
};
use crate::counters::OperatorCounter;
use arrow_array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation},
};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, SendableRecordBatchStream,
    coalesce_partitions::CoalescePartitionsExec,
    metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder},
    stream::RecordBatchStreamAdapter,
};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use std::{collections::HashMap, fmt, sync::Arc};
use tokio::sync::OnceCell;

/// One statement's shared rows of one number keep at most this part of the memory.
const MEMORY_SHARE: usize = 8;

/// The shared rows of one statement, by [`muster_algebra::PlanOp::Shared`]'s number.
#[derive(Default)]
pub struct SharedRows {
    by_id: Mutex<HashMap<usize, Arc<OnceCell<Kept>>>>,
}

impl SharedRows {
    /// The rows of this number, computed or not.
    pub(crate) fn of(&self, id: usize) -> Arc<OnceCell<Kept>> {
        self.by_id.lock().entry(id).or_default().clone()
    }
}

/// Rows that were computed.
pub(crate) struct Kept {
    batches: Vec<RecordBatch>,
    /// Rows for which there was no memory, on disk.
    rest: Option<SpillFile>,
    _memory: MemoryReservation,
}

/// Delivers rows that its input computes, for it or for another of the same number.
pub struct SharedExec {
    input: Arc<dyn ExecutionPlan>,
    kept: Arc<OnceCell<Kept>>,
    space: SpillSpace,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SharedExec {
    /// Makes one reader of shared rows. The inputs of all readers with the same `kept` have the same rows.
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        kept: Arc<OnceCell<Kept>>,
        partitions: usize,
        space: SpillSpace,
    ) -> SharedExec {
        let properties = unordered(input.schema(), partitions);
        SharedExec { input, kept, space, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedExec")
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &str {
        "SharedExec"
    }

    no_expressions!();
    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = self.properties.partitioning.partition_count();
        Ok(Arc::new(SharedExec::new(only(children)?, self.kept.clone(), partitions, self.space.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partitions = self.properties.partitioning.partition_count();
        let spills = MetricBuilder::new(&self.metrics).spill_count(partition);
        let (input, kept, space) = (self.input.clone(), self.kept.clone(), self.space.clone());
        let rows = stream::once(async move {
            let kept = kept.get_or_try_init(|| keep(input, context, space, spills)).await?;
            if partitions > 1 {
                reschedule().await;
            }
            let mine: Vec<RecordBatch> = kept.batches.iter().skip(partition).step_by(partitions).cloned().collect();
            let rows = stream::iter(mine).map(Ok).boxed();
            Ok::<_, datafusion_common::DataFusionError>(match &kept.rest {
                Some(file) if partition == 0 => rows.chain(stream::iter(file.open()?)).boxed(),
                _ => rows,
            })
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.try_flatten())))
    }
}

/// Computes all rows.
async fn keep(
    input: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    space: SpillSpace,
    spills: Count,
) -> Result<Kept> {
    let memory = MemoryConsumer::new("shared rows").register(context.memory_pool());
    let most = match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(bytes) => bytes / MEMORY_SHARE,
        _ => usize::MAX,
    };
    let input = match input.output_partitioning().partition_count() {
        1 => input,
        _ => Arc::new(CoalescePartitionsExec::new(input)) as _,
    };
    let schema = input.schema();
    let mut rows = input.execute(0, context)?;
    let (mut batches, mut rest) = (Vec::new(), None);
    while let Some(batch) = rows.try_next().await? {
        let batch = compact(&batch)?;
        let bytes = held_bytes(&batch);
        if rest.is_none() && memory.size() + bytes <= most && memory.try_grow(bytes).is_ok() {
            batches.push(batch);
            continue;
        }
        let file = match &mut rest {
            Some(file) => file,
            None => {
                space.counters.add(OperatorCounter::spilled_groups, 1);
                spills.add(1);
                rest.insert(SpillWriter::create(&space, &schema)?)
            }
        };
        file.write(&batch)?;
    }
    let rest = rest.map(SpillWriter::finish).transpose()?;
    Ok(Kept { batches, rest, _memory: memory })
}
