//! Rows that come as Arrow batches: from generators and embedding programs.

use super::{RowSource, comes_checked, load_into, parse_name, target};
use crate::{
    dml::{LoadParts, load_rows},
    statement::StatementContext,
    tables::storage_error,
};
use arrow_array::{Array, RecordBatch};
use muster_algebra::TableDef;
use muster_storage::{DuplicatePolicy, LoadProgress, arrow_type};
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// Loads rows into a table (`name` or `database.name`) and returns their number.
pub fn load_batches(
    context: &Arc<StatementContext>,
    table: &str,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    progress: Arc<LoadProgress>,
) -> Result<u64> {
    let (name, policy) = (parse_name(table), DuplicatePolicy::Error);
    let entry = target(context, &context.tables.current(), &name)?;
    if context.transaction.is_open() || comes_checked(context, &entry) {
        let table = (entry.def.database.as_str(), entry.def.name.as_str());
        return load_rows(context, table, policy, LoadParts::default(), |take| {
            push_all(&entry.def, batches, &mut |batch| take(batch, &mut |_| ()))
        })
        .map(|(rows, _)| rows);
    }
    let (rows, _) = load_into(context, &name, policy, progress, RowSource::Caller, |entry, loader| {
        push_all(&entry.def, batches, &mut |batch| loader.push(batch).map_err(|e| storage_error(&entry.def, e)))
    })?;
    Ok(rows)
}

/// Checks and pushes all rows. Returns their number.
fn push_all(
    def: &TableDef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    push: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<u64> {
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        check(def, &batch, rows)?;
        rows += batch.num_rows() as u64;
        push(&batch)?;
    }
    Ok(rows)
}

/// Checks what storage relies on: the columns' number and types, and no NULL where none may be.
fn check(def: &TableDef, batch: &RecordBatch, rows_before: u64) -> Result<()> {
    if batch.num_columns() != def.columns.len() {
        return Err(SqlError::wrong_value_count(rows_before + 1));
    }
    for (column, array) in def.columns.iter().zip(batch.columns()) {
        let wanted = arrow_type(&column.ty);
        if array.data_type() != &wanted {
            let message =
                format!("column '{}' is {wanted} in Arrow's types, the batch has {}", column.name, array.data_type());
            return Err(SqlError::new(ErrorCode::WrongArguments, message));
        }
        if !column.nullable && array.null_count() > 0 {
            return Err(SqlError::new(ErrorCode::BadNull, format!("Column '{}' cannot be null", column.name)));
        }
    }
    Ok(())
}
