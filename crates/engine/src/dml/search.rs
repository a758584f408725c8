//! The rows that an UPDATE or DELETE is to change: all are found before the first one changes, so that no row is met again
//! where its change has put it.

use crate::statement::{RowLocks, StatementContext, StatementTables, query};
use arrow_array::RecordBatch;
use futures::StreamExt;
use muster_algebra::{ColId, Rel, Scan};
use muster_sql::{
    Bound,
    bind::{self, Surroundings},
};
use muster_storage::{LockMode, ReadView, value_at};
use muster_types::{Result, Value};
use std::{ops::ControlFlow, sync::Arc};

/// The rows, with the columns that were asked for.
pub struct FoundRows {
    /// What had been committed when they were read.
    pub seen: Arc<ReadView>,
    columns: Vec<ColId>,
    batches: Vec<RecordBatch>,
}

/// Finds all rows of a relation, with these of its columns. Ranges of keys of the tables that will change are locked first.
pub fn find(
    context: &Arc<StatementContext>,
    rel: Rel,
    columns: Vec<ColId>,
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
    targets: &[bind::Target],
) -> Result<FoundRows> {
    let bound = Bound {
        rel,
        columns: surroundings.columns.clone(),
        outputs: columns.iter().map(|id| (*id, String::new())).collect(),
        tables: Vec::new(),
        stars: Vec::new(),
        aggregated: false,
        first_table_again: false,
        warnings: Vec::new(),
        hints: surroundings.hints.clone(),
    };
    let planned = query::optimize(context, bound, tables.clone())?;
    let of = |scan: &Scan| targets.iter().any(|target| target.table.id == scan.table.id);
    let (mode, waits) = (LockMode::Exclusive, context.lock_waits());
    if context.locks_gaps() {
        let locks = RowLocks { mode, waits, of: &of, whole_tables: false };
        context.lock_rows(&planned.plan, tables, &locks)?;
    }
    let seen = context.read_newest();
    let mut result = query::run(context, planned, None, None)?;
    let mut batches = Vec::new();
    while let Some(batch) = crate::threads::wait(result.rows.next())? {
        batches.push(batch?);
    }
    Ok(FoundRows { seen, columns, batches })
}

impl FoundRows {
    /// The values of each row, in the order of the columns that were asked for, until `row` breaks off.
    pub fn each(&self, mut row: impl FnMut(&[Value]) -> Result<ControlFlow<()>>) -> Result<ControlFlow<()>> {
        let mut values = Vec::with_capacity(self.columns.len());
        for batch in &self.batches {
            for at in 0..batch.num_rows() {
                values.clear();
                for array in batch.columns() {
                    values.push(value_at(array, at)?);
                }
                if row(&values)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The position of a column among those that were asked for.
    pub fn position(&self, column: ColId) -> Option<usize> {
        self.columns.iter().position(|c| *c == column)
    }
}
