//! NOT IN: which join each comparison with a NULL needs.
//!
//! Over one column the join itself knows what to do; it keeps the left rows, since one NULL on the right rejects them
//! all. Over several columns, or with further conditions, a left row stays if its comparison with every right row is
//! FALSE:
//!
//! ```text
//!   left  --> anti join with all right rows, keys found by hash --> anti join with the right rows that have a NULL key
//!         --> those without a NULL key ---------------------------------------+--> result
//!         --> those with one --> anti join with all right rows ---------------+
//! ```
//!
//! Only the rows with NULL keys, few as a rule, are compared with more than their partners: by those of the keys that
//! cannot be NULL, if there are any, else one by one.

use super::{each_node, take};
use crate::properties::is_not_null;
use crate::scope::ColSet;
use muster_algebra::{ColId, Estimate, Expr, JoinKind, LogicOp, Plan, PlanOp, Side};
use std::collections::HashMap;

/// Puts the joins of each NOT IN in its place.
pub fn expand(plan: Plan) -> Plan {
    let mut shared = 0;
    let plan = each_node(plan, &mut HashMap::new(), &mut |plan| {
        if let PlanOp::Shared { id, .. } = &plan.op {
            shared = shared.max(*id);
        }
        plan
    });
    each_node(plan, &mut HashMap::new(), &mut |plan| joined(plan, &mut shared))
}

/// `shared`: the highest number of shared rows so far.
fn joined(mut plan: Plan, shared: &mut usize) -> Plan {
    let PlanOp::HashJoin { kind, left, right, keys, residual, build } = &mut plan.op else { return plan };
    if *kind != JoinKind::NullAwareAnti {
        return plan;
    }
    let (left_known, right_known) = (not_null(left), not_null(right));
    let nullable: Vec<(bool, bool)> =
        keys.iter().map(|(l, r)| (!is_not_null(l, &left_known), !is_not_null(r, &right_known))).collect();
    let (left_nullable, right_nullable) = (nullable.iter().any(|n| n.0), nullable.iter().any(|n| n.1));
    if residual.is_empty() && !left_nullable && !right_nullable {
        *kind = JoinKind::Anti;
        return plan;
    }
    if residual.is_empty() && keys.len() == 1 {
        *build = Side::Left;
        return plan;
    }
    let (keys, residual, build) = (std::mem::take(keys), std::mem::take(residual), *build);
    let (left, right, estimate) = (take(left), take(right), plan.estimate);
    let expanded = NotIn { left, right, keys, nullable, residual, build, estimate }.joins(shared);
    crate::plan::deliver(expanded, &plan.output)
}

/// The parts of a NOT IN, and whether each key can be NULL on either side.
struct NotIn {
    left: Plan,
    right: Plan,
    keys: Vec<(Expr, Expr)>,
    nullable: Vec<(bool, bool)>,
    residual: Vec<Expr>,
    build: Side,
    estimate: Estimate,
}

impl NotIn {
    fn joins(self, shared: &mut usize) -> Plan {
        let NotIn { left, right, keys, nullable, residual, build, estimate } = self;
        let (left_nullable, right_nullable) = (nullable.iter().any(|n| n.0), nullable.iter().any(|n| n.1));
        let outputs = left.output.clone();
        let (mut known, mut perhaps) = (Vec::new(), residual.clone());
        for (key, nullable) in keys.iter().zip(&nullable) {
            match nullable {
                (false, false) => known.push(key.clone()),
                _ => perhaps.push(Expr::eq(key.0.clone(), key.1.clone())),
            }
        }
        let not_perhaps_in = |left: Plan, right: Plan| {
            let output = left.output.clone();
            let estimate = Estimate { rows: estimate.rows.min(left.estimate.rows), ..estimate };
            let (left, right) = (Box::new(left), Box::new(right));
            let op = match known.is_empty() {
                true => PlanOp::NestedLoopJoin { kind: JoinKind::NullAwareAnti, left, right, on: perhaps.clone() },
                false => {
                    let (kind, keys, residual) = (JoinKind::Anti, known.clone(), vec![not_false(perhaps.clone())]);
                    PlanOp::HashJoin { kind, left, right, keys, residual, build: Side::Right }
                }
            };
            Plan::new(op, output, estimate, Vec::new())
        };
        let is_null = |expr: &Expr| Expr::IsNull { arg: Box::new(expr.clone()), negated: false };
        let right = if left_nullable || right_nullable { several_times(right, shared) } else { right };
        // Equal keys whose conditions are UNKNOWN reject as those do whose conditions are TRUE.
        let found: Vec<Expr> = if residual.is_empty() { Vec::new() } else { vec![not_false(residual)] };
        let (left, all_right) = (Box::new(left), Box::new(right.clone()));
        let keyed = keys.clone();
        let op = PlanOp::HashJoin { kind: JoinKind::Anti, left, right: all_right, keys: keyed, residual: found, build };
        let mut plan = Plan::new(op, outputs.clone(), estimate, Vec::new());
        if right_nullable {
            let has_null = any(keys.iter().map(|(_, key)| is_null(key)).collect());
            plan = not_perhaps_in(plan, filtered(right.clone(), has_null, 0.0));
        }
        if left_nullable {
            let has_null = any(keys.iter().map(|(key, _)| is_null(key)).collect());
            let all = several_times(plan, shared);
            let rows = all.estimate.rows;
            let with = not_perhaps_in(filtered(all.clone(), has_null.clone(), 0.0), right);
            let without = filtered(all, Expr::Not(Box::new(has_null)), rows);
            let op = PlanOp::UnionAll { inputs: vec![with, without], columns: vec![outputs.clone(); 2] };
            plan = Plan::new(op, outputs, estimate, Vec::new());
        }
        plan
    }
}

/// Rows that are read in several places of one run.
fn several_times(plan: Plan, shared: &mut usize) -> Plan {
    *shared += 1;
    let (output, estimate) = (plan.output.clone(), plan.estimate);
    let op = PlanOp::Shared { id: *shared, input: Box::new(plan), columns: output.clone(), per_run: true };
    Plan::new(op, output, estimate, Vec::new())
}

fn filtered(input: Plan, predicate: Expr, rows: f64) -> Plan {
    let (output, estimate) = (input.output.clone(), Estimate { rows, ..input.estimate });
    Plan::new(PlanOp::Filter { input: Box::new(input), predicates: vec![predicate] }, output, estimate, Vec::new())
}

fn not_false(all: Vec<Expr>) -> Expr {
    Expr::IsTruth { arg: Box::new(Expr::and(all)), truth: false, negated: true }
}

fn any(mut tests: Vec<Expr>) -> Expr {
    match tests.len() {
        1 => tests.remove(0),
        _ => Expr::Logic { op: LogicOp::Or, args: tests },
    }
}

/// Columns that a plan never delivers NULL in.
fn not_null(plan: &Plan) -> ColSet {
    let stored = |scan: &muster_algebra::Scan| -> ColSet {
        let columns = scan.columns.iter();
        // The hidden row number is no column of the table.
        let is_set = |column: usize| scan.table.columns.get(column).is_none_or(|column| !column.nullable);
        columns.filter(|(_, column)| is_set(*column)).map(|(id, _)| *id).collect()
    };
    match &plan.op {
        PlanOp::Scan(scan) => stored(scan),
        PlanOp::Values { rows } => {
            let never = |i: usize| rows.iter().all(|row| is_not_null(&row[i], &ColSet::new()));
            plan.output.iter().enumerate().filter(|(i, _)| never(*i)).map(|(_, id)| *id).collect()
        }
        PlanOp::Project { input, exprs } => {
            let known = not_null(input);
            exprs.iter().filter(|(_, expr)| is_not_null(expr, &known)).map(|(id, _)| *id).collect()
        }
        PlanOp::HashJoin { kind, left, right, .. }
        | PlanOp::MergeJoin { kind, left, right, .. }
        | PlanOp::NestedLoopJoin { kind, left, right, .. } => match kind {
            JoinKind::Inner => not_null(left).into_iter().chain(not_null(right)).collect(),
            _ => not_null(left),
        },
        PlanOp::LookupJoin { kind, left, lookup, .. } => match kind {
            JoinKind::Inner => not_null(left).into_iter().chain(stored(lookup)).collect(),
            _ => not_null(left),
        },
        PlanOp::UnionAll { inputs, columns } => {
            let known: Vec<ColSet> = inputs.iter().map(not_null).collect();
            let never = |i: usize| known.iter().zip(columns).all(|(known, ids)| known.contains(&ids[i]));
            plan.output.iter().enumerate().filter(|(i, _)| never(*i)).map(|(_, id)| *id).collect()
        }
        PlanOp::Shared { input, columns, .. } => renamed(&not_null(input), columns, &plan.output),
        PlanOp::HashAggregate { input, group, .. }
        | PlanOp::PartialAggregate { input, group, .. }
        | PlanOp::FinalAggregate { input, group, .. }
        | PlanOp::StreamAggregate { input, group, .. } => {
            not_null(input).into_iter().filter(|id| group.contains(id)).collect()
        }
        PlanOp::Working { .. } | PlanOp::Recursive { .. } => ColSet::new(),
        PlanOp::Filter { input, .. }
        | PlanOp::Rollup { input, .. }
        | PlanOp::Window { input, .. }
        | PlanOp::Lateral { input, .. }
        | PlanOp::JsonTable { input, .. }
        | PlanOp::Sort { input, .. }
        | PlanOp::Limit { input, .. }
        | PlanOp::EarlyStop { input, .. }
        | PlanOp::Exchange { input, .. } => not_null(input),
    }
}

fn renamed(known: &ColSet, from: &[ColId], to: &[ColId]) -> ColSet {
    from.iter().zip(to).filter(|(own, _)| known.contains(own)).map(|(_, id)| *id).collect()
}
