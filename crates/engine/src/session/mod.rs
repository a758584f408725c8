//! One client: what it is logged in as, what it has set and prepared, and its statements.
//!
//! ```text
//!   Session         the public face; hands work to the statement threads   mod.rs
//!   State           what is kept from statement to statement               state.rs
//!     login         the client, its account and rights                     login.rs
//!     conditions    the error and the warnings of a statement              conditions.rs
//!     statement     a statement from its text to its end                   statement.rs
//!     dispatch      which statement does what                              dispatch.rs
//!     set           SET                                                    set.rs
//!     set_var       variables that a statement's hints change              set_var.rs
//!     charsets      SET NAMES; what the client speaks and reads            charsets.rs
//!     roles         SET ROLE; expired passwords                            roles.rs
//!     prepared      PREPARE, EXECUTE, the protocol's prepared statements   prepared.rs
//!     transaction   START TRANSACTION .. COMMIT, savepoints                transaction.rs
//!     lock_tables   LOCK TABLES, UNLOCK TABLES, FLUSH TABLES               lock_tables.rs
//!     implicit_commit   statements that end a transaction, or need one     implicit_commit.rs
//!     select_into   SELECT .. INTO @variable                               select_into.rs
//!     short_path    statements by key, run where they arrive               short_path/
//!     handler       HANDLER                                                handler.rs
//!     kill          KILL, FLUSH                                            kill.rs
//!     loading       batches and files of embedding programs                loading.rs
//! ```

mod charsets;
mod conditions;
mod dispatch;
mod handler;
mod implicit_commit;
mod kill;
mod loading;
mod lock_tables;
mod login;
mod prepared;
mod roles;
mod select_into;
mod set;
mod set_var;
mod short_path;
mod state;
mod statement;
mod transaction;

pub use crate::statement::Level;
pub use short_path::{ShortAnswer, ShortStatement};

use crate::{
    Database, LocalFiles, Outcome, Prepared, TransactionStatus,
    processes::{Begun, SessionShared},
    rows,
    short_path::CollectedRows,
    statement::StatementTables,
    tables::SessionTables,
    threads,
    transaction::SessionTransaction,
    virtual_tables::status,
    waiting,
};
use arrow_array::RecordBatch;
use futures::StreamExt;
use muster_algebra::{Statistics, TableDef};
use muster_exec::{QueryCounters, Warning};
use muster_storage::{LoadProgress, mutex::Mutex};
use muster_types::{Result, Value, charset::Charset};
use state::SessionState;
use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

pub struct SessionOptions {
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub local_files: Arc<dyn LocalFiles>,
}

/// One client's session. Its statements run on threads of their own, whose stacks are large enough for whatever a
/// client nests; the caller's thread only waits.
pub struct Session {
    database: Arc<Database>,
    process: Arc<SessionShared>,
    /// Locked while a statement runs.
    state: Arc<Mutex<SessionState>>,
    /// The statement that the short path has begun and left to the general one.
    begun_short: Option<Begun>,
    transaction: Arc<SessionTransaction>,
    tables: Arc<SessionTables>,
}

impl Database {
    /// A new session. Embedded callers are `root`; the server says who it has authenticated.
    pub fn session(self: &Arc<Self>, options: SessionOptions) -> Session {
        let state = SessionState::new(self.clone(), options);
        let (process, transaction) = (state.process.clone(), state.transaction.clone());
        let tables = state.tables.clone();
        let state = Arc::new(Mutex::new(state));
        Session { database: self.clone(), process, state, begun_short: None, transaction, tables }
    }
}

impl Session {
    /// Connection id (KILL, PROCESSLIST).
    pub fn id(&self) -> u32 {
        self.process.id
    }

    /// Splits a text at `;` into statements, as written. A syntax error shows when a statement is executed.
    pub fn split(&self, sql: &str) -> Result<Vec<String>> {
        Ok(muster_sql::split_under(sql, self.state.lock().modes()).into_iter().map(str::to_owned).collect())
    }

    /// Runs work on the session's state, on a thread for statements.
    async fn on_statement_thread<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SessionState) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let state = self.state.clone();
        threads::blocking(move || work(&mut state.lock())).await
    }

    /// Runs one statement as [`Session::on_statement_thread`], but where it arrives if that was looked up as a query
    /// that is over soon, and nobody else lives on the thread.
    async fn on_some_thread<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SessionState) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        if waiting::is_alone() {
            let mut state = self.state.lock();
            if state.has_light_query() {
                return work(&mut state);
            }
        }
        self.on_statement_thread(work).await
    }

    /// Runs one statement.
    pub async fn execute(&mut self, sql: &str) -> Result<Outcome> {
        let (short, answer) = self.execute_short(ShortStatement::Text(sql), CollectedRows::default()).await;
        match answer {
            ShortAnswer::Rows => rows::outcome(short.columns, &short.rows),
            ShortAnswer::Done(outcome) => outcome,
            ShortAnswer::General => self.execute_generally(sql).await,
        }
    }

    /// Runs one statement as [`Session::execute`], but not on the short path.
    pub async fn execute_generally(&mut self, sql: &str) -> Result<Outcome> {
        let begun = self.begin_generally(sql);
        let sql = sql.to_owned();
        self.on_some_thread(move |state| state.execute(&sql, begun)).await
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

    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        let sql = sql.to_owned();
        self.on_statement_thread(move |state| state.prepare(&sql)).await
    }

    /// `parameters` in order of the `?`.
    pub async fn execute_prepared(&mut self, id: u32, parameters: &[Value]) -> Result<Outcome> {
        let statement = ShortStatement::Prepared { id, values: parameters };
        let (short, answer) = self.execute_short(statement, CollectedRows::default()).await;
        match answer {
            ShortAnswer::Rows => rows::outcome(short.columns, &short.rows),
            ShortAnswer::Done(outcome) => outcome,
            ShortAnswer::General => self.execute_prepared_generally(id, parameters).await,
        }
    }

    /// Runs a prepared statement as [`Session::execute_prepared`], but not on the short path.
    pub async fn execute_prepared_generally(&mut self, id: u32, parameters: &[Value]) -> Result<Outcome> {
        let prepared = self.state.lock().prepared_for(id, parameters.len())?;
        let begun = self.begin_generally(&prepared.text);
        let parameters = parameters.to_vec();
        self.on_some_thread(move |state| state.execute_prepared(prepared, &parameters, begun)).await
    }

    pub fn close_prepared(&mut self, id: u32) {
        self.state.lock().close_prepared(id);
    }

    /// Loads rows into a table (`name` or `database.name`) and returns their number. Batches have all columns of the
    /// table in order, of the Arrow types that [`muster_types::SqlType`] documents. On an error (the iterator's too)
    /// the table is as it was. `progress` can be read meanwhile, and its `cancelled` set.
    pub async fn load_batches(
        &mut self,
        table: &str,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
        progress: Arc<LoadProgress>,
    ) -> Result<u64> {
        let begun = self.process.begin(&format!("load {table}"));
        let table = table.to_owned();
        self.on_statement_thread(move |state| state.load_batches(&table, batches, progress, begun)).await
    }

    /// Loads a file into a table (`name` or `database.name`) and returns the number of rows. Its kind follows from its
    /// name: `.csv` (RFC 4180 with a header that names columns), `.tbl` (fields ended by `|`), `.arrow` (IPC file or
    /// stream). On an error the table is as it was; a malformed row's error names file, line, column and value.
    pub async fn load_file(&mut self, table: &str, file: &Path, progress: Arc<LoadProgress>) -> Result<u64> {
        let begun = self.process.begin(&format!("load {} into {table}", file.display()));
        let (table, file) = (table.to_owned(), file.to_path_buf());
        self.on_statement_thread(move |state| state.load_file(&table, &file, progress, begun)).await
    }

    /// COM_INIT_DB, USE.
    pub fn use_database(&mut self, database: &str) -> Result<()> {
        let mut state = self.state.lock();
        state.check_password_changed(None)?;
        state.use_database(database)
    }

    /// The current database.
    pub fn database(&self) -> Option<String> {
        self.state.lock().current_database.clone()
    }

    /// Warnings of the last statement; those raised while its rows are computed are there once they have been read.
    pub fn warnings(&self) -> Vec<Warning> {
        self.diagnostics().into_iter().map(|(_, w)| w).collect()
    }

    /// Number of warnings, notes and errors of the last statement, also of those that are not kept.
    pub fn warning_count(&self) -> u64 {
        self.state.lock().conditions.diagnostics.counts().0
    }

    /// Warnings of the last statement with their levels.
    pub fn diagnostics(&self) -> Vec<(Level, Warning)> {
        self.state.lock().conditions.diagnostics.all()
    }

    /// A system variable of the session, as text; empty for one that is not there.
    pub fn variable(&self, name: &str) -> String {
        self.state.lock().variables.text(name)
    }

    /// How long the client may be silent.
    pub fn wait_timeout(&self) -> Duration {
        self.state.lock().variables.settings().silence_max
    }

    /// Sets what the server knows of the connection: `Ssl_cipher`, `Ssl_version` of SHOW STATUS.
    pub fn set_connection_status(&mut self, name: &'static str, value: &str) {
        self.process.connection_status.lock().insert(name, value.to_owned());
    }

    /// COM_RESET_CONNECTION: variables, prepared statements and temporary state go; the login stays.
    pub fn reset(&mut self) {
        self.state.lock().reset();
    }

    /// The client says that somebody types: it may idle for `interactive_timeout`. Counts from the next reset or change
    /// of user.
    pub fn set_interactive(&mut self) {
        self.state.lock().login.interactive = true;
    }

    /// Returns true if the user has SUPER, for whom the server keeps a connection.
    pub fn is_super(&self) -> bool {
        let state = self.state.lock();
        state.login.is_super(&state.database)
    }

    /// Says that the client has to change its password before it does anything else (error 1820). Ends with the next
    /// change of user.
    pub fn set_must_change_password(&mut self) {
        self.state.lock().login.must_change_password = true;
    }

    /// What OK packets tell of the session's transaction.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.transaction.status()
    }

    /// Returns true if a backslash in a literal is a character as others are, which OK packets tell clients: they
    /// escape values otherwise then.
    pub fn no_backslash_escapes(&self) -> bool {
        self.process.no_backslash_escapes.load(Relaxed)
    }

    /// The client counts rows that an UPDATE finds, not those that it changes (`CLIENT_FOUND_ROWS`).
    pub fn set_counts_found_rows(&mut self, on: bool) {
        self.state.lock().login.counts_found_rows = on;
    }

    /// COM_CHANGE_USER, after the server has authenticated the new user.
    pub fn change_user(&mut self, user: &str, host: &str, database: Option<&str>) -> Result<()> {
        self.state.lock().change_user(user, host, database)
    }

    /// The character set that the client's statements, names and parameters come in (`character_set_client`).
    pub fn client_charset(&self) -> Charset {
        self.state.lock().client_charset()
    }

    /// The character set that the client wants results in (`character_set_results`); `None`: each text in its own.
    pub fn results_charset(&self) -> Option<Charset> {
        self.state.lock().results_charset()
    }

    /// The text of statements as the client sent them. Error 1300 for bytes that are not of its character set.
    pub fn statement_text<'a>(&self, sql: &'a [u8]) -> Result<Cow<'a, str>> {
        let (charset, modes) = {
            let state = self.state.lock();
            (state.client_charset(), state.modes())
        };
        muster_sql::statement_text(charset, sql, modes)
    }

    /// Sets the collation whose number a client announced when it logged in. The global values stay if it is not known,
    /// and when it says no more than that they are right.
    pub fn set_client_collation(&mut self, id: u16) {
        self.state.lock().set_client_collation(id);
    }

    /// Returns true once COMMIT RELEASE or ROLLBACK RELEASE has ended the session.
    pub fn is_released(&self) -> bool {
        self.process.is_released()
    }

    /// Returns true once the session has asked the server to end (SHUTDOWN), which the server does when the client has
    /// the answer.
    pub fn asks_to_stop(&self) -> bool {
        self.process.asks_to_stop()
    }

    /// Cancelled when the session is killed; `KILL QUERY` and [`Session::interrupter`] stop only what runs.
    pub fn killed(&self) -> CancellationToken {
        self.process.killed.clone()
    }

    /// Stops the statement that runs now (Ctrl-C in the shell). Can be kept and used from another thread.
    pub fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let process = self.process.clone();
        Arc::new(move || process.interrupt())
    }

    /// The tables of a database, and the statistics with which the optimizer plans statements on them now. Error 1049
    /// when there is no such database.
    pub fn statistics(&self, database: &str) -> Result<(Vec<Arc<TableDef>>, Arc<dyn Statistics>)> {
        let state = self.state.lock();
        let tables = StatementTables::new(&state.context(self.killed(), state.variables.clone()));
        let schema = tables.definitions().schema(database)?;
        Ok((schema.tables.values().map(|entry| entry.def.clone()).collect(), tables))
    }

    /// Names and values of the counters that SHOW SESSION STATUS shows.
    pub fn status_counters(&self) -> Vec<(&'static str, u64)> {
        status::counter_values(&self.process.counters)
    }

    pub fn counters(&self) -> &Arc<QueryCounters> {
        &self.process.counters
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.database.user_locks().release_all(self.process.id);
        if self.tables.has_temporary() {
            // Their changes need not be undone.
            self.tables.drop_temporary();
        }
        self.database.sessions().remove(self.process.id);
    }
}
