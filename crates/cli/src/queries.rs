//! `muster lab dbt3` and `muster lab ssb`: the queries of a workload on a data directory or on any server.

use crate::{
    files, machine_arguments::MachineArguments, print::print, progress::LoadBars, server_arguments::ServerArguments,
    size::Size,
};
use anyhow::bail;
use muster_engine::{DatabaseOptions, Durability};
use muster_lab::{
    Workload,
    query_times::{QueriesReport, QueryOptions, QueryReport, chart, measure, text},
    tpcc::settings::Host,
};
use std::{path::PathBuf, time::Duration};

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory; the tables are loaded if they are not in it
    #[arg(long, default_value = "./muster-lab", conflicts_with = "server")]
    dir: PathBuf,
    #[command(flatten)]
    server: ServerArguments,
    /// Scale factor of the data
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Only the queries of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    query: Vec<String>,
    /// Drop the database and load it anew
    #[arg(long)]
    reload: bool,
    /// Leave out cold runs
    #[arg(long)]
    warm_only: bool,
    /// Runs of each query before its warm ones, which are not counted
    #[arg(long, default_value_t = 1, value_name = "N")]
    warm_up: usize,
    /// Runs end when their coefficient of variation, in percent, is not above this
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    cov: f64,
    /// ... or after so many runs
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// ... or after so many seconds, for each query, cold and warm
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Seconds after which a run is given up
    #[arg(long, default_value_t = 300.0, value_name = "SECONDS")]
    timeout: f64,
    /// Threads of one query on a data directory
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    machine: MachineArguments,
    /// Memory for queries of a data directory, beside the pool
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory_limit: Size,
    /// Save the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Save the results as a chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Arguments {
    /// Keeps the process to the processors asked for. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        self.machine.pin()
    }

    fn host(&self) -> Host {
        self.server.host().unwrap_or_else(|| {
            let options = DatabaseOptions {
                buffer_pool_bytes: self.machine.pool.0,
                memory_limit_bytes: self.memory_limit.0,
                durability: Durability::Relaxed,
                threads: self.threads.clamp(1, 256),
                ..DatabaseOptions::default()
            };
            Host::Directory { path: self.dir.clone(), options: Box::new(options) }
        })
    }

    fn options(&self, workload: Workload) -> anyhow::Result<QueryOptions> {
        let duration = |seconds: f64, name: &str| match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if duration >= Duration::from_millis(1) => Ok(duration),
            _ => bail!("--{name} {seconds} is no number of seconds above 0"),
        };
        Ok(QueryOptions {
            workload,
            schema: self.server.database().unwrap_or(workload.name()).to_owned(),
            scale: self.scale,
            only: self.query.clone(),
            reload: self.reload,
            warm_only: self.warm_only,
            before_cold: self.server.before_cold.clone(),
            warm_ups: self.warm_up,
            cov_max: self.cov / 100.0,
            runs_max: self.runs.max(1),
            time_max: duration(self.seconds, "seconds")?,
            timeout: duration(self.timeout, "timeout")?,
        })
    }
}

pub async fn run(workload: Workload, arguments: Arguments) -> anyhow::Result<()> {
    let options = arguments.options(workload)?;
    let bars = LoadBars::new(&options.schema);
    let report = measure(&arguments.host(), &options, &bars, &told).await?;
    print(text(&report))?;
    save(&arguments, &report)?;
    if !report.is_clean() {
        bail!("not all queries ran");
    }
    Ok(())
}

/// A line for each query or strategy, on standard error.
pub fn told(query: &QueryReport) {
    if let Some(reason) = &query.skipped {
        eprintln!("{}: skipped, {reason}", query.name);
        return;
    }
    match (&query.error, query.cold_ms) {
        (Some(error), _) => eprintln!("{}: {error}", query.name),
        (None, Some(cold)) => {
            eprintln!("{}: {:.1} ms cold, {:.1} ms warm", query.name, cold.median, query.warm_ms.median)
        }
        (None, None) => eprintln!("{}: {:.1} ms warm", query.name, query.warm_ms.median),
    }
}

fn save(arguments: &Arguments, report: &QueriesReport) -> anyhow::Result<()> {
    files::write_json(arguments.json.as_deref(), report)?;
    if let Some(path) = &arguments.svg {
        files::write(path, chart::svg(std::slice::from_ref(report)))?;
    }
    Ok(())
}
