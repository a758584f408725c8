//! REPAIR TABLE and CHECKSUM TABLE.

use crate::{
    accounts::Privilege,
    rows::{column, text_column},
    statement::{Done, StatementContext},
};
use muster_sql::TableName;
use muster_storage::{Scan, ScanRequest, value_at};
use muster_types::{ErrorCode, Result, SqlType, Value};
use std::sync::Arc;

/// The rows of a statement that maintains tables: the table, the operation, and kinds and texts of messages.
pub fn messages(operation: &str, lines: Vec<(String, Vec<(&'static str, String)>)>) -> Done {
    let columns = [("Table", 128), ("Op", 10), ("Msg_type", 10), ("Msg_text", 1024)];
    let mut rows = Vec::new();
    for (table, lines) in lines {
        for (kind, message) in lines {
            let line = [table.clone(), operation.into(), kind.into(), message];
            rows.push(line.map(Value::Text).to_vec());
        }
    }
    Done::result(columns.iter().map(|(name, length)| text_column(name, *length)).collect(), rows)
}

/// As InnoDB answers it: pages are repaired by recovery, and by nothing else.
pub fn repair_tables(context: &StatementContext, names: &[TableName]) -> Result<Done> {
    let mut lines = Vec::new();
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.check_some_columns(&database, &name, &[Privilege::Select, Privilege::Insert])?;
        let told = match context.tables.definitions().table(&database, &name) {
            Ok(_) => vec![("note", "The storage engine for the table doesn't support repair".to_owned())],
            Err(e) => vec![("Error", e.message), ("status", "Operation failed".to_owned())],
        };
        lines.push((format!("{database}.{name}"), told));
    }
    Ok(messages("repair", lines))
}

/// A number for the rows of each table: equal rows give the same one, in whatever order they are. `quick`: that of
/// engines that keep one, which is NULL here. A table that is not there is NULL, with a warning.
pub fn checksum_tables(context: &StatementContext, names: &[TableName], quick: bool) -> Result<Done> {
    let mut rows = Vec::new();
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.check_some_column(&database, &name, Privilege::Select, "SELECT")?;
        let known = context.tables.definitions().table(&database, &name).map(|_| ());
        let sum = match known {
            Ok(()) if quick => Value::Null,
            Ok(()) => Value::Int(checksum(context, &database, &name)?),
            Err(e) if e.code == ErrorCode::NoSuchTable => {
                context.diagnostics.set_error(e);
                Value::Null
            }
            Err(e) => return Err(e),
        };
        rows.push(vec![Value::Text(format!("{database}.{name}")), sum]);
    }
    Ok(Done::result(vec![text_column("Table", 128), column("Checksum", SqlType::BIGINT, true)], rows))
}

/// The sum of the checksums of all rows, cut to 32 bits.
fn checksum(context: &StatementContext, database: &str, name: &str) -> Result<i64> {
    let tables = context.tables.current();
    let def = tables.definitions.table(database, name)?.def.clone();
    let table = tables.storage(def.id, context.tables.store())?;
    let request = ScanRequest::all(context.read_view(), 0, (0..def.columns.len()).collect(), Arc::default());
    let mut cursor = Scan::new(table, request)?.cursor();
    let mut sum = 0u32;
    while let Some(batch) = cursor.next_batch()? {
        context.check_interrupt()?;
        for row in 0..batch.num_rows() {
            let mut bytes = Vec::new();
            for (array, column) in batch.columns().iter().zip(&def.columns) {
                match column.ty.shown_text(&value_at(array, row)?, column.digits.map(|d| d.scale)) {
                    None => bytes.push(0),
                    Some(text) => {
                        bytes.push(1);
                        bytes.extend((text.len() as u64).to_le_bytes());
                        bytes.extend(text.as_bytes());
                    }
                }
            }
            sum = sum.wrapping_add(muster_eval::crc32(&bytes));
        }
    }
    Ok(i64::from(sum))
}
