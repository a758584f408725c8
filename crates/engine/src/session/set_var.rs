//! Variables that a statement's `SET_VAR` hints change for as long as it runs.

use super::state::SessionState;
use crate::variables::{self, Variables};
use muster_sql::Statement;
use muster_types::{ErrorCode, SqlError};

/// Variables that `SET_VAR` may set: those of MySQL (manual 7.1.8, "SET_VAR Hint Applies"), and MariaDB's for its
/// joins.
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

impl SessionState {
    /// The session's variables as the statement's `SET_VAR` hints change them. Warnings: 3128 for an unknown variable,
    /// 3637 for one that hints cannot set, 3126 for one that is set twice, and what SET would answer.
    pub fn hinted_variables(&self, statement: &Statement) -> Variables {
        let mut variables = self.variables.clone();
        let executed = match statement {
            Statement::ExecutePrepared { name, .. } => self.prepared.named(name),
            _ => None,
        };
        let statement = executed.map_or(statement, |prepared| &*prepared.statement);
        let statement = if let Statement::Explain(explain) = statement { &*explain.statement } else { statement };
        let (Statement::Query(query) | Statement::SelectInto { query, .. } | Statement::SelectIntoFile { query, .. }) =
            statement
        else {
            return variables;
        };
        let warn = |e: SqlError| self.conditions.diagnostics.warnings.push(e.code, e.message);
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
            let is_typed = variables::check_type(definition, &value);
            match is_typed.and_then(|()| self.checked(definition, value, &variables)) {
                Ok(value) => variables.put(definition.name, value),
                Err(e) => warn(e),
            }
        }
        variables
    }
}
