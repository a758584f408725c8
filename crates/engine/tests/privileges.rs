//! A user without rights is refused, whichever way is tried.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session, types::Value};
use std::sync::Arc;

struct Server {
    database: Arc<Database>,
    _directory: tempfile::TempDir,
}

impl Server {
    fn new() -> Server {
        let directory = tempfile::tempdir().unwrap();
        Server { database: Database::open(directory.path(), fixture::options()).unwrap(), _directory: directory }
    }

    fn session(&self, user: &str) -> Session {
        fixture::session(&self.database, user)
    }
}

async fn all(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

async fn denied(session: &mut Session, code: u16, statements: &[&str]) {
    for sql in statements {
        match rows(session, sql).await {
            Err(e) => assert_eq!(e.code.number(), code, "{sql}: {e}"),
            Ok(found) => panic!("{sql} gave {found:?}"),
        }
    }
}

/// Statements that read or change tables of a database that the account has no rights on.
const NEED_SELECT: &[&str] = &[
    "SELECT * FROM secret.t",
    "SELECT * FROM secret.v",
    "SELECT * FROM secret.nothing",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM secret.t)",
    "WITH c AS (SELECT * FROM secret.t) SELECT * FROM c",
    "SELECT COUNT(*) FROM information_schema.schemata WHERE (SELECT COUNT(*) FROM secret.t) = 0",
    "SET @a = (SELECT COUNT(*) FROM secret.t)",
    "SET SESSION wait_timeout = (SELECT COUNT(*) FROM secret.t)",
    "DO (SELECT COUNT(*) FROM secret.t)",
    "KILL (SELECT COUNT(*) FROM secret.t)",
    "SELECT a INTO @a FROM secret.t",
    "EXPLAIN SELECT * FROM secret.t",
    "EXPLAIN ANALYZE SELECT * FROM secret.t",
    "SHOW VARIABLES WHERE (SELECT COUNT(*) FROM secret.t) = 0",
    "SHOW DATABASES WHERE EXISTS (SELECT 1 FROM secret.t)",
    "DESCRIBE secret.t",
    "SHOW COLUMNS FROM secret.t",
    "SHOW INDEX FROM secret.t",
    "SHOW CREATE TABLE secret.t",
    "SHOW CREATE VIEW secret.v",
    "ANALYZE TABLE secret.t",
    "CREATE VIEW own.other AS SELECT * FROM secret.t",
    "CREATE TABLE own.copy LIKE secret.t",
    "CREATE TABLE secret.u (a INT)",
    "DROP TABLE secret.t",
    "DROP VIEW secret.v",
    "TRUNCATE TABLE secret.t",
    "ALTER TABLE secret.t COMMENT 'x'",
    "ALTER TABLE secret.t RENAME own.t",
    "RENAME TABLE secret.t TO own.t",
    "CREATE INDEX i ON secret.t (b)",
    "DROP INDEX i ON secret.t",
    "LOAD DATA INFILE 'x' INTO TABLE secret.t",
];

/// A database that `eve` may not see, and one that is hers, with views of the other.
async fn secret_and_own(root: &mut Session) {
    all(
        root,
        &[
            "CREATE DATABASE secret",
            "CREATE TABLE secret.t (a INT PRIMARY KEY, b INT)",
            "CREATE VIEW secret.v AS SELECT a FROM secret.t",
            "CREATE DATABASE own",
            "CREATE SQL SECURITY INVOKER VIEW own.window AS SELECT a FROM secret.t",
            "CREATE VIEW own.shown AS SELECT a FROM secret.t",
            "CREATE VIEW own.shown_view AS SELECT * FROM secret.v",
            "CREATE USER eve",
            "GRANT ALL ON own.* TO eve",
            "GRANT PROCESS, RELOAD, FILE ON *.* TO eve",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_way_around_select() {
    let server = Server::new();
    let mut root = server.session("root");
    secret_and_own(&mut root).await;
    let mut eve = server.session("eve");
    // A view reads with the rights of who made it, or of who uses it.
    all(&mut eve, &["SELECT * FROM own.shown", "SELECT * FROM own.shown_view"]).await;
    denied(&mut eve, 1356, &["SELECT * FROM own.window"]).await;
    denied(&mut eve, 1227, &["CREATE DEFINER = root@localhost VIEW own.other AS SELECT 1"]).await;
    all(&mut eve, &["CREATE DEFINER = eve VIEW own.nothing AS SELECT 1 AS a"]).await;
    denied(&mut eve, 1142, NEED_SELECT).await;
    denied(
        &mut eve,
        1044,
        &[
            "USE secret",
            "SHOW TABLES FROM secret",
            "SHOW TABLE STATUS FROM secret",
            "SHOW CREATE DATABASE secret",
            "CREATE DATABASE other",
            "ALTER DATABASE secret CHARACTER SET latin1",
            "DROP DATABASE secret",
            "GRANT SELECT ON secret.* TO eve",
        ],
    )
    .await;
    denied(
        &mut eve,
        1227,
        &[
            "SET GLOBAL wait_timeout = 1",
            "CREATE USER mallory",
            "DROP USER root@localhost",
            "ALTER USER root@localhost IDENTIFIED BY 'x'",
            "SET PASSWORD FOR root@localhost = 'x'",
            "SHOW GRANTS FOR root@localhost",
            "SHOW CREATE USER root@localhost",
        ],
    )
    .await;
    denied(&mut eve, 1095, &[&format!("KILL {}", root.id()), &format!("KILL QUERY {}", root.id())]).await;

    // What is listed leaves out what may not be seen.
    for (sql, want) in [
        ("SHOW DATABASES LIKE 's%'", 0),
        ("SELECT * FROM information_schema.schemata WHERE schema_name = 'secret'", 0),
        ("SELECT * FROM information_schema.tables WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.columns WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.statistics WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.key_column_usage WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.table_constraints WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.views WHERE table_schema = 'secret'", 0),
        ("SELECT * FROM information_schema.views WHERE table_schema = 'own' AND view_definition <> ''", 4),
    ] {
        assert_eq!(rows(&mut eve, sql).await.unwrap().len(), want, "{sql}");
    }
}

/// For what is prepared too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_begin_and_end_at_once() {
    let server = Server::new();
    let mut root = server.session("root");
    secret_and_own(&mut root).await;
    let mut eve = server.session("eve");
    denied(&mut eve, 1142, &["PREPARE p FROM 'SELECT * FROM secret.t'"]).await;
    denied(&mut eve, 1243, &["EXECUTE p"]).await;
    assert_eq!(eve.prepare("SELECT * FROM secret.t").await.unwrap_err().code.number(), 1142);
    all(&mut root, &["GRANT SELECT ON secret.* TO eve"]).await;
    let prepared = eve.prepare("SELECT COUNT(*) FROM secret.t").await.unwrap();
    assert!(eve.execute_prepared(prepared.id, &[]).await.is_ok());
    denied(&mut eve, 1142, &["SHOW CREATE VIEW secret.v", "SHOW CREATE TABLE secret.v"]).await;
    assert_eq!(
        rows(&mut eve, "SELECT view_definition FROM information_schema.views WHERE table_name = 'v'").await.unwrap(),
        [[""]]
    );
    all(&mut root, &["REVOKE SELECT ON secret.* FROM eve"]).await;
    assert_eq!(eve.execute_prepared(prepared.id, &[]).await.err().unwrap().code.number(), 1142);
    all(&mut root, &["GRANT INSERT ON secret.* TO eve"]).await;
    denied(&mut eve, 1142, &["LOAD DATA INFILE 'x' REPLACE INTO TABLE secret.t"]).await;
    // Whoever may insert may prepare that.
    let prepared = eve.prepare("INSERT INTO secret.t VALUES (?, 1)").await.unwrap();
    assert!(eve.execute_prepared(prepared.id, &[Value::Int(1)]).await.is_ok());
    all(&mut eve, &["PREPARE p FROM 'INSERT INTO secret.t VALUES (2, 1)'", "EXECUTE p"]).await;
    all(&mut root, &["DROP USER eve"]).await;
    denied(&mut eve, 1044, &["USE own"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_others_are_theirs() {
    let server = Server::new();
    let mut root = server.session("root");
    all(&mut root, &["CREATE USER eve", "CREATE USER bob"]).await;
    let (mut eve, bob) = (server.session("eve"), server.session("bob"));
    for sql in ["SHOW PROCESSLIST", "SELECT id, user FROM information_schema.processlist"] {
        let seen = rows(&mut eve, sql).await.unwrap();
        assert_eq!(seen.iter().map(|r| r[1].as_str()).collect::<Vec<_>>(), ["eve"], "{sql}");
        assert_eq!(rows(&mut root, sql).await.unwrap().len(), 3, "{sql}");
    }
    denied(&mut eve, 1095, &[&format!("KILL {}", bob.id())]).await;
    denied(&mut eve, 1227, &["FLUSH STATUS"]).await;
    let other = server.session("eve");
    all(&mut eve, &[&format!("KILL {}", other.id())]).await;
    assert!(other.killed().is_cancelled() && !bob.killed().is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_has_the_rights_of_its_definer() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE DATABASE secret",
            "CREATE TABLE secret.t (a INT PRIMARY KEY)",
            "CREATE DATABASE own",
            "CREATE USER bob",
            "GRANT SELECT ON secret.* TO bob",
            "GRANT ALL ON own.* TO bob",
            "CREATE USER eve",
            "GRANT SELECT ON own.* TO eve",
        ],
    )
    .await;
    let (mut bob, mut eve) = (server.session("bob"), server.session("eve"));
    all(&mut bob, &["CREATE VIEW own.v AS SELECT a FROM secret.t"]).await;
    all(&mut eve, &["SELECT * FROM own.v"]).await;
    let shown = rows(&mut bob, "SHOW CREATE VIEW own.v").await.unwrap();
    assert!(format!("{shown:?}").contains("DEFINER=`bob`@`%` SQL SECURITY DEFINER VIEW `v`"), "{shown:?}");
    // Also those that he has now, and not only those that he had.
    all(&mut root, &["REVOKE SELECT ON secret.* FROM bob"]).await;
    denied(&mut eve, 1356, &["SELECT * FROM own.v"]).await;
    denied(&mut root, 1356, &["SELECT * FROM own.v"]).await;
    all(&mut root, &["DROP USER bob"]).await;
    denied(&mut root, 1449, &["SELECT * FROM own.v"]).await;
    all(
        &mut root,
        &["CREATE OR REPLACE DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW own.v AS SELECT a FROM secret.t"],
    )
    .await;
    all(&mut eve, &["SELECT * FROM own.v"]).await;
}
