//! What becomes of every kind of literal as the DEFAULT of a column of every type: the default that is kept, or the
//! error. `defaults.txt` holds it; `UPDATE_DEFAULTS=1 cargo test -p muster-engine --test defaults` writes it anew.

mod fixture;

use std::{fmt::Write, path::Path};

const TYPES: &[&str] = &[
    "TINYINT",
    "TINYINT UNSIGNED",
    "MEDIUMINT",
    "INT",
    "BIGINT",
    "BIGINT UNSIGNED",
    "DECIMAL(5,2)",
    "DECIMAL(38,0)",
    "FLOAT",
    "DOUBLE",
    "DATE",
    "DATETIME",
    "DATETIME(3)",
    "TIMESTAMP",
    "TIME",
    "TIME(3)",
    "CHAR(3)",
    "VARCHAR(3)",
    "VARCHAR(3) CHARACTER SET latin1",
    "BINARY(3)",
    "VARBINARY(3)",
];

const LITERALS: &[&str] = &[
    "NULL",
    "TRUE",
    "0",
    "-1",
    "127",
    "128",
    "65536",
    "-8388609",
    "9223372036854775808",
    "1.005",
    "-1.5",
    "1e3",
    "1e39",
    "20240229",
    "''",
    "' '",
    "'7'",
    "' 7 '",
    "'1.5'",
    "'12abc'",
    "'abc'",
    "'abcd'",
    "'abc  '",
    "'äöü'",
    "'1999-02-28'",
    "'1999-02-29'",
    "'1999-02-28 23:59:59.9995'",
    "'2024-03-31 02:30:00'",
    "'2038-01-19 04:14:08'",
    "'12:30:59.5'",
    "'839:00:00'",
    "DATE '1999-02-28'",
    "x'61'",
    "x'61626364'",
    "x'FF'",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_literal_in_every_type() {
    let directory = tempfile::tempdir().unwrap();
    let database = muster_engine::Database::open(directory.path(), fixture::options()).unwrap();
    let mut session = fixture::session(&database, "root");
    for sql in ["CREATE DATABASE d", "USE d", "SET time_zone = 'Europe/Berlin'"] {
        fixture::rows(&mut session, sql).await.unwrap();
    }
    let mut found = String::new();
    for ty in TYPES {
        let _ = writeln!(found, "# {ty}");
        for literal in LITERALS {
            let sql = format!("CREATE TABLE t (c {ty} NOT NULL DEFAULT {literal})");
            let outcome = match fixture::rows(&mut session, &sql).await {
                Err(e) => format!("{} {} {}", e.code.number(), e.code.sqlstate(), e.message),
                Ok(_) => {
                    let columns = fixture::rows(&mut session, "SHOW COLUMNS FROM t").await.unwrap();
                    fixture::rows(&mut session, "DROP TABLE t").await.unwrap();
                    columns[0][4].clone()
                }
            };
            let _ = writeln!(found, "{literal} => {outcome}");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defaults.txt");
    if std::env::var_os("UPDATE_DEFAULTS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", i + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
