//! `muster lab pages`: pages of applications on one database, or on two in turn.

use crate::{database_arguments::DatabaseArguments, files, print::print, progress::LoadBars};
use anyhow::bail;
use muster_lab::pages::{self, PageOptions, PageReport, measure, text};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    databases: DatabaseArguments,
    /// Scale of the data: 1 is 50,000 users with 150,000 orders
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Only the pages whose names begin so
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    page: Vec<String>,
    /// Drop the databases and load them anew
    #[arg(long)]
    reload: bool,
    /// Rounds, in each of which a page runs on each database
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Runs of a page in a round, each with other values
    #[arg(long, default_value_t = 40)]
    runs: usize,
    /// Runs of each page before the first round, which are not counted
    #[arg(long, default_value_t = 10, value_name = "N")]
    warm_up: usize,
    /// Decides which values the pages have
    #[arg(long, default_value_t = 1)]
    seed: u64,
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
    let options = PageOptions {
        scale: arguments.scale,
        only: arguments.page.clone(),
        reload: arguments.reload,
        rounds: arguments.rounds,
        runs: arguments.runs,
        warm_ups: arguments.warm_up,
        seed: arguments.seed,
    };
    let databases = arguments.databases.databases(pages::DATABASE)?;
    let report = measure(&databases, &options, &LoadBars::new(pages::DATABASE), &told).await?;
    print(text(&report))?;
    files::write_json(arguments.json.as_deref(), &report)?;
    if !report.is_clean() {
        bail!("not all pages ran");
    }
    Ok(())
}

/// A line for each page, on standard error.
fn told(page: &PageReport) {
    match &page.error {
        Some(error) => eprintln!("{}: {error}", page.name),
        None => {
            let medians: Vec<String> = page.times.iter().map(|times| format!("{:.0} us", times.us.median)).collect();
            eprintln!("{}: {}", page.name, medians.join(", "));
        }
    }
}
