//! Constants are computed now, and conditions that constants decide are decided.

use super::{RewriteContext, update_exprs};
use crate::fingerprint;
use crate::literal::{is_truth, literal};
use muster_algebra::{AggregateCall, AggregateFunction, CompareOp, Expr, LogicOp, Rel, SqlType};
use muster_eval::{Evaluator, PLANNED_TEXT_BYTES_MAX};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let columns = &*context.columns;
    let folded = update_exprs(rel, &mut |expr| fold(expr, columns))?;
    super::bottom_up(folded, &mut |rel| {
        Ok(match rel {
            // TRUE says nothing; AND is what the list means.
            Rel::Filter { input, predicates } => conjuncts(*input, predicates),
            Rel::Join { kind, left, right, on, straight } => {
                Rel::Join { kind, left, right, on: Expr::conjuncts_of(on), straight }
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
    let mut conjuncts = Expr::conjuncts_of(predicates);
    fingerprint::remove_repeated(&mut conjuncts);
    if conjuncts.is_empty() { input } else { Rel::Filter { input: Box::new(input), predicates: conjuncts } }
}

/// Folds one node whose parts are folded.
pub fn fold(expr: &mut Expr, columns: &muster_algebra::Columns) {
    let folded = match expr {
        Expr::Logic { op: op @ (LogicOp::And | LogicOp::Or), args } => and_or(*op, args),
        Expr::InList { arg, list, negated } if list.len() == 1 && !arg.has_subquery() => {
            let op = if *negated { CompareOp::NotEq } else { CompareOp::Eq };
            let arg = std::mem::replace(&mut **arg, Expr::bool(true));
            let mut comparison = Expr::compare(op, arg, list.remove(0));
            fold(&mut comparison, columns);
            Some(comparison)
        }
        Expr::Case { branches, otherwise, ty } => Some(case(std::mem::take(branches), otherwise.take(), *ty, columns)),
        Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Column(_) | Expr::Subquery(_) | Expr::Subplan(_) => None,
        // A comparison with NULL is NULL whatever the other side is.
        Expr::Compare { op, left, right } if *op != CompareOp::NullSafeEq && (is_null(left) || is_null(right)) => {
            Some(Expr::null(SqlType::Bool))
        }
        _ => evaluate(expr, columns),
    };
    if let Some(folded) = folded {
        *expr = folded;
    }
}

fn is_null(expr: &Expr) -> bool {
    literal(expr).is_some_and(|(v, _)| v.is_null())
}

/// Simplifies the parts of an AND or OR. Returns what it is instead, if it is one no longer.
fn and_or(op: LogicOp, args: &mut Vec<Expr>) -> Option<Expr> {
    // TRUE OR x is TRUE, FALSE AND x is FALSE; the other constant drops out.
    let deciding = op == LogicOp::Or;
    if args.iter().any(|arg| matches!(arg, Expr::Logic { op: inner, .. } if *inner == op)) {
        for arg in std::mem::take(args) {
            match arg {
                Expr::Logic { op: inner, args: flat } if inner == op => args.extend(flat),
                other => args.push(other),
            }
        }
    }
    if args.iter().any(|arg| is_truth(arg, deciding)) {
        return Some(Expr::bool(deciding));
    }
    args.retain(|arg| !is_truth(arg, !deciding));
    fingerprint::remove_repeated(args);
    match args.len() {
        0 => Some(Expr::bool(!deciding)),
        1 => Some(args.remove(0)),
        _ => None,
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

/// The value of an expression of literals. `None` if it is none, or computing it fails or warns: then it has to do so
/// when it runs.
fn evaluate(expr: &Expr, columns: &muster_algebra::Columns) -> Option<Expr> {
    let mut is_constant = true;
    expr.for_each_child(&mut |child| is_constant = is_constant && matches!(child, Expr::Literal { .. }));
    if !is_constant || !expr.is_movable() {
        return None;
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
        states: None,
    }
    .eval(expr);
    match outcome {
        Some(Ok(value)) if !warned => Some(Expr::literal(value, expr.ty(columns))),
        _ => None,
    }
}

#[cfg(test)]
#[path = "constant_folding_tests.rs"]
mod tests;
