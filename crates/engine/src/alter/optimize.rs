//! OPTIMIZE TABLE: as InnoDB does it, a table is built anew from its rows.

use crate::{
    accounts::Privilege,
    ddl::maintenance::messages,
    statement::{Done, StatementContext},
};
use muster_sql::{AlterAction, AlterMethod, TableName};
use muster_types::{ErrorCode, Result};
use std::sync::Arc;

pub fn optimize(context: &Arc<StatementContext>, names: &[TableName]) -> Result<Done> {
    let mut lines = Vec::new();
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.check_some_columns(&database, &name, &[Privilege::Select, Privilege::Insert])?;
        let full = (database, name);
        let rebuilt = context.tables.definitions().table(&full.0, &full.1).map(drop);
        let rebuilt =
            rebuilt.and_then(|()| super::alter(context, &full, &[AlterAction::Force], AlterMethod::default()));
        let told = match rebuilt {
            Ok(_) => {
                let note = "Table does not support optimize, doing recreate + analyze instead";
                vec![("note", note.to_owned()), ("status", "OK".to_owned())]
            }
            Err(e) if e.code == ErrorCode::QueryInterrupted => return Err(e),
            Err(e) => vec![("Error", e.message), ("status", "Operation failed".to_owned())],
        };
        lines.push((format!("{}.{}", full.0, full.1), told));
    }
    Ok(messages("optimize", lines))
}
