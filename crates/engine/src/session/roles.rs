//! SET ROLE, and what a session may do whose password has expired.

use super::state::SessionState;
use crate::{
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

    /// Error 1820 for a statement that does not change the password, while that has expired.
    pub fn check_password_changed(&self, statement: &Statement) -> Result<()> {
        use AccountStatement::{AlterUser, SetPassword};
        if !self.login.must_change_password
            || matches!(statement, Statement::Account(AlterUser { .. } | SetPassword { .. }))
        {
            return Ok(());
        }
        let message = "You must reset your password using ALTER USER statement before executing this statement.";
        Err(SqlError::new(ErrorCode::MustChangePassword, message))
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
