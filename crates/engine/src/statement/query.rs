//! The way of a query: bind, optimize, execute.

use super::{
    BindEnvironment, StatementContext, StatementTables,
    admitted::{self, Computation},
    execution, names, plan_counters, row_locking,
    rows::guard,
    rows::project,
};
use crate::{ColumnInfo, ResultSet, catalog::column_key, processes::RunningPlan, rows, variables};
use futures::StreamExt;
use muster_algebra::{ColId, ColumnOrigin, Columns, DefaultValue, Expr, Plan, Rel, ScalarFunction, Switch};
use muster_exec::Profile;
use muster_optimizer::{Limits, Options};
use muster_sql::{BindEnv, Blocked, Bound, Locking, Parameters, Query, Statement};
use muster_types::{Result, SqlError, SqlType, Value};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A plan that is expected to take so many milliseconds is measured as it runs, for EXPLAIN FOR CONNECTION.
const PROFILED_MS_MIN: f64 = 10.0;

/// A query ready to run.
pub struct Planned {
    pub plan: Arc<Plan>,
    pub columns: Arc<Columns>,
    pub outputs: Vec<(ColId, String)>,
    pub tables: Arc<StatementTables>,
}

/// Binds a query on a state of all tables that it keeps.
pub fn bind(
    context: &Arc<StatementContext>,
    query: &Query,
    parameters: Parameters<'_>,
) -> Result<(Bound, Arc<StatementTables>)> {
    bind_with(context, query, parameters, muster_sql::bind_query)
}

/// As [`bind`], with the columns that a client is shown.
pub fn bind_result(
    context: &Arc<StatementContext>,
    query: &Query,
    parameters: Parameters<'_>,
) -> Result<(Bound, Arc<StatementTables>)> {
    bind_with(context, query, parameters, muster_sql::bind_result)
}

fn bind_with(
    context: &Arc<StatementContext>,
    query: &Query,
    parameters: Parameters<'_>,
    bind: fn(&Query, &BindEnv<'_>) -> Result<Bound>,
) -> Result<(Bound, Arc<StatementTables>)> {
    loop {
        let (bound, tables) = StatementTables::resolve(context, StatementTables::new, |tables| {
            bind(query, &BindEnvironment::new(context).with(tables, parameters))
        })?;
        if tables.lock_to_read()? {
            return Ok((bound, tables));
        }
    }
}

/// From names to a plan.
pub fn plan(context: &Arc<StatementContext>, query: &Query, parameters: &[Value]) -> Result<Planned> {
    let Some(kept) = &context.kept else { return plan_anew(context, query, parameters) };
    if let Some(planned) = kept.plan(context)? {
        return Ok(planned);
    }
    let Some(text) = &kept.text else { return plan_anew(context, query, parameters) };
    match muster_sql::parse_under(text, context.session.variables.settings().modes)? {
        Statement::Query(query) => plan_anew(context, &query, &[]),
        _ => Err(SqlError::internal("a query has become another statement")),
    }
}

/// From names to a plan of a statement of which nothing is known.
fn plan_anew(context: &Arc<StatementContext>, query: &Query, parameters: &[Value]) -> Result<Planned> {
    let skips = |clauses: &[Locking]| clauses.iter().any(|clause| clause.blocked == Blocked::Skips);
    if !skips(&query.locking()) {
        let planned = plan_without(context, query, parameters, &[])?;
        // Binding has found the clauses of subqueries.
        if !skips(&context.inner_locking.lock()) {
            return Ok(planned);
        }
    }
    let planned = plan_without(context, query, parameters, &row_locking::SWITCHES_OFF)?;
    match row_locking::reads_prefixes(&planned.plan) {
        true => {
            let off: Vec<Switch> = row_locking::SWITCHES_OFF.into_iter().chain([Switch::AccessPath]).collect();
            plan_without(context, query, parameters, &off)
        }
        false => Ok(planned),
    }
}

/// A plan that does without what some switches allow.
fn plan_without(
    context: &Arc<StatementContext>,
    query: &Query,
    parameters: &[Value],
    off: &[Switch],
) -> Result<Planned> {
    let (bound, tables) = bind_result(context, query, parameters.into())?;
    if !query.locking().is_empty() || !context.inner_locking.lock().is_empty() || context.reads_lock() {
        tables.will_lock_rows();
    }
    let rel = match query.has_limit() {
        true => bound.rel,
        false => select_limit(context, bound.rel),
    };
    optimize_without(context, Bound { rel, ..bound }, tables, off)
}

/// From a bound query to a plan.
pub fn optimize(context: &StatementContext, bound: Bound, tables: Arc<StatementTables>) -> Result<Planned> {
    optimize_without(context, bound, tables, &[])
}

fn optimize_without(
    context: &StatementContext,
    bound: Bound,
    tables: Arc<StatementTables>,
    off: &[Switch],
) -> Result<Planned> {
    let mut options = options(context, &bound, &tables);
    off.iter().for_each(|switch| options.set(*switch, false));
    optimize_under(context, bound, tables, &options)
}

/// The share of the memory limit that operators which can go to files may take together.
const SPILLING_SHARE: f64 = 0.6;

/// What the optimizer may do for a bound query.
pub fn options(context: &StatementContext, bound: &Bound, tables: &StatementTables) -> Options {
    let mut options = variables::optimizer_options(&context.session.variables);
    let database = context.database.options();
    options.threads = if depends_on_order(&bound.rel) { 1 } else { database.threads };
    options.serial_ms_max = database.serial_ms_max;
    options.cost = options.cost.for_pages_of(database.page_size);
    let buffers = execution::buffers(&context.session.variables);
    options.cost.limits = Limits {
        memory_bytes: database.memory_limit_bytes as f64 * SPILLING_SHARE,
        join_buffer_bytes: buffers.join_bytes as f64,
        mrr_buffer_bytes: buffers.mrr_bytes as f64,
        threads: options.threads as f64,
    };
    options.hints = bound.hints.clone();
    options.interrupt = context.interrupt();
    options.trace = context.trace.get().cloned().unwrap_or_default();
    if tables.reads_newest() {
        // What the one plan locks or reads anew, the other one may not find as it was. And entries that are read are
        // locked.
        options.set(Switch::OrderFallback, false);
        options.set(Switch::LateFetch, false);
    }
    options
}

/// As [`optimize`], with the options that [`options`] has made.
pub fn optimize_under(
    context: &StatementContext,
    bound: Bound,
    tables: Arc<StatementTables>,
    options: &Options,
) -> Result<Planned> {
    for warning in bound.warnings {
        context.warn(warning.code, warning.message);
    }
    for note in bound.notes {
        context.note(note.code, note.message);
    }
    let mut columns = bound.columns;
    let optimized = match tables.reads_newest() && context.locks_gaps() {
        true => muster_optimizer::optimize_to_lock(bound.rel, &mut columns, &*tables, options)?,
        false => muster_optimizer::optimize_hinted(bound.rel, &mut columns, &*tables, options)?,
    };
    for hint in &optimized.ignored_hints {
        let warning = SqlError::conflicting_hint(hint);
        context.warn(warning.code, warning.message);
    }
    let (plan, columns) = (Arc::new(optimized.plan), Arc::new(columns));
    Ok(Planned { plan, columns, outputs: bound.outputs, tables })
}

/// Returns true if a query has a function that depends on the order of the rows: `LAST_INSERT_ID(id)`, `RAND(seed)`.
fn depends_on_order(rel: &Rel) -> bool {
    let mut depends = false;
    rel.exprs().into_iter().for_each(|expr| {
        expr.visit(&mut |e| {
            depends |= match e {
                Expr::Call {
                    function:
                        ScalarFunction::LastInsertId
                        | ScalarFunction::Session(_)
                        | ScalarFunction::AssignVariable
                        | ScalarFunction::ReadVariable,
                    ..
                } => true,
                Expr::Call { function: ScalarFunction::Library(function), args, .. } => {
                    function.is_volatile && !args.is_empty()
                }
                _ => false,
            };
        });
    });
    depends || rel.inputs().into_iter().any(depends_on_order)
}

/// `sql_select_limit`: for a SELECT without a LIMIT of its own.
fn select_limit(context: &StatementContext, rel: Rel) -> Rel {
    let limit = context.session.variables.unsigned("sql_select_limit");
    match limit {
        u64::MAX => rel,
        count => Rel::Limit { input: Box::new(rel), offset: 0, count: Some(count) },
    }
}

/// Plans and starts a SELECT, with the time that it may take.
pub fn select(context: &Arc<StatementContext>, query: &Query, parameters: &[Value]) -> Result<ResultSet> {
    let set_ms = context.session.variables.unsigned("max_execution_time");
    let limit_ms = muster_sql::max_execution_time(query).unwrap_or(set_ms);
    let deadline = match limit_ms {
        0 => None,
        ms => context.clock.started.checked_add(Duration::from_millis(ms)),
    };
    if let Some(deadline) = deadline {
        // A context is made for one statement.
        context.clock.deadline.get_or_init(|| deadline);
    }
    let mut planned = plan(context, query, parameters)?;
    let mut locking = query.locking();
    check_locking(context, query, &locking)?;
    locking.extend(context.inner_locking.lock().iter().cloned());
    if locking.is_empty() && context.reads_lock() {
        locking.push(Locking { exclusive: false, table: None, blocked: Blocked::Waits, inner: false });
    }
    if !locking.is_empty() {
        context.lock_what_is_read(&mut planned, &locking)?;
    }
    let result = run(context, planned, deadline, None)?;
    Ok(match context.counted_rows.get() {
        Some(counted) => ResultSet { rows: counted.of(result.rows, context.process.clone()), ..result },
        None => result,
    })
}

/// Errors 1142 and 3550 for rows that the account may not lock.
pub fn check_locking(context: &StatementContext, query: &Query, locking: &[Locking]) -> Result<()> {
    for clause in locking {
        for (table, _) in query.tables().into_iter().filter(|(_, shown)| clause.names(shown)) {
            let database = table.database.as_ref().or(context.session.current_database.as_ref());
            database
                .map_or(Ok(()), |database| names::check_locking(context, database, &table.name, clause.exclusive))?;
        }
    }
    Ok(())
}

/// Starts a planned query. After `deadline` its rows end with error 3024. `profile`: measurements of every operator go
/// there.
pub fn run(
    context: &StatementContext,
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
    context.process.last_query_cost.store(plan.estimate.cost.total_ms().to_bits(), Relaxed);
    plan_counters::count(&plan, &context.process.counters);
    let identity = positions.iter().copied().eq(0..plan.output.len());
    let is_long = plan.estimate.cost.worst_ms >= PROFILED_MS_MIN;
    let profile = profile.or_else(|| is_long.then(|| Profile::new(context.process.counters.clone())));
    context.process.set_running(RunningPlan {
        plan: plan.clone(),
        columns: columns.clone(),
        statistics: tables.clone(),
        profile: profile.clone(),
    });
    let exec = execution::exec_context(context, tables);
    let stream = admitted::rows(context, Computation { plan, columns, exec, profile }, deadline)?;
    let stream = match identity {
        true => stream,
        false => stream.map(move |batch| project(&batch?, &positions)).boxed(),
    };
    Ok(ResultSet { columns: infos, rows: guard(context, stream, deadline) })
}

/// The columns of a result as the client is told about them.
pub fn column_infos(outputs: &[(ColId, String)], columns: &Columns, tables: &StatementTables) -> Vec<ColumnInfo> {
    let info = |(id, name): &(ColId, String)| {
        let meta = columns.get(*id);
        let mut info = rows::column(name.clone(), meta.ty, columns.is_nullable_result(*id));
        info.decimals = meta.decimals;
        info.length = columns.length(*id);
        info.chosen = columns.is_chosen(*id);
        info.shape = columns.shape(*id);
        if let Some(origin) = &meta.origin {
            describe_origin(&mut info, origin, tables);
        }
        if let Some(shown) = columns.shown_origin(*id) {
            name_origin(&mut info, shown);
        }
        info
    };
    outputs.iter().map(info).collect()
}

fn name_origin(info: &mut ColumnInfo, origin: &ColumnOrigin) {
    info.database.clone_from(&origin.database);
    info.table.clone_from(&origin.alias);
    info.org_table.clone_from(&origin.table);
    info.org_name.clone_from(&origin.column);
}

fn describe_origin(info: &mut ColumnInfo, origin: &ColumnOrigin, tables: &StatementTables) {
    name_origin(info, origin);
    info.computed = false;
    let entry = tables.definitions().schemas.get(&origin.database).and_then(|s| s.tables.get(&origin.table));
    let found = entry.and_then(|e| Some((&e.def, e.def.column(&origin.column)?, &e.extras)));
    let Some((def, at, extras)) = found else { return };
    match column_key(def, at) {
        "PRI" => info.primary_key = true,
        "UNI" => info.unique_key = true,
        "MUL" => info.multiple_key = true,
        _ => {}
    }
    let column = &def.columns[at];
    info.auto_increment = column.auto_increment;
    info.no_default = !column.nullable && column.default.is_none() && !column.auto_increment;
    info.display_width = column.display_width;
    let is_timestamp = matches!(column.ty, SqlType::Timestamp { .. });
    info.on_update_now = is_timestamp && extras.on_update_now.contains(&at);
    let is_stamped = is_timestamp && column.default == Some(DefaultValue::CurrentTimestamp);
    info.filled_by_clock = is_stamped || info.on_update_now;
}
