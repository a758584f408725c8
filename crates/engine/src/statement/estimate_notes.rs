//! Compares what a plan expected with what its operators did. An error is laid to the operator that makes it: where an
//! input is off as much already, the input is named and not what is above it.

use super::StatementContext;
use crate::estimate_errors::{EstimateError, FACTOR};
use muster_algebra::{Actual, ColId, Columns, Expr, NodeId, Plan, PlanOp};
use muster_sql::digest::statement_digest;
use muster_types::{ErrorCode, SqlModes};
use sha2::{Digest, Sha256};

/// Differences of fewer rows do not matter.
const ROWS_MIN: f64 = 100.0;
/// Bytes of a statement that its digest is made of.
const STATEMENT_BYTES: usize = 64 << 10;

/// Notes the errors of a plan that has run to its end for SHOW WARNINGS, and the worst of them for
/// `information_schema.ESTIMATE_ERRORS`.
pub fn note(context: &StatementContext, plan: &Plan, columns: &Columns, actual: &dyn Fn(NodeId) -> Actual) {
    let mut errors = Vec::new();
    find(plan, columns, actual, false, &mut errors);
    errors.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    for error in &errors {
        let on = if error.columns.is_empty() { String::new() } else { format!(" on ({})", error.columns) };
        let message = format!(
            "Estimate of rows: {}{on}: {:.0} expected, {:.0} found",
            error.operator, error.estimated_rows, error.actual_rows
        );
        context.diagnostics.note(ErrorCode::Unknown, message);
    }
    let Some(worst) = errors.into_iter().next() else { return };
    let Some(sql) = context.process.statement(STATEMENT_BYTES) else { return };
    if let Ok(digest) = statement_digest(&sql, SqlModes::NONE, false) {
        let hash = Sha256::digest(&digest.tokens).iter().map(|byte| format!("{byte:02x}")).collect();
        context.database.estimate_errors().add(hash, digest.text, worst, context.clock.now_utc_micros);
    }
}

/// Returns true if the rows of a node, or of one below it, were estimated badly. `stops`: a node above may stop before
/// all rows are there.
fn find(
    plan: &Plan,
    columns: &Columns,
    actual: &dyn Fn(NodeId) -> Actual,
    stops: bool,
    errors: &mut Vec<EstimateError>,
) -> bool {
    let below = match &plan.op {
        PlanOp::Limit { .. } | PlanOp::EarlyStop { .. } => true,
        // All of the input is read before the first row comes.
        PlanOp::Sort { .. } | PlanOp::HashAggregate { .. } => false,
        _ => stops,
    };
    let mut is_known = false;
    for input in plan.inputs() {
        is_known |= find(input, columns, actual, below, errors);
    }
    if is_known || stops {
        return is_known;
    }
    let ran = actual(plan.id);
    let (estimated, found) = (plan.estimate.rows.max(1.0), (ran.rows as f64).max(1.0));
    let factor = (estimated / found).max(found / estimated);
    if ran.loops == 0 || factor <= FACTOR || (estimated - found).abs() < ROWS_MIN {
        return false;
    }
    errors.push(EstimateError {
        operator: headline(plan, columns),
        columns: named_columns(plan, columns).join(", "),
        estimated_rows: plan.estimate.rows,
        actual_rows: ran.rows as f64,
        factor,
    });
    true
}

/// The first line of a node in a tree, without its figures.
fn headline(plan: &Plan, columns: &Columns) -> String {
    let tree = muster_explain::tree(plan, columns);
    let line = tree.lines().next().unwrap_or_default();
    let line = line.split("  (cost=").next().unwrap_or_default();
    line.trim_start_matches("-> ").split(", with pushed condition").next().unwrap_or_default().to_owned()
}

/// The columns that the rows of a node depend on.
fn named_columns(plan: &Plan, columns: &Columns) -> Vec<String> {
    let mut ids: Vec<ColId> = Vec::new();
    let mut add = |exprs: &[Expr]| exprs.iter().flat_map(Expr::columns).for_each(|id| ids.push(id));
    let mut names: Vec<String> = Vec::new();
    match &plan.op {
        PlanOp::Scan(scan) => {
            add(&scan.index_condition);
            add(&scan.filter);
            let parts = scan.ranges.iter().map(|range| {
                use std::ops::Bound::{Excluded, Included, Unbounded};
                let length = |bound: &std::ops::Bound<Vec<_>>| match bound {
                    Included(values) | Excluded(values) => values.len(),
                    Unbounded => 0,
                };
                length(&range.lower).max(length(&range.upper))
            });
            let restricted = scan.table.key_parts(scan.index).into_iter().take(parts.max().unwrap_or(0));
            names.extend(restricted.map(|part| format!("{}.{}", scan.alias, scan.table.columns[part.column].name)));
        }
        PlanOp::Filter { predicates, .. } => add(predicates),
        PlanOp::HashJoin { keys, residual, .. } | PlanOp::MergeJoin { keys, residual, .. } => {
            keys.iter().for_each(|(a, b)| add(&[a.clone(), b.clone()]));
            add(residual);
        }
        PlanOp::LookupJoin { keys, residual, lookup, .. } => {
            add(keys);
            add(residual);
            add(&lookup.filter);
            add(&lookup.index_condition);
        }
        PlanOp::NestedLoopJoin { on, .. } => add(on),
        PlanOp::HashAggregate { group, .. } | PlanOp::StreamAggregate { group, .. } => ids.extend(group),
        _ => {}
    }
    let name = |id: &ColId| {
        let meta = columns.get(*id);
        match &meta.origin {
            Some(origin) => format!("{}.{}", origin.alias, origin.column),
            None => meta.name.clone(),
        }
    };
    names.extend(ids.iter().map(name));
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names
}
