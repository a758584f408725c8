//! Savepoints of the open transaction.

use super::{Open, SessionTransaction, USES_TABLES};
use muster_exec::counters::OperatorCounter;
use muster_storage::Store;
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

impl SessionTransaction {
    /// SAVEPOINT: one of the same name before is forgotten. Without an open transaction there is nothing to go back to.
    pub fn savepoint(&self, name: &str, store: &Arc<Store>) {
        let name = name.to_lowercase();
        if let Some(open) = &mut *self.open.lock() {
            let moment = self.has_status(USES_TABLES).then(|| self.moment(store));
            open.savepoints.retain(|(other, _)| *other != name);
            open.savepoints.push((name, moment));
            self.count_savepoint(OperatorCounter::savepoints);
        }
    }

    /// ROLLBACK TO: the savepoint itself stays. If the transaction had used no table when it was set, all changes are
    /// taken back, and the next read takes a view of its own. Error 1305.
    pub fn roll_back_to(&self, name: &str) -> Result<()> {
        let moment = self.at_savepoint(name, |open, at| {
            open.savepoints.truncate(at + 1);
            let moment = open.savepoints[at].1;
            if moment.is_none() {
                open.view = None;
            }
            moment
        })?;
        if let Some(moment) = moment {
            self.count_savepoint(OperatorCounter::savepoint_rollbacks);
            return self.back_to(moment);
        }
        self.count_end(USES_TABLES, OperatorCounter::rollbacks);
        self.roll_back_changes()
    }

    /// RELEASE SAVEPOINT: those behind it go, too. Error 1305.
    pub fn release_savepoint(&self, name: &str) -> Result<()> {
        self.at_savepoint(name, |open, at| open.savepoints.truncate(at))
    }

    fn at_savepoint<R>(&self, name: &str, then: impl FnOnce(&mut Open, usize) -> R) -> Result<R> {
        let lower = name.to_lowercase();
        let mut open = self.open.lock();
        let found = open.as_mut().and_then(|open| {
            let at = open.savepoints.iter().position(|(other, _)| *other == lower)?;
            Some((open, at))
        });
        let Some((open, at)) = found else {
            return Err(SqlError::new(ErrorCode::FunctionDoesNotExist, format!("SAVEPOINT {name} does not exist")));
        };
        Ok(then(open, at))
    }
}
