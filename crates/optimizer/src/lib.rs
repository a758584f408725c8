//! Rewrites, cardinality, join order and access paths: from `Rel` to `Plan`.
//!
//! ```text
//!   Rel  ->  rewrite/      passes that keep the meaning: subqueries to joins, conditions down, ...
//!        ->  plan/         one physical node for each logical one
//!              plan/joins/   regions of joins: their plans
//!              join_order/   their order: query graph, enumerator
//!              access_path   base tables: index, key ranges, order        (ranges, intervals, literal, index_shape)
//!              estimate/     how many rows
//!              cost          what each choice costs
//!        ->  physical/     what the plan that runs has besides: partitions, exchanges, partial aggregation, numbers
//!        ->  Plan
//!   trace     what was considered on the way, as typed events
//!   plan_template  a plan for other values of the statement's parameters
//!   locking   one table by one index, for statements that lock rows as they find them
//! ```
//!
//! Knows tables only through `TableDef` and [`Statistics`]; plans can be made for tables that do not exist.

pub mod access_path;
mod column_classes;
mod copy;
pub mod cost;
pub mod estimate;
mod fingerprint;
mod index_shape;
pub mod interrupt;
mod intervals;
pub mod join_order;
mod literal;
mod locking;
pub mod options;
pub mod physical;
pub mod plan;
mod plan_template;
mod properties;
pub mod ranges;
mod relation;
mod remembered;
pub mod rewrite;
mod scope;
mod substitution;
#[cfg(test)]
mod testing;
pub mod trace;
mod unreadable_indexes;

#[cfg(test)]
mod access_equivalence_tests;
#[cfg(test)]
mod equivalence_tests;

pub use cost::{CostModel, Limits};
pub use interrupt::Interrupt;
pub use literal::{exact_value, is_lossless_cast};
pub use locking::optimize_to_lock;
pub use options::Options;
pub use plan_template::PlanTemplate;
pub use trace::Trace;

use muster_algebra::{Columns, Plan, Rel, Statistics, Switch};
use muster_types::Result;
use std::rc::Rc;

/// Chooses how a query runs. The plan delivers the columns of `rel.output()` in their order.
///
/// Errors: internal ones only, if a rewrite or the planner contradicts itself.
pub fn optimize(rel: Rel, columns: &mut Columns, statistics: &dyn Statistics, options: &Options) -> Result<Plan> {
    Ok(optimize_hinted(rel, columns, statistics, options)?.plan)
}

/// A plan, and which of the statement's hints it does not follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimized {
    pub plan: Plan,
    /// Hints that contradict each other or the query, as warnings show them.
    pub ignored_hints: Vec<String>,
}

/// Like [`optimize`], and returns the hints that it could not follow. A statement with an IN that may keep its rows or
/// run as EXISTS is planned both ways.
pub fn optimize_hinted(
    rel: Rel,
    columns: &mut Columns,
    statistics: &dyn Statistics,
    options: &Options,
) -> Result<Optimized> {
    let statistics = &remembered::Remembered::new(statistics);
    let mut rel = rel;
    unreadable_indexes::leave_out(&mut rel, statistics);
    let again = scope::has_subquery(&rel).then(|| (rel.clone(), columns.clone()));
    let (kept, in_subquery_has_a_choice) = run_once(rel, columns, statistics, options)?;
    let Some((again, mut others)) = again.filter(|_| in_subquery_has_a_choice) else { return Ok(kept) };
    let exists = options.clone().without(Switch::MaterializedIn);
    let (run_each, _) = run_once(again, &mut others, statistics, &exists)?;
    if run_each.plan.estimate.cost.compared_ms() < kept.plan.estimate.cost.compared_ms() {
        *columns = others;
        return Ok(run_each);
    }
    Ok(kept)
}

/// Plans once. The flag is [`rewrite::RewriteContext::in_subquery_has_a_choice`] as the rewrites left it.
fn run_once(
    rel: Rel,
    columns: &mut Columns,
    statistics: &dyn Statistics,
    options: &Options,
) -> Result<(Optimized, bool)> {
    let outputs = rel.output();
    let mut rel = rel;
    let mut in_subquery_has_a_choice = false;
    options.trace.note(|| trace::Event::Began { relation: Box::new(rel.clone()) });
    for pass in rewrite::PASSES.iter().filter(|p| options.allows(p.switch)) {
        options.interrupt.check()?;
        let before = options.trace.is_on().then(|| rel.clone());
        let mut context = rewrite::RewriteContext { columns, options, in_subquery_has_a_choice };
        rel = (pass.run)(rel, &mut context)?;
        in_subquery_has_a_choice = context.in_subquery_has_a_choice;
        if before.is_some_and(|before| before != rel) {
            options.trace.note(|| trace::Event::Rewrote { pass: pass.switch.name() });
        }
    }
    options.trace.note(|| trace::Event::Rewritten { relation: Box::new(rel.clone()) });
    let mut planner = plan::Planner::new(&rel, std::mem::take(columns), statistics, options);
    let planned = planner.statement(&rel, &outputs);
    *columns = Rc::unwrap_or_clone(planner.columns);
    let plan = planned?;
    let ignored_hints = planner.ignored_hints.into_iter().collect();
    let threads = if plan.estimate.cost.worst_ms < options.serial_ms_max { 1 } else { options.threads };
    let plan = physical::finish(plan, columns, threads);
    options.trace.note(|| trace::Event::Planned { plan: Box::new(plan.clone()), columns: Box::new(columns.clone()) });
    if cfg!(debug_assertions) {
        plan::validate::validate(&plan, &scope::ColSet::new(), columns)?;
    }
    Ok((Optimized { plan, ignored_hints }, in_subquery_has_a_choice))
}
