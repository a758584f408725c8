//! `muster serve`: the MySQL server.

use crate::{open::OpenArguments, print::print_line};
use anyhow::Context;
use muster_engine::Database;
use muster_server::{Server, ServerOptions};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory; made if it is not there
    #[arg(long)]
    dir: PathBuf,
    #[arg(long, default_value = "127.0.0.1:3306")]
    listen: SocketAddr,
    #[arg(long, default_value_t = 151)]
    max_connections: usize,
    /// A file whose first line becomes the password of root
    #[arg(long, value_name = "FILE")]
    root_password_file: Option<PathBuf>,
    #[command(flatten)]
    open: OpenArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let database = arguments.open.open(&arguments.dir)?;
    if let Some(file) = &arguments.root_password_file {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let password = text.lines().next().unwrap_or_default();
        database.set_password("root", "localhost", password)?;
    }
    let server = bind(&database, &arguments.dir, arguments.listen, arguments.max_connections).await?;
    // A server works on without anybody who reads what it says.
    let _ = print_line(format_args!("muster: listening on {}", server.local_addr()?));
    server.run(stop_signal()).await;
    let _ = print_line("muster: stopped");
    Ok(())
}

pub async fn bind(
    database: &Arc<Database>,
    directory: &Path,
    listen: SocketAddr,
    connections_max: usize,
) -> anyhow::Result<Server> {
    let options = ServerOptions { listen, connections_max, tls_directory: directory.to_path_buf() };
    Ok(Server::bind(database.clone(), options).await?)
}

/// Resolves on SIGINT or SIGTERM.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(e) => {
            tracing::warn!("SIGTERM: {e}");
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
