//! SHOW and DESCRIBE: rows that the engine makes, with LIKE or WHERE over them.
//!
//! ```text
//!   tables       what each SHOW lists: columns and rows      tables.rs
//!   status of the storage engine                         engine_status.rs
//!   filter       LIKE and WHERE                              mod.rs
//! ```

mod engine_status;
mod tables;

use crate::{
    ColumnInfo, Outcome, Session, ddl, rows,
    statement::{Context, query},
    virtual_tables::information_schema,
};
use muster_sql::{Show, ShowFilter, TableName};
use muster_types::{Collation, Result, Value, collation::like::LikePattern};
use std::sync::Arc;

/// Columns and rows of one SHOW.
pub(crate) struct Listing {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

impl Session {
    pub(crate) async fn show(&mut self, context: &Arc<Context>, show: &Show) -> Result<Outcome> {
        let (listing, filter) = match show {
            Show::Warnings { count, offset, limit } => {
                return tables::conditions(self.diagnostics(), false, *count, *offset, *limit);
            }
            Show::Errors { count, offset, limit } => {
                return tables::conditions(self.diagnostics(), true, *count, *offset, *limit);
            }
            other => tables::listing(context, other)?,
        };
        filtered(context, listing, filter)
    }
}

/// `DESCRIBE table [column or pattern]`.
pub(crate) fn describe(context: &Arc<Context>, table: &TableName, pattern: Option<&str>) -> Result<Outcome> {
    let (database, name) = ddl::qualify(context, table)?;
    let listing = tables::columns(context, &database, &name, false)?;
    let filter = pattern.map(|p| ShowFilter::Like(p.to_owned()));
    filtered(context, listing, filter.as_ref())
}

fn filtered(context: &Arc<Context>, listing: Listing, filter: Option<&ShowFilter>) -> Result<Outcome> {
    let Listing { columns, mut rows } = listing;
    match filter {
        None => {}
        Some(ShowFilter::Like(pattern)) => {
            let collation = columns.first().and_then(|c| c.ty.collation()).unwrap_or(Collation::Utf8mb4GeneralCi);
            let pattern = LikePattern::new(pattern, Some('\\'), collation);
            rows.retain(|row| matches!(row.first(), Some(Value::Text(name)) if pattern.matches(name)));
        }
        Some(ShowFilter::Where(_)) => {
            let tables = context.tables();
            let names: Vec<(&str, muster_types::SqlType)> = columns.iter().map(|c| (c.name.as_str(), c.ty)).collect();
            let bound = context.with_session_values(|session| {
                let env =
                    muster_sql::BindEnv { catalog: &*tables, session, parameters: muster_sql::Parameters::Values(&[]) };
                muster_sql::bind_rows(&names, rows, filter, &env)
            })?;
            let planned = query::optimize_whole(context, bound, tables)?;
            return Ok(Outcome::Rows(query::run(context, planned, None)?));
        }
    }
    rows::outcome(columns, &rows)
}

/// Rows of an `information_schema` table under SHOW's names: `(shown, source)`; those that `keep`.
pub(crate) fn select(
    context: &Context,
    table: &str,
    columns: &[(&str, &str)],
    keep: impl Fn(&dyn Fn(&str) -> Value) -> bool,
) -> Result<Listing> {
    let def = information_schema::table(table)
        .ok_or_else(|| muster_types::SqlError::internal(format!("no information_schema.{table}")))?;
    let all = information_schema::rows(&def, &context.database.catalog().snapshot(), context)?;
    let mut positions = Vec::with_capacity(columns.len());
    let mut infos = Vec::with_capacity(columns.len());
    for (shown, source) in columns {
        let at = def
            .column(source)
            .ok_or_else(|| muster_types::SqlError::internal(format!("no {source} in information_schema.{table}")))?;
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
