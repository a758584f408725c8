//! Numbers of rows: no operator may expect more rows than it can deliver, and none costs less than its inputs.

use super::fail;
use crate::scope::ColSet;
use muster_algebra::{ColId, Expr, JoinKind, Plan, PlanOp, Scan};
use muster_types::Result;

/// Estimates are computed in different ways for the same rows; they may differ by rounding.
const ROUNDING: f64 = 1.001;
/// Distinct values are estimated apart from rows, so that a row that finds one partner by its key may be expected to
/// find some more.
const PARTNERS_BY_KEY_MAX: f64 = 4.0;

/// Checks one node; its inputs are checked by themselves.
pub fn check(plan: &Plan) -> Result<()> {
    let (rows, cost) = (plan.estimate.rows, plan.estimate.cost);
    if !(rows.is_finite() && rows >= 0.0 && cost.is_valid()) {
        return fail(format_args!("an estimate of {rows} rows at {cost:?}"));
    }
    let most = most_rows(plan);
    // An estimate below one row is an estimate of one row in places.
    if rows > most.max(1.0) * ROUNDING {
        let node = format!("{:?}", plan.op);
        let name = node.split([' ', '(']).next().unwrap_or_default();
        return fail(format_args!("{rows} rows are expected of {name}, which has {most} at most"));
    }
    Ok(())
}

/// Most rows that a node delivers if its inputs deliver as many as they are expected to.
fn most_rows(plan: &Plan) -> f64 {
    let of = |input: &Plan| input.estimate.rows.max(1.0);
    let first = |input: &Plan, count: Option<u64>| count.map_or(of(input), |n| of(input).min(n as f64));
    match &plan.op {
        PlanOp::Scan(scan) => scan.limit.map_or(f64::INFINITY, |n| n as f64),
        PlanOp::Values { rows } => rows.len() as f64,
        PlanOp::Filter { input, .. }
        | PlanOp::Project { input, .. }
        | PlanOp::Exchange { input, .. }
        | PlanOp::EarlyStop { input, .. }
        | PlanOp::Window { input, .. }
        | PlanOp::PartialAggregate { input, .. }
        | PlanOp::Shared { input, .. } => of(input),
        PlanOp::Rollup { input, rollup } => of(input) * rollup.copies() as f64,
        PlanOp::Sort { input, fetch, .. } => first(input, *fetch),
        // Each partition has a limit of its own.
        PlanOp::Limit { input, count, .. } => first(input, count.map(|n| n.saturating_mul(plan.partitions as u64))),
        PlanOp::HashAggregate { group, .. }
        | PlanOp::FinalAggregate { group, .. }
        | PlanOp::StreamAggregate { group, .. }
            if group.is_empty() =>
        {
            1.0
        }
        PlanOp::HashAggregate { input, .. }
        | PlanOp::FinalAggregate { input, .. }
        | PlanOp::StreamAggregate { input, .. } => of(input),
        PlanOp::Lateral { .. } | PlanOp::JsonTable { .. } | PlanOp::Working { .. } | PlanOp::Recursive { .. } => {
            f64::INFINITY
        }
        PlanOp::UnionAll { inputs, .. } => inputs.iter().map(of).sum(),
        PlanOp::HashJoin { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti, left, .. }
        | PlanOp::MergeJoin { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti, left, .. }
        | PlanOp::LookupJoin { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti, left, .. } => of(left),
        PlanOp::HashJoin { kind, left, right, keys, .. } | PlanOp::MergeJoin { kind, left, right, keys, .. } => {
            let is_key = |side: &Plan, of: fn(&(Expr, Expr)) -> &Expr| {
                let equated = |id: &ColId| keys.iter().any(|pair| *of(pair) == Expr::Column(*id));
                unique_keys(side).iter().any(|key| key.iter().all(equated))
            };
            let mut most = of(left) * of(right);
            if is_key(right, |pair| &pair.1) {
                most = most.min(of(left) * PARTNERS_BY_KEY_MAX);
            }
            if *kind == JoinKind::Inner && is_key(left, |pair| &pair.0) {
                most = most.min(of(right) * PARTNERS_BY_KEY_MAX);
            }
            most
        }
        // A join that NOT IN is made of expects the rows around it.
        PlanOp::NestedLoopJoin { .. } => f64::INFINITY,
        PlanOp::LookupJoin { left, lookup, keys, .. } if finds_one(lookup, keys.len()) => {
            of(left) * PARTNERS_BY_KEY_MAX
        }
        PlanOp::LookupJoin { .. } => f64::INFINITY,
    }
}

/// Returns true if a lookup with so many keys finds one row at most.
fn finds_one(lookup: &Scan, keys: usize) -> bool {
    let index = &lookup.table.indexes[lookup.index];
    let is_set = |column: usize| lookup.index == 0 || !lookup.table.columns[column].nullable;
    index.unique && !index.parts.is_empty() && keys >= index.parts.len() && index.parts.iter().all(|p| is_set(p.column))
}

/// Sets of columns no two rows of a plan have the same values of, as far as the plan itself tells.
fn unique_keys(plan: &Plan) -> Vec<ColSet> {
    match &plan.op {
        PlanOp::Scan(scan) => scan_keys(scan),
        PlanOp::Filter { input, .. }
        | PlanOp::Window { input, .. }
        | PlanOp::Sort { input, .. }
        | PlanOp::Exchange { input, .. }
        | PlanOp::Limit { input, .. } => unique_keys(input),
        PlanOp::Project { input, exprs } => {
            let new = |id: ColId| exprs.iter().find(|(_, e)| *e == Expr::Column(id)).map(|(new, _)| *new);
            unique_keys(input).into_iter().filter_map(|key| key.into_iter().map(new).collect()).collect()
        }
        PlanOp::HashAggregate { group, .. }
        | PlanOp::FinalAggregate { group, .. }
        | PlanOp::StreamAggregate { group, .. } => {
            vec![group.iter().copied().collect()]
        }
        _ => Vec::new(),
    }
}

fn scan_keys(scan: &Scan) -> Vec<ColSet> {
    let unique = scan.table.indexes.iter().enumerate().filter(|(_, i)| i.unique && !i.parts.is_empty());
    let key = |(at, index): (usize, &muster_algebra::IndexDef)| {
        let of_part = |part: &muster_algebra::KeyPart| {
            let is_set = at == 0 || !scan.table.columns[part.column].nullable;
            let id = scan.columns.iter().find(|(_, position)| *position == part.column).map(|(id, _)| *id);
            id.filter(|_| is_set && part.prefix.is_none())
        };
        index.parts.iter().map(of_part).collect()
    };
    unique.filter_map(key).collect()
}
