//! Keys: an aggregate delivers each group once, and a join finds all partners of a row.
//!
//! Both depend on what is below. In several partitions, rows with equal keys have to come into the same one. A loose
//! index scan leaves rows out, so what reads it has to be an aggregate that does not miss them.

use super::fail;
use crate::scope::exprs_columns;
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, ExchangeKind, Expr, JoinKind, KeyPart, Plan, PlanOp, Scan, Side,
};
use muster_types::Result;

/// Checks one node; its inputs are checked by themselves.
pub fn check(plan: &Plan) -> Result<()> {
    check_partitions(plan)?;
    match &plan.op {
        PlanOp::HashAggregate { input, group, aggregates }
        | PlanOp::PartialAggregate { input, group, aggregates }
        | PlanOp::StreamAggregate { input, group, aggregates } => check_loose(&loose_reads(input), group, aggregates),
        PlanOp::Project { .. } | PlanOp::UnionAll { .. } | PlanOp::Exchange { .. } => Ok(()),
        PlanOp::Scan(scan) => check_conditions(scan),
        _ => plan.inputs().into_iter().try_for_each(check_complete),
    }
}

/// Checks that no rows were left out of the result of a statement or a subquery.
pub fn check_complete(plan: &Plan) -> Result<()> {
    match loose_reads(plan).is_empty() {
        true => Ok(()),
        false => fail("a loose scan is read by what needs all of its rows"),
    }
}

/// Checks that rows with equal keys are in one partition, where the node needs that.
fn check_partitions(plan: &Plan) -> Result<()> {
    if plan.partitions == 1 {
        return Ok(());
    }
    match &plan.op {
        PlanOp::HashAggregate { input, group, .. } | PlanOp::FinalAggregate { input, group, .. } => {
            let is_group = |key: &Expr| matches!(key, Expr::Column(id) if group.contains(id));
            match spreads(input).iter().any(|keys| keys.iter().all(is_group)) {
                true => Ok(()),
                false => fail("rows of one group are in several partitions"),
            }
        }
        PlanOp::HashJoin { kind, left, right, keys, build, .. } => {
            let built = if *build == Side::Left { left } else { right };
            if built.partitions == 1 {
                return Ok(());
            }
            if *kind == JoinKind::NullAwareAnti {
                return fail("a NULL decides for the rows of its partition only");
            }
            let place = |key: &Expr, of: fn(&(Expr, Expr)) -> &Expr| keys.iter().position(|pair| of(pair) == key);
            let of_left = |spread: &Vec<Expr>| -> Option<Vec<usize>> {
                spread.iter().map(|key| place(key, |pair| &pair.0)).collect()
            };
            let of_right = |spread: &Vec<Expr>| -> Option<Vec<usize>> {
                spread.iter().map(|key| place(key, |pair| &pair.1)).collect()
            };
            let right_places: Vec<Vec<usize>> = spreads(right).iter().filter_map(of_right).collect();
            match spreads(left).iter().filter_map(of_left).any(|places| right_places.contains(&places)) {
                true => Ok(()),
                false => fail("rows that a join may pair are in different partitions"),
            }
        }
        _ => Ok(()),
    }
}

/// Lists of keys; rows of a plan for which all keys of one list are equal are in the same partition.
fn spreads(plan: &Plan) -> Vec<Vec<Expr>> {
    match &plan.op {
        PlanOp::Exchange { kind: ExchangeKind::Hash { keys }, .. } => vec![keys.clone()],
        PlanOp::Filter { input, .. }
        | PlanOp::PartialAggregate { input, .. }
        | PlanOp::HashAggregate { input, .. }
        | PlanOp::FinalAggregate { input, .. }
        // A column number means the same below and above.
        | PlanOp::Project { input, .. }
        | PlanOp::LookupJoin { left: input, .. }
        | PlanOp::HashJoin { left: input, build: Side::Right, .. }
        | PlanOp::HashJoin { right: input, build: Side::Left, kind: JoinKind::Inner, .. } => spreads(input),
        // Left rows without a partner have NULLs for the columns of the right side, in every partition.
        _ => Vec::new(),
    }
}

/// A loose index scan as the nodes above it see it.
struct Loose {
    /// The parts of the key of which each combination of values is delivered; `None` for a part that is not delivered.
    distinct: Vec<Option<ColId>>,
    /// The part behind them, of which one end is delivered for each combination.
    next: Option<ColId>,
    /// Which end that is.
    end: AggregateFunction,
}

impl Loose {
    fn of(scan: &Scan) -> Option<Loose> {
        let distinct = scan.distinct_prefix?;
        let parts = scan.table.key_parts(scan.index);
        let delivered = |part: &KeyPart| {
            let column = scan.columns.iter().find(|(_, position)| *position == part.column);
            column.filter(|_| part.prefix.is_none()).map(|(id, _)| *id)
        };
        let next = parts.get(distinct);
        let is_last = next.is_some_and(|part| part.descending != scan.reverse);
        let end = if is_last { AggregateFunction::Max } else { AggregateFunction::Min };
        let distinct = parts.iter().take(distinct).map(delivered).collect();
        Some(Loose { distinct, next: next.and_then(delivered), end })
    }

    /// The same under other column numbers; those without a new one are lost.
    fn renamed(self, new: &dyn Fn(ColId) -> Option<ColId>) -> Loose {
        let distinct = self.distinct.into_iter().map(|id| id.and_then(new)).collect();
        Loose { distinct, next: self.next.and_then(new), end: self.end }
    }
}

/// Checks that the rows that a loose scan leaves out fulfil its conditions if and only if those that it delivers do.
fn check_conditions(scan: &Scan) -> Result<()> {
    let Some(distinct) = scan.distinct_prefix else { return Ok(()) };
    let parts = &scan.table.key_parts(scan.index)[..distinct];
    let is_distinct = |id: &ColId| {
        let mut all = scan.columns.iter().chain(&scan.filter_columns);
        all.any(|(own, position)| own == id && parts.iter().any(|part| part.column == *position))
    };
    match exprs_columns(scan.filter.iter().chain(&scan.index_condition)).iter().all(is_distinct) {
        true => Ok(()),
        false => fail("a loose scan checks a condition on what it does not go to each value of"),
    }
}

/// The loose scans whose rows a plan delivers as they are.
fn loose_reads(plan: &Plan) -> Vec<Loose> {
    match &plan.op {
        PlanOp::Scan(scan) => Loose::of(scan).into_iter().collect(),
        PlanOp::Exchange { input, .. } => loose_reads(input),
        PlanOp::Project { input, exprs } => {
            let new = |id: ColId| exprs.iter().find(|(_, expr)| *expr == Expr::Column(id)).map(|(new, _)| *new);
            loose_reads(input).into_iter().map(|loose| loose.renamed(&new)).collect()
        }
        PlanOp::UnionAll { inputs, columns } => {
            let of_input = |(input, list): (&Plan, &Vec<ColId>)| {
                let new = |id: ColId| list.iter().position(|own| *own == id).map(|at| plan.output[at]);
                loose_reads(input).into_iter().map(|loose| loose.renamed(&new)).collect::<Vec<_>>()
            };
            inputs.iter().zip(columns).flat_map(of_input).collect()
        }
        _ => Vec::new(),
    }
}

/// Checks that an aggregate is the same with the rows that the scans deliver as with all rows.
fn check_loose(scans: &[Loose], group: &[ColId], aggregates: &[(ColId, AggregateCall)]) -> Result<()> {
    let within = |scan: &Loose, id: &ColId| scan.distinct.contains(&Some(*id));
    if !scans.iter().all(|scan| group.iter().all(|id| within(scan, id))) {
        return fail("a loose scan does not go to each group");
    }
    let has_value = |call: &AggregateCall| match call.args.as_slice() {
        [Expr::Column(id)] if matches!(call.function, AggregateFunction::Min | AggregateFunction::Max) => {
            scans.iter().all(|scan| within(scan, id))
                || scans.iter().any(|scan| scan.next == Some(*id) && scan.end == call.function)
        }
        _ => false,
    };
    match scans.is_empty() || aggregates.iter().all(|(_, call)| has_value(call)) {
        true => Ok(()),
        false => fail("an aggregate of rows that a loose scan leaves out"),
    }
}
