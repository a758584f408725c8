//! Prepared statements: parsed once, bound with each execution's values.

use super::Session;
use crate::{Prepared, statement::query};
use muster_sql::{Parameters, Statement};
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// Most prepared statements of a session (MySQL limits those of all: `max_prepared_stmt_count`).
const PREPARED_MAX: usize = 16_382;

#[derive(Clone)]
pub struct PreparedStatement {
    pub text: String,
    pub statement: Arc<Statement>,
    pub parameters: usize,
}

impl PreparedStatement {
    pub fn parse(text: &str) -> Result<PreparedStatement> {
        let statement = muster_sql::parse(text)?;
        if matches!(
            statement,
            Statement::Prepare { .. } | Statement::ExecutePrepared { .. } | Statement::Deallocate { .. }
        ) {
            return Err(not_preparable());
        }
        let parameters = muster_sql::count_parameters(&statement);
        Ok(PreparedStatement { text: text.into(), statement: Arc::new(statement), parameters })
    }
}

fn not_preparable() -> SqlError {
    let message = "This command is not supported in the prepared statement protocol yet";
    SqlError::new(ErrorCode::Unsupported, message)
}

impl Session {
    pub(super) fn prepare_statement(&mut self, sql: &str) -> Result<Prepared> {
        let prepared = PreparedStatement::parse(sql)?;
        self.check_prepared_room()?;
        let columns = match &*prepared.statement {
            Statement::Query(query) => {
                let context = self.context_outside();
                // Types of parameters are not known yet; what the columns are may still change with their values.
                let (bound, tables) = query::bind(&context, query, Parameters::Unknown)?;
                query::column_infos(&bound.outputs, &bound.columns, &tables)
            }
            _ => Vec::new(),
        };
        self.last_prepared_id = self.last_prepared_id.wrapping_add(1).max(1);
        let id = self.last_prepared_id;
        let parameters = prepared.parameters;
        self.prepared.insert(id, prepared);
        Ok(Prepared { id, parameters, columns })
    }

    /// Error 1461 when there are too many.
    pub(super) fn check_prepared_room(&self) -> Result<()> {
        if self.prepared.len() + self.named_statements.len() < PREPARED_MAX {
            return Ok(());
        }
        let message =
            format!("Can't create more than max_prepared_stmt_count statements (current value: {PREPARED_MAX})");
        Err(SqlError::new(ErrorCode::MaxPreparedStatements, message))
    }

    /// A statement of `PREPARE name`; error 1243.
    pub(super) fn named_statement(&self, name: &str, command: &str) -> Result<PreparedStatement> {
        self.named_statements.get(&name.to_lowercase()).cloned().ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({name}) given to {command}");
            SqlError::new(ErrorCode::UnknownStmtHandler, message)
        })
    }
}
