//! What the short path sends is, byte by byte, what the general path sends.

mod client;

use client::{Client, UTF8MB4};
use tokio::net::TcpStream;

const TABLE: &[u8] = b"CREATE TABLE d.t (i INT PRIMARY KEY, u BIGINT UNSIGNED, y TINYINT, m DECIMAL(20,3), w DECIMAL(38,2), \
    f FLOAT, g DOUBLE(8,2), e DATE, n DATETIME(6), h TIME(1), s VARCHAR(300), l VARCHAR(20) CHARACTER SET latin1, b VARBINARY(9))";
const ROWS: &str = "1\t18446744073709551615\t-7\t-1.500\t123456789012345678901234567890.12\t1.5\t2.25\t2001-02-03\t\
    2001-02-03 04:05:06.000007\t-100:00:00.5\tgrün\tgrün\tx\n2\\N\n3\t0\t0\t0\t0\t0\t0\t1999-12-31\t1999-12-31\t00:00:00\t\t\t\n";

/// All packets of an answer, with their numbers left out.
async fn answer(client: &mut Client<TcpStream>, command: &[u8]) -> Vec<Vec<u8>> {
    client.start_command();
    client.write(command).await;
    let mut packets = vec![client.read().await];
    let mut ends = if packets[0][0] == 0xFF || packets[0][0] == 0 { 2 } else { 0 };
    while ends < 2 {
        let packet = client.read().await;
        ends += (packet[0] == 0xFE && packet.len() < 9) as usize;
        packets.push(packet);
    }
    packets
}

/// Prepares a statement with one parameter: its number.
async fn prepare(client: &mut Client<TcpStream>, sql: &[u8]) -> u32 {
    let head = client.send_command(0x16, sql).await;
    assert_eq!(head[0], 0);
    let columns = u16::from_le_bytes([head[5], head[6]]);
    // Parameter, end, columns, end.
    for _ in 0..columns + 3 {
        client.read().await;
    }
    u32::from_le_bytes(head[1..5].try_into().unwrap())
}

fn execution(id: u32, value: i64) -> Vec<u8> {
    [&[0x17][..], &id.to_le_bytes(), &[0, 1, 0, 0, 0, 0, 1, 8, 0], &value.to_le_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_paths_send_the_same_bytes() {
    let (address, directory) = client::serve(10).await;
    let (mut short, mut general) = (Client::login(address, UTF8MB4).await, Client::login(address, UTF8MB4).await);
    let file = directory.path().join("import/t.tsv");
    let padding = (4..2000).fold(ROWS.replace("2\\N", &format!("2{}", "\t\\N".repeat(12))), |text, i| {
        text + &format!("{i}{}\n", "\t\\N".repeat(12))
    });
    std::fs::write(&file, padding).unwrap();
    short.ok(b"CREATE DATABASE d").await;
    short.ok(TABLE).await;
    short.ok(format!("LOAD DATA INFILE '{}' INTO TABLE d.t", file.display()).as_bytes()).await;
    general.ok(b"SET optimizer_switch = 'short_path=off'").await;

    for charset in ["utf8mb4", "latin1"] {
        for client in [&mut short, &mut general] {
            client.ok(format!("SET NAMES {charset}").as_bytes()).await;
        }
        for id in [1, 2, 3, 5000] {
            for what in ["*", "s", "s, l, b AS x", "DISTINCT e", "COUNT(*), SUM(u), MAX(m), MIN(n)"] {
                let sql = format!("\x03SELECT {what} FROM d.t WHERE i = {id}");
                let wanted = answer(&mut general, sql.as_bytes()).await;
                for _ in 0..3 {
                    assert_eq!(answer(&mut short, sql.as_bytes()).await, wanted, "{sql}");
                }
                let sql = format!("SELECT {what} FROM d.t WHERE i = ?");
                let ids = (prepare(&mut short, sql.as_bytes()).await, prepare(&mut general, sql.as_bytes()).await);
                let wanted = answer(&mut general, &execution(ids.1, id)).await;
                for _ in 0..3 {
                    assert_eq!(answer(&mut short, &execution(ids.0, id)).await, wanted, "{sql} {id}");
                }
            }
        }
    }
    let (_, hits) = short.row(b"SHOW STATUS LIKE 'Plan_cache_hits'").await;
    let hits: u32 = String::from_utf8(hits[1].clone()).unwrap().parse().unwrap();
    assert!(hits >= 150, "only {hits} statements met their plan");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_statements_in_one_read_are_answered_in_turn() {
    let (address, _directory) = client::serve(10).await;
    let mut client = Client::login(address, UTF8MB4).await;
    // A ping and a long statement behind it, whose packet is larger than one read.
    let mut both = vec![1, 0, 0, 0, 0x0E];
    let text = format!("\x03SELECT LENGTH('{}')", "x".repeat(100_000));
    both.extend_from_slice(&(text.len() as u32).to_le_bytes()[..3]);
    both.push(0);
    both.extend_from_slice(text.as_bytes());
    tokio::io::AsyncWriteExt::write_all(&mut client.stream, &both).await.unwrap();
    for first in [&[0][..], &[1]] {
        let (mut sequence, max) = (1, 1 << 20);
        let packet = muster_protocol::packet::read(&mut client.stream, &mut sequence, max).await.unwrap();
        assert!(packet.starts_with(first), "{packet:?}");
    }
}

/// Queries that are over soon run on the thread of their connection, where nothing else polls what they wait for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_the_general_path_are_answered_where_they_arrive() {
    let (address, _directory) = client::serve(10).await;
    let (mut alone, mut general) = (Client::login(address, UTF8MB4).await, Client::login(address, UTF8MB4).await);
    alone.ok(b"CREATE DATABASE d").await;
    alone.ok(b"CREATE TABLE d.t (i INT PRIMARY KEY, a INT, s VARCHAR(30), KEY a (a))").await;
    let rows: Vec<String> = (0..3000).map(|i| format!("({i}, {}, 'text {i}')", i % 100)).collect();
    alone.ok(format!("INSERT INTO d.t VALUES {}", rows.join(",")).as_bytes()).await;
    answer(&mut alone, b"\x03ANALYZE TABLE d.t").await;
    general.ok(b"SET optimizer_switch = 'short_path=off'").await;
    for query in [
        "SELECT i, SUM(a) OVER (ORDER BY i) FROM d.t WHERE a = #",
        "SELECT i, RANK() OVER (PARTITION BY a ORDER BY s DESC) FROM d.t WHERE a IN (#, 5) ORDER BY i",
        "SELECT i FROM d.t WHERE a = # UNION SELECT a FROM d.t WHERE i = # ORDER BY 1",
        "SELECT x.a, COUNT(*) FROM (SELECT DISTINCT a, s FROM d.t WHERE a = #) x GROUP BY x.a",
        "SELECT i, (SELECT MAX(s) FROM d.t u WHERE u.a = t.a + 1) FROM d.t WHERE t.a = # ORDER BY s, i",
        "WITH c AS (SELECT a, i FROM d.t WHERE a = #) SELECT * FROM c JOIN d.t ON t.i = c.i JOIN c k ON k.i = t.i ORDER BY t.i",
        "SELECT a, GROUP_CONCAT(i ORDER BY i DESC) FROM d.t WHERE a BETWEEN # AND 7 GROUP BY a WITH ROLLUP",
    ] {
        for value in [3, 3, 4, 6, 4] {
            let sql = format!("\x03{}", query.replace('#', &value.to_string()));
            let wanted = answer(&mut general, sql.as_bytes()).await;
            assert_eq!(answer(&mut alone, sql.as_bytes()).await, wanted, "{sql}");
        }
    }
    // Light with one value, and with another one a query that has to be admitted.
    for value in [0, 0, 2, 0] {
        let sql = format!(
            "\x03SELECT COUNT(*), 'x' FROM d.t JOIN d.t x JOIN d.t y WHERE t.i < {value} AND x.a + y.a > t.i AND y.i < 500 \
             UNION ALL SELECT 1, 'y'"
        );
        let wanted = answer(&mut general, sql.as_bytes()).await;
        assert_eq!(answer(&mut alone, sql.as_bytes()).await, wanted, "{sql}");
    }
}
