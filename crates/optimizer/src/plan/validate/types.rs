//! Types: columns that are mentioned exist, conditions are conditions, and what is compared can be compared.

use super::fail;
use muster_algebra::{Columns, Expr, Plan, PlanOp};
use muster_types::{Result, SqlType};

/// Checks the expressions of one node; its inputs are checked by themselves.
pub fn check(plan: &Plan, columns: &Columns) -> Result<()> {
    if let Some(id) = plan.output.iter().find(|id| id.0 as usize >= columns.len()) {
        return fail(format_args!("column {} is delivered and does not exist", id.0));
    }
    match &plan.op {
        PlanOp::Scan(scan) => {
            for (id, position) in scan.columns.iter().chain(&scan.filter_columns) {
                let stored = scan.table.readable_type(*position);
                if !stored.is_some_and(|ty| are_comparable(ty, columns.ty(*id))) {
                    return fail(format_args!("column {} has another type than what is stored", id.0));
                }
            }
            check_conditions(scan.filter.iter().chain(&scan.index_condition), columns)
        }
        PlanOp::Filter { predicates, .. } => check_conditions(predicates, columns),
        PlanOp::NestedLoopJoin { on, .. } => check_conditions(on, columns),
        PlanOp::HashJoin { keys, residual, .. } | PlanOp::MergeJoin { keys, residual, .. } => {
            check_conditions(residual, columns)?;
            keys.iter().try_for_each(|(left, right)| {
                check_expr(left, columns)?;
                check_expr(right, columns)?;
                check_pair(left, right, columns)
            })
        }
        PlanOp::LookupJoin { lookup, keys, residual, entry_condition, .. } => {
            check_conditions(residual.iter().chain(entry_condition), columns)?;
            check_conditions(lookup.filter.iter().chain(&lookup.index_condition), columns)?;
            for (key, part) in keys.iter().zip(lookup.table.key_parts(lookup.index)) {
                check_expr(key, columns)?;
                if !are_comparable(key.ty(columns), lookup.table.columns[part.column].ty) {
                    return fail("a lookup by a key of another type than the index has");
                }
            }
            Ok(())
        }
        PlanOp::Lateral { rows, .. } => check_expr(rows, columns),
        PlanOp::JsonTable { table, .. } => check_expr(&table.document, columns),
        PlanOp::Project { exprs, .. } => exprs.iter().try_for_each(|(_, e)| check_expr(e, columns)),
        PlanOp::Values { rows } => rows.iter().flatten().try_for_each(|e| check_expr(e, columns)),
        PlanOp::HashAggregate { aggregates, .. }
        | PlanOp::PartialAggregate { aggregates, .. }
        | PlanOp::StreamAggregate { aggregates, .. } => {
            aggregates.iter().flat_map(|(_, call)| &call.args).try_for_each(|e| check_expr(e, columns))
        }
        PlanOp::Recursive { recursion, .. } => recursion.steps.iter().try_for_each(|e| check_expr(e, columns)),
        PlanOp::Window { window, .. } => window.exprs().into_iter().try_for_each(|e| check_expr(e, columns)),
        PlanOp::Sort { keys, .. } => keys.iter().try_for_each(|k| check_expr(&k.expr, columns)),
        PlanOp::UnionAll { inputs, columns: lists } => {
            for (id, ids) in (0..plan.output.len()).map(|i| (plan.output[i], lists.iter().map(move |l| l[i]))) {
                for own in ids {
                    if !are_comparable(columns.ty(own), columns.ty(id)) {
                        return fail(format_args!("a union makes column {} of one of another type", id.0));
                    }
                }
            }
            debug_assert_eq!(inputs.len(), lists.len());
            Ok(())
        }
        PlanOp::Exchange { .. }
        | PlanOp::FinalAggregate { .. }
        | PlanOp::Working { .. }
        | PlanOp::Rollup { .. }
        | PlanOp::Limit { .. }
        | PlanOp::EarlyStop { .. }
        | PlanOp::Shared { .. } => Ok(()),
    }
}

fn check_conditions<'a>(conditions: impl IntoIterator<Item = &'a Expr>, columns: &Columns) -> Result<()> {
    for condition in conditions {
        check_expr(condition, columns)?;
        if !matches!(condition.ty(columns), SqlType::Bool | SqlType::Null) {
            return fail(format_args!("a condition of type {:?}", condition.ty(columns)));
        }
    }
    Ok(())
}

/// Checks the columns and the comparisons of an expression.
fn check_expr(expr: &Expr, columns: &Columns) -> Result<()> {
    let mut outcome = Ok(());
    expr.visit(&mut |e| {
        if outcome.is_ok() {
            outcome = match e {
                Expr::Column(id) if id.0 as usize >= columns.len() => {
                    fail(format_args!("column {} is mentioned and does not exist", id.0))
                }
                Expr::Compare { left, right, .. } => check_pair(left, right, columns),
                Expr::InList { arg, list, .. } => list.iter().try_for_each(|item| check_pair(arg, item, columns)),
                _ => Ok(()),
            };
        }
    });
    outcome
}

fn check_pair(left: &Expr, right: &Expr, columns: &Columns) -> Result<()> {
    let exists = |e: &Expr| e.columns().iter().all(|id| (id.0 as usize) < columns.len());
    if !exists(left) || !exists(right) {
        return fail("a comparison mentions a column that does not exist");
    }
    match are_comparable(left.ty(columns), right.ty(columns)) {
        true => Ok(()),
        false => fail(format_args!("{:?} is compared with {:?}", left.ty(columns), right.ty(columns))),
    }
}

/// Returns true if values of both types have one order: types of one family, texts of one collation.
fn are_comparable(a: SqlType, b: SqlType) -> bool {
    match (a, b) {
        (SqlType::Null, _) | (_, SqlType::Null) => true,
        (SqlType::Text { collation: x, .. }, SqlType::Text { collation: y, .. }) => x == y,
        _ => std::mem::discriminant(&a) == std::mem::discriminant(&b),
    }
}
