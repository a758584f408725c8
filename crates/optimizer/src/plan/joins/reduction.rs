//! Semi-join reduction: an aggregated relation is joined by a group column to a relation of which conditions leave few
//! rows; then only those groups need to be computed.
//!
//! ```text
//!   part' (0.1 %)  x  lineitem  x  Aggregate[l_partkey] lineitem
//!     ->  part'  x  lineitem  x  Aggregate[l_partkey] (lineitem SEMI part'' on l_partkey)
//! ```
//!
//! So does one on the right of an outer, semi or anti join, such as what is made of
//! `(SELECT COUNT(*) FROM comments c WHERE c.post = p.id)`: groups that no row on the left asks for are never met.
//!
//! The selective relation is read twice, so it has to be cheap: a base table with conditions.

use crate::copy;
use crate::fingerprint;
use crate::join_order::{
    graph::{Graph, Role},
    model::Reduced,
};
use crate::plan::Planner;
use crate::rewrite::semijoin_to_inner;
use crate::scope;
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Plan, Rel};
use std::collections::HashMap;

/// A neighbour must leave at most this share of a group column's values.
const KEPT_SHARE_MAX: f64 = 0.2;
/// Reading the neighbour again may cost at most this share of what the aggregate costs.
const COST_SHARE_MAX: f64 = 0.5;

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
        let Some(group) = group_of(&graph.units[unit].rel) else { continue };
        let Some((share, (column, other, reducer))) = best_reducer(planner, graph, plans, unit, &group) else {
            continue;
        };
        let wanted = Restriction { rel: &graph.units[unit].rel, column, reducer: &graph.units[reducer].rel, other };
        let Some(restricted) = planner.restricted(wanted) else { continue };
        graph.units[unit].rel = restricted;
        // How many groups a row on the left of another join meets is known without its keys' share.
        let share = if graph.units[unit].role == Role::Inner { share } else { 1.0 };
        changed.push(Reduced { unit, reducer, share });
    }
    changed
}

/// The group columns of an aggregate under filters and projections that pass them through. Not of distinct rows:
/// restricted to the keys of the other side, those that a semi join was turned to
/// ([`crate::join_order::semi_scan`]) would be a semi join again, and so on without end.
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
    for (column, other, id) in equal_to_groups(graph, unit, group) {
        let is_cheap = matches!(&graph.units[other].rel, Rel::Filter { input, predicates }
            if matches!(**input, Rel::Get { .. }) && predicates.iter().all(|p| !p.has_subquery() && p.is_movable()));
        if !is_cheap || !scope::free_columns(&graph.units[other].rel).is_empty() {
            continue;
        }
        let values = planner.estimator.column(column).map_or(f64::INFINITY, |c| c.distinct);
        let share = plans[other].estimate.rows / values.max(1.0);
        let cheap = compared_ms(other) <= compared_ms(unit) * COST_SHARE_MAX;
        if cheap && share <= KEPT_SHARE_MAX && best.is_none_or(|(least, _)| share < least) {
            best = Some((share, (column, id, other)));
        }
    }
    best
}

/// Group columns of a unit, each with another unit and its column that the join says is equal.
fn equal_to_groups(graph: &Graph, unit: usize, group: &[ColId]) -> Vec<(ColId, usize, ColId)> {
    match &graph.units[unit].role {
        Role::Inner => graph
            .classes
            .iter()
            .filter_map(|class| {
                let (_, column) = class.iter().find(|(u, id)| *u == unit && group.contains(id))?;
                Some(class.iter().filter(|(u, _)| *u != unit).map(|(other, id)| (*column, *other, *id)))
            })
            .flatten()
            .collect(),
        // NOT IN asks for a NULL and for whether there is any row, too.
        Role::Dependent { kind: JoinKind::NullAwareAnti, .. } => Vec::new(),
        Role::Dependent { on, .. } => on
            .iter()
            .filter_map(|condition| {
                let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return None };
                let (Expr::Column(a), Expr::Column(b)) = (&**left, &**right) else { return None };
                let (column, id) = if group.contains(a) { (*a, *b) } else { (*b, *a) };
                let other = graph.units.iter().position(|other| other.columns.contains(&id))?;
                (group.contains(&column) && other != unit).then_some((column, other, id))
            })
            .collect(),
    }
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

#[cfg(test)]
mod tests {
    use crate::testing::{builder::*, statistics::Injected};
    use crate::{Options, optimize};
    use muster_algebra::{AggregateFunction, JoinKind, Plan, PlanOp, Rel};

    /// Names of the tables below the aggregates of a plan.
    fn aggregated(plan: &Plan, inside: bool) -> Vec<String> {
        let inside = inside || matches!(plan.op, PlanOp::HashAggregate { .. } | PlanOp::StreamAggregate { .. });
        let own = match &plan.op {
            PlanOp::Scan(scan) => Some(&scan.table.name),
            PlanOp::LookupJoin { lookup, .. } => Some(&lookup.table.name),
            _ => None,
        };
        let own = own.filter(|_| inside).cloned();
        own.into_iter().chain(plan.inputs().into_iter().flat_map(|input| aggregated(input, inside))).collect()
    }

    /// The tables below the groups of a join that `(SELECT COUNT(*) FROM comments WHERE post = posts.id)` becomes.
    fn counted(kind: JoinKind, authors: f64) -> Vec<String> {
        let mut tables = Tables::new();
        let posts = tables.table("posts", &["id", "author"]);
        let comments = tables.table_with("comments", &["id", "post"], |def| {
            def.indexes.push(index(1, "post", &[1], false));
        });
        let (group, _) =
            tables.aggregate(comments.rel, &[comments.ids[1]], AggregateFunction::Count, Some(comments.ids[0]));
        let rel: Rel = filter(posts.rel, vec![eq(posts.ids[1], 7)]);
        let rel = join_of(kind, rel, group, vec![eq(posts.ids[0], comments.ids[1])]);
        let statistics = Injected::default()
            .rows("posts", 1e5)
            .rows("comments", 1e6)
            .distinct("posts", 0, 1e5)
            .distinct("posts", 1, authors)
            .distinct("comments", 1, 1e5);
        let plan = optimize(rel, &mut tables.columns, &statistics, &Options::default()).expect("a plan");
        aggregated(&plan, false)
    }

    #[test]
    fn groups_that_an_outer_join_does_not_ask_for_are_not_made() {
        assert_eq!(counted(JoinKind::Left, 1e4), ["comments", "posts"]);
        assert_eq!(counted(JoinKind::Inner, 1e4), ["comments", "posts"]);
        // Half of all posts.
        assert_eq!(counted(JoinKind::Left, 2.0), ["comments"]);
    }
}
