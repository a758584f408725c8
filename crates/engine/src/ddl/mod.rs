//! Data definition.
//!
//! ```text
//!   databases      CREATE, ALTER, DROP DATABASE               databases.rs
//!   create_table   CREATE TABLE [LIKE]                        create_table.rs
//!     columns      a column's type, nullability, default      columns.rs, default.rs
//!     keys         a key's parts, names and limits            keys.rs
//!   tables         DROP, TRUNCATE, RENAME, ANALYZE TABLE      tables.rs
//!   indexes        CREATE and DROP INDEX, ALTER TABLE         indexes.rs
//!   views          CREATE and DROP VIEW                       views.rs
//!   show_create    definitions back as text                   show_create.rs
//! ```
//!
//! All of it blocks (files are made and synced) and runs on a blocking thread.

mod columns;
mod create_table;
mod databases;
mod default;
mod indexes;
mod keys;
pub mod show_create;
mod tables;
mod views;

pub use create_table::create_table;
pub use databases::{alter_database, create_database, drop_database};
pub use default::shown as shown_default;
pub use indexes::{alter_table, create_index, drop_index};
pub use tables::{analyze, drop_tables, rename_tables, truncate_table};
pub use views::{create_view, drop_views};

use crate::{statement::Context, virtual_tables::information_schema};
use muster_algebra::TableDef;
use muster_storage::StorageError;
use muster_types::{ErrorCode, Result, SqlError};

/// Longest name of a database, table, column or index, in characters (manual 9.2.1).
const MAX_NAME_CHARS: usize = 64;

/// Database and name of a table; error 1046 without a current database.
pub fn qualify(context: &Context, name: &muster_sql::TableName) -> Result<(String, String)> {
    let database = match &name.database {
        Some(d) => d.clone(),
        None => context.require_database()?,
    };
    Ok((database, name.name.clone()))
}

/// Error 1044 for a change in information_schema, whoever asks.
fn check_not_virtual(context: &Context, database: &str) -> Result<()> {
    if information_schema::is_name(database) {
        return Err(context.access.database_denied(database));
    }
    Ok(())
}

fn check_length(name: &str) -> Result<()> {
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(SqlError::new(ErrorCode::TooLongIdent, format!("Identifier name '{name}' is too long")));
    }
    Ok(())
}

/// Errors 1059 and 1102.
fn check_database_name(name: &str) -> Result<()> {
    check_length(name)?;
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(ErrorCode::WrongDbName, format!("Incorrect database name '{name}'")));
    }
    Ok(())
}

/// Errors 1059 and 1103.
fn check_table_name(name: &str) -> Result<()> {
    check_length(name)?;
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(ErrorCode::WrongTableName, format!("Incorrect table name '{name}'")));
    }
    Ok(())
}

/// A storage error while a table's rows are sorted into its trees, in MySQL's words.
pub fn storage_error(def: &TableDef, e: StorageError) -> SqlError {
    match e {
        StorageError::Duplicate { entry, index } => {
            let key = def.indexes.get(index).map_or("?", |i| &i.name);
            let message = format!("Duplicate entry '{entry}' for key '{}.{key}'", def.name);
            SqlError::new(ErrorCode::DupEntry, message)
        }
        StorageError::DiskFull { .. } => {
            SqlError::new(ErrorCode::DiskFull, format!("Disk full while writing table '{}': {e}", def.name))
        }
        other => other.into(),
    }
}

/// Microseconds since 1970-01-01 UTC.
pub fn now_utc_micros() -> i64 {
    chrono::Utc::now().timestamp_micros()
}
