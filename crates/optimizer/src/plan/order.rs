//! ORDER BY and LIMIT: sorts, top-N, and reading in index order instead.

use super::joins;
use super::{Planner, wanted_exprs};
use crate::cost::{CAUTION, CostModel};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Cost, Estimate, Expr, Plan, PlanOp, Rel, SortKey};
use muster_types::Result;

impl Planner<'_> {
    pub(super) fn plan_sort(
        &mut self,
        input: &Rel,
        keys: &[SortKey],
        fetch: Option<u64>,
        required: &ColSet,
    ) -> Result<Plan> {
        let (keys, computed) = self.sort_keys(keys);
        if keys.is_empty() {
            // Constants only: any order will do.
            let plan = self.plan(input, required)?;
            return Ok(limit(plan, 0, fetch));
        }
        let mut below = required.clone();
        below.extend(scope::exprs_columns(keys.iter().map(|k| &k.expr)));
        below.extend(scope::exprs_columns(computed.iter().map(|(_, e)| e)));
        computed.iter().for_each(|(id, _)| {
            below.remove(id);
        });
        let mut plan = match (input, computed.is_empty()) {
            (_, false) => self.plan(input, &below)?,
            _ => self.plan_ordered(input, &keys, fetch, &below)?,
        };
        if !computed.is_empty() {
            let mut exprs: Vec<(ColId, Expr)> = plan.output.iter().map(|id| (*id, Expr::Column(*id))).collect();
            exprs.extend(computed);
            plan = self.project(plan, exprs)?;
        }
        if plan.order.len() >= keys.len() && plan.order[..keys.len()] == keys[..] {
            return Ok(limit(plan, 0, fetch));
        }
        Ok(sorted(plan, keys, fetch, &self.options.cost))
    }

    /// Keys that mean something, and those with subqueries as columns to be computed before sorting.
    fn sort_keys(&mut self, keys: &[SortKey]) -> (Vec<SortKey>, Vec<(ColId, Expr)>) {
        let (mut kept, mut computed) = (Vec::<SortKey>::new(), Vec::new());
        for key in keys {
            let mut key = key.clone();
            if matches!(key.expr, Expr::Literal { .. }) || kept.iter().any(|k| k.expr == key.expr) {
                continue;
            }
            if key.expr.has_subquery() {
                let ty = key.expr.ty(&self.columns);
                let id = self.columns_mut().add_computed("sort key", ty, true);
                computed.push((id, std::mem::replace(&mut key.expr, Expr::Column(id))));
            }
            kept.push(key);
        }
        (kept, computed)
    }

    /// The input of a sort, in order already if an index gives that order more cheaply.
    pub(super) fn plan_ordered(
        &mut self,
        input: &Rel,
        keys: &[SortKey],
        fetch: Option<u64>,
        required: &ColSet,
    ) -> Result<Plan> {
        match input {
            Rel::Get { .. } => self.plan_table(input, &[], required, keys, fetch),
            Rel::Filter { input: get, predicates } if matches!(**get, Rel::Get { .. }) => {
                self.plan_table(get, predicates, required, keys, fetch)
            }
            Rel::Project { input: below, exprs }
                if matches!(**below, Rel::Get { .. } | Rel::Filter { .. } | Rel::Join { .. }) =>
            {
                let exprs = wanted_exprs(exprs, required);
                let passes = |k: &SortKey| match &k.expr {
                    Expr::Column(id) => exprs.iter().any(|(o, e)| o == id && *e == Expr::Column(*id)),
                    _ => false,
                };
                let wanted = scope::exprs_columns(exprs.iter().map(|(_, e)| e));
                let input = if keys.iter().all(passes) {
                    self.plan_ordered(below, keys, fetch, &wanted)?
                } else {
                    self.plan(below, &wanted)?
                };
                self.project(input, exprs)
            }
            Rel::Filter { input: below, .. } if matches!(**below, Rel::Join { .. }) => {
                self.plan_join_ordered(input, keys, fetch, required)
            }
            Rel::Join { .. } => self.plan_join_ordered(input, keys, fetch, required),
            _ => self.plan(input, required),
        }
    }

    /// Joins for a sort, in order already if the first rows are cheaper so.
    fn plan_join_ordered(
        &mut self,
        input: &Rel,
        keys: &[SortKey],
        fetch: Option<u64>,
        required: &ColSet,
    ) -> Result<Plan> {
        let whole = self.plan(input, required)?;
        let Some(count) = fetch else { return Ok(whole) };
        let Some(first) = joins::plan_first_rows(self, input, keys, count, required)? else { return Ok(whole) };
        let whole_cost = match whole.order.starts_with(keys) {
            true => limited(&whole.estimate, 0, fetch).cost,
            false => sorted_cost(&whole, fetch, &self.options.cost),
        };
        let first = limit(first, 0, fetch);
        Ok(if first.estimate.cost.compared_ms() < whole_cost.compared_ms() { first } else { whole })
    }

    pub(super) fn plan_limit(
        &mut self,
        input: &Rel,
        offset: u64,
        count: Option<u64>,
        required: &ColSet,
    ) -> Result<Plan> {
        let fetch = count.map(|n| n.saturating_add(offset));
        let plan = match (input, fetch) {
            (Rel::Sort { input, keys }, Some(_)) => self.plan_sort(input, keys, fetch, required)?,
            // A projection between them neither drops rows nor reorders them.
            (Rel::Project { input: below, exprs }, Some(_)) if matches!(**below, Rel::Sort { .. }) => {
                let Rel::Sort { input: sorted, keys } = &**below else { unreachable!("matched above") };
                let exprs = wanted_exprs(exprs, required);
                let wanted = scope::exprs_columns(exprs.iter().map(|(_, e)| e));
                let plan = self.plan_sort(sorted, keys, fetch, &wanted)?;
                self.project(plan, exprs)?
            }
            (Rel::Get { .. }, Some(_)) => self.plan_table(input, &[], required, &[], fetch)?,
            (Rel::Filter { input: get, predicates }, Some(_)) if matches!(**get, Rel::Get { .. }) => {
                self.plan_table(get, predicates, required, &[], fetch)?
            }
            (Rel::Project { input: below, exprs }, Some(_))
                if matches!(**below, Rel::Get { .. } | Rel::Filter { .. }) =>
            {
                let exprs = wanted_exprs(exprs, required);
                let wanted = scope::exprs_columns(exprs.iter().map(|(_, e)| e));
                let plan = self.plan_limit(below, 0, fetch, &wanted)?;
                self.project(plan, exprs)?
            }
            _ => self.plan(input, required)?,
        };
        Ok(limit(plan, offset, count))
    }
}

/// The rows of a plan in an order; `fetch`: the first ones only.
pub fn sorted(plan: Plan, keys: Vec<SortKey>, fetch: Option<u64>, cost: &CostModel) -> Plan {
    let rows = fetch.map_or(plan.estimate.rows, |n| plan.estimate.rows.min(n as f64));
    let cost = sorted_cost(&plan, fetch, cost);
    let output = plan.output.clone();
    let op = PlanOp::Sort { input: Box::new(plan), keys: keys.clone(), fetch };
    Plan::new(op, output, Estimate { rows, cost }, keys)
}

fn sorted_cost(plan: &Plan, fetch: Option<u64>, cost: &CostModel) -> Cost {
    (plan.estimate.cost + cost.sort(plan.estimate.rows, fetch, plan.output.len())).before_first_row()
}

/// At most `count` rows after the first `offset`; no node if the plan keeps to that by itself.
pub fn limit(plan: Plan, offset: u64, count: Option<u64>) -> Plan {
    if offset == 0 && count.is_none_or(|n| stops_at(&plan).is_some_and(|own| own <= n)) {
        return plan;
    }
    let estimate = limited(&plan.estimate, offset, count);
    let (output, order) = (plan.output.clone(), plan.order.clone());
    Plan::new(PlanOp::Limit { input: Box::new(plan), offset, count }, output, estimate, order)
}

fn limited(all: &Estimate, offset: u64, count: Option<u64>) -> Estimate {
    let left = (all.rows - offset as f64).max(0.0);
    let share = count.map_or(1.0, |n| n.saturating_add(offset) as f64 / all.rows.max(1.0));
    let cost = all.cost.of_first(share).at_worst(all.cost.of_first(share * CAUTION));
    Estimate { rows: count.map_or(left, |n| left.min(n as f64)), cost }
}

/// The most rows a plan delivers by its own limit.
fn stops_at(plan: &Plan) -> Option<u64> {
    match &plan.op {
        PlanOp::Sort { fetch, .. } => *fetch,
        PlanOp::Limit { count, .. } => *count,
        PlanOp::Project { input, .. } => stops_at(input),
        PlanOp::Values { rows } => Some(rows.len() as u64),
        PlanOp::HashAggregate { group, .. } if group.is_empty() => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_pays_for_what_comes_before_the_first_row_and_for_its_share() {
        let limited = |cost: Cost, offset, count| {
            let op = PlanOp::Working { table: 0, name: String::new() };
            let plan = Plan::new(op, Vec::new(), Estimate { rows: 1000.0, cost }, Vec::new());
            limit(plan, offset, count).estimate
        };
        let joined = Cost::cpu(2.0).before_first_row() + Cost::cpu(8.0);
        let first = limited(joined, 5, Some(5));
        assert_eq!((first.rows, first.cost.total_ms()), (5.0, 2.08));
        assert!((first.cost.compared_ms() - 2.64).abs() < 1e-9);
        assert_eq!(limited(joined, 0, Some(5000)).cost, joined);
        assert_eq!(limited(joined, 5, None).cost, joined);
        let sorted = joined.before_first_row();
        assert_eq!(limited(sorted, 0, Some(1)).cost, sorted);
    }
}
