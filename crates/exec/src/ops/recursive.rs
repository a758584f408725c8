//! WITH RECURSIVE: a recursion's first rows, then round by round what its steps make of the rows of the round before.
//!
//! Rows are delivered as they are made, so that a reader that has enough ends the recursion. In memory are the rows of
//! two rounds, and with UNION DISTINCT the keys of all rows. A step of nothing but filters and projections is made once
//! and run again for each round; of any other the operators are made anew, since they keep what they have built.

use super::{
    only,
    plan_methods::{no_expressions, no_inputs},
    unordered,
};
use crate::{ExecContext, RowStream, error::external, expr::Physical};
use arrow_array::{Array, ArrayRef, RecordBatch, builder::StringViewBuilder, cast::AsArray};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::{concat::concat_batches, filter::filter_record_batch};
use datafusion_common::Result;
use datafusion_execution::{
    TaskContext,
    config::SessionConfig,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, coop::cooperative,
    memory::MemoryStream, stream::RecordBatchStreamAdapter,
};
use futures::{TryStreamExt, stream};
use muster_algebra::{Columns, Plan};
use muster_types::{ErrorCode, SqlError};
use parking_lot::Mutex;
use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
};

/// The rows that the round before has added to a recursive table.
pub type RoundRows = Arc<Mutex<Vec<RecordBatch>>>;

/// Delivers the rows of the round before.
pub struct WorkingExec {
    rows: RoundRows,
    properties: Arc<PlanProperties>,
}

impl WorkingExec {
    /// `schema`: that of the table, under the names of the reader's columns.
    pub fn new(rows: RoundRows, schema: SchemaRef) -> WorkingExec {
        WorkingExec { rows, properties: unordered(schema, 1) }
    }
}

impl DisplayAs for WorkingExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WorkingExec")
    }
}

impl ExecutionPlan for WorkingExec {
    fn name(&self) -> &str {
        "WorkingExec"
    }

    no_expressions!();
    no_inputs!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rename = |batch: &RecordBatch| RecordBatch::try_new(self.schema(), batch.columns().to_vec());
        let batches = self.rows.lock().iter().map(rename).collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Box::pin(cooperative(MemoryStream::try_new(batches, self.schema(), None)?)))
    }
}

/// A step of a recursion.
pub enum Step {
    /// Operators that keep nothing from one run to the next.
    Repeated {
        operators: Arc<dyn ExecutionPlan>,
        config: SessionConfig,
    },
    Planned(Box<Plan>),
}

/// The parts of a recursion.
pub struct Layout {
    pub steps: Vec<Step>,
    /// For each step the places of its columns.
    pub outputs: Vec<Vec<usize>>,
    pub rows: RoundRows,
    /// The statement's columns, and the context of the steps, in which their working rows are.
    pub columns: Columns,
    pub context: ExecContext,
    /// The keys by which rows are equal, with UNION DISTINCT.
    pub keys: Option<Vec<Physical>>,
    /// The most characters or bytes of a text column, with the column's name.
    pub lengths: Vec<Option<(u32, String)>>,
    pub rounds_max: u64,
    /// True if a text that is too long is an error.
    pub strict: bool,
}

/// The operator.
pub struct RecursiveExec {
    seed: Arc<dyn ExecutionPlan>,
    layout: Arc<Layout>,
    properties: Arc<PlanProperties>,
}

impl RecursiveExec {
    /// `seed`: the first rows, in one partition.
    pub fn new(seed: Arc<dyn ExecutionPlan>, schema: SchemaRef, layout: Arc<Layout>) -> RecursiveExec {
        RecursiveExec { seed, layout, properties: unordered(schema, 1) }
    }
}

impl DisplayAs for RecursiveExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "RecursiveExec: steps={}", self.layout.steps.len())
    }
}

impl ExecutionPlan for RecursiveExec {
    fn name(&self) -> &str {
        "RecursiveExec"
    }

    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.seed]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(RecursiveExec::new(only(children)?, self.schema(), self.layout.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let recursion = Recursion {
            layout: self.layout.clone(),
            schema: self.schema(),
            reading: Some(Reading::Seed(self.seed.execute(partition, context.clone())?)),
            step: 0,
            rounds: 0,
            made: Vec::new(),
            waiting: VecDeque::new(),
            waiting_rows: 0,
            wanted_rows: 1,
            batch_rows: context.session_config().batch_size(),
            known: HashSet::new(),
            known_bytes: 0,
            memory: MemoryConsumer::new("recursive table").register(context.memory_pool()),
            failure: None,
        };
        let rows = stream::try_unfold(recursion, |mut recursion| async move {
            Ok(recursion.next().await?.map(|batch| (batch, recursion)))
        });
        let stream = RecordBatchStreamAdapter::new(self.schema(), Box::pin(rows));
        Ok(Box::pin(cooperative(stream)))
    }
}

/// The source of the rows that are being read.
enum Reading {
    Seed(SendableRecordBatchStream),
    Repeated(SendableRecordBatchStream),
    Planned(RowStream),
}

struct Recursion {
    layout: Arc<Layout>,
    schema: SchemaRef,
    /// `None` once the last round has made nothing.
    reading: Option<Reading>,
    /// The step that is running.
    step: usize,
    rounds: u64,
    /// Rows that this round has made.
    made: Vec<RecordBatch>,
    /// Rows that are to be delivered.
    waiting: VecDeque<RecordBatch>,
    waiting_rows: usize,
    /// Rows that are delivered together: few at first, for a reader that wants no more.
    wanted_rows: usize,
    batch_rows: usize,
    /// The keys of all rows, with UNION DISTINCT.
    known: HashSet<Box<[u8]>>,
    /// Bytes of these keys.
    known_bytes: usize,
    memory: MemoryReservation,
    /// An error behind the rows that wait: a reader that has enough with these does not meet it.
    failure: Option<datafusion_common::DataFusionError>,
}

impl Recursion {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let is_over = self.reading.is_none() || self.failure.is_some();
            if self.waiting_rows >= self.wanted_rows || is_over && self.waiting_rows > 0 {
                return self.deliver().map(Some);
            }
            if let Some(failure) = self.failure.take() {
                self.reading = None;
                return Err(failure);
            }
            if is_over {
                return Ok(None);
            }
            if let Err(failure) = self.advance().await {
                self.failure = Some(failure);
            }
        }
    }

    /// Takes the next rows, or begins the next step or round.
    async fn advance(&mut self) -> Result<()> {
        let next = match &mut self.reading {
            Some(Reading::Seed(rows) | Reading::Repeated(rows)) => rows.try_next().await?,
            Some(Reading::Planned(rows)) => rows.try_next().await.map_err(external)?,
            None => None,
        };
        let Some(batch) = next else { return self.begin_next() };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let columns = match &self.reading {
            Some(Reading::Seed(_)) => batch.columns().to_vec(),
            _ => self.layout.outputs[self.step].iter().map(|at| batch.column(*at).clone()).collect(),
        };
        let columns = self.fitting(columns)?;
        let mut batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        if let Some(keys) = self.layout.keys.clone() {
            batch = self.unknown(&keys, batch)?;
        }
        if batch.num_rows() > 0 {
            self.memory.try_grow(batch.get_array_memory_size())?;
            self.waiting_rows += batch.num_rows();
            self.waiting.push_back(batch.clone());
            self.made.push(batch);
        }
        Ok(())
    }

    /// Begins the next step, or with the first one the next round.
    fn begin_next(&mut self) -> Result<()> {
        let is_within_round =
            !matches!(self.reading, Some(Reading::Seed(_))) && self.step + 1 < self.layout.steps.len();
        if is_within_round {
            self.step += 1;
        } else {
            let made = std::mem::take(&mut self.made);
            self.step = 0;
            let waiting: usize = self.waiting.iter().map(|batch| batch.get_array_memory_size()).sum();
            let made_bytes: usize = made.iter().map(|batch| batch.get_array_memory_size()).sum();
            self.memory.try_resize(waiting + made_bytes + self.known_bytes)?;
            if made.is_empty() {
                self.reading = None;
                self.layout.rows.lock().clear();
                return Ok(());
            }
            *self.layout.rows.lock() = made;
            self.rounds += 1;
            if self.rounds > self.layout.rounds_max {
                let message = format!(
                    "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a larger \
                     value.",
                    self.rounds
                );
                return Err(external(SqlError::new(ErrorCode::CteMaxRecursion, message)));
            }
        }
        let layout = &self.layout;
        self.reading = Some(match &layout.steps[self.step] {
            Step::Repeated { operators, config } => {
                let task = layout.context.runtime.task_context(config.clone());
                Reading::Repeated(operators.execute(0, task)?)
            }
            Step::Planned(plan) => {
                Reading::Planned(crate::execute(plan, &layout.columns, &layout.context).map_err(external)?)
            }
        });
        Ok(())
    }

    /// The rows that have not been there before.
    fn unknown(&mut self, keys: &[Physical], batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let keys: Vec<ArrayRef> =
            keys.iter().map(|key| key.evaluate(&batch)?.into_array(rows)).collect::<Result<_>>()?;
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let keys = RowConverter::new(fields)?.convert_columns(&keys)?;
        let mut is_new = Vec::with_capacity(rows);
        for row in 0..rows {
            let key: Box<[u8]> = keys.row(row).data().into();
            let bytes = key.len() + size_of::<Box<[u8]>>() * 2;
            let added = self.known.insert(key);
            if added {
                self.memory.try_grow(bytes)?;
                self.known_bytes += bytes;
            }
            is_new.push(added);
        }
        Ok(filter_record_batch(&batch, &is_new.into())?)
    }

    /// The columns with texts that fit. Error 1406 for one that does not, in strict mode.
    fn fitting(&self, mut columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        for (column, length) in columns.iter_mut().zip(&self.layout.lengths) {
            let Some((most, name)) = length else { continue };
            if column.data_type() != &DataType::Utf8View {
                continue;
            }
            let most = *most as usize;
            let texts = column.as_string_view();
            let is_long = |text: &str| text.len() > most && text.chars().count() > most;
            if !texts.iter().flatten().any(is_long) {
                continue;
            }
            if self.layout.strict {
                let message = format!("Data too long for column '{name}' at row 1");
                return Err(external(SqlError::new(ErrorCode::DataTooLong, message)));
            }
            let mut cut = StringViewBuilder::with_capacity(texts.len());
            for text in texts {
                cut.append_option(text.map(|text| text.chars().take(most).collect::<String>()));
            }
            *column = Arc::new(cut.finish());
        }
        Ok(columns)
    }

    /// The rows that wait, as one batch.
    fn deliver(&mut self) -> Result<RecordBatch> {
        let parts: Vec<RecordBatch> = std::mem::take(&mut self.waiting).into();
        self.waiting_rows = 0;
        self.wanted_rows = (self.wanted_rows * 2).min(self.batch_rows);
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            parts => Ok(concat_batches(&self.schema, parts)?),
        }
    }
}
