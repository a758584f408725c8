//! Logins that are accepted or refused, and the time after which a silent client is disconnected.

mod client;

use client::{Client, UTF8MB4};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;

const INTERACTIVE: u32 = 0x400;

/// The number of an error packet.
fn number(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xFF);
    u16::from_le_bytes([packet[1], packet[2]])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_log_in_frees_the_slot() {
    let (address, _directory) = client::serve(2).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"SET GLOBAL connect_timeout = 2").await;
    root.ok(b"CREATE USER u").await;
    let begun = Instant::now();
    let mut silent = Client::connect(address).await;
    assert_eq!(silent.read().await[0], 10);
    // All slots are taken: the one that is left is for SUPER.
    assert_eq!(number(&Client::connect(address).await.answer("u", UTF8MB4, 0).await), 1040);
    let second = Client::login(address, UTF8MB4).await;
    assert_eq!(number(&Client::connect(address).await.read().await), 1040);
    let mut byte = [0];
    let end =
        tokio::time::timeout(Duration::from_secs(20), tokio::io::AsyncReadExt::read(&mut silent.stream, &mut byte));
    assert_eq!(end.await.expect("dropped").unwrap(), 0);
    assert!(begun.elapsed() >= Duration::from_secs(2));
    drop(second);
    while !is_admitted(address).await {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// Whether there is a slot for `u`. A client that is gone may hold its slot a moment longer, even the one for SUPER.
async fn is_admitted(address: std::net::SocketAddr) -> bool {
    let mut client = Client::connect(address).await;
    client.read().await[0] == 10 && client.log_in("u", UTF8MB4, 0).await[0] == 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_silent_for_too_long_is_told_and_dropped() {
    let (address, _directory) = client::serve(10).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"SET GLOBAL wait_timeout = 100, GLOBAL interactive_timeout = 1").await;
    for (more, says) in [(0, None), (INTERACTIVE, Some(4031))] {
        let mut client = Client::connect(address).await;
        assert_eq!(client.answer("root", UTF8MB4, more).await[0], 0);
        client.start_command();
        let answer = tokio::time::timeout(Duration::from_secs(3), client.read()).await;
        assert_eq!(answer.ok().map(|packet| number(&packet)), says);
    }
    root.ok(b"SET SESSION wait_timeout = 1").await;
    root.start_command();
    assert_eq!(number(&root.read().await), 4031);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_are_no_larger_than_allowed() {
    let (address, _directory) = client::serve(10).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"SET GLOBAL max_allowed_packet = 2048").await;
    let mut client = Client::login(address, UTF8MB4).await;
    assert_eq!(
        client.row(b"SELECT @@max_allowed_packet, REPEAT('a', 2049) IS NULL, LENGTH(REPEAT('a', 2048))").await.1,
        [b"2048".to_vec(), b"1".to_vec(), b"2048".to_vec()]
    );
    let statement = format!("SELECT '{}'", "a".repeat(3000));
    assert_eq!(client.error(statement.as_bytes()).await.0, 1153);
}

async fn connect_socket(directory: &tempfile::TempDir) -> UnixStream {
    UnixStream::connect(directory.path().join(client::SOCKET)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_the_unix_socket_are_at_localhost() {
    let (address, directory) = client::serve(10).await;
    let mut root = Client::login(address, UTF8MB4).await;
    root.ok(b"CREATE USER near@localhost").await;
    root.ok(b"CREATE USER far@'10.%'").await;
    let mut near = Client::over(connect_socket(&directory).await);
    assert_eq!(near.answer("near", UTF8MB4, 0).await[0], 0);
    let path = directory.path().join(client::SOCKET);
    let (_, values) = near.row(b"SELECT USER(), @@socket").await;
    assert_eq!(values, [b"near@localhost".to_vec(), path.to_str().unwrap().as_bytes().to_vec()]);
    let refused = Client::over(connect_socket(&directory).await).answer("far", UTF8MB4, 0).await;
    assert_eq!(number(&refused), 1045);
    // A statement that runs is stopped when its client is gone.
    near.start_command();
    near.write(b"\x03SELECT SLEEP(60)").await;
    while root.row(b"SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(60)'").await.1[0]
        != b"1"
    {}
    drop(near);
    let begun = Instant::now();
    while root.row(b"SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'near'").await.1[0] != b"0" {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// A client that is gone while its statement waits for a lock on the short path leaves no lock behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_a_lock_ends_with_its_client() {
    let (address, directory) = client::serve(10).await;
    let mut root = Client::login(address, UTF8MB4).await;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO d.t VALUES (1, 1), (2, 2)",
        "CREATE USER near@localhost",
        "GRANT ALL ON d.* TO near@localhost",
    ] {
        root.ok(sql.as_bytes()).await;
    }
    let waiting = b"SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'near' AND info LIKE '%a = 1%'";
    for statement in [&b"\x03SELECT b FROM d.t WHERE a = 1 FOR UPDATE"[..], b"\x03UPDATE d.t SET b = b + 1 WHERE a = 1"]
    {
        let mut near = Client::over(connect_socket(&directory).await);
        assert_eq!(near.answer("near", UTF8MB4, 0).await[0], 0);
        near.ok(b"BEGIN").await;
        near.ok(b"UPDATE d.t SET b = b + 1 WHERE a = 2").await;
        root.ok(b"BEGIN").await;
        root.ok(b"UPDATE d.t SET b = b + 1 WHERE a = 1").await;
        near.start_command();
        near.write(statement).await;
        while root.row(waiting).await.1[0] != b"1" {}
        drop(near);
        let begun = Instant::now();
        while root.row(waiting).await.1[0] != b"0" {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        root.ok(b"UPDATE d.t SET b = b + 1 WHERE a = 2").await;
        root.ok(b"COMMIT").await;
    }
}

/// Connections that no thread serves alone: each answers, whatever its neighbours do, and KILL reaches it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_share_threads() {
    let (address, _directory) = client::serve(1000).await;
    let mut root = Client::login(address, UTF8MB4).await;
    let mut clients = Vec::new();
    for _ in 0..16 * std::thread::available_parallelism().map_or(1, usize::from).min(16) * 2 {
        clients.push(Client::login(address, UTF8MB4).await);
    }
    for client in clients.iter_mut().skip(1).step_by(2) {
        client.start_command();
        client.write(b"\x03SELECT SLEEP(60)").await;
    }
    for client in clients.iter_mut().step_by(2) {
        assert_eq!(client.row(b"SELECT 1").await.1, [b"1".to_vec()]);
    }
    let begun = Instant::now();
    let sleeping = b"SELECT COUNT(*), MAX(id) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(60)'";
    let last = loop {
        let [count, last] = root.row(sleeping).await.1.try_into().unwrap();
        if count == (clients.len() / 2).to_string().into_bytes() {
            break last;
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    };
    root.ok(&[b"KILL ", &*last].concat()).await;
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut clients.last_mut().unwrap().stream, &mut rest).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn com_refresh_flushes() {
    const COM_REFRESH: u8 = 0x07;
    const LOG_AND_STATUS: &[u8] = &[2 | 16];
    let (address, _directory) = client::serve(10).await;
    let mut root = Client::login(address, UTF8MB4).await;
    assert_eq!(root.send_command(COM_REFRESH, LOG_AND_STATUS).await[0], 0);
    root.ok(b"CREATE USER u").await;
    let mut other = Client::connect(address).await;
    assert_eq!(other.answer("u", UTF8MB4, 0).await[0], 0);
    assert_eq!(number(&other.send_command(COM_REFRESH, LOG_AND_STATUS).await), 1227);
}
