//! Hash join within a memory limit: a grace hash join around DataFusion's, which keeps its whole build side in memory.
//!
//! ```text
//!   build side --> build.rs --+-- fits -------------> DataFusion's join, as planned
//!                             |
//!                             +-- does not: to files, spread by a hash of the keys
//!   probe side -------------------> to files, spread likewise --> grace.rs: DataFusion's join of two files at a time
//!
//!   input.rs          rows that are in memory, in files or below, as an input of DataFusion's join
//!   probe_filter.rs   what the keys of a build side say of the probe side: their bounds, and which they are, as
//!                     key_bits.rs (a bitmap) or bloom.rs (a Bloom filter)
//! ```
//!
//! Files whose build side still does not fit are spread again. Where that does not help, since many rows have one key,
//! the side that is preserved is read in blocks that fit, and the other side is read again for each: so no join fails
//! for lack of memory.

mod bloom;
mod build;
mod grace;
mod input;
mod key_bits;
mod probe_filter;
#[cfg(test)]
mod side_by_side_tests;

use super::{
    plan_methods::{expressions_and_filters_of, own_metrics},
    reschedule::reschedule,
    scan::ROWS_DROPPED,
    spill::SpillSpace,
    unordered,
};
use crate::{expr::Physical, runtime::KEY_ARRAY_DENSITY};
use arrow_array::{ArrayRef, RecordBatch};
use build::{Build, Built};
use datafusion_common::{
    DataFusionError, JoinType, Result,
    config::ConfigOptions,
    internal_err,
    tree_node::{TreeNode, TreeNodeRecursion},
};
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, UnboundedMemoryPool},
    runtime_env::RuntimeEnvBuilder,
};
use datafusion_physical_expr::{PhysicalExpr, expressions::DynamicFilterPhysicalExpr};
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
    coop::cooperative,
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation},
    joins::HashJoinExec,
    metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput},
    stream::RecordBatchStreamAdapter,
};
use futures::{
    FutureExt, TryStreamExt,
    future::{BoxFuture, Shared},
};
use grace::Grace;
pub use input::InputExec;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

/// The build side, for all partitions of the probe side.
type Pending = Shared<BoxFuture<'static, Result<Arc<Built>, Arc<DataFusionError>>>>;

/// The build side until all partitions of the probe side have it.
#[derive(Default)]
struct Started {
    build: Option<Pending>,
    partitions: usize,
}

/// The operator. It can be executed once.
pub struct GraceJoinExec {
    /// The join as DataFusion would do it: left is the build side.
    join: Arc<HashJoinExec>,
    space: SpillSpace,
    properties: Arc<PlanProperties>,
    started: Mutex<Started>,
    metrics: ExecutionPlanMetricsSet,
}

impl GraceJoinExec {
    pub fn new(join: Arc<HashJoinExec>, space: SpillSpace) -> GraceJoinExec {
        let properties = unordered(join.schema(), join.properties().partitioning.partition_count());
        GraceJoinExec { join, space, properties, started: Mutex::default(), metrics: ExecutionPlanMetricsSet::new() }
    }

    fn around(&self, join: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        match join.downcast_ref::<HashJoinExec>() {
            Some(join) => Ok(Arc::new(GraceJoinExec::new(Arc::new(join.builder().build()?), self.space.clone()))),
            None => internal_err!("a hash join became {}", join.name()),
        }
    }

    fn pending(&self, context: &Arc<TaskContext>) -> Result<Pending> {
        let mut started = self.started.lock();
        started.partitions += 1;
        let last = started.partitions == self.properties.partitioning.partition_count();
        if let Some(build) = started.build.take() {
            if !last {
                started.build = Some(build.clone());
            }
            return Ok(build);
        }
        let kernel = Kernel::new(self.join.clone(), self.space.clone(), context.clone(), &self.metrics)?;
        let kernel = Arc::new(kernel);
        let parts = (0..self.join.left().output_partitioning().partition_count()).map(|part| {
            let consumer = MemoryConsumer::new(format!("join build[{part}]")).with_can_spill(true);
            Ok((self.join.left().execute(part, context.clone())?, consumer.register(context.memory_pool())))
        });
        let build = Build::new(kernel, parts.collect::<Result<_>>()?).run().boxed().shared();
        if !last {
            started.build = Some(build.clone());
        }
        Ok(build)
    }
}

/// The description of a join that all of its parts need.
struct Kernel {
    join: Arc<HashJoinExec>,
    /// The keys of both sides.
    keys: [Vec<Physical>; 2],
    /// The filter for whoever reads the probe side, if somebody tests it and rows without partners do not matter.
    published: Option<Arc<DynamicFilterPhysicalExpr>>,
    space: SpillSpace,
    context: Arc<TaskContext>,
    /// The task's context without a memory limit, since what DataFusion's join takes has been reserved before.
    unlimited: Arc<TaskContext>,
    /// Number of times that a side or a part of one was written to disk.
    spills: Count,
    /// Rows of the probe side that did not have to, since they have no partners.
    dropped: Count,
}

impl Kernel {
    fn new(
        join: Arc<HashJoinExec>,
        space: SpillSpace,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Kernel> {
        let env = RuntimeEnvBuilder::from_runtime_env(&context.runtime_env());
        let env = env.with_memory_pool(Arc::new(UnboundedMemoryPool::default())).build_arc()?;
        let config = context.session_config().clone();
        let unlimited = Arc::new(TaskContext::default().with_session_config(config).with_runtime(env));
        let (left, right) = join.on().iter().cloned().unzip();
        let spills = MetricBuilder::new(metrics).spill_count(0);
        let dropped = MetricBuilder::new(metrics).counter(ROWS_DROPPED, 0);
        let published = match rows_need_partners(&join) {
            true => tested_filter(&join)?,
            false => None,
        };
        Ok(Kernel { join, keys: [left, right], published, space, context, unlimited, spills, dropped })
    }

    /// See [`rows_need_partners`].
    fn probe_rows_need_partners(&self) -> bool {
        rows_need_partners(&self.join)
    }

    /// Values of the keys of a side, the build side being 0.
    fn key_values(&self, side: usize, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.keys[side].iter().map(|k| k.evaluate(batch)?.into_array(batch.num_rows())).collect()
    }
}

/// Memory that DataFusion's join takes for a build side: its rows, and a table of hashes and places, or an array of
/// places by key; for each row the next one of its hash, and a bit.
fn build_bytes(row_bytes: usize, rows: usize) -> usize {
    const BUCKET_BYTES: usize = 17;
    let array_bytes = (rows as f64 / KEY_ARRAY_DENSITY) as usize * size_of::<u32>();
    let table_bytes = (rows * 8 / 7 + 1).next_power_of_two() * BUCKET_BYTES;
    row_bytes + array_bytes.max(table_bytes) + rows * (size_of::<u32>() + 1)
}

/// While the table is built, the rows are there twice: as they came and put together.
fn building_bytes(row_bytes: usize, rows: usize) -> usize {
    row_bytes + build_bytes(row_bytes, rows)
}

impl DisplayAs for GraceJoinExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "GraceJoinExec: ")?;
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for GraceJoinExec {
    fn name(&self) -> &str {
        "GraceJoinExec"
    }

    expressions_and_filters_of!(join);
    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.join.children()
    }

    fn dynamic_expressions_produced(&self) -> Vec<Physical> {
        self.join.dynamic_expressions_produced()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.around(self.join.clone().replace_children(children, recompute)?)
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let mut result = self.join.handle_child_pushdown_result(phase, result, config)?;
        result.updated_node = result.updated_node.map(|join| self.around(join)).transpose()?;
        Ok(result)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let pending = self.pending(&context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let partitions = self.properties.partitioning.partition_count();
        let joined = async move {
            let built = pending.await.map_err(DataFusionError::Shared)?;
            if partitions > 1 {
                reschedule().await;
            }
            match &*built {
                Built::InMemory(build) => build.join(partition),
                Built::OnDisk(grace) => Grace::join(grace.clone(), partition).await,
            }
        };
        let rows = futures::stream::once(joined).try_flatten().inspect_ok(move |batch| {
            batch.record_output(&metrics);
        });
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(self.schema(), Box::pin(rows)))))
    }
}

/// Returns true if rows of the probe side without a partner do not matter, neither for themselves nor for others.
fn rows_need_partners(join: &HashJoinExec) -> bool {
    let join_type = *join.join_type();
    !join.null_aware && (!preserves_probe(join_type) || join_type == JoinType::RightSemi)
}

/// The filter that a join has for its probe side, if some operator below tests it.
fn tested_filter(join: &HashJoinExec) -> Result<Option<Arc<DynamicFilterPhysicalExpr>>> {
    let produced = join.dynamic_expressions_produced().into_iter().next();
    let filter = produced.and_then(|filter| Arc::downcast::<DynamicFilterPhysicalExpr>(filter).ok());
    let Some(filter) = filter else { return Ok(None) };
    let mut tested = false;
    join.right().apply(|operator| {
        operator.apply_expressions(&mut |expr| {
            expr.apply(|part| {
                tested |= part.expression_id().is_some_and(|id| filter.expression_id() == Some(id));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(tested.then_some(filter))
}

/// Returns true for an outer, semi or anti join that delivers rows of the build side.
fn preserves_build(join_type: JoinType) -> bool {
    matches!(join_type, JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti)
}

/// Returns true for an outer, semi or anti join that delivers rows of the probe side.
fn preserves_probe(join_type: JoinType) -> bool {
    matches!(join_type, JoinType::Right | JoinType::RightSemi | JoinType::RightAnti)
}
