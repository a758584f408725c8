//! The partitions of its input one after the other, as one: the rows of a UNION in the order of its queries.

use super::{only, plan_methods::no_expressions, unordered};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::{fmt, sync::Arc};

/// The operator. A partition runs when the rows before it have been read, and never if nobody reads so far.
pub struct ConcatenateExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ConcatenateExec {
    pub fn new(input: Arc<dyn ExecutionPlan>) -> ConcatenateExec {
        let properties = unordered(input.schema(), 1);
        ConcatenateExec { input, properties }
    }
}

impl DisplayAs for ConcatenateExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ConcatenateExec")
    }
}

impl ExecutionPlan for ConcatenateExec {
    fn name(&self) -> &str {
        "ConcatenateExec"
    }

    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ConcatenateExec::new(only(children)?)))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.clone();
        let partitions = stream::iter(0..input.output_partitioning().partition_count());
        let rows = partitions.map(move |partition| input.execute(partition, context.clone())).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
