//! The rows of its input in batches of one row each, for expressions whose values for a row depend on those for the
//! rows before it: `@n := @n + 1`.

use super::{
    only,
    paced::slices,
    plan_methods::{no_expressions, rows_of_input},
};
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream, stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use std::{fmt, sync::Arc};

/// The operator.
pub struct SingleRowsExec {
    input: Arc<dyn ExecutionPlan>,
}

impl SingleRowsExec {
    pub fn new(input: Arc<dyn ExecutionPlan>) -> SingleRowsExec {
        SingleRowsExec { input }
    }
}

impl DisplayAs for SingleRowsExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SingleRowsExec")
    }
}

impl ExecutionPlan for SingleRowsExec {
    fn name(&self) -> &str {
        "SingleRowsExec"
    }

    no_expressions!();
    rows_of_input!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(SingleRowsExec::new(only(children)?)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = self.input.execute(partition, context)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), slices(batches, 1).boxed())))
    }
}
