//! WITH RECURSIVE: a recursion's first rows, then round by round what its steps make of the rows of the round before.
//!
//! As in MySQL's `MaterializeIterator::MaterializeRecursive`, a step runs round by round until it makes nothing more;
//! then the next one begins with all rows that it has not read yet. Each step has its own count of rounds.
//!
//! Rows are delivered as they are made, so that a reader that has enough ends the recursion. In memory are the rows of
//! the round, those that a step has not read yet, and with UNION DISTINCT the keys of all rows. A step of nothing but
//! filters and projections is made once and run again for each round; of any other the operators are made anew, since
//! they keep what they have built.

use super::{
    only,
    plan_methods::{no_expressions, no_inputs},
    unordered,
};
use crate::{ExecContext, RowStream, error::external, expr::Physical};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
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
pub use kept::Kept;
use muster_algebra::{Columns, Plan};
use muster_types::{ErrorCode, SqlError};
use parking_lot::Mutex;
use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
};

mod kept;

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
    /// The columns of the table.
    pub kept: Vec<Kept>,
    pub rounds_max: u64,
    /// True if a value that does not fit, or a warning of a value that is computed, is an error.
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
        let layout = self.layout.clone();
        let tasks = layout.steps.iter().map(|step| match step {
            Step::Repeated { config, .. } => Some(layout.context.runtime.task_context(config.clone())),
            Step::Planned(_) => None,
        });
        let recursion = Recursion {
            schema: self.schema(),
            reading: Some(Reading::Seed(self.seed.execute(partition, context.clone())?)),
            step: 0,
            tasks: tasks.collect(),
            unread: layout.steps.iter().map(|_| Unread::default()).collect(),
            reading_bytes: 0,
            waiting: VecDeque::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            wanted_rows: 1,
            batch_rows: context.session_config().batch_size(),
            converter: None,
            known: HashSet::new(),
            known_bytes: 0,
            memory: MemoryConsumer::new("recursive table").register(context.memory_pool()),
            failure: None,
            layout,
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

/// The rows that a step has not read yet.
#[derive(Default)]
struct Unread {
    batches: Vec<RecordBatch>,
    bytes: usize,
    /// Rounds of the step that have begun.
    rounds: u64,
}

struct Recursion {
    layout: Arc<Layout>,
    schema: SchemaRef,
    /// `None` once no step has rows to read.
    reading: Option<Reading>,
    /// The step that is running.
    step: usize,
    /// What a step runs with that is run again.
    tasks: Vec<Option<Arc<TaskContext>>>,
    unread: Vec<Unread>,
    /// Bytes of the rows that the step is reading.
    reading_bytes: usize,
    /// Rows that are to be delivered.
    waiting: VecDeque<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    /// Rows that are delivered together: few at first, for a reader that wants no more.
    wanted_rows: usize,
    batch_rows: usize,
    converter: Option<RowConverter>,
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

    /// Takes the next rows, or begins the next round.
    async fn advance(&mut self) -> Result<()> {
        let warnings = &self.layout.context.warnings;
        let warned = warnings.count();
        let next = match &mut self.reading {
            Some(Reading::Seed(rows) | Reading::Repeated(rows)) => rows.try_next().await?,
            Some(Reading::Planned(rows)) => rows.try_next().await.map_err(external)?,
            None => None,
        };
        if self.layout.strict
            && let Some(warning) = warnings.find_since(warned, |warning| warning.code.is_refused_by_strict_modes())
        {
            return Err(external(SqlError::new(warning.code, warning.message)));
        }
        let Some(batch) = next else { return self.begin_round() };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = match &self.reading {
            Some(Reading::Seed(_)) => batch.columns().to_vec(),
            _ => self.layout.outputs[self.step].iter().map(|at| batch.column(*at).clone()).collect(),
        };
        let kept = columns.into_iter().zip(&self.layout.kept);
        let columns = kept.map(|(column, kept)| kept.stored(column, self.layout.strict, warnings));
        let columns = columns.collect::<muster_types::Result<Vec<_>>>().map_err(external)?;
        let mut batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        if self.layout.keys.is_some() {
            batch = self.unknown(batch)?;
        }
        if batch.num_rows() > 0 {
            let bytes = batch_bytes(&batch);
            for unread in &mut self.unread {
                unread.batches.push(batch.clone());
                unread.bytes += bytes;
            }
            self.waiting_rows += batch.num_rows();
            self.waiting_bytes += bytes;
            self.waiting.push_back(batch);
            self.reserve()?;
        }
        Ok(())
    }

    /// Reserves memory for what is kept.
    fn reserve(&self) -> Result<()> {
        let unread: usize = self.unread.iter().map(|unread| unread.bytes).sum();
        self.memory.try_resize(unread + self.reading_bytes + self.waiting_bytes + self.known_bytes)
    }

    /// Begins the next round, of this step or else of the next one that has rows to read. Error: 3636.
    fn begin_round(&mut self) -> Result<()> {
        let steps = self.unread.len();
        let in_turn = (self.step..steps).chain(0..self.step);
        self.reading_bytes = 0;
        let Some(step) = in_turn.into_iter().find(|step| !self.unread[*step].batches.is_empty()) else {
            self.reading = None;
            self.layout.rows.lock().clear();
            return self.reserve();
        };
        self.step = step;
        let unread = &mut self.unread[step];
        unread.rounds += 1;
        if unread.rounds > self.layout.rounds_max {
            let rounds = unread.rounds;
            let message = format!(
                "Recursive query aborted after {rounds} iterations. Try increasing @@cte_max_recursion_depth to a \
                 larger value."
            );
            return Err(external(SqlError::new(ErrorCode::CteMaxRecursion, message)));
        }
        let batches = std::mem::take(&mut unread.batches);
        unread.bytes = 0;
        let batches = coalesced(&self.schema, batches, self.batch_rows)?;
        self.reading_bytes = batches.iter().map(batch_bytes).sum();
        *self.layout.rows.lock() = batches;
        self.reserve()?;
        let layout = &self.layout;
        self.reading = Some(match (&layout.steps[step], &self.tasks[step]) {
            (Step::Repeated { operators, .. }, Some(task)) => Reading::Repeated(operators.execute(0, task.clone())?),
            (Step::Planned(plan), _) => {
                Reading::Planned(crate::execute(plan, &layout.columns, &layout.context).map_err(external)?)
            }
            (Step::Repeated { .. }, None) => return Err(external(SqlError::internal("a step without a task"))),
        });
        Ok(())
    }

    /// The rows that have not been there before.
    fn unknown(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let keys = self.layout.keys.iter().flatten();
        let keys: Vec<ArrayRef> = keys.map(|key| key.evaluate(&batch)?.into_array(rows)).collect::<Result<_>>()?;
        let converter = match &mut self.converter {
            Some(converter) => converter,
            converter => {
                let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
                converter.insert(RowConverter::new(fields)?)
            }
        };
        let keys = converter.convert_columns(&keys)?;
        let mut is_new = Vec::with_capacity(rows);
        for row in 0..rows {
            let key = keys.row(row);
            let added = !self.known.contains(key.data());
            if added {
                self.known_bytes += key.data().len() + size_of::<Box<[u8]>>() * 2;
                self.known.insert(key.data().into());
            }
            is_new.push(added);
        }
        self.reserve()?;
        Ok(filter_record_batch(&batch, &is_new.into())?)
    }

    /// The rows that wait, as one batch.
    fn deliver(&mut self) -> Result<RecordBatch> {
        let parts: Vec<RecordBatch> = std::mem::take(&mut self.waiting).into();
        self.waiting_rows = 0;
        self.waiting_bytes = 0;
        self.wanted_rows = (self.wanted_rows * 2).min(self.batch_rows);
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            parts => Ok(concat_batches(&self.schema, parts)?),
        }
    }
}

/// Bytes of a batch: those of its values, and of the objects that hold them, which outweigh the values of a single row.
fn batch_bytes(batch: &RecordBatch) -> usize {
    const OF_COLUMN: usize = 256;
    batch.get_array_memory_size() + (batch.num_columns() + 1) * OF_COLUMN
}

/// The rows in batches that are not much smaller than `most` rows, unless there are fewer: a step makes a batch of each
/// that it reads, however small.
fn coalesced(schema: &SchemaRef, batches: Vec<RecordBatch>, most: usize) -> Result<Vec<RecordBatch>> {
    let (mut whole, mut parts, mut rows) = (Vec::new(), Vec::new(), 0);
    for batch in batches {
        rows += batch.num_rows();
        parts.push(batch);
        if rows >= most {
            whole.push(concat_batches(schema, &parts)?);
            parts.clear();
            rows = 0;
        }
    }
    match parts.as_slice() {
        [] => {}
        [one] => whole.push(one.clone()),
        parts => whole.push(concat_batches(schema, parts)?),
    }
    Ok(whole)
}
