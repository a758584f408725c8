//! The session's values that binding asks for.

use super::{StatementContext, StatementTables};
use muster_sql::{BindEnv, Parameters, SessionValues, VariableScope};
use muster_types::{Collation, Result, Value, time_zone::TimeZone};
use std::sync::atomic::Ordering::Relaxed;

/// A statement's context as the binder asks it.
pub struct BindEnvironment<'a> {
    context: &'a StatementContext,
}

impl<'a> BindEnvironment<'a> {
    pub fn new(context: &'a StatementContext) -> BindEnvironment<'a> {
        BindEnvironment { context }
    }

    /// All that binding looks at besides the statement.
    pub fn with<'b>(&'b self, tables: &'b StatementTables, parameters: Parameters<'b>) -> BindEnv<'b> {
        BindEnv { catalog: tables, session: self, parameters }
    }
}

impl SessionValues for BindEnvironment<'_> {
    fn check_interrupt(&self) -> Result<()> {
        self.context.check_interrupt()
    }

    fn database(&self) -> Option<String> {
        self.context.session.current_database.clone()
    }

    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        self.context.system_variable(scope, name)
    }

    fn user_variable(&self, name: &str) -> Value {
        self.context.session.user_variables.get(&name.to_lowercase()).cloned().unwrap_or(Value::Null)
    }

    fn now_micros(&self) -> i64 {
        self.context.clock.now_micros()
    }

    fn utc_offset_micros(&self) -> i64 {
        self.context.clock.now_micros() - self.context.clock.now_utc_micros
    }

    fn time_zone(&self) -> TimeZone {
        self.context.clock.time_zone
    }

    fn user(&self) -> String {
        format!("{}@{}", self.context.rights.user, self.context.rights.host)
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.context.rights.account.user, self.context.rights.account.host)
    }

    fn connection_id(&self) -> u32 {
        self.context.process.id
    }

    fn last_insert_id(&self) -> u64 {
        self.context.process.last_insert_id.load(Relaxed)
    }

    fn found_rows(&self) -> i64 {
        self.context.process.found_rows.load(Relaxed)
    }

    fn row_count(&self) -> i64 {
        self.context.process.row_count.load(Relaxed)
    }

    fn version(&self) -> String {
        self.context.database.globals().text("version")
    }

    fn default_collation(&self) -> Collation {
        Collation::from_name(&self.context.session.variables.text("collation_connection")).unwrap_or(Collation::DEFAULT)
    }

    fn only_full_group_by(&self) -> bool {
        self.context.session.variables.text("sql_mode").split(',').any(|m| m == "ONLY_FULL_GROUP_BY")
    }
}
