//! Correlated scalar subqueries as left joins.

use super::correlation::{self, Pulled, pull_up};
use crate::properties::{equated, unique_keys};
use crate::rewrite::RewriteContext;
use crate::scope::{self, ColSet};
use crate::substitution::{Substitution, substitute};
use muster_algebra::{AggregateFunction, Expr, JoinKind, Rel, ScalarFunction, Subquery, Value};

/// The relation joined with a scalar subquery, and what the subquery's value is in the joined rows; the relation given
/// back when no rule fits.
pub fn join(rel: Rel, q: &Subquery, context: &mut RewriteContext<'_>) -> Result<(Rel, Expr), Rel> {
    let outer: ColSet = scope::free_columns(&q.rel).intersection(&scope::output_set(&rel)).copied().collect();
    if outer.is_empty() {
        return Err(rel);
    }
    let found = aggregate(q, &outer, context).or_else(|| single_row(q, &outer, context));
    match found {
        Some((right, on, value)) => {
            let (left, right) = (Box::new(rel), Box::new(right));
            Ok((Rel::Join { kind: JoinKind::Left, left, right, on, straight: false }, value))
        }
        None => Err(rel),
    }
}

/// `(SELECT f(aggregates) FROM .. WHERE inner = outer)`: grouped by the inner sides. No group is no rows: the
/// aggregates are NULL then, and counts are 0.
fn aggregate(q: &Subquery, outer: &ColSet, context: &mut RewriteContext<'_>) -> Option<(Rel, Vec<Expr>, Expr)> {
    let output = *q.outputs.first()?;
    let (aggregate, mut value) = match &*q.rel {
        Rel::Project { input, exprs } => (&**input, exprs.iter().find(|(id, _)| *id == output)?.1.clone()),
        other => (other, Expr::Column(output)),
    };
    let Rel::Aggregate { input, group, aggregates } = aggregate else { return None };
    if !group.is_empty() || value.has_subquery() {
        return None;
    }
    let mut when_empty = Substitution::new();
    for (id, call) in aggregates {
        match call.function {
            AggregateFunction::Count => {
                let zero = Expr::literal(Value::Int(0), call.ty);
                let args = vec![Expr::Column(*id), zero];
                when_empty.insert(*id, Expr::Call { function: ScalarFunction::Coalesce, args, ty: call.ty });
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => return None,
            _ => {}
        }
    }
    value = substitute(value, &when_empty);
    let Pulled { rel, conditions } =
        correlation::aggregate((**input).clone(), Vec::new(), aggregates.clone(), outer, context)?;
    Some((rel, conditions, value))
}

/// A subquery that the correlation restricts to one row by a unique key.
fn single_row(q: &Subquery, outer: &ColSet, context: &mut RewriteContext<'_>) -> Option<(Rel, Vec<Expr>, Expr)> {
    let output = *q.outputs.first()?;
    let Pulled { rel, conditions } = pull_up((*q.rel).clone(), outer, context)?;
    let own = scope::output_set(&rel);
    let bound = |id: &muster_algebra::ColId| {
        conditions.iter().any(|c| equated(c, *id).is_some_and(|o| scope::expr_columns(o).is_disjoint(&own)))
    };
    let unique = unique_keys(&rel).iter().any(|key| key.iter().all(bound));
    unique.then_some((rel, conditions, Expr::Column(output)))
}
