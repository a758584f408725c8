//! Temporary tables and the sessions that they belong to: how they end, what a crash leaves of them, and whose rights
//! count.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

async fn error(session: &mut Session, sql: &str) -> u16 {
    match rows(session, sql).await {
        Err(e) => e.code.number(),
        Ok(rows) => panic!("{sql}: {rows:?}"),
    }
}

/// The files of tables with what belongs to them.
fn files(directory: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_of_table = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('0'));
    let mut files: Vec<PathBuf> = names.filter(is_of_table).collect();
    files.sort();
    files
}

/// Files go with whoever looks at them last, which may be the background.
async fn until_files_are(directory: &Path, wanted: &[PathBuf], what: &str) {
    for _ in 0..400 {
        if files(directory) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(files(directory), wanted, "{what}");
}

async fn new_session(database: &Arc<Database>) -> Session {
    let mut session = fixture::session(database, "root");
    run(&mut session, "CREATE DATABASE IF NOT EXISTS d").await;
    session.use_database("d").unwrap();
    session
}

/// Two tables with rows, committed and not.
async fn fill(session: &mut Session) {
    run(session, "CREATE TEMPORARY TABLE own (a INT PRIMARY KEY, b VARCHAR(200), KEY (b))").await;
    run(session, "CREATE TEMPORARY TABLE filled (PRIMARY KEY (a)) SELECT a, v FROM t").await;
    let values: Vec<String> = (0..500).map(|i| format!("({i}, REPEAT('{}', 150))", i % 10)).collect();
    run(session, &format!("INSERT INTO own VALUES {}", values.join(", "))).await;
    run(session, "ALTER TABLE filled ADD COLUMN more INT DEFAULT 7, ADD INDEX (more)").await;
    run(session, "UPDATE own SET b = CONCAT(b, 'x') WHERE a % 3 = 0").await;
    run(session, "DELETE FROM own WHERE a % 5 = 0").await;
    run(session, "BEGIN").await;
    run(session, "UPDATE own SET b = 'undone' WHERE a < 50").await;
    run(session, "INSERT INTO t VALUES (1000, 1000)").await;
}

async fn stored(database: &Arc<Database>) {
    let mut session = new_session(database).await;
    run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, v INT)").await;
    run(&mut session, "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_go_with_their_session() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    stored(&database).await;
    let before = files(directory.path());
    for end in ["drop", "reset", "change of user", "kill"] {
        let mut session = new_session(&database).await;
        fill(&mut session).await;
        assert!(files(directory.path()).len() > before.len(), "{end}");
        match end {
            "reset" => session.reset(),
            "change of user" => session.change_user("root", "localhost", Some("d")).unwrap(),
            "kill" => {
                database.kill(session.id(), false).unwrap();
                error(&mut session, "SELECT * FROM own").await;
                session = new_session(&database).await;
            }
            _ => session = new_session(&database).await,
        }
        until_files_are(directory.path(), &before, end).await;
        assert_eq!(error(&mut session, "SELECT * FROM own").await, 1146, "{end}");
        assert_eq!(run(&mut session, "SELECT COUNT(*) FROM t").await, [["3"]], "{end}");
    }
}

/// A copy of the directory is what a killed process leaves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_them_is_there_after_a_crash() {
    let (directory, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    stored(&database).await;
    let before = files(directory.path()).len();
    let mut session = new_session(&database).await;
    fill(&mut session).await;
    // What is in the log reaches its files.
    let mut other = new_session(&database).await;
    run(&mut other, "INSERT INTO t VALUES (4, 40)").await;
    run(&mut other, "CREATE TABLE last (a INT)").await;
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    assert!(files(copy.path()).len() > before + 1);
    let database = Database::open(copy.path(), fixture::options()).unwrap();
    let mut session = new_session(&database).await;
    assert_eq!(files(copy.path()).len(), before + 1);
    for _ in 0..400 {
        // What was not committed is undone beside the sessions.
        if run(&mut session, "SELECT COUNT(*) FROM t WHERE a >= 1000 FOR UPDATE").await == [["0"]] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM t").await, [["4"]]);
    assert_eq!(run(&mut session, "CHECK TABLE t").await, [["d.t", "check", "status", "OK"]]);
    assert_eq!(error(&mut session, "SELECT * FROM own").await, 1146);
}

/// With CREATE TEMPORARY TABLES on the database, all may be done with one's own, and nothing with others.
#[tokio::test]
async fn whoever_may_make_them_may_use_them() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    stored(&database).await;
    let mut root = new_session(&database).await;
    run(&mut root, "CREATE USER maker@localhost IDENTIFIED BY 'x'").await;
    run(&mut root, "GRANT CREATE TEMPORARY TABLES ON d.* TO maker@localhost").await;
    let mut maker = fixture::session(&database, "maker");
    maker.use_database("d").unwrap();
    for sql in [
        "CREATE TEMPORARY TABLE q (a INT)",
        "INSERT INTO q VALUES (1)",
        "SELECT * FROM q",
        "UPDATE q SET a = 2",
        "ALTER TABLE q ADD b INT",
        "SHOW CREATE TABLE q",
        "CREATE INDEX i ON q (b)",
        "DELETE FROM q",
        "TRUNCATE q",
        "CREATE TEMPORARY TABLE w SELECT * FROM q",
        "DROP TABLE q",
        "DROP TEMPORARY TABLE w",
    ] {
        run(&mut maker, sql).await;
    }
    for (number, sql) in [
        (1142, "CREATE TEMPORARY TABLE w SELECT * FROM t"),
        (1142, "CREATE TEMPORARY TABLE t SELECT * FROM t"),
        (1142, "CREATE TEMPORARY TABLE w LIKE t"),
        (1142, "INSERT INTO t VALUES (1, 1)"),
        (1142, "CREATE TABLE p (a INT)"),
        (1142, "DROP TABLE t"),
        (1044, "CREATE TEMPORARY TABLE other.x (a INT)"),
    ] {
        assert_eq!(error(&mut maker, sql).await, number, "{sql}");
    }
    // Rights on other things than to read do not help.
    run(&mut root, "GRANT INSERT ON d.t TO maker@localhost").await;
    for sql in ["CREATE TEMPORARY TABLE t SELECT * FROM t", "CREATE TEMPORARY TABLE t SELECT COUNT(*) c FROM t"] {
        assert_eq!(error(&mut maker, sql).await, 1142, "{sql}");
    }
}
