//! `SELECT .. INTO @a, @b`.

use super::state::SessionState;
use crate::statement::{Done, StatementContext, first_values, query};
use muster_sql::Query;
use muster_types::{Decimal, ErrorCode, Result, SqlError, SqlType, Value};
use std::sync::Arc;

impl SessionState {
    /// At most one row. Errors 1172, 1222; warning 1329 without a row.
    pub fn select_into(
        &mut self,
        context: &Arc<StatementContext>,
        query: &Query,
        variables: &[String],
        parameters: &[Value],
    ) -> Result<Done> {
        let result = query::select(context, query, parameters)?;
        if result.columns.len() != variables.len() {
            return Err(SqlError::different_column_counts());
        }
        let are_decimals: Vec<bool> =
            result.columns.iter().map(|column| matches!(column.shape.ty, Some(SqlType::Decimal { .. }))).collect();
        let types: Vec<SqlType> = result.columns.iter().map(|column| column.ty).collect();
        let mut rows = first_values(result, 2)?.into_iter();
        let Some(row) = rows.next() else {
            let message = "No data - zero rows fetched, selected, or processed";
            context.warn(ErrorCode::SpFetchNoData, message);
            return Ok(Done::default());
        };
        for (i, (name, value)) in variables.iter().zip(row).enumerate() {
            match are_decimals[i] {
                true => self.set_user_variable(name, as_decimal(value), SqlType::Null)?,
                false => self.set_user_variable(name, value, types[i])?,
            }
        }
        match rows.next() {
            None => Ok(Done::rows(1)),
            Some(_) => Err(SqlError::new(ErrorCode::TooManyRows, "Result consisted of more than one row")),
        }
    }
}

/// The decimal that a result has as a text.
fn as_decimal(value: Value) -> Value {
    match &value {
        Value::Text(text) => Decimal::parse(text).map_or(value, Value::Decimal),
        _ => value,
    }
}
