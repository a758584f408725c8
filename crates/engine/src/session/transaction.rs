//! START TRANSACTION, COMMIT, ROLLBACK and savepoints; SET TRANSACTION.

use super::{set::check_variables_admin, state::SessionState};
use crate::{
    accounts::Privilege,
    metadata_locks::ChangePhase,
    statement::{Done, StatementContext},
    transaction::{Characteristics, TemporaryChange},
    variables::Variables,
};
use muster_sql::{Begin, Completion, Isolation, VariableScope};
use muster_types::{ErrorCode, Result, SqlError, Value};

/// The characteristics that SET TRANSACTION has given the next transaction only.
#[derive(Debug, Clone, Copy, Default)]
pub struct NextTransaction {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
}

impl NextTransaction {
    /// Takes what one of these variables says.
    pub fn take_from(&mut self, name: &str, variables: &Variables) {
        let said = characteristics_of(variables);
        match name {
            "transaction_read_only" => self.read_only = Some(said.read_only),
            _ => self.isolation = Some(said.isolation),
        }
    }
}

fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// The characteristics that variables give transactions.
fn characteristics_of(variables: &Variables) -> Characteristics {
    Characteristics {
        isolation: variables.settings().isolation,
        read_only: variables.settings().transactions_are_read_only,
    }
}

impl SessionState {
    /// The characteristics of the transaction that is open, or of the one that would begin now.
    pub fn characteristics(&self) -> Characteristics {
        let begun = self.transaction.characteristics().filter(|_| self.transaction.has_begun());
        begun.unwrap_or_else(|| {
            let set = characteristics_of(&self.variables);
            let NextTransaction { isolation, read_only } = self.next_transaction;
            Characteristics {
                isolation: isolation.unwrap_or(set.isolation),
                read_only: read_only.unwrap_or(set.read_only),
            }
        })
    }

    /// Returns true if the next statement is no transaction of its own.
    pub fn shares_transaction(&self) -> bool {
        self.transaction.has_begun() || !self.transaction.status().autocommit
    }

    /// Without autocommit, opens a transaction that begins if the statement uses tables.
    pub fn open_implicitly(&self) {
        if !self.transaction.status().autocommit && !self.transaction.has_begun() {
            self.transaction.open_implicitly(self.characteristics());
        }
    }

    /// Forgets what SET TRANSACTION has said of the next transaction, if the statement has been or begun that one.
    pub fn spend_next_transaction(&mut self) {
        if self.transaction.last_used_tables() {
            self.next_transaction = NextTransaction::default();
        }
    }

    /// Opens a transaction that statements share.
    pub fn open_transaction(&mut self) {
        self.transaction.open(self.characteristics());
        self.next_transaction = NextTransaction::default();
    }

    /// START TRANSACTION commits the transaction before, and ends LOCK TABLES.
    /// Without READ ONLY or READ WRITE it goes on with what the open transaction has said.
    pub fn begin(&mut self, context: &StatementContext, begin: Begin) -> Result<Done> {
        if self.transaction.has_begun() && self.characteristics().read_only && begin.read_only.is_none() {
            self.next_transaction.read_only = Some(true);
        }
        self.commit_open(context)?;
        if self.transaction.has_locked_tables() {
            self.transaction.unlock_tables();
        }
        if let Some(read_only) = begin.read_only {
            if !read_only {
                self.check_server_writable(context)?;
            }
            self.next_transaction.read_only = Some(read_only);
        }
        self.open_transaction();
        if begin.consistent_snapshot {
            // Other isolation levels keep no view.
            drop(self.transaction.read_view(|| self.database.newest_view()));
            self.transaction.note_use_by_transaction();
        }
        Ok(Done::default())
    }

    /// Commits the open transaction, if there is one.
    pub fn commit_open(&mut self, context: &StatementContext) -> Result<()> {
        if !self.transaction.has_begun() {
            // An implicit transaction that has not begun has no changes, and perhaps savepoints.
            return self.transaction.roll_back();
        }
        let (locks, owner) = (self.transaction.locks(), self.transaction.owner());
        // The end of a transaction that has only read changes nothing, and the session's own global read lock is not in
        // its way.
        if self.transaction.changed_rows() > 0 {
            match context.with_patience(|patience| locks.begin_change(owner, ChangePhase::Commit, patience)) {
                Err(e) if e.code == ErrorCode::CantUpdateWithReadLock => {}
                begun => begun?,
            }
        }
        let flush = self.database.store().flush_at_commit();
        let committed = self.transaction.commit(|changes| Ok(changes.wait(flush)?));
        self.transaction.locks().end_change(owner);
        committed
    }

    pub fn commit(&mut self, context: &StatementContext, completion: Completion) -> Result<Done> {
        let before = self.transaction.characteristics();
        self.commit_open(context)?;
        self.complete(completion, before);
        Ok(Done::default())
    }

    pub fn roll_back(&mut self, completion: Completion) -> Result<Done> {
        let before = self.transaction.characteristics();
        self.transaction.roll_back()?;
        self.complete(completion, before);
        Ok(Done::default())
    }

    /// CHAIN opens a transaction like the one before; RELEASE ends the session.
    pub fn complete(&mut self, completion: Completion, before: Option<Characteristics>) {
        let set = self.variables.settings();
        let chain = completion.chain.unwrap_or(set.completion_chains && completion.release != Some(true));
        let release = completion.release.unwrap_or(set.completion_releases && completion.chain != Some(true));
        // What SET TRANSACTION said was of the transaction that has ended.
        self.next_transaction = NextTransaction::default();
        if chain {
            self.transaction.open(before.unwrap_or_else(|| self.characteristics()));
        } else if release {
            self.process.release();
        }
    }

    /// Rolls back and unlocks what the session leaves behind when it is reset or closed.
    pub fn abandon_transaction(&mut self) {
        if let Err(e) = self.transaction.roll_back() {
            tracing::warn!("the transaction of session {} is not rolled back: {e}", self.process.id);
        }
        self.transaction.unlock_tables();
        self.next_transaction = NextTransaction::default();
    }

    pub fn savepoint(&mut self, name: &str) -> Result<Done> {
        self.open_implicitly();
        self.transaction.savepoint(name, self.database.store());
        Ok(Done::default())
    }

    /// ROLLBACK, with warnings of what it does not take back.
    pub fn roll_back_warned(&mut self, context: &StatementContext, completion: Completion) -> Result<Done> {
        self.warn_of_temporary_tables(context);
        self.roll_back(completion)
    }

    pub fn rollback_to_savepoint(&mut self, context: &StatementContext, name: &str) -> Result<Done> {
        self.transaction.roll_back_to(name)?;
        self.warn_of_temporary_tables(context);
        Ok(Done::default())
    }

    /// Warnings 1751 and 1752: what a rollback does not take back.
    pub fn warn_of_temporary_tables(&self, context: &StatementContext) {
        for change in self.transaction.temporary_changes() {
            let (code, message) = match change {
                TemporaryChange::Created => (
                    ErrorCode::TemporaryCreationNotRolledBack,
                    "The creation of some temporary tables could not be rolled back.",
                ),
                TemporaryChange::Dropped => (
                    ErrorCode::TemporaryDropNotRolledBack,
                    "Some temporary tables were dropped, but these operations could not be rolled back.",
                ),
            };
            context.warn(code, message);
        }
    }

    pub fn release_savepoint(&mut self, name: &str) -> Result<Done> {
        self.transaction.release_savepoint(name)?;
        Ok(Done::default())
    }

    /// Error 1290 while `read_only` is on, for accounts without SUPER, and while `super_read_only` is on, for all.
    pub fn check_server_writable(&self, context: &StatementContext) -> Result<()> {
        let globals = self.database.globals();
        let option = match globals.is_on("super_read_only") {
            true => "--super-read-only",
            false if globals.is_on("read_only") && !context.rights.global().has(Privilege::Super) => "--read-only",
            false => return Ok(()),
        };
        let message =
            format!("The MySQL server is running with the {option} option so it cannot execute this statement");
        Err(SqlError::new(ErrorCode::ReadOnly, message))
    }

    /// Error 1568 unless there is no transaction whose characteristics would change.
    pub fn check_characteristics_settable(&self, scope: Option<VariableScope>) -> Result<()> {
        if scope.is_some() || !self.transaction.has_begun() {
            return Ok(());
        }
        let message = "Transaction characteristics can't be changed while a transaction is in progress";
        Err(SqlError::new(ErrorCode::CantChangeTxCharacteristics, message))
    }

    /// SET TRANSACTION; without a scope it speaks of the next transaction only.
    pub fn set_transaction(
        &mut self,
        context: &StatementContext,
        scope: Option<VariableScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        self.check_characteristics_settable(scope)?;
        let mut wanted = Vec::new();
        wanted.extend(isolation.map(|i| ("transaction_isolation", Value::Text(isolation_name(i).into()))));
        wanted.extend(read_only.map(|r| ("transaction_read_only", Value::Int(r.into()))));
        match scope {
            Some(VariableScope::Global) => {
                check_variables_admin(context)?;
                wanted.into_iter().for_each(|(name, value)| self.database.set_global(name, value));
            }
            Some(VariableScope::Session) => {
                wanted.into_iter().for_each(|(name, value)| self.variables.put(name, value));
                self.next_transaction = NextTransaction::default();
            }
            None => {
                let next = &mut self.next_transaction;
                next.isolation = isolation.or(next.isolation);
                next.read_only = read_only.or(next.read_only);
            }
        }
        Ok(())
    }
}
