//! `information_schema`, and the definitions of `performance_schema` and `mysql`: tables that are computed when they
//! are read. Columns and types are MySQL 8.0's.
//!
//! ```text
//!   definitions   the tables and their columns            definitions.rs
//!   objects       SCHEMATA, TABLES, VIEWS                 objects.rs
//!   columns       COLUMNS                                 columns.rs
//!   keys          STATISTICS, KEY_COLUMN_USAGE, ..        keys.rs
//!   buffer_pool   INNODB_BUFFER_..                        buffer_pool.rs
//!   statistics    COLUMN_STATISTICS, mysql.innodb_..      statistics.rs
//!   accounts      mysql.user, USER_PRIVILEGES, roles, ..  accounts.rs; columns: account_tables.rs
//!   extensions    PARTITIONS, KEYWORDS, PLUGINS, threads   extensions.rs; words: keywords.txt
//!   transactions  INNODB_TRX, INNODB_METRICS              transactions.rs
//!   server        COLLATIONS, PROCESSLIST, variables, ..  server.rs
//! ```

mod account_tables;
mod accounts;
mod buffer_pool;
mod columns;
mod definitions;
mod extensions;
mod keys;
mod objects;
mod server;
mod statistics;
mod transactions;

pub use buffer_pool::PoolFigures;

use super::{performance_schema, status, variables};
use crate::{
    catalog::{Snapshot, now_utc_micros},
    cost_tables,
    statement::{StatementContext, VirtualTables},
    system_schema,
    tables::TableSet,
};
use muster_algebra::TableDef;
use muster_types::{Result, SqlError, Value};
use std::sync::Arc;

/// The virtual tables that statements read.
pub struct InformationSchema;

impl VirtualTables for InformationSchema {
    fn table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        let mut tables = definitions::tables().iter().filter(|table| table.database == schema);
        tables.find(|table| table.name.eq_ignore_ascii_case(name)).cloned()
    }

    fn rows(&self, table: &TableDef, tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
        rows(table, tables, context)
    }
}

fn rows(table: &TableDef, tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let definitions = &tables.definitions;
    let rows = match table.name.as_str() {
        name if table.database == system_schema::MYSQL || ACCOUNT_TABLES.contains(&name) => {
            return of_accounts_or_statistics(table, tables, context);
        }
        "SCHEMATA" => objects::schemata(definitions, context),
        "TABLES" => objects::tables(tables, context)?,
        "VIEWS" => objects::views(definitions, context),
        "COLUMNS" => columns::columns(definitions, context),
        "COLUMN_STATISTICS" => statistics::column_statistics(tables, context)?,
        "STATISTICS" => keys::statistics(tables, context)?,
        "KEY_COLUMN_USAGE" => keys::key_column_usage(definitions, context),
        "CHECK_CONSTRAINTS" => keys::check_constraints(definitions, context),
        "REFERENTIAL_CONSTRAINTS" => keys::referential_constraints(definitions, context),
        "TABLE_CONSTRAINTS" => keys::table_constraints(definitions, context),
        "INNODB_BUFFER_PAGE" => buffer_pool::pages(definitions, context)?,
        "INNODB_BUFFER_PAGE_LRU" => buffer_pool::page_lru(definitions, context)?,
        "INNODB_BUFFER_POOL_STATS" => buffer_pool::pool_stats(context)?,
        "INNODB_TABLES" => objects::innodb_tables(definitions, context)?,
        "INNODB_TEMP_TABLE_INFO" => objects::temporary_tables(context)?,
        "INNODB_TRX" => transactions::innodb_trx(context)?,
        "INNODB_METRICS" => transactions::innodb_metrics(context)?,
        "data_locks" => performance_schema::data_locks(tables, context)?,
        "data_lock_waits" => performance_schema::data_lock_waits(context)?,
        "metadata_locks" => performance_schema::metadata_locks(tables, context)?,
        "COLLATIONS" => server::collations(),
        "CHARACTER_SETS" => server::character_sets(),
        "COLLATION_CHARACTER_SET_APPLICABILITY" => server::applicability(),
        "ENGINES" => server::engines(),
        "ESTIMATE_ERRORS" => statistics::estimate_errors(context)?,
        "OPTIMIZER_TRACE" => server::optimizer_trace(context),
        "PROCESSLIST" => server::processlist(context),
        "GLOBAL_STATUS" => server::pairs(status::status(context, true)),
        "SESSION_STATUS" => server::pairs(status::status(context, false)),
        "GLOBAL_VARIABLES" => server::pairs(variables::shown(context, true)),
        "SESSION_VARIABLES" => server::pairs(variables::shown(context, false)),
        "global_status" => server::pairs(status::status(context, true)),
        "session_status" => server::pairs(status::status(context, false)),
        "global_variables" => server::pairs(variables::shown(context, true)),
        "session_variables" => server::pairs(variables::shown(context, false)),
        "processlist" => extensions::processlist(context),
        "threads" => extensions::threads(context),
        "PARTITIONS" => extensions::partitions(tables, context)?,
        "PLUGINS" => extensions::plugins(),
        "KEYWORDS" => extensions::keywords(),
        "SCHEMATA_EXTENSIONS" => extensions::of_schemata(definitions, context),
        "TABLES_EXTENSIONS" => extensions::of_tables(tables, context)?,
        "COLUMNS_EXTENSIONS" => extensions::of_columns(definitions, context),
        "TABLE_CONSTRAINTS_EXTENSIONS" => extensions::of_constraints(definitions, context),
        // What Muster does not have, clients still look for.
        "EVENTS" | "FILES" | "PARAMETERS" | "ROUTINES" | "TABLESPACES" | "TRIGGERS" | "VIEW_ROUTINE_USAGE" => {
            Vec::new()
        }
        other => return Err(SqlError::internal(format!("no rows for information_schema.{other}"))),
    };
    Ok(rows)
}

/// The virtual tables that an account sees, without those that are stored.
fn virtual_tables_of<'a>(
    snapshot: &'a Snapshot,
    context: &'a StatementContext,
) -> impl Iterator<Item = &'static Arc<TableDef>> + 'a {
    definitions::tables().iter().filter(|table| {
        let is_seen = context.rights.sees_table(&table.database, &table.name);
        is_seen && snapshot.table(&table.database, &table.name).is_err()
    })
}

/// The start of the server, since when defaults are in force: microseconds since 1970, UTC.
fn started(context: &StatementContext) -> i64 {
    now_utc_micros() - i64::try_from(context.database.uptime().as_micros()).unwrap_or(0)
}

/// The tables of `information_schema` about accounts and rights.
const ACCOUNT_TABLES: [&str; 11] = [
    "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
    "APPLICABLE_ROLES",
    "COLUMN_PRIVILEGES",
    "ENABLED_ROLES",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_ATTRIBUTES",
    "USER_PRIVILEGES",
];

/// The rows of tables of `mysql`, and of those about accounts and rights.
fn of_accounts_or_statistics(
    table: &TableDef,
    tables: &TableSet,
    context: &StatementContext,
) -> Result<Vec<Vec<Value>>> {
    Ok(match table.name.as_str() {
        name @ ("server_cost" | "engine_cost") => cost_tables::default_rows(name, started(context)),
        "innodb_table_stats" => statistics::innodb_table_stats(tables, context)?,
        "innodb_index_stats" => statistics::innodb_index_stats(tables, context)?,
        "user" => accounts::user(context),
        "db" => accounts::db(context),
        "tables_priv" => accounts::tables_priv(context),
        "columns_priv" => accounts::columns_priv(context),
        "global_grants" => accounts::global_grants(context),
        "role_edges" => accounts::role_edges(context),
        "default_roles" => accounts::default_roles(context),
        "password_history" => accounts::password_history(context),
        "USER_PRIVILEGES" => accounts::user_privileges(context),
        "SCHEMA_PRIVILEGES" => accounts::schema_privileges(context),
        "TABLE_PRIVILEGES" => accounts::table_privileges(context),
        "COLUMN_PRIVILEGES" => accounts::column_privileges(context),
        "USER_ATTRIBUTES" => accounts::attributes(context),
        "APPLICABLE_ROLES" => accounts::applicable_roles(context, false),
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS" => accounts::applicable_roles(context, true),
        "ENABLED_ROLES" => accounts::enabled_roles(context),
        "ROLE_TABLE_GRANTS" => accounts::role_table_grants(context),
        "ROLE_COLUMN_GRANTS" => accounts::role_column_grants(context),
        // There are no routines and no proxies that rights could be given on.
        "procs_priv" | "proxies_priv" | "ROLE_ROUTINE_GRANTS" => Vec::new(),
        other => return Err(SqlError::internal(format!("no rows for {}.{other}", table.database))),
    })
}

fn text(s: impl Into<String>) -> Value {
    Value::Text(s.into())
}

fn uint(n: u64) -> Value {
    Value::UInt(n)
}

fn optional<T>(v: Option<T>, f: impl FnOnce(T) -> Value) -> Value {
    v.map_or(Value::Null, f)
}

fn yes_no(b: bool) -> Value {
    text(if b { "YES" } else { "NO" })
}
