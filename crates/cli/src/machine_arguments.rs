//! The parts of the machine that a measuring command uses.

use crate::{affinity, size::Size};
use anyhow::Context;
use std::time::Duration;

#[derive(clap::Args)]
pub struct MachineArguments {
    /// Keep the clients, a data directory's engine and a server of --start to as many processors
    #[arg(long, value_name = "N")]
    processors: Option<usize>,
    /// Memory for pages of a data directory
    #[arg(long, default_value = "1G", value_name = "SIZE")]
    pub pool: Size,
}

impl MachineArguments {
    /// Keeps the process to the processors asked for. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        self.processors.map_or(Ok(()), |count| affinity::pin(count.max(1)).map(drop))
    }
}

/// The time that an option of this name says in seconds.
pub fn duration(seconds: f64, name: &str) -> anyhow::Result<Duration> {
    Duration::try_from_secs_f64(seconds).with_context(|| format!("--{name} {seconds} is no number of seconds"))
}
