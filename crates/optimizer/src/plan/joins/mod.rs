//! Join regions: taken apart into a query graph, ordered by cost ([`crate::join_order`]), put together as a plan.
//!
//! ```text
//!   Rel -> semi joins turned, if that is cheaper          join_order::semi_scan
//!       -> graph (units, classes, edges, predicates)      join_order::graph
//!       -> plans of the units                             the planner
//!       -> units restricted by selective neighbours       reduction.rs
//!       -> units in the orders of join columns            merge.rs
//!       -> tree                                           join_order::enumerator
//!       -> Plan                                           build.rs
//!       -> a plan that stops early, for the first rows    first_rows.rs
//! ```

mod build;
mod first_rows;
mod merge;
pub mod reduction;

use super::Planner;
use crate::join_order::{
    enumerator,
    graph::{Graph, Role},
    lookup::Lookups,
    model::Model,
    orders::Orders,
    semi_scan,
};
use crate::scope::{self, ColSet};
use build::Builder;
pub use first_rows::plan_first_rows;
use muster_algebra::{ColId, Plan, Rel, Switch};
use muster_types::Result;
use std::rc::Rc;

/// Plans a join, with conditions above it.
pub fn plan_joins(planner: &mut Planner<'_>, rel: &Rel, required: &ColSet) -> Result<Plan> {
    let whole = |plan: Option<Plan>| plan.ok_or_else(|| muster_types::SqlError::internal("a join without a plan"));
    let mut best = whole(plan_region(planner, rel, required, None)?)?;
    for variant in semi_scan::variants(rel, required, Rc::make_mut(&mut planner.columns), planner.options) {
        let plan = match variant {
            Rel::Join { .. } | Rel::Filter { .. } => whole(plan_region(planner, &variant, required, None)?)?,
            _ => planner.plan(&variant, required)?,
        };
        if plan.estimate.cost.compared_ms() < best.estimate.cost.compared_ms() {
            best = plan;
        }
    }
    Ok(best)
}

/// Plans the joins so that rows come in the order of a column, if joins in key order give it.
pub fn plan_joins_ordered(
    planner: &mut Planner<'_>,
    rel: &Rel,
    required: &ColSet,
    column: ColId,
) -> Result<Option<Plan>> {
    planner.memoized(rel, required, Some(column), |planner, required| plan_region(planner, rel, required, Some(column)))
}

fn plan_region(planner: &mut Planner<'_>, rel: &Rel, required: &ColSet, order: Option<ColId>) -> Result<Option<Plan>> {
    let mut graph =
        Graph::of_order(rel, !planner.options.is_on(Switch::JoinOrder), planner.options.region_relations_max);
    for hint in graph.order.add_hints(&planner.options.hints, &graph.units) {
        planner.ignored_hints.insert(hint.text.clone());
    }
    let mut wanted = required.clone();
    wanted.extend(scope::exprs_columns(&graph.constants));
    let used = columns_used(&graph, &wanted);
    let mut orders = Orders::new(&graph, &planner.columns);
    let by = order.and_then(|column| orders.by(column));
    if order.is_some() && by.is_none() {
        return Ok(None);
    }
    let mut plans = Vec::new();
    for unit in &graph.units {
        plans.push(planner.plan(&unit.rel, &used)?);
    }
    let mut reduced = Vec::new();
    if planner.options.is_on(Switch::SemijoinReduction) {
        reduced = reduction::reduce(planner, &mut graph, &plans);
        for reduced in &reduced {
            plans[reduced.unit] = planner.plan(&graph.units[reduced.unit].rel, &used)?;
        }
    }
    merge::plan_units(&mut orders, planner, &graph, &used)?;
    // What the model reads; the planner, which may add to both while the tree is built, has copies of its own then.
    let (estimator, columns) = (planner.estimator.clone(), planner.columns.clone());
    let lookups = Lookups::new(&graph, &plans, &columns, planner.statistics, &estimator, planner.options);
    let model = Model::new(&graph, &plans, &reduced, &orders, lookups, &wanted);
    let exhaustive_max = planner.options.exhaustive_relations_max;
    let interrupt = &planner.options.interrupt;
    let tree = match by {
        None => Some(enumerator::enumerate(&graph, &model, exhaustive_max, interrupt)?),
        Some(order) => enumerator::enumerate_ordered(&graph, &model, exhaustive_max, order, interrupt)?,
    };
    let Some(tree) = tree else { return Ok(None) };
    let plans = plans.into_iter().map(Some).collect();
    let mut builder = Builder { planner, graph: &graph, model: &model, plans, orders: &orders };
    let mut plan = builder.build(&tree, &wanted)?;
    if let Some(column) = order {
        // All columns of an order are equal.
        plan.order = vec![merge::ascending(column)];
        plan.order.retain(|_| plan.output.contains(&column));
    }
    planner.filter(plan, graph.constants.clone(), required).map(Some)
}

/// Returns the columns that the region or the operators above it use.
fn columns_used(graph: &Graph, wanted: &ColSet) -> ColSet {
    let mut used = wanted.clone();
    used.extend(graph.classes.iter().flatten().map(|(_, id)| *id));
    for edge in &graph.edges {
        used.extend(scope::expr_columns(&edge.left));
        used.extend(scope::expr_columns(&edge.right));
    }
    graph.predicates.iter().for_each(|p| used.extend(scope::expr_columns(&p.expr)));
    for unit in &graph.units {
        if let Role::Dependent { on, .. } = &unit.role {
            used.extend(scope::exprs_columns(on));
        }
    }
    used
}
