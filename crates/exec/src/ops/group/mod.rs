//! GROUP BY: hash aggregation that spills, and aggregation of rows that come in the order of their groups.
//!
//! ```text
//!   rows --> table.rs     groups in memory --> results
//!            keys.rs      which group a row is in: by array (domain.rs, codes.rs) or by hash
//!               | memory is refused (hashed.rs)
//!               v
//!            files of groups, spread by a hash of their keys, which are aggregated one after the other
//!
//!   rows in order --> ordered.rs    groups that end where the next begins
//!   without keys  --> whole.rs      one group of all rows
//! ```

mod codes;
mod domain;
mod hashed;
mod keys;
mod ordered;
mod table;
mod whole;

use super::{
    only,
    plan_methods::{expressions_and_filters_of, own_metrics},
    spill::SpillSpace,
};
use arrow_array::RecordBatch;
use datafusion_common::{Result, internal_err};
use datafusion_execution::{TaskContext, memory_pool::MemoryConsumer};
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
    aggregates::AggregateExec,
    coop::cooperative,
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder},
    stream::RecordBatchStreamAdapter,
};
use futures::Stream;
use hashed::Hashed;
use ordered::Ordered;
use std::{fmt, sync::Arc};
use table::Layout;
use whole::Whole;

/// How groups are found.
#[derive(Debug, Clone)]
pub enum Method {
    Hash(SpillSpace),
    /// The rows of a group come one after the other.
    Order,
    /// All rows are one group, since there are no keys.
    Whole,
}

/// The operator.
pub struct GroupExec {
    /// The aggregation as DataFusion describes it; it is never executed itself.
    plan: Arc<AggregateExec>,
    method: Method,
    layout: Arc<Layout>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupExec {
    /// `plan`: of functions of ours; with keys, unless the method is [`Method::Whole`].
    pub fn new(plan: Arc<AggregateExec>, method: Method) -> Result<GroupExec> {
        let layout = Arc::new(Layout::new(&plan)?);
        Ok(GroupExec { plan, method, layout, metrics: ExecutionPlanMetricsSet::new() })
    }
}

impl DisplayAs for GroupExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let method = match self.method {
            Method::Hash(_) => "by hash",
            Method::Order => "by order",
            Method::Whole => "whole",
        };
        write!(f, "GroupExec: {method}, ")?;
        self.plan.fmt_as(t, f)
    }
}

impl ExecutionPlan for GroupExec {
    fn name(&self) -> &str {
        "GroupExec"
    }

    // Filters over groups decide which groups there are, not what they come to.
    expressions_and_filters_of!(plan);
    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.plan.input()]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let plan = self.plan.clone().replace_children(vec![only(children)?], recompute)?;
        match plan.downcast_ref::<AggregateExec>() {
            Some(plan) => Ok(Arc::new(GroupExec::new(Arc::new(plan.clone()), self.method.clone())?)),
            None => internal_err!("an aggregation became {}", plan.name()),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.plan.input().execute(partition, context.clone())?;
        let memory = MemoryConsumer::new(format!("groups[{partition}]")).with_can_spill(true);
        let memory = memory.register(context.memory_pool());
        let batch_rows = context.session_config().batch_size();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let layout = self.layout.clone();
        match &self.method {
            Method::Hash(space) => {
                let spills = MetricBuilder::new(&self.metrics).spill_count(partition);
                let hashed = Hashed::new(layout, input, space.clone(), memory, batch_rows, spills);
                Ok(self.stream(futures::stream::try_unfold((hashed, metrics), |(mut hashed, metrics)| async {
                    Ok(hashed.next(&metrics).await?.map(|batch| (batch, (hashed, metrics))))
                })))
            }
            Method::Whole => {
                let whole = Whole::new(layout, input, memory)?;
                Ok(self.stream(futures::stream::try_unfold((whole, metrics), |(mut whole, metrics)| async {
                    Ok(whole.next(&metrics).await?.map(|batch| (batch, (whole, metrics))))
                })))
            }
            Method::Order => {
                let ordered = Ordered::new(layout, input, memory, batch_rows)?;
                Ok(self.stream(futures::stream::try_unfold((ordered, metrics), |(mut ordered, metrics)| async {
                    Ok(ordered.next(&metrics).await?.map(|batch| (batch, (ordered, metrics))))
                })))
            }
        }
    }
}

impl GroupExec {
    fn stream(&self, batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static) -> SendableRecordBatchStream {
        let stream = RecordBatchStreamAdapter::new(self.plan.schema(), Box::pin(batches));
        Box::pin(cooperative(stream))
    }
}
