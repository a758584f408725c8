//! What goes over the wire in each character set, byte by byte.

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_protocol::{Fields, packet};
use muster_server::{Server, ServerOptions};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const LATIN1: u8 = 8;
const UTF8MB4: u8 = 255;
/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x8000 | 0x8_0000;

async fn serve() -> (std::net::SocketAddr, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions {
        buffer_pool_bytes: 16 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
    };
    let database = Database::open(directory.path(), options).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let options = ServerOptions { listen, connections_max: 10, tls_directory: directory.path().to_path_buf() };
    let server = Server::bind(database, options).await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    (address, directory)
}

struct Client {
    stream: TcpStream,
    sequence: u8,
}

impl Client {
    async fn login(address: std::net::SocketAddr, collation: u8) -> Client {
        let mut client = Client { stream: TcpStream::connect(address).await.unwrap(), sequence: 0 };
        client.read().await;
        let mut login = CAPABILITIES.to_le_bytes().to_vec();
        login.extend((1u32 << 24).to_le_bytes());
        login.push(collation);
        login.extend([0; 23]);
        login.extend(b"root\0\0caching_sha2_password\0");
        client.write(&login).await;
        assert_eq!(client.read().await[0], 0);
        client
    }

    async fn read(&mut self) -> Vec<u8> {
        packet::read(&mut self.stream, &mut self.sequence, 1 << 20).await.unwrap()
    }

    async fn write(&mut self, payload: &[u8]) {
        let mut out = Vec::new();
        packet::write(payload, &mut self.sequence, &mut out);
        self.stream.write_all(&out).await.unwrap();
    }

    async fn send(&mut self, statement: &[u8]) -> Vec<u8> {
        self.sequence = 0;
        self.write(&[b"\x03", statement].concat()).await;
        self.read().await
    }

    async fn ok(&mut self, statement: &[u8]) {
        assert_eq!(self.send(statement).await[0], 0);
    }

    /// Number and message, behind the SQLSTATE.
    async fn error(&mut self, statement: &[u8]) -> (u16, Vec<u8>) {
        let answer = self.send(statement).await;
        assert_eq!(answer[0], 0xFF);
        (u16::from_le_bytes([answer[1], answer[2]]), answer[9..].to_vec())
    }

    /// Name, collation and length of each column, and the values of the one row.
    async fn row(&mut self, statement: &[u8]) -> (Vec<(Vec<u8>, u16, u32)>, Vec<Vec<u8>>) {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_login_says_what_the_client_speaks() {
    let (address, _directory) = serve().await;
    let mut client = Client::login(address, LATIN1).await;
    let (columns, values) = client.row(b"select 'caf\xE9' as `\xE9`, _utf8mb4 x'E6BCA2' as b, 1 as n").await;
    assert_eq!(columns, [(b"\xE9".to_vec(), 8, 4), (b"b".to_vec(), 8, 1), (b"n".to_vec(), 63, 20)]);
    assert_eq!(values, [b"caf\xE9".to_vec(), b"?".to_vec(), b"1".to_vec()]);
    assert_eq!(client.error(b"select `\xE9`").await, (1054, b"Unknown column '\xE9' in 'field list'".to_vec()));

    let mut client = Client::login(address, UTF8MB4).await;
    let (columns, values) = client.row("select 'café' as `é`".as_bytes()).await;
    assert_eq!(columns, [("é".as_bytes().to_vec(), 255, 16)]);
    assert_eq!(values, ["café".as_bytes()]);
    let invalid = (1300, b"Invalid utf8mb4 character string: 'E927'".to_vec());
    assert_eq!(client.error(b"select 'caf\xE9'").await, invalid);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn set_names_changes_both_directions() {
    let (address, _directory) = serve().await;
    let mut client = Client::login(address, UTF8MB4).await;
    client.ok(b"set names latin1").await;
    assert_eq!(client.row(b"select char_length('\xE9'), '\xE9'").await.1, [b"1", b"\xE9"]);
    client.ok(b"set character_set_results = utf8mb3").await;
    let (columns, values) = client.row(b"select '\xE9' as a, _utf8mb4 x'F09F9880' as b").await;
    assert_eq!(columns, [(b"a".to_vec(), 33, 3), (b"b".to_vec(), 33, 3)]);
    assert_eq!(values, ["é".as_bytes(), b"?"]);
    // Each column in its own character set.
    client.ok(b"set character_set_results = null").await;
    let (columns, values) = client.row(b"select '\xE9' as a, _utf8mb4 x'C3A9' as b").await;
    assert_eq!(columns, [(b"a".to_vec(), 8, 1), (b"b".to_vec(), 255, 4)]);
    assert_eq!(values, [&b"\xE9"[..], "é".as_bytes()]);
    client.ok(b"set names ascii").await;
    assert_eq!(client.error(b"select _utf8mb4 x'C3A9' from nowhere.\xE9").await.0, 1300);
    client.ok(b"set names utf8mb4").await;
    client.ok(b"set character_set_results = ascii").await;
    let message = b"Unknown column '\\00E9' in 'field list'".to_vec();
    assert_eq!(client.error("select `é`".as_bytes()).await, (1054, message));
}
