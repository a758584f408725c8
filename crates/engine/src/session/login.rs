//! Who a session is: its client, the account that the login belongs to, and that account's rights.

use crate::{
    Database, LocalFiles,
    accounts::{Privilege, Rights},
};
use muster_storage::mutex::Mutex;
use std::sync::Arc;

pub struct Login {
    pub user: String,
    pub host: String,
    /// Host pattern of the account.
    pub account_host: String,
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
        let (interactive, counts_found_rows) = (false, false);
        Login { user, host, account_host, rights: Mutex::default(), local_files, interactive, counts_found_rows }
    }

    /// Goes on as another user.
    pub fn change(&mut self, database: &Database, user: &str, host: &str) {
        (self.user, self.host) = (user.to_owned(), host.to_owned());
        self.account_host = account_host(database, user, host);
    }

    /// The rights of the client, which statements share until accounts or the client change.
    pub fn rights(&self, database: &Database) -> Arc<Rights> {
        let accounts = database.accounts().list();
        let mut known = self.rights.lock();
        match &*known {
            Some(rights) if rights.is_of(&accounts, &self.user, &self.host, &self.account_host) => Arc::clone(rights),
            _ => {
                let rights = Arc::new(Rights::new(accounts, &self.user, &self.host, &self.account_host));
                Arc::clone(known.insert(rights))
            }
        }
    }

    pub fn is_super(&self, database: &Database) -> bool {
        self.rights(database).global().has(Privilege::Super)
    }
}

fn account_host(database: &Database, user: &str, host: &str) -> String {
    database.accounts().find(user, host).map_or_else(String::new, |account| account.host)
}
