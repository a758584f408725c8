//! EXISTS and IN as semi and anti joins.

use super::correlation::{Pulled, pull_up};
use crate::options::Options;
use crate::properties::may_be_null;
use crate::rewrite::RewriteContext;
use crate::scope::{self, ColSet};
use muster_algebra::{CompareOp, Expr, JoinKind, Quantifier, Rel, Subquery, SubqueryKind, Switch};

/// What joining a subquery that is one of a relation's conditions takes: the kind of join, its right input, its
/// condition. `None` when no rule fits.
pub fn as_join(rel: &Rel, q: &Subquery, context: &mut RewriteContext<'_>) -> Option<(JoinKind, Rel, Vec<Expr>)> {
    let outer: ColSet = scope::free_columns(&q.rel).intersection(&scope::output_set(rel)).copied().collect();
    match &q.kind {
        SubqueryKind::Scalar | SubqueryKind::Rows => None,
        SubqueryKind::Exists { negated } => {
            if outer.is_empty() {
                return None;
            }
            let Pulled { rel: right, conditions } = pull_up(without_order((*q.rel).clone()), &outer, context)?;
            let kind = if *negated { JoinKind::Anti } else { JoinKind::Semi };
            Some((kind, right, conditions))
        }
        SubqueryKind::In { left, negated } => membership(rel, q, left, *negated, &outer, context),
        SubqueryKind::Compare { left, op, quantifier } => match (op, quantifier) {
            (CompareOp::Eq, Quantifier::Any) => membership(rel, q, std::slice::from_ref(left), false, &outer, context),
            (CompareOp::NotEq, Quantifier::All) => {
                membership(rel, q, std::slice::from_ref(left), true, &outer, context)
            }
            // Without an equality there is nothing to join by; a subplan compares.
            (_, Quantifier::Any) if !outer.is_empty() => {
                if left.has_subquery() {
                    return None;
                }
                let Pulled { rel: right, mut conditions } = pull_up(without_order((*q.rel).clone()), &outer, context)?;
                let value = Expr::Column(*q.outputs.first()?);
                conditions.push(Expr::compare(*op, (**left).clone(), value));
                Some((JoinKind::Semi, right, conditions))
            }
            _ => None,
        },
    }
}

/// A subquery that stays one of the conditions: an IN keeps its rows or runs for each row of the query around it.
/// `either_way` is set if it may do both.
pub fn kept(q: Subquery, options: &Options, either_way: &mut bool) -> Expr {
    let keeps = options.is_on(Switch::Materialization) && options.is_on(Switch::MaterializedIn);
    match (keeps, options.is_on(Switch::InToExists)) {
        (false, true) => in_to_exists(q),
        (true, true) => {
            let by_cost = options.is_on(Switch::SubqueryMaterializationCostBased);
            *either_way |= by_cost && matches!(q.kind, SubqueryKind::In { negated: false, .. });
            Expr::Subquery(Box::new(q))
        }
        (_, false) => Expr::Subquery(Box::new(q)),
    }
}

/// `left IN (rows)` as EXISTS of a row that is equal; where only TRUE counts, that is the same. What is no such IN
/// stays.
fn in_to_exists(q: Subquery) -> Expr {
    let SubqueryKind::In { left, negated: false } = &q.kind else { return Expr::Subquery(Box::new(q)) };
    if left.iter().any(Expr::has_subquery) || left.len() != q.outputs.len() {
        return Expr::Subquery(Box::new(q));
    }
    let pairs = left.iter().zip(&q.outputs).map(|(l, o)| Expr::eq(l.clone(), Expr::Column(*o))).collect();
    let rel = crate::relation::filtered(*q.rel, pairs);
    let outer = scope::free_columns(&rel).into_iter().collect();
    let kind = SubqueryKind::Exists { negated: false };
    Expr::Subquery(Box::new(Subquery { kind, rel: Box::new(rel), outputs: Vec::new(), outer }))
}

/// `left [NOT] IN (rows)`.
fn membership(
    rel: &Rel,
    q: &Subquery,
    left: &[Expr],
    negated: bool,
    outer: &ColSet,
    context: &mut RewriteContext<'_>,
) -> Option<(JoinKind, Rel, Vec<Expr>)> {
    if left.iter().any(Expr::has_subquery) || left.len() != q.outputs.len() {
        return None;
    }
    // A constant on the left is no key to join by.
    if left.iter().any(|e| scope::expr_columns(e).is_empty()) {
        return None;
    }
    let Pulled { rel: right, mut conditions } = pull_up(without_order((*q.rel).clone()), outer, context)?;
    let pairs: Vec<Expr> = left.iter().zip(&q.outputs).map(|(l, o)| Expr::eq(l.clone(), Expr::Column(*o))).collect();
    if !negated {
        conditions.extend(pairs);
        return Some((JoinKind::Semi, right, conditions));
    }
    let nullable =
        left.iter().any(|l| may_be_null(l, rel)) || q.outputs.iter().any(|o| may_be_null(&Expr::Column(*o), &right));
    match (nullable, conditions.is_empty()) {
        (false, _) => {
            conditions.extend(pairs);
            Some((JoinKind::Anti, right, conditions))
        }
        (true, true) => Some((JoinKind::NullAwareAnti, right, pairs)),
        // Only the rows of the correlation count, and among them none may be equal or perhaps equal.
        (true, false) => {
            let perhaps = Expr::IsTruth { arg: Box::new(Expr::and(pairs)), truth: false, negated: true };
            conditions.push(perhaps);
            Some((JoinKind::Anti, right, conditions))
        }
    }
}

/// The order of a set of rows does not matter to EXISTS and IN, and neither do duplicates.
fn without_order(rel: Rel) -> Rel {
    match rel {
        Rel::Sort { input, .. } => without_order(*input),
        Rel::Project { input, exprs } => match *input {
            Rel::Sort { input, .. } => Rel::Project { input, exprs },
            other => Rel::Project { input: Box::new(other), exprs },
        },
        Rel::Aggregate { input, group, aggregates } if aggregates.is_empty() && !group.is_empty() => {
            let exprs = group.into_iter().map(|id| (id, Expr::Column(id))).collect();
            without_order(Rel::Project { input, exprs })
        }
        other => other,
    }
}
