//! The rights of one account, and MySQL's errors for what it may not do.

use super::{AccountList, Privilege, Privileges};
use crate::system_schema;
use muster_algebra::Definer;
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// An account's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountKey {
    pub user: String,
    pub host: String,
}

/// The rights of whoever is logged in: the account in the list as it is now.
#[derive(Clone)]
pub struct Rights {
    accounts: Arc<AccountList>,
    /// The name that the client gave, which messages show.
    pub user: String,
    pub host: String,
    /// The account logged in as.
    pub account: AccountKey,
    /// Position of the account in the list; `None` when it has been dropped.
    position: Option<usize>,
}

impl Rights {
    /// `account_host`: the host pattern of the account logged in as.
    pub fn new(accounts: Arc<AccountList>, user: &str, host: &str, account_host: &str) -> Rights {
        let position = accounts.iter().position(|a| a.is(user, account_host));
        let account = AccountKey { user: user.into(), host: account_host.into() };
        Rights { accounts, user: user.into(), host: host.into(), account, position }
    }

    /// Returns true if these are the rights that [`Rights::new`] gives.
    pub fn is_of(&self, accounts: &Arc<AccountList>, user: &str, host: &str, account_host: &str) -> bool {
        Arc::ptr_eq(&self.accounts, accounts)
            && self.user == user
            && self.host == host
            && self.account.host == account_host
    }

    /// The rights of a view's definer. Error 1449 when the account is gone.
    pub fn of_definer(&self, definer: &Definer) -> Result<Rights> {
        let Definer { user, host } = definer;
        let rights = Rights::new(self.accounts.clone(), user, host, host);
        if rights.position.is_none() {
            let message = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
            return Err(SqlError::new(ErrorCode::NoSuchUser, message));
        }
        Ok(rights)
    }

    pub fn global(&self) -> Privileges {
        self.position.map_or(Privileges::NONE, |i| self.accounts[i].global)
    }

    /// The privileges of the account in a database. PROCESS and its like give none.
    pub fn on_database(&self, database: &str) -> Privileges {
        let own = self.position.and_then(|i| self.accounts[i].databases.get(database).copied());
        self.global().of_databases().union(own.unwrap_or_default())
    }

    /// Returns true if the database is shown at all.
    pub fn sees_database(&self, database: &str) -> bool {
        system_schema::is_for_all(database)
            || self.global().has(Privilege::ShowDatabases)
            || !self.on_database(database).is_empty()
    }

    /// Returns true if the database's tables are shown.
    pub fn sees_tables(&self, database: &str) -> bool {
        let set = self.on_database(database);
        !set.without(Privileges::NONE.with(Privilege::GrantOption)).is_empty()
    }

    fn who(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// Error 1227.
    pub fn check_global(&self, p: Privilege) -> Result<()> {
        if self.global().has(p) {
            return Ok(());
        }
        let message =
            format!("Access denied; you need (at least one of) the {} privilege(s) for this operation", p.name());
        Err(SqlError::new(ErrorCode::SpecificAccessDenied, message))
    }

    /// Error 1045.
    pub fn denied(&self) -> SqlError {
        SqlError::new(ErrorCode::AccessDenied, format!("Access denied for user {} (using password: YES)", self.who()))
    }

    pub fn database_denied(&self, database: &str) -> SqlError {
        SqlError::new(
            ErrorCode::DbAccessDenied,
            format!("Access denied for user {} to database '{database}'", self.who()),
        )
    }

    /// Error 1044 unless the session has the privilege on the database. Nothing can be changed in information_schema.
    pub fn check_database(&self, database: &str, p: Privilege) -> Result<()> {
        if !system_schema::is_name(database) && self.on_database(database).has(p) {
            return Ok(());
        }
        Err(self.database_denied(database))
    }

    /// Error 1142 unless the session has the privilege on the table's database. `command`: as MySQL names it.
    pub fn check_table(&self, database: &str, table: &str, p: Privilege, command: &str) -> Result<()> {
        let allowed = match system_schema::is_for_all(database) {
            true => p == Privilege::Select,
            false => self.on_database(database).has(p),
        };
        if allowed {
            return Ok(());
        }
        let message = format!("{command} command denied to user {} for table '{table}'", self.who());
        Err(SqlError::new(ErrorCode::TableAccessDenied, message))
    }

    /// USE: error 1044 when nothing in the database is the session's to touch.
    pub fn check_use(&self, database: &str) -> Result<()> {
        if system_schema::is_for_all(database) || !self.on_database(database).is_empty() {
            return Ok(());
        }
        Err(self.database_denied(database))
    }
}
