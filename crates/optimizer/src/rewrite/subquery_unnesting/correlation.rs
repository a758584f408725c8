//! Pulling correlated conditions out of a subquery, so that they can be conditions of a join.

use crate::rewrite::RewriteContext;
use crate::scope::{self, ColSet};
use muster_algebra::{AggregateCall, ColId, CompareOp, Expr, JoinKind, Rel};

/// A relation without mention of the outer columns, and the conditions (over it and them) that were taken out.
pub struct Pulled {
    pub rel: Rel,
    pub conditions: Vec<Expr>,
}

/// Takes all conditions that mention `outer` out of a relation; `None` when that would change the rows.
/// Order is not kept: only use it where order does not matter.
pub fn pull_up(rel: Rel, outer: &ColSet, context: &mut RewriteContext<'_>) -> Option<Pulled> {
    if scope::free_columns(&rel).is_disjoint(outer) {
        return Some(Pulled { rel, conditions: Vec::new() });
    }
    let correlated = |e: &Expr| !scope::expr_columns(e).is_disjoint(outer);
    match rel {
        Rel::Filter { input, predicates } => {
            let (pulled, kept): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(correlated);
            if pulled.iter().any(Expr::has_subquery) {
                return None;
            }
            let Pulled { rel, mut conditions } = pull_up(*input, outer, context)?;
            conditions.extend(pulled);
            Some(Pulled { rel: crate::relation::filtered(rel, kept), conditions })
        }
        Rel::Project { input, mut exprs } => {
            if exprs.iter().any(|(_, e)| correlated(e)) {
                return None;
            }
            let Pulled { rel, conditions } = pull_up(*input, outer, context)?;
            let available = scope::output_set(&rel);
            for id in scope::exprs_columns(&conditions) {
                if available.contains(&id) && !exprs.iter().any(|(have, _)| *have == id) {
                    exprs.push((id, Expr::Column(id)));
                }
            }
            Some(Pulled { rel: Rel::Project { input: Box::new(rel), exprs }, conditions })
        }
        Rel::Join { kind, left, right, on, straight } => {
            let on_correlated = on.iter().any(correlated);
            if kind != JoinKind::Inner && (on_correlated || !scope::free_columns(&right).is_disjoint(outer)) {
                return None;
            }
            let (pulled, on): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(correlated);
            if pulled.iter().any(Expr::has_subquery) {
                return None;
            }
            let left = pull_up(*left, outer, context)?;
            let right = pull_up(*right, outer, context)?;
            let mut conditions = left.conditions;
            conditions.extend(right.conditions);
            conditions.extend(pulled);
            let (left, right) = (Box::new(left.rel), Box::new(right.rel));
            Some(Pulled { rel: Rel::Join { kind, left, right, on, straight }, conditions })
        }
        Rel::Aggregate { input, group, aggregates } if !group.is_empty() => {
            aggregate(*input, group, aggregates, outer, context)
        }
        Rel::Rollup { input, rollup } => {
            let Pulled { rel, conditions } = pull_up(*input, outer, context)?;
            Some(Pulled { rel: Rel::Rollup { input: Box::new(rel), rollup }, conditions })
        }
        Rel::Sort { input, keys } if !keys.iter().any(|k| correlated(&k.expr)) => pull_up(*input, outer, context),
        _ => None,
    }
}

/// Groups by the inner sides of the correlated equalities as well: each outer row then finds its own groups. The outer
/// side is one value for each outer row, so that adding it to the group splits no group that the row sees.
pub fn aggregate(
    input: Rel,
    mut group: Vec<ColId>,
    aggregates: Vec<(ColId, AggregateCall)>,
    outer: &ColSet,
    context: &mut RewriteContext<'_>,
) -> Option<Pulled> {
    if aggregates.iter().any(|(_, call)| call.args.iter().any(|a| !scope::expr_columns(a).is_disjoint(outer))) {
        return None;
    }
    let Pulled { rel, conditions } = pull_up(input, outer, context)?;
    let own = scope::output_set(&rel);
    let (mut computed, mut above) = (Vec::new(), Vec::new());
    for condition in conditions {
        let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return None };
        let inner_only = |e: &Expr| scope::covered(e, &own) && !scope::expr_columns(e).is_empty();
        let outer_only = |e: &Expr| scope::expr_columns(e).is_disjoint(&own);
        let (inner, outside) = match (inner_only(&left), inner_only(&right)) {
            (true, false) if outer_only(&right) => (*left, *right),
            (false, true) if outer_only(&left) => (*right, *left),
            _ => return None,
        };
        let key = match inner {
            Expr::Column(id) => id,
            other => {
                let id = context.columns.add_computed("correlation", other.ty(context.columns), true);
                computed.push((id, other));
                id
            }
        };
        if !group.contains(&key) {
            group.push(key);
        }
        above.push(Expr::eq(Expr::Column(key), outside));
    }
    let rel = if computed.is_empty() {
        rel
    } else {
        let mut exprs: Vec<(ColId, Expr)> = rel.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
        exprs.extend(computed);
        Rel::Project { input: Box::new(rel), exprs }
    };
    Some(Pulled { rel: Rel::Aggregate { input: Box::new(rel), group, aggregates }, conditions: above })
}
