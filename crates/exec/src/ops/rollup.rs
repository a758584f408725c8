//! Copies of rows for the levels of a rollup, batch by batch: of each row one with all keys, one without the last key,
//! and so on down to one without any. What has no key at a level is NULL there.

use super::{only, plan_methods::no_expressions, unordered_like};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, new_null_array};
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use std::{fmt, sync::Arc};

/// The operator.
pub struct RollupExec {
    input: Arc<dyn ExecutionPlan>,
    layout: Arc<Layout>,
    properties: Arc<PlanProperties>,
}

struct Layout {
    /// Positions of the keys among the columns of the input.
    keys: Vec<usize>,
    /// The columns of the input, the keys, the level.
    schema: SchemaRef,
}

impl RollupExec {
    /// `keys`: positions among the columns of the input. `schema`: these columns, the keys, and the level (Int64).
    pub fn new(input: Arc<dyn ExecutionPlan>, keys: Vec<usize>, schema: SchemaRef) -> RollupExec {
        RollupExec::of_layout(input, Arc::new(Layout { keys, schema }))
    }

    fn of_layout(input: Arc<dyn ExecutionPlan>, layout: Arc<Layout>) -> RollupExec {
        let properties = unordered_like(input.as_ref(), layout.schema.clone());
        RollupExec { input, layout, properties }
    }
}

impl Layout {
    /// The copies of a batch at a level, which has so many of the keys.
    fn copy(&self, batch: &RecordBatch, level: usize) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        for (position, key) in self.keys.iter().enumerate() {
            let values = batch.column(*key);
            columns.push(match position < level {
                true => values.clone(),
                false => new_null_array(values.data_type(), rows),
            });
        }
        columns.push(Arc::new(Int64Array::from_value(level as i64, rows)));
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl DisplayAs for RollupExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "RollupExec: keys={}", self.layout.keys.len())
    }
}

impl ExecutionPlan for RollupExec {
    fn name(&self) -> &str {
        "RollupExec"
    }

    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(RollupExec::of_layout(only(children)?, self.layout.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let layout = self.layout.clone();
        let batches = input.flat_map(move |batch| {
            let layout = layout.clone();
            let levels = (0..=layout.keys.len()).rev();
            let copies: Vec<Result<RecordBatch>> = match batch {
                Ok(batch) => levels.map(|level| layout.copy(&batch, level)).collect(),
                Err(error) => vec![Err(error)],
            };
            futures::stream::iter(copies)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
