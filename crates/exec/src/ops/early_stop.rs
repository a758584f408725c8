//! The first rows in the order of an index, from a scan that has a budget, and the rest of them from another plan if
//! the scan exceeds it.
//!
//! The scan asks its [`ScanWatch`] before it reads on. What it has delivered by then are the first rows of the order,
//! which is total; the other plan has the same order and reads with the same view, so as many of its rows are left out.

use super::{
    plan_methods::{no_expressions, own_metrics},
    unordered,
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_execution::{RecordBatchStream, TaskContext};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder},
};
use futures::{Stream, StreamExt};
use muster_algebra::ScanBudget;
use muster_storage::Counters;
use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

/// The name of the metric that counts the runs that went over to the fallback.
pub const FALLBACKS: &str = "fallbacks";

/// Watches what a scan reads.
pub struct ScanWatch {
    budget: ScanBudget,
    /// Counts for the scan alone.
    counters: Arc<Counters>,
    /// True if the scan was ended before it had all rows.
    exceeded: AtomicBool,
}

impl ScanWatch {
    /// `parent`: what the scan would count in without a watch.
    pub fn new(budget: ScanBudget, parent: &Arc<Counters>) -> Arc<ScanWatch> {
        let counters = Arc::new(Counters::with_parent(parent.clone()));
        Arc::new(ScanWatch { budget, counters, exceeded: AtomicBool::new(false) })
    }

    /// The counters that the scan has to use.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Returns true if the budget is spent, which ends the scan.
    pub fn ends_scan(&self) -> bool {
        let entries = self.counters.entries_forward() + self.counters.entries_backward();
        let spent_ms = self.budget.spent_ms(entries, self.counters.rows_fetched(), self.counters.pages_read());
        let is_spent = spent_ms > self.budget.cost_ms;
        if is_spent {
            self.exceeded.store(true, Relaxed);
        }
        is_spent
    }
}

/// The operator.
pub struct EarlyStopExec {
    input: Arc<dyn ExecutionPlan>,
    fallback: Arc<dyn ExecutionPlan>,
    watch: Arc<ScanWatch>,
    /// Rows that are wanted.
    limit: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl EarlyStopExec {
    /// `watch`: of the scan that `input` is. Both inputs have the same columns in one partition.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        fallback: Arc<dyn ExecutionPlan>,
        watch: Arc<ScanWatch>,
        limit: usize,
    ) -> EarlyStopExec {
        let properties = unordered(input.schema(), 1);
        EarlyStopExec { input, fallback, watch, limit, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for EarlyStopExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "EarlyStopExec: limit={}, budget={} ms", self.limit, self.watch.budget.cost_ms)
    }
}

impl ExecutionPlan for EarlyStopExec {
    fn name(&self) -> &str {
        "EarlyStopExec"
    }

    own_metrics!();
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input, &self.fallback]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let [input, fallback] = <[_; 2]>::try_from(children)
            .map_err(|_| internal_datafusion_err!("an early stop without its two inputs"))?;
        Ok(Arc::new(EarlyStopExec::new(input, fallback, self.watch.clone(), self.limit)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let stage = Stage::Scan(self.input.execute(partition, context.clone())?);
        Ok(Box::pin(EarlyStop {
            stage,
            fallback: self.fallback.clone(),
            watch: self.watch.clone(),
            delivered: 0,
            limit: self.limit,
            schema: self.schema(),
            context,
            fallbacks: MetricBuilder::new(&self.metrics).counter(FALLBACKS, partition),
        }))
    }
}

enum Stage {
    Scan(SendableRecordBatchStream),
    Fallback {
        rows: SendableRecordBatchStream,
        /// Rows that the scan has delivered and that have not yet come again.
        again: usize,
    },
    Done,
}

struct EarlyStop {
    stage: Stage,
    fallback: Arc<dyn ExecutionPlan>,
    watch: Arc<ScanWatch>,
    delivered: usize,
    limit: usize,
    schema: SchemaRef,
    context: Arc<TaskContext>,
    fallbacks: Count,
}

impl EarlyStop {
    /// What comes after the scan has ended.
    fn after_scan(&mut self) -> Result<Stage> {
        if self.delivered >= self.limit || !self.watch.exceeded.load(Relaxed) {
            return Ok(Stage::Done);
        }
        self.fallbacks.add(1);
        Ok(Stage::Fallback { rows: self.fallback.execute(0, self.context.clone())?, again: self.delivered })
    }

    fn of_schema(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)?)
    }
}

impl Stream for EarlyStop {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match &mut this.stage {
                Stage::Scan(rows) => match ready!(rows.poll_next_unpin(cx)) {
                    Some(Ok(batch)) => {
                        this.delivered += batch.num_rows();
                        return Poll::Ready(Some(Ok(batch)));
                    }
                    Some(Err(e)) => {
                        this.stage = Stage::Done;
                        return Poll::Ready(Some(Err(e)));
                    }
                    None => {
                        // What the scan holds is given back before the other plan begins.
                        this.stage = Stage::Done;
                        this.stage = this.after_scan()?;
                    }
                },
                Stage::Fallback { rows, again } => match ready!(rows.poll_next_unpin(cx)) {
                    Some(Ok(batch)) => {
                        let left_out = batch.num_rows().min(*again);
                        *again -= left_out;
                        if left_out < batch.num_rows() {
                            let rest = batch.slice(left_out, batch.num_rows() - left_out);
                            return Poll::Ready(Some(this.of_schema(&rest)));
                        }
                    }
                    other => {
                        this.stage = Stage::Done;
                        return Poll::Ready(other);
                    }
                },
                Stage::Done => return Poll::Ready(None),
            }
        }
    }
}

impl RecordBatchStream for EarlyStop {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
