//! Data definition.
//!
//! ```text
//!   databases      CREATE, ALTER, DROP DATABASE               databases.rs
//!   create_table   CREATE TABLE [LIKE]                        create_table.rs
//!     columns      a column's type, nullability, default      columns.rs, default.rs
//!     keys         a key's parts, names and limits            keys.rs
//!     functional   parts of keys that are expressions         functional.rs
//!     foreign_keys   foreign keys, and tables that refer to others  foreign_keys.rs
//!   expressions    CHECKs, generated columns, defaults       expressions.rs
//!   tables         DROP, TRUNCATE, RENAME TABLE               tables.rs
//!   analyze        ANALYZE TABLE                              analyze.rs
//!   checks         CHECK TABLE                                checks.rs
//!   maintenance    REPAIR and CHECKSUM TABLE                  maintenance.rs
//!   programs       DROP PROCEDURE, FUNCTION, TRIGGER, EVENT   programs.rs
//!   views          CREATE, ALTER and DROP VIEW                views.rs
//!   accounts       CREATE USER .. REVOKE                      accounts.rs
//!   show_create    definitions back as text                   show_create.rs
//! ```
//!
//! All of it blocks (files are made and synced) and runs on a blocking thread.

mod accounts;
mod analyze;
mod checks;
pub mod columns;
pub mod create_table;
mod databases;
mod default;
pub mod expressions;
pub mod foreign_keys;
mod functional;
pub mod keys;
pub mod maintenance;
mod programs;
pub mod show_create;
mod tables;
mod views;

pub use accounts::change_accounts;
pub use analyze::analyze;
pub use checks::check_tables;
pub use create_table::{UnfinishedTable, create_table, create_table_to_fill};
pub use databases::{alter_database, create_database, drop_database};
pub use default::shown as shown_default;
pub use maintenance::{checksum_tables, repair_tables};
pub use programs::drop_program;
pub use tables::{drop_tables, rename_tables, truncate_table};
pub use views::{create_view, drop_views};

use crate::{statement::StatementContext, system_schema};
use muster_types::{ErrorCode, Result, SqlError};

/// Longest name of a database, table, column or index, in characters (manual 9.2.1).
const MAX_NAME_CHARS: usize = 64;

/// Error 1044 for a change in information_schema, whoever asks.
pub fn check_not_virtual(context: &StatementContext, database: &str) -> Result<()> {
    if system_schema::is_name(database) {
        return Err(context.rights.database_denied(database));
    }
    Ok(())
}

/// Error 1059.
pub fn check_length(name: &str) -> Result<()> {
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
pub fn check_table_name(name: &str) -> Result<()> {
    check_length(name)?;
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(SqlError::new(ErrorCode::WrongTableName, format!("Incorrect table name '{name}'")));
    }
    Ok(())
}
