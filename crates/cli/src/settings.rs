//! `muster lab settings`: what settings of the log bring to TPC-C, and what crashes take with each.

use crate::{
    files,
    machine_arguments::{MachineArguments, duration},
    print::print,
    progress::LoadBars,
};
use anyhow::bail;
use muster_engine::DatabaseOptions;
use muster_lab::{
    target::ServerAddress,
    tpcc::{
        self, RunOptions, Scale,
        settings::{Comparison, Host, SettingsOptions, SettingsReport, SimulatedCrashes, compare, text},
    },
};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// durability (tuned against unsafe settings) or compressed-log
    comparison: String,
    /// The data directory; the tables are loaded if they are not in it
    #[arg(long, default_value = "./muster-lab", conflicts_with = "server")]
    dir: PathBuf,
    /// A server instead, whose variables are set, and set back afterwards
    #[arg(long, value_name = "URL")]
    server: Option<ServerAddress>,
    /// The shell command that runs the server of --server in the foreground: it is started for each variant with the
    /// settings as options behind it, and killed to see what is lost
    #[arg(long, value_name = "COMMAND", requires = "server")]
    start: Option<String>,
    /// Only the variants of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Number of warehouses
    #[arg(long, default_value_t = 1, value_name = "N")]
    warehouses: u32,
    /// Clients, each with a connection and a thread of its own
    #[arg(long, default_value_t = 4, value_name = "N")]
    threads: usize,
    /// Measured seconds of a run
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Seconds that run before those
    #[arg(long, default_value_t = 3.0, value_name = "SECONDS")]
    warm_up: f64,
    /// Each variant runs so often; in a round each runs once
    #[arg(long, default_value_t = 3, value_name = "N")]
    rounds: u32,
    /// A server of --start is killed so often with each variant
    #[arg(long, default_value_t = 3, value_name = "N")]
    kills: u32,
    /// Moments in which a simulated machine that runs Muster loses its power, with each variant
    #[arg(long, default_value_t = 0, value_name = "N")]
    power_cuts: u32,
    /// Disks that may be left of each such moment, and are looked at
    #[arg(long, default_value_t = 8, value_name = "N")]
    disks: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Drop the database and load it anew
    #[arg(long)]
    reload: bool,
    #[command(flatten)]
    machine: MachineArguments,
    /// Save the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Save the runs as a chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Arguments {
    /// Keeps the process to the processors asked for. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        self.machine.pin()
    }

    fn host(&self) -> Host {
        match (&self.server, &self.start) {
            (Some(address), Some(command)) => Host::Command { address: address.clone(), command: command.clone() },
            (Some(address), None) => Host::Server(address.clone()),
            (None, _) => {
                let options = DatabaseOptions { buffer_pool_bytes: self.machine.pool.0, ..DatabaseOptions::default() };
                Host::Directory { path: self.dir.clone(), options: Box::new(options) }
            }
        }
    }

    fn options(&self) -> anyhow::Result<SettingsOptions> {
        let named = self.server.as_ref().and_then(ServerAddress::database);
        let run = RunOptions {
            schema: named.unwrap_or(tpcc::DATABASE).to_owned(),
            threads: self.threads.clamp(1, 10_000),
            warm_up: duration(self.warm_up, "warm-up")?,
            measured: duration(self.seconds, "seconds")?,
            seed: self.seed,
            keeps_orders: false,
            ends_at_error: false,
            machine: None,
        };
        let simulated = (self.power_cuts > 0).then(|| SimulatedCrashes {
            moments: self.power_cuts,
            disks: self.disks,
            threads: run.threads,
            seed: self.seed,
            observer: Box::new(LoadBars::new("simulated")),
        });
        Ok(SettingsOptions {
            scale: Scale::standard(self.warehouses, self.seed)?,
            run,
            only: self.only.clone(),
            rounds: self.rounds,
            kills: self.kills,
            simulated,
            reload: self.reload,
        })
    }
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Some(comparison) = Comparison::find(&arguments.comparison) else {
        let names = Comparison::ALL.map(|comparison| comparison.name).join(", ");
        bail!("no comparison '{}': there are {names}", arguments.comparison);
    };
    let names: Vec<&str> = comparison.variants.iter().map(|variant| variant.name).collect();
    if let Some(unknown) = arguments.only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no variant '{unknown}': there are '{}'", names.join("', '"));
    }
    let options = arguments.options()?;
    let bars = LoadBars::new(&options.run.schema);
    let report = compare(&comparison, &arguments.host(), &options, &bars, &|line| eprintln!("{line}")).await?;
    print(text(&report))?;
    save(&arguments, &report)
}

fn save(arguments: &Arguments, report: &SettingsReport) -> anyhow::Result<()> {
    files::write_json(arguments.json.as_deref(), report)?;
    if let Some(path) = &arguments.svg {
        let runs = report.variants.iter().flat_map(|variant| {
            let named = |run: &tpcc::TpccReport| tpcc::TpccReport {
                database: format!("{}: {}", variant.name, run.database),
                ..run.clone()
            };
            variant.runs.iter().map(named)
        });
        files::write(path, tpcc::chart::svg(&runs.collect::<Vec<_>>()))?;
    }
    Ok(())
}
