//! Tables that are read by one whole key: MySQL reads them before it explains a query, and tells if there is no row.

use crate::{
    statement::{StatementContext, StatementTables, query},
    threads,
};
use futures::StreamExt;
use muster_algebra::{Columns, Plan, PlanOp};
use muster_explain::query_block::ConstantRow;
use std::sync::Arc;

/// Reads the row that a scan is for. What cannot be read counts as found.
pub fn row(context: &StatementContext, scan: &Plan, columns: &Columns, tables: &Arc<StatementTables>) -> ConstantRow {
    let PlanOp::Scan(op) = &scan.op else { return ConstantRow::Found };
    if has_rows(context, scan, columns, tables) {
        return ConstantRow::Found;
    }
    let mut bare = op.clone();
    (bare.filter, bare.index_condition) = (Vec::new(), Vec::new());
    let bare = Plan { op: PlanOp::Scan(bare), ..scan.clone() };
    if has_rows(context, &bare, columns, tables) { ConstantRow::Dropped } else { ConstantRow::Missing }
}

fn has_rows(context: &StatementContext, scan: &Plan, columns: &Columns, tables: &Arc<StatementTables>) -> bool {
    let planned = query::Planned {
        // Nothing above it gathers the rows of several partitions.
        plan: Arc::new(Plan { partitions: 1, ..scan.clone() }),
        columns: Arc::new(columns.clone()),
        outputs: scan.output.iter().map(|id| (*id, String::new())).collect(),
        tables: tables.clone(),
    };
    let Ok(mut result) = query::run(context, planned, None, None) else { return true };
    loop {
        match threads::wait(result.rows.next()) {
            Ok(Some(Ok(batch))) if batch.num_rows() == 0 => {}
            Ok(None) => return false,
            // A row, or an error that the query would meet, too.
            _ => return true,
        }
    }
}
