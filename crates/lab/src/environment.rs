//! What a measurement ran under: the server's version and settings, and what the machine adds to its times.

use crate::target::{Result, TargetSession};
use serde::Serialize;
use std::collections::BTreeMap;

/// Variables that decide what a commit waits for, how much memory there is and what runs in the background, by MySQL's
/// and MariaDB's names.
const SETTINGS: [&str; 15] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_log_buffer_size",
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_load_at_startup",
    "innodb_flush_method",
    "innodb_adaptive_hash_index",
    "innodb_page_cleaners",
    "innodb_max_dirty_pages_pct",
    "sync_binlog",
    "log_bin",
];

/// Where Linux says whether addresses are randomized: 0 is off.
const RANDOMIZATION: &str = "/proc/sys/kernel/randomize_va_space";
/// The bit of a process's personality that switches randomization off for it and for what it starts (personality(2)).
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;

#[derive(Debug, Clone, Default, Serialize)]
pub struct Environment {
    /// What the database says of its version.
    pub version: String,
    /// Those of [`SETTINGS`] that the database has.
    pub settings: BTreeMap<String, String>,
    /// Processors that this process may use.
    pub processors: usize,
    /// Whether this process, and with it a server that it starts, has randomized addresses; `None` where the system
    /// does not say.
    pub randomized_addresses: Option<bool>,
}

/// A database of a report.
#[derive(Debug, Clone, Serialize)]
pub struct DatabaseReport {
    /// The data directory, or the server's address.
    pub name: String,
    pub environment: Environment,
}

impl Environment {
    /// Asks the database and the system. Errors: those of the statements.
    pub async fn of<T: TargetSession>(target: &mut T) -> Result<Environment> {
        let version = target.query("SELECT VERSION()").await?.texts();
        Ok(Environment {
            version: version.into_iter().flatten().flatten().next().unwrap_or_default(),
            settings: settings(target).await?,
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            randomized_addresses: randomized_addresses(),
        })
    }
}

async fn settings<T: TargetSession>(target: &mut T) -> Result<BTreeMap<String, String>> {
    let rows = target.query("SHOW GLOBAL VARIABLES").await?.texts();
    let pairs = rows.into_iter().filter_map(|row| match <[_; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) if SETTINGS.contains(&name.as_str()) => Some((name, value)),
        _ => None,
    });
    Ok(pairs.collect())
}

fn randomized_addresses() -> Option<bool> {
    let system = std::fs::read_to_string(RANDOMIZATION).ok()?;
    let personality = std::fs::read_to_string("/proc/self/personality").ok()?;
    let personality = u32::from_str_radix(personality.trim(), 16).ok()?;
    Some(system.trim() != "0" && personality & ADDR_NO_RANDOMIZE == 0)
}
