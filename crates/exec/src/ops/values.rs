//! Rows that are in memory already: VALUES, SELECT without FROM, information_schema.

use super::{
    plan_methods::{no_expressions, no_inputs},
    unordered,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, coop::cooperative,
    memory::MemoryStream,
};
use std::{fmt, sync::Arc};

/// Yields its batches, all in the first partition, so that they keep their order.
pub struct ValuesExec {
    batches: Vec<RecordBatch>,
    properties: Arc<PlanProperties>,
}

impl ValuesExec {
    /// Delivers the batches in the first partition; the others are empty.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>, partitions: usize) -> ValuesExec {
        ValuesExec { batches, properties: unordered(schema, partitions) }
    }
}

impl DisplayAs for ValuesExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ValuesExec: rows={}", self.batches.iter().map(RecordBatch::num_rows).sum::<usize>())
    }
}

impl ExecutionPlan for ValuesExec {
    fn name(&self) -> &str {
        "ValuesExec"
    }

    no_expressions!();
    no_inputs!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = if partition == 0 { self.batches.clone() } else { Vec::new() };
        let stream = MemoryStream::try_new(batches, self.schema(), None)?;
        Ok(Box::pin(cooperative(stream)))
    }
}
