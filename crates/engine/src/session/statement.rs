//! A statement from its text to its end: counted, parsed, run; its warnings kept, its panics survived.

use super::{
    prepared::{PreparedStatement, PreparedUnder},
    state::SessionState,
};
use crate::{
    Outcome, ResultSet, RowStream,
    command_counters::Command,
    explain,
    processes::{Begun, NOT_COUNTED, SessionShared},
    statement::{KeptRun, StatementContext},
    threads::panic_error,
    transaction::SessionTransaction,
    virtual_tables::show::latest_deadlock,
};
use arrow_array::RecordBatch;
use futures::{Stream, StreamExt};
use muster_exec::Reserved;
use muster_optimizer::Trace;
use muster_sql::{Show, Statement};
use muster_storage::Committed;
use muster_types::{ErrorCode, Result, SqlError, Value, time_zone::TimeZone};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{self, Poll},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Statements that are at least as long are taken from the memory of queries until they run.
const COUNTED_TEXT_BYTES: usize = 4096;

/// The rows of a statement, which ends with them.
struct RowsOfStatement {
    rows: RowStream,
    process: Arc<SessionShared>,
    transaction: Arc<SessionTransaction>,
    number: u64,
    count: i64,
    has_ended: bool,
}

impl RowsOfStatement {
    /// Ends the statement, once: by the time that its rows are dropped the session may have begun another one.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.process.end(self.number);
            self.transaction.end_rows();
        }
    }
}

impl Stream for RowsOfStatement {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(cx);
        match &polled {
            Poll::Ready(Some(Ok(batch))) => self.count += batch.num_rows() as i64,
            Poll::Ready(None | Some(Err(_))) => {
                let found = self.process.counted_rows.swap(NOT_COUNTED, Relaxed);
                self.process.found_rows.store(if found == NOT_COUNTED { self.count } else { found }, Relaxed);
                self.end();
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for RowsOfStatement {
    fn drop(&mut self) {
        self.end();
    }
}

impl SessionState {
    pub fn execute(&mut self, sql: &str, begun: Begun) -> Result<Outcome> {
        let kept = self.take_kept(sql, None);
        self.statement(begun, |state, cancel| {
            if let Some(kept) = kept {
                state.conditions.begin();
                let (query, under) = (kept.query.clone(), state.prepared_now());
                return state.run_parsed(&query.statement, &[], (under, Some(kept)), cancel);
            }
            let parsed =
                state.memory_for(sql).and_then(|memory| Ok((memory, muster_sql::parse_under(sql, state.modes())?)));
            // These ask about the statement before them and leave its warnings as they are.
            if !matches!(&parsed, Ok((_, Statement::Show(Show::Warnings { .. } | Show::Errors { .. })))) {
                state.conditions.begin();
            }
            let (_memory, statement) = parsed?;
            let prepared = match &statement {
                Statement::ExecutePrepared { name, .. } => state.prepared.named(name),
                _ => None,
            };
            let under = prepared.map_or_else(|| state.prepared_now(), |p| p.under.clone());
            state.run_parsed(&statement, &[], (under, None), cancel)
        })
    }

    pub fn execute_prepared(
        &mut self,
        prepared: PreparedStatement,
        parameters: &[Value],
        begun: Begun,
    ) -> Result<Outcome> {
        self.count_command(Command::STMT_EXECUTE);
        let kept = self.take_kept(&prepared.text, Some(parameters));
        self.statement(begun, |state, cancel| {
            let memory = state.memory_for(&prepared.text);
            if !matches!(&*prepared.statement, Statement::Show(Show::Warnings { .. } | Show::Errors { .. })) {
                state.conditions.begin();
            }
            let _memory = memory?;
            state.run_parsed(&prepared.statement, parameters, (prepared.under, kept), cancel)
        })
    }

    /// Counts and runs a statement. `under`: the session as it is, or as it was when the statement was prepared;
    /// `kept`: what is known of it.
    fn run_parsed(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
        (under, kept): (PreparedUnder, Option<KeptRun>),
        cancel: CancellationToken,
    ) -> Result<Outcome> {
        self.count_kind(statement);
        // Statements of SQL count as those of the protocol, too.
        match statement {
            Statement::Prepare { .. } => self.count_command(Command::STMT_PREPARE),
            Statement::ExecutePrepared { .. } => self.count_command(Command::STMT_EXECUTE),
            Statement::Deallocate { .. } => self.count_command(Command::STMT_CLOSE),
            _ => {}
        }
        if self.process.killed.is_cancelled() {
            return Err(SqlError::interrupted());
        }
        let variables = self.hinted_variables(statement);
        let context = self.context_of_prepared((under, kept), cancel, variables);
        self.enter_transaction(&context, statement)?;
        self.transaction.begin_statement();
        if !context.session.variables.settings().traces_optimizer {
            return self.run(&context, statement, parameters);
        }
        context.trace.get_or_init(Trace::on);
        let outcome = self.run(&context, statement, parameters);
        explain::keep_trace(&context, &self.process.statement(usize::MAX).unwrap_or_default());
        outcome
    }

    /// The life of a statement around what it does.
    fn statement(
        &mut self,
        Begun { number, cancel }: Begun,
        run: impl FnOnce(&mut SessionState, CancellationToken) -> Result<Outcome>,
    ) -> Result<Outcome> {
        self.count_question();
        // Whatever becomes of it, it leaves the transaction's changes before it alone, also if it is no statement at
        // all.
        self.transaction.begin_statement();
        self.process.set_slow_after(self.slow_after());
        let outcome = catch_unwind(AssertUnwindSafe(|| run(self, cancel)));
        self.ended(number, outcome.unwrap_or_else(|panic| Err(panic_error(&*panic))))
    }

    /// Runs a statement that is no SQL text and changes rows (loading batches): its number of rows.
    pub fn statement_without_text(
        &mut self,
        Begun { number, cancel }: Begun,
        run: impl FnOnce(&Arc<StatementContext>) -> Result<u64>,
    ) -> Result<u64> {
        self.conditions.begin();
        self.transaction.begin_statement();
        self.process.set_slow_after(self.slow_after());
        let context = self.context(cancel, self.variables.clone());
        let rows = catch_unwind(AssertUnwindSafe(|| {
            self.enter_to_write(&context)?;
            self.transaction.begin_statement();
            run(&context)
        }));
        let rows = rows.unwrap_or_else(|panic| Err(panic_error(&*panic)));
        let outcome = |affected_rows| Outcome::Ok { affected_rows, last_insert_id: 0, info: String::new() };
        self.ended(number, rows.clone().map(outcome))?;
        rows
    }

    pub fn count_question(&self) {
        self.process.commands.question();
        self.database.commands().question();
    }

    /// Counts a statement by its kind.
    pub fn count_kind(&self, statement: &Statement) {
        self.count_command(Command::of(statement));
    }

    pub fn count_command(&self, command: Command) {
        self.process.commands.count(command);
        self.database.commands().count(command);
    }

    /// `long_query_time`.
    pub fn slow_after(&self) -> Duration {
        match self.variables.get("long_query_time") {
            Value::Double(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            _ => Duration::MAX,
        }
    }

    /// Reserves the memory that a statement takes until it runs. Short statements are not counted. Error 1041.
    pub fn memory_for(&self, text: &str) -> Result<Option<Reserved>> {
        if text.len() < COUNTED_TEXT_BYTES {
            return Ok(None);
        }
        self.database.runtime().reserve("statement", muster_sql::footprint(text)).map(Some)
    }

    /// Writes the latest deadlock to the error log, with `innodb_print_all_deadlocks`.
    fn print_deadlock(&self) {
        if self.database.globals().is_on("innodb_print_all_deadlocks") {
            let report = latest_deadlock(&self.database, TimeZone::System);
            tracing::warn!("a transaction was rolled back to end a deadlock\n{}", report.join("\n"));
        }
    }

    /// Ends a statement for its transaction, and notes what became of it. `committed`: what is done with changes that
    /// it has committed.
    pub fn end_transactional(
        &mut self,
        outcome: Result<Outcome>,
        committed: impl FnOnce(Committed) -> Result<()>,
    ) -> Result<Outcome> {
        let rolls_back_on_timeout = self.database.rolls_back_on_timeout();
        if matches!(&outcome, Err(e) if e.code == ErrorCode::LockDeadlock) {
            self.print_deadlock();
        }
        let outcome = self.transaction.end_statement(outcome, rolls_back_on_timeout, committed);
        self.spend_next_transaction();
        let row_count = match &outcome {
            Ok(Outcome::Ok { affected_rows, .. }) => i64::try_from(*affected_rows).unwrap_or(i64::MAX),
            _ => -1,
        };
        self.process.row_count.store(row_count, Relaxed);
        if let Err(e) = &outcome {
            self.conditions.diagnostics.set_error(e.clone());
        }
        outcome
    }

    /// Notes what became of a statement. One with rows ends when they have been read.
    fn ended(&mut self, number: u64, outcome: Result<Outcome>) -> Result<Outcome> {
        let flush = self.database.store().flush_at_commit();
        let outcome = self.end_transactional(outcome, |changes| Ok(changes.wait(flush)?));
        match outcome {
            Ok(Outcome::Rows(result)) => {
                let (process, transaction) = (self.process.clone(), self.transaction.clone());
                let rows =
                    RowsOfStatement { rows: result.rows, process, transaction, number, count: 0, has_ended: false };
                Ok(Outcome::Rows(ResultSet { rows: rows.boxed(), ..result }))
            }
            other => {
                self.process.end(number);
                self.transaction.end_rows();
                other
            }
        }
    }
}
