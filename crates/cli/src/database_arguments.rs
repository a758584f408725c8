//! The databases of commands that measure one, or two in turn.

use crate::machine_arguments::MachineArguments;
use muster_engine::{Database, DatabaseOptions};
use muster_lab::target::{MeasuredDatabase, ServerAddress, TestedDatabase};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct DatabaseArguments {
    /// The data directory; the tables are loaded if they are not in it
    #[arg(long, default_value = "./muster-lab", conflicts_with = "server")]
    dir: PathBuf,
    /// A server instead: mysql://user:password@host:port/database, or ...@localhost/database?socket=/path
    #[arg(long, value_name = "URL")]
    server: Option<ServerAddress>,
    /// The server to compare with, in turn
    #[arg(long, value_name = "URL")]
    beside: Option<ServerAddress>,
    #[command(flatten)]
    machine: MachineArguments,
}

impl DatabaseArguments {
    /// Keeps the process to the processors asked for. Before any thread is started.
    pub fn pin(&self) -> anyhow::Result<()> {
        self.machine.pin()
    }

    /// One or two databases. `schema`: the name of the database where none is named. Errors: those of opening the
    /// directory.
    pub fn databases(&self, schema: &str) -> anyhow::Result<Vec<MeasuredDatabase>> {
        let server = |address: &ServerAddress| MeasuredDatabase {
            name: address.shown(),
            schema: address.database().unwrap_or(schema).to_owned(),
            database: TestedDatabase::Server(address.clone()),
        };
        let first = match &self.server {
            Some(address) => server(address),
            None => {
                let options = DatabaseOptions {
                    buffer_pool_bytes: self.machine.pool.0,
                    serial_ms_max: DatabaseOptions::SERVER_SERIAL_MS_MAX,
                    ..DatabaseOptions::default()
                };
                MeasuredDatabase {
                    name: self.dir.display().to_string(),
                    schema: schema.to_owned(),
                    database: TestedDatabase::Embedded(Database::open(&self.dir, options)?),
                }
            }
        };
        Ok([first].into_iter().chain(self.beside.as_ref().map(server)).collect())
    }
}
