//! A query that was bound before, with the values of one execution.

use super::{
    StatementContext, StatementTables,
    query::{self, Planned},
};
use crate::short_path::{KeptQuery, LastPlan};
use muster_algebra::Plan;
use muster_optimizer::PlanTemplate;
use muster_types::{Result, Value};
use std::{sync::Arc, time::Instant};

/// A plan for all values may be estimated to take so much longer than the last one, which was made for other values.
const COST_FACTOR_MAX: f64 = 1.5;
const COST_MS_MORE: f64 = 0.2;

pub struct KeptRun {
    pub query: Arc<KeptQuery>,
    pub values: Vec<Value>,
    /// The statement with the values in it, unless it is a prepared one.
    pub text: Option<String>,
}

impl KeptRun {
    /// A plan for the values. `None` if the tables are others by now, so that the statement is to be bound anew.
    pub fn plan(&self, context: &Arc<StatementContext>) -> Result<Option<Planned>> {
        let tables = StatementTables::new(context);
        if !self.query.is_of(tables.set()) || context.transaction.has_locked_tables() {
            return Ok(None);
        }
        tables.use_again(&self.query.used);
        if !tables.lock_to_read()? {
            return Ok(None);
        }
        if self.query.locks_rows || context.reads_lock() {
            tables.will_lock_rows();
        }
        let is_plain = self.query.may_share_plans(context);
        let last = if is_plain { self.query.last(&context.session.variables) } else { None };
        if let Some(last) = &last
            && let Some(plan) = self.plan_of(context, last, &tables)
        {
            let (columns, outputs) = (last.columns.clone(), last.outputs.clone());
            return Ok(Some(Planned { plan, columns, outputs, tables }));
        }
        if let Some(last) = last.filter(|_| self.query.may_have_template())
            && let Some(planned) = self.plan_with_template(context, &last, &tables)?
        {
            return Ok(Some(planned));
        }
        let planned = query::optimize(context, self.query.bound(&self.values), tables)?;
        if is_plain {
            self.query.keep(planned.last_plan(context, self.values.clone(), None));
        }
        Ok(Some(planned))
    }

    /// The plan that was made last, if it serves the values.
    fn plan_of(&self, context: &StatementContext, last: &LastPlan, tables: &StatementTables) -> Option<Arc<Plan>> {
        if last.values == self.values {
            return Some(last.plan.clone());
        }
        let plan = last.template.as_ref()?.with_values(&self.values, tables).map(Arc::new);
        self.query.note_template(plan.is_some());
        if plan.is_some() {
            context.database.plans().note_template_hit();
        }
        plan
    }

    /// A plan for the values that serves others, too, and is kept. `None` if there is none that is about as cheap as
    /// one that was made for its values.
    fn plan_with_template(
        &self,
        context: &Arc<StatementContext>,
        last: &LastPlan,
        tables: &Arc<StatementTables>,
    ) -> Result<Option<Planned>> {
        let bound = self.query.planned_for(&self.values);
        let options = query::options(context, &bound, tables);
        let mut planned = query::optimize_under(context, bound, tables.clone(), &options)?;
        let (cost_ms, of_last_ms) = (planned.plan.estimate.cost.worst_ms, last.plan.estimate.cost.worst_ms);
        let is_cheap = cost_ms <= of_last_ms * COST_FACTOR_MAX + COST_MS_MORE;
        let made = is_cheap.then(|| PlanTemplate::of(&planned.plan, &self.values, &**tables, &options)).flatten();
        let Some((template, plan)) = made else {
            self.query.note_template(false);
            return Ok(None);
        };
        planned.plan = Arc::new(plan);
        self.query.keep(planned.last_plan(context, self.values.clone(), Some(template)));
        Ok(Some(planned))
    }
}

impl KeptQuery {
    /// Returns true if a statement may take a plan that was made for another one, and its own serves others. An older
    /// view may not see all that an index has; rows are locked by what the transaction's level asks for; and a trace
    /// tells of planning.
    pub fn may_share_plans(&self, context: &StatementContext) -> bool {
        !self.locks_rows && !context.reads_lock() && context.known_view().is_none() && context.trace.get().is_none()
    }
}

impl Planned {
    /// What is kept of the plan, which was made for these values.
    pub fn last_plan(
        &self,
        context: &StatementContext,
        values: Vec<Value>,
        template: Option<PlanTemplate>,
    ) -> LastPlan {
        LastPlan {
            values,
            template,
            variables: context.session.variables.clone(),
            made: Instant::now(),
            plan: self.plan.clone(),
            columns: self.columns.clone(),
            outputs: self.outputs.clone(),
        }
    }
}
