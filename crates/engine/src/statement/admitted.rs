//! The rows of a query, computed once it is admitted. A query that was refused memory while others computed, and that
//! has delivered no row yet, computes again, alone: so only what cannot run alone ends with error 1041. The first rows
//! are held back for a short time, so that a query with few of them has delivered none before it is done.

use super::{StatementContext, gate::Gate};
use crate::{
    RowStream,
    admission::{Admitted, Demand},
    threads,
};
use arrow_array::RecordBatch;
use futures::{StreamExt, future, stream};
use muster_algebra::{Columns, Plan};
use muster_exec::{ExecContext, Profile};
use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

/// A plan is heavy if it takes this long by estimate. Others never wait: they are over before a heavy one has begun.
const HEAVY_MS: f64 = 10.0;

/// Attempts alone. Light statements may hold memory meanwhile, so there is more than one.
const ATTEMPTS_ALONE: u32 = 6;
/// The wait before the second attempt alone; it doubles with each one.
const PAUSE: Duration = Duration::from_millis(20);

/// The first rows are held back until there are so many bytes of them, or the first one has been held for so long.
const HELD_BYTES_MAX: usize = 1 << 20;
const HELD_MAX: Duration = Duration::from_secs(1);

/// A plan with all that it needs to run, more than once if need be.
pub struct Computation {
    pub plan: Arc<Plan>,
    pub columns: Arc<Columns>,
    pub exec: ExecContext,
    /// Measurements of every operator go there.
    pub profile: Option<Arc<Profile>>,
}

impl Computation {
    fn start(&self) -> Result<RowStream> {
        let exec = ExecContext { shared: Arc::default(), ..self.exec.clone() };
        match &self.profile {
            Some(profile) => muster_exec::execute_measured(&self.plan, &self.columns, &exec, profile),
            None => muster_exec::execute(&self.plan, &self.columns, &exec),
        }
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
    let gate = Gate::new(context, deadline);
    let is_heavy = computation.plan.estimate.cost.worst_ms >= HEAVY_MS;
    let admitted = match is_heavy {
        true => threads::wait(gate.enter(Demand::Beside))??,
        false => context.database.admission().note_light(),
    };
    let admitted = Arc::new(Mutex::new(Some(admitted)));
    // A statement whose reader is slow computes nothing meanwhile, so another one may.
    let stalled = {
        let admitted = admitted.clone();
        move || drop(admitted.lock().take())
    };
    let start = || Ok(Attempts::new(gate, computation, admitted)?.rows());
    if is_heavy {
        return threads::rows(start, stalled);
    }
    let stopped = async {
        tokio::select! {
            () = context.cancel.cancelled() => SqlError::interrupted(),
            () = sleep_until(deadline) => SqlError::timed_out(),
        }
    };
    threads::few_rows(start, stopped, stalled)
}

/// Sleeps for ever without a deadline.
async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => future::pending().await,
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
    held: HeldRows,
}

/// The first rows of an attempt, which are not delivered yet.
#[derive(Default)]
struct HeldRows {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
    /// When the first one came.
    since: Option<Instant>,
    /// True once they are to be delivered, and all that come after them.
    is_over: bool,
}

impl HeldRows {
    /// Holds a batch, in no more memory than its rows need; one that is too large to be held is delivered next.
    fn push(&mut self, batch: RecordBatch) {
        self.since.get_or_insert_with(Instant::now);
        self.bytes += muster_exec::used_bytes(&batch).unwrap_or(HELD_BYTES_MAX);
        self.is_over = self.bytes >= HELD_BYTES_MAX;
        let compact = if self.is_over { None } else { muster_exec::compact(&batch).ok() };
        self.batches.push_back(compact.unwrap_or(batch));
    }

    /// The time until they are delivered; `None` while there are none.
    fn time_left(&self) -> Option<Duration> {
        Some(HELD_MAX.saturating_sub(self.since?.elapsed()))
    }
}

impl Attempts {
    fn new(gate: Gate, computation: Computation, admitted: Arc<Mutex<Option<Admitted>>>) -> Result<Attempts> {
        let warnings = computation.exec.warnings.count();
        let rows = Some(computation.start_refusable()?);
        let (attempts_left, held) = (ATTEMPTS_ALONE, HeldRows::default());
        Ok(Attempts { gate, computation, rows, admitted, warnings, attempts_left, held })
    }

    fn rows(self) -> RowStream {
        let next = |mut attempts: Attempts| async move {
            let item = attempts.next().await?;
            Some((item, attempts))
        };
        stream::unfold(self, next).boxed()
    }

    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        while !self.held.is_over {
            if let Err(e) = self.hold_next().await {
                self.held = HeldRows { is_over: true, ..HeldRows::default() };
                self.end();
                return Some(Err(e));
            }
        }
        self.attempts_left = 0;
        if let Some(batch) = self.held.batches.pop_front() {
            return Some(Ok(batch));
        }
        let item = self.rows.as_mut()?.next().await;
        if !matches!(item, Some(Ok(_))) {
            self.end();
        }
        item
    }

    /// Computes the next rows that are held back, again and alone if need be. The query is done, and has given back
    /// what it had, when its last rows are among them.
    async fn hold_next(&mut self) -> Result<()> {
        let Some(rows) = &mut self.rows else {
            self.held.is_over = true;
            return Ok(());
        };
        let next = match self.held.time_left() {
            None => rows.next().await,
            Some(time) => match tokio::time::timeout(time, rows.next()).await {
                Ok(next) => next,
                Err(_) => {
                    self.held.is_over = true;
                    return Ok(());
                }
            },
        };
        match next {
            Some(Ok(batch)) => self.held.push(batch),
            Some(Err(e)) if e.code == ErrorCode::OutOfMemory && self.had_company() => self.start_alone().await?,
            Some(Err(e)) => return Err(e),
            None => {
                self.held.is_over = true;
                self.end();
            }
        }
        Ok(())
    }

    /// Returns true if others may have held what this attempt was refused, and another attempt is possible.
    fn had_company(&self) -> bool {
        self.attempts_left > 0 && self.admitted.lock().as_ref().is_none_or(Admitted::had_company)
    }

    async fn start_alone(&mut self) -> Result<()> {
        self.held = HeldRows::default();
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
