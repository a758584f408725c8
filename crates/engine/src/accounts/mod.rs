//! Accounts, roles and what they may do. Privileges are given for everything (`*.*`), for databases by patterns of
//! their names, for tables, and for columns. A role is an account that nobody logs in to, whose privileges others have
//! while they have activated it.
//!
//! ```text
//!   Privileges   sets of MySQL's static privileges          privilege.rs
//!   dynamic      names of the dynamic ones                  dynamic.rs
//!   patterns     patterns of hosts and databases            patterns.rs
//!   AccountEntry what is stored of an account               entry.rs
//!   password     stored hashes and their check              password.rs
//!   attribute    user attributes                            attribute.rs
//!   effective    privileges of an account with its roles    effective.rs
//!   Rights       what one account may do, the checks        rights.rs
//!   Accounts     the accounts, kept in a file               mod.rs
//!     login      who may log in                             login.rs
//!     users      CREATE, ALTER, DROP, RENAME USER           users.rs
//!     passwords  changes of passwords and their rules       passwords.rs
//!     grants     GRANT, REVOKE                              grants.rs
//!     wanted     the privileges that these name             wanted.rs
//!     roles      CREATE and DROP ROLE, roles of accounts    roles.rs
//!     graph      ROLES_GRAPHML()                            graph.rs
//!     show       SHOW GRANTS, SHOW CREATE USER              show.rs
//! ```

mod attribute;
pub mod dynamic;
mod effective;
mod entry;
mod grants;
pub mod graph;
mod login;
pub mod password;
mod passwords;
mod patterns;
mod privilege;
mod rights;
mod roles;
mod show;
mod users;
mod wanted;

pub use effective::{EffectivePrivileges, with_inherited};
pub use entry::{AccountEntry, AccountKey, GrantedRole, TableRights, Tls};
pub use grants::{GrantRequest, GrantedTable};
pub use login::{Admitted, LoginAttempt};
pub use passwords::PasswordPolicy;
pub use privilege::{Level, Privilege, Privileges};
pub use rights::{Rights, lacking};
pub use roles::role_names;
pub use users::{AccountChange, ChangedUsers};

use crate::persist::{self, ChangeError, LoggedFile};
use muster_sql::UserName;
use muster_storage::{Store, mutex::Mutex};
use muster_types::{ErrorCode, Result, SqlError};
use parking_lot::RwLock;
use std::sync::Arc;

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTUSER", version: 2 };
const FILE_NAME: &str = "accounts.mus";

/// The parts of an account that a login needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored hash in the plugin's own form; empty: no password.
    pub authentication_string: String,
}

/// All accounts at one moment.
pub type AccountList = Vec<AccountEntry>;

pub struct Accounts {
    file: LoggedFile,
    current: RwLock<Arc<AccountList>>,
    change: Mutex<()>,
    failed_logins: login::FailedLogins,
}

/// A name's account: the session's own for CURRENT_USER.
pub fn resolve(name: &UserName, own: &AccountKey) -> AccountKey {
    if name.current {
        return own.clone();
    }
    let host = if name.host.is_empty() { "%" } else { &name.host };
    AccountKey { user: name.user.clone(), host: host.to_ascii_lowercase() }
}

impl Accounts {
    /// Reads the accounts; a new data directory (`create`) has `root@localhost` without a password. Error 1712 when
    /// another one has none: nobody gets in because a file is lost.
    pub fn open(store: Arc<Store>, create: bool) -> Result<Accounts> {
        let file = LoggedFile::new(store, FILE_NAME, KIND);
        let list = match file.read::<AccountList>()? {
            Some(mut list) => {
                list.iter_mut().for_each(AccountEntry::migrate);
                list
            }
            None if !create => return Err(persist::corrupt(&file.path(), "missing: put it back")),
            None => {
                let mut root = AccountEntry::new(&AccountKey { user: "root".into(), host: "localhost".into() });
                root.allow_everything();
                file.write(&vec![root.clone()], &[])?;
                vec![root]
            }
        };
        let failed_logins = login::FailedLogins::default();
        Ok(Accounts { file, current: RwLock::new(Arc::new(list)), change: Mutex::new(()), failed_logins })
    }

    pub fn list(&self) -> Arc<AccountList> {
        self.current.read().clone()
    }

    /// Changes all or nothing: `f` edits a copy, which counts when it returns Ok and the log has it. Error 1396
    /// when nobody would be left who can do everything: there would be no way back.
    pub fn change<R>(&self, f: impl FnOnce(&mut AccountList) -> Result<R>) -> Result<R> {
        let _one_at_a_time = self.change.lock();
        let mut next = AccountList::clone(&self.list());
        let result = f(&mut next)?;
        if !next.iter().any(|a| a.global == Privileges::all_global() && !a.locked) {
            let message = "Operation failed: it would leave no account with all privileges";
            return Err(SqlError::new(ErrorCode::CannotUser, message));
        }
        let written = self.file.write(&next, &[]);
        if let Err(ChangeError::NotMade(e)) = written {
            return Err(e);
        }
        *self.current.write() = Arc::new(next);
        written.map(|()| result).map_err(SqlError::from)
    }

    /// The account that a client of this name from this host logs in as: the one with the most specific host.
    pub fn find(&self, user: &str, host: &str) -> Option<Account> {
        let list = self.list();
        let best = most_specific(&list, user, host)?;
        Some(Account {
            user: best.user.clone(),
            host: best.host.clone(),
            plugin: best.plugin.clone(),
            authentication_string: best.authentication_string.clone(),
        })
    }

    /// Returns true if no account named `root` is without a password.
    pub fn root_has_password(&self) -> bool {
        self.list().iter().filter(|a| a.user == "root").all(|a| !a.authentication_string.is_empty())
    }

    /// Sets a password without asking for any right.
    pub fn set_password(&self, user: &str, host: &str, password: &str) -> Result<()> {
        self.change(|list| {
            let account = list.iter_mut().find(|a| a.is(user, host)).ok_or_else(|| {
                SqlError::new(ErrorCode::CannotUser, format!("Operation ALTER USER failed for '{user}'@'{host}'"))
            })?;
            account.authentication_string = password::hash(&account.plugin, password)?;
            account.password.expired = false;
            Ok(())
        })
    }
}

/// The entry of the account that such a client logs in as.
fn most_specific<'l>(list: &'l AccountList, user: &str, host: &str) -> Option<&'l AccountEntry> {
    let matching = list.iter().filter(|a| a.user == user && patterns::host_matches(&a.host, host));
    // Without wildcards first, then the longest text in front of the first wildcard.
    matching.max_by_key(|a| a.host.find(['%', '_']).unwrap_or(usize::MAX))
}

/// Error 1396. `accounts`: their names as messages show them.
fn failed(operation: &str, accounts: &[String]) -> SqlError {
    SqlError::new(ErrorCode::CannotUser, format!("Operation {operation} failed for {}", accounts.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(directory: &std::path::Path) -> Accounts {
        let small = muster_storage::StoreOptions { buffer_pool_bytes: 1 << 20, sync: false, ..Default::default() };
        Accounts::open(Store::open(directory, small).unwrap(), true).unwrap()
    }

    #[test]
    fn the_most_specific_host_wins() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(dir.path());
        accounts
            .change(|list| {
                let keys = ["%", "10.0.%", "10.0.0.7"].map(|host| AccountKey { user: "u".into(), host: host.into() });
                list.extend(keys.iter().map(AccountEntry::new));
                Ok(())
            })
            .unwrap();
        let host = |from: &str| accounts.find("u", from).map(|a| a.host);
        assert_eq!(host("10.0.0.7").as_deref(), Some("10.0.0.7"));
        assert_eq!(host("10.0.0.8").as_deref(), Some("10.0.%"));
        assert_eq!(host("example.org").as_deref(), Some("%"));
        assert_eq!(accounts.find("v", "10.0.0.7"), None);
        assert_eq!(accounts.find("root", "10.0.0.7"), None);
        assert_eq!(accounts.find("root", "127.0.0.1").unwrap().host, "localhost");
    }

    #[test]
    fn passwords_survive_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(dir.path());
        assert!(!accounts.root_has_password());
        accounts.set_password("root", "localhost", "secret").unwrap();
        assert_eq!(accounts.set_password("root", "%", "x").unwrap_err().code, ErrorCode::CannotUser);
        drop(accounts);
        let again = open(dir.path());
        assert!(again.root_has_password());
        let root = again.find("root", "localhost").unwrap();
        assert!(password::verify(&root.plugin, &root.authentication_string, "secret"));
    }

    #[test]
    fn somebody_can_always_do_everything() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(dir.path());
        let drop_all = || {
            accounts.change(|list| {
                list.clear();
                Ok(())
            })
        };
        assert_eq!(drop_all().unwrap_err().code, ErrorCode::CannotUser);
        assert_eq!(accounts.list().len(), 1);
    }

    /// An account as files of format 1 have it.
    #[test]
    fn accounts_of_format_1_are_read() {
        let text = r#"{"user":"u","host":"%","plugin":"caching_sha2_password","authentication_string":"",
                       "global":16384,"databases":{"a_b":1}}"#;
        let mut entry: AccountEntry = serde_json::from_str(text).unwrap();
        entry.migrate();
        assert!(entry.global.has(Privilege::Super) && entry.dynamic.get("SYSTEM_USER") == Some(&false));
        assert_eq!(entry.patterns.keys().collect::<Vec<_>>(), ["a\\_b"]);
        let written = serde_json::to_string(&entry).unwrap();
        let mut again: AccountEntry = serde_json::from_str(&written).unwrap();
        again.migrate();
        assert_eq!(again, entry);
    }
}
