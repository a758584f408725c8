//! Aggregates.

use super::Planner;
use crate::cost;
use crate::scope::{self, ColSet};
use muster_algebra::{AggregateCall, ColId, Estimate, Expr, Plan, PlanOp, Rel, SortKey};
use muster_types::Result;

impl Planner<'_> {
    pub(super) fn plan_aggregate(
        &mut self,
        input: &Rel,
        group: &[ColId],
        aggregates: &[(ColId, AggregateCall)],
        required: &ColSet,
    ) -> Result<Plan> {
        let mut aggregates: Vec<(ColId, AggregateCall)> =
            aggregates.iter().filter(|(id, _)| required.contains(id)).cloned().collect();
        if aggregates.is_empty() && group.is_empty() {
            // One row whatever the input is, and nothing of it is wanted.
            return self.plan(&Rel::dual(), required);
        }
        for (_, call) in &mut aggregates {
            for expr in call_exprs_mut(call) {
                *expr = self.lower(std::mem::replace(expr, Expr::bool(true)))?;
            }
        }
        let mut below: ColSet = group.iter().copied().collect();
        for (_, call) in &mut aggregates {
            call_exprs_mut(call).into_iter().for_each(|e| scope::add_expr_columns(e, &mut below));
        }
        let mut plan = self.plan_grouped_input(input, group, &below)?;
        if let Some(fewer) = self.plan_index_ends(input, group, &aggregates, &below)? {
            let cost = |p: &Plan| p.estimate.cost_ms + cost::hash_aggregate(p.estimate.rows, 1.0, aggregates.len());
            if fewer.forced || cost(&fewer.plan) < cost(&plan) {
                plan = fewer.plan;
            }
        }
        let input = plan;
        let rows_in = input.estimate.rows;
        let rows = self.estimator.groups(group, rows_in);
        let streams = !group.is_empty() && self.options.is_on("stream_aggregate") && is_ordered_by(&input.order, group);
        let own = if streams {
            cost::stream_aggregate(rows_in, aggregates.len())
        } else {
            cost::hash_aggregate(rows_in, rows, aggregates.len())
        };
        let estimate = Estimate { rows, cost_ms: input.estimate.cost_ms + own };
        let output = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
        let order = if streams { input.order.iter().take(group.len()).cloned().collect() } else { Vec::new() };
        let (input, group) = (Box::new(input), group.to_vec());
        let op = if streams {
            PlanOp::StreamAggregate { input, group, aggregates }
        } else {
            PlanOp::HashAggregate { input, group, aggregates }
        };
        Ok(Plan { op, output, estimate, order })
    }

    /// The input of an aggregate: ordered by its group if an index gives that order and streaming is wanted.
    fn plan_grouped_input(&mut self, input: &Rel, group: &[ColId], below: &ColSet) -> Result<Plan> {
        if self.options.is_on("stream_aggregate") && !group.is_empty() {
            let (get, predicates): (&Rel, &[Expr]) = match input {
                Rel::Get { .. } => (input, &[]),
                Rel::Filter { input, predicates } if matches!(**input, Rel::Get { .. }) => (input, predicates),
                _ => return self.plan(input, below),
            };
            let order: Vec<SortKey> =
                group.iter().map(|id| SortKey { expr: Expr::Column(*id), descending: false }).collect();
            return self.plan_table(get, predicates, below, &order, None);
        }
        self.plan(input, below)
    }
}

fn call_exprs_mut(call: &mut AggregateCall) -> Vec<&mut Expr> {
    let order = match &mut call.function {
        muster_algebra::AggregateFunction::GroupConcat { order, .. } => order.as_mut_slice(),
        _ => &mut [],
    };
    call.args.iter_mut().chain(order.iter_mut().map(|k| &mut k.expr)).collect()
}

/// Whether rows in this order have equal groups together: its leading keys are the group's columns in any order.
fn is_ordered_by(order: &[SortKey], group: &[ColId]) -> bool {
    let leading: Vec<ColId> = order
        .iter()
        .take(group.len())
        .filter_map(|k| match &k.expr {
            Expr::Column(id) => Some(*id),
            _ => None,
        })
        .collect();
    leading.len() == group.len() && group.iter().all(|id| leading.contains(id))
}
