//! Measures what passes: rows, and the time until the first and the last of them.
//!
//! Time runs from when a batch is asked for until it is there, so that what is above is not counted; of several
//! partitions the slowest counts.

use super::{
    only,
    plan_methods::{filters_pass, no_expressions, rows_of_input},
};
use crate::profile::NodeProfile;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::{RecordBatchStream, TaskContext};
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream};
use futures::{Stream, StreamExt};
use muster_algebra::NodeId;
use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Instant,
};

/// Delivers the rows of its input and measures them.
pub struct MeasureExec {
    input: Arc<dyn ExecutionPlan>,
    node: Arc<NodeProfile>,
    run: Arc<MeasuredRun>,
}

/// One run of a node, in all its partitions.
#[derive(Default)]
struct MeasuredRun {
    begun: AtomicBool,
    /// True if a row has come.
    first: AtomicBool,
    /// Nanoseconds of the slowest partition so far.
    last_ns: AtomicU64,
}

impl MeasureExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, node: Arc<NodeProfile>) -> MeasureExec {
        MeasureExec { input, node, run: Arc::default() }
    }

    /// The node that an operator measures, if it is a measurement.
    pub fn node_of(operator: &dyn ExecutionPlan) -> Option<NodeId> {
        operator.downcast_ref::<MeasureExec>().map(|measure| measure.node.id)
    }
}

impl DisplayAs for MeasureExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "MeasureExec")
    }
}

impl ExecutionPlan for MeasureExec {
    fn name(&self) -> &str {
        "MeasureExec"
    }

    rows_of_input!();
    no_expressions!();
    filters_pass!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(MeasureExec { input: only(children)?, node: self.node.clone(), run: self.run.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if !self.run.begun.swap(true, Relaxed) {
            self.node.loops.fetch_add(1, Relaxed);
        }
        let inner = self.input.execute(partition, context)?;
        let (node, run) = (self.node.clone(), self.run.clone());
        Ok(Box::pin(Measured { inner, node, run, asked: None, busy_ns: 0 }))
    }
}

struct Measured {
    inner: SendableRecordBatchStream,
    node: Arc<NodeProfile>,
    run: Arc<MeasuredRun>,
    /// Time at which the next batch was first asked for.
    asked: Option<Instant>,
    busy_ns: u64,
}

impl Stream for Measured {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let asked = *this.asked.get_or_insert_with(Instant::now);
        let Poll::Ready(next) = this.inner.poll_next_unpin(cx) else { return Poll::Pending };
        this.asked = None;
        this.busy_ns += u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let rows = next.as_ref().and_then(|batch| batch.as_ref().ok()).map_or(0, RecordBatch::num_rows);
        this.node.rows.fetch_add(rows as u64, Relaxed);
        if rows > 0 && !this.run.first.swap(true, Relaxed) {
            this.node.first_ns.fetch_add(this.busy_ns, Relaxed);
        }
        let slowest = this.run.last_ns.fetch_max(this.busy_ns, Relaxed);
        this.node.last_ns.fetch_add(this.busy_ns.saturating_sub(slowest), Relaxed);
        Poll::Ready(next)
    }
}

impl RecordBatchStream for Measured {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}
