//! SHOW and DESCRIBE: rows that the engine makes, with LIKE or WHERE over them.
//!
//! ```text
//!   tables          what each SHOW lists: columns and rows      tables.rs
//!   engine_status   SHOW ENGINE INNODB STATUS                   engine_status.rs
//!   engine_transactions   its parts about deadlocks and transactions   engine_transactions.rs
//!   privileges      SHOW PRIVILEGES                             privileges.rs
//!   conditions      SHOW WARNINGS, SHOW ERRORS                  conditions.rs
//!   told            what clients are told of the columns        told.rs
//!   filter          LIKE and WHERE                              mod.rs
//! ```

mod conditions;
mod engine_status;
mod engine_transactions;
mod privileges;
mod tables;
mod told;

pub use conditions::conditions;
pub use engine_transactions::latest_deadlock;

use crate::{
    ColumnInfo, Outcome, rows,
    statement::{BindEnvironment, StatementContext, StatementTables, query},
    system_schema,
    tables::TableSet,
};
use muster_sql::{Parameters, Show, ShowFilter, TableName};
use muster_types::{Collation, Result, SqlError, SqlModes, SqlType, Value, collation::like::LikePattern};
use std::sync::Arc;

/// Columns and rows of one SHOW.
pub struct Listing {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

/// SHOW of everything but the warnings, which are those of the statement before.
pub fn show(context: &Arc<StatementContext>, show: &Show) -> Result<Outcome> {
    let (listing, filter) = tables::listing(context, show)?;
    Ok(told::described(filtered(context, listing, filter)?, told::words_of(show)))
}

/// `DESCRIBE table [column or pattern]`.
pub fn describe(context: &Arc<StatementContext>, table: &TableName, pattern: Option<&str>) -> Result<Outcome> {
    let (database, name) = context.qualify(table)?;
    let listing = tables::columns(context, &database, &name, false)?;
    let filter = pattern.map(|p| ShowFilter::Like(p.to_owned()));
    Ok(told::described(filtered(context, listing, filter.as_ref())?, Some("COLUMNS")))
}

fn filtered(context: &Arc<StatementContext>, listing: Listing, filter: Option<&ShowFilter>) -> Result<Outcome> {
    let Listing { columns, mut rows } = listing;
    match filter {
        None => {}
        Some(ShowFilter::Like(pattern)) => {
            let collation = columns.first().and_then(|c| c.ty.collation()).unwrap_or(Collation::SYSTEM);
            let modes = context.session.binding.settings().modes;
            let escape = Some('\\').filter(|_| !modes.has(SqlModes::NO_BACKSLASH_ESCAPES));
            let pattern = LikePattern::new(pattern, escape, collation);
            rows.retain(|row| matches!(row.first(), Some(Value::Text(name)) if pattern.matches(name)));
        }
        Some(ShowFilter::Where(_)) => {
            let tables = StatementTables::new(context);
            let names: Vec<(&str, SqlType)> = columns.iter().map(|c| (c.name.as_str(), c.ty)).collect();
            let environment = BindEnvironment::new(context);
            let bound =
                muster_sql::bind_rows(&names, rows, filter, &environment.with(&tables, Parameters::Values(&[])))?;
            let planned = query::optimize(context, bound, tables)?;
            return Ok(Outcome::Rows(query::run(context, planned, None, None)?));
        }
    }
    rows::outcome(columns, &rows)
}

/// Rows of an `information_schema` table under SHOW's names: `(shown, source)`; those that `keep`.
pub fn select(
    context: &StatementContext,
    table: &str,
    columns: &[(&str, &str)],
    keep: impl Fn(&dyn Fn(&str) -> Value) -> bool,
) -> Result<Listing> {
    select_of(context, &context.database.tables().current(), table, columns, keep)
}

/// As [`select`], of what these tables are.
pub fn select_of(
    context: &StatementContext,
    tables: &TableSet,
    table: &str,
    columns: &[(&str, &str)],
    keep: impl Fn(&dyn Fn(&str) -> Value) -> bool,
) -> Result<Listing> {
    let virtual_tables = context.virtual_tables;
    let def = virtual_tables.table(system_schema::NAME, table);
    let def = def.ok_or_else(|| SqlError::internal(format!("no information_schema.{table}")))?;
    let all = virtual_tables.rows(&def, tables, context)?;
    let mut positions = Vec::with_capacity(columns.len());
    let mut infos = Vec::with_capacity(columns.len());
    for (shown, source) in columns {
        let at = def
            .column(source)
            .ok_or_else(|| SqlError::internal(format!("no {source} in information_schema.{table}")))?;
        positions.push(at);
        infos.push(rows::column(*shown, def.columns[at].ty, def.columns[at].nullable));
    }
    let rows = all
        .into_iter()
        .filter(|row| keep(&|name: &str| def.column(name).map_or(Value::Null, |i| row[i].clone())))
        .map(|row| positions.iter().map(|i| row[*i].clone()).collect())
        .collect();
    Ok(Listing { columns: infos, rows })
}
