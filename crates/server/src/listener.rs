//! Listening, accepting, shutting down.

use crate::{
    auth::caching_sha2::Keys,
    connection,
    socket::SocketFile,
    stream::{Socket, Waiting},
    threads::ConnectionThreads,
    tls,
};
use muster_engine::Database;
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
};
use tokio_rustls::TlsAcceptor;

#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub listen: SocketAddr,
    /// The path of the Unix socket to listen on, beside TCP; `None`: on none.
    pub socket: Option<PathBuf>,
    pub connections_max: usize,
    /// The folder that holds the key and the certificate.
    pub tls_directory: PathBuf,
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    socket: Option<SocketFile>,
    shared: Arc<Shared>,
}

/// The state that all connections share.
pub(crate) struct Shared {
    pub database: Arc<Database>,
    pub tls: TlsAcceptor,
    pub keys: Keys,
    /// `max_connections`.
    pub slots: Arc<Semaphore>,
    /// One more, for SUPER.
    pub reserved_slot: Arc<Semaphore>,
    /// Told when a client has said SHUTDOWN.
    pub stop: Notify,
}

impl Server {
    /// Starts to listen. Refuses an address beyond this machine while `root` has no password.
    pub async fn bind(database: Arc<Database>, options: ServerOptions) -> Result<Server> {
        if !options.listen.ip().is_loopback() && !database.root_has_password() {
            let message = format!(
                "refusing to listen on {} while root has no password: set one with --root-password-file or ALTER USER",
                options.listen
            );
            return Err(SqlError::new(ErrorCode::AccessDenied, message));
        }
        let tls = tls::acceptor(&options.tls_directory)?;
        let listener = TcpListener::bind(options.listen)
            .await
            .map_err(|e| SqlError::new(ErrorCode::Unknown, format!("cannot listen on {}: {e}", options.listen)))?;
        let socket = options.socket.as_deref().map(SocketFile::listen).transpose()?;
        let path = socket.as_ref().map_or_else(String::new, |s| s.path().display().to_string());
        database.set_server_variable("socket", Value::Text(path));
        let address = listener.local_addr().map_err(|e| SqlError::new(ErrorCode::Unknown, e.to_string()))?;
        database.set_server_variable("bind_address", Value::Text(address.ip().to_string()));
        database.set_server_variable("port", Value::Int(address.port().into()));
        database.set_server_variable("skip_networking", Value::Int(0));
        let connections_max = i64::try_from(options.connections_max).unwrap_or(i64::MAX);
        database.set_server_variable("max_connections", Value::Int(connections_max));
        let slots = Arc::new(Semaphore::new(options.connections_max));
        let reserved_slot = Arc::new(Semaphore::new(1));
        let stop = Notify::new();
        let shared = Shared { database, tls, keys: Keys::default(), slots, reserved_slot, stop };
        Ok(Server { listener, socket, shared: Arc::new(shared) })
    }

    /// The address that clients connect to. The system chooses the port if 0 was asked for.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The path of the Unix socket that clients connect to, if there is one.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket.as_ref().map(SocketFile::path)
    }

    /// Serves until `shutdown` resolves, or a client says SHUTDOWN; connections under way are then closed.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Server { listener, socket, shared } = self;
        let mut threads = ConnectionThreads::new();
        tokio::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                () = shared.stop.notified() => break,
                accepted = listener.accept() => accepted.and_then(|(tcp, peer)| {
                    if let Err(e) = tcp.set_nodelay(true) {
                        tracing::debug!("{peer}: {e}");
                    }
                    Ok((Waiting::tcp(tcp)?, host_of(peer)))
                }),
                accepted = accept(socket.as_ref()) => accepted.map(|waiting| (waiting, LOCAL_HOST.to_string())),
            };
            let served = accepted.and_then(|(waiting, host)| threads.spawn(serve(shared.clone(), waiting, host)));
            // Out of file descriptors or threads, or the peer was gone already: others can still be served.
            if let Err(e) = served {
                tracing::warn!("accept: {e}");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

/// The host of clients on this machine, by which their accounts are found.
const LOCAL_HOST: &str = "localhost";

fn host_of(peer: SocketAddr) -> String {
    if peer.ip().is_loopback() { LOCAL_HOST.to_string() } else { peer.ip().to_string() }
}

/// The next connection to the Unix socket; never, if there is none.
async fn accept(socket: Option<&SocketFile>) -> io::Result<Waiting> {
    match socket {
        Some(socket) => Waiting::unix(socket.listener.accept().await?.0),
        None => std::future::pending().await,
    }
}

async fn serve(shared: Arc<Shared>, waiting: Waiting, host: String) {
    let served = match Socket::watched(waiting) {
        Ok(socket) => connection::serve(shared, socket, host.clone()).await,
        Err(e) => Err(e.into()),
    };
    match served {
        Ok(()) | Err(crate::ConnectionError::Closed) => {}
        Err(e) => tracing::info!("{host}: {e}"),
    }
}
