//! The server: MySQL's client/server protocol over TCP and a Unix socket, with TLS.
//!
//! ```text
//!   Server      listens, accepts, shuts down              listener.rs
//!     SocketFile  the Unix socket                         socket.rs
//!     ConnectionThreads  the threads that connections live on     threads.rs
//!   Connection  greeting, login, then one command after another   connection.rs, command.rs
//!     packet    payloads in and out                       packet.rs, crate muster-protocol
//!     auth      caching_sha2_password, mysql_native_password      auth/
//!     tls       rustls; a self-signed certificate made at first start   tls.rs
//!     reply     OK, ERR, column definitions, rows         reply/
//!     infile    LOAD DATA LOCAL                           infile.rs
//! ```
//!
//! Source: MySQL Source Code Documentation, "Client/Server Protocol". Packet layouts come from `mysql_common` where it
//! has the server's side of them.

pub mod auth;
mod command;
mod connection;
mod infile;
mod listener;
mod packet;
mod reply;
mod socket;
mod stream;
mod threads;
mod tls;

pub use listener::{Server, ServerOptions};
pub use socket::DEFAULT_NAME as DEFAULT_SOCKET_NAME;

use muster_types::SqlError;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Told to the client, then the connection is closed.
    #[error("{0}")]
    Refused(SqlError),
    /// The client said goodbye or is gone.
    #[error("closed by the client")]
    Closed,
}
