//! Window functions over rows that come in the order of their partitions.
//!
//! ```text
//!   rows in order --> blocks.rs     whole partitions, several at a time
//!                     frame.rs      the rows that a function sees, for each row
//!                     position.rs   ROW_NUMBER, RANK .. NTILE, and the rows of LAG, FIRST_VALUE ..
//!                     aggregate.rs  SUM, COUNT .. over frames
//!                     running.rs    ROW_NUMBER, RANK, DENSE_RANK alone, row by row
//! ```
//!
//! A partition is in memory while it is computed. DataFusion's operators keep it there as well, and compute a sliding
//! frame by taking values out of an accumulator, which ours do not allow: exact sums are differences of running sums
//! here, extremes a queue of candidates.

mod aggregate;
mod blocks;
mod frame;
mod position;
mod running;

pub use aggregate::Aggregated;
pub use frame::{PhysicalBound, PhysicalFrame, ValueRange};

use super::{
    only,
    plan_methods::{columns_beside_input, no_expressions},
    unordered,
};
use crate::expr::Physical;
use crate::ops::reschedule::reschedule;
use arrow_array::{
    ArrayRef, RecordBatch, UInt64Array,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_schema::SchemaRef;
use arrow_select::{interleave::interleave, take::take};
use blocks::{Block, Blocks};
use datafusion_common::Result;
use datafusion_execution::{TaskContext, memory_pool::MemoryConsumer};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, coop::cooperative,
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use running::Running;
use std::{fmt, sync::Arc};

/// A function, whose results are a column behind those of the input.
pub enum WindowResult {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(u64),
    /// See [`muster_algebra::WindowFunction::Shifted`]. `default` has the type of `value`.
    Shifted {
        value: Physical,
        offset: u64,
        forward: bool,
        default: Option<Physical>,
    },
    FirstValue(Physical, PhysicalFrame),
    LastValue(Physical, PhysicalFrame),
    NthValue(Physical, u64, PhysicalFrame),
    Aggregate(Aggregated, PhysicalFrame),
}

/// The keys that divide and order the rows, and the results that are computed of them.
pub struct Layout {
    /// Rows are in one partition if these are equal.
    pub partition: Vec<Physical>,
    /// Rows of a partition are peers if these are equal.
    pub peers: Vec<Physical>,
    pub results: Vec<WindowResult>,
    /// Only rows pass of which the result at this position is no greater. All results are places then.
    pub limit: Option<(usize, u64)>,
    /// The input's columns, then the results.
    pub schema: SchemaRef,
}

/// The operator.
pub struct WindowExec {
    input: Arc<dyn ExecutionPlan>,
    layout: Arc<Layout>,
    properties: Arc<PlanProperties>,
}

impl WindowExec {
    /// `input`: one partition of rows in the order of the layout.
    pub fn new(input: Arc<dyn ExecutionPlan>, layout: Arc<Layout>) -> WindowExec {
        let properties = unordered(layout.schema.clone(), 1);
        WindowExec { input, layout, properties }
    }
}

impl DisplayAs for WindowExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WindowExec: functions={}", self.layout.results.len())
    }
}

impl ExecutionPlan for WindowExec {
    fn name(&self) -> &str {
        "WindowExec"
    }

    columns_beside_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(WindowExec::new(only(children)?, self.layout.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        if self.layout.is_running() {
            let mut running = Running::new(self.layout.clone());
            let batches = input.map(move |batch| running.numbered(&batch?));
            let stream = RecordBatchStreamAdapter::new(self.schema(), batches);
            return Ok(Box::pin(cooperative(stream)));
        }
        let memory = MemoryConsumer::new(format!("window[{partition}]")).register(context.memory_pool());
        let batch_rows = context.session_config().batch_size();
        let blocks = Blocks::new(self.layout.clone(), input, memory, batch_rows);
        let layout = self.layout.clone();
        let batches =
            futures::stream::try_unfold((blocks, None, layout), move |(mut blocks, ready, layout)| async move {
                let mut ready: Option<(RecordBatch, usize)> = ready;
                loop {
                    if let Some((batch, at)) = ready.take_if(|(batch, at)| *at < batch.num_rows()) {
                        let rows = batch_rows.min(batch.num_rows() - at);
                        let slice = batch.slice(at, rows);
                        return Ok(Some((slice, (blocks, Some((batch, at + rows)), layout))));
                    }
                    let Some(block) = blocks.next().await? else { return Ok(None) };
                    ready = Some((layout.computed(&block).await?, 0));
                }
            });
        let stream = RecordBatchStreamAdapter::new(self.schema(), Box::pin(batches));
        Ok(Box::pin(cooperative(stream)))
    }
}

impl Layout {
    /// The rows of a block with the results.
    async fn computed(&self, block: &Block) -> Result<RecordBatch> {
        let mut columns = block.rows.columns().to_vec();
        for result in &self.results {
            columns.push(self.result(result, block).await?);
            // Other statements run, and one that is cancelled ends.
            reschedule().await;
        }
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    async fn result(&self, result: &WindowResult, block: &Block) -> Result<ArrayRef> {
        let value = |physical: &Physical| physical.evaluate(&block.rows)?.into_array(block.rows.num_rows());
        Ok(match result {
            WindowResult::RowNumber => position::row_numbers(block),
            WindowResult::Rank => position::ranks(block),
            WindowResult::DenseRank => position::dense_ranks(block),
            WindowResult::PercentRank => position::percent_ranks(block),
            WindowResult::CumeDist => position::cumulative_distributions(block),
            WindowResult::Ntile(buckets) => position::buckets(block, *buckets),
            WindowResult::Shifted { value: shifted, offset, forward, default } => {
                let places = position::shifted(block, *offset, *forward);
                let values = value(shifted)?;
                match default {
                    None => taken(&values, places)?,
                    Some(default) => or_default(&values, &value(default)?, places)?,
                }
            }
            WindowResult::FirstValue(of, frame) => {
                let frames = frame.frames(block)?;
                taken(&value(of)?, frames.iter().map(|f| (!f.is_empty()).then_some(f.start)))?
            }
            WindowResult::LastValue(of, frame) => {
                let frames = frame.frames(block)?;
                taken(&value(of)?, frames.iter().map(|f| (!f.is_empty()).then(|| f.end - 1)))?
            }
            WindowResult::NthValue(of, number, frame) => {
                let frames = frame.frames(block)?;
                let before = usize::try_from(number - 1).unwrap_or(usize::MAX);
                let place = |f: &std::ops::Range<usize>| f.start.checked_add(before).filter(|at| *at < f.end);
                taken(&value(of)?, frames.iter().map(place))?
            }
            WindowResult::Aggregate(aggregated, frame) => {
                let frames = frame.frames(block)?;
                aggregated.results(block, &frames).await?
            }
        })
    }
}

/// Values to be compared: Arrow's comparison puts -0 before 0, which are equal.
fn without_negative_zero(values: ArrayRef) -> ArrayRef {
    if let Some(doubles) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(doubles.unary::<_, Float64Type>(|value| value + 0.0));
    }
    match values.as_primitive_opt::<Float32Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float32Type>(|value| value + 0.0)),
        None => values,
    }
}

/// The values at these rows; NULL where there is none.
fn taken(values: &ArrayRef, places: impl IntoIterator<Item = Option<usize>>) -> Result<ArrayRef> {
    let places: UInt64Array = places.into_iter().map(|at| at.map(|at| at as u64)).collect();
    Ok(take(values, &places, None)?)
}

/// The values at these rows; the row's own default where there is none.
fn or_default(
    values: &ArrayRef,
    defaults: &ArrayRef,
    places: impl IntoIterator<Item = Option<usize>>,
) -> Result<ArrayRef> {
    let places: Vec<(usize, usize)> =
        places.into_iter().enumerate().map(|(row, at)| at.map_or((1, row), |at| (0, at))).collect();
    Ok(interleave(&[values.as_ref(), defaults.as_ref()], &places)?)
}
