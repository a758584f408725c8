//! Users, roles and privileges.

/// `'user'@'host'`; host `%` when none was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserName {
    pub user: String,
    pub host: String,
    /// `CURRENT_USER()` or `USER()`: `user` and `host` are empty.
    pub current: bool,
}

/// How a user proves who he is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// `IDENTIFIED [WITH plugin] BY 'password'`.
    Password { plugin: Option<String>, password: String },
    /// `IDENTIFIED [WITH plugin] BY RANDOM PASSWORD`.
    Random { plugin: Option<String> },
    /// `IDENTIFIED WITH plugin AS 'hash'`.
    Hash { plugin: String, hash: String },
    /// `IDENTIFIED WITH plugin`.
    Plugin(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSpec {
    pub name: UserName,
    pub authentication: Option<Authentication>,
    /// `REPLACE 'password'`: the password until now.
    pub replaced: Option<String>,
}

/// The encryption of a connection that an account asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsRequirement {
    None,
    Ssl,
    X509,
    /// The client's certificate and the cipher that are asked for, as far as they were named.
    Certificate {
        subject: Option<String>,
        issuer: Option<String>,
        cipher: Option<String>,
    },
}

/// `PASSWORD EXPIRE ..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordExpiry {
    Now,
    Default,
    Never,
    Days(u16),
}

/// A limit that may be the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrDefault<T> {
    Default,
    Own(T),
}

/// `COMMENT` or `ATTRIBUTE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAttribute {
    Comment(String),
    Json(String),
}

/// The clauses behind the users of CREATE USER and ALTER USER; empty where one was not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountOptions {
    pub default_roles: Vec<UserName>,
    pub tls: Option<TlsRequirement>,
    /// `MAX_USER_CONNECTIONS`.
    pub connections_max: Option<u32>,
    pub expiry: Option<PasswordExpiry>,
    /// `PASSWORD HISTORY`: passwords that may not be used again.
    pub history: Option<OrDefault<u16>>,
    /// `PASSWORD REUSE INTERVAL`, in days.
    pub reuse_days: Option<OrDefault<u16>>,
    /// `PASSWORD REQUIRE CURRENT`; false: `OPTIONAL`.
    pub requires_current: Option<OrDefault<bool>>,
    /// `ACCOUNT LOCK` or `UNLOCK`.
    pub locked: Option<bool>,
    pub failed_login_attempts: Option<u16>,
    /// `PASSWORD_LOCK_TIME` in days; -1: `UNBOUNDED`.
    pub lock_days: Option<i32>,
    pub attribute: Option<UserAttribute>,
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

/// A privilege of GRANT or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivilegeItem {
    /// In upper case, words separated by one space: `SELECT`, `CREATE VIEW`, `ALL PRIVILEGES`, `BACKUP_ADMIN`.
    pub name: String,
    /// Empty: the whole object.
    pub columns: Vec<String>,
}

/// GRANT or REVOKE of privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub privileges: Vec<PrivilegeItem>,
    pub scope: GrantScope,
    pub users: Vec<UserName>,
    /// `WITH GRANT OPTION`, or `GRANT OPTION` among the privileges.
    pub grant_option: bool,
    /// `REVOKE IF EXISTS`.
    pub if_exists: bool,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown: bool,
}

/// GRANT or REVOKE of roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    pub roles: Vec<UserName>,
    pub users: Vec<UserName>,
    /// `WITH ADMIN OPTION`.
    pub admin_option: bool,
    /// `REVOKE IF EXISTS`.
    pub if_exists: bool,
    /// `IGNORE UNKNOWN USER`.
    pub ignore_unknown: bool,
}

/// The roles of `SET ROLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleSet {
    Default,
    None,
    /// `ALL [EXCEPT ..]`.
    AllExcept(Vec<UserName>),
    Listed(Vec<UserName>),
}

/// A statement that changes accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountStatement {
    CreateUser {
        if_not_exists: bool,
        users: Vec<UserSpec>,
        options: AccountOptions,
    },
    AlterUser {
        if_exists: bool,
        users: Vec<UserSpec>,
        options: AccountOptions,
    },
    DropUser {
        if_exists: bool,
        users: Vec<UserName>,
    },
    RenameUser(Vec<(UserName, UserName)>),
    SetPassword {
        user: UserName,
        /// `None`: `TO RANDOM`.
        password: Option<String>,
        replaced: Option<String>,
    },
    CreateRole {
        if_not_exists: bool,
        roles: Vec<UserName>,
    },
    DropRole {
        if_exists: bool,
        roles: Vec<UserName>,
    },
    Grant(Grant),
    Revoke(Grant),
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ..`.
    RevokeAll {
        users: Vec<UserName>,
        ignore_unknown: bool,
    },
    GrantRoles(RoleGrant),
    RevokeRoles(RoleGrant),
    /// `SET DEFAULT ROLE .. TO ..`, or `ALTER USER .. DEFAULT ROLE ..` (`alters`).
    SetDefaultRole {
        roles: RoleSet,
        users: Vec<UserName>,
        alters: bool,
        if_exists: bool,
    },
}
