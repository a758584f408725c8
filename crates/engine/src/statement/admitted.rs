//! The rows of a query, computed once it is admitted. A query that was refused memory while others computed, and that has
//! delivered no row yet, computes again, alone: so only what cannot run alone ends with error 1041.

use super::StatementContext;
use crate::{
    RowStream,
    admission::{Admission, Admitted, Demand},
    processes::{EXECUTING, SessionShared, WAITING_FOR_ADMISSION},
    threads,
};
use futures::{FutureExt, StreamExt, future, stream};
use muster_algebra::{Columns, Plan};
use muster_exec::ExecContext;
use muster_types::{ErrorCode, Result, SqlError};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// A plan is heavy if it takes this long by estimate. Others never wait: they are over before a heavy one has begun.
const HEAVY_MS: f64 = 10.0;

/// Attempts alone. Light statements may hold memory meanwhile, so there is more than one.
const ATTEMPTS_ALONE: u32 = 6;
/// The wait before the second attempt alone; it doubles with each one.
const PAUSE: Duration = Duration::from_millis(20);

/// A plan with all that it needs to run, more than once if need be.
pub struct Computation {
    pub plan: Plan,
    pub columns: Columns,
    pub exec: ExecContext,
}

impl Computation {
    fn start(&self) -> Result<RowStream> {
        let exec = ExecContext { shared: Arc::default(), ..self.exec.clone() };
        muster_exec::execute(&self.plan, &self.columns, &exec)
    }

    /// As [`Computation::start`], with a refusal of memory among the rows rather than before them.
    fn start_refusable(&self) -> Result<RowStream> {
        match self.start() {
            Err(e) if e.code == ErrorCode::OutOfMemory => Ok(stream::once(future::ready(Err(e))).boxed()),
            started => started,
        }
    }
}

/// Waits for admission if the plan is heavy, then starts it. Errors 1226, 1317, 3024 while it waits.
pub fn rows(context: &StatementContext, computation: Computation, deadline: Option<Instant>) -> Result<RowStream> {
    let gate = Gate {
        admission: context.database.admission().clone(),
        process: context.process.clone(),
        cancel: context.cancel.clone(),
        deadline,
    };
    let admitted = match computation.plan.estimate.cost_ms >= HEAVY_MS {
        true => threads::wait(gate.enter(Demand::Beside))??,
        false => gate.admission.note_light(),
    };
    let admitted = Arc::new(Mutex::new(Some(admitted)));
    // A statement whose reader is slow computes nothing meanwhile, so another one may.
    let stalled = {
        let admitted = admitted.clone();
        move || drop(admitted.lock().take())
    };
    threads::rows(|| Ok(Attempts::new(gate, computation, admitted)?.rows()), stalled)
}

/// The way in: admission, and what ends the wait for it.
struct Gate {
    admission: Arc<Admission>,
    process: Arc<SessionShared>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
}

impl Gate {
    async fn enter(&self, demand: Demand) -> Result<Admitted> {
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
        let admitted = self.admission.admit(demand, stopped, || self.process.set_state(WAITING_FOR_ADMISSION)).await;
        self.process.set_state(EXECUTING);
        admitted
    }
}

/// The attempts to compute the rows: the first one, and those alone.
struct Attempts {
    gate: Gate,
    computation: Computation,
    /// `None` after the end.
    rows: Option<RowStream>,
    admitted: Arc<Mutex<Option<Admitted>>>,
    /// Warnings there were before the first attempt.
    warnings: usize,
    /// Attempts alone that are left; none once a row has been delivered.
    attempts_left: u32,
}

impl Attempts {
    fn new(gate: Gate, computation: Computation, admitted: Arc<Mutex<Option<Admitted>>>) -> Result<Attempts> {
        let warnings = computation.exec.warnings.count();
        let rows = Some(computation.start_refusable()?);
        Ok(Attempts { gate, computation, admitted, rows, warnings, attempts_left: ATTEMPTS_ALONE })
    }

    fn rows(self) -> RowStream {
        let next = |mut attempts: Attempts| async move {
            let item = attempts.next().await?;
            Some((item, attempts))
        };
        stream::unfold(self, next).boxed()
    }

    async fn next(&mut self) -> Option<<RowStream as futures::Stream>::Item> {
        loop {
            let item = self.rows.as_mut()?.next().await;
            match &item {
                Some(Err(e)) if e.code == ErrorCode::OutOfMemory && self.had_company() => {
                    if let Err(e) = self.start_alone().await {
                        self.end();
                        return Some(Err(e));
                    }
                }
                Some(Ok(_)) => {
                    self.attempts_left = 0;
                    return item;
                }
                None | Some(Err(_)) => {
                    self.end();
                    return item;
                }
            }
        }
    }

    /// Returns true if others may have held what this attempt was refused, and another attempt is possible.
    fn had_company(&self) -> bool {
        self.attempts_left > 0 && self.admitted.lock().as_ref().is_none_or(Admitted::had_company)
    }

    async fn start_alone(&mut self) -> Result<()> {
        self.end();
        self.computation.exec.warnings.truncate(self.warnings);
        if self.attempts_left < ATTEMPTS_ALONE {
            tokio::time::sleep(PAUSE * 2_u32.pow(ATTEMPTS_ALONE - 1 - self.attempts_left)).await;
        }
        self.attempts_left -= 1;
        let admitted = self.gate.enter(Demand::Alone).await?;
        *self.admitted.lock() = Some(admitted);
        self.rows = Some(self.computation.start_refusable()?);
        Ok(())
    }

    /// Gives back memory and admission.
    fn end(&mut self) {
        self.rows = None;
        self.admitted.lock().take();
    }
}
