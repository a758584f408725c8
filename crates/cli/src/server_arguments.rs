//! The server that queries and experiments run on, and how it is started.

use muster_lab::{target::ServerAddress, tpcc::settings::Host};

#[derive(clap::Args, Clone, Debug)]
pub struct ServerArguments {
    /// A server instead: mysql://user:password@host:port/database, or ...@localhost/database?socket=/path
    #[arg(long, value_name = "URL")]
    server: Option<ServerAddress>,
    /// The shell command that runs the server of --server in the foreground: it is started anew for each cold run
    #[arg(long, value_name = "COMMAND", requires = "server")]
    start: Option<String>,
    /// A shell command that runs while the server is down, before each cold run: to empty the system's page cache, say
    #[arg(long, value_name = "COMMAND", requires = "start")]
    pub before_cold: Option<String>,
}

impl ServerArguments {
    /// `None` if no server is named.
    pub fn host(&self) -> Option<Host> {
        let address = self.server.clone()?;
        Some(match &self.start {
            Some(command) => Host::Command { address, command: command.clone() },
            None => Host::Server(address),
        })
    }

    /// The database that the address names.
    pub fn database(&self) -> Option<&str> {
        self.server.as_ref().and_then(ServerAddress::database)
    }
}
