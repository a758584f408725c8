//! Window functions: one node for each division of the rows and order of them. Its input is sorted, unless it comes in
//! that order.

use super::{Planner, order};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Estimate, Expr, Plan, PlanOp, Rel, Window};
use muster_types::Result;

impl Planner<'_> {
    pub(super) fn plan_window(&mut self, input: &Rel, window: &Window, required: &ColSet) -> Result<Plan> {
        let mut window = window.clone();
        window.calls.retain(|(id, _)| required.contains(id));
        if window.calls.is_empty() {
            return self.plan(input, required);
        }
        let computed = self.computed_below(&mut window);
        let produced: ColSet = window.calls.iter().map(|(id, _)| *id).collect();
        let mut below: ColSet = required.difference(&produced).copied().collect();
        below.extend(scope::exprs_columns(window.exprs()));
        below.extend(scope::exprs_columns(computed.iter().map(|(_, e)| e)));
        computed.iter().for_each(|(id, _)| {
            below.remove(id);
        });
        let keys = window.sort_keys();
        let mut plan = match computed.is_empty() {
            true => self.plan_ordered(input, &keys, None, &below)?,
            false => self.plan(input, &below)?,
        };
        if !computed.is_empty() {
            let mut exprs: Vec<(ColId, Expr)> = plan.output.iter().map(|id| (*id, Expr::Column(*id))).collect();
            exprs.extend(computed);
            plan = self.project(plan, exprs)?;
        }
        if !plan.order.starts_with(&keys) {
            plan = order::sorted(plan, keys, None, &self.options.cost);
        }
        let rows = plan.estimate.rows;
        let cost_ms = plan.estimate.cost_ms + self.options.cost.window(rows, window.calls.len());
        let output = plan.output.iter().copied().chain(window.calls.iter().map(|(id, _)| *id)).collect();
        let given = plan.order.clone();
        Ok(Plan::new(PlanOp::Window { input: Box::new(plan), window }, output, Estimate { rows, cost_ms }, given))
    }

    /// Puts columns in the place of expressions with subqueries. Returns the columns with the expressions.
    fn computed_below(&mut self, window: &mut Window) -> Vec<(ColId, Expr)> {
        let mut computed: Vec<(ColId, Expr)> = Vec::new();
        for expr in window.exprs_mut() {
            if !expr.has_subquery() {
                continue;
            }
            let id = match computed.iter().find(|(_, known)| known == expr) {
                Some((id, _)) => *id,
                None => {
                    let ty = expr.ty(&self.columns);
                    let id = self.columns_mut().add_computed("window", ty, true);
                    computed.push((id, expr.clone()));
                    id
                }
            };
            *expr = Expr::Column(id);
        }
        computed
    }
}
