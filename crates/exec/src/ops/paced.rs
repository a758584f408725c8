//! A nested loop join compares each batch of its streamed input with all rows that it keeps, in one go. It gets small
//! batches here, and a pause after each: other statements run, and one that is cancelled ends.

use super::{
    only,
    plan_methods::{no_expressions, rows_of_input},
};
use crate::ops::reschedule::reschedule;
use arrow_array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream, stream::RecordBatchStreamAdapter,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use std::{fmt, sync::Arc};

/// Pairs of rows that are compared between two pauses, if as many rows are kept as was estimated: some ten
/// milliseconds.
const PAIRS: f64 = 4e6;
/// Most rows of a batch: many kept rows are then compared at once with each batch.
const ROWS_MAX: f64 = 512.0;

/// Delivers the rows of its input in small batches.
pub struct PacedExec {
    input: Arc<dyn ExecutionPlan>,
    rows: usize,
}

impl PacedExec {
    /// `kept_rows`: rows that each row is compared with, by estimate.
    pub fn new(input: Arc<dyn ExecutionPlan>, kept_rows: f64) -> PacedExec {
        PacedExec { input, rows: (PAIRS / kept_rows.max(1.0)).clamp(1.0, ROWS_MAX) as usize }
    }
}

impl DisplayAs for PacedExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "PacedExec: rows={}", self.rows)
    }
}

impl ExecutionPlan for PacedExec {
    fn name(&self) -> &str {
        "PacedExec"
    }

    rows_of_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PacedExec { input: only(children)?, rows: self.rows }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.rows;
        let batches = self.input.execute(partition, context)?;
        let paced = slices(batches, rows).then(|slice| async {
            reschedule().await;
            slice
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), paced)))
    }
}

/// The same rows in batches of at most so many.
pub(super) fn slices(batches: SendableRecordBatchStream, rows: usize) -> impl Stream<Item = Result<RecordBatch>> {
    let slices = batches.map_ok(move |batch| {
        let starts = (0..batch.num_rows()).step_by(rows);
        stream::iter(starts.map(move |at| Ok(batch.slice(at, rows.min(batch.num_rows() - at)))))
    });
    slices.try_flatten()
}
