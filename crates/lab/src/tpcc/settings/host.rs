//! Where variants run: a data directory, a server that takes settings as they come, or one that is started for each.

use super::{Variant, variant::LOG_CAPACITY};
use crate::target::{Result, ServerAddress, TargetError, TargetSession, TestedDatabase};
use muster_engine::{Database, DatabaseOptions};
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The longest time that a server may take to start, with its recovery, or to stop.
const PATIENCE: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);

pub enum Host {
    /// Opened by this process, with the settings of each variant in these options.
    Directory { path: PathBuf, options: Box<DatabaseOptions> },
    /// Settings are changed by SET GLOBAL, and changed back.
    Server(ServerAddress),
    /// A shell command that runs a server in the foreground at this address; settings become options behind it.
    Command { address: ServerAddress, command: String },
}

/// A database that runs with a variant's settings.
pub struct RunningHost {
    pub database: TestedDatabase,
    process: Option<Child>,
    /// What variables were before.
    restored: Vec<(&'static str, String)>,
}

impl Host {
    /// What a report calls it.
    pub fn shown(&self) -> String {
        match self {
            Host::Directory { path, .. } => path.display().to_string(),
            Host::Server(address) | Host::Command { address, .. } => address.shown(),
        }
    }

    /// Starts, opens or sets. Errors: a setting that there is not, or that cannot be changed while the server runs; a
    /// server that does not start.
    pub async fn start(&self, variant: &Variant) -> Result<RunningHost> {
        let running = |database| RunningHost { database, process: None, restored: Vec::new() };
        match self {
            Host::Directory { path, options } => {
                let mut options = options.clone();
                variant.apply(&mut options)?;
                Ok(running(TestedDatabase::Embedded(Database::open(path, *options)?)))
            }
            Host::Server(address) => {
                let mut running = running(TestedDatabase::Server(address.clone()));
                match running.set(variant).await {
                    Ok(()) => Ok(running),
                    Err(e) => {
                        running.restore().await?;
                        Err(e)
                    }
                }
            }
            Host::Command { address, command } => {
                let mut running = running(TestedDatabase::Server(address.clone()));
                running.process = Some(spawn(command, variant)?);
                running.wait_until_open().await?;
                Ok(running)
            }
        }
    }
}

/// MariaDB's name of a variable that only MySQL has.
fn mariadb_name(name: &str) -> Option<&'static str> {
    (name == LOG_CAPACITY).then_some("innodb_log_file_size")
}

/// `exec` makes the shell's process that of the server, so that a signal reaches the server.
fn spawn(command: &str, variant: &Variant) -> Result<Child> {
    let line = format!("exec {command} {}", variant.command_line().join(" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).stdin(Stdio::null()).stdout(Stdio::null());
    shell.spawn().map_err(|e| TargetError::Connection(format!("{command}: {e}")))
}

impl RunningHost {
    /// Changes variables, and remembers what they were.
    async fn set(&mut self, variant: &Variant) -> Result<()> {
        let mut target = self.database.connect(None).await?;
        for (name, value) in variant.settings {
            let asked = |name: &str| format!("SELECT @@GLOBAL.{name}");
            let (name, before) = match (target.query(&asked(name)).await, mariadb_name(name)) {
                (Err(TargetError::Statement { number: 1193, .. }), Some(other)) => {
                    (other, target.query(&asked(other)).await?.texts())
                }
                (answer, _) => (*name, answer?.texts()),
            };
            let before = before.into_iter().flatten().flatten().next().unwrap_or_default();
            let same = [("ON", "1"), ("OFF", "0")].contains(&(*value, before.as_str()));
            if before == *value || same {
                continue;
            }
            target.query(&format!("SET GLOBAL {name} = {value}")).await?;
            self.restored.push((name, before));
        }
        Ok(())
    }

    async fn restore(&mut self) -> Result<()> {
        if self.restored.is_empty() {
            return Ok(());
        }
        let mut target = self.database.connect(None).await?;
        for (name, value) in self.restored.drain(..) {
            target.query(&format!("SET GLOBAL {name} = {value}")).await?;
        }
        Ok(())
    }

    /// Waits for the server to take connections. Error: its process has ended.
    async fn wait_until_open(&mut self) -> Result<()> {
        let since = Instant::now();
        loop {
            let error = match self.database.connect(None).await {
                Ok(_) => return Ok(()),
                Err(e) => e,
            };
            let ended = self.process.as_mut().and_then(|process| process.try_wait().ok().flatten());
            if let Some(status) = ended {
                return Err(TargetError::Connection(format!("the server has ended: {status}")));
            }
            if since.elapsed() > PATIENCE {
                return Err(error);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends a server that was started, and sets variables back. Error: a server that does not stop; it is killed.
    pub async fn stop(mut self) -> Result<()> {
        self.restore().await?;
        self.stop_process().await
    }

    /// Ends a server that was started, which can be started again then.
    pub async fn stop_process(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        // The server may end before it answers.
        let asked = match self.database.connect(None).await {
            Ok(mut target) => target.query("SHUTDOWN").await.map(drop),
            Err(e) => Err(e),
        };
        let since = Instant::now();
        while matches!(process.try_wait(), Ok(None)) {
            if since.elapsed() > PATIENCE {
                end(process);
                return asked.and(Err(TargetError::Connection("the server does not stop".into())));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// The process of a server that was started, to be killed.
    pub fn take_process(&mut self) -> Option<Child> {
        self.process.take()
    }
}

impl Drop for RunningHost {
    /// An error on the way leaves no server behind.
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            end(process);
        }
    }
}

/// SIGKILL, and no zombie. A process that has ended already is as good.
pub fn end(mut process: Child) {
    let _ = process.kill();
    let _ = process.wait();
}
