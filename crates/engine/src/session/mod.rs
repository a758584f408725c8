//! One client's state: current database, variables, prepared statements.
//!
//! ```text
//!   Session      the public face                                     mod.rs
//!   run          which statement does what                           run.rs
//!     explain    EXPLAIN                                             explain.rs
//!     set        SET                                                 set.rs
//!     charsets   SET NAMES; what the client speaks and reads         charsets.rs
//!     prepared   PREPARE, EXECUTE, the protocol's prepared statements prepared.rs
//! ```

mod charsets;
mod explain;
mod prepared;
mod run;
mod set;

use crate::{
    Database, LocalFiles, Outcome, Prepared, ResultSet, RowStream,
    accounts::{Access, AccountKey},
    processes::SessionShared,
    statement::Context,
    threads::panic_error,
    variables::Variables,
    virtual_tables::information_schema,
};
use arrow_array::RecordBatch;
use futures::{FutureExt, Stream, StreamExt};
use muster_exec::{Reserved, Warning, Warnings};
use muster_sql::{Show, Statement};
use muster_storage::Counters;
use muster_types::{ErrorCode, Result, SqlError, Value, time_zone::TimeZone};
use parking_lot::Mutex;
use prepared::PreparedStatement;
use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{self, Poll},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

pub struct SessionOptions {
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub local_files: Arc<dyn LocalFiles>,
}

/// What SHOW WARNINGS has to tell of one statement.
#[derive(Default)]
struct Diagnostics {
    notes: Arc<Mutex<Vec<Warning>>>,
    /// Filled while rows are computed, and drained into `collected` when somebody asks.
    running: Arc<Warnings>,
    collected: Mutex<Vec<Warning>>,
    error: Option<SqlError>,
}

/// How bad a condition is, as SHOW WARNINGS names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

impl Diagnostics {
    fn all(&self) -> Vec<(Level, Warning)> {
        let mut collected = self.collected.lock();
        collected.extend(self.running.take());
        let notes = self.notes.lock();
        let error = self.error.as_ref().map(|e| Warning { code: e.code, message: e.message.clone() });
        let mut all: Vec<(Level, Warning)> = error.into_iter().map(|w| (Level::Error, w)).collect();
        all.extend(notes.iter().map(|w| (Level::Note, w.clone())));
        all.extend(collected.iter().map(|w| (Level::Warning, w.clone())));
        all.truncate(Warnings::MAX);
        all
    }
}

/// Statements that are at least as long are taken from the memory of queries until they run.
const COUNTED_TEXT_BYTES: usize = 4096;

pub struct Session {
    pub(crate) database: Arc<Database>,
    pub(crate) shared: Arc<SessionShared>,
    pub(crate) local_files: Arc<dyn LocalFiles>,
    user: String,
    host: String,
    /// Host pattern of the account that the login belongs to.
    account_host: String,
    current_database: Option<String>,
    /// Somebody types here: `interactive_timeout` counts.
    interactive: bool,
    pub(crate) variables: Variables,
    user_variables: Arc<HashMap<String, Value>>,
    prepared: HashMap<u32, PreparedStatement>,
    last_prepared_id: u32,
    /// Of `PREPARE name`, by name in lower case.
    named_statements: HashMap<String, PreparedStatement>,
    savepoints: Vec<String>,
    diagnostics: Diagnostics,
    /// Warnings and errors of the statement before the last: `@@warning_count` is read by a statement of its own.
    counts: (u64, u64),
}

/// The rows of a statement, which ends with them.
struct RowsOfStatement {
    rows: RowStream,
    shared: Arc<SessionShared>,
    number: u64,
    count: i64,
}

impl Stream for RowsOfStatement {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(cx);
        match &polled {
            Poll::Ready(Some(Ok(batch))) => self.count += batch.num_rows() as i64,
            Poll::Ready(None | Some(Err(_))) => {
                self.shared.found_rows.store(self.count, Relaxed);
                self.shared.end(self.number);
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for RowsOfStatement {
    fn drop(&mut self) {
        self.shared.end(self.number);
    }
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, options: SessionOptions) -> Session {
        let SessionOptions { user, host, database: current, local_files } = options;
        let counters = Counters::with_parent(database.counters().clone());
        let shared = database.sessions().add(&user, &host, counters);
        let account_host = database.accounts().find(&user, &host).map_or_else(String::new, |a| a.host);
        let variables = database.globals();
        let mut session = Session {
            database,
            shared,
            local_files,
            user,
            host,
            account_host,
            current_database: None,
            interactive: false,
            variables,
            user_variables: Arc::default(),
            prepared: HashMap::new(),
            last_prepared_id: 0,
            named_statements: HashMap::new(),
            savepoints: Vec::new(),
            diagnostics: Diagnostics::default(),
            counts: (0, 0),
        };
        if let Some(name) = current {
            // Who gives a database that is not there begins without one; the server has checked it at login.
            if let Err(e) = session.use_database(&name) {
                session.diagnostics.error = Some(e);
            }
        }
        session
    }

    /// Connection id (KILL, PROCESSLIST).
    pub fn id(&self) -> u32 {
        self.shared.id
    }

    /// Splits a text at `;` into statements, as written. A syntax error shows when a statement is executed.
    pub fn split(&self, sql: &str) -> Result<Vec<String>> {
        Ok(muster_sql::split(sql).into_iter().map(str::to_owned).collect())
    }

    /// Runs one statement.
    pub async fn execute(&mut self, sql: &str) -> Result<Outcome> {
        let parse = |sql: &str| Ok((Arc::new(muster_sql::parse(sql)?), Vec::new()));
        self.statement(sql.to_owned(), parse).await
    }

    /// Runs one statement and collects its rows (none for a statement without).
    pub async fn query(&mut self, sql: &str) -> Result<Vec<RecordBatch>> {
        match self.execute(sql).await? {
            Outcome::Ok { .. } => Ok(Vec::new()),
            Outcome::Rows(mut result) => {
                let mut batches = Vec::new();
                while let Some(batch) = result.rows.next().await {
                    batches.push(batch?);
                }
                Ok(batches)
            }
        }
    }

    pub fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        self.begin_diagnostics();
        self.count_question();
        let prepared = std::panic::catch_unwind(AssertUnwindSafe(|| self.prepare_statement(sql)));
        let prepared = prepared.unwrap_or_else(|panic| Err(panic_error(&*panic)));
        self.diagnostics.error = prepared.as_ref().err().cloned();
        prepared
    }

    /// `parameters` in order of the `?`.
    pub async fn execute_prepared(&mut self, id: u32, parameters: &[Value]) -> Result<Outcome> {
        let Some(prepared) = self.prepared.get(&id).cloned() else {
            let message = format!("Unknown prepared statement handler ({id}) given to mysqld_stmt_execute");
            return Err(SqlError::new(ErrorCode::UnknownStmtHandler, message));
        };
        if parameters.len() != prepared.parameters {
            let message = "Incorrect arguments to mysqld_stmt_execute";
            return Err(SqlError::new(ErrorCode::WrongArguments, message));
        }
        let parameters = parameters.to_vec();
        self.statement(prepared.text, move |_| Ok((prepared.statement, parameters))).await
    }

    pub fn close_prepared(&mut self, id: u32) {
        self.prepared.remove(&id);
    }

    /// COM_INIT_DB, USE.
    pub fn use_database(&mut self, database: &str) -> Result<()> {
        let name = if information_schema::is_name(database) {
            information_schema::NAME.to_owned()
        } else {
            self.access().check_use(database)?;
            let collation = self.database.catalog().snapshot().schema(database)?.collation;
            self.set_database_collation(collation);
            database.to_owned()
        };
        self.shared.set_database(Some(&name));
        self.current_database = Some(name);
        Ok(())
    }

    /// Ends with no current database: the one it was is gone.
    fn leave_database(&mut self) {
        self.current_database = None;
        self.shared.set_database(None);
    }

    fn set_database_collation(&mut self, collation: muster_types::Collation) {
        self.variables.put("character_set_database", Value::Text(collation.charset().into()));
        self.variables.put("collation_database", Value::Text(collation.name().into()));
    }

    pub fn database(&self) -> Option<&str> {
        self.current_database.as_deref()
    }

    /// Warnings of the last statement; those raised while its rows are computed are there once they have been read.
    pub fn warnings(&self) -> Vec<Warning> {
        self.diagnostics.all().into_iter().map(|(_, w)| w).collect()
    }

    /// Warnings of the last statement with their levels.
    pub fn diagnostics(&self) -> Vec<(Level, Warning)> {
        self.diagnostics.all()
    }

    /// A system variable of the session, as text; empty for one that is not there.
    pub fn variable(&self, name: &str) -> String {
        self.variables.text(name)
    }

    /// Sets what the server knows of the connection: `Ssl_cipher`, `Ssl_version` of SHOW STATUS.
    pub fn set_connection_status(&mut self, name: &'static str, value: &str) {
        self.shared.connection_status.lock().insert(name, value.to_owned());
    }

    /// COM_RESET_CONNECTION: variables, prepared statements and temporary state go; the login stays.
    pub fn reset(&mut self) {
        self.variables = self.database.globals();
        if self.interactive {
            self.variables.put("wait_timeout", self.variables.get("interactive_timeout"));
        }
        self.user_variables = Arc::default();
        self.prepared.clear();
        self.named_statements.clear();
        self.savepoints.clear();
        self.diagnostics = Diagnostics::default();
        self.counts = (0, 0);
        self.shared.found_rows.store(0, Relaxed);
        self.shared.row_count.store(-1, Relaxed);
        self.shared.last_insert_id.store(0, Relaxed);
        let snapshot = self.database.catalog().snapshot();
        let schema = self.current_database.as_ref().and_then(|d| snapshot.schemas.get(d));
        if let Some(schema) = schema {
            self.set_database_collation(schema.collation);
        }
    }

    /// The client says that somebody types: it may idle for `interactive_timeout`. Counts from the next reset or change
    /// of user.
    pub fn set_interactive(&mut self) {
        self.interactive = true;
    }

    /// Whether the user has SUPER, for whom the server keeps a connection.
    pub fn is_super(&self) -> bool {
        self.access().global().has(crate::accounts::Privilege::Super)
    }

    /// COM_CHANGE_USER, after the server has authenticated the new user.
    pub fn change_user(&mut self, user: &str, host: &str, database: Option<&str>) -> Result<()> {
        self.leave_database();
        self.reset();
        self.user = user.to_owned();
        self.host = host.to_owned();
        self.account_host = self.database.accounts().find(user, host).map_or_else(String::new, |a| a.host);
        self.shared.set_identity(user, host);
        database.map_or(Ok(()), |name| self.use_database(name))
    }

    /// Cancelled when the session is killed; `KILL QUERY` and [`Session::interrupter`] stop only what runs.
    pub fn killed(&self) -> CancellationToken {
        self.shared.killed.clone()
    }

    /// Stops the statement that runs now (Ctrl-C in the shell). Can be kept and used from another thread.
    pub fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let shared = self.shared.clone();
        Arc::new(move || shared.interrupt())
    }

    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    fn access(&self) -> Access {
        Access::new(self.database.accounts().list(), &self.user, &self.host, &self.account_host)
    }

    fn count_question(&self) {
        self.shared.commands.question();
        self.database.commands().question();
    }

    fn flush_status(&self) {
        self.shared.counters.reset();
        self.shared.commands.reset();
    }

    fn begin_diagnostics(&mut self) {
        let before = self.diagnostics.all();
        let errors = before.iter().filter(|(level, _)| *level == Level::Error).count();
        self.counts = (before.len() as u64, errors as u64);
        self.diagnostics = Diagnostics::default();
    }

    /// What a statement sees, with `cancel` to stop it.
    fn context(&self, cancel: CancellationToken) -> Arc<Context> {
        self.context_with(cancel, self.variables.clone())
    }

    fn context_with(&self, cancel: CancellationToken, variables: Variables) -> Arc<Context> {
        let time_zone = TimeZone::from_name(&variables.text("time_zone")).unwrap_or(TimeZone::System);
        let now = match variables.get("timestamp") {
            Value::Double(seconds) if seconds > 0.0 => (seconds * 1e6).round() as i64,
            _ => crate::ddl::now_utc_micros(),
        };
        Arc::new(Context {
            database: self.database.clone(),
            shared: self.shared.clone(),
            current_database: self.current_database.clone(),
            variables,
            user_variables: self.user_variables.clone(),
            access: self.access(),
            account: AccountKey { user: self.user.clone(), host: self.account_host.clone() },
            warnings: self.diagnostics.running.clone(),
            notes: self.diagnostics.notes.clone(),
            cancel,
            started: Instant::now(),
            now_utc_micros: now,
            time_zone,
            counts: self.counts,
        })
    }

    /// A context for work that is no statement of its own.
    pub(crate) fn context_outside(&self) -> Arc<Context> {
        self.context(self.shared.killed.child_token())
    }

    /// `long_query_time`.
    fn slow_after(&self) -> Duration {
        match self.variables.get("long_query_time") {
            Value::Double(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            _ => Duration::MAX,
        }
    }

    /// Begins a statement that is no SQL text (loading batches).
    pub(crate) fn begin(&mut self, text: &str) -> (Arc<Context>, u64) {
        self.begin_diagnostics();
        let (number, cancel) = self.shared.begin(text, self.slow_after());
        (self.context(cancel), number)
    }

    /// What a statement takes until it runs. Short ones are not counted. Error 1041.
    fn memory_for(&self, text: &str) -> Result<Option<Reserved>> {
        if text.len() < COUNTED_TEXT_BYTES {
            return Ok(None);
        }
        self.database.runtime().reserve("statement", muster_sql::footprint(text)).map(Some)
    }

    /// One statement, whatever it is: counts, runs, keeps its warnings, and survives it.
    async fn statement(
        &mut self,
        text: String,
        parse: impl FnOnce(&str) -> Result<(Arc<Statement>, Vec<Value>)>,
    ) -> Result<Outcome> {
        self.count_question();
        let (number, cancel) = self.shared.begin(&text, self.slow_after());
        let parsed = std::panic::catch_unwind(AssertUnwindSafe(|| Ok((self.memory_for(&text)?, parse(&text)?))));
        let parsed = parsed.unwrap_or_else(|panic| Err(panic_error(&*panic)));
        let (_memory, (statement, parameters)) = match parsed {
            Ok(parsed) => parsed,
            Err(e) => {
                self.begin_diagnostics();
                return self.ended(number, Err(e));
            }
        };
        self.shared.commands.count(&statement);
        self.database.commands().count(&statement);
        // These ask about the statement before them and leave its warnings as they are.
        if !matches!(&*statement, Statement::Show(Show::Warnings { .. } | Show::Errors { .. })) {
            self.begin_diagnostics();
        }
        if self.shared.killed.is_cancelled() {
            return self.ended(number, Err(SqlError::interrupted()));
        }
        let variables = self.hinted_variables(&statement);
        let context = self.context_with(cancel, variables);
        let run = AssertUnwindSafe(self.run(&context, statement, &parameters)).catch_unwind().await;
        let outcome = run.unwrap_or_else(|panic| Err(panic_error(&*panic)));
        self.ended(number, outcome)
    }

    /// Notes what became of a statement. One with rows ends when they have been read.
    pub(crate) fn ended(&mut self, number: u64, outcome: Result<Outcome>) -> Result<Outcome> {
        let row_count = match &outcome {
            Ok(Outcome::Ok { affected_rows, .. }) => i64::try_from(*affected_rows).unwrap_or(i64::MAX),
            _ => -1,
        };
        self.shared.row_count.store(row_count, Relaxed);
        if let Err(e) = &outcome {
            self.diagnostics.error = Some(e.clone());
        }
        match outcome {
            Ok(Outcome::Rows(result)) => {
                let rows = RowsOfStatement { rows: result.rows, shared: self.shared.clone(), number, count: 0 };
                Ok(Outcome::Rows(ResultSet { rows: rows.boxed(), ..result }))
            }
            other => {
                self.shared.end(number);
                other
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.database.sessions().remove(self.shared.id);
    }
}
