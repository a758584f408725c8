//! Result sets that the engine itself makes (SHOW, EXPLAIN).

use crate::{ColumnInfo, Outcome, ResultSet};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use futures::StreamExt;
use muster_algebra::ResultShape;
use muster_storage::{array_of, arrow_type};
use muster_types::{Result, SqlError, SqlType, Value};
use std::sync::Arc;

/// A computed column of a result.
pub fn column(name: impl Into<String>, ty: SqlType, nullable: bool) -> ColumnInfo {
    ColumnInfo {
        name: name.into(),
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        org_name: String::new(),
        ty,
        decimals: None,
        length: None,
        display_width: None,
        nullable,
        no_default: false,
        computed: true,
        chosen: false,
        shape: ResultShape::default(),
        primary_key: false,
        unique_key: false,
        multiple_key: false,
        auto_increment: false,
        filled_by_clock: false,
        on_update_now: false,
        told: None,
    }
}

/// A text column of a result, of this many characters.
pub fn text_column(name: &str, length: u32) -> ColumnInfo {
    column(name, SqlType::varchar(length, muster_types::Collation::SYSTEM), true)
}

/// Rows that are already there, as a result.
pub fn outcome(columns: Vec<ColumnInfo>, rows: &[Vec<Value>]) -> Result<Outcome> {
    let batch = batch(&columns, rows)?;
    let batches = if rows.is_empty() { Vec::new() } else { vec![Ok(batch)] };
    Ok(Outcome::Rows(ResultSet { columns, rows: futures::stream::iter(batches).boxed() }))
}

fn schema_of(columns: &[ColumnInfo]) -> Arc<Schema> {
    Arc::new(Schema::new(columns.iter().map(|c| Field::new(&c.name, arrow_type(&c.ty), true)).collect::<Vec<_>>()))
}

/// One batch of rows; every value must be of its column's type, or becomes the text of a text column.
pub fn batch(columns: &[ColumnInfo], rows: &[Vec<Value>]) -> Result<RecordBatch> {
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let values = rows.iter().map(|r| r.get(i).unwrap_or(&Value::Null));
            match c.ty {
                SqlType::Text { .. } => array_of(&values.map(as_text).collect::<Vec<_>>(), c.ty),
                ty => array_of(values, ty),
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema_of(columns), arrays, &options).map_err(SqlError::internal)
}

fn as_text(value: &Value) -> Value {
    value.to_text(6).map_or(Value::Null, Value::Text)
}
