//! SET ROLE, and what a session may do whose password has expired.

use super::state::SessionState;
use crate::{
    accounts::resolve,
    ddl,
    statement::{Done, StatementContext},
};
use muster_sql::{AccountStatement, RoleSet, Statement};
use muster_types::{ErrorCode, Result, SqlError};

impl SessionState {
    /// Runs a statement that changes accounts.
    pub fn change_accounts(&mut self, context: &StatementContext, statement: &AccountStatement) -> Result<Done> {
        let changed = ddl::change_accounts(context, statement);
        self.note_changed_password();
        changed
    }

    /// SET ROLE. Error 3530 for a role that the account has not been granted.
    pub fn set_role(&mut self, context: &StatementContext, roles: &RoleSet) -> Result<Done> {
        let mandatory = self.database.mandatory_roles();
        let roles = self.database.accounts().activated(&context.rights, roles, &mandatory)?;
        self.login.activate(roles);
        Ok(Done::default())
    }

    /// Error 1820 while the password has expired, for all but a statement that changes it first. `None`: what is asked
    /// without a statement.
    pub fn check_password_changed(&self, statement: Option<&Statement>) -> Result<()> {
        if !self.login.must_change_password || statement.is_some_and(|statement| self.changes_own_password(statement)) {
            return Ok(());
        }
        let message = "You must reset your password using ALTER USER statement before executing this statement.";
        Err(SqlError::new(ErrorCode::MustChangePassword, message))
    }

    /// Returns true if the first thing that a statement does is to change the password of the session's account.
    fn changes_own_password(&self, statement: &Statement) -> bool {
        let own = self.login.account();
        match statement {
            Statement::Account(AccountStatement::SetPassword { user, .. }) => resolve(user, &own) == own,
            Statement::Account(AccountStatement::AlterUser { users, .. }) => {
                users.first().is_some_and(|spec| spec.authentication.is_some() && resolve(&spec.name, &own) == own)
            }
            _ => false,
        }
    }

    /// Lets the session go on once its account's password is a new one.
    fn note_changed_password(&mut self) {
        if self.login.must_change_password {
            let (list, account) = (self.database.accounts().list(), self.login.account());
            let expired = list.iter().any(|entry| entry.is_key(&account) && entry.password.expired);
            self.login.must_change_password = expired;
        }
    }
}
