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
        let locks = context.reads_lock();
        if locks {
            tables.will_lock_rows();
        }
        // An older view may not see all that an index has; and a trace tells of planning.
        let is_plain = !locks && context.known_view().is_none() && context.trace.get().is_none();
        let variables = &context.session.variables;
        if is_plain && let Some(last) = self.query.last(&self.values, variables) {
            let (plan, columns, outputs) = (last.plan.clone(), last.columns.clone(), last.outputs.clone());
            return Ok(Some(Planned { plan, columns, outputs, tables }));
        }
        let planned = query::optimize(context, self.query.bound(&self.values), tables)?;
        if is_plain {
            self.query.keep(LastPlan {
                values: self.values.clone(),
                variables: variables.clone(),
                made: Instant::now(),
                plan: planned.plan.clone(),
                columns: planned.columns.clone(),
                outputs: planned.outputs.clone(),
            });
        }
        Ok(Some(planned))
    }
}
