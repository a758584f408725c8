//! Statements on the short path: the search for a plan, its first making, its run, and what the statement counts.

use super::{Session, state::SessionState, statement::Begun};
use crate::{
    Outcome,
    command_counters::Command,
    metadata_locks::TableUse,
    short_path::{
        Epoch, General, KeyAccess, Known, RowSink, RunEnd, RunFigures, Shape, ShortChange, ShortPlan, ShortWrite, Stop,
        Surroundings, is_small, parameterize, run,
    },
    statement::{BindEnvironment, StatementContext, StatementTables, plan_counters, query},
    threads,
    variables::{self, Variables},
};
use muster_algebra::{Hints, Plan, PlanOp, RowFetch, Scan, Switch};
use muster_explain::counters;
use muster_sql::{
    Isolation, Parameters, Statement,
    bind::{bind_delete, bind_insert, bind_update},
};
use muster_storage::Pages;
use muster_types::{Collation, KeyRange, Result, SqlType, TextKind, Value};
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// The plan that the cache has for a statement.
enum FoundPlan {
    Plan(Arc<ShortPlan>),
    Write(Arc<ShortWrite>),
}

/// A statement that may take the short path.
#[derive(Debug, Clone, Copy)]
pub enum ShortStatement<'a> {
    Text(&'a str),
    /// A prepared statement of the protocol with its values.
    Prepared {
        id: u32,
        values: &'a [Value],
    },
}

/// The answer of the short path to a statement.
pub enum ShortAnswer {
    /// It is yet to run on the general path.
    General,
    /// The sink has its rows.
    Rows,
    /// It has ended without rows.
    Done(Result<Outcome>),
}

/// What the short path keeps of a session from statement to statement.
#[derive(Default)]
pub struct ShortPath {
    settings: Option<Settings>,
    /// The statement that was looked for last: its key in the cache, its text with `?` for its values, and these.
    key: Vec<u8>,
    text: String,
    values: Vec<Value>,
    /// True if it is a prepared statement of the protocol.
    is_prepared: bool,
    /// True if the cache did not know it.
    is_unknown: bool,
    /// The states of tables and accounts that the cache was asked for.
    epoch: Option<Epoch>,
}

/// What a statement means besides its text, as long as the session's variables and names stay the same.
struct Settings {
    variables: Variables,
    database: Option<String>,
    user: String,
    account_host: String,
    /// By which the cache tells settings apart.
    number: u32,
    is_allowed: bool,
    collation: Collation,
    slow_after: Duration,
    /// `max_execution_time`; zero: as long as it takes.
    longest: Duration,
}

impl ShortPath {
    /// The values of the statement that was looked for last.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Notes a statement without values that the cache is not asked for.
    pub fn note(&mut self, text: &str, is_prepared: bool) {
        self.values.clear();
        text.clone_into(&mut self.text);
        (self.is_prepared, self.is_unknown) = (is_prepared, false);
    }

    /// Returns true if that is a prepared statement of the protocol.
    pub fn is_prepared(&self) -> bool {
        self.is_prepared
    }
}

impl Session {
    /// Runs a statement on the short path, on the caller's thread unless a page has to be read. Returns the sink, and
    /// what became of the statement.
    pub async fn execute_short<S>(&mut self, statement: ShortStatement<'_>, sink: S) -> (S, ShortAnswer)
    where
        S: RowSink + Default + Send + 'static,
    {
        self.begun_short = None;
        if let Some(outcome) = self.transact_short(statement).await {
            return (sink, ShortAnswer::Done(outcome));
        }
        let found = {
            let mut state = self.state.lock();
            let found = state.find_short(statement);
            found.map(|found| (found, state.begin_short(statement)))
        };
        match found {
            Some((FoundPlan::Plan(plan), begun)) => {
                let (sink, answered) = self.read_short(plan, begun, sink).await;
                (sink, if answered { ShortAnswer::Rows } else { ShortAnswer::General })
            }
            Some((FoundPlan::Write(write), begun)) => (sink, self.write_short(write, begun).await),
            None => (sink, ShortAnswer::General),
        }
    }

    /// Runs a plan. Returns the sink, and whether it has the statement's rows.
    async fn read_short<S>(&mut self, plan: Arc<ShortPlan>, begun: Begun, mut sink: S) -> (S, bool)
    where
        S: RowSink + Default + Send + 'static,
    {
        match self.state.lock().run_short(&plan, begun.0, None, &mut sink) {
            RunEnd::Rows(_) => return (sink, true),
            RunEnd::General => {
                self.begun_short = Some(begun);
                return (sink, false);
            }
            RunEnd::MustWait => self.begun_short = Some(begun.clone()),
        }
        let (state, process) = (self.state.clone(), self.process.clone());
        let read = move || {
            let mut state = state.lock();
            let longest = state.short_path.settings.as_ref().map_or(Duration::ZERO, |s| s.longest);
            let deadline = process.began().checked_add(longest).filter(|_| longest > Duration::ZERO);
            let stop = Stop { cancel: begun.1, deadline };
            let end = state.run_short(&plan, begun.0, Some(&stop), &mut sink);
            Ok((sink, matches!(end, RunEnd::Rows(_))))
        };
        threads::blocking(read).await.unwrap_or_default()
    }

    /// Begins a statement on the general path. One that the short path left goes on, so that what stopped it there
    /// stops it here, and its time counts from its first beginning.
    pub(super) fn begin_generally(&mut self, text: &str) -> Begun {
        self.begun_short.take().unwrap_or_else(|| self.process.begin(text))
    }
}

impl SessionState {
    /// The settings as they are now.
    fn settings(&mut self) -> &Settings {
        let known = self.short_path.settings.take().filter(|s| {
            s.variables.is_same(&self.variables)
                && s.database == self.current_database
                && s.user == self.user
                && s.account_host == self.account_host
        });
        let settings = known.unwrap_or_else(|| self.new_settings());
        self.short_path.settings.insert(settings)
    }

    fn new_settings(&self) -> Settings {
        let variables = &self.variables;
        let text = |name| variables.text(name);
        let names =
            ["collation_connection", "time_zone", "optimizer_switch", "group_concat_max_len", "sql_auto_is_null"];
        let names = names.into_iter().chain(variables::OF_BINDING.iter().copied());
        let database = self.current_database.as_deref();
        let all: Vec<String> = [self.user.clone(), self.host.clone(), self.account_host.clone()]
            .into_iter()
            .chain([format!("{database:?}")])
            .chain(names.map(text))
            .collect();
        let milliseconds = variables.unsigned("max_execution_time");
        Settings {
            number: self.database.plans().settings(all.join("\0")),
            is_allowed: variables::optimizer_options(variables).is_on(Switch::ShortPath)
                && variables.unsigned("sql_select_limit") == u64::MAX,
            collation: Collation::from_name(&text("collation_connection")).unwrap_or(Collation::DEFAULT),
            slow_after: self.slow_after(),
            longest: Duration::from_millis(milliseconds),
            variables: variables.clone(),
            database: self.current_database.clone(),
            user: self.user.clone(),
            account_host: self.account_host.clone(),
        }
    }

    /// Looks in the cache for the plan of a statement and notes its values. If the cache does not know the statement,
    /// that is noted too.
    fn find_short(&mut self, statement: ShortStatement<'_>) -> Option<FoundPlan> {
        self.short_path.is_unknown = false;
        let is_allowed = self.is_short_path_on();
        // Reads of such a transaction lock what they read.
        let shares = self.shares_transaction();
        let reads_lock = shares && self.characteristics().isolation == Isolation::Serializable;
        if !is_allowed || self.process.killed.is_cancelled() {
            return None;
        }
        let number = self.short_path.settings.as_ref()?.number;
        let ShortPath { key, text, values, is_prepared, is_unknown, epoch, .. } = &mut self.short_path;
        *is_prepared = matches!(statement, ShortStatement::Prepared { .. });
        match statement {
            ShortStatement::Text(sql) if parameterize(sql, text, values) => {}
            ShortStatement::Text(_) => return None,
            ShortStatement::Prepared { id, values: given } => {
                let prepared = self.prepared.by_id(id).filter(|p| p.parameters == given.len())?;
                let is_here = prepared.under.database == self.current_database;
                if !is_here
                    || prepared.under.variables.differ_for_binding(&self.variables)
                    || !is_small(&prepared.text, given.len())
                    || prepared.text.contains("/*")
                {
                    return None;
                }
                text.clone_from(&prepared.text);
                *values = given.to_vec();
            }
        }
        key.clear();
        key.extend_from_slice(&number.to_le_bytes());
        for value in &*values {
            key.push(class_of(value)?);
        }
        key.push(0);
        key.extend_from_slice(text.as_bytes());
        let (tables, accounts) = (self.database.tables().current(), self.database.accounts().list());
        *epoch = shares.then(|| Epoch::of(&tables, &accounts));
        match self.database.plans().get(key, &tables, &accounts) {
            Some(Known::Plan(_)) if reads_lock => None,
            Some(Known::Plan(plan)) => Some(FoundPlan::Plan(plan)),
            Some(Known::Write(write)) => Some(FoundPlan::Write(write)),
            Some(Known::General | Known::GeneralForNow) => None,
            None => {
                *is_unknown = true;
                None
            }
        }
    }

    /// Makes a plan for the statement that was looked for last, or notes that it has none. The stack is that of a
    /// thread for statements.
    pub fn learn_short_plan(&mut self) {
        if !std::mem::take(&mut self.short_path.is_unknown) {
            return;
        }
        let accounts = self.database.accounts().list();
        // What is warned of while the plan is made is not the statement's.
        let diagnostics = std::mem::take(&mut self.diagnostics);
        let context = self.context(self.process.killed.child_token(), self.variables.clone());
        self.diagnostics = diagnostics;
        let tables = StatementTables::new(&context);
        let known = self.make_short_plan(&context, &tables).unwrap_or(Known::General);
        self.database.plans().put(&self.short_path.key, known, Epoch::of(tables.set(), &accounts));
    }

    fn make_short_plan(&self, context: &Arc<StatementContext>, tables: &Arc<StatementTables>) -> Result<Known> {
        let ShortPath { text, values, settings, .. } = &self.short_path;
        let statement = muster_sql::parse_under(text, self.modes())?;
        let Statement::Query(query) = statement else { return self.make_short_write(context, tables, &statement) };
        if !query.locking().is_empty() {
            return Ok(Known::General);
        }
        let collation = settings.as_ref().map_or(Collation::DEFAULT, |s| s.collation);
        let types: Vec<SqlType> = values.iter().map(|value| type_of(value, collation)).collect();
        let environment = BindEnvironment::new(context);
        let bound = muster_sql::bind_query(&query, &environment.with(tables, Parameters::Types(&types)))?;
        if environment.is_of_the_moment() || !bound.warnings.is_empty() || bound.hints != Hints::default() {
            return Ok(Known::General);
        }
        let Some(shape) = Shape::of(&bound) else { return Ok(Known::General) };
        let general = query::plan(context, &query, values)?;
        if !Arc::ptr_eq(general.tables.set(), tables.set()) {
            // Definitions have changed meanwhile.
            return Ok(Known::GeneralForNow);
        }
        let Some((access, fetch)) = access(&shape, &general.plan) else { return Ok(Known::GeneralForNow) };
        let storage = muster_exec::TableSource::storage(&**tables, shape.table.id)?;
        let general = General {
            used: tables.used(),
            columns: query::column_infos(&general.outputs, &general.columns, &general.tables),
            counts: counters::count(&general.plan),
            cost_ms: general.plan.estimate.cost_ms,
            in_key_order: access.whole_rows && fetch == RowFetch::KeyOrder,
        };
        let plan = ShortPlan::new(shape, access, &storage, general);
        Ok(plan.map_or(Known::General, |plan| Known::Plan(Arc::new(plan))))
    }

    /// Binds a statement that changes rows for all values.
    fn make_short_write(
        &self,
        context: &Arc<StatementContext>,
        tables: &Arc<StatementTables>,
        statement: &Statement,
    ) -> Result<Known> {
        let ShortPath { values, settings, .. } = &self.short_path;
        let collation = settings.as_ref().map_or(Collation::DEFAULT, |s| s.collation);
        let types: Vec<SqlType> = values.iter().map(|value| type_of(value, collation)).collect();
        let to_change = StatementTables::to_change(context);
        if !Arc::ptr_eq(to_change.set(), tables.set()) {
            return Ok(Known::GeneralForNow);
        }
        let environment = BindEnvironment::new(context);
        let env = environment.with(&to_change, Parameters::Types(&types));
        let change = match statement {
            Statement::Insert(insert) => ShortChange::of_insert(bind_insert(insert, &env)?),
            Statement::Update(update) => ShortChange::of_update(bind_update(update, &env)?),
            Statement::Delete(delete) => ShortChange::of_delete(bind_delete(delete, &env)?),
            _ => None,
        };
        let change = change.filter(|_| !environment.is_of_the_moment());
        let write = change.map(|change| ShortWrite::new(change, tables.set(), Command::of(statement)));
        Ok(write.map_or(Known::General, |write| Known::Write(Arc::new(write))))
    }

    /// Returns true unless the session has turned the short path off, or its transaction can only be rolled back.
    pub fn is_short_path_on(&mut self) -> bool {
        self.settings().is_allowed && !self.transaction.is_half_undone()
    }

    /// Begins a statement.
    pub fn begin_short(&self, statement: ShortStatement<'_>) -> Begun {
        let text = match statement {
            ShortStatement::Text(sql) => sql,
            ShortStatement::Prepared { .. } => &self.short_path.text,
        };
        let slow_after = self.short_path.settings.as_ref().map_or(Duration::MAX, |s| s.slow_after);
        self.process.begin_timed(text, slow_after)
    }

    /// Runs a plan for the statement that was looked for last, and counts the statement if it has all its rows. With
    /// `stop` it waits for pages that are not in memory.
    fn run_short(&mut self, plan: &ShortPlan, number: u64, stop: Option<&Stop>, sink: &mut dyn RowSink) -> RunEnd {
        let Some(table) = plan.table() else { return RunEnd::General };
        let counters = self.process.counters.storage();
        let pages = match stop {
            Some(_) => Pages::All(counters),
            None => Pages::Resident { requests: Cell::new(0) },
        };
        self.open_implicitly();
        if !self.may_read_short(plan) {
            return RunEnd::General;
        }
        let view = self.transaction.read_view(|| self.database.newest_view());
        let (values, surroundings) = (&self.short_path.values, Surroundings { pages, view, stop });
        let end = catch_unwind(AssertUnwindSafe(|| run(plan, &table, values, surroundings, sink)));
        // The general path meets the same and tells the client.
        let end = end.unwrap_or(RunEnd::General);
        if let RunEnd::Rows(figures) = &end {
            self.count_short(plan, figures, number);
        }
        end
    }

    /// Returns true if a plan may be run now, without a wait for whoever has or wants the table for itself. Within a
    /// transaction the table is locked from then on, as the general path locks it.
    fn may_read_short(&self, plan: &ShortPlan) -> bool {
        let transaction = &self.transaction;
        if transaction.has_locked_tables() {
            return false;
        }
        if !transaction.is_open() {
            return transaction.locks().is_free_for_readers();
        }
        // Until it was locked, the table may have been replaced since the plan was found.
        let is_current = || {
            let (tables, accounts) = (self.database.tables().current(), self.database.accounts().list());
            self.short_path.epoch.as_ref().is_some_and(|epoch| epoch.is(&tables, &accounts))
        };
        plan.used().iter().all(|id| transaction.try_use_table(*id, TableUse::Read)) && is_current()
    }

    /// Counts a statement that has ended well.
    fn count_short(&mut self, plan: &ShortPlan, figures: &RunFigures, number: u64) {
        self.count_question();
        self.count_command(Command::SELECT);
        if self.short_path.is_prepared {
            self.count_command(Command::STMT_EXECUTE);
        }
        let counts = self.diagnostics.counts();
        self.condition_counts = counts;
        if counts != (0, 0) || Arc::strong_count(&self.diagnostics) > 1 {
            self.diagnostics = Arc::default();
        }
        let process = &self.process;
        plan.count(figures, &process.counters);
        plan_counters::add(plan.counts(), &process.counters);
        self.transaction.end_read();
        process.found_rows.store(i64::try_from(figures.rows).unwrap_or(i64::MAX), Relaxed);
        process.row_count.store(-1, Relaxed);
        process.last_query_cost.store(plan.cost_ms().to_bits(), Relaxed);
        process.end(number);
        self.spend_next_transaction();
    }

    /// Returns true if a statement takes the short path, as far as is known before it runs.
    pub fn is_short(&mut self, sql: &str) -> bool {
        let found = self.find_short(ShortStatement::Text(sql));
        if found.is_none() {
            self.learn_short_plan();
        }
        found.is_some() || self.find_short(ShortStatement::Text(sql)).is_some()
    }
}

/// A letter for each type of values that plans are made for; `None` for others.
fn class_of(value: &Value) -> Option<u8> {
    match value {
        Value::Int(_) => Some(b'i'),
        Value::UInt(_) => Some(b'u'),
        Value::Text(_) => Some(b't'),
        _ => None,
    }
}

/// The type of a parameter with values of this class.
fn type_of(value: &Value, collation: Collation) -> SqlType {
    match value {
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        _ => SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation },
    }
}

/// The way to the rows: by the index that the general path reads, or by a key of a unique one, which nothing beats.
fn access(shape: &Shape, general: &Plan) -> Option<(KeyAccess, RowFetch)> {
    let scan = scan_of(general);
    let is_by_key = |scan: &&Scan| {
        scan.ranges != [KeyRange::all()]
            && scan.steering.is_empty()
            && scan.index_condition.is_empty()
            && scan.distinct_prefix.is_none()
            && !stops_early(scan)
    };
    let chosen = scan.filter(is_by_key).and_then(|scan| Some((KeyAccess::of(shape, scan.index)?, scan.fetch)));
    chosen.or_else(|| {
        let mut all = (0..shape.table.indexes.len()).filter_map(|index| KeyAccess::of(shape, index));
        all.find(|access| access.single).map(|access| (access, RowFetch::EntryOrder))
    })
}

/// Returns true if the scan fetches the rows of the first entries only, in the order that is wanted. The short path
/// would read all entries of the range first.
fn stops_early(scan: &Scan) -> bool {
    scan.ordered && scan.limit.is_some() && !scan.is_covering() && scan.fetch == RowFetch::EntryOrder
}

/// The one scan of a plan.
fn scan_of(plan: &Plan) -> Option<&Scan> {
    match (&plan.op, plan.inputs().as_slice()) {
        (PlanOp::Scan(scan), _) => Some(scan),
        (_, [input]) => scan_of(input),
        _ => None,
    }
}
