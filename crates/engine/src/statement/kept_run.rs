//! A query that was bound before, with the values of one execution.

use super::{
    StatementContext, StatementTables,
    query::{self, Planned},
};
use crate::short_path::{KeptQuery, LastPlan};
use muster_types::{Result, Value};
use std::{sync::Arc, time::Instant};

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
        let variables = &context.session.variables;
        if is_plain && let Some(last) = self.query.last(&self.values, variables) {
            let (plan, columns, outputs) = (last.plan.clone(), last.columns.clone(), last.outputs.clone());
            return Ok(Some(Planned { plan, columns, outputs, tables }));
        }
        let planned = query::optimize(context, self.query.bound(&self.values), tables)?;
        if is_plain {
            self.query.keep(planned.last_plan(context, self.values.clone()));
        }
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
    pub fn last_plan(&self, context: &StatementContext, values: Vec<Value>) -> LastPlan {
        LastPlan {
            values,
            variables: context.session.variables.clone(),
            made: Instant::now(),
            plan: self.plan.clone(),
            columns: self.columns.clone(),
            outputs: self.outputs.clone(),
        }
    }
}
