//! `muster lab tpcc`: TPC-C on a data directory or on any server with MySQL's protocol.

use crate::{
    files,
    log_arguments::LogArguments,
    machine_arguments::{MachineArguments, duration},
    open::OpenArguments,
    print::print,
    progress::LoadBars,
    size::Size,
};
use anyhow::bail;
use muster_lab::{
    target::{ServerAddress, TestedDatabase},
    tpcc::{self, Measured, RunOptions, Scale, TpccReport},
};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory; the tables are loaded if they are not in it
    #[arg(long, default_value = "./muster-lab", conflicts_with = "server")]
    dir: PathBuf,
    /// A server instead: mysql://user:password@host:port/database, or ...@localhost/database?socket=/path
    #[arg(long, value_name = "URL")]
    server: Option<ServerAddress>,
    /// Number of warehouses
    #[arg(long, default_value_t = 1, value_name = "N")]
    warehouses: u32,
    /// Clients, each with a connection and a thread of its own
    #[arg(long, default_value_t = 4, value_name = "N")]
    threads: usize,
    /// Measured seconds
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    /// Seconds that run before those
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    warm_up: f64,
    /// Seed of the data and of the clients' choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Drop the database and load it anew
    #[arg(long)]
    reload: bool,
    /// Load the data, and run nothing
    #[arg(long)]
    load_only: bool,
    /// Leave out the consistency conditions
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    machine: MachineArguments,
    /// Memory for queries of a data directory, beside the pool
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory_limit: Size,
    #[command(flatten)]
    log: LogArguments,
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

    fn options(&self, schema: String) -> anyhow::Result<RunOptions> {
        Ok(RunOptions {
            schema,
            threads: self.threads.clamp(1, 10_000),
            warm_up: duration(self.warm_up, "warm-up")?,
            measured: duration(self.seconds, "seconds")?,
            seed: self.seed,
            keeps_orders: false,
            ends_at_error: false,
            machine: None,
        })
    }
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let scale = Scale::standard(arguments.warehouses, arguments.seed)?;
    let schema = arguments.server.as_ref().and_then(ServerAddress::database).unwrap_or(tpcc::DATABASE).to_owned();
    let options = arguments.options(schema.clone())?;
    let (database, name) = match &arguments.server {
        Some(server) => (TestedDatabase::Server(server.clone()), server.shown()),
        None => {
            let open =
                OpenArguments::for_experiments(arguments.machine.pool, arguments.memory_limit, arguments.log.clone());
            (TestedDatabase::Embedded(open.open(&arguments.dir)?), arguments.dir.display().to_string())
        }
    };
    tpcc::prepare(&database, &schema, scale, arguments.reload, &LoadBars::new(&schema)).await?;
    if arguments.load_only {
        return Ok(());
    }
    let measured = Measured { database: &database, name, scale };
    let mut report = tokio::task::block_in_place(|| tpcc::measure(&measured, &options))?;
    let checked = tpcc::check(&measured, &options, !arguments.no_check, &mut report).await;
    // What was measured is shown, whatever came afterwards.
    print(tpcc::text(&report))?;
    save(&arguments, &report)?;
    checked?;
    if !report.is_clean() {
        bail!("the run was not clean");
    }
    Ok(())
}

fn save(arguments: &Arguments, report: &TpccReport) -> anyhow::Result<()> {
    files::write_json(arguments.json.as_deref(), report)?;
    if let Some(path) = &arguments.svg {
        files::write(path, tpcc::chart::svg(std::slice::from_ref(report)))?;
    }
    Ok(())
}
