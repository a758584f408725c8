//! The rows that an UPDATE or DELETE is to change: all are found before the first one changes, so that no row is met
//! again where its change has put it. They are kept in memory as far as the memory of queries goes, then on disk.

use super::{convert::Conversion, safe_updates, target::OpenTarget};
use crate::{
    short_path::RowSearch,
    statement::{
        RowLocks, StatementContext, StatementTables,
        query::{self, Planned},
    },
    tables::storage_error,
};
use futures::StreamExt;
use muster_algebra::{ColId, Rel, Scan};
use muster_exec::{FirstRows, KeptRows};
use muster_optimizer::trace::Trace;
use muster_sql::{
    Bound,
    bind::{self, Surroundings},
};
use muster_storage::{LockMode, LockedRow, LockingScan, LockingScanRequest, ReadView, StorageError, value_at};
use muster_types::{Result, Value};
use std::{cell::Cell, collections::BTreeMap, ops::ControlFlow, sync::Arc};

/// The rows, with the columns that were asked for.
pub struct FoundRows {
    /// The view that saw the rows when they were read; `None` if they had been locked before they were read.
    pub seen: Option<Arc<ReadView>>,
    columns: Vec<ColId>,
    rows: HeldRows,
}

enum HeldRows {
    Kept(KeptRows),
    /// They are locked.
    Locked(Vec<LockedRow>),
    /// Those of a query, which no row of the table that changes is among.
    Values(Vec<Vec<Value>>),
}

/// The rows that a statement on the short path is about, and the values of the statement's parameters.
pub struct BySearch<'a> {
    pub search: &'a RowSearch,
    pub parameters: &'a [Value],
    /// Set if the general path has to find the rows.
    pub is_general: &'a Cell<bool>,
}

/// Most rows that are found on the short path.
const ROWS_MAX: usize = 1000;

/// Plans the search for the rows of a relation, with these of its columns.
pub fn plan(
    context: &StatementContext,
    rel: Rel,
    columns: &[ColId],
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
) -> Result<Planned> {
    let bound = Bound {
        rel,
        columns: surroundings.columns.clone(),
        outputs: columns.iter().map(|id| (*id, String::new())).collect(),
        tables: Vec::new(),
        stars: Vec::new(),
        generated_names: Vec::new(),
        written_names: Vec::new(),
        made: BTreeMap::new(),
        uses_variables: false,
        aggregated: false,
        first_table_again: false,
        warnings: Vec::new(),
        notes: Vec::new(),
        hints: surroundings.hints.clone(),
    };
    query::optimize(context, bound, tables.clone())
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
    let asks_for_keys = safe_updates::asks_for_keys(context, &rel);
    let trace = asks_for_keys.then(|| context.trace.get_or_init(Trace::on));
    let planned = plan(context, rel, &columns, surroundings, tables)?;
    if let Some(trace) = trace {
        safe_updates::check_keys(context, &planned, targets, trace)?;
    }
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

/// Locks and reads the rows of a search, in their newest versions. Nobody else may add rows to what was read, unless
/// the isolation level says otherwise. An error with `is_general`: the general path has to find them.
pub fn find_locked(
    context: &StatementContext,
    opened: &OpenTarget,
    target: &bind::ChangeTarget,
    by: &BySearch<'_>,
) -> Result<FoundRows> {
    let BySearch { search, parameters, is_general } = by;
    let general = || {
        is_general.set(true);
        StorageError::WouldWait
    };
    let ranges = search.ranges(&opened.storage, parameters).ok_or_else(general)?;
    let gaps = context.locks_gaps();
    let request = LockingScanRequest {
        index: search.index(),
        ranges: ranges.into_iter().map(|(_, range)| range).collect(),
        reverse: search.reverse(),
        mode: LockMode::Exclusive,
        gaps,
        skip_locked: false,
    };
    let mut scan = LockingScan::new(&opened.storage, request)?;
    if !gaps && !search.is_single() {
        scan.compare_with(context.transaction.with_own_changes(context.read_newest()));
    }
    let (waits, counters) = (context.lock_waits(), context.process.counters.storage());
    let rows = context.transaction.change(context.database.store(), |transaction| {
        context.ready_to_lock(transaction, waits);
        let (mut rows, mut met) = (Vec::new(), 0);
        while rows.len() < search.limit() {
            let Some(row) = scan.next_to_change(transaction, counters)? else { break };
            met += 1;
            match search.is_met(row.values(), parameters) {
                _ if met > ROWS_MAX => return Err(general()),
                None => return Err(general()),
                Some(true) => rows.push(row),
                Some(false) if !gaps => scan.unlock_last(transaction),
                Some(false) => {}
            }
        }
        // Something was changed while it was looked at: there may be other rows by now.
        if scan.met_unseen() { Err(general()) } else { Ok(rows) }
    });
    let rows = rows.map_err(|e| storage_error(&opened.entry.def, e))?;
    Ok(FoundRows { seen: None, columns: target.columns.clone(), rows: HeldRows::Locked(rows) })
}

impl FoundRows {
    /// The rows of a query.
    pub fn of_values(columns: Vec<ColId>, rows: Vec<Vec<Value>>) -> FoundRows {
        FoundRows { seen: None, columns, rows: HeldRows::Values(rows) }
    }

    /// The values of each row, in the order of the columns that were asked for, until `row` breaks off; with the row if
    /// it was locked before it was read.
    pub fn each(
        &self,
        mut row: impl FnMut(&[Value], Option<&LockedRow>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let columns = self.columns.len();
        let kept = match &self.rows {
            HeldRows::Kept(kept) => kept,
            HeldRows::Locked(rows) => {
                return until_break(rows, |locked| row(&locked.values()[..columns], Some(locked)));
            }
            HeldRows::Values(rows) => return until_break(rows, |values| row(values, None)),
        };
        let mut values = Vec::with_capacity(self.columns.len());
        for batch in kept.batches()? {
            let batch = batch?;
            for at in 0..batch.num_rows() {
                values.clear();
                for array in batch.columns() {
                    values.push(value_at(array, at)?);
                }
                if row(&values, None)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Among the rows that were not locked before they were read, those that are the first ones with their values in
    /// some columns.
    pub fn first_rows(&self, columns: &[ColId]) -> Result<Option<FirstRows>> {
        let positions: Vec<usize> = columns.iter().filter_map(|id| self.position(*id)).collect();
        match &self.rows {
            HeldRows::Kept(kept) => kept.first_rows(&positions).map(Some),
            HeldRows::Locked(_) | HeldRows::Values(_) => Ok(None),
        }
    }

    /// The position of a column among those that were asked for.
    pub fn position(&self, column: ColId) -> Option<usize> {
        self.columns.iter().position(|c| *c == column)
    }
}

/// Calls `each` with one row after the other, until it breaks off.
fn until_break<T>(rows: &[T], mut each: impl FnMut(&T) -> Result<ControlFlow<()>>) -> Result<ControlFlow<()>> {
    for row in rows {
        if each(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
