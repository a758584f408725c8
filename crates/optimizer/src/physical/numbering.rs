//! Numbers for the nodes of a finished plan.

use super::each_subplan_of;
use muster_algebra::{NodeId, Plan, PlanOp};
use std::collections::HashMap;

/// Numbers the nodes from 1, each before its inputs, and those before the node's subqueries.
pub fn number(plan: &mut Plan) {
    Numbering { last: 0, shared: HashMap::new() }.node(plan);
}

struct Numbering {
    last: u32,
    /// The number before those of rows that are shared, by their number in the statement.
    shared: HashMap<usize, u32>,
}

impl Numbering {
    fn node(&mut self, plan: &mut Plan) {
        self.last += 1;
        plan.id = NodeId(self.last);
        if let PlanOp::Shared { id, input, .. } = &mut plan.op {
            match self.shared.get(id).copied() {
                // The same rows again: the same nodes.
                Some(first) => {
                    let last = std::mem::replace(&mut self.last, first);
                    self.node(input);
                    self.last = last;
                }
                None => {
                    self.shared.insert(*id, self.last);
                    self.node(input);
                }
            }
            return;
        }
        plan.inputs_mut().into_iter().for_each(|input| self.node(input));
        each_subplan_of(plan, &mut |subplan| self.node(&mut subplan.plan));
        if let PlanOp::FinalAggregate { input, aggregates, .. } = &mut plan.op {
            let partial = match &input.op {
                PlanOp::Exchange { input, .. } => input,
                _ => input,
            };
            // Subqueries in the arguments are those that the partial aggregation runs.
            if let PlanOp::PartialAggregate { aggregates: accumulated, .. } = &partial.op {
                aggregates.clone_from(accumulated);
            }
        }
    }
}
