//! One client's state: current database, variables, prepared statements.

use crate::{LocalFiles, Outcome, Prepared};
use muster_exec::Warning;
use muster_storage::Counters;
use muster_types::{Result, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

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

pub struct SessionOptions {
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub local_files: Arc<dyn LocalFiles>,
}

pub struct Session {}

impl Session {
    /// Connection id (KILL, PROCESSLIST).
    pub fn id(&self) -> u32 {
        todo!()
    }

    /// Splits a text at `;` into statements, as written. A syntax error shows when a statement is executed.
    pub fn split(&self, _sql: &str) -> Result<Vec<String>> {
        todo!()
    }

    /// Runs one statement.
    pub async fn execute(&mut self, _sql: &str) -> Result<Outcome> {
        todo!()
    }

    /// Runs one statement and collects its rows (none for a statement without).
    pub async fn query(&mut self, _sql: &str) -> Result<Vec<arrow_array::RecordBatch>> {
        todo!()
    }

    pub fn prepare(&mut self, _sql: &str) -> Result<Prepared> {
        todo!()
    }

    /// `parameters` in order of the `?`.
    pub async fn execute_prepared(&mut self, _id: u32, _parameters: &[Value]) -> Result<Outcome> {
        todo!()
    }

    pub fn close_prepared(&mut self, _id: u32) {
        todo!()
    }

    /// COM_INIT_DB, USE.
    pub fn use_database(&mut self, _database: &str) -> Result<()> {
        todo!()
    }

    pub fn database(&self) -> Option<&str> {
        todo!()
    }

    /// Warnings of the last statement; those raised while its rows are computed are there once they have been read.
    pub fn warnings(&self) -> Vec<Warning> {
        todo!()
    }

    /// COM_RESET_CONNECTION: variables, prepared statements and temporary state go; the login stays.
    pub fn reset(&mut self) {
        todo!()
    }

    /// COM_CHANGE_USER, after the server has authenticated the new user.
    pub fn change_user(&mut self, _user: &str, _host: &str, _database: Option<&str>) -> Result<()> {
        todo!()
    }

    /// Cancelled when the session is killed; `KILL QUERY` and [`Session::interrupter`] stop only what runs.
    pub fn killed(&self) -> CancellationToken {
        todo!()
    }

    /// Stops the statement that runs now (Ctrl-C in the shell). Can be kept and used from another thread.
    pub fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync> {
        todo!()
    }

    pub fn counters(&self) -> &Arc<Counters> {
        todo!()
    }
}
