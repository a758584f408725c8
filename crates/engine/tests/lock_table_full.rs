//! A transaction for whose locks there is no more memory: error 1206 rolls back all of it, and its locks are free.

mod fixture;

use fixture::rows;
use muster_engine::{Database, DatabaseOptions, Session, types::ErrorCode};

/// Half of it is for locks.
const POOL_BYTES: usize = 1 << 20;
const ROWS: usize = 20_000;

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_locks_have_no_memory_is_rolled_back() {
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions { buffer_pool_bytes: POOL_BYTES, page_size: 4096, ..fixture::options() };
    let database = Database::open(directory.path(), options).unwrap();
    let mut setup = fixture::session(&database, "root");
    run(&mut setup, "CREATE DATABASE d").await;
    run(&mut setup, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)").await;
    run(&mut setup, "CREATE TABLE d.small (id INT PRIMARY KEY)").await;
    let digits = (0..10).map(|i| format!("SELECT {i} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let from = ["v", "w", "x", "y", "z"].map(|name| format!("({digits}) {name}")).join(" CROSS JOIN ");
    let number = "v.d * 10000 + w.d * 1000 + x.d * 100 + y.d * 10 + z.d";
    run(&mut setup, &format!("INSERT INTO d.t SELECT {number}, 0 FROM {from} WHERE {number} < {ROWS}")).await;
    let mut session = fixture::session(&database, "root");
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        run(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).await;
        run(&mut session, "BEGIN").await;
        run(&mut session, "INSERT INTO d.small VALUES (1)").await;
        run(&mut session, "SAVEPOINT s").await;
        run(&mut session, "UPDATE d.t SET v = 1 WHERE id = 5").await;
        let e = rows(&mut session, "SELECT COUNT(*) FROM d.t WHERE v >= 0 FOR UPDATE").await.unwrap_err();
        assert_eq!(e.code, ErrorCode::LockTableFull, "{level}: {}", e.message);
        assert_eq!(e.message, "The total number of locks exceeds the lock table size");
        // Not only the statement is undone: the transaction and its savepoint are gone, with all changes and locks.
        assert!(!session.transaction_status().in_transaction, "{level}");
        assert_eq!(rows(&mut session, "ROLLBACK TO s").await.unwrap_err().code.number(), 1305, "{level}");
        let mut other = fixture::session(&database, "root");
        run(&mut other, "BEGIN").await;
        assert_eq!(run(&mut other, "SELECT id FROM d.small FOR UPDATE NOWAIT").await, [[""; 0]; 0], "{level}");
        assert_eq!(run(&mut other, "SELECT v FROM d.t WHERE id = 5 FOR UPDATE NOWAIT").await, [["0"]], "{level}");
        assert_eq!(run(&mut other, "SELECT v FROM d.t WHERE id = 6 FOR UPDATE NOWAIT").await, [["0"]], "{level}");
        run(&mut other, "ROLLBACK").await;
        // The session goes on.
        run(&mut session, "INSERT INTO d.small VALUES (2)").await;
        run(&mut session, "DELETE FROM d.small").await;
    }
}
