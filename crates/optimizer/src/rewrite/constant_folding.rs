//! Constants are computed now, and conditions that constants decide are decided.

use super::{RewriteContext, logic, map_exprs};
use crate::fingerprint;
use crate::literal::{is_truth, literal};
use muster_algebra::{AggregateCall, AggregateFunction, CompareOp, Expr, LogicOp, Rel, SqlType};
use muster_eval::{Evaluator, PLANNED_TEXT_BYTES_MAX};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let columns = &*context.columns;
    let folded = map_exprs(rel, &mut |expr| expr.rewrite(&mut |e| fold(e, columns)))?;
    super::bottom_up(folded, &mut |rel| {
        Ok(match rel {
            // TRUE says nothing; AND is what the list means.
            Rel::Filter { input, predicates } => conjuncts(*input, predicates),
            Rel::Join { kind, left, right, on, straight } => {
                let on = on.into_iter().flat_map(Expr::into_conjuncts).collect();
                Rel::Join { kind, left, right, on, straight }
            }
            Rel::Aggregate { input, group, mut aggregates } => {
                aggregates.iter_mut().for_each(|(_, call)| count_rows(call));
                Rel::Aggregate { input, group, aggregates }
            }
            other => other,
        })
    })
}

/// `COUNT(1)` counts rows.
fn count_rows(call: &mut AggregateCall) {
    let constant = |e: &Expr| literal(e).is_some_and(|(v, _)| !v.is_null());
    if call.function == AggregateFunction::Count && !call.distinct && call.args.iter().all(constant) {
        call.args.clear();
    }
}

fn conjuncts(input: Rel, predicates: Vec<Expr>) -> Rel {
    let mut conjuncts: Vec<Expr> = predicates.into_iter().flat_map(Expr::into_conjuncts).collect();
    fingerprint::remove_repeated(&mut conjuncts);
    if conjuncts.is_empty() { input } else { Rel::Filter { input: Box::new(input), predicates: conjuncts } }
}

/// Folds one node whose parts are folded.
pub fn fold(expr: Expr, columns: &muster_algebra::Columns) -> Expr {
    match expr {
        Expr::Logic { op: LogicOp::And, args } => and_or(LogicOp::And, args),
        Expr::Logic { op: LogicOp::Or, args } => and_or(LogicOp::Or, args),
        Expr::InList { arg, mut list, negated } if list.len() == 1 && !arg.has_subquery() => {
            let op = if negated { CompareOp::NotEq } else { CompareOp::Eq };
            fold(Expr::compare(op, *arg, list.remove(0)), columns)
        }
        Expr::Case { branches, otherwise, ty } => case(branches, otherwise, ty, columns),
        Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Column(_) | Expr::Subquery(_) | Expr::Subplan(_) => expr,
        // A comparison with NULL is NULL whatever the other side is.
        Expr::Compare { op, left, right } if op != CompareOp::NullSafeEq && (is_null(&left) || is_null(&right)) => {
            Expr::null(SqlType::Bool)
        }
        other => evaluate(other, columns),
    }
}

fn is_null(expr: &Expr) -> bool {
    literal(expr).is_some_and(|(v, _)| v.is_null())
}

fn and_or(op: LogicOp, args: Vec<Expr>) -> Expr {
    // TRUE OR x is TRUE, FALSE AND x is FALSE; the other constant drops out.
    let deciding = op == LogicOp::Or;
    let mut kept: Vec<Expr> = Vec::new();
    let Expr::Logic { args, .. } = (match logic(op, args) {
        Expr::Logic { op: flat, args } if flat == op => Expr::Logic { op, args },
        single => Expr::Logic { op, args: vec![single] },
    }) else {
        return Expr::bool(!deciding);
    };
    for arg in args {
        if is_truth(&arg, deciding) {
            return Expr::bool(deciding);
        }
        if !is_truth(&arg, !deciding) {
            kept.push(arg);
        }
    }
    fingerprint::remove_repeated(&mut kept);
    match kept.len() {
        0 => Expr::bool(!deciding),
        1 => kept.remove(0),
        _ => Expr::Logic { op, args: kept },
    }
}

fn case(
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Box<Expr>>,
    ty: SqlType,
    columns: &muster_algebra::Columns,
) -> Expr {
    let mut kept: Vec<(Expr, Expr)> = Vec::new();
    for (condition, result) in branches {
        if crate::literal::never_true(&condition) {
            continue;
        }
        if is_truth(&condition, true) {
            if kept.is_empty() && result.ty(columns) == ty {
                return result;
            }
            return Expr::Case { branches: kept, otherwise: Some(Box::new(result)), ty };
        }
        kept.push((condition, result));
    }
    if kept.is_empty() {
        return match otherwise {
            Some(e) if e.ty(columns) == ty => *e,
            Some(e) => Expr::Case { branches: Vec::new(), otherwise: Some(e), ty },
            None => Expr::null(ty),
        };
    }
    Expr::Case { branches: kept, otherwise, ty }
}

/// The value of an expression of literals. The expression stays as it is when computing it fails or warns: then it has to
/// do so when it runs.
fn evaluate(expr: Expr, columns: &muster_algebra::Columns) -> Expr {
    if !expr.is_movable() || expr.children().iter().any(|c| !matches!(c, Expr::Literal { .. })) {
        return expr;
    }
    let mut warned = false;
    let outcome = Evaluator {
        value: &|_| None,
        ty: &|_| None,
        parameters: &[],
        warn: &mut |_| warned = true,
        text_bytes_max: PLANNED_TEXT_BYTES_MAX,
        reserve: &mut |_| Ok(()),
        last_insert_id: None,
    }
    .eval(&expr);
    match outcome {
        Some(Ok(value)) if !warned => Expr::literal(value, expr.ty(columns)),
        _ => expr,
    }
}

#[cfg(test)]
#[path = "constant_folding_tests.rs"]
mod tests;
