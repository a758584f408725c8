//! How a statement that locks the rows that it reads finds those of one table: by one index, entry after entry, so that
//! each is locked before it is tested.

use crate::{Options, optimize_hinted};
use muster_algebra::{
    Columns, IndexHint, IndexHintKind, IndexHintScope, KeyRange, Plan, PlanOp, Rel, Statistics, Switch, TableDef,
};
use muster_types::Result;
use std::sync::Arc;

/// Rewrites and access paths that do not read a table by one index in its order.
const LEFT_OUT: [Switch; 7] = [
    Switch::LateFetch,
    Switch::OrderFallback,
    Switch::IndexMerge,
    Switch::IndexMergeIntersection,
    Switch::IndexMergeUnion,
    Switch::IndexMergeSortUnion,
    Switch::Mrr,
];
/// A range of a secondary index is read if it is expected to have at most this share of the table's rows, though
/// reading the whole table may cost less: other statements want the rows that are not locked.
const RANGE_SHARE_MAX: f64 = 0.5;

/// The index and its keys that are read. Rows for which the statement's conditions do not hold are among them.
#[derive(Debug, Clone, PartialEq)]
pub struct LockingAccess {
    /// Position among the table's indexes.
    pub index: usize,
    /// Disjoint, in the order of the index; none: there is no such row.
    pub ranges: Vec<KeyRange>,
    /// True if the keys are read from the last to the first.
    pub reverse: bool,
    /// True if the rows come in the order that the statement asks for.
    pub ordered: bool,
    /// The plan that this is part of, for EXPLAIN.
    pub plan: Plan,
}

impl LockingAccess {
    fn reads_all(&self) -> bool {
        self.ranges == [KeyRange::all()]
    }
}

/// Chooses the index for a relation of one base table, with conditions, order and limit. Errors: internal ones only.
pub fn locking_access(
    rel: Rel,
    columns: &mut Columns,
    statistics: &dyn Statistics,
    options: &Options,
) -> Result<LockingAccess> {
    let mut options = options.clone();
    options.threads = 1;
    LEFT_OUT.into_iter().for_each(|switch| options.set(switch, false));
    let secondary = with_secondary_indexes(rel.clone());
    let mut others = columns.clone();
    let access = planned(rel, columns, statistics, &options)?;
    let Some((secondary, table)) = secondary.filter(|_| access.reads_all() && access.index == 0) else {
        return Ok(access);
    };
    let by_range = planned(secondary, &mut others, statistics, &options)?;
    let most = statistics.row_count(&table).map_or(f64::INFINITY, |all| all * RANGE_SHARE_MAX);
    if by_range.reads_all() || by_range.plan.estimate.rows > most {
        return Ok(access);
    }
    *columns = others;
    Ok(by_range)
}

fn planned(rel: Rel, columns: &mut Columns, statistics: &dyn Statistics, options: &Options) -> Result<LockingAccess> {
    let sorts = has_sort(&rel);
    let plan = optimize_hinted(rel, columns, statistics, options)?.plan;
    let (mut below, mut sorted_again) = (&plan, false);
    let (index, ranges, reverse) = loop {
        match &below.op {
            PlanOp::Scan(scan) => break (scan.index, scan.ranges.clone(), scan.reverse),
            PlanOp::Values { rows } if rows.is_empty() => break (0, Vec::new(), false),
            PlanOp::Sort { input, .. } => {
                sorted_again = true;
                below = input;
            }
            PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::Limit { input, .. }
            | PlanOp::Exchange { input, .. } => below = input,
            // Whatever else there is reads the table in several ways: then all rows are looked at.
            _ => {
                sorted_again = true;
                break (0, vec![KeyRange::all()], false);
            }
        }
    };
    Ok(LockingAccess { index, ranges, reverse, ordered: !sorts || !sorted_again, plan })
}

fn has_sort(rel: &Rel) -> bool {
    matches!(rel, Rel::Sort { .. }) || rel.inputs().into_iter().any(has_sort)
}

/// The relation, if it has conditions, with a hint to use its table's secondary indexes, and that table; `None` if it
/// has none, or the statement says which indexes are used.
fn with_secondary_indexes(mut rel: Rel) -> Option<(Rel, Arc<TableDef>)> {
    let (mut filtered, mut at) = (false, &mut rel);
    let table = loop {
        match at {
            Rel::Get { table, hints, .. } => {
                if !filtered || table.indexes.len() < 2 || !hints.is_empty() {
                    return None;
                }
                let indexes = (1..table.indexes.len()).collect();
                hints.push(IndexHint { kind: IndexHintKind::Force, scope: IndexHintScope::All, indexes });
                break table.clone();
            }
            Rel::Filter { input, .. } => {
                filtered = true;
                at = input;
            }
            Rel::Sort { input, .. } | Rel::Limit { input, .. } | Rel::Project { input, .. } => at = input,
            _ => return None,
        }
    };
    Some((rel, table))
}
