//! A transaction that is left open keeps the log. Beyond the limit its connection is closed, and others go on.

mod fixture;

use fixture::{options, rows, session};
use muster_engine::{Database, DatabaseOptions, LogSettings};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_keeps_too_much_of_the_log_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let log = LogSettings { capacity: 8 << 20, transactions: 1, ..LogSettings::default() };
    let database = Database::open(directory.path(), DatabaseOptions { log, ..options() }).unwrap();
    let (mut idle, mut busy) = (session(&database, "root"), session(&database, "root"));
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b LONGBLOB)",
        "INSERT INTO d.t VALUES (1, ''), (2, REPEAT('x', 100000))",
    ] {
        rows(&mut busy, statement).await.unwrap();
    }
    rows(&mut idle, "BEGIN").await.unwrap();
    rows(&mut idle, "UPDATE d.t SET b = 'changed' WHERE a = 1").await.unwrap();
    let killed = idle.killed();
    let began = Instant::now();
    let mut rounds = 0;
    while !killed.is_cancelled() {
        assert!(began.elapsed() < Duration::from_secs(60), "the transaction stays");
        let update = format!("UPDATE d.t SET b = REPEAT('{}', 100000) WHERE a = 2", rounds % 10);
        rows(&mut busy, &update).await.unwrap();
        rounds += 1;
    }
    assert!(rounds > 10, "{rounds}");
    // The server drops the session of a connection that it closes.
    drop(idle);
    rows(&mut busy, "UPDATE d.t SET b = 'free' WHERE a = 1").await.unwrap();
}
