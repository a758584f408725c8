//! How a statement that locks the ranges which it reads finds the rows of one table: by a range of a secondary index
//! rather than by the whole table, even where that costs less, since others want the rows that are not locked.

use crate::{Optimized, Options, optimize_hinted};
use muster_algebra::{
    Columns, IndexHint, IndexHintKind, IndexHintScope, KeyRange, Plan, PlanOp, Rel, Scan, Statistics, TableDef,
};
use muster_types::Result;
use std::sync::Arc;

/// A range of a secondary index is read if it is expected to have at most this share of the table's rows.
const RANGE_SHARE_MAX: f64 = 0.5;

/// Plans a relation as [`optimize_hinted`] does, for a statement that locks what it reads and the gaps in between.
/// Errors: those of planning.
pub fn optimize_to_lock(
    rel: Rel,
    columns: &mut Columns,
    statistics: &dyn Statistics,
    options: &Options,
) -> Result<Optimized> {
    let is_ordered = wants_first_of_order(&rel);
    let secondary = with_secondary_indexes(rel.clone());
    let mut others = columns.clone();
    let optimized = optimize_hinted(rel, columns, statistics, options)?;
    let (reads_whole_table, sorts) = (reads_whole_table(&optimized.plan), has_sort(&optimized.plan));
    // Where the order is that of the table, the first rows end the search before many are locked.
    let stops_early = is_ordered && !sorts;
    let Some((secondary, table)) = secondary.filter(|_| reads_whole_table && !stops_early) else {
        return Ok(optimized);
    };
    let by_range = optimize_hinted(secondary, &mut others, statistics, options)?;
    let most = statistics.row_count(&table).map_or(f64::INFINITY, |all| all * RANGE_SHARE_MAX);
    let is_range = |scan: &Scan| scan.index > 0 && scan.ranges != [KeyRange::all()];
    if !scan_of(&by_range.plan).is_some_and(is_range) || by_range.plan.estimate.rows > most {
        return Ok(optimized);
    }
    *columns = others;
    Ok(by_range)
}

/// Returns true for ORDER BY with LIMIT.
fn wants_first_of_order(rel: &Rel) -> bool {
    let is_sort = |rel: &Rel| matches!(rel, Rel::Sort { .. });
    let inputs = rel.inputs();
    match rel {
        Rel::Limit { .. } if inputs.iter().any(|input| is_sort(input)) => true,
        _ => inputs.into_iter().any(wants_first_of_order),
    }
}

fn has_sort(plan: &Plan) -> bool {
    matches!(plan.op, PlanOp::Sort { .. }) || plan.inputs().into_iter().any(has_sort)
}

fn reads_whole_table(plan: &Plan) -> bool {
    scan_of(plan).is_some_and(|scan| scan.index == 0 && scan.ranges == [KeyRange::all()])
}

/// The one scan of a plan of one table; `None` if it is read in several ways.
fn scan_of(plan: &Plan) -> Option<&Scan> {
    match &plan.op {
        PlanOp::Scan(scan) => Some(scan),
        PlanOp::Sort { input, .. }
        | PlanOp::Filter { input, .. }
        | PlanOp::Project { input, .. }
        | PlanOp::Limit { input, .. }
        | PlanOp::Exchange { input, .. } => scan_of(input),
        _ => None,
    }
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
