//! Projection whose expressions have parts in common, which are computed once for each batch.

use super::{
    only,
    plan_methods::{expressions_and_filters_of, own_metrics},
};
use crate::expr::{Physical, subexpressions::SharedSubexpressions};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion_common::{Result, internal_err};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput},
    projection::ProjectionExec,
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use std::{fmt, sync::Arc};

/// The operator.
pub struct ProjectExec {
    /// The projection as DataFusion describes it; it is never executed itself.
    plan: Arc<ProjectionExec>,
    steps: Arc<Steps>,
    metrics: ExecutionPlanMetricsSet,
}

struct Steps {
    shared: SharedSubexpressions,
    exprs: Vec<Physical>,
    output: SchemaRef,
}

impl ProjectExec {
    /// The projection as it is, if its expressions have nothing in common.
    pub fn build(plan: ProjectionExec) -> Result<Arc<dyn ExecutionPlan>> {
        let mut exprs: Vec<Physical> = plan.expr().iter().map(|e| e.expr.clone()).collect();
        let shared = SharedSubexpressions::take_out(&mut exprs, plan.input().schema().fields().len())?;
        if shared.is_empty() {
            return Ok(Arc::new(plan));
        }
        let steps = Arc::new(Steps { shared, exprs, output: plan.schema() });
        Ok(Arc::new(ProjectExec { plan: Arc::new(plan), steps, metrics: ExecutionPlanMetricsSet::new() }))
    }
}

impl Steps {
    fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let extended = self.shared.extend(batch)?;
        let columns = self.exprs.iter().map(|e| e.evaluate(&extended)?.into_array(rows));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.output.clone(), columns, &options)?)
    }
}

impl DisplayAs for ProjectExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ProjectExec: ")?;
        self.plan.fmt_as(t, f)
    }
}

impl ExecutionPlan for ProjectExec {
    fn name(&self) -> &str {
        "ProjectExec"
    }

    expressions_and_filters_of!(plan);
    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.plan.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.plan.input()]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let plan = self.plan.clone().replace_children(vec![only(children)?], recompute)?;
        match plan.downcast_ref::<ProjectionExec>() {
            Some(plan) => ProjectExec::build(plan.clone()),
            None => internal_err!("a projection became {}", plan.name()),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.plan.input().execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let steps = self.steps.clone();
        let batches = input.map(move |batch| {
            let _timer = metrics.elapsed_compute().timer();
            Ok(steps.project(&batch?)?.record_output(&metrics))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
