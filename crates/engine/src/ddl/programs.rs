//! DROP PROCEDURE, FUNCTION, TRIGGER and EVENT. None of them can be made, so none is ever there: dumps drop them `IF
//! EXISTS` before they make them.

use crate::statement::{Done, StatementContext};
use muster_sql::{ProgramKind, TableName};
use muster_types::{ErrorCode, Result, SqlError};

/// Errors: 1305, 1360 and 1539, which are notes with IF EXISTS; 1046; 1049 for a trigger.
pub fn drop_program(context: &StatementContext, kind: ProgramKind, name: &TableName, if_exists: bool) -> Result<Done> {
    let (database, name) = context.qualify(name)?;
    if kind == ProgramKind::Trigger {
        context.database.tables().definitions().schema(&database)?;
    }
    let (code, message) = match kind {
        ProgramKind::Procedure => {
            (ErrorCode::FunctionDoesNotExist, format!("PROCEDURE {database}.{name} does not exist"))
        }
        ProgramKind::Function => {
            (ErrorCode::FunctionDoesNotExist, format!("FUNCTION {database}.{name} does not exist"))
        }
        ProgramKind::Trigger => (ErrorCode::TriggerDoesNotExist, "Trigger does not exist".to_owned()),
        ProgramKind::Event if if_exists => (ErrorCode::FunctionDoesNotExist, format!("Event {name} does not exist")),
        ProgramKind::Event => (ErrorCode::EventDoesNotExist, format!("Unknown event '{name}'")),
    };
    if !if_exists {
        return Err(SqlError::new(code, message));
    }
    context.note(code, message);
    Ok(Done::default())
}
