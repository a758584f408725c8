//! Semi-join reduction: an aggregated relation is joined by a group column to a relation of which conditions leave few
//! rows; then only those groups need to be computed.
//!
//! ```text
//!   part' (0.1 %)  x  lineitem  x  Aggregate[l_partkey] lineitem
//!     ->  part'  x  lineitem  x  Aggregate[l_partkey] (lineitem SEMI part'' on l_partkey)
//! ```
//!
//! The selective relation is read twice, so it has to be cheap: a base table with conditions.

use super::graph::{Graph, Role};
use crate::copy;
use crate::fingerprint;
use crate::plan::Planner;
use crate::rewrite::semijoin_to_inner;
use crate::scope;
use muster_algebra::{ColId, Expr, Plan, Rel};
use std::collections::HashMap;

/// A neighbour must leave at most this share of a group column's values.
const KEPT_SHARE_MAX: f64 = 0.2;
/// Reading the neighbour again may cost at most this share of what the aggregate costs.
const COST_SHARE_MAX: f64 = 0.5;

/// A unit that was restricted to the keys of another one, which has this share of them.
pub struct Reduced {
    pub unit: usize,
    pub reducer: usize,
    pub share: f64,
}

/// An aggregated relation, and what it is to be restricted to: rows whose `column` is among the values of the reducer's
/// column `other`.
struct Restriction<'a> {
    rel: &'a Rel,
    column: ColId,
    reducer: &'a Rel,
    other: ColId,
}

/// The restricted relations of a statement. Each is made once, so that it has the same columns, and the same plan, in
/// every region that contains it.
#[derive(Default)]
pub struct Restricted {
    made: HashMap<u64, Vec<Made>>,
}

struct Made {
    rel: Rel,
    column: ColId,
    reducer: Rel,
    other: ColId,
    restricted: Rel,
}

impl Planner<'_> {
    fn restricted(&mut self, wanted: Restriction<'_>) -> Option<Rel> {
        let Restriction { rel, column, reducer, other } = wanted;
        let hash = fingerprint::of_rel(rel) ^ u64::from(column.0) << 32 ^ u64::from(other.0);
        let is_same = |m: &&Made| (m.column, m.other) == (column, other) && m.rel == *rel && m.reducer == *reducer;
        if let Some(made) = self.memo.restricted.made.get(&hash).and_then(|list| list.iter().find(is_same)) {
            return Some(made.restricted.clone());
        }
        let copied = copy::copy(reducer, self.columns_mut());
        let key = copied.columns.get(&other).copied()?;
        self.learn(&copied.rel);
        let on = vec![Expr::eq(Expr::Column(column), Expr::Column(key))];
        let restricted = restrict(rel.clone(), &on, &copied.rel);
        let made = Made { rel: rel.clone(), column, reducer: reducer.clone(), other, restricted: restricted.clone() };
        self.memo.restricted.made.entry(hash).or_default().push(made);
        Some(restricted)
    }
}

/// Restricts aggregated units; returns which ones.
pub fn reduce(planner: &mut Planner<'_>, graph: &mut Graph, plans: &[Plan]) -> Vec<Reduced> {
    let mut changed = Vec::new();
    for unit in 0..graph.units.len() {
        if graph.units[unit].role != Role::Inner {
            continue;
        }
        let Some(group) = group_of(&graph.units[unit].rel) else { continue };
        let Some((share, (column, other, reducer))) = best_reducer(planner, graph, plans, unit, &group) else {
            continue;
        };
        let wanted = Restriction { rel: &graph.units[unit].rel, column, reducer: &graph.units[reducer].rel, other };
        let Some(restricted) = planner.restricted(wanted) else { continue };
        graph.units[unit].rel = restricted;
        changed.push(Reduced { unit, reducer, share });
    }
    changed
}

/// The group columns of an aggregate under filters and projections that pass them through. Not of distinct rows:
/// restricted to the keys of the other side, those that a semi join was turned to ([`super::semi_scan`]) would be a
/// semi join again, and so on without end.
fn group_of(rel: &Rel) -> Option<Vec<ColId>> {
    match rel {
        Rel::Filter { input, .. } | Rel::Project { input, .. } => group_of(input),
        Rel::Aggregate { group, aggregates, .. } if !group.is_empty() && !aggregates.is_empty() => Some(group.clone()),
        _ => None,
    }
}

/// The neighbour that leaves the smallest share of a group column's values.
fn best_reducer(
    planner: &Planner<'_>,
    graph: &Graph,
    plans: &[Plan],
    unit: usize,
    group: &[ColId],
) -> Option<(f64, (ColId, ColId, usize))> {
    let compared_ms = |unit: usize| plans[unit].estimate.cost.compared_ms();
    let mut best: Option<(f64, (ColId, ColId, usize))> = None;
    for class in &graph.classes {
        let Some((_, column)) = class.iter().find(|(u, id)| *u == unit && group.contains(id)) else { continue };
        for (other, id) in class.iter().filter(|(u, _)| *u != unit) {
            let is_cheap = matches!(&graph.units[*other].rel, Rel::Filter { input, predicates }
                if matches!(**input, Rel::Get { .. }) && !predicates.iter().any(Expr::has_subquery));
            if !is_cheap || !scope::free_columns(&graph.units[*other].rel).is_empty() {
                continue;
            }
            let values = planner.estimator.column(*column).map_or(f64::INFINITY, |c| c.distinct);
            let share = plans[*other].estimate.rows / values.max(1.0);
            let cheap = compared_ms(*other) <= compared_ms(unit) * COST_SHARE_MAX;
            if cheap && share <= KEPT_SHARE_MAX && best.is_none_or(|(least, _)| share < least) {
                best = Some((share, (*column, *id, *other)));
            }
        }
    }
    best
}

/// Puts a semi join below the aggregate: an inner one where the reducer has its key once, which can be ordered freely.
fn restrict(rel: Rel, on: &[Expr], reducer: &Rel) -> Rel {
    match rel {
        Rel::Filter { input, predicates } => Rel::Filter { input: Box::new(restrict(*input, on, reducer)), predicates },
        Rel::Project { input, exprs } => Rel::Project { input: Box::new(restrict(*input, on, reducer)), exprs },
        Rel::Aggregate { input, group, aggregates } => {
            let kind = semijoin_to_inner::kind_of(&input, reducer, on);
            let (right, on) = (Box::new(reducer.clone()), on.to_vec());
            let input = Rel::Join { kind, left: input, right, on, straight: false };
            Rel::Aggregate { input: Box::new(input), group, aggregates }
        }
        other => other,
    }
}
