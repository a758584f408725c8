//! What statements that change rows leave behind: in a database that is closed and opened again, and in the log.

mod fixture;

use fixture::{options, rows, session};
use muster_engine::{Database, DatabaseOptions, Durability};

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_numbers_are_known_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    {
        let database = Database::open(directory.path(), options()).unwrap();
        let mut s = session(&database, "root");
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(9))",
            "INSERT INTO d.t (b) VALUES ('abc'), ('abd')",
            "INSERT INTO d.t (b) VALUES ('ABC')",
        ] {
            s.execute(sql).await.unwrap();
        }
    }
    let database = Database::open(directory.path(), options()).unwrap();
    let mut s = session(&database, "root");
    assert_eq!(rows(&mut s, "SELECT COUNT(DISTINCT b) FROM d.t").await.unwrap(), [["2"]]);
    // A clean end leaves no gap.
    s.execute("INSERT INTO d.t (b) VALUES ('x')").await.unwrap();
    assert_eq!(rows(&mut s, "SELECT a FROM d.t WHERE b = 'X'").await.unwrap(), [["4"]]);
    let estimate = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_NAME = 't'";
    assert_eq!(rows(&mut s, estimate).await.unwrap(), [["4"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_changes_nothing_does_not_wait_for_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let database =
        Database::open(directory.path(), DatabaseOptions { durability: Durability::Full, ..options() }).unwrap();
    let mut s = session(&database, "root");
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)", "INSERT INTO d.t VALUES (1, 1)"] {
        s.execute(sql).await.unwrap();
    }
    let fsyncs = "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_fsyncs'";
    // The log is also made durable once a second.
    const TIMES: usize = 100;
    for (statements, makes_durable) in [
        (&["UPDATE d.t SET b = b + 1 WHERE a = 1"][..], true),
        (&["DELETE FROM d.t WHERE a = 2"], false),
        (&["UPDATE d.t SET b = b + 1 WHERE a = 2"], false),
        (&["BEGIN", "DELETE FROM d.t WHERE a = 2", "SELECT b FROM d.t WHERE a = 1 FOR UPDATE", "COMMIT"], false),
    ] {
        let before: usize = rows(&mut s, fsyncs).await.unwrap()[0][1].parse().unwrap();
        for sql in statements.iter().cycle().take(TIMES * statements.len()) {
            rows(&mut s, sql).await.unwrap();
        }
        let after: usize = rows(&mut s, fsyncs).await.unwrap()[0][1].parse().unwrap();
        let count = after - before;
        assert!(if makes_durable { count >= TIMES } else { count < TIMES / 2 }, "{statements:?}: {count} times");
    }
}
