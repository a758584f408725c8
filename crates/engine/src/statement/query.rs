//! A query's way: bind, optimize, execute; and its rows on their way out.

use super::{Context, names::StatementTables};
use crate::{
    ColumnInfo, ResultSet, RowStream, rows,
    threads::{self, panic_error},
    virtual_tables::information_schema,
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use futures::{FutureExt, Stream, StreamExt};
use muster_algebra::{ColId, ColumnOrigin, Columns, Plan, Rel};
use muster_exec::{ExecContext, Profile};
use muster_sql::{BindEnv, Bound, Parameters, Query};
use muster_storage::{Counters, counters::Counter};
use muster_types::{Result, SqlError, Value};
use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{self, Poll},
    time::{Duration, Instant},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

/// A query ready to run.
pub struct Planned {
    pub plan: Plan,
    pub columns: Columns,
    pub outputs: Vec<(ColId, String)>,
    pub tables: Arc<StatementTables>,
}

/// Binds a query on a snapshot of the catalog that it keeps.
pub fn bind(
    context: &Arc<Context>,
    query: &Query,
    parameters: Parameters<'_>,
) -> Result<(Bound, Arc<StatementTables>)> {
    let tables = context.tables();
    let bound = context.with_session_values(|session| {
        muster_sql::bind_query(query, &BindEnv { catalog: &*tables, session, parameters })
    })?;
    Ok((bound, tables))
}

/// From names to a plan.
pub fn plan(context: &Arc<Context>, query: &Query, parameters: &[Value]) -> Result<Planned> {
    let (bound, tables) = bind(context, query, parameters.into())?;
    optimize(context, bound, tables)
}

/// With `sql_select_limit`.
pub fn optimize(context: &Context, bound: Bound, tables: Arc<StatementTables>) -> Result<Planned> {
    let rel = select_limit(context, bound.rel);
    optimize_whole(context, Bound { rel, ..bound }, tables)
}

/// All rows, whatever the session's limit is.
pub fn optimize_whole(context: &Context, bound: Bound, tables: Arc<StatementTables>) -> Result<Planned> {
    for warning in bound.warnings {
        context.warn(warning.code, warning.message);
    }
    let mut columns = bound.columns;
    let mut options = context.optimizer_options();
    options.hints = bound.hints;
    let optimized = muster_optimizer::optimize_hinted(bound.rel, &mut columns, &*tables, &options)?;
    for hint in &optimized.ignored_hints {
        let warning = SqlError::conflicting_hint(hint);
        context.warn(warning.code, warning.message);
    }
    Ok(Planned { plan: optimized.plan, columns, outputs: bound.outputs, tables })
}

/// `sql_select_limit`: for a SELECT without a LIMIT of its own.
fn select_limit(context: &Context, rel: Rel) -> Rel {
    let limit = context.variables.unsigned("sql_select_limit");
    match rel {
        Rel::Limit { .. } => rel,
        rel if limit == u64::MAX => rel,
        rel => Rel::Limit { input: Box::new(rel), offset: 0, count: Some(limit) },
    }
}

/// Plans and starts a SELECT, with the time that it may take: the number of its columns, and its rows.
pub async fn select(context: &Arc<Context>, query: &Query, parameters: &[Value]) -> Result<(usize, ResultSet)> {
    let limit_ms = muster_sql::max_execution_time(query).unwrap_or(context.variables.unsigned("max_execution_time"));
    let deadline = match limit_ms {
        0 => None,
        ms => context.started.checked_add(Duration::from_millis(ms)),
    };
    let (planning, query, parameters) = (context.clone(), query.clone(), parameters.to_vec());
    let planned = threads::blocking(move || plan(&planning, &query, &parameters)).await?;
    Ok((planned.outputs.len(), run(context, planned, deadline)?))
}

/// Starts a planned query. After `deadline` its rows end with error 3024.
pub fn run(context: &Arc<Context>, planned: Planned, deadline: Option<Instant>) -> Result<ResultSet> {
    run_profiled(context, planned, deadline, None)
}

/// Like [`run`], with measurements of every operator.
pub fn run_profiled(
    context: &Arc<Context>,
    planned: Planned,
    deadline: Option<Instant>,
    profile: Option<Arc<Profile>>,
) -> Result<ResultSet> {
    let Planned { plan, columns, outputs, tables } = planned;
    let infos = column_infos(&outputs, &columns, &tables);
    let positions = outputs
        .iter()
        .map(|(id, name)| {
            let at = plan.output.iter().position(|o| o == id);
            at.ok_or_else(|| SqlError::internal(format!("result column {name} is not in the plan")))
        })
        .collect::<Result<Vec<_>>>()?;
    context.shared.last_query_cost.store(plan.estimate.cost_ms.to_bits(), Relaxed);
    count_plan(&plan, &context.shared.counters);
    let exec = ExecContext { profile, ..context.exec(tables) };
    let stream = threads::rows(|| muster_exec::execute(&plan, &columns, &exec))?;
    let identity = positions.iter().copied().eq(0..plan.output.len());
    let stream = match identity {
        true => stream,
        false => stream.map(move |batch| project(&batch?, &positions)).boxed(),
    };
    Ok(ResultSet { columns: infos, rows: guard(context, stream, deadline) })
}

/// Counts up the status variables that tell how tables are read and sorted.
fn count_plan(plan: &Plan, counters: &Counters) {
    let counts = muster_explain::counters::count(plan);
    counters.add(Counter::select_scan, counts.select_scan);
    counters.add(Counter::select_full_join, counts.select_full_join);
    counters.add(Counter::select_range, counts.select_range);
    counters.add(Counter::select_full_range_join, counts.select_full_range_join);
    counters.add(Counter::sort_range, counts.sort_range);
    counters.add(Counter::sort_scan, counts.sort_scan);
    counters.add(Counter::created_tmp_tables, counts.created_tmp_tables);
}

fn project(batch: &RecordBatch, positions: &[usize]) -> Result<RecordBatch> {
    // Result columns may repeat a column, so the schema is made here rather than by RecordBatch::project.
    let schema = batch.schema();
    let fields: Vec<_> = positions.iter().map(|i| schema.field(*i).clone()).collect();
    let arrays = positions.iter().map(|i| batch.column(*i).clone()).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(arrow_schema::Schema::new(fields)), arrays, &options)
        .map_err(SqlError::internal)
}

/// What a client learns of the columns.
pub fn column_infos(outputs: &[(ColId, String)], columns: &Columns, tables: &StatementTables) -> Vec<ColumnInfo> {
    let info = |(id, name): &(ColId, String)| {
        let meta = columns.get(*id);
        let mut info = rows::column(name.clone(), meta.ty, meta.nullable);
        if let Some(origin) = &meta.origin {
            describe_origin(&mut info, origin, tables);
        }
        info
    };
    outputs.iter().map(info).collect()
}

fn describe_origin(info: &mut ColumnInfo, origin: &ColumnOrigin, tables: &StatementTables) {
    info.database.clone_from(&origin.database);
    info.table.clone_from(&origin.alias);
    info.org_table.clone_from(&origin.table);
    info.org_name.clone_from(&origin.column);
    let entry = tables.snapshot.schemas.get(&origin.database).and_then(|s| s.tables.get(&origin.table));
    let Some((def, at)) = entry.and_then(|e| Some((&e.def, e.def.column(&origin.column)?))) else { return };
    match information_schema::column_key(def, at) {
        "PRI" => info.primary_key = true,
        "UNI" => info.unique_key = true,
        "MUL" => info.multiple_key = true,
        _ => {}
    }
    info.auto_increment = def.columns[at].auto_increment;
}

/// Wraps rows so that KILL and `deadline` stop them, and a panic becomes an error.
fn guard(context: &Arc<Context>, stream: RowStream, deadline: Option<Instant>) -> RowStream {
    Guarded {
        inner: Some(stream),
        cancelled: Box::pin(context.cancel.clone().cancelled_owned()),
        deadline: deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into()))),
    }
    .boxed()
}

struct Guarded {
    /// `None` after the end or an error.
    inner: Option<RowStream>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    deadline: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Guarded {
    fn stopped(&mut self, cx: &mut task::Context<'_>) -> Option<SqlError> {
        if self.cancelled.poll_unpin(cx).is_ready() {
            return Some(SqlError::interrupted());
        }
        let late = self.deadline.as_mut().is_some_and(|d| d.poll_unpin(cx).is_ready());
        late.then(SqlError::timed_out)
    }
}

impl Stream for Guarded {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.inner.is_none() {
            return Poll::Ready(None);
        }
        let stopped = this.stopped(cx).map(Err);
        let polled = match (stopped, &mut this.inner) {
            (Some(stopped), _) => Poll::Ready(Some(stopped)),
            (None, Some(inner)) => std::panic::catch_unwind(AssertUnwindSafe(|| inner.poll_next_unpin(cx)))
                .unwrap_or_else(|panic| Poll::Ready(Some(Err(panic_error(&*panic))))),
            (None, None) => Poll::Ready(None),
        };
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            this.inner = None;
        }
        polled
    }
}

/// The first rows of a result, as values.
pub async fn first_values(mut result: ResultSet, rows_max: usize) -> Result<Vec<Vec<Value>>> {
    let mut out = Vec::new();
    while out.len() < rows_max
        && let Some(batch) = result.rows.next().await
    {
        let batch = batch?;
        for row in 0..batch.num_rows().min(rows_max - out.len()) {
            out.push(batch.columns().iter().map(|c| muster_storage::value_at(c, row)).collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(out)
}
