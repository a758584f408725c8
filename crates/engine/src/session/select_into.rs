//! `SELECT .. INTO @a, @b`.

use super::state::SessionState;
use crate::statement::{Done, StatementContext, first_values, query};
use muster_sql::Query;
use muster_types::{ErrorCode, Result, SqlError, Value};
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
        let mut rows = first_values(result, 2)?.into_iter();
        let Some(row) = rows.next() else {
            let message = "No data - zero rows fetched, selected, or processed";
            context.warn(ErrorCode::SpFetchNoData, message);
            return Ok(Done::default());
        };
        for (name, value) in variables.iter().zip(row) {
            self.set_user_variable(name, value)?;
        }
        match rows.next() {
            None => Ok(Done::rows(1)),
            Some(_) => Err(SqlError::new(ErrorCode::TooManyRows, "Result consisted of more than one row")),
        }
    }
}
