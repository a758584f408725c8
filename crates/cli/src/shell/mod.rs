//! `muster sql`: the shell. Works on a data directory (embedded) or, with `--host` or `--socket`, on a server.
//!
//! ```text
//!   line by line from a terminal   interactive.rs
//!   where statements run           backend.rs
//!   how answers look               output.rs
//!   plans as pictures              plan.rs
//! ```

mod backend;
mod interactive;
mod output;
pub mod plan;

use crate::{
    open::{self, OpenArguments},
    print::print,
};
use anyhow::{Context, bail};
use backend::{Address, Backend};
use muster_engine::Database;
use output::Format;
use std::{
    io::{IsTerminal, Read},
    path::PathBuf,
    sync::Arc,
};
use tokio::runtime::Runtime;

/// Where statements run.
#[derive(clap::Args)]
pub struct Place {
    /// The data directory (embedded)
    #[arg(long, conflicts_with_all = ["host", "socket"], required_unless_present_any = ["host", "socket"])]
    dir: Option<PathBuf>,
    /// A server to connect to instead
    #[arg(long, conflicts_with = "socket")]
    host: Option<String>,
    /// The Unix socket of a server on this machine
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[arg(long, default_value_t = 3306)]
    port: u16,
    #[arg(long, short, default_value = "root")]
    user: String,
    /// A file whose first line is the password; else the environment's MYSQL_PWD
    #[arg(long)]
    password_file: Option<PathBuf>,
    #[arg(long, short = 'D')]
    database: Option<String>,
    #[command(flatten)]
    open: OpenArguments,
}

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Statements to run instead of reading them
    #[arg(long, short)]
    execute: Option<String>,
    /// How results are shown; a table on a terminal, else CSV
    #[arg(long, value_enum)]
    format: Option<Format>,
}

impl Place {
    /// Opens the data directory or connects to the server.
    fn backend(&self, runtime: &Runtime) -> anyhow::Result<Backend> {
        let server = match (&self.host, &self.socket) {
            (Some(host), _) => Some(Address::Tcp { host, port: self.port }),
            (None, Some(path)) => Some(Address::Socket(path)),
            (None, None) => None,
        };
        match (&self.dir, server) {
            (Some(dir), None) => {
                let database = self.open.open(dir)?;
                // Sessions start tasks of the runtime.
                let _inside = runtime.enter();
                Ok(Backend::embedded(open::session(&database, self.database.clone())?, Some(database)))
            }
            (None, Some(address)) => {
                let password = password(self)?;
                runtime.block_on(Backend::connect(address, &self.user, password, self.database.clone()))
            }
            _ => bail!("give --dir for a data directory, or --host or --socket for a server"),
        }
    }
}

pub fn run(runtime: &Runtime, arguments: Arguments) -> anyhow::Result<()> {
    let backend = arguments.place.backend(runtime)?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if let Some(text) = &arguments.execute {
        let default = if std::io::stdout().is_terminal() { Format::Table } else { Format::Csv };
        return batch(runtime, backend, text, arguments.format.unwrap_or(default));
    }
    if terminal {
        return interactive::run(runtime, backend, arguments.format.unwrap_or(Format::Table));
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    batch(runtime, backend, &text, arguments.format.unwrap_or(Format::Csv))
}

/// The shell on a database that is open already.
pub fn embedded(runtime: &Runtime, database: &Arc<Database>, schema: Option<String>) -> anyhow::Result<()> {
    let _inside = runtime.enter();
    let backend = Backend::embedded(open::session(database, schema)?, None);
    interactive::run(runtime, backend, Format::Table)
}

/// Runs statements one after another; the first error ends it.
fn batch(runtime: &Runtime, mut backend: Backend, text: &str, format: Format) -> anyhow::Result<()> {
    for statement in backend.split(text)? {
        let (sql, vertical) = interactive::without_terminator(&statement);
        let answers = runtime.block_on(backend.run(sql))?;
        let format = if vertical { Format::Vertical } else { format };
        for answer in &answers {
            print(output::render(answer, format))?;
        }
    }
    Ok(())
}

fn password(arguments: &Place) -> anyhow::Result<Option<String>> {
    match &arguments.password_file {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            Ok(text.lines().next().map(str::to_string))
        }
        None => Ok(std::env::var("MYSQL_PWD").ok()),
    }
}
