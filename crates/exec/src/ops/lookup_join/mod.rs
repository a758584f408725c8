//! Joins its input with a table by looking the table's rows up in an index.
//!
//! ```text
//!   outer rows -> buffer.rs   a join buffer: rows, and their distinct keys in the order of the index
//!              -> entry_filter.rs   which entries of the index are worth fetching a row for
//!              -> muster_storage::Lookup   rows of the table, each with the number of its key
//!              -> pairs.rs    joined rows, conditions checked; which outer rows found a partner
//! ```
//!
//! Batched Key Access fills a buffer of `join_buffer_size` bytes before it looks anything up, so that equal keys are
//! looked up once and neighbours are read together; each further buffer is another pass over the index. Rows that come
//! from another such join stay in its buffer (links.rs). If keys are not
//! sorted, only the rows that their entries lead to are fetched together. Without it every outer row is looked up by
//! itself, as it comes.

mod buffer;
mod entry_filter;
pub mod links;
mod pairs;

use super::{
    compact::compact,
    only,
    plan_methods::{filters_pass, own_metrics},
    scan_filter::ScanFilter,
};
use crate::{
    counters::{OperatorCounter, QueryCounters},
    error::external,
    expr::Physical,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use buffer::JoinBuffer;
use datafusion_common::{Result, tree_node::TreeNodeRecursion};
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    SendableRecordBatchStream, apply_expression_roots,
    joins::utils::JoinFilter,
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet},
    stream::RecordBatchStreamAdapter,
};
pub use entry_filter::EntryCondition;
use entry_filter::EntryFilter;
use futures::StreamExt;
use muster_algebra::JoinKind;
use muster_storage::{BatchFilter, Fetch, Lookup, LookupRequest, ReadView, StorageError, Table};
use muster_types::SqlError;
use pairs::Pairs;
use std::{fmt, sync::Arc};

/// While a buffer is made, its rows are there as they came, put together, and as keys.
const WORKING_COPIES: usize = 3;

/// A column of the joined rows: of the outer row, or of the table's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Outer(usize),
    /// Place in [`LookupJoinSpec::columns`].
    Inner(usize),
}

/// The description of a lookup join.
#[derive(Clone)]
pub struct LookupJoinSpec {
    pub kind: JoinKind,
    pub table: Arc<Table>,
    /// Name for EXPLAIN.
    pub name: String,
    pub view: Arc<ReadView>,
    pub counters: Arc<QueryCounters>,
    pub index: usize,
    /// An expression over the outer rows for each leading part of the index, in the Arrow type of the part's column.
    pub keys: Vec<Physical>,
    /// Table columns that are read.
    pub columns: Vec<usize>,
    pub entry_condition: EntryCondition,
    pub filter: Option<ScanFilter>,
    /// Further conditions: left is the outer row, right the table's columns.
    pub residual: Option<JoinFilter>,
    /// The joined row's columns.
    pub output: Vec<Origin>,
    pub fetch: Fetch,
    pub batched: bool,
    /// True if a buffer's keys are sorted and looked up together; else each is a descent of its own, as they come.
    pub key_ordered: bool,
    /// True if columns of the outer rows are delivered as links into the buffer: see [`links`].
    pub linked: bool,
    pub join_buffer_bytes: usize,
    pub batch_rows: usize,
}

/// The operator.
pub struct LookupJoinExec {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<LookupJoinSpec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LookupJoinExec {
    /// `schema`: of the output.
    pub fn new(input: Arc<dyn ExecutionPlan>, spec: Arc<LookupJoinSpec>, schema: SchemaRef) -> LookupJoinExec {
        let mut properties = PlanProperties::clone(input.properties());
        properties.partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
        properties.eq_properties = EquivalenceProperties::new(schema);
        let metrics = ExecutionPlanMetricsSet::new();
        LookupJoinExec { input, spec, properties: Arc::new(properties), metrics }
    }
}

pub(super) fn storage(e: StorageError) -> datafusion_common::DataFusionError {
    external(SqlError::from(e))
}

impl DisplayAs for LookupJoinExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let LookupJoinSpec { kind, name, index, keys, .. } = &*self.spec;
        write!(f, "LookupJoinExec: {kind:?} {name} index={index} keys=[")?;
        keys.iter().try_for_each(|key| write!(f, " {key}"))?;
        write!(f, " ]")
    }
}

impl ExecutionPlan for LookupJoinExec {
    fn name(&self) -> &str {
        "LookupJoinExec"
    }

    filters_pass!();
    own_metrics!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.spec.keys, f)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(LookupJoinExec::new(only(children)?, self.spec.clone(), self.schema())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let memory = MemoryConsumer::new("join buffer").register(context.memory_pool());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let worker = Worker::new(self.spec.clone(), self.input.schema(), self.schema(), memory).map_err(storage)?;
        let state = JoinPhase { worker, input: Some(input), ahead: Vec::new(), linked_to: false, metrics };
        let stream = futures::stream::try_unfold(state, |mut state| async move {
            Ok(state.next().await?.map(|batch| (batch, state)))
        });
        let stream = RecordBatchStreamAdapter::new(self.schema(), stream.boxed());
        Ok(Box::pin(datafusion_physical_plan::coop::cooperative(stream)))
    }
}

/// One partition under way.
struct JoinPhase {
    worker: Worker,
    /// Until it has ended.
    input: Option<SendableRecordBatchStream>,
    /// Batches that the last buffer had no room for, the next one last.
    ahead: Vec<RecordBatch>,
    /// Links into the buffer have been delivered.
    linked_to: bool,
    metrics: BaselineMetrics,
}

impl JoinPhase {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let timer = self.metrics.elapsed_compute().timer();
            let found = self.worker.next_batch()?;
            timer.done();
            if let Some(batch) = found {
                self.metrics.record_output(batch.num_rows());
                self.linked_to = self.worker.spec.linked;
                return Ok(Some(batch));
            }
            if std::mem::take(&mut self.linked_to) {
                return Ok(Some(RecordBatch::new_empty(self.worker.schema.clone())));
            }
            let rows = self.fill().await?;
            if rows.is_empty() {
                self.metrics.done();
                return Ok(None);
            }
            let timer = self.metrics.elapsed_compute().timer();
            self.worker.begin(&rows)?;
            timer.done();
        }
    }

    /// Outer rows for a buffer: as many as fit, one batch at least; none at the end.
    async fn fill(&mut self) -> Result<Vec<RecordBatch>> {
        let spec = self.worker.spec.clone();
        let room = if spec.batched { spec.join_buffer_bytes } else { 0 };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        self.worker.memory.free();
        loop {
            let next = match (self.ahead.pop(), &mut self.input) {
                (Some(batch), _) => Some(batch),
                (None, Some(input)) => input.next().await.transpose()?,
                (None, None) => None,
            };
            let Some(batch) = next else {
                self.input = None;
                return Ok(rows);
            };
            if batch.num_rows() == 0 {
                // The buffer that the rows may have links into is about to change.
                if rows.is_empty() { continue } else { return Ok(rows) }
            }
            let (fits, rest) = buffer::split(batch, room.saturating_sub(bytes), rows.is_empty());
            self.ahead.extend(rest);
            let Some(batch) = fits else { return Ok(rows) };
            // Without their neighbours, which the buffers of texts hold too.
            let batch = compact(&batch)?;
            let size = buffer::row_bytes(&batch);
            // With no memory for more, what there is is looked up: one row at least.
            if self.worker.memory.try_grow(WORKING_COPIES * size).is_err() {
                match batch.num_rows() {
                    _ if !rows.is_empty() => self.ahead.push(batch),
                    1 => {
                        self.worker.memory.grow(WORKING_COPIES * size);
                        rows.push(batch);
                    }
                    n => {
                        self.ahead.push(batch.slice(n / 2, n - n / 2));
                        self.ahead.push(batch.slice(0, n / 2));
                        continue;
                    }
                }
                return Ok(rows);
            }
            bytes += size;
            rows.push(batch);
            if !self.ahead.is_empty() || bytes >= room {
                return Ok(rows);
            }
        }
    }
}

/// Looks up one buffer after the other.
struct Worker {
    spec: Arc<LookupJoinSpec>,
    outer_schema: SchemaRef,
    schema: SchemaRef,
    lookup: Lookup,
    entry_filter: Option<Arc<EntryFilter>>,
    buffers: usize,
    /// The buffer whose keys are being looked up.
    current: Option<Arc<JoinBuffer>>,
    /// Groups of the buffer that have been begun; all of them together when batched.
    begun: usize,
    pairs: Pairs,
    memory: MemoryReservation,
}

impl Worker {
    fn new(
        spec: Arc<LookupJoinSpec>,
        outer_schema: SchemaRef,
        schema: SchemaRef,
        memory: MemoryReservation,
    ) -> muster_storage::Result<Worker> {
        let entry_filter = EntryFilter::new(spec.entry_condition.clone()).map(Arc::new);
        let request = LookupRequest {
            view: spec.view.clone(),
            index: spec.index,
            columns: spec.columns.clone(),
            index_filter: entry_filter.clone().map(|f| f as Arc<dyn BatchFilter>),
            filter: spec.filter.clone().map(|f| Arc::new(f) as Arc<dyn BatchFilter>),
            fetch: spec.fetch,
            batched: spec.batched && spec.key_ordered,
            batch_rows: spec.batch_rows,
            counters: spec.counters.storage().clone(),
        };
        let lookup = Lookup::new(spec.table.clone(), request)?;
        let pairs = Pairs::new(spec.clone(), schema.clone());
        Ok(Worker {
            spec,
            outer_schema,
            schema,
            lookup,
            entry_filter,
            buffers: 0,
            current: None,
            begun: 0,
            pairs,
            memory,
        })
    }

    /// Takes outer rows in; the buffer before must have been read to its end.
    fn begin(&mut self, rows: &[RecordBatch]) -> Result<()> {
        let outer = links::concat_batches(&self.outer_schema, rows)?;
        let buffer = JoinBuffer::new(&self.spec, outer)?;
        self.memory.resize(buffer.memory_bytes());
        if self.spec.batched && self.buffers > 0 {
            self.spec.counters.add(OperatorCounter::key_buffer_refills, 1);
        }
        self.buffers += 1;
        self.pairs.begin(buffer.outer.clone());
        self.current = Some(Arc::new(buffer));
        self.begun = 0;
        Ok(())
    }

    /// Joined rows; `None` when another buffer is wanted.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(buffer) = &self.current else { return Ok(None) };
            if let Some(batch) = self.pairs.next_joined(buffer)? {
                return Ok(Some(batch));
            }
            if self.begun > 0
                && let Some((batch, keys)) = self.lookup.next_batch().map_err(storage)?
            {
                self.pairs.add(batch, keys, self.begun);
                continue;
            }
            if self.begun < buffer.groups() {
                let (keys, begun) = match self.spec.batched {
                    true => (buffer.all_keys(), buffer.groups()),
                    false => (buffer.key(self.begun), self.begun + 1),
                };
                if let Some(filter) = &self.entry_filter {
                    filter.begin(buffer, self.begun);
                }
                self.lookup.begin(keys);
                self.begun = begun;
                continue;
            }
            // Outer rows that are told only now: those with a partner, or without.
            self.current = None;
            return self.pairs.finish();
        }
    }
}
