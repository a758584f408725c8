//! Accounts and what they may do. Privileges are given for everything (`*.*`) or for one database.
//!
//! ```text
//!   Privileges   sets of MySQL's static privileges      privilege.rs
//!   password     stored hashes and their check          password.rs
//!   Accounts     the accounts, kept in a file           mod.rs
//!   Rights       what one account may do, the checks    rights.rs
//!   statements   CREATE USER .. SHOW GRANTS             statements.rs
//! ```

pub mod password;
mod privilege;
mod rights;
mod statements;

pub use privilege::{Privilege, Privileges};
pub use rights::{AccountKey, Rights};
pub use statements::resolve;

use crate::persist::{self, ChangeError, LoggedFile};
use muster_storage::{Store, mutex::Mutex};
use muster_types::{ErrorCode, Result, SqlError};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

const KIND: persist::Kind = persist::Kind { magic: *b"MUSTUSER", version: 1 };
const FILE_NAME: &str = "accounts.mus";

/// A stored account (mysql.user).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored hash in the plugin's own form; empty: no password.
    pub authentication_string: String,
}

/// A row of mysql.user with its rows of mysql.db.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountEntry {
    pub user: String,
    /// A LIKE pattern: `%`, `localhost`, `192.168.%`.
    pub host: String,
    pub plugin: String,
    pub authentication_string: String,
    pub global: Privileges,
    pub databases: BTreeMap<String, Privileges>,
}

impl AccountEntry {
    fn new(user: &str, host: &str) -> AccountEntry {
        AccountEntry {
            user: user.into(),
            host: host.into(),
            plugin: password::CACHING_SHA2.into(),
            authentication_string: String::new(),
            global: Privileges::NONE,
            databases: BTreeMap::new(),
        }
    }

    pub fn is(&self, user: &str, host: &str) -> bool {
        self.user == user && self.host.eq_ignore_ascii_case(host)
    }
}

/// All accounts at one moment.
pub type AccountList = Vec<AccountEntry>;

pub struct Accounts {
    file: LoggedFile,
    current: RwLock<Arc<AccountList>>,
    change: Mutex<()>,
}

impl Accounts {
    /// Reads the accounts; a new data directory (`create`) has `root@localhost` without a password. Error 1712 when
    /// another one has none: nobody gets in because a file is lost.
    pub fn open(store: Arc<Store>, create: bool) -> Result<Accounts> {
        let file = LoggedFile::new(store, FILE_NAME, KIND);
        let list = match file.read::<AccountList>()? {
            Some(list) => list,
            None if !create => return Err(persist::corrupt(&file.path(), "missing: put it back")),
            None => {
                let root = AccountEntry { global: Privileges::all_global(), ..AccountEntry::new("root", "localhost") };
                file.write(&vec![root.clone()], &[])?;
                vec![root]
            }
        };
        Ok(Accounts { file, current: RwLock::new(Arc::new(list)), change: Mutex::new(()) })
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
        if !next.iter().any(|a| a.global == Privileges::all_global()) {
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
        let matching = list.iter().filter(|a| a.user == user && host_matches(&a.host, host));
        // Without wildcards first, then the longest text in front of the first wildcard.
        let best = matching.max_by_key(|a| a.host.find(['%', '_']).unwrap_or(usize::MAX))?;
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

    pub fn set_password(&self, user: &str, host: &str, password: &str) -> Result<()> {
        self.change(|list| {
            let account = list.iter_mut().find(|a| a.is(user, host)).ok_or_else(|| {
                SqlError::new(ErrorCode::CannotUser, format!("Operation ALTER USER failed for '{user}'@'{host}'"))
            })?;
            account.authentication_string = password::hash(&account.plugin, password)?;
            Ok(())
        })
    }
}

/// Returns true if a client's host is one of an account's: `%` any text, `_` any character, letters without case.
/// Loopback addresses are `localhost` too.
fn host_matches(pattern: &str, host: &str) -> bool {
    let loopback = matches!(host, "127.0.0.1" | "::1");
    like(pattern.as_bytes(), host.as_bytes()) || (loopback && pattern.eq_ignore_ascii_case("localhost"))
}

/// LIKE without escapes. Backtracks to the last `%` only, so it takes at most pattern x text steps.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'%') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == b'_' || c.eq_ignore_ascii_case(&text[t]) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    p = after;
                    t = from + 1;
                    star = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'%')
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
                list.extend(["%", "10.0.%", "10.0.0.7"].map(|host| AccountEntry::new("u", host)));
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

    #[test]
    fn host_patterns() {
        for (pattern, host, want) in [
            ("%", "", true),
            ("10.%.1", "10.2.3.1", true),
            ("10.%.1", "10.2.3.2", false),
            ("h_st", "HOST", true),
            ("h_st", "hst", false),
            ("localhost", "::1", true),
        ] {
            assert_eq!(host_matches(pattern, host), want, "{pattern} {host}");
        }
    }
}
