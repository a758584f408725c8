//! `muster lab`: experiments that show what access strategies do.

use crate::{
    affinity, estimates, files, functions, pages,
    print::{print, print_line},
    progress::LoadBars,
    queries, regret,
    server_arguments::ServerArguments,
    server_experiments, settings,
    size::Size,
    tpcc,
};
use anyhow::{Context, bail};
use muster_engine::LoadProgress;
use muster_lab::{
    DataTable, EXPERIMENTS, Experiment, Lab, LabObserver, Options, Report, Workload,
    load::LoadObserver,
    report::{StrategyReport, json::json, svg::svg, table::table},
};
use std::{path::PathBuf, sync::Arc, time::Duration};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Experiments; `list` tells their names, none means all
    names: Vec<String>,
    /// The data directory; a workload that is not in it is loaded
    #[arg(long, default_value = "./muster-lab", conflicts_with = "server")]
    dir: PathBuf,
    #[command(flatten)]
    pub server: ServerArguments,
    /// Scale factor of the workloads
    #[arg(long, default_value_t = 0.1)]
    pub scale: f64,
    /// Memory for pages; else an eighth of the workload's
    #[arg(long, value_name = "SIZE")]
    pool: Option<Size>,
    /// Memory for queries, beside the pool
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory_limit: Size,
    /// Size of a page when the directory is made, 4K to 64K
    #[arg(long, default_value = "16K", value_name = "SIZE")]
    page_size: Size,
    /// Threads of one query; the process keeps to as many processors
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Read all indexes before warm runs
    #[arg(long)]
    preload: bool,
    /// Runs end when their coefficient of variation, in percent, is not above this
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub cov: f64,
    /// ... or after so many runs
    #[arg(long, default_value_t = 10)]
    pub runs: usize,
    /// ... or after so many seconds, for each strategy, with an empty and with a warm pool
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// Save the results as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Save the results as a chart
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The plans that the optimizer chooses against the best ones that hints can force
    Regret(regret::Arguments),
    /// Rows and costs that the optimizer expects of each operator, beside what is found
    Estimates(estimates::Arguments),
    /// TPC-C without think times, on a data directory or on any server with MySQL's protocol
    Tpcc(tpcc::Arguments),
    /// The 22 queries of DBT-3, on a data directory or on any server with MySQL's protocol
    Dbt3(queries::Arguments),
    /// The 13 queries of the Star Schema Benchmark, on a data directory or on any server with MySQL's protocol
    Ssb(queries::Arguments),
    /// Pages of a shop, a forum and a ticket system, on a data directory or on any servers with MySQL's protocol
    Pages(pages::Arguments),
    /// The functions over a table of a million rows, on a data directory or on any servers with MySQL's protocol
    Functions(functions::Arguments),
    /// What settings of the log bring to TPC-C, and what crashes take with each
    Settings(settings::Arguments),
}

impl Arguments {
    /// Keeps the process to as many processors as a query has threads. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        let threads = match &self.command {
            Some(Command::Regret(regret)) => regret.threads,
            Some(Command::Estimates(estimates)) => estimates.threads,
            Some(Command::Tpcc(tpcc)) => return tpcc.pin(),
            Some(Command::Dbt3(queries) | Command::Ssb(queries)) => return queries.pin(),
            Some(Command::Pages(pages)) => return pages.pin(),
            Some(Command::Functions(functions)) => return functions.pin(),
            Some(Command::Settings(settings)) => return settings.pin(),
            None => self.threads,
        };
        affinity::pin(threads.max(1)).map(drop)
    }
}

pub async fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command.take() {
        Some(Command::Regret(regret)) => return regret::run(regret).await,
        Some(Command::Estimates(estimates)) => return estimates::run(estimates).await,
        Some(Command::Tpcc(tpcc)) => return tpcc::run(tpcc).await,
        Some(Command::Dbt3(queries)) => return queries::run(Workload::Dbt3, queries).await,
        Some(Command::Ssb(queries)) => return queries::run(Workload::Ssb, queries).await,
        Some(Command::Pages(pages)) => return pages::run(pages).await,
        Some(Command::Functions(functions)) => return functions::run(functions).await,
        Some(Command::Settings(settings)) => return settings::run(settings).await,
        None => {}
    }
    if arguments.names.iter().any(|n| n == "list") {
        for experiment in EXPERIMENTS {
            print_line(format_args!("{:16} {}", experiment.name, experiment.title))?;
        }
        return Ok(());
    }
    let find = |name: &String| {
        Experiment::find(name).with_context(|| format!("no experiment '{name}': `muster lab list` tells their names"))
    };
    let chosen: Vec<&Experiment> = match arguments.names.is_empty() {
        true => EXPERIMENTS.iter().collect(),
        false => arguments.names.iter().map(find).collect::<anyhow::Result<_>>()?,
    };
    if !(arguments.seconds > 0.0 && arguments.seconds < 1e9) {
        bail!("--seconds must be above 0");
    }
    if let Some(host) = arguments.server.host() {
        return server_experiments::run(&arguments, &host, &chosen).await;
    }
    let lab = Lab::new(Options {
        directory: arguments.dir.clone(),
        scale: arguments.scale,
        pool_bytes: arguments.pool.map(|p| p.0),
        memory_limit_bytes: arguments.memory_limit.0,
        page_size: arguments.page_size.0,
        threads: arguments.threads.clamp(1, 256),
        preload: arguments.preload,
        cov_max: arguments.cov / 100.0,
        runs_max: arguments.runs.max(1),
        time_max: Duration::from_secs_f64(arguments.seconds),
    });
    let mut reports: Vec<Report> = Vec::new();
    for experiment in chosen {
        let observer = Progress(LoadBars::new(experiment.workload.name()));
        lab.prepare(experiment.workload, &observer).await?;
        let report = lab.run(experiment, &observer).await?;
        print(table(&report))?;
        reports.push(report);
        // After each, so that what ran is not lost with what did not.
        save(&arguments, &reports)?;
    }
    Ok(())
}

fn save(arguments: &Arguments, reports: &[Report]) -> anyhow::Result<()> {
    for (path, text) in [(&arguments.json, json as fn(&[Report]) -> String), (&arguments.svg, svg)] {
        if let Some(path) = path {
            files::write(path, text(reports))?;
        }
    }
    Ok(())
}

/// Loads show bars; strategies tell on standard error that they are done.
struct Progress(LoadBars);

impl LoadObserver for Progress {
    fn table_started(&self, table: &DataTable, progress: Arc<LoadProgress>) {
        self.0.table_started(table, progress);
    }

    fn table_finished(&self, table: &DataTable, rows: u64) {
        self.0.table_finished(table, rows);
    }
}

impl LabObserver for Progress {
    fn experiment_started(&self, experiment: &Experiment) {
        eprintln!("{}: {}", experiment.name, experiment.title);
    }

    fn strategy_finished(&self, _: &Experiment, report: &StrategyReport) {
        let (cold, warm) = (report.cold.ms.min, report.warm.ms.min);
        eprintln!("  {:30} {cold:10.1} ms from an empty pool, {warm:10.1} ms from a warm one", report.name);
    }
}
