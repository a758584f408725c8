//! A server, and a client that writes and reads packets byte by byte.
#![allow(dead_code, reason = "each test uses its part")]

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_protocol::{Fields, packet};
use muster_server::{Server, ServerOptions};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

pub const UTF8MB4: u8 = 255;
/// The name of the server's Unix socket in its directory.
pub const SOCKET: &str = "server.sock";
/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x8000 | 0x8_0000;

/// A server on TCP and, at [`SOCKET`] in its directory, on a Unix socket.
pub async fn serve(connections_max: usize) -> (std::net::SocketAddr, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions {
        buffer_pool_bytes: 16 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
        ..DatabaseOptions::default()
    };
    let database = Database::open(directory.path(), options).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let (socket, tls_directory) = (Some(directory.path().join(SOCKET)), directory.path().to_path_buf());
    let options = ServerOptions { listen, socket, connections_max, tls_directory };
    let server = Server::bind(database, options).await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    (address, directory)
}

pub struct Client<S = TcpStream> {
    pub stream: S,
    sequence: u8,
}

impl Client {
    /// Logs in as root.
    pub async fn login(address: std::net::SocketAddr, collation: u8) -> Client {
        let mut client = Client::connect(address).await;
        assert_eq!(client.answer("root", collation, 0).await[0], 0);
        client
    }

    /// A connection whose greeting is not yet read.
    pub async fn connect(address: std::net::SocketAddr) -> Client {
        Client::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// A connection whose greeting is not yet read.
    pub fn over(stream: S) -> Client<S> {
        Client { stream, sequence: 0 }
    }

    /// Reads the greeting and logs in without a password; what the server says to that. `more`: further capabilities.
    pub async fn answer(&mut self, user: &str, collation: u8, more: u32) -> Vec<u8> {
        assert_eq!(self.read().await[0], 10);
        self.log_in(user, collation, more).await
    }

    /// Logs in when the greeting has been read.
    pub async fn log_in(&mut self, user: &str, collation: u8, more: u32) -> Vec<u8> {
        let mut login = (CAPABILITIES | more).to_le_bytes().to_vec();
        login.extend((1u32 << 24).to_le_bytes());
        login.push(collation);
        login.extend([0; 23]);
        login.extend(user.as_bytes());
        login.extend(b"\0\0caching_sha2_password\0");
        self.write(&login).await;
        self.read().await
    }

    pub async fn read(&mut self) -> Vec<u8> {
        packet::read(&mut self.stream, &mut self.sequence, 1 << 20).await.unwrap()
    }

    pub async fn write(&mut self, payload: &[u8]) {
        let mut out = Vec::new();
        packet::write(payload, &mut self.sequence, &mut out);
        self.stream.write_all(&out).await.unwrap();
    }

    /// Starts a new command: packet numbers begin at 0 again.
    pub fn start_command(&mut self) {
        self.sequence = 0;
    }

    pub async fn send(&mut self, statement: &[u8]) -> Vec<u8> {
        self.send_command(3, statement).await
    }

    /// Sends a command of this number; the first packet of the answer.
    pub async fn send_command(&mut self, command: u8, body: &[u8]) -> Vec<u8> {
        self.start_command();
        self.write(&[&[command], body].concat()).await;
        self.read().await
    }

    pub async fn ok(&mut self, statement: &[u8]) {
        assert_eq!(self.send(statement).await[0], 0);
    }

    /// Number and message, behind the SQLSTATE.
    pub async fn error(&mut self, statement: &[u8]) -> (u16, Vec<u8>) {
        let answer = self.send(statement).await;
        assert_eq!(answer[0], 0xFF);
        (u16::from_le_bytes([answer[1], answer[2]]), answer[9..].to_vec())
    }

    /// Name, collation and length of each column, and the values of the one row.
    pub async fn row(&mut self, statement: &[u8]) -> (Vec<(Vec<u8>, u16, u32)>, Vec<Vec<u8>>) {
        let columns = self.send(statement).await[0];
        let mut definitions = Vec::new();
        for _ in 0..columns {
            let definition = self.read().await;
            let mut fields = Fields::new(&definition);
            let names: Vec<&[u8]> = (0..6).map(|_| fields.length_bytes().unwrap()).collect();
            assert_eq!(fields.u8(), Some(12));
            definitions.push((names[4].to_vec(), fields.u16().unwrap(), fields.u32().unwrap()));
        }
        assert_eq!(self.read().await[0], 0xFE);
        let row = self.read().await;
        let mut fields = Fields::new(&row);
        let values = (0..columns).map(|_| fields.length_bytes().unwrap().to_vec()).collect();
        assert_eq!(self.read().await[0], 0xFE);
        (definitions, values)
    }
}
