//! The state that a session keeps from statement to statement.

use super::{
    SessionOptions,
    conditions::Conditions,
    handler::OpenHandler,
    login::Login,
    prepared::{PreparedStatements, PreparedUnder},
    short_path::ShortPath,
    transaction::NextTransaction,
};
use crate::{
    Database,
    catalog::now_utc_micros,
    processes::{SeenTransaction, SessionShared},
    statement::{Clock, KeptRun, SessionSnapshot, StatementContext},
    system_schema,
    tables::SessionTables,
    transaction::SessionTransaction,
    user_variables::UserVariables,
    variables::{self, OF_BINDING, Variables},
    virtual_tables::InformationSchema,
};
use muster_exec::QueryCounters;
use muster_storage::mutex::Mutex;
use muster_types::{Collation, Result, SqlModes, Value};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio_util::sync::CancellationToken;

pub struct SessionState {
    pub database: Arc<Database>,
    /// The tables that the session sees.
    pub tables: Arc<SessionTables>,
    pub process: Arc<SessionShared>,
    pub login: Login,
    pub current_database: Option<String>,
    pub variables: Variables,
    pub user_variables: Arc<UserVariables>,
    pub prepared: PreparedStatements,
    /// The tables that HANDLER has opened.
    pub handlers: Vec<OpenHandler>,
    pub short_path: ShortPath,
    pub transaction: Arc<SessionTransaction>,
    /// What SET TRANSACTION has said of the next transaction only.
    pub next_transaction: NextTransaction,
    pub conditions: Conditions,
}

impl SessionState {
    pub fn new(database: Arc<Database>, options: SessionOptions) -> SessionState {
        let SessionOptions { user, host, database: current, local_files } = options;
        let counters = QueryCounters::with_parent(database.counters());
        let process = database.sessions().add(&user, &host, counters);
        let login = Login::new(&database, user, host, local_files);
        let variables = database.globals();
        let transaction =
            SessionTransaction::new(process.id, database.metadata_locks().clone(), process.counters.clone());
        transaction.set_autocommit(variables.is_on("autocommit"));
        let seen: Arc<dyn SeenTransaction> = transaction.clone();
        let _ = process.transaction.set(Arc::downgrade(&seen));
        let mut state = SessionState {
            tables: Arc::new(database.tables().of_session()),
            database,
            process,
            login,
            current_database: None,
            variables,
            user_variables: Arc::default(),
            prepared: PreparedStatements::default(),
            handlers: Vec::new(),
            short_path: ShortPath::default(),
            transaction,
            next_transaction: NextTransaction::default(),
            conditions: Conditions::default(),
        };
        state.tell_modes();
        if let Some(name) = current {
            // A session that names an unknown database begins without one; the server has checked the name at login.
            if let Err(e) = state.use_database(&name) {
                state.conditions.diagnostics.set_error(e);
            }
        }
        state
    }

    pub fn use_database(&mut self, database: &str) -> Result<()> {
        let name = if let Some(schema) = system_schema::of_name(database) {
            self.login.rights(&self.database).check_use(schema)?;
            schema.to_owned()
        } else {
            self.login.rights(&self.database).check_use(database)?;
            let collation = self.database.tables().definitions().schema(database)?.collation;
            self.set_database_collation(collation);
            database.to_owned()
        };
        self.process.set_database(Some(&name));
        self.current_database = Some(name);
        Ok(())
    }

    /// Ends with no current database: the one it was is gone.
    pub fn leave_database(&mut self) {
        self.current_database = None;
        self.process.set_database(None);
    }

    fn set_database_collation(&mut self, collation: Collation) {
        self.variables.put("character_set_database", Value::Text(collation.charset().into()));
        self.variables.put("collation_database", Value::Text(collation.name().into()));
    }

    pub fn reset(&mut self) {
        self.abandon_transaction();
        self.tables.drop_temporary();
        self.variables = self.database.globals().with_costs_of(&self.variables);
        if self.login.interactive {
            self.variables.put("wait_timeout", self.variables.get("interactive_timeout"));
        }
        self.tell_modes();
        self.user_variables.clear();
        self.prepared.clear();
        self.handlers.clear();
        self.transaction.set_autocommit(self.variables.is_on("autocommit"));
        self.conditions = Conditions::default();
        self.process.found_rows.store(0, Relaxed);
        self.process.row_count.store(-1, Relaxed);
        self.process.last_insert_id.store(0, Relaxed);
        let definitions = self.database.tables().definitions();
        let schema = self.current_database.as_ref().and_then(|d| definitions.schemas.get(d));
        if let Some(schema) = schema {
            self.set_database_collation(schema.collation);
        }
    }

    pub fn change_user(&mut self, user: &str, host: &str, database: Option<&str>) -> Result<()> {
        self.leave_database();
        self.reset();
        self.login.change(&self.database, user, host);
        self.process.set_identity(user, host);
        database.map_or(Ok(()), |name| self.use_database(name))
    }

    /// The context that a statement runs with. `variables`: the session's, as the statement's hints change them.
    /// `cancel` stops it.
    pub fn context(&self, cancel: CancellationToken, variables: Variables) -> Arc<StatementContext> {
        Arc::new(self.new_context(self.current_database.clone(), cancel, variables.clone(), variables))
    }

    /// Makes a context as [`SessionState::context`] does, for a statement with what was kept of the session when it was
    /// prepared: the current database and the variables that decide its meaning.
    pub fn context_of_prepared(
        &self,
        (prepared, kept): (PreparedUnder, Option<KeptRun>),
        cancel: CancellationToken,
        variables: Variables,
    ) -> Arc<StatementContext> {
        let mut binding = prepared.variables;
        // What the statement's hints set counts for it.
        if !variables.is_same(&self.variables) {
            let names = OF_BINDING.iter().chain(&["group_concat_max_len"]);
            for name in names.filter(|name| variables.get(name) != self.variables.get(name)) {
                binding.put(name, variables.get(name));
            }
        }
        Arc::new(StatementContext { kept, ..self.new_context(prepared.database, cancel, variables, binding) })
    }

    /// Notes for the client what `sql_mode` says of its literals.
    pub fn tell_modes(&self) {
        let is_plain = self.modes().has(SqlModes::NO_BACKSLASH_ESCAPES);
        self.process.no_backslash_escapes.store(is_plain, Relaxed);
    }

    /// The modes of the session's `sql_mode`.
    pub fn modes(&self) -> SqlModes {
        self.variables.settings().modes
    }

    /// The context of a statement on the short path, which waits for nothing.
    pub fn context_in_place(&self, cancel: CancellationToken) -> Arc<StatementContext> {
        let variables = self.variables.clone();
        let context = self.new_context(self.current_database.clone(), cancel, variables.clone(), variables);
        Arc::new(StatementContext { in_place: true, ..context })
    }

    fn new_context(
        &self,
        current_database: Option<String>,
        cancel: CancellationToken,
        variables: Variables,
        binding: Variables,
    ) -> StatementContext {
        let settings = variables.settings();
        let clock = self.clock(settings);
        self.process.has_said_insert_id.store(false, Relaxed);
        let warns_of_divisions = settings.modes.has(SqlModes::ERROR_FOR_DIVISION_BY_ZERO);
        let warnings = &self.conditions.diagnostics.warnings;
        warnings.ignore_divisions(!warns_of_divisions);
        warnings.show_at_most(variables.unsigned("max_error_count") as usize);
        let context = StatementContext {
            database: self.database.clone(),
            tables: self.tables.clone(),
            session: SessionSnapshot {
                current_database,
                variables,
                binding,
                user_variables: self.user_variables.snapshot(),
                live_variables: self.user_variables.clone(),
                condition_counts: self.conditions.counts_before,
                counts_found_rows: self.login.counts_found_rows,
            },
            rights: self.login.rights(&self.database),
            diagnostics: self.conditions.diagnostics.clone(),
            clock,
            process: self.process.clone(),
            cancel,
            virtual_tables: &InformationSchema,
            transaction: self.transaction.clone(),
            in_place: false,
            kept: None,
            view: Mutex::default(),
            trace: OnceLock::new(),
            explains: AtomicBool::new(false),
            inner_locking: Mutex::default(),
            counted_rows: OnceLock::new(),
            filled_table: OnceLock::new(),
            postponed: Mutex::default(),
        };
        context.tables.set_temporary_bytes_max(context.session.variables.unsigned("max_tmp_session_space_usage"));
        context
    }

    /// The time of the statement that has begun.
    pub fn clock(&self, settings: &variables::Settings) -> Clock {
        Clock {
            started: self.process.began(),
            now_utc_micros: settings.timestamp_micros.unwrap_or_else(now_utc_micros),
            time_zone: settings.time_zone,
            deadline: Default::default(),
        }
    }
}
