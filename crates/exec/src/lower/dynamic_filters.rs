//! Filters that operators make while they run, handed down to the scans below them: the keys of a join's build side,
//! the threshold of a sort with a limit. Operators say which filters may pass them and which they make
//! (`gather_filters_for_pushdown`), and scans say which they take (`handle_child_pushdown_result`).
//!
//! Source of the protocol: DataFusion's physical optimizer rule `FilterPushdown`, phase `Post`. Only operators make
//! filters in that phase, so no filter calls a function whose value may differ from call to call.

use datafusion_common::{Result, config::ConfigOptions, internal_err};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    ExecutionPlan,
    execution_plan::replace_children_if_necessary,
    filter_pushdown::{
        ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
    },
};
use std::sync::Arc;

type Filter = Arc<dyn PhysicalExpr>;
type Operator = Arc<dyn ExecutionPlan>;

/// The operators of a query with all filters where they are tested.
pub fn hand_down(root: Operator, options: &ConfigOptions) -> Result<Operator> {
    Ok(below(&root, Vec::new(), options)?.updated_node.unwrap_or(root))
}

/// Hands `from_above` and the filters that `node` makes itself to the children of `node`. Returns which of `from_above`
/// are tested below.
fn below(
    node: &Operator,
    from_above: Vec<Filter>,
    options: &ConfigOptions,
) -> Result<FilterPushdownPropagation<Operator>> {
    let phase = FilterPushdownPhase::Post;
    let description = node.gather_filters_for_pushdown(phase, from_above.clone(), options)?;
    let (passed, own) = (description.parent_filters(), description.self_filters());
    let old = node.children();
    if passed.len() != old.len() || own.len() != old.len() {
        return internal_err!("{} describes filters for {} children of {}", node.name(), passed.len(), old.len());
    }
    let mut results: Vec<Vec<PushedDown>> = vec![Vec::new(); from_above.len()];
    let mut self_filters = Vec::with_capacity(old.len());
    let mut children = Vec::with_capacity(old.len());
    for ((child, passed), own) in old.into_iter().zip(passed).zip(own) {
        let taken = |at: &usize| matches!(passed[*at].discriminant, PushedDown::Yes);
        let taken: Vec<usize> = (0..passed.len()).filter(taken).collect();
        let filters = own.iter().cloned().chain(taken.iter().map(|at| passed[*at].predicate.clone())).collect();
        let answer = below(child, filters, options)?;
        if answer.filters.len() != own.len() + taken.len() || passed.len() != from_above.len() {
            return internal_err!("{} answers for {} filters", child.name(), answer.filters.len());
        }
        let (answers, of_passed) = answer.filters.split_at(own.len());
        self_filters
            .push(own.into_iter().zip(answers).map(|(filter, answer)| answer.wrap_expression(filter)).collect());
        results.iter_mut().for_each(|results| results.push(PushedDown::No));
        for (at, answer) in taken.iter().zip(of_passed) {
            *results[*at].last_mut().expect("an answer was pushed above") = *answer;
        }
        children.push(answer.updated_node.unwrap_or_else(|| child.clone()));
    }
    let updated = replace_children_if_necessary(node.clone(), children)?;
    let parent_filters = from_above.into_iter().zip(results);
    let parent_filters =
        parent_filters.map(|(filter, child_results)| ChildFilterPushdownResult { filter, child_results }).collect();
    let mut answer =
        updated.handle_child_pushdown_result(phase, ChildPushdownResult { parent_filters, self_filters }, options)?;
    if answer.updated_node.is_none() && !Arc::ptr_eq(&updated, node) {
        answer.updated_node = Some(updated);
    }
    Ok(answer)
}
