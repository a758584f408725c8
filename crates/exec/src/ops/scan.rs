//! Reads a table. Conditions run inside storage, on the columns they need, before the others are decoded; so do the
//! filters that joins and top-N operators above publish while the query runs.

use super::{
    plan_methods::own_metrics,
    scan_filter::ScanFilter,
    scan_range::{Part, key_range},
    unordered,
};
use crate::{error::external, expr::Physical};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::{DataFusionError, Result, config::ConfigOptions, tree_node::TreeNodeRecursion};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr_common::physical_expr::{PhysicalExpr, snapshot_generation};
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, apply_expression_roots,
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown},
    metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder},
    stream::RecordBatchStreamAdapter,
};
use muster_storage::{BatchFilter, Scan, ScanRequest, StorageError, Table};
use muster_types::{KeyPart, KeyRange, SqlError};
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

/// The name of the metric that counts the rows that filters of joins and of top-N operators dropped.
pub const ROWS_DROPPED: &str = "rows_dropped";

/// Conditions of the plan, which storage checks.
#[derive(Clone, Default)]
pub struct ScanConditions {
    /// Checked on entries of a secondary index, before rows are fetched; over columns that the index holds.
    pub on_entries: Option<ScanFilter>,
    /// Checked on rows.
    pub on_rows: Option<ScanFilter>,
}

/// The operator.
pub struct ScanExec {
    source: Arc<ScanSource>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The state that all partitions of a scan share.
struct ScanSource {
    table: Arc<Table>,
    /// Name for EXPLAIN.
    name: String,
    /// The description of a scan. The conditions are put in when the scan starts.
    request: ScanRequest,
    conditions: ScanConditions,
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
    /// `name`: for EXPLAIN. `schema`: names of the columns that `request` asks for; it has no filters, `conditions` has
    /// them. `partitions`: cursors that share the work.
    pub fn new(
        table: Arc<Table>,
        name: String,
        request: ScanRequest,
        conditions: ScanConditions,
        schema: SchemaRef,
        partitions: usize,
    ) -> ScanExec {
        let properties = unordered(schema.clone(), partitions);
        let source =
            ScanSource { table, name, request, conditions, schema, dynamic: Vec::new(), started: Mutex::default() };
        ScanExec { source: Arc::new(source), properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    fn with_dynamic(&self, filters: impl IntoIterator<Item = Physical>) -> ScanExec {
        let source = self.source.with_dynamic(filters);
        let (properties, metrics) = (self.properties.clone(), ExecutionPlanMetricsSet::new());
        ScanExec { source: Arc::new(source), properties, metrics }
    }
}

impl ScanSource {
    /// Returns a scan with more filters that has not begun.
    fn with_dynamic(&self, filters: impl IntoIterator<Item = Physical>) -> ScanSource {
        ScanSource {
            table: self.table.clone(),
            name: self.name.clone(),
            request: self.request.clone(),
            conditions: self.conditions.clone(),
            schema: self.schema.clone(),
            dynamic: self.dynamic.iter().cloned().chain(filters).collect(),
            started: Mutex::default(),
        }
    }

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
                    // A value that the column cannot hold, as MEDIUMINT not every integer of its Arrow type, is no
                    // bound.
                    Ok(()) | Err(StorageError::WrongType { .. }) => {}
                    Err(e) => return Err(storage(e)),
                }
            }
        }
        Ok(started.scan.clone())
    }

    fn start(&self, dropped: &Count) -> Result<Arc<Scan>> {
        let ScanConditions { on_entries, on_rows } = self.conditions_now(dropped)?;
        let boxed = |f: Option<ScanFilter>| f.map(|f| Arc::new(f) as Arc<dyn BatchFilter>);
        let request = ScanRequest { index_filter: boxed(on_entries), filter: boxed(on_rows), ..self.request.clone() };
        Scan::new(self.table.clone(), request).map_err(storage)
    }

    /// The leading parts of the index's key that are columns of the output. Texts are compared by other bytes there
    /// than in filters.
    fn parts(&self) -> Vec<Part> {
        let schema = self.table.schema();
        let parts = schema.indexes.get(self.request.index).map_or(&[][..], |index| &index.parts);
        let part = |part: &KeyPart| {
            let column = self.request.columns.iter().position(|c| *c == part.column)?;
            (!schema.columns[part.column].ty.is_text()).then_some(Part { column, descending: part.descending })
        };
        parts.iter().map_while(part).collect()
    }

    /// The plan's conditions and those published while the query runs.
    fn conditions_now(&self, dropped: &Count) -> Result<ScanConditions> {
        let (request, output) = (&self.request, &self.schema);
        let mut conditions = self.conditions.clone();
        // Conditions see values, not codes.
        let table_column = |c: usize| {
            let field = &output.fields()[c];
            let field = match field.data_type() {
                DataType::Dictionary(_, values) => {
                    Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()))
                }
                _ => field.clone(),
            };
            (request.columns[c], field)
        };
        // Whether there is such an index is for storage to say.
        let tree = self.table.trees().get(request.index);
        let covers = |columns: &[usize]| tree.is_some_and(|t| t.layout().covers(columns));
        for filter in &self.dynamic {
            let columns: Vec<usize> = collect_columns(filter).iter().map(|c| request.columns[c.index()]).collect();
            let of_index = request.index > 0 && !covers(&request.columns) && covers(&columns);
            let place = if of_index { &mut conditions.on_entries } else { &mut conditions.on_rows };
            place.get_or_insert_with(ScanFilter::empty).add_dynamic(filter, table_column, dropped.clone())?;
        }
        Ok(conditions)
    }
}

fn storage(e: StorageError) -> DataFusionError {
    external(SqlError::from(e))
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let ScanSource { name, request, conditions, dynamic, .. } = &*self.source;
        write!(f, "ScanExec: {name} index={} ranges={}", request.index, request.ranges.len())?;
        let of_plan = conditions.on_entries.iter().chain(&conditions.on_rows).flat_map(ScanFilter::shown);
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

    own_metrics!();

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

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        // A limited scan must count the rows the plan meant.
        if !matches!(phase, FilterPushdownPhase::Post) || self.source.request.limit.is_some() {
            return Ok(FilterPushdownPropagation::all_unsupported(result));
        }
        let fields = self.source.request.columns.len();
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
        let mut left = source.request.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
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
