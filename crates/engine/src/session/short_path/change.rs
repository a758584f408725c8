//! A change of rows on the short path: begun, run, ended and counted in the task of its connection, unless it has to
//! wait for a page or a lock.

use super::{
    ShortAnswer,
    lock_wait::{LOCKS_MAX, Waited},
};
use crate::{
    Outcome,
    command_counters::Command,
    dml::{self, InPlace},
    processes::Begun,
    session::{Session, state::SessionState},
    short_path::ShortWrite,
    threads::{self, panic_error},
    waiting,
};
use muster_storage::{Committed, LockWait};
use muster_types::{Result, SqlError};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// The end of a statement that needed to wait for nothing.
pub(in crate::session) struct Ended {
    pub outcome: Result<Outcome>,
    /// The commit of the statement, which the log may not have written yet.
    pub committed: Option<Committed>,
}

/// What became of a change.
enum Changed {
    Ended(Ended),
    /// It cannot go on without waiting, for this lock if that is known.
    MustWait(Option<LockWait>),
    General,
}

impl Session {
    /// Runs a statement that has begun, on the caller's thread unless it has to wait for a page while others live
    /// there. It waits for locks in its task.
    pub(super) async fn write_short(&mut self, write: Arc<ShortWrite>, begun: Begun) -> ShortAnswer {
        let mut changed = self.change_here(&write, &begun);
        for _ in 0..LOCKS_MAX {
            let Changed::MustWait(Some(lock)) = changed else { break };
            self.process.set_state(write.state());
            changed = match self.wait_for_lock(lock, &begun).await {
                Waited::Granted => self.change_here(&write, &begun),
                Waited::Failed(e) => Changed::Ended(self.state.lock().end_short(write.command(), Err(e))),
                Waited::Elsewhere => Changed::MustWait(None),
            };
        }
        if matches!(changed, Changed::MustWait(_)) {
            let (state, cancel) = (self.state.clone(), begun.cancel.clone());
            let change = move || Ok(state.lock().change_short(&write, &cancel, true));
            changed = threads::blocking(change).await.unwrap_or(Changed::General);
        }
        match changed {
            Changed::Ended(ended) => ShortAnswer::Done(self.tell_when_durable(ended, begun.number).await),
            Changed::MustWait(_) | Changed::General => {
                self.begun_short = Some(begun);
                ShortAnswer::General
            }
        }
    }

    /// Runs a statement that has begun, without waiting; pages are waited for where nobody else is kept waiting.
    fn change_here(&self, write: &ShortWrite, begun: &Begun) -> Changed {
        let mut state = self.state.lock();
        match waiting::is_alone() || state.is_in_memory(write) {
            true => state.change_short(write, &begun.cancel, false),
            false => Changed::MustWait(None),
        }
    }

    /// Waits until the client may be told of what a statement has committed, and ends the statement.
    pub(in crate::session) async fn tell_when_durable(&mut self, ended: Ended, number: u64) -> Result<Outcome> {
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
            self.state.lock().conditions.diagnostics.set_error(error.clone());
            outcome = Err(error);
        }
        self.process.end(number);
        outcome
    }
}

impl SessionState {
    /// Returns true if the rows that the statement which was looked for last changes are in memory, as far as they are
    /// known.
    fn is_in_memory(&self, write: &ShortWrite) -> bool {
        let tables = &self.tables;
        let table = tables.current().storage(write.table(), tables.store());
        let values = self.values_for(write.rules(), || self.moment());
        table.is_ok_and(|table| values.is_none_or(|values| write.is_resident(&table, &values)))
    }

    /// Runs the statement that was looked for last; it waits for locks if it `waits`. If it has not ended, nothing has
    /// changed.
    fn change_short(&mut self, write: &ShortWrite, cancel: &CancellationToken, waits: bool) -> Changed {
        if !self.may_change_short() {
            return Changed::General;
        }
        let conditions = self.conditions.clone();
        let changed_rows = self.process.counters.changed_rows();
        self.conditions.begin();
        self.transaction.begin_statement();
        let done = catch_unwind(AssertUnwindSafe(|| self.try_change(write, cancel, waits)));
        if waits {
            self.transaction.end_rows();
        }
        let left = match done.unwrap_or_else(|panic| Err(panic_error(&*panic))) {
            Ok(InPlace::Done(done)) => return Changed::Ended(self.end_short(write.command(), done.outcome())),
            Err(e) => return Changed::Ended(self.end_short(write.command(), Err(e))),
            Ok(InPlace::MustWait) => Changed::MustWait(None),
            Ok(InPlace::General) => Changed::General,
            Ok(InPlace::TooMany) => {
                if let Some(query) = write.change().query() {
                    self.leave_to_general(query);
                }
                Changed::General
            }
        };
        self.conditions = conditions;
        // The rows are changed again, and counted.
        self.process.counters.take_back_changed_rows(changed_rows);
        let restarted = match left {
            Changed::MustWait(_) => self.transaction.restart_for_lock().map(Changed::MustWait),
            left => self.transaction.restart_statement().map(|()| left),
        };
        match restarted {
            Ok(left) => left,
            // The general path meets the same error.
            Err(e) => Changed::Ended(Ended { outcome: Err(e), committed: None }),
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

    fn try_change(&self, write: &ShortWrite, cancel: &CancellationToken, waits: bool) -> Result<InPlace> {
        if waits {
            self.process.set_state(write.state());
            let tables = [&[write.table()], write.read_tables()].concat();
            if !self.transaction.try_open_tables(&tables) {
                return Ok(InPlace::General);
            }
        }
        let context = match waits {
            true => self.context(cancel.clone(), self.variables.clone()),
            false => self.context_in_place(cancel.clone()),
        };
        let Some(values) = self.values_at(write.rules(), &context.clock) else { return Ok(InPlace::General) };
        dml::change_in_place(&context, write, &values)
    }

    /// Ends a statement and counts it.
    pub(in crate::session) fn end_short(&mut self, command: Command, outcome: Result<Outcome>) -> Ended {
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
