//! EXPLAIN FOR CONNECTION: the plan of what another session runs.

mod fixture;

use fixture::{rows, session};
use muster_engine::{Database, Session};
use std::{path::Path, sync::Arc, time::Duration};

async fn open(directory: &Path, statements: &[&str]) -> (Arc<Database>, Session) {
    let database = Database::open(directory, fixture::options()).expect("a new data directory opens");
    let mut root = session(&database, "root");
    for sql in statements {
        rows(&mut root, sql).await.unwrap_or_else(|e| panic!("{e}\n{sql}"));
    }
    (database, root)
}

/// Asks until the other session has begun.
async fn explained(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    for _ in 0..500 {
        let found = rows(session, sql).await.expect("a plan");
        // It may not have begun, or have no plan yet.
        if !found.is_empty() && !found[0].last().is_some_and(|text| text.contains("Plan isn't ready yet")) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_another_session_runs() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let (database, mut root) = open(
        directory.path(),
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
            "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)",
            "CREATE USER eve@localhost",
        ],
    )
    .await;
    let mut worker = session(&database, "root");
    let (id, stop) = (worker.id(), worker.interrupter());
    // Nothing is told of a session that runs nothing.
    assert!(rows(&mut root, &format!("EXPLAIN FOR CONNECTION {id}")).await.expect("no plan").is_empty());
    let running = tokio::spawn(async move { rows(&mut worker, "SELECT SLEEP(60), b FROM d.t WHERE b > 1").await });
    let table = explained(&mut root, &format!("EXPLAIN FOR CONNECTION {id}")).await;
    assert_eq!((table[0][2].as_str(), table[0][4].as_str(), table[0][9].as_str()), ("t", "ALL", "3"), "{table:?}");
    let tree = explained(&mut root, &format!("EXPLAIN FORMAT=TREE FOR CONNECTION {id}")).await;
    assert!(tree[0][0].contains("Table scan on t"), "{tree:?}");
    rows(&mut root, &format!("EXPLAIN FORMAT=JSON INTO @plan FOR CONNECTION {id}")).await.expect("a plan");
    let json = rows(&mut root, "SELECT @plan").await.expect("a text").remove(0).remove(0);
    assert!(json.contains("\"table_name\": \"t\""), "{json}");
    let mut eve = session(&database, "eve");
    let refused = rows(&mut eve, &format!("EXPLAIN FOR CONNECTION {id}")).await.expect_err("another user's");
    assert_eq!(refused.code.number(), 1045, "{refused}");
    let own = root.id();
    let refused = rows(&mut root, &format!("EXPLAIN FOR CONNECTION {own}")).await.expect_err("EXPLAIN itself");
    assert_eq!(refused.code.number(), 3012, "{refused}");
    stop();
    // The session ends with its task.
    let _ = running.await.expect("the task ends");
    let refused = rows(&mut root, &format!("EXPLAIN FOR CONNECTION {id}")).await.expect_err("it is gone");
    assert_eq!(refused.code.number(), 1094, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_long_statement_tells_its_rows_so_far() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let statements = ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)"];
    let (database, mut root) = open(directory.path(), &statements).await;
    let values: Vec<String> = (0..2000).map(|n| format!("({n}, {})", n % 7)).collect();
    rows(&mut root, &format!("INSERT INTO d.t VALUES {}", values.join(","))).await.expect("rows");
    let mut worker = session(&database, "root");
    let (id, stop) = (worker.id(), worker.interrupter());
    let sql = "SELECT COUNT(*) FROM d.t x JOIN d.t y ON x.a + y.a > x.b * y.b JOIN d.t z ON x.a * z.a > y.b + z.b";
    let running = tokio::spawn(async move { rows(&mut worker, sql).await });
    let tree = loop {
        let tree = explained(&mut root, &format!("EXPLAIN FORMAT=TREE FOR CONNECTION {id}")).await;
        if tree[0][0].contains("(actual time=") {
            break tree[0][0].clone();
        }
    };
    assert!(tree.contains("Table scan on x") && tree.contains("rows="), "{tree}");
    stop();
    assert!(running.await.expect("the task ends").is_err(), "the statement is stopped");
}
