//! `muster serve`: the MySQL server.

use crate::{open::OpenArguments, print::print_line};
use anyhow::Context;
use muster_server::{DEFAULT_SOCKET_NAME, Server, ServerOptions};
use std::{ffi::OsString, net::SocketAddr, path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory; made if it is not there
    #[arg(long)]
    dir: PathBuf,
    #[arg(long, default_value = "127.0.0.1:3306")]
    listen: SocketAddr,
    /// The Unix socket to listen on beside TCP: a path, or nothing for none; muster.sock in the data directory if not
    /// given
    #[arg(long, value_name = "PATH")]
    socket: Option<OsString>,
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
    let Arguments { dir, listen, socket, max_connections, .. } = arguments;
    let socket = socket.map_or_else(|| dir.join(DEFAULT_SOCKET_NAME), PathBuf::from);
    let socket = Some(socket).filter(|path| !path.as_os_str().is_empty());
    let options = ServerOptions { listen, socket, connections_max: max_connections, tls_directory: dir };
    let server = Server::bind(Arc::clone(&database), options).await?;
    // A server works on without anybody who reads what it says.
    let _ = print_line(format_args!("muster: listening on {}", server.local_addr()?));
    if let Some(path) = server.socket_path() {
        let _ = print_line(format_args!("muster: listening on {}", path.display()));
    }
    server.run(stop_signal()).await;
    // Sessions may still hold the database: what the next start would have to repeat is written now.
    database.checkpoint()?;
    let _ = print_line("muster: stopped");
    Ok(())
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
