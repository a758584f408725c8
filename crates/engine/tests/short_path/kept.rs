//! Queries of the general path that are bound once: they give what is so now, whatever has changed since.

use crate::{
    data::{in_db, is_short},
    fixture::{options, rows, session},
};
use muster_engine::{Database, Session, types::Value};
use std::sync::Arc;

/// Queries that the short path does not take, with `#` for a number.
const QUERIES: [&str; 6] = [
    "SELECT id, n FROM a WHERE id = # UNION ALL SELECT id, m FROM b WHERE id = # ORDER BY 1, 2",
    "SELECT id, (SELECT COUNT(*) FROM b WHERE b.a = a.id) FROM a WHERE id < # ORDER BY id",
    "SELECT x.n, COUNT(*) FROM (SELECT DISTINCT n FROM a WHERE id > #) x GROUP BY x.n HAVING COUNT(*) > 0 ORDER BY 1",
    "WITH c AS (SELECT id, m FROM b WHERE m <> #) SELECT a.n, c.m FROM a LEFT JOIN c ON c.id = a.id ORDER BY 1, 2",
    "SELECT n FROM a WHERE id = # OR n IN (SELECT m FROM b WHERE id > #) ORDER BY n, id",
    "SELECT MAX(v.n), MIN(v.n) FROM v WHERE v.id <> #",
];

async fn opened(directory: &std::path::Path) -> (Arc<Database>, Session) {
    let database = Database::open(directory, options()).unwrap();
    let mut root = session(&database, "root");
    for sql in [
        "CREATE DATABASE db",
        "USE db",
        "CREATE TABLE a (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, m INT)",
        "CREATE VIEW v AS SELECT id, n FROM a WHERE n < 5",
        "INSERT INTO a VALUES (1, 1), (2, 2), (3, 1), (4, NULL), (5, 7)",
        "INSERT INTO b VALUES (1, 1, 2), (2, 1, 3), (3, 3, 1), (4, 9, 7)",
    ] {
        root.execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    (database, root)
}

/// The rows of all queries, of which none is kept for the session.
async fn plainly(session: &mut Session, number: i64) -> Vec<Vec<Vec<String>>> {
    session.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let mut all = Vec::new();
    for query in QUERIES {
        all.push(rows(session, &query.replace('#', &number.to_string())).await.unwrap());
    }
    session.execute("SET optimizer_switch = DEFAULT").await.unwrap();
    all
}

/// The same of a session that keeps them, as texts and as prepared statements.
async fn kept(session: &mut Session, number: i64) -> Vec<Vec<Vec<String>>> {
    let mut all = Vec::new();
    for query in QUERIES {
        let text = query.replace('#', &number.to_string());
        let found = rows(session, &text).await.unwrap();
        assert_eq!(rows(session, &text).await.unwrap(), found, "{text}");
        let prepared = session.prepare(&query.replace('#', "?")).await.unwrap();
        let values = vec![Value::Int(number); prepared.parameters];
        for _ in 0..2 {
            let outcome = session.execute_prepared(prepared.id, &values).await.unwrap();
            assert_eq!(crate::fixture::rows_of(outcome).await.unwrap(), found, "{query}");
        }
        session.close_prepared(prepared.id);
        all.push(found);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kept_queries_see_what_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut root) = opened(directory.path()).await;
    let mut plain = in_db(&database, "root").await;
    for query in QUERIES {
        assert!(!is_short(&mut root, &query.replace('#', "1")).await, "{query}");
    }
    let changes = [
        "DO 0",
        "UPDATE a SET n = n + 1 WHERE id > 1",
        "INSERT INTO b VALUES (5, 2, 2), (6, 2, 8)",
        "DELETE FROM a WHERE id = 3",
        "CREATE INDEX n ON a (n)",
        "TRUNCATE TABLE b",
        "INSERT INTO b VALUES (5, 2, 2), (6, 2, 8)",
        "DROP VIEW v",
        "CREATE VIEW v AS SELECT id, n + 100 AS n FROM a",
        "DROP TABLE b",
        "CREATE TABLE b (m BIGINT, id INT PRIMARY KEY, a INT, KEY (a))",
        "INSERT INTO b VALUES (77, 1, 2), (78, 2, 2)",
        "ANALYZE TABLE a, b",
        "RENAME TABLE a TO was, b TO a2",
        "CREATE TABLE a (n INT, id INT PRIMARY KEY)",
        "RENAME TABLE a2 TO b",
    ];
    for change in changes {
        root.execute(change).await.unwrap_or_else(|e| panic!("{change}: {e}"));
        let is_whole = rows(&mut plain, "SHOW TABLES").await.unwrap().concat();
        if !["a", "b", "v"].iter().all(|name| is_whole.iter().any(|table| table == name)) {
            continue;
        }
        for number in [1, 2, 5, 2] {
            assert_eq!(kept(&mut root, number).await, plainly(&mut plain, number).await, "{change}, {number}");
        }
    }
}

/// A transaction sees its own changes and no others, although others have planned the same statements since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kept_queries_see_what_their_transaction_sees() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut root) = opened(directory.path()).await;
    let (mut old, mut plain) = (in_db(&database, "root").await, in_db(&database, "root").await);
    for session in [&mut old, &mut plain] {
        session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").await.unwrap();
    }
    let before = kept(&mut old, 2).await;
    root.execute("UPDATE a SET n = 50").await.unwrap();
    root.execute("DELETE FROM b WHERE id < 3").await.unwrap();
    assert_ne!(kept(&mut root, 2).await, before);
    assert_eq!(kept(&mut old, 2).await, before);
    assert_eq!(plainly(&mut plain, 2).await, before);
    old.execute("INSERT INTO b VALUES (10, 1, 1)").await.unwrap();
    assert_ne!(kept(&mut old, 2).await, before);
    old.execute("ROLLBACK").await.unwrap();
    assert_eq!(kept(&mut old, 2).await, kept(&mut root, 2).await);
    // Locks of whole tables reach them.
    root.execute("LOCK TABLES a READ").await.unwrap();
    let refused = rows(&mut root, &QUERIES[0].replace('#', "2")).await;
    assert_eq!(refused.err().map(|e| e.code.number()), Some(1100));
    root.execute("UNLOCK TABLES").await.unwrap();
}

/// Queries that lock rows and that the short path does not take, and what they say of a = 2 then.
const LOCKING: [&str; 3] = [
    "SELECT id, n, (SELECT COUNT(*) FROM b WHERE b.a = a.id) FROM a WHERE id <= # ORDER BY id FOR UPDATE",
    "SELECT id, n FROM a WHERE id = # OR n IN (SELECT m FROM b WHERE id > 77) ORDER BY id FOR SHARE",
    "SELECT a.id, a.n FROM a JOIN b ON b.a <> a.id WHERE a.id <= # ORDER BY 1, b.id FOR UPDATE OF a",
];

/// They lock the newest rows each time, in transactions with an older view, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kept_queries_lock_what_they_read() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut root) = opened(directory.path()).await;
    let (mut old, mut other) = (in_db(&database, "root").await, in_db(&database, "root").await);
    for query in LOCKING {
        root.execute("UPDATE a SET n = 2 WHERE id = 2").await.unwrap();
        let text = query.replace('#', "2");
        assert!(!is_short(&mut root, &text).await, "{text}");
        let prepared = root.prepare(&query.replace('#', "?")).await.unwrap();
        let first = rows(&mut root, &text).await.unwrap();
        old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").await.unwrap();
        root.execute("UPDATE a SET n = 20 WHERE id = 2").await.unwrap();
        let changed = rows(&mut old, &text).await.unwrap();
        assert_ne!(changed, first, "{text}");
        assert_eq!(rows(&mut old, "SELECT n FROM a WHERE id = 2").await.unwrap(), [["2"]]);
        for locked in ["2", "3"] {
            let asked = format!("SELECT n FROM a WHERE id = {locked} FOR UPDATE NOWAIT");
            let refused = rows(&mut other, &asked).await.err().map(|e| e.code.number());
            // The second query reads all rows.
            let is_read = locked == "2" || query == LOCKING[1];
            assert_eq!(refused, is_read.then_some(3572), "{text}, {locked}");
        }
        old.execute("ROLLBACK").await.unwrap();
        root.execute("BEGIN").await.unwrap();
        let outcome = root.execute_prepared(prepared.id, &[Value::Int(2)]).await.unwrap();
        assert_eq!(crate::fixture::rows_of(outcome).await.unwrap(), changed, "{query}");
        let refused = rows(&mut other, "SELECT n FROM a WHERE id = 2 FOR UPDATE NOWAIT").await;
        assert_eq!(refused.err().map(|e| e.code.number()), Some(3572), "{query}");
        root.execute("ROLLBACK").await.unwrap();
    }
    // A right that is taken away counts at once.
    for sql in ["CREATE USER u", "GRANT SELECT, UPDATE ON db.* TO u"] {
        root.execute(sql).await.unwrap();
    }
    let mut user = in_db(&database, "u").await;
    let text = LOCKING[0].replace('#', "2");
    rows(&mut user, &text).await.unwrap();
    root.execute("REVOKE UPDATE ON db.* FROM u").await.unwrap();
    assert_eq!(rows(&mut user, &text).await.err().map(|e| e.code.number()), Some(1142));
}
