//! KILL and FLUSH.

use super::state::SessionState;
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, evaluate},
};
use muster_sql::{FlushOption, ScalarExpr};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

impl SessionState {
    /// Own sessions without further rights, those of others with SUPER. Errors 1094, 1095.
    pub fn kill(
        &self,
        context: &Arc<StatementContext>,
        id: &ScalarExpr,
        query_only: bool,
        parameters: &[Value],
    ) -> Result<Done> {
        let id = match evaluate(context, id, parameters)? {
            Value::Int(i) => u32::try_from(i).ok(),
            Value::UInt(u) => u32::try_from(u).ok(),
            Value::Text(s) => s.trim().parse().ok(),
            _ => None,
        };
        let shown = id.map_or_else(|| "NULL".into(), |id| id.to_string());
        let target = id.and_then(|id| self.database.sessions().get(id));
        let target =
            target.ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {shown}")))?;
        let rights = &context.rights;
        let may_kill = rights.global().has(Privilege::Super) || rights.has_dynamic("CONNECTION_ADMIN");
        if target.user() != rights.user && !may_kill {
            return Err(SqlError::new(ErrorCode::KillDenied, format!("You are not owner of thread {shown}")));
        }
        self.database.kill(target.id, query_only)?;
        // Who ends what he is doing himself is told what others are told.
        if target.id == self.process.id { Err(SqlError::interrupted()) } else { Ok(Done::default()) }
    }

    /// SHUTDOWN: the server ends once the client has the answer. Error 1227 without the privilege.
    pub fn shut_down(&mut self, context: &StatementContext) -> Result<Done> {
        context.rights.check_global(Privilege::Shutdown)?;
        self.process.ask_to_stop();
        Ok(Done::default())
    }

    /// Error 1227 without RELOAD.
    pub fn flush(&mut self, context: &Arc<StatementContext>, options: &[FlushOption]) -> Result<Done> {
        for option in options {
            let rights = &context.rights;
            match option {
                FlushOption::Status => {
                    rights.check_global_or(Privilege::Reload, "FLUSH_STATUS", "RELOAD or FLUSH_STATUS")?;
                }
                FlushOption::Tables(_) | FlushOption::TablesWithReadLock(_) => {
                    rights.check_global_or(Privilege::Reload, "FLUSH_TABLES", "RELOAD or FLUSH_TABLES")?;
                }
                FlushOption::OptimizerCosts => {
                    let names = "RELOAD or FLUSH_OPTIMIZER_COSTS";
                    rights.check_global_or(Privilege::Reload, "FLUSH_OPTIMIZER_COSTS", names)?;
                }
                FlushOption::Privileges | FlushOption::Other(_) => rights.check_global(Privilege::Reload)?,
            }
            match option {
                FlushOption::Status => {
                    self.process.counters.reset();
                    self.process.commands.reset();
                }
                FlushOption::Tables(tables) => self.flush_tables(context, tables)?,
                FlushOption::TablesWithReadLock(tables) => self.flush_with_read_lock(context, tables)?,
                FlushOption::OptimizerCosts => self.database.flush_costs()?,
                FlushOption::Privileges => self.database.accounts().forget_failed_logins(),
                FlushOption::Other(_) => {}
            }
        }
        Ok(Done::default())
    }
}
