//! One measurement: a run on prepared data, and whether the data are consistent afterwards.

use super::{RunOptions, Scale, TpccReport, conditions, log_cost::log_costs, run};
use crate::target::{Result, Target, TestedDatabase};
use std::collections::BTreeMap;

/// Variables that decide what a commit waits for and how much memory there is, by MySQL's and MariaDB's names.
const SETTINGS: [&str; 10] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_log_buffer_size",
    "innodb_buffer_pool_size",
    "innodb_flush_method",
    "sync_binlog",
    "log_bin",
];

/// What a measurement measures.
pub struct Measured<'a> {
    pub database: &'a TestedDatabase,
    /// The data directory or the server, for the report.
    pub name: String,
    pub scale: Scale,
}

/// Runs the mix. Blocks until it has ended; not to be called on a runtime's thread.
pub fn measure(measured: &Measured, options: &RunOptions) -> Result<TpccReport> {
    let result = run(measured.database, measured.scale, options)?;
    Ok(TpccReport::new(measured.name.clone(), measured.scale, options, result))
}

/// Adds to a report what the database says of itself, what each kind of transaction costs in the log, and the
/// conditions if they are asked for.
pub async fn check(
    measured: &Measured<'_>,
    options: &RunOptions,
    conditions: bool,
    report: &mut TpccReport,
) -> Result<()> {
    report.log_by_kind = log_costs(measured.database, measured.scale, options).await?;
    let mut target = measured.database.connect(Some(&options.schema)).await?;
    let version = target.query("SELECT VERSION()").await?.texts();
    report.version = version.into_iter().flatten().flatten().next().unwrap_or_default();
    report.settings = settings(&mut target).await?;
    if conditions {
        report.conditions = conditions::check_all(&mut target, measured.scale).await?;
    }
    Ok(())
}

async fn settings<T: Target>(target: &mut T) -> Result<BTreeMap<String, String>> {
    let rows = target.query("SHOW GLOBAL VARIABLES").await?.texts();
    let pairs = rows.into_iter().filter_map(|row| match <[_; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) if SETTINGS.contains(&name.as_str()) => Some((name, value)),
        _ => None,
    });
    Ok(pairs.collect())
}
