//! The rows that an UPDATE or DELETE is to change: all are found before the first one changes, so that no row is met
//! again where its change has put it. They are kept in memory as far as the memory of queries goes, then on disk.

use super::{convert::Conversion, target::OpenTarget};
use crate::{
    statement::{RowLocks, StatementContext, StatementTables, query},
    tables::storage_error,
};
use futures::StreamExt;
use muster_algebra::{ColId, Rel, Scan};
use muster_exec::{FirstRows, KeptRows};
use muster_sql::{
    Bound,
    bind::{self, Surroundings},
};
use muster_storage::{LockMode, LockedRow, LockingScan, LockingScanRequest, ReadView, value_at};
use muster_types::{KeyRange, Result, Value};
use std::{ops::ControlFlow, sync::Arc};

/// The rows, with the columns that were asked for.
pub struct FoundRows {
    /// The view that saw the rows when they were read; `None` if they had been locked before they were read.
    pub seen: Option<Arc<ReadView>>,
    columns: Vec<ColId>,
    rows: HeldRows,
}

enum HeldRows {
    Kept(KeptRows),
    /// At most one, which is locked.
    Single(Option<LockedRow>),
}

/// The row that a statement is about, by its primary key, and the values of the statement's parameters.
pub struct ByKey<'a> {
    pub key: &'a [Value],
    pub parameters: &'a [Value],
}

/// Finds all rows of a relation, with these of its columns. Ranges of keys of the tables that will change are locked
/// first.
pub fn find(
    context: &Arc<StatementContext>,
    rel: Rel,
    columns: Vec<ColId>,
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
    targets: &[bind::ChangeTarget],
    conversion: Conversion<'_>,
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
        let others = |scan: &Scan| !of(scan);
        let mut locks = vec![RowLocks {
            mode,
            waits: waits.clone(),
            of: &of,
            skip_locked: false,
            whole_tables: false,
            subplans: false,
        }];
        if context.reads_for_writing_lock() {
            locks.push(RowLocks {
                mode: LockMode::Shared,
                waits,
                of: &others,
                skip_locked: false,
                whole_tables: false,
                subplans: true,
            });
        }
        context.lock_rows(&planned, &locks)?;
    }
    let seen = context.read_newest();
    let warned = context.diagnostics.warnings.count();
    let mut result = query::run(context, planned, None, None)?;
    let threads = context.database.options().threads;
    let mut keeper = context.database.runtime().keep_rows(threads, &context.process.counters);
    while let Some(batch) = crate::threads::wait(result.rows.next())? {
        keeper.push(&batch?)?;
    }
    conversion.refuse_warnings(warned)?;
    Ok(FoundRows { seen: Some(seen), columns, rows: HeldRows::Kept(keeper.finish()?) })
}

/// Locks and reads the row with a primary key. If there is none, nobody else may add it, unless the isolation level
/// says otherwise.
pub fn find_by_key(
    context: &StatementContext,
    opened: &OpenTarget,
    target: &bind::ChangeTarget,
    key: &[Value],
) -> Result<FoundRows> {
    let request = LockingScanRequest {
        index: 0,
        ranges: vec![KeyRange::prefix(key.to_vec())],
        reverse: false,
        mode: LockMode::Exclusive,
        gaps: context.locks_gaps(),
        skip_locked: false,
    };
    let mut rows = LockingScan::new(&opened.storage, request)?;
    let (waits, counters) = (context.lock_waits(), context.process.counters.storage());
    let row = context.transaction.change(context.database.store(), |transaction| {
        context.ready_to_lock(transaction, waits);
        rows.next_to_change(transaction, counters)
    });
    let row = row.map_err(|e| storage_error(&opened.entry.def, e))?;
    Ok(FoundRows { seen: None, columns: target.columns.clone(), rows: HeldRows::Single(row) })
}

impl FoundRows {
    /// The values of each row, in the order of the columns that were asked for, until `row` breaks off.
    pub fn each(&self, mut row: impl FnMut(&[Value]) -> Result<ControlFlow<()>>) -> Result<ControlFlow<()>> {
        let kept = match &self.rows {
            HeldRows::Kept(kept) => kept,
            HeldRows::Single(None) => return Ok(ControlFlow::Continue(())),
            HeldRows::Single(Some(locked)) => return row(&locked.values()[..self.columns.len()]),
        };
        let mut values = Vec::with_capacity(self.columns.len());
        for batch in kept.batches()? {
            let batch = batch?;
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

    /// The one row that was locked before it was read.
    pub fn locked(&self) -> Option<&LockedRow> {
        match &self.rows {
            HeldRows::Kept(_) => None,
            HeldRows::Single(row) => row.as_ref(),
        }
    }

    /// Among the rows that were not locked before they were read, those that are the first ones with their values in
    /// some columns.
    pub fn first_rows(&self, columns: &[ColId]) -> Result<Option<FirstRows>> {
        let positions: Vec<usize> = columns.iter().filter_map(|id| self.position(*id)).collect();
        match &self.rows {
            HeldRows::Kept(kept) => kept.first_rows(&positions).map(Some),
            HeldRows::Single(_) => Ok(None),
        }
    }

    /// The position of a column among those that were asked for.
    pub fn position(&self, column: ColId) -> Option<usize> {
        self.columns.iter().position(|c| *c == column)
    }
}
