//! The environment in which one statement runs.

use super::{Diagnostics, KeptRun, VirtualTables, found_rows::CountedRows};
use crate::{
    ColumnInfo, Database, Outcome,
    accounts::{Privilege, Rights},
    processes::SessionShared,
    rows,
    tables::SessionTables,
    transaction::SessionTransaction,
    user_variables::{UserVariable, UserVariables},
    variables::Variables,
};
use muster_algebra::TableId;
use muster_optimizer::{Interrupt, Trace};
use muster_sql::{Isolation, Locking, TableName};
use muster_storage::{ReadView, mutex::Mutex};
use muster_types::{
    ErrorCode, Result, SqlError, SqlType, Value,
    temporal::{DateModes, EpochMicros},
    time_zone::TimeZone,
};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// What one statement runs with: the database, its session, its rights and the way to stop it.
pub struct StatementContext {
    pub database: Arc<Database>,
    /// The tables that the session sees: its temporary ones in front of those of the database.
    pub tables: Arc<SessionTables>,
    /// The session as it was when the statement began.
    pub session: SessionSnapshot,
    pub rights: Arc<Rights>,
    pub diagnostics: Arc<Diagnostics>,
    pub clock: Clock,
    /// The part of the session that other sessions see.
    pub process: Arc<SessionShared>,
    /// Cancelled by KILL.
    pub cancel: CancellationToken,
    pub virtual_tables: &'static dyn VirtualTables,
    pub transaction: Arc<SessionTransaction>,
    /// True on the short path: the statement runs in the task of its connection, and gives up where it would have to
    /// wait.
    pub in_place: bool,
    /// The query that it is, if that was bound before.
    pub kept: Option<KeptRun>,
    /// What all reads of the statement see, once there was one.
    pub view: Mutex<Option<Arc<ReadView>>>,
    /// Where the optimizer notes what it considers; empty if nobody wants to know.
    pub trace: OnceLock<Trace>,
    /// True for EXPLAIN, which takes rights on what views read.
    pub explains: AtomicBool,
    /// The rows that subqueries, derived tables and views lock by clauses of their own.
    pub inner_locking: Mutex<Vec<Locking>>,
    /// The rows of a result that are delivered while all are counted (SQL_CALC_FOUND_ROWS).
    pub counted_rows: OnceLock<CountedRows>,
    /// The table that CREATE TABLE .. SELECT fills, which only this statement sees.
    pub filled_table: OnceLock<TableId>,
    /// A statement that may change temporary tables only has not begun to change stored ones yet: why it may not, if
    /// that is so.
    pub postponed: Mutex<Option<Option<SqlError>>>,
}

/// The session as it was when a statement began. What is large in it is shared with the session until that changes it.
pub struct SessionSnapshot {
    pub current_database: Option<String>,
    pub variables: Variables,
    /// The values that decide what the statement means ([`crate::variables::OF_BINDING`]): the session's, or those of
    /// when the statement was prepared.
    pub binding: Variables,
    pub user_variables: Arc<HashMap<String, UserVariable>>,
    /// The session's variables, to which expressions assign.
    pub live_variables: Arc<UserVariables>,
    /// `@@warning_count` and `@@error_count`: of the statement before.
    pub condition_counts: (u64, u64),
    /// The client counts rows that an UPDATE finds, not those that it changes (`CLIENT_FOUND_ROWS`).
    pub counts_found_rows: bool,
}

/// When a statement began.
pub struct Clock {
    pub started: Instant,
    /// Microseconds since 1970-01-01 00:00:00 UTC, by the session's `timestamp`.
    pub now_utc_micros: i64,
    pub time_zone: TimeZone,
    /// When a SELECT has taken as long as it may (`max_execution_time`); empty without a limit.
    pub deadline: OnceLock<Instant>,
}

impl Clock {
    /// The local datetime.
    pub fn now_datetime(&self) -> i64 {
        self.time_zone.local_datetime(EpochMicros(self.now_utc_micros))
    }

    /// The datetime in UTC.
    pub fn utc_datetime(&self) -> i64 {
        EpochMicros(self.now_utc_micros).datetime()
    }

    /// The statement's time as a column of this type stores it: with its digits of fraction, in UTC for a TIMESTAMP.
    pub fn now_stored(&self, ty: SqlType) -> i64 {
        let now = match ty {
            SqlType::Timestamp { .. } => self.utc_datetime(),
            _ => self.now_datetime(),
        };
        let unit = 10i64.pow(6 - u32::from(ty.fsp().min(6)));
        now.div_euclid(unit) * unit
    }
}

impl StatementContext {
    /// Error 1317 after KILL, 3024 after the deadline.
    pub fn check_interrupt(&self) -> Result<()> {
        check_interrupt(&self.cancel, self.clock.deadline.get().copied())
    }

    /// The check of [`StatementContext::check_interrupt`] in the form that the optimizer takes.
    pub fn interrupt(&self) -> Interrupt {
        let (cancel, deadline) = (self.cancel.clone(), self.clock.deadline.get().copied());
        Interrupt::new(move || check_interrupt(&cancel, deadline))
    }

    /// The view that all reads of the statement share.
    pub fn read_view(&self) -> Arc<ReadView> {
        let mut view = self.view.lock();
        let newest = || match self.transaction.is_open() || !self.reads_uncommitted() {
            true => self.database.newest_view(),
            false => ReadView::uncommitted(self.database.newest_view().low()),
        };
        let view = view.get_or_insert_with(|| self.transaction.read_view(newest));
        Arc::clone(view)
    }

    /// The view that the statement's reads have, if there is one already.
    pub fn known_view(&self) -> Option<Arc<ReadView>> {
        self.view.lock().clone().or_else(|| self.transaction.kept_view())
    }

    /// Returns true if the session's transactions see what others have not committed.
    fn reads_uncommitted(&self) -> bool {
        self.session.variables.settings().isolation == Isolation::ReadUncommitted
    }

    /// Makes the statement read what has been committed by now, and what its own transaction has changed, as statements
    /// that change rows do. Returns the view without the latter.
    pub fn read_newest(&self) -> Arc<ReadView> {
        let newest = self.database.newest_view();
        *self.view.lock() = Some(self.transaction.with_own_changes(Arc::clone(&newest)));
        newest
    }

    /// Returns true if the session's `sql_mode` makes values that do not fit an error.
    pub fn is_strict(&self) -> bool {
        self.session.variables.settings().is_strict
    }

    /// Returns true if `optimizer_switch` has indexes used that are invisible.
    pub fn uses_invisible_indexes(&self) -> bool {
        self.session.variables.text("optimizer_switch").contains("use_invisible_indexes=on")
    }

    /// What the session's `sql_mode` says about dates that the calendar does not have.
    pub fn date_modes(&self) -> DateModes {
        self.session.variables.settings().date_modes
    }

    /// The session's `foreign_key_checks`.
    pub fn checks_foreign_keys(&self) -> bool {
        self.session.variables.settings().checks_foreign_keys
    }

    /// Error 1046 without a current database.
    pub fn require_database(&self) -> Result<String> {
        let current = self.session.current_database.clone();
        current.ok_or_else(SqlError::no_database_selected)
    }

    /// Database and name of a table; error 1046 without a current database.
    pub fn qualify(&self, name: &TableName) -> Result<(String, String)> {
        let database = match &name.database {
            Some(database) => database.clone(),
            None => self.require_database()?,
        };
        Ok((database, name.name.clone()))
    }

    /// Error 1142 unless the account has a privilege on a table. It needs none on the session's temporary tables.
    pub fn check_table(&self, database: &str, table: &str, p: Privilege, command: &str) -> Result<()> {
        match self.tables.is_own(database, table) {
            true => Ok(()),
            false => self.rights.check_table(database, table, p, command),
        }
    }

    /// As [`StatementContext::check_table`], where the privilege on a column of the table will do.
    pub fn check_some_column(&self, database: &str, table: &str, p: Privilege, command: &str) -> Result<()> {
        match self.tables.is_own(database, table) {
            true => Ok(()),
            false => self.rights.check_some_column(database, table, p, command),
        }
    }

    /// As [`StatementContext::check_table`], for several privileges: error 1142 names those that are missing.
    pub fn check_table_all(&self, database: &str, table: &str, wanted: &[Privilege]) -> Result<()> {
        match self.tables.is_own(database, table) {
            true => Ok(()),
            false => self.rights.check_table_all(database, table, wanted),
        }
    }

    /// As [`StatementContext::check_some_column`], for several privileges: error 1142 names those that are missing.
    pub fn check_some_columns(&self, database: &str, table: &str, wanted: &[Privilege]) -> Result<()> {
        let on_columns = self.rights.on_columns(database, table);
        let missing: Vec<Privilege> = wanted.iter().copied().filter(|p| !on_columns.has(*p)).collect();
        self.check_table_all(database, table, &missing)
    }

    pub fn warn(&self, code: ErrorCode, message: impl Into<String>) {
        self.diagnostics.warnings.push(code, message);
    }

    /// Warns with the words of an error.
    pub fn warn_of(&self, warning: SqlError) {
        self.warn(warning.code, warning.message);
    }

    /// Warns of the names of a character set and of a collation that a later MySQL will not take.
    pub fn warn_of_charset(&self, charset: Option<&str>, collation: Option<&str>) {
        charset.and_then(muster_sql::deprecated_charset).into_iter().for_each(|warning| self.warn_of(warning));
        collation.and_then(muster_sql::deprecated_collation).into_iter().for_each(|warning| self.warn_of(warning));
    }

    pub fn note(&self, code: ErrorCode, message: impl Into<String>) {
        if self.session.variables.is_on("sql_notes") {
            self.diagnostics.note(code, message);
        }
    }
}

/// The result of a statement that returns no rows: DDL and its like.
#[derive(Debug, Default)]
pub struct Done {
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value that the statement has made, or `LAST_INSERT_ID(expr)`.
    pub last_insert_id: u64,
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

    /// Returns the outcome that the client gets.
    pub fn outcome(self) -> Result<Outcome> {
        match self.result {
            Some((columns, values)) => rows::outcome(columns, &values),
            None => Ok(Outcome::Ok {
                affected_rows: self.affected_rows,
                last_insert_id: self.last_insert_id,
                info: self.info,
            }),
        }
    }
}

/// Error 1317 once the statement is cancelled, 3024 once the deadline has passed.
fn check_interrupt(cancel: &CancellationToken, deadline: Option<Instant>) -> Result<()> {
    if cancel.is_cancelled() {
        return Err(SqlError::interrupted());
    }
    match deadline.is_some_and(|at| Instant::now() >= at) {
        true => Err(SqlError::timed_out()),
        false => Ok(()),
    }
}
