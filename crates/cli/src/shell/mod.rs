//! `muster sql`: the shell. Works on a data directory (embedded) or, with `--host` or `--socket`, on a server.
//!
//! ```text
//!   line by line from a terminal   interactive.rs
//!   statements of a file or pipe   script.rs
//!   where statements run           backend.rs
//!   how answers look               output.rs
//!   plans as pictures              plan.rs
//! ```

pub mod backend;
mod interactive;
pub mod output;
pub mod plan;
mod script;

use crate::{
    open::{self, OpenArguments},
    print::print,
};
use anyhow::{Context, bail};
use backend::{Address, Backend};
use muster_engine::Database;
use output::Format;
use script::Script;
use std::{
    io::{BufRead, BufReader, IsTerminal},
    path::PathBuf,
    sync::Arc,
};
use tokio::runtime::Runtime;

/// Bytes of a script that are read at once.
const READ_BYTES: usize = 1 << 20;

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
    /// Go on behind a statement that fails, and pass stored programs and triggers of a dump by
    #[arg(long, short)]
    force: bool,
}

impl Place {
    /// Opens the data directory or connects to the server.
    pub fn backend(&self, runtime: &Runtime) -> anyhow::Result<Backend> {
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
        return run_script(runtime, backend, text.as_bytes(), arguments.format.unwrap_or(default), arguments.force);
    }
    if terminal {
        return interactive::run(runtime, backend, arguments.format.unwrap_or(Format::Table));
    }
    let input = BufReader::with_capacity(READ_BYTES, std::io::stdin());
    run_script(runtime, backend, input, arguments.format.unwrap_or(Format::Csv), arguments.force)
}

/// The shell on a database that is open already.
pub fn embedded(runtime: &Runtime, database: &Arc<Database>, schema: Option<String>) -> anyhow::Result<()> {
    let _inside = runtime.enter();
    let backend = Backend::embedded(open::session(database, schema)?, None);
    interactive::run(runtime, backend, Format::Table)
}

/// Runs statements one after another; the first error ends it, told with its line.
///
/// `force`: errors are told and passed by. Stored programs, which Muster does not run, count as warnings only.
pub fn run_script(
    runtime: &Runtime,
    mut backend: Backend,
    input: impl BufRead,
    format: Format,
    force: bool,
) -> anyhow::Result<()> {
    let mut script = Script::new(input);
    let mut failed = 0_u64;
    while let Some(statement) = script.next()? {
        let answers = match runtime.block_on(backend.run(&statement.text)) {
            Ok(answers) => answers,
            Err(e) if !force => return Err(e.context(format!("line {}", statement.line))),
            Err(e) if script::is_stored_program(&statement.text) => {
                eprintln!("muster: warning: line {}: passed by: {e:#}", statement.line);
                continue;
            }
            Err(e) => {
                eprintln!("muster: line {}: {e:#}", statement.line);
                failed += 1;
                continue;
            }
        };
        let format = if statement.vertical { Format::Vertical } else { format };
        for answer in &answers {
            print(output::render(answer, format))?;
        }
    }
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} statement(s) failed"),
    }
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
