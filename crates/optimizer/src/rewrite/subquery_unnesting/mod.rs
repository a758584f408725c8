//! Subqueries become joins.
//!
//! ```text
//!   [NOT] EXISTS, [NOT] IN, = ANY, <> ALL   ->  semi / anti join          quantified.rs
//!   scalar aggregate, correlated            ->  grouped by the correlation, left join    scalar.rs
//!   scalar by unique key, correlated        ->  left join                 scalar.rs
//!   correlated conditions inside            ->  pulled up to the join     correlation.rs
//!   over both sides of a left join          ->  a condition of the pairs  outer_join.rs
//! ```
//!
//! Innermost first. What has no rule stays an `Expr::Subquery` and becomes a subplan: uncorrelated scalars and EXISTS
//! (one run each), anything under OR or CASE, correlation by inequality under an aggregate, correlation inside LIMIT or
//! UNION.

mod correlation;
mod outer_join;
mod quantified;
mod scalar;

use super::RewriteContext;
use crate::scope;
use muster_algebra::{ColId, Expr, JoinKind, Rel, SubqueryKind, Switch};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    unnest(rel, context)
}

fn unnest(mut rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    for input in rel.inputs_mut() {
        let taken = crate::substitution::take(input);
        *input = unnest(taken, context)?;
    }
    for expr in rel.exprs_mut() {
        let mut outcome = Ok(());
        refresh_subqueries(expr, &mut |inner| {
            if outcome.is_ok() {
                match unnest(crate::substitution::take(inner), context) {
                    Ok(done) => *inner = done,
                    Err(error) => outcome = Err(error),
                }
            }
        });
        outcome?;
    }
    Ok(match rel {
        Rel::Filter { input, predicates } if predicates.iter().any(Expr::has_subquery) => {
            unnest_filter(*input, predicates, context)
        }
        Rel::Project { input, exprs } if exprs.iter().any(|(_, e)| e.has_subquery()) => {
            unnest_project(*input, exprs, context)
        }
        Rel::Sort { input, mut keys } => {
            let mut below = *input;
            for key in &mut keys {
                below = replace_scalars(&mut key.expr, below, context);
            }
            Rel::Sort { input: Box::new(below), keys }
        }
        Rel::Aggregate { input, group, mut aggregates } => {
            let mut below = *input;
            for (_, call) in &mut aggregates {
                for expr in super::projection_merging::call_exprs_mut(call) {
                    below = replace_scalars(expr, below, context);
                }
            }
            Rel::Aggregate { input: Box::new(below), group, aggregates }
        }
        Rel::Join { kind: JoinKind::Left, left, right, on, straight } => {
            let Some((pairs, on_key)) = outer_join::pairs(&left, &right, &on, context) else {
                return Ok(outer_join::dependent(*left, *right, on, straight));
            };
            let right = Box::new(match pairs {
                Rel::Filter { input, predicates } => unnest_filter(*input, predicates, context),
                other => other,
            });
            Rel::Join { kind: JoinKind::Left, left, right, on: on_key, straight }
        }
        other => other,
    })
}

/// Joins do not keep the order of a Sort below the projection. So they go below the Sort; where a LIMIT has picked rows
/// by it, the rows picked are sorted once more above the joins.
fn unnest_project(input: Rel, mut exprs: Vec<(ColId, Expr)>, context: &mut RewriteContext) -> Rel {
    let sorted = match &input {
        Rel::Sort { keys, .. } => Some(keys.clone()),
        Rel::Limit { input, .. } => match &**input {
            Rel::Sort { keys, .. } => Some(keys.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut below = match input {
        Rel::Sort { input, .. } => *input,
        other => other,
    };
    let passed: Vec<_> = exprs.iter().map(|(id, _)| (*id, Expr::Column(*id))).collect();
    for (_, expr) in &mut exprs {
        below = replace_scalars(expr, below, context);
    }
    let Some(keys) = sorted else { return Rel::Project { input: Box::new(below), exprs } };
    for id in keys.iter().flat_map(|k| k.expr.columns()) {
        if exprs.iter().all(|(known, _)| *known != id) {
            exprs.push((id, Expr::Column(id)));
        }
    }
    let input = Box::new(Rel::Project { input: Box::new(below), exprs });
    Rel::Project { input: Box::new(Rel::Sort { input, keys }), exprs: passed }
}

/// Runs `f` on each subquery's relation and keeps the list of its outer columns true.
fn refresh_subqueries(expr: &mut Expr, f: &mut dyn FnMut(&mut Rel)) {
    if let Expr::Subquery(q) = expr {
        f(&mut q.rel);
        q.outer = scope::free_columns(&q.rel).into_iter().collect();
    }
    expr.children_mut().into_iter().for_each(|c| refresh_subqueries(c, f));
}

fn unnest_filter(input: Rel, predicates: Vec<Expr>, context: &mut RewriteContext<'_>) -> Rel {
    let (mut rel, mut kept) = (input, Vec::new());
    // Plain conditions first: they stay below the joins that the others become.
    let (subqueries, plain): (Vec<Expr>, Vec<Expr>) =
        predicates.into_iter().flat_map(Expr::into_conjuncts).partition(Expr::has_subquery);
    rel = crate::relation::filtered(rel, plain);
    for predicate in subqueries {
        match predicate {
            Expr::Subquery(q) if !matches!(q.kind, SubqueryKind::Scalar) => {
                let options = context.options.for_block(&q.rel);
                let joined =
                    if options.is_on(Switch::Semijoin) { quantified::as_join(&rel, &q, context) } else { None };
                match joined {
                    Some((kind, right, on)) => {
                        let (left, right) = (Box::new(rel), Box::new(right));
                        rel = Rel::Join { kind, left, right, on, straight: false };
                    }
                    None => kept.push(quantified::kept(*q, &options, &mut context.in_subquery_has_a_choice)),
                }
            }
            mut other => {
                rel = replace_scalars(&mut other, rel, context);
                kept.push(other);
            }
        }
    }
    crate::relation::filtered(rel, kept)
}

/// Replaces the scalar subqueries in an expression by columns that joins add to the relation.
fn replace_scalars(expr: &mut Expr, rel: Rel, context: &mut RewriteContext<'_>) -> Rel {
    let mut rel = rel;
    if !expr.has_subquery() {
        return rel;
    }
    for child in expr.children_mut() {
        rel = replace_scalars(child, rel, context);
    }
    if let Expr::Subquery(q) = expr
        && matches!(q.kind, SubqueryKind::Scalar)
        && context.options.is_on(Switch::SubqueryToDerived)
    {
        match scalar::join(rel, q, context) {
            Ok((joined, value)) => {
                *expr = value;
                return joined;
            }
            Err(same) => return same,
        }
    }
    rel
}

#[cfg(test)]
mod kept_in_tests;
#[cfg(test)]
mod unnesting_tests;
