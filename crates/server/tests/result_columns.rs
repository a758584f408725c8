//! What clients are told about the columns of results, beside what MySQL 8.0.33 has told them.
//!
//! `data/result_columns.tsv` has a statement in each line, and of its last column type, length, decimals, flags and
//! character set, and the names of its table. A line that begins with `open` is one where Muster is not yet as MySQL,
//! one that begins with `differs` one where it is right to differ (docs/differences.md says why).

mod client;

use client::{Client, UTF8MB4};
use muster_protocol::Fields;
use mysql_common::constants::ColumnType;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, tiny TINYINT, small SMALLINT UNSIGNED, i INT, big BIGINT, \
    ubig BIGINT UNSIGNED, n DECIMAL(10,2), f FLOAT, x DOUBLE, d DATE, dt DATETIME, dt3 DATETIME(3), ti TIME, \
    ti6 TIME(6), c CHAR(10), v VARCHAR(40), tx TEXT, vb VARBINARY(20), e ENUM('b','a','7'), s SET('x','y','z'), \
    y YEAR, bi BIT(10), ts TIMESTAMP(2), un DECIMAL(8,3) UNSIGNED, nn INT NOT NULL, cn VARCHAR(20) NOT NULL, \
    dn DATE NOT NULL, cb CHAR(6) COLLATE utf8mb4_bin, KEY ki (i), UNIQUE KEY kn (nn))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_of_results_are_mysqls() {
    let (address, _directory) = client::serve(10).await;
    let mut client = Client::login(address, UTF8MB4).await;
    for statement in ["CREATE DATABASE meta", "USE meta", TABLE] {
        client.ok(statement.as_bytes()).await;
    }
    client.ok(b"INSERT INTO t (id, nn, cn, dn) VALUES (1, 2, 'a', '2001-01-31')").await;
    let (mut wrong, mut closed) = (Vec::new(), Vec::new());
    for line in include_str!("data/result_columns.tsv").lines() {
        let mut parts = line.splitn(3, '\t');
        let (mark, statement, want) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let got = last_column(&mut client, statement).await;
        match (mark, got == want) {
            ("", false) => wrong.push(format!("{statement}\n  MySQL  {want}\n  Muster {got}")),
            ("open" | "differs", true) => closed.push(statement),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} columns differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(closed.is_empty(), "these are no longer open: {closed:#?}");
}

/// The definition of a statement's last column, as a line of the data has it.
async fn last_column(client: &mut Client, statement: &str) -> String {
    let first = client.send(statement.as_bytes()).await;
    if first[0] == 0xFF {
        return String::from_utf8_lossy(&first[9..]).into_owned();
    }
    let mut definition = Vec::new();
    for _ in 0..first[0] {
        definition = client.read().await;
    }
    // The end of the definitions, and that of the rows.
    for _ in 0..2 {
        while client.read().await[0] != 0xFE {}
    }
    let mut fields = Fields::new(&definition);
    let names: Vec<String> =
        (0..6).map(|_| String::from_utf8_lossy(fields.length_bytes().unwrap()).into_owned()).collect();
    assert_eq!(fields.u8(), Some(12));
    let (charset, length) = (fields.u16().unwrap(), fields.u32().unwrap());
    let column_type = ColumnType::try_from(fields.u8().unwrap()).unwrap();
    let (flags, decimals) = (fields.u16().unwrap(), fields.u8().unwrap());
    let name = format!("{column_type:?}").trim_start_matches("MYSQL_TYPE_").to_ascii_lowercase();
    let [_, _, table, org_table, _, org_name] = &names[..] else { panic!("{names:?}") };
    format!("{name}\t{length}\t{decimals}\t{flags}\t{charset}\t{table}\t{org_table}\t{org_name}")
}
