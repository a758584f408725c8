//! An open data directory with its catalog, sessions and shared memory.

use crate::{Session, SessionOptions};
use muster_storage::Counters;
use muster_types::Result;
use std::{path::Path, sync::Arc};

/// When a write counts as done (MySQL's `innodb_flush_log_at_trx_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On the disk before the client hears of it.
    #[default]
    Full,
    /// Left to the operating system; a power failure may lose the last writes.
    Relaxed,
}

#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    pub buffer_pool_bytes: usize,
    /// For all queries together, beside the buffer pool.
    pub memory_limit_bytes: usize,
    pub page_size: usize,
    pub durability: Durability,
    pub threads: usize,
}

/// One line of SHOW PROCESSLIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: String,
    pub seconds: u64,
    pub state: String,
    pub statement: Option<String>,
}

pub struct Database {}

impl Database {
    /// Opens or creates a data directory.
    pub fn open(_directory: impl AsRef<Path>, _options: DatabaseOptions) -> Result<Arc<Database>> {
        todo!()
    }

    /// A new session. Embedded callers are `root`; the server says who it has authenticated.
    pub fn session(self: &Arc<Self>, _options: SessionOptions) -> Session {
        todo!()
    }

    /// Global counters.
    pub fn counters(&self) -> &Arc<Counters> {
        todo!()
    }

    /// What is needed to check a login: the stored hash of a user at a host, `None` if there is no such account.
    pub fn authentication(&self, _user: &str, _host: &str) -> Option<crate::session::Account> {
        todo!()
    }

    /// Whether `root` has a password (the server listens beyond loopback only then).
    pub fn root_has_password(&self) -> bool {
        todo!()
    }

    /// Sets a user's password (`--root-password-file`).
    pub fn set_password(&self, _user: &str, _host: &str, _password: &str) -> Result<()> {
        todo!()
    }

    pub fn processes(&self) -> Vec<ProcessInfo> {
        todo!()
    }

    /// KILL: `query_only` leaves the connection alive. Error 1094 when there is no such session.
    pub fn kill(&self, _id: u32, _query_only: bool) -> Result<()> {
        todo!()
    }
}
