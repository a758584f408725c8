//! System variables as a statement reads them: some are kept elsewhere than in the session's values.

use super::StatementContext;
use crate::variables;
use muster_sql::VariableScope;
use muster_types::{Result, Value};
use std::sync::atomic::Ordering::Relaxed;

impl StatementContext {
    /// The value of `@@[scope.]name`.
    pub fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        let definition = variables::define(name)?;
        if variables::reads_global(definition, scope)? {
            return Ok(self.database.globals().get(definition.name));
        }
        Ok(match definition.name {
            "warning_count" => Value::UInt(self.session.condition_counts.0),
            "error_count" => Value::UInt(self.session.condition_counts.1),
            "pseudo_thread_id" => Value::UInt(self.process.id.into()),
            "last_insert_id" | "identity" => Value::UInt(self.process.last_insert_id.load(Relaxed)),
            "timestamp" if self.session.variables.get("timestamp") == Value::Double(0.0) => {
                Value::Double(self.clock.now_utc_micros as f64 / 1e6)
            }
            name => self.session.variables.get(name),
        })
    }
}
