//! `muster demo`: everything at once. Data that are there already are used again.

use crate::{
    open::{self, OpenArguments},
    print::print_line,
    progress::LoadBars,
    shell,
};
use comfy_table::{CellAlignment, Table, presets};
use muster_engine::{Database, Session};
use muster_lab::Workload;
use muster_server::{Server, ServerOptions};
use std::{io::IsTerminal, net::SocketAddr, path::PathBuf, sync::Arc, time::Instant};
use tokio::runtime::Runtime;

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory
    #[arg(long, default_value = "./muster-demo")]
    dir: PathBuf,
    /// Scale factor of both workloads
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Where to serve; another port is taken when this one is in use
    #[arg(long, default_value = "127.0.0.1:3306")]
    listen: SocketAddr,
    #[command(flatten)]
    open: OpenArguments,
}

pub fn run(runtime: &Runtime, arguments: Arguments) -> anyhow::Result<()> {
    let database = arguments.open.open(&arguments.dir)?;
    runtime.block_on(async {
        let mut session = open::session(&database, None)?;
        for workload in Workload::ALL {
            prepare(&mut session, workload, arguments.scale).await?;
        }
        for workload in Workload::ALL {
            print_line(format_args!("\n{}", run_queries(&mut session, workload).await?))?;
        }
        anyhow::Ok(())
    })?;
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    let server = runtime.block_on(listen(&database, &arguments))?;
    let address = server.local_addr()?;
    print_line(format_args!(
        "\nServing on {address}. Another shell: mariadb -h {} -P {} -u root dbt3",
        address.ip(),
        address.port()
    ))?;
    let serving = runtime.spawn(server.run(std::future::pending()));
    let done = shell::embedded(runtime, &database, Some("dbt3".into()));
    serving.abort();
    done
}

async fn listen(database: &Arc<Database>, arguments: &Arguments) -> anyhow::Result<Server> {
    const CONNECTIONS_MAX: usize = 151;
    let options = |listen| ServerOptions {
        listen,
        socket: None,
        connections_max: CONNECTIONS_MAX,
        tls_directory: arguments.dir.clone(),
    };
    match Server::bind(database.clone(), options(arguments.listen)).await {
        Ok(server) => Ok(server),
        Err(_) => {
            let any_port = SocketAddr::new(arguments.listen.ip(), 0);
            Ok(Server::bind(database.clone(), options(any_port)).await?)
        }
    }
}

async fn prepare(session: &mut Session, workload: Workload, scale: f64) -> anyhow::Result<()> {
    let name = workload.name();
    let data = workload.data_set(scale)?;
    if muster_lab::load::is_loaded(session, &data).await? {
        return print_line(format_args!("{name}: scale {scale} is there already"));
    }
    let since = Instant::now();
    muster_lab::load::load(session, &data, &LoadBars::new(name)).await?;
    print_line(format_args!("{name}: scale {scale} loaded with its indexes in {:.1} s", since.elapsed().as_secs_f64()))
}

/// Runs the queries once each: rows, time, pages that came from the file.
async fn run_queries(session: &mut Session, workload: Workload) -> anyhow::Result<Table> {
    session.use_database(workload.name())?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header([workload.name(), "rows", "ms", "pages read"]);
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let (mut all_ms, mut all_pages) = (0.0, 0);
    for query in workload.queries() {
        let (since, pages) = (Instant::now(), session.counters().storage().pages_read());
        let batches = session.query(query.sql.trim().trim_end_matches(';')).await?;
        let ms = since.elapsed().as_secs_f64() * 1000.0;
        let pages = session.counters().storage().pages_read() - pages;
        let rows: usize = batches.iter().map(|b| b.num_rows()).sum();
        table.add_row([query.name.to_string(), rows.to_string(), format!("{ms:.1}"), pages.to_string()]);
        all_ms += ms;
        all_pages += pages;
    }
    table.add_row(["all".to_string(), String::new(), format!("{all_ms:.1}"), all_pages.to_string()]);
    Ok(table)
}
