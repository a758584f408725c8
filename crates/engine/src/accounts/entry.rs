//! An account as it is stored.

use super::{Privilege, Privileges, dynamic, password};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An account's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccountKey {
    pub user: String,
    /// A LIKE pattern: `%`, `localhost`, `192.168.%`.
    pub host: String,
}

impl AccountKey {
    /// The name as `` `user`@`host` ``.
    pub fn in_backticks(&self) -> String {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        format!("{}@{}", quoted(&self.user), quoted(&self.host))
    }

    /// The name as `'user'@'host'`.
    pub fn in_quotes(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }
}

/// Rights on one table or view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRights {
    /// Those on the table as a whole.
    pub privileges: Privileges,
    /// Those on some of its columns only, by the column's name.
    pub columns: BTreeMap<String, Privileges>,
    /// `user@host` of the account that gave the last of them.
    pub grantor: String,
    /// When that was, in microseconds of UTC.
    pub changed: i64,
}

impl TableRights {
    /// The privileges that some column has.
    pub fn of_columns(&self) -> Privileges {
        self.columns.values().fold(Privileges::NONE, |all, set| all.union(*set))
    }

    pub fn is_empty(&self) -> bool {
        self.privileges.is_empty() && self.columns.is_empty()
    }

    /// The privileges on a column, besides those on the table. Names of columns compare without case.
    pub fn of_column(&self, column: &str) -> Privileges {
        let named = self.columns.iter().filter(|(name, _)| name.eq_ignore_ascii_case(column));
        named.fold(Privileges::NONE, |all, (_, set)| all.union(*set))
    }
}

/// A role that an account has been granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedRole {
    pub role: AccountKey,
    pub admin_option: bool,
}

/// The encryption that an account asks of its connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tls {
    #[default]
    None,
    Ssl,
    X509,
    Certificate {
        subject: String,
        issuer: String,
        cipher: String,
    },
}

/// A password that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedPassword {
    /// When it was set, in microseconds of UTC.
    pub at: i64,
    pub authentication_string: String,
}

/// The rules for an account's password.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PasswordRules {
    /// True after `PASSWORD EXPIRE`, until the password is changed.
    pub expired: bool,
    /// Days until it expires; 0: never. `None`: by `default_password_lifetime`.
    pub lifetime: Option<u16>,
    /// When it was last changed, in microseconds of UTC; 0: before that was noted.
    pub changed: i64,
    /// Number of passwords that may not be used again. `None`: by `password_history`.
    pub history: Option<u16>,
    /// Days in which a password may not be used again. `None`: by `password_reuse_interval`.
    pub reuse_days: Option<u16>,
    /// Whether a change of the own password needs the current one. `None`: by `password_require_current`.
    pub requires_current: Option<bool>,
    /// Failed logins in a row that block the account; 0: none.
    pub failed_logins_max: u16,
    /// Days for which that blocks it; -1: until it is unlocked.
    pub lock_days: i32,
    /// Passwords that were set while there were rules about their use, the last one first.
    pub used: Vec<UsedPassword>,
}

/// A row of mysql.user with its rows of the other tables of rights.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountEntry {
    pub user: String,
    /// A LIKE pattern: `%`, `localhost`, `192.168.%`.
    pub host: String,
    pub plugin: String,
    pub authentication_string: String,
    pub global: Privileges,
    /// Dynamic privileges, each with its GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    /// Privileges on databases, by the pattern of their names.
    pub patterns: BTreeMap<String, Privileges>,
    /// Rights on tables, by database and table.
    pub tables: BTreeMap<String, BTreeMap<String, TableRights>>,
    pub roles: Vec<GrantedRole>,
    pub default_roles: Vec<AccountKey>,
    pub locked: bool,
    pub password: PasswordRules,
    pub tls: Tls,
    /// Most connections at a time; 0: as many as the server allows.
    pub connections_max: u32,
    /// The user attribute, a JSON object; empty: none.
    pub attribute: String,
    /// Privileges on databases by their plain names, as files of format 1 have them.
    #[serde(rename = "databases", skip_serializing)]
    pub(super) plain_databases: Option<BTreeMap<String, Privileges>>,
}

impl AccountEntry {
    pub fn new(key: &AccountKey) -> AccountEntry {
        AccountEntry {
            user: key.user.clone(),
            host: key.host.clone(),
            plugin: password::CACHING_SHA2.into(),
            ..AccountEntry::default()
        }
    }

    pub fn is(&self, user: &str, host: &str) -> bool {
        self.user == user && self.host.eq_ignore_ascii_case(host)
    }

    pub fn key(&self) -> AccountKey {
        AccountKey { user: self.user.clone(), host: self.host.clone() }
    }

    pub fn is_key(&self, key: &AccountKey) -> bool {
        self.is(&key.user, &key.host)
    }

    /// Gives all privileges that there are, each with GRANT OPTION.
    pub fn allow_everything(&mut self) {
        self.global = Privileges::all_global();
        self.dynamic = dynamic::NAMES.iter().map(|name| (name.to_string(), true)).collect();
    }

    /// Brings an account of a file of format 1 to today's: names of databases stood for themselves, not for patterns,
    /// and SUPER was all that has dynamic privileges now.
    pub(super) fn migrate(&mut self) {
        let Some(databases) = self.plain_databases.take() else { return };
        self.patterns = databases.into_iter().map(|(name, set)| (super::patterns::escaped(&name), set)).collect();
        if self.global.has(Privilege::Super) {
            let grants = self.global.has(Privilege::GrantOption);
            self.dynamic = dynamic::NAMES.iter().map(|name| (name.to_string(), grants)).collect();
        }
    }
}
