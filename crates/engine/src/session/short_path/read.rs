//! A SELECT on the short path: its run, where it waits, and what it counts.

use super::{
    ShortAnswer,
    change::Ended,
    lock_wait::{LOCKS_MAX, Waited},
};
use crate::{
    Outcome, Session,
    command_counters::Command,
    metadata_locks::TableUse,
    processes::Begun,
    session::state::SessionState,
    short_path::{
        Epoch, LockingReads, NestedPlan, RowReads, RowSink, RunEnd, RunFigures, ShortPlan, Stop, Surroundings, Way,
        run_direct, run_nested,
    },
    statement::{StatementContext, plan_counters},
    threads,
};
use muster_sql::{Blocked, Isolation};
use muster_storage::{LockMode, LockWait, Pages, ReadView};
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// Rounds of a locking read without gap locks, each with a newer view; then the general path goes on.
const ROUNDS_MAX: usize = 3;

impl Session {
    /// Runs a plan. Returns the sink, and what became of the statement.
    pub(super) async fn read_short<S>(&mut self, plan: Arc<ShortPlan>, begun: Begun, mut sink: S) -> (S, ShortAnswer)
    where
        S: RowSink + Default + Send + 'static,
    {
        if plan.locks_rows() {
            return self.lock_short(plan, begun, sink).await;
        }
        match self.state.lock().run_short(&plan, begun.number, None, &mut sink) {
            RunEnd::Rows(_) => return (sink, ShortAnswer::Rows),
            RunEnd::MustWait => self.begun_short = Some(begun.clone()),
            _ => {
                self.begun_short = Some(begun);
                return (sink, ShortAnswer::General);
            }
        }
        let state = self.state.clone();
        let (process, cancel, number) = (self.process.clone(), begun.cancel, begun.number);
        let read = move || {
            let mut state = state.lock();
            let longest = state.longest();
            let deadline = process.began().checked_add(longest).filter(|_| longest > Duration::ZERO);
            let end = state.run_short(&plan, number, Some(&Stop { cancel, deadline }), &mut sink);
            Ok((sink, if matches!(end, RunEnd::Rows(_)) { ShortAnswer::Rows } else { ShortAnswer::General }))
        };
        threads::blocking(read).await.unwrap_or_else(|_| (S::default(), ShortAnswer::General))
    }

    /// Runs a plan that locks what it reads, where it arrives unless it has to wait for a page or a lock.
    async fn lock_short<S>(&mut self, plan: Arc<ShortPlan>, begun: Begun, mut sink: S) -> (S, ShortAnswer)
    where
        S: RowSink + Default + Send + 'static,
    {
        let mut locked = self.state.lock().lock_short(&plan, &begun, false, &mut sink);
        for _ in 0..LOCKS_MAX {
            let Locked::MustWait(Some(lock)) = locked else { break };
            locked = match self.wait_for_lock(lock, &begun).await {
                Waited::Granted => self.state.lock().lock_short(&plan, &begun, false, &mut sink),
                Waited::Failed(e) => Locked::Ended(self.state.lock().end_short(Command::SELECT, Err(e))),
                Waited::Elsewhere => Locked::MustWait(None),
            };
        }
        if matches!(locked, Locked::MustWait(_)) {
            let (state, begun) = (self.state.clone(), begun.clone());
            let lock = move || {
                let locked = state.lock().lock_short(&plan, &begun, true, &mut sink);
                Ok((sink, locked))
            };
            (sink, locked) = threads::blocking(lock).await.unwrap_or_else(|_| (S::default(), Locked::General));
        }
        match locked {
            Locked::Ended(ended) => match self.tell_when_durable(ended, begun.number).await {
                Ok(_) => (sink, ShortAnswer::Rows),
                Err(e) => (sink, ShortAnswer::Done(Err(e))),
            },
            Locked::General | Locked::MustWait(_) => {
                self.begun_short = Some(begun);
                (sink, ShortAnswer::General)
            }
        }
    }
}

/// What became of a statement that locks what it reads.
enum Locked {
    /// Without an error the sink has its rows.
    Ended(Ended),
    /// It cannot go on without waiting, for this lock if that is known.
    MustWait(Option<LockWait>),
    General,
}

impl SessionState {
    /// `max_execution_time`; zero: as long as it takes.
    pub(super) fn longest(&self) -> Duration {
        self.short_path.settings.as_ref().map_or(Duration::ZERO, |s| s.longest)
    }

    /// Runs a plan for the statement that was looked for last, and counts the statement if it has all its rows. With
    /// `stop` it waits for pages that are not in memory.
    fn run_short(&mut self, whole: &ShortPlan, number: u64, stop: Option<&Stop>, sink: &mut dyn RowSink) -> RunEnd {
        let counters = self.process.counters.storage();
        let pages = match stop {
            Some(_) => Pages::All(counters),
            None => Pages::Resident { requests: Cell::new(0) },
        };
        let view = match whole.used().is_empty() {
            true => {
                self.transaction.begin_statement();
                ReadView::latest()
            }
            false => {
                self.open_implicitly();
                if !self.may_read_short(whole) {
                    return RunEnd::General;
                }
                self.transaction.read_view(|| self.database.newest_view())
            }
        };
        let values = self.values_for(whole.rules(), || self.moment());
        let Some(values) = values else { return RunEnd::General };
        let values = &*values;
        if whole.too_many.is_known(values) {
            return RunEnd::General;
        }
        let end = catch_unwind(AssertUnwindSafe(|| match whole.way() {
            Way::Direct(plan) => run_direct(whole, plan, values, Surroundings { pages, view, stop }, sink),
            Way::Nested(plan) => run_nested(whole, plan, values, &RowReads::View { view, pages, stop }, sink),
        }));
        // The general path meets the same and tells the client.
        let end = end.unwrap_or(RunEnd::General);
        match &end {
            RunEnd::Rows(figures) => self.count_short(whole, figures, number),
            RunEnd::TooMany => self.leave_to_general(whole),
            _ => {}
        }
        end
    }

    /// Notes that the statement reads too many rows to run where it arrives: if hardly a run ends well, later ones like
    /// it go the general way.
    pub(super) fn leave_to_general(&mut self, plan: &ShortPlan) {
        let values = self.values_for(plan.rules(), || self.moment());
        if !plan.too_many.note(&values.unwrap_or_default()) {
            return;
        }
        let epoch = self.short_path.epoch.take();
        let now = || Epoch::of(&self.tables.current(), &self.database.accounts().list());
        let epoch = epoch.unwrap_or_else(now);
        self.database.plans().leave_to_general(&self.short_path.key, epoch);
    }

    /// Returns true if a plan may be run now, without a wait for whoever has or wants the table for itself. Within a
    /// transaction the table is locked from then on, as the general path locks it.
    fn may_read_short(&self, plan: &ShortPlan) -> bool {
        let transaction = &self.transaction;
        if transaction.has_locked_tables() {
            return false;
        }
        if !transaction.is_open() {
            return transaction.locks().is_free_for_readers();
        }
        // Until it was locked, the table may have been replaced since the plan was found.
        plan.used().iter().all(|id| transaction.try_use_table(*id, TableUse::Read)) && self.is_current()
    }

    /// Returns true if the tables and accounts are those that the cache was asked for.
    fn is_current(&self) -> bool {
        let (tables, accounts) = (self.tables.current(), self.database.accounts().list());
        self.short_path.epoch.as_ref().is_some_and(|epoch: &Epoch| epoch.is(&tables, &accounts))
    }

    /// Counts a statement that has ended well.
    fn count_short(&mut self, plan: &ShortPlan, figures: &RunFigures, number: u64) {
        self.count_question();
        self.count_command(Command::SELECT);
        if self.short_path.is_prepared {
            self.count_command(Command::STMT_EXECUTE);
        }
        self.conditions.pass();
        self.note_read(plan, figures);
        self.process.end(number);
        if !plan.used().is_empty() {
            self.transaction.end_read();
            self.spend_next_transaction();
        }
    }

    /// Notes what a plan has read.
    fn note_read(&self, plan: &ShortPlan, figures: &RunFigures) {
        let process = &self.process;
        plan_counters::count_short(plan, figures, &process.counters);
        process.found_rows.store(i64::try_from(figures.rows).unwrap_or(i64::MAX), Relaxed);
        process.row_count.store(-1, Relaxed);
        process.last_query_cost.store(plan.cost_ms().to_bits(), Relaxed);
    }

    /// Runs a plan that locks what it reads, and ends the statement if it has its rows or has waited in vain. Otherwise
    /// it is as if it had not begun, but for locks that an open transaction keeps.
    fn lock_short(&mut self, whole: &ShortPlan, begun: &Begun, waits: bool, sink: &mut dyn RowSink) -> Locked {
        let Way::Nested(plan) = whole.way() else { return Locked::General };
        if self.characteristics().read_only {
            return Locked::General;
        }
        self.open_implicitly();
        let conditions = self.conditions.clone();
        self.conditions.begin();
        self.transaction.begin_statement();
        let end = match self.may_lock_short(whole, waits) {
            true => catch_unwind(AssertUnwindSafe(|| self.run_locking(whole, plan, begun, waits, sink))),
            false => Ok(RunEnd::General),
        };
        if waits {
            self.transaction.end_rows();
        }
        let end = end.unwrap_or(RunEnd::General);
        let outcome = match end {
            RunEnd::Rows(figures) => Ok(figures),
            RunEnd::Failed(e) => Err(e),
            RunEnd::General | RunEnd::TooMany | RunEnd::MustWait => {
                self.conditions = conditions;
                let restarted = match end {
                    RunEnd::MustWait => self.transaction.restart_for_lock().map(Locked::MustWait),
                    _ => self.transaction.restart_statement().map(|()| Locked::General),
                };
                if matches!(end, RunEnd::TooMany) && restarted.is_ok() {
                    self.leave_to_general(whole);
                }
                return restarted.unwrap_or_else(|e| Locked::Ended(self.end_short(Command::SELECT, Err(e))));
            }
        };
        self.transaction.note_use();
        let done = Outcome::Ok { affected_rows: 0, last_insert_id: 0, info: String::new() };
        let ended = self.end_short(Command::SELECT, outcome.clone().map(|_| done));
        if let (Ok(figures), Ok(_)) = (&outcome, &ended.outcome) {
            self.note_read(whole, figures);
        }
        Locked::Ended(ended)
    }

    /// Returns true if a plan may lock rows of its tables now. If it `waits` for locks, FLUSH TABLES waits for it.
    fn may_lock_short(&self, plan: &ShortPlan, waits: bool) -> bool {
        let transaction = &self.transaction;
        !transaction.has_locked_tables()
            && plan.used().iter().all(|id| transaction.try_use_table(*id, TableUse::Read))
            && (!waits || transaction.try_open_tables(plan.used()))
            && self.short_path.epoch.as_ref().is_none_or(|_| self.is_current())
    }

    fn run_locking(
        &self,
        whole: &ShortPlan,
        plan: &NestedPlan,
        begun: &Begun,
        waits: bool,
        sink: &mut dyn RowSink,
    ) -> RunEnd {
        let Some(lock) = plan.lock() else { return RunEnd::General };
        let context = match waits {
            true => self.context(begun.cancel.clone(), self.variables.clone()),
            false => self.context_in_place(begun.cancel.clone()),
        };
        self.limit_time(&context);
        let Some(values) = self.values_at(whole.rules(), &context.clock) else { return RunEnd::General };
        if whole.too_many.is_known(&values) {
            return RunEnd::General;
        }
        for _ in 0..ROUNDS_MAX {
            let view = (!context.locks_gaps()).then(|| context.transaction.with_own_changes(context.read_newest()));
            let reads = LockingReads {
                statement: &*context,
                mode: if lock.exclusive { LockMode::Exclusive } else { LockMode::Shared },
                skip_locked: matches!(lock.blocked, Blocked::Skips),
                waits: matches!(lock.blocked, Blocked::Waits),
                view,
                met_unseen: Cell::new(false),
            };
            let reads = RowReads::Locking(reads);
            let end = run_nested(whole, plan, &values, &reads, sink);
            let RowReads::Locking(reads) = reads else { return end };
            if !matches!(end, RunEnd::Rows(_)) || !reads.met_unseen.get() {
                return end;
            }
        }
        RunEnd::General
    }

    /// Sets the time that a statement may take (`max_execution_time`).
    pub(super) fn limit_time(&self, context: &StatementContext) {
        let longest = self.longest();
        if let Some(deadline) = context.clock.started.checked_add(longest).filter(|_| !longest.is_zero()) {
            context.clock.deadline.get_or_init(|| deadline);
        }
    }

    /// Returns true if reads lock what they read.
    pub(super) fn reads_lock(&self, shares: bool) -> bool {
        shares && self.characteristics().isolation == Isolation::Serializable
    }
}
