//! Rows that are locked one after the other; the scan that found them then reads these and no others.
//!
//! `SKIP LOCKED` leaves out the rows that others have locked. At READ COMMITTED and below, where no gap is locked, rows may come into the
//! ranges of a scan while it waits for others: a locking SELECT leaves them out, since nobody keeps them from being changed.

use super::{
    StatementContext,
    query::{self, Planned},
};
use futures::StreamExt;
use muster_algebra::{Plan, PlanOp, Scan, Switch};
use muster_exec::TableSource;
use muster_storage::{LockMode, LockingScan, LockingScanRequest, Waits};
use muster_types::{KeyRange, Result, SqlError, Value};
use std::{ops::Bound, sync::Arc};

/// Strategies that are off for a plan that leaves out locked rows: each of its tables is read by one scan of one index, entry
/// by entry.
pub const SWITCHES_OFF: [Switch; 7] = [
    Switch::LookupJoin,
    Switch::IndexMerge,
    Switch::IndexMergeUnion,
    Switch::IndexMergeSortUnion,
    Switch::IndexMergeIntersection,
    Switch::LooseIndexScan,
    Switch::MinMaxByIndex,
];

/// A scan whose rows are locked, and the query that it is part of.
struct Search<'a> {
    planned: &'a Planned,
    node: &'a Plan,
    scan: &'a Scan,
    mode: LockMode,
    /// How it waits for rows that others have locked; `None`: they are left out.
    waits: Option<&'a Waits>,
}

impl StatementContext {
    /// Locks the rows that the scans of a plan read, without `waits` those that nobody else has locked; the scans read no others from
    /// then on, and see what has been committed by now. Errors: 1206, 1235, 1317; with `waits` 1205, 1213, 3572.
    pub fn lock_one_by_one(
        &self,
        planned: &mut Planned,
        mode: LockMode,
        waits: Option<&Waits>,
        of: &dyn Fn(&Scan) -> bool,
    ) -> Result<()> {
        let mut free = Vec::new();
        self.find_free(planned, &planned.plan, (mode, waits), of, &mut free)?;
        replace(&mut planned.plan, of, &mut free.into_iter());
        self.read_newest();
        Ok(())
    }

    /// Adds what is left of the scans, in the order of a walk through the plan.
    fn find_free(
        &self,
        planned: &Planned,
        node: &Plan,
        (mode, waits): (LockMode, Option<&Waits>),
        of: &dyn Fn(&Scan) -> bool,
        free: &mut Vec<Scan>,
    ) -> Result<()> {
        match &node.op {
            PlanOp::Scan(scan) if is_meant(scan, of) => {
                free.push(self.free_rows(&Search { planned, node, scan, mode, waits })?)
            }
            PlanOp::LookupJoin { lookup, .. } if is_meant(lookup, of) => {
                return Err(SqlError::unsupported("SKIP LOCKED of a table that a join looks up"));
            }
            _ => {}
        }
        node.inputs().into_iter().try_for_each(|input| self.find_free(planned, input, (mode, waits), of, free))
    }

    /// Locks rows of a scan; it is over once it has as many as it wants.
    fn free_rows(&self, search: &Search<'_>) -> Result<Scan> {
        let Search { planned, scan, mode, waits, .. } = search;
        let table = planned.tables.storage(scan.table.id)?;
        let mut left = Scan { ranges: Vec::new(), steering: Vec::new(), limit: None, ..(*scan).clone() };
        let request = LockingScanRequest {
            index: scan.index,
            ranges: scan.ranges.clone(),
            reverse: scan.reverse,
            mode: *mode,
            gaps: self.locks_gaps(),
            skip_locked: waits.is_none(),
        };
        let mut rows = LockingScan::new(&table, request)?;
        let counters = self.process.counters.storage();
        let mut wanted = scan.limit.unwrap_or(u64::MAX);
        while wanted > 0 {
            let next = self.transaction.change(table.store(), |transaction| {
                self.ready_to_lock(transaction, waits.cloned().unwrap_or(Waits::Never));
                rows.next(transaction, counters)
            })?;
            let Some(row) = next else { break };
            let range = range_of(&left, &row);
            if scan.limit.is_some() {
                let count = self.count(search, Scan { ranges: vec![range.clone()], ..left.clone() })?;
                if count == 0 && !self.locks_gaps() {
                    self.transaction.change(table.store(), |transaction| rows.unlock_last(transaction));
                    continue;
                }
                wanted -= count.min(wanted);
            }
            left.ranges.push(range);
        }
        if scan.reverse {
            left.ranges.reverse();
        }
        Ok(Scan { limit: scan.limit, ..left })
    }

    /// Counts the rows that a scan delivers.
    fn count(&self, search: &Search<'_>, scan: Scan) -> Result<u64> {
        self.read_newest();
        let node = search.node;
        let planned = Planned {
            plan: Plan { op: PlanOp::Scan(scan), ..node.clone() },
            columns: search.planned.columns.clone(),
            outputs: node.output.iter().map(|id| (*id, String::new())).collect(),
            tables: Arc::clone(&search.planned.tables),
        };
        let mut result = query::run(self, planned, None, None)?;
        let mut count = 0;
        while let Some(batch) = crate::threads::wait(result.rows.next())? {
            count += batch?.num_rows() as u64;
        }
        Ok(count)
    }
}

fn is_meant(scan: &Scan, of: &dyn Fn(&Scan) -> bool) -> bool {
    !scan.table.id.is_virtual() && of(scan)
}

/// Puts what is left of scans into their places, in the order of the walk that found it.
fn replace(node: &mut Plan, of: &dyn Fn(&Scan) -> bool, free: &mut impl Iterator<Item = Scan>) {
    if let PlanOp::Scan(scan) = &mut node.op
        && is_meant(scan, of)
    {
        *scan = free.next().expect("the same walk");
    }
    node.inputs_mut().into_iter().for_each(|input| replace(input, of, free));
}

/// The range of a scan's index that has the entry of one row.
fn range_of(scan: &Scan, row: &[Value]) -> KeyRange {
    let parts = scan.table.key_parts(scan.index);
    // Behind the columns, a row of a table without a primary key has its number.
    let number = row.get(scan.table.columns.len()).cloned();
    let key: Vec<Value> = parts.iter().map(|part| row[part.column].clone()).chain(number).collect();
    KeyRange { lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
}

/// Returns true if the rows that a plan reads can be locked one by one: its tables are read by one scan each, which finds rows by its
/// ranges.
pub fn reads_by_scans(plan: &Plan) -> bool {
    let here = match &plan.op {
        PlanOp::Scan(scan) => scan.distinct_prefix.is_none(),
        PlanOp::Filter { .. } | PlanOp::Project { .. } | PlanOp::Sort { .. } | PlanOp::Limit { .. } => true,
        PlanOp::Exchange { .. } | PlanOp::HashAggregate { .. } | PlanOp::StreamAggregate { .. } => true,
        _ => false,
    };
    here && plan.inputs().into_iter().all(reads_by_scans)
}

/// Returns true if a plan reads an index of the beginnings of texts, among whose entries a range cannot name one.
pub fn reads_prefixes(plan: &Plan) -> bool {
    let here = match &plan.op {
        PlanOp::Scan(scan) if scan.index > 0 => {
            scan.table.key_parts(scan.index).iter().any(|part| part.prefix.is_some())
        }
        _ => false,
    };
    here || plan.inputs().into_iter().any(reads_prefixes)
}
