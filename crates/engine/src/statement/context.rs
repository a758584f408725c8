//! What one statement runs with: the session as it was when the statement began.

use super::names::{self, StatementTables};
use crate::{
    ColumnInfo, Database, ProcessInfo,
    accounts::{Access, AccountKey},
    processes::SessionShared,
    variables::{
        self, Variables,
        definitions::{DEFINITIONS, Definition, Scope},
        optimizer_switch,
    },
    virtual_tables::information_schema::{PoolFigures, Viewpoint},
};
use muster_algebra::{Definer, Switch, TableDef, ViewDef};
use muster_exec::{Buffers, ExecContext, Warning, Warnings};
use muster_sql::{BindEnv, Bound, Query, SessionValues, VariableScope};
use muster_storage::{LoadProgress, ReadView, buffer_pool::BufferPool};
use muster_types::{Collation, ErrorCode, Result, SqlError, Value, time_zone::TimeZone};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::Ordering::{self, Relaxed},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

pub struct Context {
    pub database: Arc<Database>,
    pub shared: Arc<SessionShared>,
    pub current_database: Option<String>,
    pub variables: Variables,
    pub user_variables: Arc<HashMap<String, Value>>,
    pub access: Access,
    /// The account logged in as.
    pub account: AccountKey,
    pub warnings: Arc<Warnings>,
    /// Warnings of level Note.
    pub notes: Arc<Mutex<Vec<Warning>>>,
    pub cancel: CancellationToken,
    /// When the statement began.
    pub started: Instant,
    /// When the statement began, by the session's `timestamp`: microseconds since 1970-01-01 00:00:00 UTC.
    pub now_utc_micros: i64,
    pub time_zone: TimeZone,
    /// `@@warning_count` and `@@error_count`: of the statement before.
    pub counts: (u64, u64),
}

/// What became of a statement without rows of a table: DDL and its like.
#[derive(Debug, Default)]
pub struct Done {
    pub affected_rows: u64,
    pub info: String,
    /// Columns and rows, for statements that answer with a table (ANALYZE TABLE).
    pub result: Option<(Vec<ColumnInfo>, Vec<Vec<Value>>)>,
}

impl Done {
    pub fn rows(affected_rows: u64) -> Done {
        Done { affected_rows, ..Done::default() }
    }

    pub fn result(columns: Vec<ColumnInfo>, rows: Vec<Vec<Value>>) -> Done {
        Done { result: Some((columns, rows)), ..Done::default() }
    }
}

impl Context {
    /// Error 1046 without a current database.
    pub fn require_database(&self) -> Result<String> {
        self.current_database.clone().ok_or_else(|| SqlError::new(ErrorCode::NoDb, "No database selected"))
    }

    pub fn warn(&self, code: ErrorCode, message: impl Into<String>) {
        self.warnings.push(code, message);
    }

    pub fn note(&self, code: ErrorCode, message: impl Into<String>) {
        if self.variables.is_on("sql_notes") {
            let mut notes = self.notes.lock();
            if notes.len() < Warnings::MAX {
                notes.push(Warning { code, message: message.into() });
            }
        }
    }

    /// The catalog as this statement sees it.
    pub fn tables(self: &Arc<Self>) -> Arc<StatementTables> {
        let catalog = self.database.catalog();
        Arc::new(StatementTables::new(catalog.snapshot(), catalog.store().clone(), self.clone()))
    }

    pub fn exec(&self, tables: Arc<StatementTables>) -> ExecContext {
        ExecContext {
            runtime: self.database.runtime().clone(),
            tables,
            view: ReadView::latest(),
            counters: self.shared.counters.clone(),
            warnings: self.warnings.clone(),
            buffers: self.buffers(),
            text_bytes_max: usize::try_from(self.variables.unsigned("max_allowed_packet")).unwrap_or(usize::MAX),
            shared: Arc::default(),
            threads: self.database.options().threads,
            profile: None,
        }
    }

    /// Sizes of buffers. MySQL and MariaDB name the one of Multi-Range Read differently: the smaller setting counts.
    fn buffers(&self) -> Buffers {
        let bytes = |name| usize::try_from(self.variables.unsigned(name)).unwrap_or(usize::MAX);
        Buffers {
            join_bytes: bytes("join_buffer_size"),
            mrr_bytes: bytes("mrr_buffer_size").min(bytes("read_rnd_buffer_size")),
            sort_bytes: bytes("sort_buffer_size"),
        }
    }

    /// Binds a query; `database`: names without one are looked up there instead of in the current one.
    pub fn bind(&self, query: &Query, parameters: &[Value], database: Option<&str>) -> Result<Bound> {
        let catalog = self.database.catalog();
        let tables = StatementTablesRef { context: self, snapshot: catalog.snapshot() };
        let session = BindSession { context: self, database: database.or(self.current_database.as_deref()) };
        muster_sql::bind_query(query, &BindEnv { catalog: &tables, session: &session, parameters: parameters.into() })
    }

    /// Runs blocking work that looks at `progress.cancelled`, and sets it when the statement is cancelled.
    pub fn while_watching_kill<R>(&self, progress: &Arc<LoadProgress>, work: impl FnOnce() -> R) -> R {
        const POLL: Duration = Duration::from_millis(50);
        let done = std::sync::mpsc::channel::<()>();
        let (finished, waiting) = done;
        std::thread::scope(|scope| {
            let (cancel, progress) = (self.cancel.clone(), progress.clone());
            scope.spawn(move || {
                // Ends when the sender is dropped: with the work, or with its panic.
                while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = waiting.recv_timeout(POLL) {
                    if cancel.is_cancelled() {
                        progress.cancelled.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            });
            let result = work();
            drop(finished);
            result
        })
    }

    /// Local time when the statement began, microseconds since 1970-01-01 00:00:00.
    pub fn now_micros(&self) -> i64 {
        self.time_zone.from_utc(self.now_utc_micros)
    }

    /// What the optimizer may do: `optimizer_switch`, `range_optimizer_max_mem_size`.
    pub fn optimizer_options(&self) -> muster_optimizer::Options {
        let mut options = optimizer_switch::options(&self.variables.text("optimizer_switch"));
        // MariaDB's levels: from 3 on joins by hash, from 5 on batches of keys.
        let level = self.variables.unsigned("join_cache_level");
        for (switch, from) in [(Switch::JoinCacheHashed, 3), (Switch::JoinCacheBka, 5)] {
            let on = options.is_on(switch) && level >= from;
            options.set(switch, on);
        }
        options.range_optimizer_max_mem_size = self.variables.unsigned("range_optimizer_max_mem_size");
        options
    }

    /// The value of `@@[scope.]name`.
    pub fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        let definition = variables::define(name)?;
        if variables::reads_global(definition, scope)? {
            return Ok(self.database.globals().get(definition.name));
        }
        Ok(match definition.name {
            "warning_count" => Value::UInt(self.counts.0),
            "error_count" => Value::UInt(self.counts.1),
            "pseudo_thread_id" => Value::UInt(self.shared.id.into()),
            "last_insert_id" | "identity" => Value::UInt(self.shared.last_insert_id.load(Relaxed)),
            "timestamp" if self.variables.get("timestamp") == Value::Double(0.0) => {
                Value::Double(self.now_utc_micros as f64 / 1e6)
            }
            name => self.variables.get(name),
        })
    }
}

/// [`StatementTables`] for as long as a context is borrowed.
struct StatementTablesRef<'a> {
    context: &'a Context,
    snapshot: Arc<crate::catalog::Snapshot>,
}

impl muster_algebra::Catalog for StatementTablesRef<'_> {
    fn check_database(&self, database: &str) -> Result<()> {
        names::check_database(&self.snapshot, database)
    }

    fn table(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        names::table(&self.snapshot, self.context, database, name, definer)
    }

    fn view(&self, database: &str, name: &str, definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        names::view(&self.snapshot, self.context, database, name, definer)
    }

    fn virtual_rows(&self, table: &TableDef) -> Option<Result<Vec<Vec<Value>>>> {
        names::virtual_rows(&self.snapshot, self.context, table)
    }
}

/// The session with another current database.
struct BindSession<'a> {
    context: &'a Context,
    database: Option<&'a str>,
}

impl SessionValues for BindSession<'_> {
    fn database(&self) -> Option<String> {
        self.database.map(str::to_owned)
    }

    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        self.context.system_variable(scope, name)
    }

    fn user_variable(&self, name: &str) -> Value {
        self.context.user_variables.get(&name.to_lowercase()).cloned().unwrap_or(Value::Null)
    }

    fn now_micros(&self) -> i64 {
        self.context.now_micros()
    }

    fn utc_offset_micros(&self) -> i64 {
        self.context.now_micros() - self.context.now_utc_micros
    }

    fn time_zone(&self) -> TimeZone {
        self.context.time_zone
    }

    fn user(&self) -> String {
        format!("{}@{}", self.context.access.user, self.context.access.host)
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.context.account.user, self.context.account.host)
    }

    fn connection_id(&self) -> u32 {
        self.context.shared.id
    }

    fn last_insert_id(&self) -> u64 {
        self.context.shared.last_insert_id.load(Relaxed)
    }

    fn found_rows(&self) -> i64 {
        self.context.shared.found_rows.load(Relaxed)
    }

    fn row_count(&self) -> i64 {
        self.context.shared.row_count.load(Relaxed)
    }

    fn version(&self) -> String {
        self.context.database.globals().text("version")
    }

    fn default_collation(&self) -> Collation {
        Collation::from_name(&self.context.variables.text("collation_connection")).unwrap_or(Collation::DEFAULT)
    }

    fn only_full_group_by(&self) -> bool {
        self.context.variables.text("sql_mode").split(',').any(|m| m == "ONLY_FULL_GROUP_BY")
    }
}

impl Context {
    /// What binding asks the session.
    pub fn with_session_values<R>(&self, f: impl FnOnce(&dyn SessionValues) -> R) -> R {
        f(&BindSession { context: self, database: self.current_database.as_deref() })
    }
}

impl Viewpoint for Context {
    fn access(&self) -> &Access {
        &self.access
    }

    fn processes(&self) -> Vec<ProcessInfo> {
        self.database.processes()
    }

    fn variables(&self, global: bool) -> Vec<(String, String)> {
        let globals = self.database.globals();
        let shown = |d: &'static Definition| {
            let value = if global || d.scope == Scope::Global {
                globals.shown(d)
            } else {
                match self.system_variable(None, d.name) {
                    Ok(Value::Int(_)) | Err(_) => self.variables.shown(d),
                    Ok(value) => value.to_text(6).unwrap_or_default(),
                }
            };
            (d.name.to_owned(), value)
        };
        let wanted = |d: &&'static Definition| !global || d.scope != Scope::Session;
        DEFINITIONS.iter().filter(wanted).map(shown).collect()
    }

    fn status(&self, global: bool) -> Vec<(String, String)> {
        crate::status::status(&self.database, &self.shared, global)
    }

    fn time_zone(&self) -> TimeZone {
        self.time_zone
    }

    fn buffer_pool(&self) -> &Arc<BufferPool> {
        self.database.buffer_pool()
    }

    fn pool_figures(&self) -> PoolFigures {
        self.database.pool_figures()
    }
}
