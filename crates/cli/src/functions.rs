//! `muster lab functions`: the functions over a table of a million rows, on one database or on two in turn.

use crate::{
    database_arguments::DatabaseArguments, files, machine_arguments::duration, print::print, progress::LoadBars,
};
use anyhow::bail;
use muster_lab::functions::{self, CallReport, FunctionOptions, measure, text};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    databases: DatabaseArguments,
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Only these functions
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    function: Vec<String>,
    /// Drop the databases and load them anew
    #[arg(long)]
    reload: bool,
    /// Runs of each call on each database, after one that is not counted
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// No round of a call begins after so many seconds, and no statement takes longer
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    /// Save the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Arguments {
    /// Keeps the process to the processors asked for. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        self.databases.pin()
    }
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let options = FunctionOptions {
        rows: arguments.rows.max(1),
        only: arguments.function.clone(),
        reload: arguments.reload,
        rounds: arguments.rounds,
        time_max: duration(arguments.seconds, "seconds")?,
    };
    let databases = arguments.databases.databases(functions::DATABASE)?;
    let report = measure(&databases, &options, &LoadBars::new(functions::DATABASE), &told).await?;
    print(text(&report))?;
    files::write_json(arguments.json.as_deref(), &report)?;
    if !report.is_clean() {
        bail!("not all calls ran with the same results");
    }
    Ok(())
}

/// A line for each call, on standard error.
fn told(call: &CallReport) {
    match &call.error {
        Some(error) => eprintln!("{}: {error}", call.sql),
        None => {
            let medians: Vec<String> = call.times_ms.iter().map(|times| format!("{:.1} ms", times.median)).collect();
            eprintln!("{}: {}", call.sql, medians.join(", "));
        }
    }
}
