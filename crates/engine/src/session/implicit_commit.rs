//! Statements that end the transaction before them (manual 15.3.3), those that need one, and those that change
//! something.

use super::{state::SessionState, transaction::NextTransaction};
use crate::statement::StatementContext;
use muster_sql::{Statement, TableName};
use muster_types::{Result, SqlError};

/// What a statement has to do with transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It may read tables: without autocommit it opens a transaction if it does.
    Reads,
    /// It changes rows.
    Writes,
    /// It changes rows, maybe of temporary tables only.
    MayWriteTemporary,
    /// It changes definitions or accounts, which cannot be taken back: it commits before and after.
    Defines,
    /// It makes or drops a temporary table: that is of no transaction.
    Temporary,
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
        CreateTable(create) if create.temporary => Effect::Temporary,
        CreateTableSelect(create) if create.table.temporary => Effect::Temporary,
        DropTable { temporary: true, .. } => Effect::Temporary,
        CreateTable(_) | CreateTableSelect(_) | CreateIndex(_) | DropIndex(_) | AlterTable(_) | DropTable { .. } => {
            Effect::Defines
        }
        TruncateTable(_) | RenameTable(_) | CreateView(_) | DropView { .. } | DropProgram { .. } => Effect::Defines,
        Account(_) => Effect::Defines,
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
        self.enter(context, self.effect_of(context, statement))
    }

    /// The effect of a statement, as the temporary tables of the session have it.
    fn effect_of(&self, context: &StatementContext, statement: &Statement) -> Effect {
        let found = effect(statement);
        if found != Effect::Writes || !self.tables.has_temporary() {
            return found;
        }
        let target = match statement {
            Statement::Insert(insert) => Some(&insert.table),
            Statement::LoadData(load) => Some(&load.table),
            // Its targets are known when its names are.
            _ => None,
        };
        let is_stored = |target: &TableName| {
            context.qualify(target).is_ok_and(|(database, name)| !self.tables.is_temporary(&database, &name))
        };
        if target.is_some_and(is_stored) { Effect::Writes } else { Effect::MayWriteTemporary }
    }

    /// Prepares the transaction for a change of rows, as [`SessionState::enter_transaction`] does it.
    pub fn enter_to_write(&mut self, context: &StatementContext) -> Result<()> {
        self.transaction.check_whole()?;
        self.enter(context, Effect::Writes)
    }

    fn enter(&mut self, context: &StatementContext, effect: Effect) -> Result<()> {
        let changes = matches!(effect, Effect::Writes | Effect::Defines);
        if effect == Effect::Temporary && self.characteristics().read_only {
            return Err(SqlError::read_only_transaction());
        }
        if effect == Effect::MayWriteTemporary {
            // What is changed is not known before names are.
            let refused = self.check_server_writable(context).err();
            let is_read_only = self.characteristics().read_only;
            let refused = refused.or_else(|| is_read_only.then(SqlError::read_only_transaction));
            *context.postponed.lock() = Some(refused);
            self.open_implicitly();
            return Ok(());
        }
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
            context.begin_change()?;
        }
        if matches!(effect, Effect::Reads | Effect::Writes | Effect::Temporary) {
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
