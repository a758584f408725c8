//! A statement of the short path that waits for a lock: in its task, which whoever grants the lock wakes; then the
//! statement runs anew. So a row that everybody changes passes from one session to the next with one change of threads.

use super::super::Session;
use crate::{processes::Begun, waiting};
use muster_storage::{LockWait, StorageError};
use muster_types::SqlError;
use std::time::Duration;

/// Locks that a statement waits for one after the other; for more it waits on a thread of statements.
pub(super) const LOCKS_MAX: usize = 16;

/// What became of a wait.
pub(super) enum Waited {
    /// The statement is to run anew.
    Granted,
    /// The error that it ends with.
    Failed(SqlError),
    /// A thread of statements is to wait. It knows, too, what a statement says that was stopped.
    Elsewhere,
}

impl Session {
    /// Waits for a lock as long as `innodb_lock_wait_timeout`. Only a thread that serves sessions has the timer for it,
    /// and a statement with a limit of time waits elsewhere.
    pub(super) async fn wait_for_lock(&self, mut lock: LockWait, begun: &Begun) -> Waited {
        let (seconds, has_limit) = {
            let state = self.state.lock();
            (state.variables.unsigned("innodb_lock_wait_timeout"), !state.longest().is_zero())
        };
        if has_limit || !waiting::serves_here() {
            return Waited::Elsewhere;
        }
        let granted = tokio::select! {
            biased;
            granted = &mut lock => Some(granted),
            () = begun.cancel.cancelled() => return Waited::Elsewhere,
            () = tokio::time::sleep(Duration::from_secs(seconds)) => None,
        };
        let granted = granted.unwrap_or_else(|| lock.time_out());
        granted.map_or_else(|e| Waited::Failed(StorageError::from(e).into()), |()| Waited::Granted)
    }
}
