//! SET, and values of expressions outside queries.

use super::Session;
use crate::{
    accounts::Privilege,
    statement::{Context, query},
    variables::{self, Variables, definitions::Definition},
};
use muster_sql::{Isolation, ScalarExpr, SetItem, SetValue, Statement, VariableScope};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Most user variables of a session, and bytes of one: they are kept until the session ends.
const USER_VARIABLES_MAX: usize = 10_000;

/// Variables that `SET_VAR` may set: those of MySQL (manual 7.1.8, "SET_VAR Hint Applies"), and MariaDB's for its joins.
const HINT_UPDATABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "join_cache_level",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_seeks_for_key",
    "max_sort_length",
    "mrr_buffer_size",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "windowing_use_high_precision",
];

/// The value of an expression without columns: the one row of `SELECT expression`. `parameters`: of the whole statement.
pub async fn evaluate(context: &Arc<Context>, expr: &ScalarExpr, parameters: &[Value]) -> Result<Value> {
    let tables = context.tables();
    let bound = context.with_session_values(|session| {
        muster_sql::bind_constant(
            expr,
            &muster_sql::BindEnv { catalog: &*tables, session, parameters: parameters.into() },
        )
    })?;
    if let Some((value, _)) = bound.literal() {
        return Ok(value.clone());
    }
    let planned = query::optimize_whole(context, bound, tables)?;
    let result = query::run(context, planned, None)?;
    let rows = query::first_values(result, 1).await?;
    Ok(rows.into_iter().flatten().next().unwrap_or(Value::Null))
}

impl Session {
    /// The session's variables as the statement's `SET_VAR` hints change them. Warnings: 3128 for an unknown variable,
    /// 3637 for one that hints cannot set, 3126 for one that is set twice, and what SET would answer.
    pub(super) fn hinted_variables(&self, statement: &Statement) -> Variables {
        let mut variables = self.variables.clone();
        let executed = match statement {
            Statement::ExecutePrepared { name, .. } => self.named_statements.get(&name.to_lowercase()),
            _ => None,
        };
        let statement = executed.map_or(statement, |prepared| &*prepared.statement);
        let statement = if let Statement::Explain(explain) = statement { &*explain.statement } else { statement };
        let (Statement::Query(query) | Statement::SelectInto { query, .. }) = statement else { return variables };
        let warn = |e: SqlError| self.diagnostics.running.push(e.code, e.message);
        let mut set = Vec::new();
        for (name, value) in muster_sql::set_variables(query) {
            let Ok(definition) = variables::define(&name) else {
                let message = format!("Unresolved name '{name}' for SET_VAR hint");
                warn(SqlError::new(ErrorCode::UnresolvedHintName, message));
                continue;
            };
            if !HINT_UPDATABLE.contains(&definition.name) {
                let message = format!("Variable '{name}' cannot be set using SET_VAR hint.");
                warn(SqlError::new(ErrorCode::NotHintUpdatable, message));
                continue;
            }
            if set.contains(&definition.name) {
                let shown = value.to_text(6).unwrap_or_default();
                warn(SqlError::conflicting_hint(&format!("SET_VAR({name}={shown})")));
                continue;
            }
            set.push(definition.name);
            match self.checked(definition, value, &variables) {
                Ok(value) => variables.put(definition.name, value),
                Err(e) => warn(e),
            }
        }
        variables
    }

    /// The value as a variable takes it, with warning 1292 when it was cut to the variable's bounds.
    fn checked(&self, definition: &Definition, value: Value, current: &Variables) -> Result<Value> {
        let shown = value.to_text(6).unwrap_or_default();
        let checked = variables::check(definition, value, current)?;
        variables::check_supported(definition, &checked.value)?;
        if checked.truncated {
            let message = format!("Truncated incorrect {} value: '{shown}'", definition.name);
            self.diagnostics.running.push(ErrorCode::TruncatedWrongValue, message);
        }
        Ok(checked.value)
    }

    /// All assignments, left to right; every right side is evaluated before the first one counts, as in MySQL.
    pub(super) async fn set(&mut self, context: &Arc<Context>, items: &[SetItem], parameters: &[Value]) -> Result<()> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let expr = match item {
                SetItem::User { value, .. } => Some(value),
                SetItem::Variable { value: SetValue::Expr(expr), .. } => Some(expr),
                _ => None,
            };
            values.push(match expr {
                Some(expr) => evaluate(context, expr, parameters).await?,
                None => Value::Null,
            });
        }
        for (item, value) in items.iter().zip(values) {
            match item {
                SetItem::User { name, .. } => self.set_user_variable(name, value)?,
                SetItem::Variable { scope, persist, name, value: given } => {
                    if *persist {
                        return Err(SqlError::unsupported("SET PERSIST"));
                    }
                    let value = match given {
                        SetValue::Default => None,
                        SetValue::Word(word) => Some(Value::Text(word.clone())),
                        SetValue::Expr(_) => Some(value),
                    };
                    self.set_variable(context, *scope, name, value)?;
                }
                SetItem::Names { charset, collation } => self.set_names(charset.as_deref(), collation.as_deref())?,
                SetItem::CharacterSet(charset) => self.set_character_set(charset.as_deref())?,
                SetItem::Transaction { scope, isolation, read_only } => {
                    self.set_transaction(context, *scope, *isolation, *read_only)?
                }
            }
        }
        Ok(())
    }

    pub(super) fn set_user_variable(&mut self, name: &str, value: Value) -> Result<()> {
        let name = name.to_lowercase();
        let all = Arc::make_mut(&mut self.user_variables);
        if all.len() >= USER_VARIABLES_MAX && !all.contains_key(&name) {
            let message = format!("too many user variables (at most {USER_VARIABLES_MAX})");
            return Err(SqlError::new(ErrorCode::CapacityExceeded, message));
        }
        all.insert(name, value);
        Ok(())
    }

    /// `value`: `None` for DEFAULT.
    fn set_variable(
        &mut self,
        context: &Context,
        scope: Option<VariableScope>,
        name: &str,
        value: Option<Value>,
    ) -> Result<()> {
        let definition = variables::define(name)?;
        let scope = scope.unwrap_or(VariableScope::Session);
        variables::check_settable(definition, scope)?;
        let global = scope == VariableScope::Global;
        if global {
            check_variables_admin(context)?;
        }
        let value = match value {
            Some(value) => value,
            // The session's default is the global value, the global one's is built in.
            None if global => Value::Text(definition.default.into()),
            None => self.database.globals().get(definition.name),
        };
        let value = match global {
            true => self.checked(definition, value, &self.database.globals())?,
            false => self.checked(definition, value, &self.variables)?,
        };
        if global {
            self.database.set_global(definition.name, value);
            return Ok(());
        }
        if matches!(definition.name, "last_insert_id" | "identity") {
            let id = match &value {
                Value::Int(i) => u64::try_from(*i).unwrap_or(0),
                Value::UInt(u) => *u,
                _ => 0,
            };
            self.shared.last_insert_id.store(id, Relaxed);
        }
        self.variables.put(definition.name, value.clone());
        match &value {
            Value::Text(text) => self.keep_charsets_together(definition.name, text),
            _ => Ok(()),
        }
    }

    fn set_transaction(
        &mut self,
        context: &Context,
        scope: Option<VariableScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        let level = isolation.map(|i| match i {
            Isolation::ReadUncommitted => "READ-UNCOMMITTED",
            Isolation::ReadCommitted => "READ-COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE-READ",
            Isolation::Serializable => "SERIALIZABLE",
        });
        let mut wanted = Vec::new();
        wanted.extend(level.map(|l| ("transaction_isolation", Value::Text(l.into()))));
        wanted.extend(read_only.map(|r| ("transaction_read_only", Value::Int(r.into()))));
        for (name, value) in wanted {
            match scope {
                Some(VariableScope::Global) => {
                    check_variables_admin(context)?;
                    self.database.set_global(name, value);
                }
                Some(VariableScope::Session) => self.variables.put(name, value),
                // For the next transaction only: every statement reads what is committed, so there is nothing to keep.
                None => {}
            }
        }
        Ok(())
    }
}

/// Error 1227.
fn check_variables_admin(context: &Context) -> Result<()> {
    if context.access.global().has(Privilege::Super) {
        return Ok(());
    }
    let message = "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN privilege(s) for this \
                   operation";
    Err(SqlError::new(ErrorCode::SpecificAccessDenied, message))
}
