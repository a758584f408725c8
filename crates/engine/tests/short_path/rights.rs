//! A plan that is cached for one account gives nothing to another, and a right that is gone is gone with the next
//! statement.

use crate::{
    data::{in_db, loaded},
    fixture::{rows, session},
};
use muster_engine::{Database, Session, types::Value};
use std::sync::Arc;

/// Runs a statement until its plan is known, and returns its rows; the number of its error if it has one.
async fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, u16> {
    let first = rows(session, sql).await.map_err(|e| e.code.number());
    for _ in 0..2 {
        let next = rows(session, sql).await.map_err(|e| e.code.number());
        assert_eq!(next, first, "{sql}");
    }
    first
}

async fn fixture(directory: &std::path::Path) -> (Arc<Database>, Session, Session) {
    let database = loaded(directory, 37).await;
    let mut root = in_db(&database, "root").await;
    for sql in ["CREATE USER u@localhost", "CREATE USER v@localhost"] {
        root.execute(sql).await.unwrap();
    }
    let user = session(&database, "u");
    (database, root, user)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut root, mut user) = fixture(directory.path()).await;
    let mut other = session(&database, "v");
    let statements = [
        "SELECT k FROM db.t WHERE id = 300",
        "SELECT SUM(k) FROM db.t WHERE id BETWEEN 300 AND 600",
        "SELECT id FROM db.t WHERE id BETWEEN 300 AND 600 ORDER BY s, id",
        "SELECT id FROM db.t WHERE id = 300 UNION SELECT k FROM db.t WHERE id = 600 ORDER BY 1",
    ];
    for sql in statements {
        let wanted = run(&mut root, sql).await;
        for _ in 0..2 {
            assert_eq!(run(&mut user, sql).await, Err(1142), "{sql}");
            root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
            assert_eq!(run(&mut user, sql).await, wanted, "{sql}");
            // Another account has none of this, though the plan is there.
            assert_eq!(run(&mut other, sql).await, Err(1142), "{sql}");
            root.execute("REVOKE SELECT ON db.* FROM u@localhost").await.unwrap();
        }
        root.execute("GRANT SELECT ON *.* TO u@localhost").await.unwrap();
        assert_eq!(run(&mut user, sql).await, wanted, "{sql}");
        // An account that is dropped and made anew begins without rights, also in a session that is still there.
        root.execute("DROP USER u@localhost").await.unwrap();
        assert!(run(&mut user, sql).await.is_err(), "{sql}");
        root.execute("CREATE USER u@localhost").await.unwrap();
        assert_eq!(run(&mut user, sql).await, Err(1142), "{sql}");
        assert_eq!(run(&mut root, sql).await, wanted, "{sql}");
    }
}

/// The rights of a prepared statement are those of each execution.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_between_prepare_and_execute() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut root, mut user) = fixture(directory.path()).await;
    root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
    let prepared = user.prepare("SELECT k FROM db.t WHERE id = ?").await.unwrap();
    let value = [Value::Int(300)];
    for _ in 0..3 {
        assert!(user.execute_prepared(prepared.id, &value).await.is_ok());
    }
    root.execute("REVOKE SELECT ON db.* FROM u@localhost").await.unwrap();
    let error = user.execute_prepared(prepared.id, &value).await.err().map(|e| e.code.number());
    assert_eq!(error, Some(1142));
}

/// A session that changes its user has the rights of the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_user() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut root, mut user) = fixture(directory.path()).await;
    let sql = "SELECT k FROM db.t WHERE id = 300";
    let wanted = run(&mut root, sql).await;
    root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
    assert_eq!(run(&mut user, sql).await, wanted);
    user.change_user("v", "localhost", None).unwrap();
    assert_eq!(run(&mut user, sql).await, Err(1142));
    user.change_user("u", "localhost", None).unwrap();
    assert_eq!(run(&mut user, sql).await, wanted);
}

/// Rows of a view are read with the rights of its definer, or of who asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut root, mut user) = fixture(directory.path()).await;
    let sql = "SELECT k FROM shown.seen WHERE id = 300";
    let wanted = run(&mut root, "SELECT k FROM db.t WHERE id = 300").await;
    for statement in [
        "CREATE DATABASE shown",
        "GRANT SELECT ON db.* TO v@localhost",
        "CREATE DEFINER = v@localhost VIEW shown.seen AS SELECT id, k FROM db.t WHERE id > 30",
        "GRANT SELECT ON shown.* TO u@localhost",
    ] {
        root.execute(statement).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    assert_eq!(run(&mut user, sql).await, wanted);
    assert_eq!(run(&mut user, "SELECT k FROM db.t WHERE id = 300").await, Err(1142));
    assert_eq!(run(&mut user, "SELECT k FROM shown.seen WHERE id = 3").await, Ok(Vec::new()));
    root.execute("REVOKE SELECT ON db.* FROM v@localhost").await.unwrap();
    assert_eq!(run(&mut user, sql).await, Err(1356));
    root.execute("GRANT SELECT ON db.* TO v@localhost").await.unwrap();
    assert_eq!(run(&mut user, sql).await, wanted);
    let invoker =
        "CREATE OR REPLACE DEFINER = v@localhost SQL SECURITY INVOKER VIEW shown.seen AS SELECT id, k FROM db.t";
    root.execute(invoker).await.unwrap();
    assert_eq!(run(&mut user, sql).await, Err(1356));
    root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
    assert_eq!(run(&mut user, sql).await, wanted);
    root.execute("DROP VIEW shown.seen").await.unwrap();
    assert_eq!(run(&mut user, sql).await, Err(1146));
}
