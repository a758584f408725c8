//! Projections disappear into what is above them: derived tables, views and CTEs become part of the query around them.
//!
//! A column that a projection only passes on, renames, or sets to a constant is replaced everywhere above it. One that
//! is computed stays where it is computed, or moves above a join, unless it is used once only (then it is computed
//! where it is used).

use super::RewriteContext;
use crate::scope;
use crate::substitution::{Substitution, replace_with, substitute};
use muster_algebra::{
    AggregateCall, ColId, Expr, JoinKind, JsonTable, Recursion, Rel, Rollup, SortKey, Switch, Window,
};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let wanted = rel.output();
    let (rel, map) = merge(rel, context)?;
    Ok(deliver(rel, &map, &wanted, context))
}

/// The relation with exactly these columns.
fn deliver(rel: Rel, map: &Substitution, wanted: &[ColId], context: &RewriteContext<'_>) -> Rel {
    if map.is_empty() && rel.output() == wanted {
        return rel;
    }
    let exprs: Vec<(ColId, Expr)> =
        wanted.iter().map(|id| (*id, map.get(id).cloned().unwrap_or(Expr::Column(*id)))).collect();
    // A projection right below is the same list with its meaning filled in.
    if let Rel::Project { input, exprs: below } = rel {
        let inlined: Substitution = below.iter().cloned().collect();
        if exprs.iter().all(|(_, e)| can_inline(e, &below)) && !is_kept_apart(&below, context) {
            let exprs = exprs.into_iter().map(|(id, e)| (id, substitute(e, &inlined))).collect();
            return Rel::Project { input, exprs };
        }
        let below = Rel::Project { input, exprs: below };
        return Rel::Project { input: Box::new(below), exprs };
    }
    Rel::Project { input: Box::new(rel), exprs }
}

/// Returns true if putting a projection's expressions into `expr` computes nothing twice that is costly.
fn can_inline(expr: &Expr, below: &[(ColId, Expr)]) -> bool {
    match expr {
        Expr::Column(_) => true,
        _ => below.iter().filter(|(id, _)| expr_uses(expr, *id)).all(|(_, e)| is_trivial(e)),
    }
}

fn expr_uses(expr: &Expr, id: ColId) -> bool {
    scope::expr_columns(expr).contains(&id)
}

/// Columns and constants cost nothing, wherever they stand.
fn is_trivial(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_) | Expr::Literal { .. })
}

/// Merges the projections in the subqueries of a relation's expressions: they are statements of their own.
fn merge_subqueries(rel: &mut Rel, context: &mut RewriteContext<'_>) -> Result<()> {
    for expr in rel.exprs_mut() {
        let mut outcome = Ok(());
        scope::for_each_subquery(expr, &mut |inner| {
            if outcome.is_ok() {
                match run(crate::substitution::take(inner), context) {
                    Ok(done) => *inner = done,
                    Err(error) => outcome = Err(error),
                }
            }
        });
        outcome?;
    }
    Ok(())
}

/// A dependent join, whose subquery mentions what stands for the columns of its input.
fn merge_lateral(input: Rel, rows: Expr, keeps: bool, context: &mut RewriteContext<'_>) -> Result<(Rel, Substitution)> {
    let (input, map) = merge(input, context)?;
    let rows = Box::new(substitute(rows, &map));
    Ok((Rel::Lateral { input: Box::new(input), rows, keeps }, map))
}

/// JSON_TABLE, whose document mentions what stands for the columns of its input.
fn merge_json_table(
    input: Rel,
    mut table: Box<JsonTable>,
    keeps: bool,
    context: &mut RewriteContext<'_>,
) -> Result<(Rel, Substitution)> {
    let (input, map) = merge(input, context)?;
    table.document = substitute(table.document, &map);
    Ok((Rel::JsonTable { input: Box::new(input), table, keeps }, map))
}

/// A union, whose inputs deliver their columns under names of their own or under those that it takes.
fn merge_union(
    inputs: Vec<(Rel, Vec<ColId>)>,
    columns: Vec<ColId>,
    context: &mut RewriteContext<'_>,
) -> Result<(Rel, Substitution)> {
    let mut merged = Vec::new();
    for (input, ids) in inputs {
        let (input, map) = merge(input, context)?;
        let own = scope::output_set(&input);
        let renamed: Option<Vec<ColId>> = ids
            .iter()
            .map(|id| match map.get(id) {
                None => Some(*id),
                Some(Expr::Column(c)) if own.contains(c) => Some(*c),
                Some(_) => None,
            })
            .collect();
        merged.push(match renamed {
            Some(ids) => (input, ids),
            None => (deliver(input, &map, &ids, context), ids),
        });
    }
    Ok((Rel::Union { inputs: merged, columns }, Substitution::new()))
}

/// The relation without needless projections, and what stands for each column that it delivers no longer.
fn merge(mut rel: Rel, context: &mut RewriteContext<'_>) -> Result<(Rel, Substitution)> {
    merge_subqueries(&mut rel, context)?;
    match rel {
        Rel::Get { .. } | Rel::Values { .. } | Rel::Working { .. } => Ok((rel, Substitution::new())),
        Rel::Recursive { input, recursion } => merge_recursive(*input, recursion, context),
        Rel::Filter { input, predicates } => {
            let (input, map) = merge(*input, context)?;
            let predicates: Vec<Expr> = predicates.into_iter().map(|p| substitute(p, &map)).collect();
            // Conditions of several levels are one list.
            let rel = match input {
                Rel::Filter { input, predicates: mut below } => {
                    below.extend(predicates);
                    Rel::Filter { input, predicates: below }
                }
                other => Rel::Filter { input: Box::new(other), predicates },
            };
            Ok((rel, map))
        }
        // A derived table that a hint keeps apart: its columns are computed below, as they are.
        Rel::Project { input, exprs } if is_kept_apart(&exprs, context) => {
            let wanted = scope::exprs_columns(exprs.iter().map(|(_, e)| e));
            let (input, map) = merge(*input, context)?;
            let input = deliver(input, &map, &wanted.into_iter().collect::<Vec<_>>(), context);
            Ok((Rel::Project { input: Box::new(input), exprs }, Substitution::new()))
        }
        Rel::Project { input, exprs } => {
            let (input, map) = merge(*input, context)?;
            let mut exprs: Vec<(ColId, Expr)> = exprs.into_iter().map(|(id, e)| (id, substitute(e, &map))).collect();
            let input = match input {
                // Two projections are one, unless that computes something twice.
                Rel::Project { input: below, exprs: inner }
                    if exprs.iter().all(|(_, e)| can_inline(e, &inner)) && !is_kept_apart(&inner, context) =>
                {
                    let inlined: Substitution =
                        inner.iter().filter(|(id, e)| *e != Expr::Column(*id)).cloned().collect();
                    exprs.iter_mut().for_each(|(_, e)| replace_with(e, |e| substitute(e, &inlined)));
                    *below
                }
                other => other,
            };
            Ok(keep_computed(input, exprs))
        }
        Rel::Join { kind, left, right, on, straight } => {
            let (left, mut map) = merge(*left, context)?;
            let (right, right_map) = merge(*right, context)?;
            // What the NULL-extended side does not take from its rows is NULL all the same where nothing matched.
            let (right, right_map) = if kind == JoinKind::Left { pin(right, right_map) } else { (right, right_map) };
            map.extend(right_map);
            let on: Vec<Expr> = on.into_iter().map(|e| substitute(e, &map)).collect();
            Ok((lift_projections(kind, left, right, on, straight), map))
        }
        Rel::Aggregate { input, group, aggregates } => {
            merge(*input, context).map(|(input, map)| merge_aggregate(input, group, aggregates, map))
        }
        Rel::Rollup { input, rollup } => merge_rollup(*input, rollup, context),
        Rel::Window { input, window } => merge_window(*input, window, context),
        Rel::Sort { input, keys } => {
            let (input, map) = merge(*input, context)?;
            let keys = keys.into_iter().map(|k| SortKey { expr: substitute(k.expr, &map), ..k }).collect();
            Ok((Rel::Sort { input: Box::new(input), keys }, map))
        }
        Rel::Limit { input, offset, count } => merge_limit(*input, offset, count, context),
        Rel::Lateral { input, rows, keeps } => merge_lateral(*input, *rows, keeps, context),
        Rel::JsonTable { input, table, keeps } => merge_json_table(*input, table, keeps, context),
        Rel::Union { inputs, columns } => merge_union(inputs, columns, context),
    }
}

/// Returns true if a projection is a derived table with NO_MERGE.
fn is_kept_apart(exprs: &[(ColId, Expr)], context: &RewriteContext<'_>) -> bool {
    let ids: Vec<ColId> = exprs.iter().map(|(id, _)| *id).collect();
    !context.options.for_derived(&ids).is_on(Switch::DerivedMerge)
}

/// Takes what is trivial out of a projection; what is left is a projection of all columns of the input and the computed
/// ones.
fn keep_computed(input: Rel, exprs: Vec<(ColId, Expr)>) -> (Rel, Substitution) {
    let (trivial, computed): (Vec<_>, Vec<_>) = exprs.into_iter().partition(|(_, e)| is_trivial(e));
    let map: Substitution = trivial.into_iter().filter(|(id, e)| *e != Expr::Column(*id)).collect();
    if computed.is_empty() {
        return (input, map);
    }
    let mut all: Vec<(ColId, Expr)> = input.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
    all.extend(computed);
    (Rel::Project { input: Box::new(input), exprs: all }, map)
}

/// Makes columns of what in a map is no column of the relation: constants, and columns of the queries around it.
fn pin(rel: Rel, map: Substitution) -> (Rel, Substitution) {
    let own = scope::output_set(&rel);
    let (renamed, foreign): (Substitution, Substitution) =
        map.into_iter().partition(|(_, e)| matches!(e, Expr::Column(id) if own.contains(id)));
    if foreign.is_empty() {
        return (rel, renamed);
    }
    let mut exprs: Vec<(ColId, Expr)> = rel.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
    exprs.extend(foreign);
    (Rel::Project { input: Box::new(rel), exprs }, renamed)
}

/// A join with the computed columns of its inputs computed above it, so that joins meet.
fn lift_projections(kind: JoinKind, left: Rel, right: Rel, on: Vec<Expr>, straight: bool) -> Rel {
    let mut above: Vec<(ColId, Expr)> = Vec::new();
    let mut lift = |side: Rel| match side {
        Rel::Project { input, exprs } => {
            let output = input.output();
            let passes = exprs.iter().all(|(id, e)| !is_trivial(e) || (*e == Expr::Column(*id) && output.contains(id)));
            let liftable = exprs.iter().all(|(_, e)| !e.has_subquery() && e.is_movable());
            if passes && liftable {
                above.extend(exprs.into_iter().filter(|(_, e)| !is_trivial(e)));
                *input
            } else {
                Rel::Project { input, exprs }
            }
        }
        other => other,
    };
    let left = lift(left);
    let right = if kind == JoinKind::Inner { lift(right) } else { right };
    let map: Substitution = above.iter().cloned().collect();
    let on = on.into_iter().map(|e| substitute(e, &map)).collect();
    let join = Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, straight };
    if above.is_empty() {
        return join;
    }
    let mut exprs: Vec<(ColId, Expr)> = join.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
    exprs.extend(above);
    Rel::Project { input: Box::new(join), exprs }
}

/// A recursive table, whose first rows have the columns that they are named by.
fn merge_recursive(
    input: Rel,
    recursion: Box<Recursion>,
    context: &mut RewriteContext<'_>,
) -> Result<(Rel, Substitution)> {
    let (input, map) = merge(input, context)?;
    let input = Box::new(deliver(input, &map, &recursion.seed, context));
    Ok((Rel::Recursive { input, recursion }, Substitution::new()))
}

fn merge_window(input: Rel, mut window: Window, context: &mut RewriteContext<'_>) -> Result<(Rel, Substitution)> {
    let (input, map) = merge(input, context)?;
    for expr in window.exprs_mut() {
        replace_with(expr, |e| substitute(e, &map));
    }
    Ok((Rel::Window { input: Box::new(input), window }, map))
}

fn merge_limit(
    input: Rel,
    offset: u64,
    count: Option<u64>,
    context: &mut RewriteContext<'_>,
) -> Result<(Rel, Substitution)> {
    let (input, map) = merge(input, context)?;
    Ok((Rel::Limit { input: Box::new(input), offset, count }, map))
}

/// A rollup, whose keys come from columns: a key that is something else is computed below.
fn merge_rollup(input: Rel, mut rollup: Rollup, context: &mut RewriteContext<'_>) -> Result<(Rel, Substitution)> {
    let (input, mut map) = merge(input, context)?;
    let of_keys: Substitution = rollup.sources().filter_map(|id| map.get(&id).map(|expr| (id, expr.clone()))).collect();
    let (input, renamed) = pin(input, of_keys.clone());
    map.retain(|id, _| renamed.contains_key(id) || !of_keys.contains_key(id));
    for key in &mut rollup.keys {
        if let Some(Expr::Column(source)) = renamed.get(&key.source) {
            key.source = *source;
        }
    }
    Ok((Rel::Rollup { input: Box::new(input), rollup }, map))
}

fn merge_aggregate(
    input: Rel,
    group: Vec<ColId>,
    aggregates: Vec<(ColId, AggregateCall)>,
    map: Substitution,
) -> (Rel, Substitution) {
    let aggregates = aggregates
        .into_iter()
        .map(|(id, mut call)| {
            for expr in call_exprs_mut(&mut call) {
                replace_with(expr, |e| substitute(e, &map));
            }
            (id, call)
        })
        .collect();
    // Renamed group columns take their old names; what is no column of the input is computed below.
    let of_group = map.into_iter().filter(|(id, _)| group.contains(id)).collect();
    let (input, renamed) = pin(input, of_group);
    let mut kept: Vec<ColId> = Vec::new();
    for id in group {
        let source = match renamed.get(&id) {
            Some(Expr::Column(source)) => *source,
            _ => id,
        };
        if !kept.contains(&source) {
            kept.push(source);
        }
    }
    (Rel::Aggregate { input: Box::new(input), group: kept, aggregates }, renamed)
}

/// The expressions of an aggregate.
pub fn call_exprs_mut(call: &mut AggregateCall) -> Vec<&mut Expr> {
    let order = match &mut call.function {
        muster_algebra::AggregateFunction::GroupConcat { order, .. } => order.as_mut_slice(),
        _ => &mut [],
    };
    call.args.iter_mut().chain(order.iter_mut().map(|k| &mut k.expr)).collect()
}

#[cfg(test)]
#[path = "projection_merging_tests.rs"]
mod tests;
