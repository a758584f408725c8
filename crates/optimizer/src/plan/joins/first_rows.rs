//! The first rows of an order: the table whose index has the order is read in it, and the rows of the others are looked
//! up for one of its rows after the other, so that all of them stop when there are enough.
//!
//! ```text
//!   first 10 rows of (comments c x users u on u.id = c.user_id) by c.id
//!     ->  Limit 10
//!           look up users by c.user_id
//!             scan comments in the order of PRIMARY
//! ```
//!
//! How many rows of the first table are read for that follows from the estimated rows of the join; the cost at worst is
//! that of more of them (`plan::order::limit`).

use super::build::Builder;
use crate::join_order::{
    enumerator::{JoinModel, Tree},
    graph::{Graph, Role, Units},
    lookup::{Lookups, base_of},
    model::Model,
    orders::Orders,
};
use crate::{plan::Planner, scope, scope::ColSet, trace::Trace};
use muster_algebra::{Estimate, Expr, Hints, Plan, PlanOp, Rel, SortKey, Switch};
use muster_types::Result;

/// Plans joins so that rows come in the order of these keys, without reading all rows for the first `fetch`. `None` if
/// no index of a table gives the order, or other tables cannot be looked up.
pub fn plan_first_rows(
    planner: &mut Planner<'_>,
    rel: &Rel,
    keys: &[SortKey],
    fetch: u64,
    required: &ColSet,
) -> Result<Option<Plan>> {
    let graph = Graph::of_order(rel, false, planner.options.region_relations_max);
    let Some(first) = ordered_unit(&graph, keys) else { return Ok(None) };
    // A statement that locks what it reads makes no bet, and has no fallback. Hints may ask for another way.
    let may_bet = [Switch::JoinOrder, Switch::PreferOrderingIndex, Switch::OrderFallback];
    let is_free = planner.options.hints == Hints::default() && graph.order.is_empty();
    if !may_bet.iter().all(|switch| planner.options.is_on(*switch)) || !is_free {
        return Ok(None);
    }
    let mut wanted = required.clone();
    wanted.extend(scope::exprs_columns(&graph.constants));
    let used = super::columns_used(&graph, &wanted);
    let mut plans = Vec::new();
    for unit in &graph.units {
        plans.push(planner.plan(&unit.rel, &used)?);
    }
    let (estimator, columns) = (planner.estimator.clone(), planner.columns.clone());
    // A buffer of rows would read on. The keys of lookups have been traced with the plan of all rows.
    let mut options = planner.options.clone().without(Switch::BatchedKeyAccess);
    options.trace = Trace::default();
    let orders = Orders::new(&graph, &columns);
    let all: Units = (0..graph.units.len()).map(|unit| 1 << unit).sum();
    let rows = {
        let lookups = Lookups::new(&graph, &plans, &columns, planner.statistics, &estimator, &options);
        let model = Model::new(&graph, &plans, &[], &orders, lookups, &wanted);
        model.rows(all)
    };
    let Some(plan) = in_order(planner, &graph.units[first].rel, keys, &used, (fetch, rows), &plans[first])? else {
        return Ok(None);
    };
    plans[first] = plan;
    let lookups = Lookups::new(&graph, &plans, &columns, planner.statistics, &estimator, &options);
    let model = Model::new(&graph, &plans, &[], &orders, lookups, &wanted);
    let Some(tree) = looked_up(&graph, &model, first) else { return Ok(None) };
    let mut builder = Builder {
        planner,
        graph: &graph,
        model: &model,
        plans: plans.iter().cloned().map(Some).collect(),
        orders: &orders,
    };
    let plan = builder.build(&tree, &wanted)?;
    let plan = planner.filter(plan, graph.constants.clone(), required)?;
    Ok(plan.order.starts_with(keys).then_some(plan))
}

/// The inner unit that is a table which has all keys.
fn ordered_unit(graph: &Graph, keys: &[SortKey]) -> Option<usize> {
    let has =
        |unit: usize, key: &SortKey| matches!(key.expr, Expr::Column(id) if graph.units[unit].columns.contains(&id));
    let unit = (0..graph.units.len()).find(|unit| keys.iter().all(|key| has(*unit, key)))?;
    let is_first = graph.units[unit].role == Role::Inner && graph.units.len() > 1;
    (is_first && base_of(&graph.units[unit].rel).is_some()).then_some(unit)
}

/// All rows of a table in an order, read no further than for those that are wanted. `wanted`: so many of the joined
/// rows. `any_order`: the plan of the table by itself.
fn in_order(
    planner: &mut Planner<'_>,
    rel: &Rel,
    keys: &[SortKey],
    used: &ColSet,
    (fetch, joined_rows): (u64, f64),
    any_order: &Plan,
) -> Result<Option<Plan>> {
    let rows = any_order.estimate.rows.max(1.0);
    let read = (fetch as f64 * rows / joined_rows.max(1.0)).ceil().clamp(1.0, rows);
    let mut plan = match rel {
        Rel::Filter { input, predicates } => planner.plan_table(input, predicates, used, keys, Some(read as u64))?,
        get => planner.plan_table(get, &[], used, keys, Some(read as u64))?,
    };
    let is_ordered = plan.order.starts_with(keys);
    let PlanOp::Scan(scan) = &mut plan.op else { return Ok(None) };
    if !is_ordered {
        return Ok(None);
    }
    scan.limit = None;
    plan.estimate = Estimate { rows, cost: plan.estimate.cost.repeated(rows / read) };
    Ok(Some(plan))
}

/// The units behind the first one, each looked up for a row of those before it, the cheapest first.
fn looked_up(graph: &Graph, model: &Model<'_>, first: usize) -> Option<Tree> {
    let (mut tree, mut joined) = (Tree::Unit(first), 1 << first);
    for _ in 1..graph.units.len() {
        let may_follow = |unit: &usize| {
            let is_ready = match graph.units[*unit].role {
                Role::Inner => true,
                Role::Dependent { needs, .. } => needs & !joined == 0,
            };
            joined & 1 << *unit == 0 && is_ready
        };
        let lookups = (0..graph.units.len()).filter(may_follow).filter_map(|unit| {
            let lookup = model.lookup(joined, unit).filter(|lookup| !lookup.batched)?;
            Some((unit, lookup.cost.compared_ms(), model.rows(joined | 1 << unit)))
        });
        // Fewer rows first, then what is cheaper.
        let (unit, ..) = lookups.min_by(|a, b| a.2.total_cmp(&b.2).then(a.1.total_cmp(&b.1)))?;
        tree = Tree::Lookup(Box::new(tree), unit);
        joined |= 1 << unit;
    }
    Some(tree)
}

#[cfg(test)]
mod tests {
    use crate::testing::{builder::*, statistics::Injected};
    use crate::{Options, optimize};
    use muster_algebra::{Expr, JoinKind, Plan, PlanOp, Rel, SortKey};

    /// The plan of the first rows of comments with their users, by the comments' key.
    fn first(kind: JoinKind, count: u64) -> Plan {
        let mut tables = Tables::new();
        let comments = tables.table("comments", &["id", "user"]);
        let users = tables.table("users", &["id", "name"]);
        let on = vec![eq(users.ids[0], comments.ids[1])];
        let joined = join_of(kind, comments.rel, users.rel, on);
        let keys = vec![SortKey { expr: Expr::Column(comments.ids[0]), descending: true }];
        let sorted = Rel::Sort { input: Box::new(joined), keys };
        let rel = Rel::Limit { input: Box::new(sorted), offset: 0, count: Some(count) };
        let statistics = Injected::default()
            .rows("comments", 1e6)
            .rows("users", 1e5)
            .distinct("comments", 1, 1e5)
            .distinct("users", 0, 1e5);
        optimize(rel, &mut tables.columns, &statistics, &Options::default()).expect("a plan")
    }

    fn reads_row_by_row(plan: &Plan) -> bool {
        match &plan.op {
            PlanOp::LookupJoin { batched: false, left, .. } => {
                matches!(&left.op, PlanOp::Scan(scan) if scan.ordered && scan.reverse && scan.limit.is_none())
            }
            PlanOp::Limit { input, .. } | PlanOp::Project { input, .. } => reads_row_by_row(input),
            _ => false,
        }
    }

    #[test]
    fn few_rows_of_an_order_are_looked_up_one_by_one() {
        assert!(reads_row_by_row(&first(JoinKind::Inner, 10)));
        assert!(reads_row_by_row(&first(JoinKind::Left, 10)));
        assert!(!reads_row_by_row(&first(JoinKind::Inner, 800_000)));
    }
}
