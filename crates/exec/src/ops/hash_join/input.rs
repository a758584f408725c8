//! An input of DataFusion's join: rows that are in memory or in files, or another operator's in another context.

use crate::ops::{plan_methods::no_expressions, reschedule::reschedule, spill::SpillFile};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use futures::FutureExt;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

enum BuildRows {
    /// Batches by partition. The batches of a partition are removed once they have been read.
    Batches(Vec<Mutex<Vec<RecordBatch>>>),
    Files(Vec<SpillFile>),
    /// An operator that has not begun, with the context that it runs in.
    Below(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
}

/// See the module.
pub struct InputExec {
    rows: BuildRows,
    properties: Arc<PlanProperties>,
}

impl InputExec {
    /// Batches of each partition, which `like` would have delivered. They can be read once.
    pub fn batches(parts: Vec<Vec<RecordBatch>>, like: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let rows = BuildRows::Batches(parts.into_iter().map(Mutex::new).collect());
        Arc::new(InputExec { rows, properties: like.properties().clone() })
    }

    /// Batches in one partition.
    pub fn one(batches: Vec<RecordBatch>, schema: SchemaRef) -> Arc<dyn ExecutionPlan> {
        let rows = BuildRows::Batches(vec![Mutex::new(batches)]);
        Arc::new(InputExec { rows, properties: crate::ops::unordered(schema, 1) })
    }

    /// The rows of files, in one partition.
    pub fn files(files: Vec<SpillFile>, schema: SchemaRef) -> Arc<dyn ExecutionPlan> {
        Arc::new(InputExec { rows: BuildRows::Files(files), properties: crate::ops::unordered(schema, 1) })
    }

    /// Runs an operator in a context of its own.
    pub fn below(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Arc<dyn ExecutionPlan> {
        let properties = plan.properties().clone();
        Arc::new(InputExec { rows: BuildRows::Below(plan, context), properties })
    }
}

impl DisplayAs for InputExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "InputExec: partitions={}", self.properties.partitioning.partition_count())
    }
}

impl ExecutionPlan for InputExec {
    fn name(&self) -> &str {
        "InputExec"
    }

    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        match &self.rows {
            BuildRows::Below(plan, _) => vec![plan],
            _ => Vec::new(),
        }
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        Ok(match &self.rows {
            BuildRows::Batches(parts) => {
                let batches = std::mem::take(&mut *parts[partition].lock());
                let batches = futures::stream::iter(batches.into_iter().map(Ok));
                Box::pin(RecordBatchStreamAdapter::new(schema, batches))
            }
            BuildRows::Files(files) => read(files, schema)?,
            BuildRows::Below(plan, context) => {
                let rows = plan.execute(partition, context.clone())?;
                if plan.properties().partitioning.partition_count() == 1 {
                    return Ok(rows);
                }
                // One partition has made the table that the others wait for.
                let rows = reschedule().map(|()| rows).flatten_stream();
                Box::pin(RecordBatchStreamAdapter::new(schema, rows))
            }
        })
    }
}

/// The rows of files, one file behind the other. Errors are those of the file system.
pub fn read(files: &[SpillFile], schema: SchemaRef) -> Result<SendableRecordBatchStream> {
    let readers = files.iter().map(SpillFile::open).collect::<Result<Vec<_>>>()?;
    let batches = futures::stream::iter(readers.into_iter().flatten());
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}
