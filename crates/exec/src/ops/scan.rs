//! Reads a table. Conditions run inside storage, on the columns they need, before the others are decoded; so do the
//! filters that joins and top-N operators above publish while the query runs.

use super::{scan_filter::ScanFilter, unordered};
use crate::{error::external, expr::Physical};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use datafusion_common::{DataFusionError, Result, config::ConfigOptions, tree_node::TreeNodeRecursion};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, apply_expression_roots,
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown},
    metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet},
    stream::RecordBatchStreamAdapter,
};
use muster_storage::{BatchFilter, Counters, Fetch, ReadView, Scan, ScanRequest, Steering, StorageError, Table};
use muster_types::{KeyRange, SqlError};
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

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
        ScanExec {
            spec,
            dynamic: Vec::new(),
            started: Mutex::default(),
            properties: unordered(schema, partitions),
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
        let scan = Scan::new(spec.table.clone(), request).map_err(storage)?;
        *started = Some(scan.clone());
        Ok(scan)
    }

    /// The plan's conditions and those published while the query runs: on entries, and on rows.
    fn filters(&self) -> Result<(Option<ScanFilter>, Option<ScanFilter>)> {
        let (spec, output) = (&self.spec, self.schema());
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
            place.get_or_insert_with(none).add_dynamic(filter, table_column)?;
        }
        Ok((on_entries, on_rows))
    }
}

fn storage(e: StorageError) -> DataFusionError {
    external(SqlError::from(e))
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ScanExec: {} index={} ranges={}", self.spec.name, self.spec.index, self.spec.ranges.len())?;
        let of_plan = self.spec.index_filter.iter().chain(&self.spec.filter).flat_map(ScanFilter::predicates);
        for predicate in of_plan.chain(&self.dynamic) {
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
        apply_expression_roots(&self.dynamic, f)
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
