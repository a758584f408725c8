//! Who a session is: its client, the account that the login belongs to, and that account's rights.

use crate::{
    Database, LocalFiles,
    accounts::{AccountKey, Privilege, Rights},
};
use muster_storage::mutex::Mutex;
use std::sync::Arc;

pub struct Login {
    pub user: String,
    pub host: String,
    /// Host pattern of the account.
    pub account_host: String,
    /// The roles that are active.
    roles: Vec<AccountKey>,
    /// True if the client has to change its password before it does anything else.
    pub must_change_password: bool,
    /// Those that statements shared last.
    rights: Mutex<Option<Arc<Rights>>>,
    /// The files that the client sends for LOAD DATA LOCAL.
    pub local_files: Arc<dyn LocalFiles>,
    /// Somebody types here: `interactive_timeout` counts.
    pub interactive: bool,
    /// The client counts rows that an UPDATE finds, not those that it changes.
    pub counts_found_rows: bool,
}

impl Login {
    pub fn new(database: &Database, user: String, host: String, local_files: Arc<dyn LocalFiles>) -> Login {
        let account_host = account_host(database, &user, &host);
        let roles = database.roles_at_login(&AccountKey { user: user.clone(), host: account_host.clone() });
        Login {
            user,
            host,
            account_host,
            roles,
            must_change_password: false,
            rights: Mutex::default(),
            local_files,
            interactive: false,
            counts_found_rows: false,
        }
    }

    /// Goes on as another user.
    pub fn change(&mut self, database: &Database, user: &str, host: &str) {
        (self.user, self.host) = (user.to_owned(), host.to_owned());
        self.account_host = account_host(database, user, host);
        self.must_change_password = false;
        self.activate(database.roles_at_login(&self.account()));
    }

    /// The account logged in as.
    pub fn account(&self) -> AccountKey {
        AccountKey { user: self.user.clone(), host: self.account_host.clone() }
    }

    pub fn roles(&self) -> &[AccountKey] {
        &self.roles
    }

    /// Replaces the active roles.
    pub fn activate(&mut self, roles: Vec<AccountKey>) {
        self.roles = roles;
        *self.rights.lock() = None;
    }

    /// The rights of the client, which statements share until accounts or the client change.
    pub fn rights(&self, database: &Database) -> Arc<Rights> {
        let accounts = database.accounts().list();
        let mut known = self.rights.lock();
        match &*known {
            Some(rights) if rights.is_of(&accounts, &self.user, &self.host, &self.account_host) => Arc::clone(rights),
            _ => {
                let mandatory = if self.roles.is_empty() { Vec::new() } else { database.mandatory_roles() };
                let client = (self.user.as_str(), self.host.as_str());
                let rights = Rights::new(accounts, client, &self.account(), &self.roles, &mandatory);
                Arc::clone(known.insert(Arc::new(rights)))
            }
        }
    }

    pub fn is_super(&self, database: &Database) -> bool {
        let rights = self.rights(database);
        rights.global().has(Privilege::Super) || rights.has_dynamic("CONNECTION_ADMIN")
    }
}

fn account_host(database: &Database, user: &str, host: &str) -> String {
    database.accounts().find(user, host).map_or_else(String::new, |account| account.host)
}
