//! CHECK TABLE.

use crate::{
    accounts::Privilege,
    rows::text_column,
    statement::{Done, StatementContext},
};
use muster_sql::TableName;
use muster_storage::{Counters, StorageError};
use muster_types::{Result, SqlError, Value};

/// Lines of a table's outcome: a kind and a message.
type Lines = Vec<(&'static str, String)>;

/// Checks every tree of the tables, and rows and entries of indexes against each other. Writers of a table wait
/// meanwhile.
pub fn check_tables(context: &StatementContext, names: &[TableName]) -> Result<Done> {
    let columns = [("Table", 128), ("Op", 10), ("Msg_type", 10), ("Msg_text", 1024)];
    let mut rows = Vec::new();
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.check_some_column(&database, &name, Privilege::Select, "SELECT")?;
        for (kind, message) in check(context, &database, &name)? {
            let line = [format!("{database}.{name}"), "check".into(), kind.into(), message];
            rows.push(line.map(Value::Text).to_vec());
        }
    }
    Ok(Done::result(columns.iter().map(|(name, length)| text_column(name, *length)).collect(), rows))
}

/// Errors: KILL and `max_execution_time`. All else is told in the lines.
fn check(context: &StatementContext, database: &str, name: &str) -> Result<Lines> {
    let failed = |e: SqlError| Ok(vec![("Error", e.message), ("status", "Operation failed".to_string())]);
    let set = context.tables.current();
    let def = match set.definitions.table(database, name) {
        Ok(entry) => &entry.def,
        Err(e) => return failed(e),
    };
    let table = match set.storage(def.id, context.tables.store()) {
        Ok(table) => table,
        Err(e) => return failed(e),
    };
    let mut step = || context.check_interrupt().map_err(StorageError::Filter);
    // Then long values that no row has may be those of versions before the newest ones.
    let store = context.tables.store();
    let keeps_versions = store.keeps_versions();
    match table.check(&Counters::default(), &mut step) {
        Ok(_) if keeps_versions || store.keeps_versions() => Ok(vec![("status", "OK".to_string())]),
        Ok(reports) => {
            let lost: u64 = reports.iter().map(|report| report.lost_pages).sum();
            let note = (lost > 0).then(|| ("note", format!("{lost} pages of room are lost")));
            Ok(note.into_iter().chain([("status", "OK".to_string())]).collect())
        }
        Err(StorageError::Filter(e)) => Err(e),
        // The table has other columns since it was opened.
        Err(StorageError::SnapshotTooOld) => check(context, database, name),
        Err(e) => Ok(vec![("error", e.to_string()), ("error", "Corrupt".to_string())]),
    }
}
