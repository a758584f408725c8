//! The rights of one account, and MySQL's errors for what it may not do.

use super::{AccountEntry, AccountKey, AccountList, Level, Privilege, Privileges, TableRights, effective};
use crate::system_schema;
use effective::EffectivePrivileges;
use muster_algebra::{ColumnAccess, Definer, GrantedColumns};
use muster_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

/// The rights of whoever is logged in: the account in the list as it is now, with its active roles.
#[derive(Clone)]
pub struct Rights {
    accounts: Arc<AccountList>,
    /// The name that the client gave, which messages show.
    pub user: String,
    pub host: String,
    /// The account logged in as.
    pub account: AccountKey,
    /// The roles that the session has activated.
    pub roles: Vec<AccountKey>,
    /// Those of them that the account still has.
    counting: Vec<AccountKey>,
    /// Position of the account in the list; `None` when it has been dropped.
    position: Option<usize>,
    all: Arc<EffectivePrivileges>,
}

impl Rights {
    /// `account`: the account logged in as. A role counts as long as the account has been granted it, or is one of the
    /// `mandatory` ones.
    pub fn new(
        accounts: Arc<AccountList>,
        (user, host): (&str, &str),
        account: &AccountKey,
        roles: &[AccountKey],
        mandatory: &[AccountKey],
    ) -> Rights {
        let position = accounts.iter().position(|entry| entry.is_key(account));
        let entry = position.map(|at| &accounts[at]);
        let is_granted = |role: &&AccountKey| {
            entry.is_some_and(|entry| {
                mandatory.contains(role) || entry.roles.iter().any(|granted| granted.role == **role)
            })
        };
        let counting: Vec<AccountKey> = roles.iter().filter(is_granted).cloned().collect();
        let all = Arc::new(EffectivePrivileges::of(&accounts, entry, &counting));
        let (user, host) = (user.to_owned(), host.to_owned());
        Rights { user, host, account: account.clone(), roles: roles.to_vec(), counting, position, all, accounts }
    }

    /// Returns true if these are the rights that [`Rights::new`] gives.
    pub fn is_of(&self, accounts: &Arc<AccountList>, user: &str, host: &str, account_host: &str) -> bool {
        Arc::ptr_eq(&self.accounts, accounts)
            && self.user == user
            && self.host == host
            && self.account.host == account_host
    }

    /// The rights of a view's definer, with its default roles. Error 1449 when the account is gone.
    pub fn of_definer(&self, definer: &Definer) -> Result<Rights> {
        let Definer { user, host } = definer;
        let account = AccountKey { user: user.clone(), host: host.clone() };
        let Some(entry) = self.accounts.iter().find(|entry| entry.is_key(&account)) else {
            let message = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
            return Err(SqlError::new(ErrorCode::NoSuchUser, message));
        };
        let roles = entry.default_roles.clone();
        Ok(Rights::new(Arc::clone(&self.accounts), (user, host), &account, &roles, &[]))
    }

    /// The account's entry; `None` when it has been dropped.
    pub fn entry(&self) -> Option<&AccountEntry> {
        self.position.map(|at| &self.accounts[at])
    }

    /// The active roles that the account still has.
    pub fn counting_roles(&self) -> &[AccountKey] {
        &self.counting
    }

    /// The entries of the active roles that count, with those that they have been granted.
    pub fn active_entries(&self) -> Vec<&AccountEntry> {
        effective::with_inherited(&self.accounts, &self.counting)
    }

    /// All privileges.
    pub fn all(&self) -> &EffectivePrivileges {
        &self.all
    }

    pub fn global(&self) -> Privileges {
        self.all.global
    }

    pub fn has_dynamic(&self, name: &str) -> bool {
        self.all.dynamic.contains_key(name)
    }

    /// The privileges of the account in a database. PROCESS and its like give none.
    pub fn on_database(&self, database: &str) -> Privileges {
        self.global().both(Privileges::of_level(Level::Database)).union(self.all.of_patterns(database))
    }

    /// The privileges on a table as a whole.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let own = self.all.table(database, table).map_or(Privileges::NONE, |rights| rights.privileges);
        self.on_database(database).union(own)
    }

    /// The privileges on some column of a table.
    pub fn on_columns(&self, database: &str, table: &str) -> Privileges {
        self.all.table(database, table).map_or(Privileges::NONE, TableRights::of_columns)
    }

    /// The privileges on a column of a table.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let own = self.all.table(database, table).map_or(Privileges::NONE, |rights| rights.of_column(column));
        self.on_table(database, table).union(own)
    }

    /// Returns true if the database is shown at all.
    pub fn sees_database(&self, database: &str) -> bool {
        system_schema::is_for_all(database)
            || self.global().has(Privilege::ShowDatabases)
            || !self.on_database(database).is_empty()
            || self.all.tables.contains_key(database)
    }

    /// Returns true if the table or view is shown.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        system_schema::is_for_all(database)
            || !self.on_table(database, table).both(Privileges::all(Level::Table)).is_empty()
            || !self.on_columns(database, table).is_empty()
    }

    /// Returns true if the column of a table that is shown is.
    pub fn sees_column(&self, database: &str, table: &str, column: &str) -> bool {
        system_schema::is_for_all(database)
            || !self.on_column(database, table, column).both(Privileges::all(Level::Column)).is_empty()
    }

    fn client(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// Error 1227.
    pub fn check_global(&self, p: Privilege) -> Result<()> {
        match self.global().has(p) {
            true => Ok(()),
            false => Err(lacking(p.name())),
        }
    }

    /// Error 1227 without the privilege and without the dynamic one. `names`: both in MySQL's words.
    pub fn check_global_or(&self, p: Privilege, dynamic: &str, names: &str) -> Result<()> {
        match self.global().has(p) || self.has_dynamic(dynamic) {
            true => Ok(()),
            false => Err(lacking(names)),
        }
    }

    /// Error 1045.
    pub fn denied(&self) -> SqlError {
        let password = self.entry().is_some_and(|entry| !entry.authentication_string.is_empty());
        let (account, used) = (self.account.in_quotes(), if password { "YES" } else { "NO" });
        let message = format!("Access denied for user {account} (using password: {used})");
        SqlError::new(ErrorCode::AccessDenied, message)
    }

    pub fn database_denied(&self, database: &str) -> SqlError {
        let account = self.account.in_quotes();
        let message = format!("Access denied for user {account} to database '{database}'");
        SqlError::new(ErrorCode::DbAccessDenied, message)
    }

    /// Error 1142. `command`: the privileges as MySQL names them.
    pub fn table_denied(&self, table: &str, command: &str) -> SqlError {
        let message = format!("{command} command denied to user {} for table '{table}'", self.client());
        SqlError::new(ErrorCode::TableAccessDenied, message)
    }

    /// Error 1044 unless the session has the privilege on the database. Nothing can be changed in the system's schemas.
    pub fn check_database(&self, database: &str, p: Privilege) -> Result<()> {
        if !system_schema::is_name(database) && self.on_database(database).has(p) {
            return Ok(());
        }
        Err(self.database_denied(database))
    }

    /// Error 1044 unless the session may read all tables of the database.
    pub fn check_read_database(&self, database: &str) -> Result<()> {
        match self.on_database(database).has(Privilege::Select) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Error 1142 unless the session has the privilege on the table as a whole; 1044 for changes of
    /// `information_schema`. `command`: as MySQL names it.
    pub fn check_table(&self, database: &str, table: &str, p: Privilege, command: &str) -> Result<()> {
        let allowed = if system_schema::is_for_all(database) {
            p == Privilege::Select
        } else {
            self.on_table(database, table).has(p)
        };
        match allowed {
            true => Ok(()),
            false if system_schema::of_name(database) == Some(system_schema::NAME) => {
                Err(self.database_denied(system_schema::NAME))
            }
            false => Err(self.table_denied(table, command)),
        }
    }

    /// Error 1142, which names those that are missing, unless the session has all privileges on the table.
    pub fn check_table_all(&self, database: &str, table: &str, wanted: &[Privilege]) -> Result<()> {
        let wanted = wanted.iter().fold(Privileges::NONE, |all, p| all.with(*p));
        let missing = match system_schema::is_for_all(database) {
            true if system_schema::of_name(database) == Some(system_schema::NAME) => {
                return Err(self.database_denied(system_schema::NAME));
            }
            true => wanted,
            false => wanted.without(self.on_table(database, table)),
        };
        match missing.is_empty() {
            true => Ok(()),
            false => Err(self.table_denied(table, &missing.in_message())),
        }
    }

    /// Error 1142 unless the session has the privilege on the table or on a column of it. What it does with columns is
    /// to be checked by [`Rights::column_access`].
    pub fn check_some_column(&self, database: &str, table: &str, p: Privilege, command: &str) -> Result<()> {
        match self.on_columns(database, table).has(p) {
            true => Ok(()),
            false => self.check_table(database, table, p, command),
        }
    }

    /// What the session may do with the columns of a table; `None`: as much with each as with the table. `writes`:
    /// whether the statement may write to it.
    pub fn column_access(&self, database: &str, table: &str, writes: bool) -> Option<ColumnAccess> {
        use Privilege::{Insert, Select, Update};
        if system_schema::is_for_all(database) {
            return None;
        }
        let whole = self.on_table(database, table);
        let needed = Privileges::NONE.with(Select);
        let needed = if writes { needed.with(Insert).with(Update) } else { needed };
        if whole.contains(needed) {
            return None;
        }
        let rights = self.all.table(database, table);
        let granted = |p: Privilege| match whole.has(p) {
            true => GrantedColumns::All,
            false => {
                let columns = rights.into_iter().flat_map(|rights| &rights.columns).filter(|(_, set)| set.has(p));
                GrantedColumns::Listed(columns.map(|(name, _)| name.to_lowercase()).collect())
            }
        };
        let (select, insert, update) = (granted(Select), granted(Insert), granted(Update));
        Some(ColumnAccess { account: self.client(), table: table.to_owned(), select, insert, update })
    }

    /// USE: error 1044 when nothing in the database is the session's to touch.
    pub fn check_use(&self, database: &str) -> Result<()> {
        let is_there = || !self.on_database(database).is_empty() || self.all.tables.contains_key(database);
        if system_schema::is_for_all(database) || is_there() {
            return Ok(());
        }
        Err(self.database_denied(database))
    }
}

/// Error 1227. `names`: privileges of which one would do.
pub fn lacking(names: &str) -> SqlError {
    let message = format!("Access denied; you need (at least one of) the {names} privilege(s) for this operation");
    SqlError::new(ErrorCode::SpecificAccessDenied, message)
}
