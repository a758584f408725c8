//! Projection: columns as they are and expressions, whose common parts are computed once for each batch.
//!
//! The `ProjectionExec` of DataFusion also works out which orders and equalities of its input hold for its own columns.
//! Nobody asks for that here, since the plan says what is in order, and for a short query it takes as long as the scan.

use super::{
    only,
    plan_methods::{columns_beside_input, no_expressions, own_metrics},
    unordered_like,
};
use crate::expr::{Physical, subexpressions::SharedSubexpressions};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::{
    Result,
    config::ConfigOptions,
    tree_node::{Transformed, TransformedResult, TreeNode},
};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase},
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput},
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use std::{fmt, sync::Arc};

/// The operator.
pub struct ProjectExec {
    /// The expressions over the columns of `input`, for filters that pass.
    exprs: Vec<Physical>,
    input: Arc<dyn ExecutionPlan>,
    steps: Arc<Steps>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

struct Steps {
    shared: SharedSubexpressions,
    /// The expressions over the columns of the input and, behind them, the shared ones.
    exprs: Vec<Physical>,
    output: SchemaRef,
}

impl ProjectExec {
    /// Rows of `outputs`, expressions and their names.
    pub fn new(outputs: Vec<(Physical, String)>, input: Arc<dyn ExecutionPlan>) -> Result<ProjectExec> {
        let schema = input.schema();
        let mut fields = Vec::with_capacity(outputs.len());
        let mut exprs = Vec::with_capacity(outputs.len());
        for (expr, name) in outputs {
            fields.push(Field::new(name, expr.data_type(&schema)?, expr.nullable(&schema)?));
            exprs.push(expr);
        }
        let mut steps = exprs.clone();
        let shared = SharedSubexpressions::take_out(&mut steps, schema.fields().len())?;
        let output = Arc::new(Schema::new(fields));
        Ok(ProjectExec {
            exprs,
            properties: unordered_like(&*input, output.clone()),
            input,
            steps: Arc::new(Steps { shared, exprs: steps, output }),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// A condition over the columns of this operator, over those of its input. `None` if it is about what is computed
    /// here: below, that would be computed for rows which conditions may drop in between, and may fail for these.
    fn below(&self, condition: &Physical) -> Result<Option<Physical>> {
        let mut is_about_input = true;
        let replaced = condition.clone().transform_up(|e| {
            let expr = e.downcast_ref::<Column>().and_then(|column| self.exprs.get(column.index()));
            is_about_input &= expr.is_none_or(|expr| expr.is::<Column>());
            Ok(expr.map_or_else(|| Transformed::no(e.clone()), |expr| Transformed::yes(expr.clone())))
        });
        Ok(Some(replaced.data()?).filter(|_| is_about_input))
    }
}

impl Steps {
    fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let extended = match self.shared.is_empty() {
            true => batch,
            false => &self.shared.extend(batch)?,
        };
        let columns = self.exprs.iter().map(|e| e.evaluate(extended)?.into_array(rows));
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.output.clone(), columns, &options)?)
    }
}

impl DisplayAs for ProjectExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let outputs = self.exprs.iter().zip(self.steps.output.fields());
        let outputs: Vec<String> = outputs.map(|(expr, field)| format!("{expr} as {}", field.name())).collect();
        write!(f, "ProjectExec: {}", outputs.join(", "))
    }
}

impl ExecutionPlan for ProjectExec {
    fn name(&self) -> &str {
        "ProjectExec"
    }

    no_expressions!();
    own_metrics!();
    columns_beside_input!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = only(children)?;
        Ok(Arc::new(ProjectExec {
            exprs: self.exprs.clone(),
            properties: unordered_like(&*input, self.steps.output.clone()),
            input,
            steps: self.steps.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Physical>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // The input has no columns of the names that are computed here, so it is not asked about those that stay.
        let below = parent_filters.iter().map(|filter| Ok(self.below(filter)?.unwrap_or_else(|| filter.clone())));
        let below = below.collect::<Result<Vec<_>>>()?;
        Ok(FilterDescription::new().with_child(ChildFilterDescription::from_child(&below, &self.input)?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let steps = self.steps.clone();
        let batches = input.map(move |batch| {
            let _timer = metrics.elapsed_compute().timer();
            Ok(steps.project(&batch?)?.record_output(&metrics))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
