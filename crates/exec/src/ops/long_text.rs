//! Long texts that functions make, as further columns of the rows they are made of.
//!
//! A batch of the input leaves in pieces: of as many rows as have texts of so many bytes, of at least one. The texts of
//! a piece are accounted for until the next one is asked for; whoever keeps it accounts for it from then on.

use super::{
    only,
    plan_methods::{columns_beside_input, no_expressions},
};
use crate::expr::{Physical, rowwise::RowWise};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::{
    SendableRecordBatchStream, TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    stream::RecordBatchStreamAdapter,
};
use futures::TryStreamExt;
use std::{fmt, sync::Arc};

/// A text, over arguments of one batch.
#[derive(Clone)]
pub struct LongText {
    pub rows: Arc<RowWise>,
    pub args: Vec<Physical>,
}

/// The operator: its input's columns and then the texts.
pub struct LongTextExec {
    input: Arc<dyn ExecutionPlan>,
    texts: Vec<LongText>,
    /// The bytes that the texts of one piece may take.
    piece_bytes: usize,
    properties: Arc<PlanProperties>,
}

impl LongTextExec {
    /// `schema`: the input's with the texts behind it.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        texts: Vec<LongText>,
        piece_bytes: usize,
    ) -> LongTextExec {
        let mut properties = PlanProperties::clone(input.properties());
        properties.partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
        properties.eq_properties = EquivalenceProperties::new(schema);
        LongTextExec { input, texts, piece_bytes, properties: Arc::new(properties) }
    }
}

impl fmt::Debug for LongTextExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for LongTextExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LongTextExec: {} texts, {} bytes at a time", self.texts.len(), self.piece_bytes)
    }
}

impl ExecutionPlan for LongTextExec {
    fn name(&self) -> &str {
        "LongTextExec"
    }

    columns_beside_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(LongTextExec::new(only(children)?, self.schema(), self.texts.clone(), self.piece_bytes)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let pieces = Pieces {
            input: self.input.execute(partition, context.clone())?,
            texts: self.texts.clone(),
            piece_bytes: self.piece_bytes,
            memory: MemoryConsumer::new("text").register(context.memory_pool()),
            schema: self.schema(),
            current: None,
        };
        let stream = futures::stream::try_unfold(pieces, |mut pieces| async move {
            Ok(pieces.next().await?.map(|piece| (piece, pieces)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

struct Pieces {
    input: SendableRecordBatchStream,
    texts: Vec<LongText>,
    piece_bytes: usize,
    /// The memory that the last piece takes.
    memory: MemoryReservation,
    schema: SchemaRef,
    current: Option<Current>,
}

/// A batch of the input, of which some rows have left.
struct Current {
    batch: RecordBatch,
    /// The arguments of each text.
    args: Vec<Vec<ArrayRef>>,
    done: usize,
}

impl Pieces {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.memory.free();
            if let Some(current) = &mut self.current
                && current.done < current.batch.num_rows()
            {
                return current.piece(&self.texts, self.piece_bytes, &self.memory, &self.schema).map(Some);
            }
            self.current = match self.input.try_next().await? {
                Some(batch) => Some(Current::new(batch, &self.texts)?),
                None => return Ok(None),
            };
        }
    }
}

impl Current {
    fn new(batch: RecordBatch, texts: &[LongText]) -> Result<Current> {
        let of_text = |text: &LongText| {
            text.args.iter().map(|arg| arg.evaluate(&batch)?.into_array(batch.num_rows())).collect::<Result<_>>()
        };
        let args = texts.iter().map(of_text).collect::<Result<_>>()?;
        Ok(Current { batch, args, done: 0 })
    }

    fn piece(
        &mut self,
        texts: &[LongText],
        bytes: usize,
        memory: &MemoryReservation,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let mut rows = self.batch.num_rows() - self.done;
        let mut made: Vec<ArrayRef> = Vec::with_capacity(texts.len());
        for (text, args) in texts.iter().zip(&self.args) {
            let array = text.rows.some(args, self.done..self.done + rows, bytes, memory)?;
            rows = array.len();
            made.push(array);
        }
        let columns = self.batch.slice(self.done, rows).columns().to_vec();
        let columns = columns.into_iter().chain(made.iter().map(|array| array.slice(0, rows))).collect();
        self.done += rows;
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}
