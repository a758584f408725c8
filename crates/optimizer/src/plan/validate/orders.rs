//! Orders: what an operator needs its inputs to be ordered by, and what it says its rows are ordered by.

use super::fail;
use crate::column_classes::EqualColumns;
use crate::ranges::fixed_parts;
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Plan, PlanOp, Scan, SortKey};
use muster_types::Result;

/// Checks one node; its inputs are checked by themselves.
pub fn check(plan: &Plan) -> Result<()> {
    let order = plan.order.as_slice();
    match &plan.op {
        PlanOp::Scan(scan) => check_scan(scan, order),
        PlanOp::Filter { input, .. }
        | PlanOp::Limit { input, .. }
        | PlanOp::Lateral { input, .. }
        | PlanOp::JsonTable { input, .. } => check_prefix(order, &input.order, "a filter, a limit or a dependent join"),
        PlanOp::Project { input, exprs } => {
            check_prefix(order, &input.order, "a projection")?;
            let passes = |id: &ColId| exprs.iter().any(|(new, e)| new == id && *e == Expr::Column(*id));
            match order.iter().flat_map(|k| k.expr.columns()).all(|id| passes(&id)) {
                true => Ok(()),
                false => fail("a projection orders its rows by what it computes"),
            }
        }
        PlanOp::Sort { keys, .. } => check_prefix(order, keys, "a sort"),
        PlanOp::EarlyStop { input, fallback, .. } => {
            check_prefix(order, &input.order, "an early stop")?;
            check_prefix(order, &fallback.order, "an early stop with a fallback")
        }
        PlanOp::Window { input, window } => {
            check_prefix(&window.sort_keys(), &input.order, "a window")?;
            check_prefix(order, &input.order, "a window")
        }
        PlanOp::StreamAggregate { input, group, .. } => {
            let leading: Vec<ColId> = input.order.iter().take(group.len()).filter_map(column).collect();
            if leading.len() < group.len() || !group.iter().all(|id| leading.contains(id)) {
                return fail("the input of a streaming aggregate does not come by its groups");
            }
            check_prefix(order, &input.order[..group.len()], "a streaming aggregate")
        }
        PlanOp::LookupJoin { left, batched: false, .. } => check_prefix(order, &left.order, "a join row by row"),
        PlanOp::MergeJoin { kind, left, right, keys, .. } => check_merge(plan, *kind, left, right, keys),
        PlanOp::Values { .. }
        | PlanOp::Working { .. }
        | PlanOp::Recursive { .. }
        | PlanOp::Rollup { .. }
        | PlanOp::HashJoin { .. }
        | PlanOp::LookupJoin { batched: true, .. }
        | PlanOp::NestedLoopJoin { .. }
        | PlanOp::HashAggregate { .. }
        | PlanOp::PartialAggregate { .. }
        | PlanOp::FinalAggregate { .. }
        | PlanOp::Exchange { .. }
        | PlanOp::UnionAll { .. }
        | PlanOp::Shared { .. } => match order {
            [] => Ok(()),
            _ => fail("an operator that keeps no order promises one"),
        },
    }
}

fn column(key: &SortKey) -> Option<ColId> {
    match key.expr {
        Expr::Column(id) => Some(id),
        _ => None,
    }
}

fn check_prefix(promised: &[SortKey], given: &[SortKey], what: &str) -> Result<()> {
    match given.starts_with(promised) {
        true => Ok(()),
        false => fail(format_args!("{what} promises an order that its input does not have")),
    }
}

/// The parts of the index's key, in order; parts that have one value in all ranges may be left out, and stand anywhere.
fn check_scan(scan: &Scan, order: &[SortKey]) -> Result<()> {
    if order.is_empty() {
        return Ok(());
    }
    if !scan.ordered {
        return fail("a scan promises an order that it does not read in");
    }
    let parts = scan.table.key_parts(scan.index);
    let fixed = fixed_parts(&scan.ranges);
    let mut at = 0;
    for key in order {
        let position = column(key).and_then(|id| scan.columns.iter().find(|(c, _)| *c == id)).map(|(_, p)| *p);
        let Some(position) = position else { return fail("a scan is ordered by what is no column of it") };
        let is_column = |at: usize| parts.get(at).is_some_and(|p| p.column == position && p.prefix.is_none());
        if (0..fixed).any(is_column) {
            continue;
        }
        at = at.max(fixed);
        let forwards = parts.get(at).is_some_and(|p| (p.descending != key.descending) == scan.reverse);
        if !is_column(at) || !forwards {
            return fail("a scan promises an order that its index does not have");
        }
        at += 1;
    }
    Ok(())
}

fn check_merge(plan: &Plan, kind: JoinKind, left: &Plan, right: &Plan, keys: &[(Expr, Expr)]) -> Result<()> {
    let [(left_key, right_key)] = keys else { return fail("a merge join by another number of keys than one") };
    let starts_with = |input: &Plan, key: &Expr| {
        let mut equal = EqualColumns::default();
        add_equalities(input, &mut equal);
        let leading = input.order.first().filter(|k| !k.descending).and_then(column);
        matches!((leading, key), (Some(a), Expr::Column(b)) if same(&equal, a, *b))
    };
    if !starts_with(left, left_key) || !starts_with(right, right_key) {
        return fail("an input of a merge join is not in the order of its key");
    }
    let mut equal = EqualColumns::default();
    add_equalities(plan, &mut equal);
    match (plan.order.as_slice(), left_key) {
        ([], _) => Ok(()),
        ([key], Expr::Column(id)) if !key.descending && column(key).is_some_and(|c| same(&equal, c, *id)) => {
            let of_right = column(key).is_some_and(|c| !left.output.contains(&c));
            if kind != JoinKind::Inner && of_right {
                return fail("a merge join promises the order of the side that it does not keep");
            }
            Ok(())
        }
        _ => fail("a merge join promises another order than that of its key"),
    }
}

fn same(equal: &EqualColumns, a: ColId, b: ColId) -> bool {
    a == b || equal.class_of(a).is_some_and(|class| class.contains(&b))
}

/// The columns that are equal in all rows of a plan.
fn add_equalities(plan: &Plan, equal: &mut EqualColumns) {
    let mut equate = |left: &Expr, right: &Expr| {
        if let (Expr::Column(a), Expr::Column(b)) = (left, right) {
            equal.join(*a, *b);
        }
    };
    let mut check = |conditions: &[Expr]| {
        for condition in conditions {
            if let Expr::Compare { op: CompareOp::Eq, left, right } = condition {
                equate(left, right);
            }
        }
    };
    match &plan.op {
        PlanOp::Filter { predicates, .. } => check(predicates),
        PlanOp::Scan(scan) => {
            check(&scan.filter);
            check(&scan.index_condition);
        }
        PlanOp::NestedLoopJoin { kind: JoinKind::Inner, on, .. } => check(on),
        PlanOp::HashJoin { kind: JoinKind::Inner, keys, residual, .. }
        | PlanOp::MergeJoin { kind: JoinKind::Inner, keys, residual, .. } => {
            check(residual);
            keys.iter().for_each(|(a, b)| equate(a, b));
        }
        PlanOp::LookupJoin { kind: JoinKind::Inner, lookup, keys, residual, .. } => {
            check(residual);
            check(&lookup.filter);
            for (key, part) in keys.iter().zip(lookup.table.key_parts(lookup.index)) {
                let all = lookup.columns.iter().chain(&lookup.filter_columns);
                for (id, _) in all.filter(|(_, position)| *position == part.column) {
                    equate(key, &Expr::Column(*id));
                }
            }
        }
        _ => {}
    }
    match &plan.op {
        // The other side's rows may be missing.
        PlanOp::HashJoin { kind, left, .. }
        | PlanOp::MergeJoin { kind, left, .. }
        | PlanOp::NestedLoopJoin { kind, left, .. }
            if *kind != JoinKind::Inner =>
        {
            add_equalities(left, equal)
        }
        PlanOp::UnionAll { .. } | PlanOp::Shared { .. } => {}
        _ => plan.inputs().into_iter().for_each(|input| add_equalities(input, equal)),
    }
}
