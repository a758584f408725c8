//! The way in to computing: admission, and what ends the wait for it.

use super::StatementContext;
use crate::{
    admission::{Admission, Admitted, Demand},
    processes::{SessionShared, WAITING_FOR_ADMISSION},
    threads,
};
use futures::{FutureExt, future};
use muster_types::{Result, SqlError};
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// The admission that a statement goes through, and what stops it there.
pub struct Gate {
    admission: Arc<Admission>,
    process: Arc<SessionShared>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
}

/// Waits until a statement that builds files may compute beside others. It holds the writer lock of its table already,
/// so that nobody computes while waiting for that. Errors 1226, 1317.
pub fn enter_to_build(context: &StatementContext) -> Result<Admitted> {
    threads::wait(Gate::new(context, None).enter(Demand::Beside))?
}

impl Gate {
    pub fn new(context: &StatementContext, deadline: Option<Instant>) -> Gate {
        Gate {
            admission: context.database.admission().clone(),
            process: context.process.clone(),
            cancel: context.cancel.clone(),
            deadline,
        }
    }

    /// Waits for admission. Errors 1226 (the queue is full), 1317, 3024.
    pub async fn enter(&self, demand: Demand) -> Result<Admitted> {
        let stopped = async {
            let late = match self.deadline {
                Some(at) => tokio::time::sleep_until(at.into()).left_future(),
                None => future::pending().right_future(),
            };
            tokio::select! {
                () = self.cancel.cancelled() => SqlError::interrupted(),
                () = late => SqlError::timed_out(),
            }
        };
        let state = self.process.state();
        let admitted = self.admission.admit(demand, stopped, || self.process.set_state(WAITING_FOR_ADMISSION)).await;
        self.process.set_state(state);
        admitted
    }
}
