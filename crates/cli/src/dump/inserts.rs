//! The rows of a table as INSERT statements of a bounded length.

use super::definitions::{ColumnKind, DumpedTable, push_quoted};
use crate::shell::backend::Backend;
use anyhow::Context;
use tokio::sync::mpsc;

/// A statement takes no further row once it has so many bytes.
const STATEMENT_BYTES: usize = 1 << 20;

/// Reads a table, and sends statements that insert its rows. Errors: those of the query; nobody takes the statements.
pub async fn read(
    session: &mut Backend,
    database: &str,
    table: &DumpedTable,
    statements: &mpsc::Sender<Vec<u8>>,
) -> anyhow::Result<()> {
    let head = table.insert();
    let mut statement = Vec::new();
    let mut rows = session.rows(&table.query(database)).await?;
    while let Some(batch) = rows.next_batch().await? {
        for row in batch {
            statement.extend_from_slice(if statement.is_empty() { head.as_bytes() } else { b",\n" });
            push_row(&mut statement, table, &row);
            if statement.len() >= STATEMENT_BYTES {
                send(&mut statement, statements).await?;
            }
        }
    }
    if !statement.is_empty() {
        send(&mut statement, statements).await?;
    }
    Ok(())
}

async fn send(statement: &mut Vec<u8>, statements: &mpsc::Sender<Vec<u8>>) -> anyhow::Result<()> {
    statement.extend_from_slice(b";\n");
    statements.send(std::mem::take(statement)).await.context("the dump is not written any more")
}

fn push_row(out: &mut Vec<u8>, table: &DumpedTable, row: &[Option<String>]) {
    out.push(b'(');
    for (n, (column, cell)) in table.columns.iter().zip(row).enumerate() {
        if n > 0 {
            out.push(b',');
        }
        match (cell, column.kind) {
            (None, _) => out.extend_from_slice(b"NULL"),
            (Some(cell), ColumnKind::Number | ColumnKind::Float) => out.extend_from_slice(cell.as_bytes()),
            (Some(cell), ColumnKind::Bytes) if cell.is_empty() => out.extend_from_slice(b"''"),
            (Some(cell), ColumnKind::Bytes) => {
                out.extend_from_slice(b"0x");
                out.extend_from_slice(cell.as_bytes());
            }
            (Some(cell), ColumnKind::Text) => push_quoted(out, cell),
        }
    }
    out.push(b')');
}
