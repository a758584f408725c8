//! The session's values that binding asks for.

use super::{StatementContext, StatementTables, found_rows::CountedRows};
use crate::{
    accounts::{AccountKey, Privilege, graph},
    short_path::TextVariable,
    variables::{self, OF_BINDING, OF_PLANS, definitions::Kind},
};
use muster_sql::{BesideNumber, BindEnv, Locking, MomentValue, Parameters, SessionValues, VariableScope};
use muster_types::{Collation, Result, SqlModes, Value, charset::Charset, temporal::DateModes, time_zone::TimeZone};
use std::{
    cell::{Cell, RefCell},
    sync::atomic::Ordering::Relaxed,
};

/// A statement's context as the binder asks it.
pub struct BindEnvironment<'a> {
    context: &'a StatementContext,
    /// Somebody has asked for a value that may be another one for the next statement.
    is_of_the_moment: Cell<bool>,
    /// In a statement that is bound for all executions: the values that become parameters then, the first of which has
    /// this number.
    moments: Option<(usize, RefCell<Vec<MomentValue>>)>,
    /// The system variables whose values do not change as long as the bound statement serves.
    variables: &'a [TextVariable],
    /// The texts among the parameters that stand next to numbers.
    beside_numbers: RefCell<Vec<(usize, BesideNumber)>>,
}

impl<'a> BindEnvironment<'a> {
    pub fn new(context: &'a StatementContext) -> BindEnvironment<'a> {
        BindEnvironment {
            context,
            is_of_the_moment: Cell::new(false),
            moments: None,
            variables: &[],
            beside_numbers: RefCell::default(),
        }
    }

    /// For a statement that is bound for all executions with these values of `variables`: values of the moment become
    /// parameters, the first of which has the number `first`.
    pub fn for_all_moments(
        context: &'a StatementContext,
        first: usize,
        variables: &'a [TextVariable],
    ) -> BindEnvironment<'a> {
        BindEnvironment { moments: Some((first, RefCell::default())), variables, ..BindEnvironment::new(context) }
    }

    /// The values of the moment that have become parameters.
    pub fn moments(&self) -> Vec<MomentValue> {
        self.moments.as_ref().map_or_else(Vec::new, |(_, values)| values.borrow().clone())
    }

    /// The texts among the parameters that stand next to numbers, and next to what.
    pub fn beside_numbers(&self) -> Vec<(usize, BesideNumber)> {
        self.beside_numbers.borrow().clone()
    }

    /// Returns true if the bound statement holds values of the session or of the time, so that it does not serve again.
    pub fn is_of_the_moment(&self) -> bool {
        self.is_of_the_moment.get()
    }

    /// What a value of the moment is read from.
    fn of_the_moment(&self) -> &'a StatementContext {
        self.is_of_the_moment.set(true);
        self.context
    }

    /// All that binding looks at besides the statement.
    pub fn with<'b>(&'b self, tables: &'b StatementTables, parameters: Parameters<'b>) -> BindEnv<'b> {
        tables.begin_binding();
        BindEnv { catalog: tables, session: self, parameters }
    }
}

impl SessionValues for BindEnvironment<'_> {
    fn note_beside_number(&self, parameter: usize, beside: BesideNumber) {
        self.beside_numbers.borrow_mut().push((parameter, beside));
    }

    fn check_interrupt(&self) -> Result<()> {
        self.context.check_interrupt()
    }

    fn database(&self) -> Option<String> {
        self.context.session.current_database.clone()
    }

    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        if let Some(known) = self.variables.iter().find(|known| known.scope == scope && known.name == name) {
            return Ok(known.value.clone());
        }
        self.of_the_moment().system_variable(scope, name)
    }

    fn is_switch(&self, name: &str) -> bool {
        variables::define(name).is_ok_and(|definition| matches!(definition.kind, Kind::Bool))
    }

    fn kept_variable(&self, name: &str) -> Value {
        let session = &self.context.session;
        // Otherwise a kept plan would serve sessions that have another value.
        debug_assert!(OF_BINDING.contains(&name) || OF_PLANS.contains(&name), "{name} is not part of the plan's key");
        match name {
            // A prepared statement follows a limit that has grown.
            "group_concat_max_len" => {
                let longest = session.binding.unsigned(name).max(session.variables.unsigned(name));
                i64::try_from(longest).map_or(Value::UInt(longest), Value::Int)
            }
            name if OF_BINDING.contains(&name) => session.binding.get(name),
            name => session.variables.get(name),
        }
    }

    fn user_variable(&self, name: &str) -> Value {
        let variable = self.of_the_moment().session.user_variables.get(&name.to_lowercase());
        variable.map_or(Value::Null, |variable| variable.value.clone())
    }

    fn user_variable_collation(&self, name: &str) -> Option<Collation> {
        self.of_the_moment().session.user_variables.get(&name.to_lowercase())?.collation
    }

    fn now_datetime(&self) -> i64 {
        self.of_the_moment().clock.now_datetime()
    }

    fn utc_datetime(&self) -> i64 {
        self.of_the_moment().clock.utc_datetime()
    }

    fn moment_parameter(&self, value: MomentValue) -> Option<usize> {
        let (first, values) = self.moments.as_ref()?;
        let mut values = values.borrow_mut();
        let known = values.iter().position(|known| *known == value);
        Some(
            first
                + known.unwrap_or_else(|| {
                    values.push(value);
                    values.len() - 1
                }),
        )
    }

    fn date_modes(&self) -> DateModes {
        self.context.date_modes()
    }

    fn time_zone(&self) -> TimeZone {
        self.context.clock.time_zone
    }

    fn user(&self) -> String {
        let context = self.of_the_moment();
        format!("{}@{}", context.rights.user, context.rights.host)
    }

    fn current_user(&self) -> String {
        let context = self.of_the_moment();
        format!("{}@{}", context.rights.account.user, context.rights.account.host)
    }

    fn current_role(&self) -> String {
        let roles = &self.of_the_moment().rights.roles;
        match roles.is_empty() {
            true => "NONE".into(),
            false => roles.iter().map(AccountKey::in_backticks).collect::<Vec<_>>().join(","),
        }
    }

    fn roles_graph(&self) -> String {
        let context = self.of_the_moment();
        match context.rights.has_dynamic("ROLE_ADMIN") || context.rights.global().has(Privilege::Super) {
            true => graph::graphml(&context.database.accounts().list()),
            false => graph::EMPTY.into(),
        }
    }

    fn connection_id(&self) -> u32 {
        self.of_the_moment().process.id
    }

    fn last_insert_id(&self) -> u64 {
        self.of_the_moment().process.last_insert_id.load(Relaxed)
    }

    fn found_rows(&self) -> i64 {
        self.of_the_moment().process.found_rows.load(Relaxed)
    }

    fn lock_rows_of(&self, locking: Locking) {
        // A statement is bound again when a table has changed meanwhile.
        let mut known = self.of_the_moment().inner_locking.lock();
        if !known.contains(&locking) {
            known.push(locking);
        }
    }

    fn count_all_rows(&self, offset: u64, count: Option<u64>) -> bool {
        // A statement is bound again when a table has changed meanwhile.
        self.of_the_moment().counted_rows.get_or_init(|| CountedRows { offset, count });
        true
    }

    fn may_read_files(&self) -> bool {
        self.of_the_moment().rights.global().has(Privilege::File)
    }

    fn row_count(&self) -> i64 {
        self.of_the_moment().process.row_count.load(Relaxed)
    }

    fn version(&self) -> String {
        self.of_the_moment().database.globals().text("version")
    }

    fn default_collation(&self) -> Collation {
        Collation::from_name(&self.context.session.variables.text("collation_connection")).unwrap_or(Collation::DEFAULT)
    }

    fn client_charset(&self) -> Charset {
        Charset::from_name(&self.context.session.variables.text("character_set_client")).unwrap_or(Charset::Utf8mb4)
    }

    fn sql_modes(&self) -> SqlModes {
        let session = &self.context.session;
        let (prepared, now) = (session.binding.settings().modes, session.variables.settings().modes);
        prepared.without(SqlModes::OF_EXECUTION) | now.both(SqlModes::OF_EXECUTION)
    }
}
