//! Statements that end the transaction before them (manual 15.3.3), those that need one, and those that change
//! something.

use super::{state::SessionState, transaction::NextTransaction};
use crate::{metadata_locks::ChangePhase, statement::StatementContext};
use muster_sql::Statement;
use muster_types::{Result, SqlError};

/// What a statement has to do with transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It may read tables: without autocommit it opens a transaction if it does.
    Reads,
    /// It changes rows.
    Writes,
    /// It changes definitions or accounts, which cannot be taken back: it commits before and after.
    Defines,
    /// It commits before, and changes nothing that could be refused.
    Commits,
    /// It has nothing to do with them, or does what it has to do itself.
    None,
}

fn effect(statement: &Statement) -> Effect {
    use Statement::*;
    match statement {
        Query(_) | SelectInto { .. } | SelectIntoFile { .. } | Do(_) | Set(_) | Handler(_) => Effect::Reads,
        Explain(explain) if explain.analyze => effect(&explain.statement),
        Explain(_) | ExplainConnection { .. } => Effect::Reads,
        Insert(_) | Update(_) | Delete(_) | LoadData(_) => Effect::Writes,
        CreateDatabase(_) | AlterDatabase(_) | DropDatabase { .. } => Effect::Defines,
        CreateTable(_) | CreateTableSelect(_) | CreateIndex(_) | DropIndex(_) | AlterTable(_) | DropTable { .. } => {
            Effect::Defines
        }
        TruncateTable(_) | RenameTable(_) | CreateView(_) | DropView { .. } => Effect::Defines,
        CreateUser { .. } | AlterUser { .. } | DropUser { .. } | SetPassword { .. } => Effect::Defines,
        Grant(_) | Revoke(_) => Effect::Defines,
        AnalyzeTable(_) | CheckTable(_) | RepairTable(_) | LockTables(_) | Flush(_) => Effect::Commits,
        OptimizeTable(_) => Effect::Defines,
        ExportStatistics { .. } | ImportStatistics { .. } => Effect::Commits,
        _ => Effect::None,
    }
}

/// Returns true if a statement may run though another one of the transaction was undone in part only. COMMIT tells an
/// error of its own.
fn is_for_half_undone(statement: &Statement) -> bool {
    use Statement::*;
    matches!(statement, Rollback(_) | RollbackToSavepoint(_) | Commit(_) | Show(_) | Kill { .. } | Shutdown)
}

impl SessionState {
    /// What happens to the transaction before a statement runs. Errors: 1181 if the transaction is half undone; 1290,
    /// 1792 and 1223 for statements that may change nothing; 1205 and 1317 of the wait for a global read lock; those of
    /// the commit.
    pub fn enter_transaction(&mut self, context: &StatementContext, statement: &Statement) -> Result<()> {
        let executed = match statement {
            Statement::ExecutePrepared { name, .. } => self.prepared.named(name).map(|p| p.statement.clone()),
            _ => None,
        };
        let statement = executed.as_deref().unwrap_or(statement);
        if !is_for_half_undone(statement) {
            self.transaction.check_whole()?;
        }
        if let Statement::Query(query) | Statement::SelectInto { query, .. } | Statement::SelectIntoFile { query, .. } =
            statement
        {
            // FOR UPDATE counts as a change, FOR SHARE does not.
            let locks = self.characteristics().read_only && query.locking().iter().any(|clause| clause.exclusive);
            if locks {
                return Err(SqlError::read_only_transaction());
            }
        }
        self.enter(context, effect(statement))
    }

    /// Prepares the transaction for a change of rows, as [`SessionState::enter_transaction`] does it.
    pub fn enter_to_write(&mut self, context: &StatementContext) -> Result<()> {
        self.transaction.check_whole()?;
        self.enter(context, Effect::Writes)
    }

    fn enter(&mut self, context: &StatementContext, effect: Effect) -> Result<()> {
        let changes = matches!(effect, Effect::Writes | Effect::Defines);
        if changes {
            self.check_server_writable(context)?;
        }
        if matches!(effect, Effect::Defines | Effect::Commits) {
            self.commit_open(context)?;
            self.next_transaction = NextTransaction::default();
        }
        if changes && self.characteristics().read_only {
            return Err(SqlError::read_only_transaction());
        }
        if changes {
            let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
            context.with_patience(|patience| locks.begin_change(owner, ChangePhase::Statement, patience))?;
        }
        if matches!(effect, Effect::Reads | Effect::Writes) {
            self.open_implicitly();
        }
        Ok(())
    }

    /// SET autocommit: switching it on commits.
    pub fn autocommit_set(&mut self, context: &StatementContext) -> Result<()> {
        let on = self.variables.is_on("autocommit");
        if on && !self.transaction.status().autocommit {
            self.commit_open(context)?;
        }
        self.transaction.set_autocommit(on);
        Ok(())
    }
}
