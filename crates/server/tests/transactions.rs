//! Tests of transactions as clients see them: status flags, lines of information, and the fate of the transaction of a
//! client that goes, or that is killed.

mod client;

use client::{Client, UTF8MB4};
use muster_protocol::Fields;
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

/// Flags of the server's status.
const IN_TRANSACTION: u16 = 0x1;
const AUTOCOMMIT: u16 = 0x2;
const READ_ONLY: u16 = 0x2000;
const FLAGS: u16 = IN_TRANSACTION | AUTOCOMMIT | READ_ONLY;
/// CLIENT_FOUND_ROWS.
const FOUND_ROWS: u32 = 0x2;
const COM_CHANGE_USER: u8 = 0x11;
const COM_RESET_CONNECTION: u8 = 0x1F;
/// A wait that has not ended by then does not end.
const LONG: Duration = Duration::from_secs(20);

/// An OK packet: affected rows, the flags of transactions, the line of information.
fn ok_packet(packet: &[u8]) -> (u64, u16, String) {
    assert_eq!(packet[0], 0, "{packet:?}");
    let mut fields = Fields::new(&packet[1..]);
    let affected = fields.length().unwrap();
    fields.length().unwrap();
    let flags = fields.u16().unwrap() & FLAGS;
    fields.u16().unwrap();
    let info = fields.length_bytes().unwrap_or_default();
    (affected, flags, String::from_utf8(info.to_vec()).unwrap())
}

async fn flags(client: &mut Client, statement: &str) -> u16 {
    ok_packet(&client.send(statement.as_bytes()).await).1
}

/// The flags in the packets behind the columns and behind the rows of an answer.
async fn flags_of_rows(client: &mut Client, statement: &str) -> [u16; 2] {
    let columns = client.send(statement.as_bytes()).await[0];
    for _ in 0..columns {
        client.read().await;
    }
    let mut ends = Vec::new();
    while ends.len() < 2 {
        let packet = client.read().await;
        if packet[0] == 0xFE {
            ends.push(u16::from_le_bytes([packet[3], packet[4]]) & FLAGS);
        }
    }
    [ends[0], ends[1]]
}

/// A client of the database `d`, with `t (a, b)` of the rows 1 and 2.
async fn first_client(address: SocketAddr) -> Client {
    let mut client = Client::login(address, UTF8MB4).await;
    client.ok(b"CREATE DATABASE d").await;
    client.ok(b"USE d").await;
    client.ok(b"CREATE TABLE t (a INT PRIMARY KEY, b INT)").await;
    client.ok(b"INSERT INTO t VALUES (1, 1), (2, 2)").await;
    client
}

async fn other_client(address: SocketAddr) -> Client {
    let mut client = Client::login(address, UTF8MB4).await;
    client.ok(b"USE d").await;
    client
}

async fn connection_id(client: &mut Client) -> String {
    String::from_utf8(client.row(b"SELECT CONNECTION_ID()").await.1.remove(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_say_whether_a_transaction_is_open() {
    let (address, _directory) = client::serve(10).await;
    let mut client = first_client(address).await;
    assert_eq!(flags(&mut client, "DO 1").await, AUTOCOMMIT);
    assert_eq!(flags(&mut client, "BEGIN").await, AUTOCOMMIT | IN_TRANSACTION);
    assert_eq!(flags_of_rows(&mut client, "SELECT SUM(b) FROM t").await, [AUTOCOMMIT | IN_TRANSACTION; 2]);
    // The second one takes the short path.
    for _ in 0..2 {
        let by_key = flags_of_rows(&mut client, "SELECT b FROM t WHERE a = 1").await;
        assert_eq!(by_key, [AUTOCOMMIT | IN_TRANSACTION; 2]);
    }
    assert_eq!(flags(&mut client, "UPDATE t SET b = 7").await, AUTOCOMMIT | IN_TRANSACTION);
    assert_eq!(flags(&mut client, "ROLLBACK").await, AUTOCOMMIT);
    let read_only = AUTOCOMMIT | IN_TRANSACTION | READ_ONLY;
    assert_eq!(flags(&mut client, "START TRANSACTION READ ONLY").await, read_only);
    assert_eq!(flags_of_rows(&mut client, "SELECT b FROM t WHERE a = 1").await, [read_only; 2]);
    assert_eq!(flags(&mut client, "COMMIT").await, AUTOCOMMIT);
    // Without autocommit the first statement that uses a table opens a transaction.
    assert_eq!(flags(&mut client, "SET autocommit = 0").await, 0);
    assert_eq!(flags(&mut client, "UPDATE t SET b = 7 WHERE a = 1").await, IN_TRANSACTION);
    assert_eq!(flags(&mut client, "COMMIT").await, 0);
    assert_eq!(flags(&mut client, "INSERT INTO t VALUES (9, 9)").await, IN_TRANSACTION);
    assert_eq!(flags(&mut client, "SET autocommit = 1").await, AUTOCOMMIT);
    // Definitions end it.
    assert_eq!(flags(&mut client, "BEGIN").await, AUTOCOMMIT | IN_TRANSACTION);
    assert_eq!(flags(&mut client, "CREATE TABLE u (a INT)").await, AUTOCOMMIT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_told_with_a_line_of_information() {
    let (address, _directory) = client::serve(10).await;
    let mut client = first_client(address).await;
    let told = [
        ("INSERT INTO t VALUES (3, 3)", 1, ""),
        ("INSERT INTO t VALUES (4, 4), (5, 5)", 2, "Records: 2  Duplicates: 0  Warnings: 0"),
        ("INSERT IGNORE INTO t VALUES (5, 5), (6, 6)", 1, "Records: 2  Duplicates: 1  Warnings: 1"),
        ("INSERT INTO t SELECT a + 10, b FROM t WHERE a < 3", 2, "Records: 2  Duplicates: 0  Warnings: 0"),
        ("REPLACE INTO t VALUES (5, 0), (7, 7)", 3, "Records: 2  Duplicates: 1  Warnings: 0"),
        ("UPDATE t SET b = 1 WHERE a < 3", 1, "Rows matched: 2  Changed: 1  Warnings: 0"),
        ("UPDATE t SET b = 1 WHERE a = 100", 0, "Rows matched: 0  Changed: 0  Warnings: 0"),
        ("DELETE FROM t WHERE a > 10", 2, ""),
    ];
    for (statement, affected, info) in told {
        let packet = client.send(statement.as_bytes()).await;
        assert_eq!(ok_packet(&packet), (affected, AUTOCOMMIT, info.to_owned()), "{statement}");
    }
    // A client that counts rows found.
    let mut counts = Client::connect(address).await;
    assert_eq!(counts.answer("root", UTF8MB4, FOUND_ROWS).await[0], 0);
    let packet = counts.send(b"UPDATE d.t SET b = 1 WHERE a < 3").await;
    assert_eq!(ok_packet(&packet), (2, AUTOCOMMIT, "Rows matched: 2  Changed: 0  Warnings: 0".to_owned()));
}

/// The row that `end` gives free was locked and changed by `holder`: another client gets the lock, and sees the row
/// unchanged.
async fn is_rolled_back(address: SocketAddr, mut holder: Client, end: impl AsyncFnOnce(Client) -> Option<Client>) {
    let mut other = other_client(address).await;
    holder.ok(b"BEGIN").await;
    holder.ok(b"UPDATE t SET b = 100 WHERE a = 1").await;
    holder.ok(b"INSERT INTO t VALUES (50, 50)").await;
    other.ok(b"SET innodb_lock_wait_timeout = 1").await;
    assert_eq!(other.error(b"UPDATE t SET b = b + 1 WHERE a = 1").await.0, 1205);
    other.ok(b"SET innodb_lock_wait_timeout = 20").await;
    other.start_command();
    other.write(b"\x03UPDATE t SET b = b + 1 WHERE a = 1").await;
    let kept = end(holder).await;
    let begun = Instant::now();
    let answer = other.read().await;
    assert!(begun.elapsed() < LONG, "{answer:?}");
    assert_eq!(ok_packet(&answer).0, 1);
    let values = other.row(b"SELECT SUM(b), COUNT(*) FROM t").await.1;
    assert_eq!(values, [b"4".to_vec(), b"2".to_vec()], "what was not committed is gone");
    if let Some(mut kept) = kept {
        assert_eq!(flags(&mut kept, "DO 1").await, AUTOCOMMIT);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_transaction_of_a_client_that_vanishes_is_rolled_back() {
    let (address, _directory) = client::serve(10).await;
    let holder = first_client(address).await;
    is_rolled_back(address, holder, async |holder| {
        drop(holder);
        None
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_connection_rolls_back() {
    let (address, _directory) = client::serve(10).await;
    let holder = first_client(address).await;
    is_rolled_back(address, holder, async |mut holder| {
        assert_eq!(holder.send_command(COM_RESET_CONNECTION, b"").await[0], 0);
        Some(holder)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_user_rolls_back() {
    let (address, _directory) = client::serve(10).await;
    let holder = first_client(address).await;
    is_rolled_back(address, holder, async |mut holder| {
        let body = b"root\0\0\0\xFF\0caching_sha2_password\0";
        assert_eq!(holder.send_command(COM_CHANGE_USER, body).await[0], 0);
        Some(holder)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_connection_rolls_back() {
    let (address, _directory) = client::serve(10).await;
    let mut holder = first_client(address).await;
    let id = connection_id(&mut holder).await;
    is_rolled_back(address, holder, async |_holder| {
        let mut root = Client::login(address, UTF8MB4).await;
        root.ok(format!("KILL {id}").as_bytes()).await;
        None
    })
    .await;
}

/// Waits until the connection waits for a lock of a row.
async fn until_it_waits(root: &mut Client, id: &str) {
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = {id}"
    );
    let begun = Instant::now();
    while root.row(waits.as_bytes()).await.1[0] != b"1" {
        assert!(begun.elapsed() < LONG);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_a_lock_is_killed() {
    let (address, _directory) = client::serve(10).await;
    let mut holder = first_client(address).await;
    let (mut waiter, mut root) = (other_client(address).await, other_client(address).await);
    let id = connection_id(&mut waiter).await;
    holder.ok(b"BEGIN").await;
    holder.ok(b"UPDATE t SET b = 100 WHERE a = 1").await;
    waiter.ok(b"BEGIN").await;
    waiter.ok(b"UPDATE t SET b = 20 WHERE a = 2").await;
    waiter.start_command();
    waiter.write(b"\x03DELETE FROM t WHERE a = 1").await;
    until_it_waits(&mut root, &id).await;
    let begun = Instant::now();
    root.ok(format!("KILL QUERY {id}").as_bytes()).await;
    let answer = waiter.read().await;
    assert_eq!((answer[0], u16::from_le_bytes([answer[1], answer[2]])), (0xFF, 1317));
    assert!(begun.elapsed() < LONG);
    // Its transaction goes on.
    assert_eq!(flags(&mut waiter, "DO 1").await, AUTOCOMMIT | IN_TRANSACTION);
    assert_eq!(waiter.row(b"SELECT b FROM t WHERE a = 2").await.1, [b"20".to_vec()]);
    // KILL of the connection ends the wait, and the transaction.
    waiter.start_command();
    waiter.write(b"\x03DELETE FROM t WHERE a = 1").await;
    until_it_waits(&mut root, &id).await;
    root.ok(format!("KILL {id}").as_bytes()).await;
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut waiter.stream, &mut rest).await.unwrap();
    root.ok(b"UPDATE t SET b = b + 1 WHERE a = 2").await;
    assert_eq!(root.row(b"SELECT b FROM t WHERE a = 2").await.1, [b"3".to_vec()]);
    assert!(begun.elapsed() < LONG);
    holder.ok(b"ROLLBACK").await;
}
