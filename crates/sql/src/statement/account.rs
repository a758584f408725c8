//! Users and privileges.

/// `'user'@'host'`; host `%` when none was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserName {
    pub user: String,
    pub host: String,
    /// `CURRENT_USER()`: `user` and `host` are empty.
    pub current: bool,
}

/// How a user proves who he is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// `IDENTIFIED [WITH plugin] BY 'password'`.
    Password { plugin: Option<String>, password: String },
    /// `IDENTIFIED WITH plugin AS 'hash'`.
    Hash { plugin: String, hash: String },
    /// `IDENTIFIED WITH plugin`.
    Plugin(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    pub name: UserName,
    pub authentication: Option<Authentication>,
}

/// The object that a privilege is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantScope {
    /// `*.*`.
    Global,
    /// `db.*`; `None`: `*`, the current database.
    Database(Option<String>),
    Table(super::TableName),
}

/// GRANT or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// In upper case, words separated by one space: `SELECT`, `CREATE VIEW`, `ALL PRIVILEGES`, `GRANT OPTION`.
    pub privileges: Vec<String>,
    pub scope: GrantScope,
    pub users: Vec<UserName>,
    pub grant_option: bool,
    /// `REVOKE IF EXISTS`.
    pub if_exists: bool,
}
