//! Locks of the rows that joins look up. Which rows those are only the rows before them tell: these are read first, for
//! the keys that they give, and the keys are locked in the inner index as a search by each of them would lock them.
//! Then the statement reads anew.
//!
//! Where the rows before are locked with their gaps, they are the same when the statement reads them. Where they are
//! not, the rows that scans find are locked again and keys asked for again until there are no others: what the
//! statement then sees has been locked.

use super::RowLocks;
use crate::statement::{
    StatementContext,
    admitted::{self, Computation},
    execution,
    query::Planned,
};
use arrow_array::RecordBatch;
use futures::StreamExt;
use muster_algebra::{ExchangeKind, Expr, Plan, PlanOp, Scan};
use muster_exec::TableSource;
use muster_storage::{Table, arrow_type, value_at};
use muster_types::{KeyRange, Result};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// A join that looks up rows which are to be locked.
struct LookedUp<'a> {
    left: &'a Plan,
    lookup: &'a Scan,
    keys: &'a [Expr],
    locks: &'a RowLocks<'a>,
    /// Keys that are locked, as bytes of the index.
    locked: HashSet<Vec<u8>>,
}

impl StatementContext {
    /// Locks the rows that the joins of a plan look up. From then on the statement reads what has been committed by
    /// now, or what had been when the last key was locked. `is_settled`: what the joins get from other tables does not
    /// change meanwhile.
    pub(super) fn lock_lookups(&self, planned: &Planned, all: &[RowLocks<'_>], is_settled: bool) -> Result<()> {
        let mut lookups = Vec::new();
        add_lookups(&planned.plan, all, &mut lookups);
        self.read_newest();
        loop {
            let mut found_new = false;
            for looked_up in &mut lookups {
                if self.lock_looked_up(planned, looked_up)? {
                    found_new = true;
                    self.read_newest();
                }
            }
            if !found_new || is_settled {
                return Ok(());
            }
            self.lock_scans(planned, all)?;
        }
    }

    /// Locks the keys that a join looks up now. Returns true if there were some that had not been locked before.
    fn lock_looked_up(&self, planned: &Planned, looked_up: &mut LookedUp<'_>) -> Result<bool> {
        let (lookup, locks) = (looked_up.lookup, looked_up.locks);
        let table = planned.tables.storage(lookup.table.id)?;
        let mut ranges = self.keys_of(planned, looked_up.left, lookup, looked_up.keys, &table)?;
        ranges.retain(|bytes, _| !looked_up.locked.contains(bytes));
        if ranges.is_empty() {
            return Ok(false);
        }
        if !self.has_room_for(locks, ranges.len() as u64) {
            return self.lock_instead(lookup, locks).map(|()| false);
        }
        looked_up.locked.extend(ranges.keys().cloned());
        if !self.lock_ranges(lookup, ranges.into_values().collect(), &planned.tables, locks)? {
            self.lock_instead(lookup, locks)?;
        }
        Ok(true)
    }

    /// The keys that the rows on the left of a join by lookup give, in the order of the index: as bytes and as ranges.
    pub(super) fn keys_of(
        &self,
        planned: &Planned,
        left: &Plan,
        lookup: &Scan,
        keys: &[Expr],
        table: &Table,
    ) -> Result<BTreeMap<Vec<u8>, KeyRange>> {
        let mut columns = (*planned.columns).clone();
        let mut exprs = Vec::with_capacity(keys.len());
        for (key, part) in keys.iter().zip(lookup.table.key_parts(lookup.index)) {
            let ty = lookup.table.columns[part.column].ty;
            let key = match arrow_type(&key.ty(&columns)) == arrow_type(&ty) {
                true => key.clone(),
                false => Expr::Cast { arg: Box::new(key.clone()), ty },
            };
            exprs.push((columns.add_computed("key", ty, true), key));
        }
        let output: Vec<_> = exprs.iter().map(|(id, _)| *id).collect();
        let node = |op| Plan::new(op, output.clone(), left.estimate, Vec::new());
        let mut plan = node(PlanOp::Project { input: Box::new(left.clone()), exprs });
        plan.partitions = left.partitions;
        if plan.partitions > 1 {
            plan = node(PlanOp::Exchange { input: Box::new(plan), kind: ExchangeKind::Gather });
        }
        let exec = execution::exec_context(self, Arc::clone(&planned.tables));
        let mut rows = admitted::rows(
            self,
            Computation { plan: Arc::new(plan), columns: Arc::new(columns), exec, profile: None },
            None,
        )?;
        let mut keys = BTreeMap::new();
        while let Some(batch) = crate::threads::wait(rows.next())? {
            add_keys(&batch?, table, lookup.index, &mut keys)?;
        }
        Ok(keys)
    }
}

/// Adds the keys of a batch. NULL is equal to nothing.
fn add_keys(batch: &RecordBatch, table: &Table, index: usize, keys: &mut BTreeMap<Vec<u8>, KeyRange>) -> Result<()> {
    let codec = &table.tree(index).layout().key;
    let mut last = Vec::new();
    for row in 0..batch.num_rows() {
        let values = batch.columns().iter().map(|array| value_at(array, row)).collect::<Result<Vec<_>, _>>()?;
        if values == last || values.iter().any(|value| value.is_null()) {
            continue;
        }
        let range = KeyRange::prefix(values.clone());
        if let Some(bytes) = codec.byte_range(&range)? {
            keys.entry(bytes.lower).or_insert(range);
        }
        last = values;
    }
    Ok(())
}

/// The joins by lookup of a plan whose rows are locked; those that give others their rows come first.
fn add_lookups<'a>(plan: &'a Plan, all: &'a [RowLocks<'a>], lookups: &mut Vec<LookedUp<'a>>) {
    plan.inputs().into_iter().for_each(|input| add_lookups(input, all, lookups));
    let PlanOp::LookupJoin { left, lookup, keys, .. } = &plan.op else { return };
    let wanted = all.iter().filter(|locks| locks.is_of(lookup));
    lookups.extend(wanted.map(|locks| LookedUp { left, lookup, keys, locks, locked: HashSet::new() }));
}
