//! Reads a table. Conditions run inside storage, on the columns they need, before the others are decoded; so do the
//! filters that joins and top-N operators above publish while the query runs.

use super::{
    scan_filter::ScanFilter,
    scan_range::{Part, key_range},
    unordered,
};
use crate::{error::external, expr::Physical};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use datafusion_common::{DataFusionError, Result, config::ConfigOptions, tree_node::TreeNodeRecursion};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr_common::physical_expr::{PhysicalExpr, snapshot_generation};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, apply_expression_roots,
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown},
    metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet},
    stream::RecordBatchStreamAdapter,
};
use muster_storage::{BatchFilter, Counters, Fetch, ReadView, Scan, ScanRequest, Steering, StorageError, Table};
use muster_types::{KeyPart, KeyRange, SqlError};
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

/// Of the metrics: rows that filters of joins and of top-N operators dropped.
pub const ROWS_DROPPED: &str = "rows_dropped";

/// What to read.
#[derive(Clone)]
pub struct ScanSpec {
    pub table: Arc<Table>,
    /// Name for EXPLAIN.
    pub name: String,
    pub view: ReadView,
    pub counters: Arc<Counters>,
    pub index: usize,
    pub ranges: Vec<KeyRange>,
    /// Values of key parts that entries within the ranges need to have.
    pub steering: Steering,
    /// Leading key parts of which each combination is delivered once; one cursor does the work.
    pub distinct_prefix: Option<usize>,
    /// Table column of each field of the output.
    pub columns: Vec<usize>,
    /// Checked on entries of a secondary index, before rows are fetched; over columns that the index holds.
    pub index_filter: Option<ScanFilter>,
    /// Checked on rows.
    pub filter: Option<ScanFilter>,
    pub fetch: Fetch,
    pub ordered: bool,
    pub reverse: bool,
    pub limit: Option<u64>,
    pub batch_rows: usize,
}

/// The operator.
pub struct ScanExec {
    source: Arc<Source>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What all partitions share.
struct Source {
    spec: ScanSpec,
    schema: SchemaRef,
    /// Published while the query runs; over the output columns.
    dynamic: Vec<Physical>,
    started: Mutex<Option<Started>>,
}

/// A scan that is under way.
struct Started {
    scan: Arc<Scan>,
    /// Which of the published filters have narrowed its ranges.
    generation: u64,
}

impl ScanExec {
    /// `partitions`: cursors that share the work.
    pub fn new(spec: ScanSpec, schema: SchemaRef, partitions: usize) -> ScanExec {
        let properties = unordered(schema.clone(), partitions);
        let source = Source { spec, schema, dynamic: Vec::new(), started: Mutex::default() };
        ScanExec { source: Arc::new(source), properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    fn with_dynamic(&self, filters: impl IntoIterator<Item = Physical>) -> ScanExec {
        let Source { spec, schema, dynamic, .. } = &*self.source;
        let dynamic = dynamic.iter().cloned().chain(filters).collect();
        let source = Source { spec: spec.clone(), schema: schema.clone(), dynamic, started: Mutex::default() };
        let (properties, metrics) = (self.properties.clone(), ExecutionPlanMetricsSet::new());
        ScanExec { source: Arc::new(source), properties, metrics }
    }
}

impl Source {
    /// The scan, started by the first partition that asks, with as narrow ranges as published filters allow by now.
    /// `dropped` counts rows that these filters leave out of the ranges.
    fn scan(&self, dropped: &Count) -> Result<Arc<Scan>> {
        let mut started = self.started.lock();
        let started = match &mut *started {
            Some(started) => started,
            none => none.insert(Started { scan: self.start(dropped)?, generation: 0 }),
        };
        let generation = self.dynamic.iter().map(snapshot_generation).fold(0, u64::wrapping_add);
        if std::mem::replace(&mut started.generation, generation) != generation {
            let range = key_range(&self.dynamic, &self.parts())?;
            if range != Some(KeyRange::all()) {
                match started.scan.narrow(range.as_ref()) {
                    // A value that the column cannot hold, as MEDIUMINT not every integer of its Arrow type, is no bound.
                    Ok(()) | Err(StorageError::WrongType { .. }) => {}
                    Err(e) => return Err(storage(e)),
                }
            }
        }
        Ok(started.scan.clone())
    }

    fn start(&self, dropped: &Count) -> Result<Arc<Scan>> {
        let spec = &self.spec;
        let (index_filter, filter) = self.filters(dropped)?;
        let boxed = |f: Option<ScanFilter>| f.map(|f| Arc::new(f) as Arc<dyn BatchFilter>);
        let request = ScanRequest {
            view: spec.view.clone(),
            index: spec.index,
            ranges: spec.ranges.clone(),
            steering: spec.steering.clone(),
            distinct_prefix: spec.distinct_prefix,
            columns: spec.columns.clone(),
            index_filter: boxed(index_filter),
            filter: boxed(filter),
            fetch: spec.fetch,
            ordered: spec.ordered,
            reverse: spec.reverse,
            limit: spec.limit,
            batch_rows: spec.batch_rows,
            counters: spec.counters.clone(),
        };
        Scan::new(spec.table.clone(), request).map_err(storage)
    }

    /// The leading parts of the index's key that are columns of the output. Texts are compared by other bytes there than
    /// in filters.
    fn parts(&self) -> Vec<Part> {
        let schema = self.spec.table.schema();
        let parts = schema.indexes.get(self.spec.index).map_or(&[][..], |index| &index.parts);
        let part = |part: &KeyPart| {
            let column = self.spec.columns.iter().position(|c| *c == part.column)?;
            (!schema.columns[part.column].ty.is_text()).then_some(Part { column, descending: part.descending })
        };
        parts.iter().map_while(part).collect()
    }

    /// The plan's conditions and those published while the query runs: on entries, and on rows.
    fn filters(&self, dropped: &Count) -> Result<(Option<ScanFilter>, Option<ScanFilter>)> {
        let (spec, output) = (&self.spec, &self.schema);
        let (mut on_entries, mut on_rows) = (spec.index_filter.clone(), spec.filter.clone());
        let table_column = |c: usize| (spec.columns[c], output.fields()[c].clone());
        // Whether there is such an index is for storage to say.
        let tree = spec.table.trees().get(spec.index);
        let covers = |columns: &[usize]| tree.is_some_and(|t| t.layout().covers(columns));
        for filter in &self.dynamic {
            let columns: Vec<usize> = collect_columns(filter).iter().map(|c| spec.columns[c.index()]).collect();
            let of_index = spec.index > 0 && !covers(&spec.columns) && covers(&columns);
            let place = if of_index { &mut on_entries } else { &mut on_rows };
            let none = || ScanFilter::new(Vec::new(), Arc::new(Schema::empty()), Vec::new());
            place.get_or_insert_with(none).add_dynamic(filter, table_column, dropped.clone())?;
        }
        Ok((on_entries, on_rows))
    }
}

fn storage(e: StorageError) -> DataFusionError {
    external(SqlError::from(e))
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let Source { spec, dynamic, .. } = &*self.source;
        write!(f, "ScanExec: {} index={} ranges={}", spec.name, spec.index, spec.ranges.len())?;
        let of_plan = spec.index_filter.iter().chain(&spec.filter).flat_map(ScanFilter::predicates);
        for predicate in of_plan.chain(dynamic) {
            write!(f, ", {predicate}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.source.dynamic, f)
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        // A limited scan must count the rows the plan meant.
        if !matches!(phase, FilterPushdownPhase::Post) || self.source.spec.limit.is_some() {
            return Ok(FilterPushdownPropagation::all_unsupported(result));
        }
        let fields = self.source.spec.columns.len();
        let usable = |f: &Physical| collect_columns(f).iter().all(|c| c.index() < fields);
        let taken: Vec<Physical> =
            result.parent_filters.iter().map(|f| f.filter.clone()).filter(|f| usable(f)).collect();
        let answers = result.parent_filters.iter().map(|f| match usable(&f.filter) {
            true => PushedDown::Yes,
            false => PushedDown::No,
        });
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(answers.collect());
        if taken.is_empty() {
            return Ok(propagation);
        }
        Ok(propagation.with_updated_node(Arc::new(self.with_dynamic(taken))))
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut cursor = None;
        let source = self.source.clone();
        let schema = self.schema();
        let dropped = MetricBuilder::new(&self.metrics).counter(ROWS_DROPPED, partition);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut left = source.spec.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let stream_schema = schema.clone();
        let mut next = move || -> Result<Option<RecordBatch>> {
            if left == 0 {
                return Ok(None);
            }
            let timer = metrics.elapsed_compute().timer();
            let scan = source.scan(&dropped)?;
            let cursor = cursor.get_or_insert_with(|| scan.cursor());
            let Some(batch) = cursor.next_batch().map_err(storage)? else {
                timer.done();
                metrics.done();
                return Ok(None);
            };
            let batch = if batch.num_rows() > left { batch.slice(0, left) } else { batch };
            left = left.saturating_sub(batch.num_rows());
            timer.done();
            metrics.record_output(batch.num_rows());
            // Storage names no columns.
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(Some(RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)?))
        };
        let stream = futures::stream::poll_fn(move |_| std::task::Poll::Ready(next().transpose()));
        let stream = RecordBatchStreamAdapter::new(stream_schema, stream);
        Ok(Box::pin(datafusion_physical_plan::coop::cooperative(stream)))
    }
}
