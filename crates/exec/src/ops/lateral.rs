//! The dependent join: for each row of the input the rows that a subquery has for it (LATERAL).
//!
//! The subquery runs once for each combination of the values that it depends on, with those values in place of the
//! columns. Small answers are kept for later rows. Rows are delivered as the subquery makes them, so that neither its
//! size nor the number of rows takes memory.

use super::{
    apply::SubplanColumn,
    only,
    plan_methods::{columns_beside_input, no_expressions},
    unordered_like,
};
use crate::{ExecContext, RowStream, arrow_value, bind::bind, error::external, runtime::BATCH_ROWS};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::SchemaRef;
use arrow_select::{concat::concat, take::take};
use datafusion_common::Result;
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    stream::RecordBatchStreamAdapter,
};
use futures::{StreamExt, TryStreamExt, stream};
use muster_algebra::Expr;
use std::{collections::HashMap, fmt, sync::Arc};

/// Answers that are kept.
const CACHE_ENTRIES: usize = 16_384;
/// Rows of an answer that is kept.
const CACHED_ROWS_MAX: usize = 256;

/// The operator: the columns of its input, then those of the subquery.
pub struct LateralExec {
    input: Arc<dyn ExecutionPlan>,
    subplan: Arc<SubplanColumn>,
    keeps: bool,
    properties: Arc<PlanProperties>,
}

impl LateralExec {
    /// `keeps`: rows without an answer stay, with NULLs.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        subplan: impl Into<Arc<SubplanColumn>>,
        keeps: bool,
    ) -> LateralExec {
        let properties = unordered_like(&*input, schema);
        LateralExec { input, subplan: subplan.into(), keeps, properties }
    }
}

impl DisplayAs for LateralExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LateralExec: subquery of {} parameters", self.subplan.params.len())
    }
}

impl ExecutionPlan for LateralExec {
    fn name(&self) -> &str {
        "LateralExec"
    }

    columns_beside_input!();
    no_expressions!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(LateralExec::new(only(children)?, self.schema(), self.subplan.clone(), self.keeps)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let join = DependentJoin {
            input: self.input.execute(partition, context.clone())?,
            subplan: self.subplan.clone(),
            keeps: self.keeps,
            schema: self.schema(),
            outer: None,
            running: None,
            pieces: Vec::new(),
            waiting_rows: 0,
            answers: HashMap::new(),
            memory: MemoryConsumer::new("dependent join").register(context.memory_pool()),
        };
        let rows =
            stream::try_unfold(join, |mut join| async move { Ok(join.next().await?.map(|batch| (batch, join))) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.boxed())))
    }
}

/// A batch of the input, and the row that is next.
struct Outer {
    batch: RecordBatch,
    /// The values that the subquery depends on; `None` if there are none.
    keys: Option<Rows>,
    row: usize,
}

impl Outer {
    /// The values that the subquery depends on in the row that is next.
    fn key(&self) -> Box<[u8]> {
        self.keys.as_ref().map_or_else(Box::default, |keys| keys.row(self.row).data().into())
    }
}

/// The subquery's run for the row that is next.
struct Running {
    rows: RowStream,
    /// The rows delivered so far, if they may be kept.
    kept: Option<Vec<RecordBatch>>,
    count: usize,
}

/// Rows of the subquery for one row of the input; `None` for the NULLs of a row without any.
struct Piece {
    row: u32,
    found: Option<RecordBatch>,
}

struct DependentJoin {
    input: SendableRecordBatchStream,
    subplan: Arc<SubplanColumn>,
    keeps: bool,
    schema: SchemaRef,
    outer: Option<Outer>,
    running: Option<Running>,
    /// The rows of the batch at hand that wait to be delivered.
    pieces: Vec<Piece>,
    waiting_rows: usize,
    answers: HashMap<Box<[u8]>, Arc<Vec<RecordBatch>>>,
    memory: MemoryReservation,
}

impl DependentJoin {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.waiting_rows >= BATCH_ROWS {
                return self.deliver();
            }
            if let Some(running) = &mut self.running {
                match running.rows.try_next().await.map_err(external)? {
                    Some(batch) => self.add_found(batch),
                    None => self.end_run(),
                }
                continue;
            }
            match &self.outer {
                Some(outer) if outer.row < outer.batch.num_rows() => self.begin_row()?,
                Some(_) if !self.pieces.is_empty() => return self.deliver(),
                _ => match self.input.try_next().await? {
                    Some(batch) => self.outer = Some(self.outer_of(batch)?),
                    None => return Ok(None),
                },
            }
        }
    }

    fn outer_of(&self, batch: RecordBatch) -> Result<Outer> {
        let params: Vec<ArrayRef> = self.subplan.params.iter().map(|p| batch.column(p.column).clone()).collect();
        let fields: Vec<_> = params.iter().map(|p| SortField::new(p.data_type().clone())).collect();
        let keys = match fields.is_empty() {
            true => None,
            false => Some(RowConverter::new(fields)?.convert_columns(&params)?),
        };
        Ok(Outer { batch, keys, row: 0 })
    }

    /// Takes the answer for the row that is next, or begins to compute it.
    fn begin_row(&mut self) -> Result<()> {
        let Some(outer) = &self.outer else { return Ok(()) };
        let row = outer.row;
        if self.subplan.is_repeatable
            && let Some(answer) = self.answers.get(&outer.key()).cloned()
        {
            let count = answer.iter().map(|batch| batch.num_rows()).sum();
            answer.iter().for_each(|batch| self.push(batch.clone()));
            self.end_row(count);
            return Ok(());
        }
        let mut values = HashMap::new();
        for param in &self.subplan.params {
            let value = arrow_value::value_at(outer.batch.column(param.column).as_ref(), row).map_err(external)?;
            values.insert(param.id, Expr::literal(value, param.ty));
        }
        let mut plan = self.subplan.plan.clone();
        bind(&mut plan, &values);
        // Small and many: tasks would cost more than they bring.
        let context = ExecContext { threads: 1, ..self.subplan.context.clone() };
        let rows = crate::execute(&plan, &self.subplan.columns, &context).map_err(external)?;
        let kept = self.subplan.is_repeatable.then(Vec::new);
        self.running = Some(Running { rows, kept, count: 0 });
        Ok(())
    }

    fn add_found(&mut self, batch: RecordBatch) {
        if let Some(running) = &mut self.running {
            running.count += batch.num_rows();
            match &mut running.kept {
                Some(kept) if running.count <= CACHED_ROWS_MAX => kept.push(batch.clone()),
                _ => running.kept = None,
            }
        }
        self.push(batch);
    }

    fn push(&mut self, found: RecordBatch) {
        if let Some(outer) = &self.outer
            && found.num_rows() > 0
        {
            self.waiting_rows += found.num_rows();
            self.pieces.push(Piece { row: outer.row as u32, found: Some(found) });
        }
    }

    /// Ends the run for a row, and keeps a small answer.
    fn end_run(&mut self) {
        let Some(Running { kept, count, .. }) = self.running.take() else { return };
        if let (Some(kept), Some(outer)) = (kept, &self.outer) {
            let key = outer.key();
            let bytes = key.len() + kept.iter().map(|batch| batch.get_array_memory_size()).sum::<usize>();
            if self.answers.len() >= CACHE_ENTRIES || self.memory.try_grow(bytes).is_err() {
                self.answers.clear();
                self.memory.free();
            } else {
                self.answers.insert(key, Arc::new(kept));
            }
        }
        self.end_row(count);
    }

    fn end_row(&mut self, count: usize) {
        let Some(outer) = &mut self.outer else { return };
        if count == 0 && self.keeps {
            self.pieces.push(Piece { row: outer.row as u32, found: None });
            self.waiting_rows += 1;
        }
        outer.row += 1;
    }

    /// The rows that wait, as one batch.
    fn deliver(&mut self) -> Result<Option<RecordBatch>> {
        let Some(outer) = &self.outer else { return Ok(None) };
        let pieces = std::mem::take(&mut self.pieces);
        let rows = std::mem::replace(&mut self.waiting_rows, 0);
        let repeated =
            |piece: &Piece| std::iter::repeat_n(piece.row, piece.found.as_ref().map_or(1, |found| found.num_rows()));
        let places = UInt32Array::from_iter_values(pieces.iter().flat_map(repeated));
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for column in outer.batch.columns() {
            columns.push(take(column.as_ref(), &places, None)?);
        }
        let own = columns.len();
        for (i, (at, _)) in self.subplan.outputs.iter().enumerate() {
            let null = new_null_array(self.schema.field(own + i).data_type(), 1);
            let parts = pieces.iter().map(|piece| piece.found.as_ref().map_or(&null, |found| found.column(*at)));
            let parts: Vec<&dyn Array> = parts.map(|array| array.as_ref()).collect();
            columns.push(concat(&parts)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?))
    }
}
