//! BEGIN, COMMIT and ROLLBACK on the short path: in the task of their connection, which waits for nothing but the log.

use super::{ShortStatement, change::Ended};
use crate::{
    Outcome,
    command_counters::Command,
    session::{Session, state::SessionState},
    statement::Done,
};
use muster_sql::Completion;
use muster_types::Result;

/// A transaction that has changed more rows is rolled back on a thread for statements.
const UNDONE_ROWS_MAX: u64 = 100;

/// A statement that begins or ends a transaction, without anything further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionStatement {
    Begin,
    Commit,
    Rollback,
}

impl TransactionStatement {
    fn of(text: &str) -> Option<TransactionStatement> {
        use TransactionStatement::*;
        let text = text.trim_ascii();
        let all = [("BEGIN", Begin), ("START TRANSACTION", Begin), ("COMMIT", Commit), ("ROLLBACK", Rollback)];
        all.into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|(_, statement)| statement)
    }

    /// What it is counted as.
    fn command(self) -> Command {
        match self {
            TransactionStatement::Begin => Command::BEGIN,
            TransactionStatement::Commit => Command::COMMIT,
            TransactionStatement::Rollback => Command::ROLLBACK,
        }
    }
}

impl Session {
    /// Runs a statement that begins or ends a transaction. `None` if it is another one, or takes the general path.
    pub(super) async fn transact_short(&mut self, statement: ShortStatement<'_>) -> Option<Result<Outcome>> {
        let (ended, number) = {
            let mut state = self.state.lock();
            let found = state.find_transaction_statement(statement)?;
            let begun = state.begin_short(statement);
            match state.transact_in_place(found) {
                Some(ended) => (ended, begun.number),
                None => {
                    self.begun_short = Some(begun);
                    return None;
                }
            }
        };
        Some(self.tell_when_durable(ended, number).await)
    }
}

impl SessionState {
    fn find_transaction_statement(&mut self, statement: ShortStatement<'_>) -> Option<TransactionStatement> {
        let text = match statement {
            ShortStatement::Text(text) => text,
            ShortStatement::Prepared { id, values: [] } => &self.prepared.by_id(id)?.text,
            ShortStatement::Prepared { .. } => return None,
        };
        let found = TransactionStatement::of(text)?;
        self.short_path.note(text, matches!(statement, ShortStatement::Prepared { .. }));
        (self.is_short_path_on() && !self.process.killed.is_cancelled()).then_some(found)
    }

    /// Runs the statement. `None` if it has to take the general path: nothing has changed then.
    fn transact_in_place(&mut self, statement: TransactionStatement) -> Option<Ended> {
        let mut committed = None;
        self.transaction.begin_statement();
        let done = match statement {
            TransactionStatement::Begin if self.transaction.is_open() || self.transaction.has_locked_tables() => {
                return None;
            }
            TransactionStatement::Begin => {
                self.conditions.begin();
                self.open_transaction();
                Ok(())
            }
            TransactionStatement::Commit => {
                let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
                if self.transaction.has_begun() && !locks.try_begin_change(owner) {
                    return None;
                }
                self.conditions.begin();
                let before = self.transaction.characteristics();
                let done = self.transaction.commit(|changes| {
                    committed = Some(changes);
                    Ok(())
                });
                done.map(|()| self.complete(Completion::default(), before))
            }
            TransactionStatement::Rollback if self.transaction.changed_rows() > UNDONE_ROWS_MAX => return None,
            // They are warned of.
            TransactionStatement::Rollback if self.transaction.temporary_changes().next().is_some() => return None,
            TransactionStatement::Rollback => {
                self.conditions.begin();
                self.roll_back(Completion::default()).map(drop)
            }
        };
        let outcome = done.and_then(|()| Done::default().outcome());
        let ended = self.end_short(statement.command(), outcome);
        Some(Ended { committed, ..ended })
    }
}
