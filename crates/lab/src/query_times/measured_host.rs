//! A database whose memory can be made cold.

use crate::{
    runner::empty_pool,
    target::{Answer, AnyTarget, Result, TargetError, TargetSession, TestedDatabase},
    tpcc::settings::{Host, RunningHost, Variant},
};
use std::{process::Stdio, time::Duration};

/// Settings as the server's command or the data directory's options have them.
const AS_STARTED: Variant = Variant { name: "as started", settings: &[], table_options: "" };

pub struct MeasuredHost<'a> {
    host: &'a Host,
    schema: String,
    timeout: Duration,
    /// Arguments of SET for each connection.
    settings: Vec<String>,
    running: RunningHost,
    target: Option<AnyTarget>,
}

impl<'a> MeasuredHost<'a> {
    /// Opens or starts it. No connection is made yet.
    pub async fn start(host: &'a Host, schema: &str, timeout: Duration) -> Result<MeasuredHost<'a>> {
        let running = host.start(&AS_STARTED).await?;
        Ok(MeasuredHost { host, schema: schema.to_owned(), timeout, settings: Vec::new(), running, target: None })
    }

    pub fn database(&self) -> &TestedDatabase {
        &self.running.database
    }

    /// Returns true if [`MeasuredHost::go_cold`] can do something.
    pub fn can_go_cold(&self) -> bool {
        !matches!(self.host, Host::Server(_))
    }

    /// Connects anew with these arguments of SET, now and after each start. Error: the database refuses one.
    pub async fn connect_with(&mut self, settings: Vec<String>) -> Result<()> {
        self.settings = settings;
        self.target = None;
        self.target().await.map(drop)
    }

    /// The connection that queries run on, with the time limit of statements and the settings.
    pub async fn target(&mut self) -> Result<&mut AnyTarget> {
        if self.target.is_none() {
            let mut target = self.running.database.connect(Some(&self.schema)).await?;
            limit(&mut target, self.timeout).await?;
            for setting in &self.settings {
                target.query(&format!("SET {setting}")).await?;
            }
            self.target = Some(target);
        }
        self.target.as_mut().ok_or_else(|| TargetError::Connection("there is none".into()))
    }

    /// Runs a query. A connection that failed is made anew for the next one.
    pub async fn query(&mut self, sql: &str) -> Result<Answer> {
        let answer = self.target().await?.query(sql).await;
        if answer.as_ref().is_err_and(TargetError::is_fatal) {
            self.target = None;
        }
        answer
    }

    /// Empties a data directory's pool; starts a server again, with the shell command `before` in between. Errors: the
    /// command fails; a server that does not start.
    pub async fn go_cold(&mut self, before: Option<&str>) -> Result<()> {
        if let TestedDatabase::Embedded(database) = &self.running.database {
            return Ok(empty_pool(database).await?);
        }
        if !self.can_go_cold() {
            return Err(TargetError::Answer("a server that runs already cannot be made cold".into()));
        }
        // What the pool holds is not to be read back by the start. Not every server has the variable.
        match self.target().await?.query("SET GLOBAL innodb_buffer_pool_dump_at_shutdown = OFF").await {
            Ok(_) | Err(TargetError::Statement { .. }) => {}
            Err(e) => return Err(e),
        }
        self.target = None;
        self.running.stop_process().await?;
        if let Some(command) = before {
            run(command)?;
        }
        self.running = self.host.start(&AS_STARTED).await?;
        self.target().await.map(drop)
    }

    /// Ends a server that was started.
    pub async fn stop(self) -> Result<()> {
        drop(self.target);
        self.running.stop().await
    }
}

fn run(command: &str) -> Result<()> {
    let mut shell = std::process::Command::new("sh");
    let status = shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(TargetError::Answer(format!("'{command}' failed: {status}"))),
        Err(e) => Err(TargetError::Answer(format!("'{command}' failed: {e}"))),
    }
}

/// Limits the time of a statement: MySQL's variable counts milliseconds, MariaDB's seconds.
async fn limit(target: &mut AnyTarget, timeout: Duration) -> Result<()> {
    let mysql = format!("SET SESSION max_execution_time = {}", timeout.as_millis());
    match target.query(&mysql).await {
        Err(TargetError::Statement { number: UNKNOWN_VARIABLE, .. }) => {}
        result => return result.map(drop),
    }
    let mariadb = format!("SET SESSION max_statement_time = {}", timeout.as_secs_f64());
    target.query(&mariadb).await.map(drop)
}

/// ER_UNKNOWN_SYSTEM_VARIABLE.
pub(super) const UNKNOWN_VARIABLE: u16 = 1193;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_engine::DatabaseOptions;

    async fn pages_read(host: &mut MeasuredHost<'_>) -> u64 {
        let rows = host.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'").await.unwrap().texts();
        rows[0][1].as_deref().and_then(|n| n.parse().ok()).unwrap()
    }

    #[tokio::test]
    async fn cold_memory_has_no_pages() {
        let folder = tempfile::tempdir().unwrap();
        let options = DatabaseOptions { buffer_pool_bytes: 8 << 20, ..DatabaseOptions::default() };
        let host = Host::Directory { path: folder.path().to_owned(), options: Box::new(options) };
        let mut host = MeasuredHost::start(&host, "test", Duration::from_secs(60)).await.unwrap();
        let mut target = host.database().connect(None).await.unwrap();
        for sql in ["CREATE DATABASE test", "CREATE TABLE test.t (a INT PRIMARY KEY)", "INSERT INTO test.t VALUES (1)"]
        {
            target.query(sql).await.unwrap();
        }
        drop(target);
        let mut reads = Vec::new();
        for cold in [true, false, true] {
            if cold {
                host.go_cold(None).await.unwrap();
            }
            let before = pages_read(&mut host).await;
            assert_eq!(host.query("SELECT COUNT(*) FROM t").await.unwrap().number(), Ok(1));
            reads.push(pages_read(&mut host).await - before);
        }
        assert!(reads[0] > 0 && reads[1] == 0 && reads[2] > 0, "{reads:?}");
    }

    #[test]
    fn a_command_that_fails_is_an_error() {
        assert!(run("exit 3").is_err() && run("true").is_ok());
    }
}
