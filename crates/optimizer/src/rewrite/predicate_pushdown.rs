//! Conditions go down to where their columns come from, and stay where moving them would change the result.

use super::RewriteContext;
use crate::fingerprint;
use crate::properties::respects_equality;
use crate::scope::{self, ColSet};
use crate::substitution::{Substitution, substitute};
use muster_algebra::{ColId, Expr, JoinKind, Rel, Switch, Window, lateral_outputs};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    push(rel, Vec::new(), context)
}

/// The relation with these conditions on it, as far down as they go.
fn push(mut rel: Rel, mut predicates: Vec<Expr>, context: &mut RewriteContext<'_>) -> Result<Rel> {
    for expr in rel.exprs_mut() {
        push_in_subqueries(expr, context)?;
    }
    let (stay, below) = match rel {
        Rel::Project { .. } | Rel::Union { .. } if !enters_derived(&rel, context) => {
            (predicates, push_below(rel, context)?)
        }
        Rel::Filter { input, predicates: own } => {
            // First what is nearer to the data: it keeps its place in the list.
            let mut all = Expr::conjuncts_of(own);
            fingerprint::extend_new(&mut all, predicates);
            return push(*input, all, context);
        }
        Rel::Project { input, exprs } => {
            let map: Substitution = exprs.iter().cloned().collect();
            let heavy: ColSet =
                exprs.iter().filter(|(_, e)| e.has_subquery() || !e.is_movable()).map(|(id, _)| *id).collect();
            let (stay, go): (Vec<Expr>, Vec<Expr>) =
                predicates.into_iter().partition(|p| !scope::expr_columns(p).is_disjoint(&heavy));
            let go = go.into_iter().map(|p| substitute(p, &map)).collect();
            (stay, Rel::Project { input: Box::new(push(*input, go, context)?), exprs })
        }
        Rel::Join { kind, left, right, on, straight } => {
            return push_join(kind, *left, *right, on, straight, predicates, context);
        }
        Rel::Aggregate { input, group, aggregates } => {
            let keys: ColSet = group.iter().copied().collect();
            let outputs: Vec<_> = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
            let allowed = context.options.for_derived(&outputs).is_on(Switch::DerivedConditionPushdown);
            let (go, stay): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(|p| {
                let whole_groups = allowed && !group.is_empty() && respects_equality(p, context.columns);
                whole_groups && mentions_within(p, &keys, &input, &aggregates)
            });
            (stay, Rel::Aggregate { input: Box::new(push(*input, go, context)?), group, aggregates })
        }
        Rel::Window { input, window } => {
            let (go, stay) = predicates.into_iter().partition(|p| takes_whole_partitions(p, &input, &window, context));
            (stay, Rel::Window { input: Box::new(push(*input, go, context)?), window })
        }
        Rel::Sort { input, keys } => {
            let input = push(*input, std::mem::take(&mut predicates), context)?;
            (Vec::new(), Rel::Sort { input: Box::new(input), keys })
        }
        Rel::Lateral { input, rows, keeps } => {
            let (go, stay) = below_added(predicates, &input, lateral_outputs(&rows));
            (stay, Rel::Lateral { input: Box::new(push(*input, go, context)?), rows, keeps })
        }
        Rel::JsonTable { input, table, keeps } => {
            let (go, stay) = below_added(predicates, &input, &table.outputs);
            (stay, Rel::JsonTable { input: Box::new(push(*input, go, context)?), table, keeps })
        }
        Rel::Limit { .. } | Rel::Recursive { .. } | Rel::Rollup { .. } => (predicates, push_below(rel, context)?),
        Rel::Union { inputs, columns } => {
            let (stay, go): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(|p| p.has_subquery());
            let mut done = Vec::new();
            for (input, ids) in inputs {
                let map: Substitution = columns.iter().copied().zip(ids.iter().map(|id| Expr::Column(*id))).collect();
                let own = go.iter().map(|p| substitute(p.clone(), &map)).collect();
                done.push((push(input, own, context)?, ids));
            }
            (stay, Rel::Union { inputs: done, columns })
        }
        leaf @ (Rel::Get { .. } | Rel::Values { .. } | Rel::Working { .. }) => (predicates, leaf),
    };
    Ok(crate::relation::filtered(below, stay))
}

/// The conditions on the input of an operator that adds rows of other columns, and the others.
fn below_added(predicates: Vec<Expr>, input: &Rel, added: &[ColId]) -> (Vec<Expr>, Vec<Expr>) {
    let own = scope::output_set(input);
    predicates.into_iter().partition(|p| {
        let mentioned = scope::expr_columns(p);
        p.is_movable() && !mentioned.iter().any(|id| added.contains(id)) && !mentioned.is_disjoint(&own)
    })
}

/// Returns true if a condition is on the columns of partitions alone: it takes or leaves whole partitions.
fn takes_whole_partitions(predicate: &Expr, input: &Rel, window: &Window, context: &RewriteContext<'_>) -> bool {
    let keys = scope::exprs_columns(window.partition.iter().filter(|e| matches!(e, Expr::Column(_))));
    let of_input = scope::output_set(input);
    let is_computed = |id: &ColId| window.calls.iter().any(|(own, _)| own == id);
    let mentioned = scope::expr_columns(predicate);
    !mentioned.is_disjoint(&keys)
        && mentioned.iter().all(|id| keys.contains(id) || !of_input.contains(id) && !is_computed(id))
        && predicate.is_movable()
        && respects_equality(predicate, context.columns)
}

/// Returns true if no hint keeps conditions out of a derived table.
fn enters_derived(rel: &Rel, context: &RewriteContext<'_>) -> bool {
    let general = context.options.is_on(Switch::DerivedConditionPushdown);
    let hinted = context.options.for_derived(&rel.output()).is_on(Switch::DerivedConditionPushdown);
    hinted || !general
}

/// The relation with the conditions inside it as far down as they go.
fn push_below(mut rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    for input in rel.inputs_mut() {
        let taken = crate::substitution::take(input);
        *input = push(taken, Vec::new(), context)?;
    }
    Ok(rel)
}

/// Returns true if a condition speaks of nothing that the aggregate computes, and of its input only through the group.
fn mentions_within(
    predicate: &Expr,
    group: &ColSet,
    input: &Rel,
    aggregates: &[(muster_algebra::ColId, muster_algebra::AggregateCall)],
) -> bool {
    let mentioned = scope::expr_columns(predicate);
    let of_input = scope::output_set(input);
    let some = mentioned.iter().any(|id| group.contains(id));
    some && mentioned
        .iter()
        .all(|id| group.contains(id) || (!of_input.contains(id) && !aggregates.iter().any(|(a, _)| a == id)))
}

fn push_in_subqueries(expr: &mut Expr, context: &mut RewriteContext<'_>) -> Result<()> {
    let mut outcome = Ok(());
    scope::for_each_subquery(expr, &mut |inner| {
        if outcome.is_ok() {
            match push(crate::substitution::take(inner), Vec::new(), context) {
                Ok(done) => *inner = done,
                Err(error) => outcome = Err(error),
            }
        }
    });
    outcome
}

/// What a condition speaks of.
#[derive(PartialEq)]
enum Reach {
    Left,
    Right,
    Both,
    Neither,
}

fn reach(predicate: &Expr, left: &ColSet, right: &ColSet) -> Reach {
    let mentioned = scope::expr_columns(predicate);
    match (mentioned.is_disjoint(left), mentioned.is_disjoint(right)) {
        (false, true) => Reach::Left,
        (true, false) => Reach::Right,
        (false, false) => Reach::Both,
        (true, true) => Reach::Neither,
    }
}

fn push_join(
    kind: JoinKind,
    left: Rel,
    right: Rel,
    on: Vec<Expr>,
    straight: bool,
    predicates: Vec<Expr>,
    context: &mut RewriteContext<'_>,
) -> Result<Rel> {
    let (left_columns, right_columns) = (scope::output_set(&left), scope::output_set(&right));
    let (mut to_left, mut to_right, mut in_join, mut above) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for predicate in predicates {
        let reach = reach(&predicate, &left_columns, &right_columns);
        match (kind, reach) {
            (_, Reach::Neither) => above.push(predicate),
            (_, Reach::Left) => to_left.push(predicate),
            (JoinKind::Inner, Reach::Right) => to_right.push(predicate),
            (JoinKind::Inner, Reach::Both) if !predicate.has_subquery() => in_join.push(predicate),
            _ => above.push(predicate),
        }
    }
    for condition in Expr::conjuncts_of(on) {
        let reach = reach(&condition, &left_columns, &right_columns);
        match (kind, reach) {
            (JoinKind::Inner, Reach::Left) | (JoinKind::Semi, Reach::Left) => to_left.push(condition),
            // The null-aware join must see all rows of its right input.
            (JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti, Reach::Right) => {
                to_right.push(condition)
            }
            (JoinKind::Inner, Reach::Neither) => above.push(condition),
            (JoinKind::Inner, Reach::Both) if condition.has_subquery() => above.push(condition),
            _ => in_join.push(condition),
        }
    }
    let mut on = in_join;
    fingerprint::remove_repeated(&mut on);
    let join = Rel::Join {
        kind,
        left: Box::new(push(left, to_left, context)?),
        right: Box::new(push(right, to_right, context)?),
        on,
        straight,
    };
    Ok(crate::relation::filtered(join, above))
}

#[cfg(test)]
#[path = "predicate_pushdown_tests.rs"]
mod tests;
