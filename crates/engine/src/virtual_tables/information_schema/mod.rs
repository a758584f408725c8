//! `information_schema`: tables that are computed when they are read. Columns and types are MySQL 8.0's.
//!
//! ```text
//!   definitions   the tables and their columns            definitions.rs
//!   objects       SCHEMATA, TABLES, VIEWS                 objects.rs
//!   columns       COLUMNS                                 columns.rs
//!   keys          STATISTICS, KEY_COLUMN_USAGE, ..        keys.rs
//!   buffer_pool   INNODB_BUFFER_..                        buffer_pool.rs
//!   server        COLLATIONS, PROCESSLIST, variables, ..  server.rs
//! ```

mod buffer_pool;
mod columns;
mod definitions;
mod keys;
mod objects;
mod server;

pub use buffer_pool::{PoolFigures, check_process};
pub use columns::column_key;

use crate::{ProcessInfo, accounts::Access, catalog::Snapshot};
use muster_algebra::TableDef;
use muster_storage::buffer_pool::BufferPool;
use muster_types::{Result, SqlError, Value, time_zone::TimeZone};
use std::sync::Arc;

pub const NAME: &str = "information_schema";

/// Whether this is the schema's name; case does not matter.
pub fn is_name(database: &str) -> bool {
    database.eq_ignore_ascii_case(NAME)
}

/// Who looks, and what only the session and the server know.
pub trait Viewpoint: Send + Sync {
    fn access(&self) -> &Access;
    fn processes(&self) -> Vec<ProcessInfo>;
    /// Names and values, sorted by name.
    fn variables(&self, global: bool) -> Vec<(String, String)>;
    fn status(&self, global: bool) -> Vec<(String, String)>;
    /// In which moments are shown.
    fn time_zone(&self) -> TimeZone;
    fn buffer_pool(&self) -> &Arc<BufferPool>;
    fn pool_figures(&self) -> PoolFigures;
}

/// A table by its name in any case.
pub fn table(name: &str) -> Option<Arc<TableDef>> {
    definitions::tables().iter().find(|t| t.name.eq_ignore_ascii_case(name)).cloned()
}

pub fn tables() -> &'static [Arc<TableDef>] {
    definitions::tables()
}

/// All rows of a table that this session may see.
pub fn rows(table: &TableDef, snapshot: &Snapshot, view: &dyn Viewpoint) -> Result<Vec<Vec<Value>>> {
    let rows = match table.name.as_str() {
        "SCHEMATA" => objects::schemata(snapshot, view),
        "TABLES" => objects::tables(snapshot, view),
        "VIEWS" => objects::views(snapshot, view),
        "COLUMNS" => columns::columns(snapshot, view),
        "STATISTICS" => keys::statistics(snapshot, view),
        "KEY_COLUMN_USAGE" => keys::key_column_usage(snapshot, view),
        "TABLE_CONSTRAINTS" => keys::table_constraints(snapshot, view),
        "INNODB_BUFFER_PAGE" => buffer_pool::pages(snapshot, view)?,
        "INNODB_BUFFER_PAGE_LRU" => buffer_pool::page_lru(snapshot, view)?,
        "INNODB_BUFFER_POOL_STATS" => buffer_pool::pool_stats(view)?,
        "COLLATIONS" => server::collations(),
        "CHARACTER_SETS" => server::character_sets(),
        "COLLATION_CHARACTER_SET_APPLICABILITY" => server::applicability(),
        "ENGINES" => server::engines(),
        "PROCESSLIST" => server::processlist(view),
        "GLOBAL_STATUS" => server::pairs(view.status(true)),
        "SESSION_STATUS" => server::pairs(view.status(false)),
        "GLOBAL_VARIABLES" => server::pairs(view.variables(true)),
        "SESSION_VARIABLES" => server::pairs(view.variables(false)),
        // What Muster does not have, clients still look for.
        "CHECK_CONSTRAINTS"
        | "EVENTS"
        | "PARAMETERS"
        | "PARTITIONS"
        | "PLUGINS"
        | "REFERENTIAL_CONSTRAINTS"
        | "ROUTINES"
        | "TRIGGERS" => Vec::new(),
        other => return Err(SqlError::internal(format!("no rows for information_schema.{other}"))),
    };
    Ok(rows)
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
