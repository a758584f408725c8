//! A change of one row by its key on the short path: begun, run, ended and counted in the task of its connection, which
//! waits for nothing but the log.

use super::{Session, short_path::ShortAnswer, state::SessionState, statement::Begun};
use crate::{
    Outcome,
    command_counters::Command,
    dml,
    short_path::{ShortWrite, is_resident},
    statement::Done,
    threads::{self, panic_error},
    waiting,
};
use muster_storage::Committed;
use muster_types::{Result, SqlError, Value};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// The end of a statement that needed to wait for nothing.
pub(super) struct Ended {
    pub outcome: Result<Outcome>,
    /// The commit of the statement, which the log may not have written yet.
    pub committed: Option<Committed>,
}

impl Session {
    /// Runs a statement that has begun, on the caller's thread unless its row has to be read from the disk and others
    /// live there.
    pub(super) async fn write_short(&mut self, write: Arc<ShortWrite>, begun: Begun) -> ShortAnswer {
        let ended = {
            let mut state = self.state.lock();
            let key = write.key(state.short_path.values());
            match waiting::is_alone() || state.is_in_memory(&write, key.as_deref()) {
                true => Ok(state.change_short(&write, key.as_deref(), &begun.1)),
                false => Err(key),
            }
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(key) => {
                let (state, cancel) = (self.state.clone(), begun.1.clone());
                let change = move || Ok(state.lock().change_short(&write, key.as_deref(), &cancel));
                threads::blocking(change).await.unwrap_or_default()
            }
        };
        match ended {
            Some(ended) => ShortAnswer::Done(self.tell_when_durable(ended, begun.0).await),
            None => {
                self.begun_short = Some(begun);
                ShortAnswer::General
            }
        }
    }

    /// Waits until the client may be told of what a statement has committed, and ends the statement.
    pub(super) async fn tell_when_durable(&mut self, ended: Ended, number: u64) -> Result<Outcome> {
        let Ended { mut outcome, committed } = ended;
        let flush = self.database.store().flush_at_commit();
        let told = match committed {
            Some(committed) if waiting::is_alone() => committed.wait(flush),
            Some(committed) => match committed.told(flush) {
                Some(told) => told.await,
                None => Ok(()),
            },
            None => Ok(()),
        };
        if let Err(e) = told {
            let error = SqlError::from(e);
            self.state.lock().diagnostics.set_error(error.clone());
            outcome = Err(error);
        }
        self.process.end(number);
        outcome
    }
}

impl SessionState {
    /// Returns true if the row that the statement which was looked for last changes is in memory, or not known yet.
    fn is_in_memory(&self, write: &ShortWrite, key: Option<&[Value]>) -> bool {
        let Some(key) = key else { return true };
        let tables = self.database.tables();
        let table = tables.current().storage(write.table(), tables.store());
        table.is_ok_and(|table| is_resident(&table, key))
    }

    /// Runs the statement that was looked for last, on the row with this key. `None` if it has to take the general
    /// path: nothing has changed then.
    fn change_short(&mut self, write: &ShortWrite, key: Option<&[Value]>, cancel: &CancellationToken) -> Option<Ended> {
        if !self.may_change_short() {
            return None;
        }
        let (condition_counts, diagnostics) = (self.condition_counts, self.diagnostics.clone());
        let changed_rows = self.process.counters.changed_rows();
        self.begin_diagnostics();
        self.transaction.begin_statement();
        let done = catch_unwind(AssertUnwindSafe(|| self.try_change(write, key, cancel)));
        match done.unwrap_or_else(|panic| Err(panic_error(&*panic))) {
            Ok(None) => {
                (self.condition_counts, self.diagnostics) = (condition_counts, diagnostics);
                // The general path changes the rows again, and counts them.
                self.process.counters.take_back_changed_rows(changed_rows);
                let restarted = self.transaction.restart_statement();
                // The general path meets the same error.
                restarted.err().map(|e| Ended { outcome: Err(e), committed: None })
            }
            Ok(Some(done)) => Some(self.end_short(write.command(), done.outcome())),
            Err(e) => Some(self.end_short(write.command(), Err(e))),
        }
    }

    /// Returns true if statements may change rows, and a change has begun.
    fn may_change_short(&mut self) -> bool {
        let is_refused = self.characteristics().read_only || self.database.globals().settings().server_is_read_only;
        if is_refused || self.variables.settings().insert_id.is_some() {
            return false;
        }
        if !self.transaction.locks().try_begin_change(self.transaction.owner()) {
            return false;
        }
        self.open_implicitly();
        true
    }

    fn try_change(
        &self,
        write: &ShortWrite,
        key: Option<&[Value]>,
        cancel: &CancellationToken,
    ) -> Result<Option<Done>> {
        let context = self.context_in_place(cancel.clone());
        dml::change_in_place(&context, write, self.short_path.values(), key)
    }

    /// Ends a statement and counts it.
    pub(super) fn end_short(&mut self, command: Command, outcome: Result<Outcome>) -> Ended {
        self.count_question();
        self.count_command(command);
        if self.short_path.is_prepared() {
            self.count_command(Command::STMT_EXECUTE);
        }
        let mut committed = None;
        let outcome = self.end_transactional(outcome, |changes| {
            committed = Some(changes);
            Ok(())
        });
        Ended { outcome, committed }
    }
}
