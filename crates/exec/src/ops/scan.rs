//! Reads a table. Conditions run inside storage, on the columns they need, before the others are decoded; so do the
//! filters that joins and top-N operators above publish while the query runs.

use crate::{
    error::external,
    expr::{Physical, kernel::evaluate_predicate},
};
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Fields, Schema, SchemaRef};
use datafusion_common::{
    DataFusionError, Result,
    config::ConfigOptions,
    tree_node::{Transformed, TreeNode, TreeNodeRecursion},
};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::{EquivalenceProperties, expressions::Column, utils::collect_columns};
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
    execution_plan::{Boundedness, EmissionType, SchedulingType},
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown},
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet},
    stream::RecordBatchStreamAdapter,
};
use muster_storage::{BatchFilter, Counters, Fetch, ReadView, Scan, ScanRequest, StorageError, Table};
use muster_types::{KeyRange, SqlError};
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Bytes of primary keys that are fetched in one pass, until a plan says how many.
const MRR_BUFFER_BYTES: usize = 256 << 10;

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
    /// Table column of each field of the output.
    pub columns: Vec<usize>,
    /// Over a batch of `filter_columns`; all must be TRUE.
    pub predicates: Vec<Physical>,
    /// Table columns that `predicates` see, in order, and their fields.
    pub filter_columns: Vec<usize>,
    pub filter_schema: SchemaRef,
    pub ordered: bool,
    pub reverse: bool,
    pub limit: Option<u64>,
    pub batch_rows: usize,
}

/// The operator.
pub struct ScanExec {
    spec: ScanSpec,
    /// Published while the query runs; over the output columns.
    dynamic: Vec<Physical>,
    /// The scan that all partitions share, once one of them has started.
    started: Mutex<Option<Arc<Scan>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// `partitions`: cursors that share the work.
    pub fn new(spec: ScanSpec, schema: SchemaRef, partitions: usize) -> ScanExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        ScanExec {
            spec,
            dynamic: Vec::new(),
            started: Mutex::default(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn with_dynamic(&self, filters: impl IntoIterator<Item = Physical>) -> ScanExec {
        ScanExec {
            spec: self.spec.clone(),
            dynamic: self.dynamic.iter().cloned().chain(filters).collect(),
            started: Mutex::default(),
            properties: self.properties.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The scan, started by the first partition that asks.
    fn scan(&self) -> Result<Arc<Scan>> {
        let mut started = self.started.lock();
        if let Some(scan) = started.as_ref() {
            return Ok(scan.clone());
        }
        let spec = &self.spec;
        let (index_filter, filter) = self.filters()?;
        let request = ScanRequest {
            view: spec.view.clone(),
            index: spec.index,
            ranges: spec.ranges.clone(),
            columns: spec.columns.clone(),
            index_filter: index_filter.map(|f| Arc::new(f) as Arc<dyn BatchFilter>),
            filter: filter.map(|f| Arc::new(f) as Arc<dyn BatchFilter>),
            fetch: Fetch::KeyOrder { buffer_bytes: MRR_BUFFER_BYTES },
            ordered: spec.ordered,
            reverse: spec.reverse,
            batch_rows: spec.batch_rows,
            counters: spec.counters.clone(),
        };
        let scan = Scan::new(spec.table.clone(), request).map_err(storage)?;
        *started = Some(scan.clone());
        Ok(scan)
    }

    /// The conditions on entries of the index, before rows are fetched for them, and those on rows.
    fn filters(&self) -> Result<(Option<ScanFilter>, Option<ScanFilter>)> {
        let spec = &self.spec;
        let held = |columns: &[usize]| match spec.table.trees().get(spec.index) {
            Some(tree) => tree.layout().covers(columns),
            None => false,
        };
        // Where no rows are fetched, one filter does.
        let covering = held(&spec.columns) && held(&spec.filter_columns);
        let on_entries = |predicate: &Physical, columns: &[usize]| {
            let columns: Vec<usize> = collect_columns(predicate).iter().map(|c| columns[c.index()]).collect();
            !covering && held(&columns)
        };
        let mut entries = ScanFilter::default();
        let mut rows = ScanFilter::default();
        if !spec.predicates.iter().any(|p| on_entries(p, &spec.filter_columns)) {
            rows.columns.clone_from(&spec.filter_columns);
            rows.fields = spec.filter_schema.fields().iter().cloned().collect();
        }
        for predicate in &spec.predicates {
            let to = if on_entries(predicate, &spec.filter_columns) { &mut entries } else { &mut rows };
            let mapped = to.mapped(predicate, &spec.filter_columns, spec.filter_schema.fields())?;
            to.predicates.push(mapped);
        }
        let output = self.schema();
        for filter in &self.dynamic {
            let to = if on_entries(filter, &spec.columns) { &mut entries } else { &mut rows };
            let predicate = to.mapped(filter, &spec.columns, output.fields())?;
            to.dynamic.push(DynamicFilter { predicate, seen: AtomicUsize::new(0), kept: AtomicUsize::new(0) });
        }
        Ok((entries.ready(), rows.ready()))
    }
}

fn storage(e: StorageError) -> DataFusionError {
    external(SqlError::from(e))
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ScanExec: {} index={} ranges={}", self.spec.name, self.spec.index, self.spec.ranges.len())?;
        for predicate in self.spec.predicates.iter().chain(&self.dynamic) {
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
        for expr in &self.dynamic {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
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
        if !matches!(phase, FilterPushdownPhase::Post) || self.spec.limit.is_some() {
            return Ok(FilterPushdownPropagation::all_unsupported(result));
        }
        let fields = self.spec.columns.len();
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
        let scan = self.scan()?;
        let schema = self.schema();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut left = self.spec.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let stream_schema = schema.clone();
        let mut next = move || -> Result<Option<RecordBatch>> {
            if left == 0 {
                return Ok(None);
            }
            let timer = metrics.elapsed_compute().timer();
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

/// Rows after which a published filter that drops too few is no longer evaluated.
const TRIAL_ROWS: usize = 65_536;
/// A filter is worth its time if it drops at least one row in this many.
const WORTH_ONE_IN: usize = 10;

/// A filter that is filled in while the query runs; TRUE for all rows until then.
struct DynamicFilter {
    predicate: Physical,
    seen: AtomicUsize,
    kept: AtomicUsize,
}

impl DynamicFilter {
    fn is_worth_it(&self) -> bool {
        let seen = self.seen.load(Relaxed);
        seen < TRIAL_ROWS || (seen - self.kept.load(Relaxed).min(seen)) * WORTH_ONE_IN >= seen
    }
}

/// What runs inside storage.
struct ScanFilter {
    /// Table columns, and their fields.
    columns: Vec<usize>,
    fields: Vec<FieldRef>,
    schema: SchemaRef,
    predicates: Vec<Physical>,
    dynamic: Vec<DynamicFilter>,
}

impl Default for ScanFilter {
    fn default() -> ScanFilter {
        let schema = Arc::new(Schema::empty());
        ScanFilter { columns: Vec::new(), fields: Vec::new(), schema, predicates: Vec::new(), dynamic: Vec::new() }
    }
}

impl ScanFilter {
    /// A predicate over these table columns as one over the filter's, which grow as needed.
    fn mapped(&mut self, predicate: &Physical, columns: &[usize], fields: &Fields) -> Result<Physical> {
        let mapped = predicate.clone().transform_down(|e| {
            let Some(column) = e.downcast_ref::<Column>() else { return Ok(Transformed::no(e)) };
            let table_column = columns[column.index()];
            let position = self.columns.iter().position(|c| *c == table_column).unwrap_or_else(|| {
                self.columns.push(table_column);
                self.fields.push(fields[column.index()].clone());
                self.columns.len() - 1
            });
            let name = self.fields[position].name();
            if position == column.index() && name == column.name() {
                return Ok(Transformed::no(e));
            }
            let moved: Physical = Arc::new(Column::new(name, position));
            Ok(Transformed::yes(moved))
        })?;
        Ok(mapped.data)
    }

    /// The filter, if it has conditions.
    fn ready(mut self) -> Option<ScanFilter> {
        self.schema = Arc::new(Schema::new(self.fields.clone()));
        (!self.predicates.is_empty() || !self.dynamic.is_empty()).then_some(self)
    }

    fn test(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), batch.columns().to_vec(), &options)?;
        let mut kept: Option<BooleanArray> = None;
        for predicate in &self.predicates {
            let passed = evaluate_predicate(predicate.as_ref(), &batch)?;
            kept = Some(both(kept, passed)?);
            if kept.as_ref().is_some_and(|k| k.true_count() == 0) {
                break;
            }
        }
        for filter in &self.dynamic {
            let before = kept.as_ref().map_or(rows, BooleanArray::true_count);
            if before == 0 || !filter.is_worth_it() {
                continue;
            }
            // Few rows left: test only those.
            let passed = match &kept {
                Some(k) if before * 4 < rows => {
                    filter.predicate.evaluate_selection(&batch, &k.clone())?.into_array(rows)?
                }
                _ => filter.predicate.evaluate(&batch)?.into_array(rows)?,
            };
            let passed = arrow_array::cast::AsArray::as_boolean(passed.as_ref()).clone();
            let now = both(kept, passed)?;
            filter.seen.fetch_add(before, Relaxed);
            filter.kept.fetch_add(now.true_count(), Relaxed);
            kept = Some(now);
        }
        Ok(kept.unwrap_or_else(|| BooleanArray::from(vec![true; rows])))
    }
}

fn both(kept: Option<BooleanArray>, passed: BooleanArray) -> Result<BooleanArray> {
    Ok(match kept {
        None => passed,
        Some(kept) => arrow::compute::and_kleene(&kept, &passed)?,
    })
}

impl BatchFilter for ScanFilter {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn evaluate(&self, batch: &RecordBatch) -> muster_storage::Result<BooleanArray> {
        self.test(batch).map_err(|e| StorageError::Filter(crate::error::to_sql(&e, 0)))
    }
}
