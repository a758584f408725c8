//! Sort and top-N, within a memory limit.
//!
//! ```text
//!   partition --> sorter.rs --+--> merge.rs --> rows in order
//!   partition --> sorter.rs --+
//!
//!   block.rs    rows with their keys, which compare as bytes      buffer.rs   rows in memory and their order
//!   run.rs      sorted rows on disk                               cutoff.rs   what cannot be among the first rows
//! ```

mod block;
mod buffer;
mod cutoff;
mod merge;
mod run;
mod sorter;
#[cfg(test)]
mod tests;

use super::{only, spill::SpillSpace};
use crate::counters::OperatorCounter;
use arrow_schema::SchemaRef;
use cutoff::Cutoff;
use datafusion_common::{DataFusionError, Result, config::ConfigOptions, tree_node::TreeNodeRecursion};
use datafusion_execution::{TaskContext, memory_pool::MemoryConsumer};
use datafusion_physical_expr::{EquivalenceProperties, LexOrdering, PhysicalSortExpr};
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    SendableRecordBatchStream, apply_expression_roots,
    coop::cooperative,
    execution_plan::{Boundedness, EmissionType, SchedulingType},
    filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase},
    stream::{EmptyRecordBatchStream, RecordBatchStreamAdapter},
};
use futures::TryStreamExt;
use merge::{Delivery, Merge, MergeInput};
use sorter::{Shares, Sorted, Sorter};
use std::{fmt, future::Future, sync::Arc};
use tokio::task::JoinSet;

/// A buffer of rows has room for so many blocks at least.
const BUFFER_BLOCKS: usize = 16;

/// The state that the partitions of a sort share.
struct Sorting {
    schema: SchemaRef,
    keys: Vec<PhysicalSortExpr>,
    limit: Option<usize>,
    cutoff: Option<Cutoff>,
    /// Rows that one partition keeps in memory.
    buffer_bytes: usize,
    space: SpillSpace,
}

/// The operator: the rows of all partitions in one order, or the first of them.
pub struct SortExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    sorting: Arc<Sorting>,
    properties: Arc<PlanProperties>,
}

impl SortExec {
    /// `limit`: so many of the first rows. `buffer_bytes`: of rows that one partition keeps in memory, if the query's
    /// memory has room for them.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        order: LexOrdering,
        limit: Option<usize>,
        buffer_bytes: usize,
        mut space: SpillSpace,
    ) -> SortExec {
        space.block_bytes = space.block_bytes.min((buffer_bytes / BUFFER_BLOCKS).max(1));
        let schema = input.schema();
        let keys = order.to_vec();
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema.clone(), [order.clone()]),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let cutoff = limit.map(|_| Cutoff::new(&keys));
        let sorting = Sorting { schema, limit, cutoff, keys, buffer_bytes, space };
        SortExec { input, order, sorting: Arc::new(sorting), properties: Arc::new(properties) }
    }
}

impl DisplayAs for SortExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SortExec: [{}]", self.order)?;
        match self.sorting.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for SortExec {
    fn name(&self) -> &str {
        "SortExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let filter = self.sorting.cutoff.as_ref().and_then(Cutoff::filter);
        apply_expression_roots(self.sorting.keys.iter().map(|k| &k.expr).chain(&filter), f)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.sorting.cutoff.as_ref().and_then(Cutoff::filter).into_iter().collect()
    }

    /// The cutoff stays: the filter that an input took over belongs to it.
    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(SortExec {
            input: only(children)?,
            order: self.order.clone(),
            sorting: self.sorting.clone(),
            properties: self.properties.clone(),
        }))
    }

    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // Fewer rows would be other first rows.
        let mut below = match self.sorting.limit {
            None => ChildFilterDescription::from_child(&parent_filters, &self.input)?,
            Some(_) => ChildFilterDescription::all_unsupported(&parent_filters),
        };
        if let (FilterPushdownPhase::Post, Some(filter)) =
            (phase, self.sorting.cutoff.as_ref().and_then(Cutoff::filter))
        {
            below = below.with_self_filter(filter);
        }
        Ok(FilterDescription::new().with_child(below))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.sorting.limit == Some(0) {
            return Ok(Box::pin(EmptyRecordBatchStream::new(self.schema())));
        }
        let partitions = 0..self.input.output_partitioning().partition_count();
        let reservations = partitions.clone().map(|partition| {
            let consumer = MemoryConsumer::new(format!("sort[{partition}]")).with_can_spill(true);
            consumer.register(context.memory_pool())
        });
        let shares = Arc::new(Shares::new(reservations.collect(), self.sorting.space.block_bytes));
        let sorters = partitions.map(|partition| {
            let input = self.input.execute(partition, context.clone())?;
            Ok(Sorter::new(self.sorting.clone(), shares.clone(), partition)?.sort(input))
        });
        let sorters: Vec<_> = sorters.collect::<Result<_>>()?;
        let sorting = self.sorting.clone();
        let sorted = async move {
            let (mut sources, mut memory) = (Vec::new(), Vec::new());
            for part in all(sorters).await? {
                sources.extend(part.sources);
                memory.push(part.memory);
            }
            let counters = sorting.space.counters.clone();
            if sources.iter().any(|source| matches!(source, MergeInput::Run(_))) {
                counters.add(OperatorCounter::merge_passes, 1);
            }
            let delivery = Delivery::new(sorting.space.block_bytes, false);
            let mut merge = Merge::new(sorting.schema.clone(), sources, sorting.limit, delivery)?;
            let batches = std::iter::from_fn(move || {
                let _held = &memory;
                let next = merge.next().transpose()?.map(|(batch, _)| batch);
                next.iter().for_each(|batch| counters.add(OperatorCounter::sorted_rows, batch.num_rows() as u64));
                Some(next)
            });
            let batches = RecordBatchStreamAdapter::new(sorting.schema.clone(), futures::stream::iter(batches));
            Ok::<_, DataFusionError>(cooperative(batches))
        };
        let stream = futures::stream::once(sorted).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// The results of all, which run side by side; the first error ends the others.
async fn all(mut sorters: Vec<impl Future<Output = Result<Sorted>> + Send + 'static>) -> Result<Vec<Sorted>> {
    if sorters.len() == 1
        && let Some(only) = sorters.pop()
    {
        return Ok(vec![only.await?]);
    }
    let mut tasks = JoinSet::new();
    sorters.into_iter().for_each(|sorter| {
        tasks.spawn(sorter);
    });
    let mut results = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        match joined {
            Ok(result) => results.push(result?),
            Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
            Err(e) => return Err(DataFusionError::External(Box::new(e))),
        }
    }
    Ok(results)
}
