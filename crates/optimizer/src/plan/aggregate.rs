//! Aggregates.

use super::Planner;
use super::distinct_values::groups_max;
use super::joins;
use crate::scope::{self, ColSet};
use muster_algebra::{AggregateCall, ColId, Estimate, Expr, Plan, PlanOp, Rel, SortKey, Switch};
use muster_types::{Result, SqlError};

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
        let block = self.options.for_block(input).into_owned();
        let may_stream = !group.is_empty() && block.is_on(Switch::StreamAggregate);
        let plain = self.plan(input, &below)?;
        let rows = self.estimator.groups(group, plain.estimate.rows).min(groups_max(&plain, group));
        std::rc::Rc::make_mut(&mut self.estimator).learn_groups(&aggregates, plain.estimate.rows, rows);
        let own_cost = |input: &Plan, streams: bool| match streams {
            true => self.options.cost.stream_aggregate(input.estimate.rows, aggregates.len()),
            false => self.options.cost.hash_aggregate(input.estimate.rows, rows, group.len(), aggregates.len()),
        };
        let mut ways = vec![(plain, false)];
        if let Some(fewer) = self.plan_index_ends(input, group, &aggregates, &below)? {
            if fewer.forced {
                ways.clear();
            }
            ways.push((fewer.plan, false));
        }
        let ordered = if may_stream { self.plan_grouped(input, group, &below)? } else { None };
        if block.is_forced(Switch::StreamAggregate) && ordered.is_some() {
            ways.clear();
        }
        ways.extend(ordered.map(|plan| (plan, true)));
        for (plan, streams) in &mut ways {
            *streams |= may_stream && is_ordered_by(&plan.order, group);
        }
        let total = |(plan, streams): &(Plan, bool)| (plan.estimate.cost + own_cost(plan, *streams)).compared_ms();
        let best = ways.into_iter().min_by(|a, b| total(a).total_cmp(&total(b)));
        let (input, streams) = best.ok_or_else(|| SqlError::internal("an aggregate without an input"))?;
        let own = own_cost(&input, streams);
        let rows = rows.min(input.estimate.rows.max(1.0));
        // Rows in order give groups as they come.
        let all = input.estimate.cost + own;
        let cost = if streams { all } else { all.before_first_row() };
        let estimate = Estimate { rows, cost };
        let output = group.iter().copied().chain(aggregates.iter().map(|(id, _)| *id)).collect();
        let order = if streams { input.order.iter().take(group.len()).cloned().collect() } else { Vec::new() };
        let (input, group) = (Box::new(input), group.to_vec());
        let op = if streams {
            PlanOp::StreamAggregate { input, group, aggregates }
        } else {
            PlanOp::HashAggregate { input, group, aggregates }
        };
        Ok(Plan::new(op, output, estimate, order))
    }

    /// The input of an aggregate in an order in which each group's rows come together, if an index or joins in key
    /// order give one: the cheapest.
    fn plan_grouped(&mut self, input: &Rel, group: &[ColId], below: &ColSet) -> Result<Option<Plan>> {
        let (bare, predicates): (&Rel, &[Expr]) = match input {
            Rel::Filter { input, predicates } => (input, predicates),
            other => (other, &[]),
        };
        let mut plans = Vec::new();
        match (bare, group) {
            (Rel::Get { table, columns, .. }, _) => {
                for index in &table.indexes {
                    let parts = index.parts.iter().take(group.len());
                    let of_part = |part: &muster_algebra::KeyPart| {
                        let id = columns.iter().find(|(_, position)| *position == part.column).map(|(id, _)| *id);
                        id.filter(|id| group.contains(id))
                    };
                    let Some(leading) = parts.map(of_part).collect::<Option<Vec<ColId>>>() else { continue };
                    let order: Vec<SortKey> =
                        leading.into_iter().map(|id| SortKey { expr: Expr::Column(id), descending: false }).collect();
                    if order.len() == group.len() {
                        plans.push(self.plan_table(bare, predicates, below, &order, None)?);
                    }
                }
            }
            (Rel::Join { .. }, [column]) => plans.extend(joins::plan_joins_ordered(self, input, below, *column)?),
            _ => {}
        }
        plans.retain(|plan| is_ordered_by(&plan.order, group));
        Ok(plans.into_iter().min_by(|a, b| a.estimate.cost.compared_ms().total_cmp(&b.estimate.cost.compared_ms())))
    }
}

fn call_exprs_mut(call: &mut AggregateCall) -> Vec<&mut Expr> {
    let order = match &mut call.function {
        muster_algebra::AggregateFunction::GroupConcat { order, .. } => order.as_mut_slice(),
        _ => &mut [],
    };
    call.args.iter_mut().chain(order.iter_mut().map(|k| &mut k.expr)).collect()
}

/// Returns true if rows in this order have equal groups together: its leading keys are the group's columns in any
/// order.
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
