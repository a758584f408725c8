//! A user without rights is refused, whichever way is tried.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session, accounts::LoginAttempt, types::Value};
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
        ],
    )
    .await;
    denied(&mut eve, 1142, &["SHOW GRANTS FOR root@localhost", "SELECT * FROM mysql.user"]).await;
    denied(&mut eve, 1044, &["SHOW CREATE USER root@localhost", "USE mysql", "SHOW TABLES FROM mysql"]).await;
    denied(&mut eve, 1044, &["SET PASSWORD FOR root@localhost = 'x'"]).await;
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

/// Rights on columns, wherever a statement names one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_on_columns() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c INT)",
            "CREATE TABLE d.u (a INT PRIMARY KEY, x INT)",
            "INSERT INTO d.t VALUES (1, 2, 3)",
            "CREATE USER eve",
            "GRANT SELECT (a), INSERT (a, b), UPDATE (b) ON d.t TO eve",
            "GRANT UPDATE, DELETE ON d.u TO eve",
        ],
    )
    .await;
    let mut eve = server.session("eve");
    all(
        &mut eve,
        &[
            "SELECT a FROM d.t",
            "SELECT 1 FROM d.t",
            "SELECT COUNT(*) FROM d.t",
            "SELECT x.a FROM d.t x JOIN d.t y USING (a)",
            "WITH q AS (SELECT a FROM d.t) SELECT * FROM q",
            "INSERT INTO d.t (a, b) VALUES (5, 6)",
            "INSERT INTO d.t (a) VALUES (5) ON DUPLICATE KEY UPDATE b = 3",
            "INSERT INTO d.t (a) VALUES (5) ON DUPLICATE KEY UPDATE b = a",
            "UPDATE d.t SET b = 4",
            "UPDATE d.t SET b = 4 WHERE a = 1",
            "UPDATE d.u SET x = 1",
            "UPDATE d.u, d.t SET u.x = t.a",
            "DELETE FROM d.u",
            "SHOW COLUMNS FROM d.t",
            "EXPLAIN SELECT a FROM d.t",
        ],
    )
    .await;
    denied(&mut eve, 1143, COLUMNS_DENIED).await;
    denied(&mut eve, 1142, TABLES_DENIED).await;
    let shown = rows(
        &mut eve,
        "SELECT column_name, privileges FROM information_schema.columns WHERE table_schema = 'd' AND table_name = 't'",
    );
    assert_eq!(shown.await.unwrap(), [["a", "select,insert"], ["b", "insert,update"]]);
    assert_eq!(rows(&mut eve, "SHOW INDEX FROM d.t").await.unwrap().len(), 1);
    // What was prepared, and what has a plan, follows the rights.
    let prepared = eve.prepare("SELECT a FROM d.t WHERE a = ?").await.unwrap();
    for _ in 0..3 {
        assert!(eve.execute_prepared(prepared.id, &[Value::Int(1)]).await.is_ok());
        all(&mut eve, &["SELECT a FROM d.t WHERE a = 1", "UPDATE d.t SET b = 7 WHERE a = 1"]).await;
    }
    all(&mut root, &["REVOKE SELECT (a), UPDATE (b) ON d.t FROM eve", "GRANT SELECT (c) ON d.t TO eve"]).await;
    assert_eq!(eve.execute_prepared(prepared.id, &[Value::Int(1)]).await.err().unwrap().code.number(), 1143);
    denied(&mut eve, 1143, &["SELECT a FROM d.t WHERE a = 1"]).await;
    denied(&mut eve, 1142, &["UPDATE d.t SET b = 7 WHERE a = 1"]).await;
}

/// Statements that mean all columns of a table, or need a privilege on it.
const TABLES_DENIED: &[&str] = &[
    "SELECT * FROM d.t",
    "SELECT t.* FROM d.t",
    "WITH q AS (SELECT * FROM d.t) SELECT a FROM q",
    "SELECT a FROM d.u",
    "INSERT INTO d.t VALUES (5, 6, 7)",
    "INSERT INTO d.t () VALUES ()",
    "REPLACE INTO d.t (a, b) VALUES (9, 1)",
    "UPDATE d.t, d.u SET t.b = u.x",
    "DELETE FROM d.t WHERE a = 1",
    "DELETE d.u FROM d.u JOIN d.t ON u.a = t.a",
    "SHOW CREATE TABLE d.t",
    "LOAD DATA INFILE 'x' INTO TABLE d.u",
];

/// Statements that name a column which the account may not use so.
const COLUMNS_DENIED: &[&str] = &[
    "SELECT b FROM d.t",
    "SELECT zz FROM d.t",
    "SELECT COUNT(b) FROM d.t",
    "SELECT a FROM d.t WHERE b = 1",
    "SELECT a FROM d.t ORDER BY c",
    "SELECT a FROM d.t GROUP BY a HAVING MAX(c) > 1",
    "SELECT (SELECT c FROM d.t LIMIT 1)",
    "SELECT a FROM d.t WHERE a IN (SELECT b FROM d.t)",
    "SELECT x.a FROM d.t x JOIN d.t y USING (b)",
    "SELECT 1 FROM d.t x NATURAL JOIN d.t y",
    "SELECT q.a FROM (SELECT a, b FROM d.t) q",
    "EXPLAIN SELECT b FROM d.t",
    "PREPARE p FROM 'SELECT b FROM d.t'",
    "PREPARE p FROM 'UPDATE d.t SET c = 1'",
    "INSERT INTO d.t (a, c) VALUES (6, 6)",
    "INSERT INTO d.t (a) VALUES (5) ON DUPLICATE KEY UPDATE c = 3",
    "INSERT INTO d.t (a) VALUES (5) ON DUPLICATE KEY UPDATE b = b + 1",
    "INSERT INTO d.t (a) VALUES (5) ON DUPLICATE KEY UPDATE b = VALUES(b)",
    "INSERT INTO d.t (a) SELECT b FROM d.t",
    "INSERT INTO d.t (a, b) VALUES (9, b)",
    "INSERT INTO d.t (a, b) VALUES (9, DEFAULT(c))",
    "UPDATE d.t SET b = b + 1",
    "UPDATE d.t SET b = 4 WHERE c = 1",
    "UPDATE d.t SET c = 4",
    "UPDATE d.u SET x = a",
    "UPDATE d.u SET x = 1 WHERE a = 1",
    "UPDATE d.u, d.t SET u.x = t.c",
    "DELETE FROM d.u WHERE a = 1",
];

/// A view that is written through takes its definer's rights, and hands on no column that its account may not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_and_columns() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
            "INSERT INTO d.t VALUES (1, 2)",
            "CREATE USER bob, eve",
            "CREATE ROLE reader",
            "GRANT SELECT ON d.t TO bob, reader",
            "CREATE DEFINER = bob VIEW d.v AS SELECT a, b FROM d.t",
            "CREATE SQL SECURITY INVOKER VIEW d.vi AS SELECT a, b FROM d.t",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON d.v TO eve",
            "GRANT SELECT ON d.vi TO eve",
        ],
    )
    .await;
    let mut eve = server.session("eve");
    all(&mut eve, &["SELECT * FROM d.v"]).await;
    denied(&mut eve, 1345, &["EXPLAIN SELECT * FROM d.v", "EXPLAIN UPDATE d.v SET b = 1"]).await;
    let writes =
        ["UPDATE d.v SET b = 5", "INSERT INTO d.v (a) VALUES (7)", "DELETE FROM d.v WHERE a = 7", "SELECT * FROM d.vi"];
    denied(&mut eve, 1356, &writes).await;
    all(&mut root, &["GRANT UPDATE (b), INSERT ON d.t TO bob", "GRANT SELECT (a) ON d.t TO eve"]).await;
    all(&mut eve, &["UPDATE d.v SET b = 5", "INSERT INTO d.v (a) VALUES (7)", "SELECT a FROM d.vi"]).await;
    denied(&mut eve, 1356, &["UPDATE d.v SET a = 9", "DELETE FROM d.v WHERE a = 7", "SELECT b FROM d.vi"]).await;
    // Of the definer's roles the default ones count.
    all(&mut root, &["REVOKE SELECT ON d.t FROM bob", "GRANT reader TO bob"]).await;
    denied(&mut eve, 1356, &["SELECT a FROM d.v"]).await;
    all(&mut root, &["SET DEFAULT ROLE reader TO bob"]).await;
    all(&mut eve, &["SELECT a FROM d.v"]).await;
    // Rights on the columns of a view.
    all(&mut root, &["REVOKE ALL ON d.v FROM eve", "GRANT SELECT (a), UPDATE (b) ON d.v TO eve"]).await;
    all(&mut eve, &["SELECT a FROM d.v", "UPDATE d.v SET b = 1", "SHOW COLUMNS FROM d.v"]).await;
    denied(&mut eve, 1143, &["SELECT b FROM d.v", "UPDATE d.v SET a = 1"]).await;
    denied(&mut eve, 1142, &["SELECT * FROM d.v", "SHOW CREATE VIEW d.v"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_come_and_go() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "CREATE USER eve, bob",
            "CREATE ROLE r, s",
            "GRANT SELECT ON d.t TO r",
            "GRANT INSERT ON d.t TO s WITH GRANT OPTION",
            "GRANT r, s TO eve",
        ],
    )
    .await;
    let mut eve = server.session("eve");
    denied(&mut eve, 1142, &["SELECT a FROM d.t", "SELECT a FROM d.t WHERE a = 1"]).await;
    all(&mut eve, &["SET ROLE r", "SELECT a FROM d.t", "SELECT a FROM d.t WHERE a = 1"]).await;
    denied(&mut eve, 1142, &["INSERT INTO d.t VALUES (1)", "GRANT INSERT ON d.t TO bob"]).await;
    denied(&mut eve, 3530, &["SET ROLE nothing"]).await;
    assert_eq!(rows(&mut eve, "SELECT CURRENT_ROLE()").await.unwrap(), [["`r`@`%`"]]);
    // A plan of the session with the role is not one without it.
    all(&mut eve, &["SET ROLE ALL EXCEPT r", "INSERT INTO d.t VALUES (1)", "GRANT INSERT ON d.t TO bob"]).await;
    denied(&mut eve, 1142, &["SELECT a FROM d.t WHERE a = 1"]).await;
    denied(&mut eve, 1227, &["GRANT r TO bob", "CREATE ROLE x", "DROP ROLE r", "SET DEFAULT ROLE NONE TO bob"]).await;
    all(&mut root, &["GRANT r TO eve WITH ADMIN OPTION"]).await;
    all(&mut eve, &["GRANT r TO bob", "SET ROLE ALL", "SELECT a FROM d.t WHERE a = 1"]).await;
    // A role that is taken away is still named, and counts no more.
    all(&mut root, &["REVOKE r FROM eve"]).await;
    denied(&mut eve, 1142, &["SELECT a FROM d.t", "SELECT a FROM d.t WHERE a = 1"]).await;
    all(&mut root, &["SET DEFAULT ROLE r TO bob"]).await;
    let mut bob = server.session("bob");
    all(&mut bob, &["SELECT a FROM d.t", "SET ROLE NONE"]).await;
    denied(&mut bob, 1142, &["SELECT a FROM d.t"]).await;
    all(&mut root, &["SET GLOBAL mandatory_roles = 's', GLOBAL activate_all_roles_on_login = ON"]).await;
    let mut bob = server.session("bob");
    assert_eq!(rows(&mut bob, "SELECT CURRENT_ROLE()").await.unwrap(), [["`r`@`%`,`s`@`%`"]]);
    all(&mut bob, &["SELECT a FROM d.t", "INSERT INTO d.t VALUES (2)"]).await;
    denied(&mut root, 3628, &["DROP ROLE s", "REVOKE s FROM bob"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_and_roles_survive() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Database::open(directory.path(), fixture::options()).unwrap();
    let shown = {
        let database = open();
        let mut root = fixture::session(&database, "root");
        all(
            &mut root,
            &[
                "CREATE DATABASE d",
                "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
                "CREATE USER eve PASSWORD EXPIRE NEVER COMMENT 'c'",
                "CREATE ROLE r",
                "GRANT SELECT (a), UPDATE ON d.t TO eve",
                "GRANT INSERT ON `d%`.* TO r",
                "GRANT BACKUP_ADMIN ON *.* TO eve",
                "GRANT r TO eve WITH ADMIN OPTION",
                "SET DEFAULT ROLE r TO eve",
            ],
        )
        .await;
        let mut shown = rows(&mut root, "SHOW GRANTS FOR eve USING r").await.unwrap();
        shown.extend(rows(&mut root, "SHOW CREATE USER eve").await.unwrap());
        shown
    };
    let database = open();
    let mut root = fixture::session(&database, "root");
    let mut again = rows(&mut root, "SHOW GRANTS FOR eve USING r").await.unwrap();
    again.extend(rows(&mut root, "SHOW CREATE USER eve").await.unwrap());
    assert_eq!(again, shown);
    let mut eve = fixture::session(&database, "eve");
    all(&mut eve, &["SELECT a FROM d.t", "INSERT INTO d.t VALUES (1, 2)"]).await;
    denied(&mut eve, 1143, &["SELECT b FROM d.t"]).await;
}

/// What a login is told, and what it may do whose password has expired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_and_expired_passwords() {
    let server = Server::new();
    let mut root = server.session("root");
    all(&mut root, &["CREATE USER eve FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3", "CREATE USER bob REQUIRE SSL"])
        .await;
    let admit = |user: &str, proved: bool, knows_expiry: bool| {
        let (host, with_password, encrypted) = ("localhost", true, false);
        let attempt = LoginAttempt { user, host, proved, with_password, encrypted, knows_expiry };
        server.database.admit(&attempt).map(|admitted| admitted.must_change_password).map_err(|e| e.code.number())
    };
    assert_eq!(admit("eve", true, false), Ok(false));
    assert_eq!(admit("nobody", true, false), Err(1045));
    assert_eq!(admit("bob", true, false), Err(1045));
    assert_eq!((admit("eve", false, false), admit("eve", true, false)), (Err(1045), Ok(false)));
    assert_eq!((admit("eve", false, false), admit("eve", false, false)), (Err(1045), Err(3955)));
    assert_eq!(admit("eve", true, false), Err(3955));
    all(&mut root, &["ALTER USER eve ACCOUNT UNLOCK"]).await;
    assert_eq!(admit("eve", true, false), Ok(false));
    all(&mut root, &["ALTER USER eve ACCOUNT LOCK"]).await;
    assert_eq!((admit("eve", true, false), admit("eve", false, false)), (Err(3118), Err(1045)));
    all(&mut root, &["ALTER USER eve ACCOUNT UNLOCK PASSWORD EXPIRE"]).await;
    assert_eq!((admit("eve", true, false), admit("eve", true, true)), (Err(1862), Ok(true)));
    let mut eve = server.session("eve");
    eve.set_must_change_password();
    denied(&mut eve, 1820, &["SELECT 1", "SET @a = 1", "USE information_schema", "BEGIN", "PREPARE p FROM 'SELECT 1'"])
        .await;
    assert_eq!(eve.prepare("SELECT 1").await.unwrap_err().code.number(), 1820);
    let others = ["ALTER USER eve ACCOUNT LOCK", "ALTER USER bob IDENTIFIED BY 'x'", "SET PASSWORD FOR bob = 'x'"];
    denied(&mut eve, 1820, &others).await;
    assert_eq!(eve.use_database("information_schema").unwrap_err().code.number(), 1820);
    all(&mut eve, &["ALTER USER USER() IDENTIFIED BY 'new'", "SELECT 1"]).await;
    all(&mut root, &["ALTER USER eve PASSWORD REQUIRE CURRENT"]).await;
    denied(&mut eve, 3892, &["SET PASSWORD = 'other'"]).await;
    denied(&mut eve, 3891, &["SET PASSWORD = 'other' REPLACE 'old'"]).await;
    all(&mut eve, &["SET PASSWORD = 'other' REPLACE 'new'"]).await;
    assert_eq!(admit("eve", true, false), Ok(false));
}

/// Rights are asked for where a statement reads what it changes, and where what was allowed goes on later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_right_is_forgotten() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE DATABASE own",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
            "INSERT INTO d.t VALUES (1, 2)",
            "CREATE USER eve, bob",
            "GRANT INSERT, UPDATE ON d.t TO eve",
            "GRANT ALL ON own.* TO eve",
            "GRANT SELECT ON d.t TO bob",
        ],
    )
    .await;
    let mut eve = server.session("eve");
    // The table that rows come into is read, too.
    let reads_target = [
        "INSERT INTO d.t (a) SELECT COUNT(*) + 50 FROM d.t",
        "INSERT INTO d.t (a) SELECT 60 FROM d.t",
        "UPDATE d.t SET b = 5 WHERE 1 < (SELECT c FROM (SELECT COUNT(*) c FROM d.t) q)",
        "CREATE TABLE own.copy LIKE d.t",
        "ANALYZE TABLE d.t",
    ];
    denied(&mut eve, 1142, &reads_target).await;
    denied(&mut eve, 1142, &["CREATE TABLE own.child (x INT, FOREIGN KEY (x) REFERENCES d.t (a))"]).await;
    all(&mut root, &["GRANT REFERENCES (a) ON d.t TO eve"]).await;
    denied(&mut eve, 1142, &["CREATE TABLE own.child (x INT, FOREIGN KEY (x) REFERENCES d.t (a))"]).await;
    all(&mut eve, &["INSERT INTO d.t (a) VALUES (2) ON DUPLICATE KEY UPDATE b = 1", "UPDATE d.t SET b = 1 LIMIT 1"])
        .await;
    // What is open is read with the rights of the moment.
    let mut bob = server.session("bob");
    all(&mut bob, &["HANDLER d.t OPEN", "HANDLER t READ FIRST"]).await;
    all(&mut root, &["REVOKE SELECT ON d.t FROM bob", "GRANT SELECT (a) ON d.t TO bob"]).await;
    denied(&mut bob, 1142, &["HANDLER t READ NEXT", "HANDLER t READ FIRST"]).await;
    all(&mut bob, &["HANDLER t CLOSE", "HANDLER d.t OPEN AS h"]).await;
    denied(&mut bob, 1142, &["HANDLER h READ FIRST", "ANALYZE TABLE d.t"]).await;
    // An account that may only read locks no rows for itself.
    let locking = ["SELECT a FROM d.t FOR UPDATE", "SELECT a FROM (d.t JOIN own.o) WHERE a = 1 FOR UPDATE"];
    all(&mut root, &["CREATE TABLE own.o (o INT)", "GRANT SELECT ON own.* TO bob"]).await;
    let within = ["SELECT a FROM d.t WHERE a = 1 FOR UPDATE", "SELECT 1 FROM (SELECT a FROM d.t FOR UPDATE) q"];
    for _ in 0..2 {
        denied(&mut bob, 1142, &locking).await;
        denied(&mut bob, 1142, &within).await;
    }
    all(&mut bob, &["SELECT a FROM d.t FOR SHARE", "SELECT a FROM d.t WHERE a = 1 FOR SHARE"]).await;
    // A temporary table is its session's, whatever the rights on the table that it hides.
    all(&mut root, &["GRANT CREATE TEMPORARY TABLES ON d.* TO bob"]).await;
    denied(&mut bob, 1143, &["SELECT b FROM d.t"]).await;
    all(&mut bob, &["CREATE TEMPORARY TABLE d.t (b INT)", "INSERT INTO d.t VALUES (1)", "SELECT * FROM d.t"]).await;
    all(&mut bob, &["DROP TEMPORARY TABLE d.t"]).await;
    denied(&mut bob, 1143, &["SELECT b FROM d.t"]).await;
}

/// An account that makes others gains nothing by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_give_no_more_than_they_have() {
    let server = Server::new();
    let mut root = server.session("root");
    all(
        &mut root,
        &[
            "CREATE USER adm, bob",
            "CREATE ROLE powerful",
            "GRANT SELECT ON *.* TO powerful",
            "GRANT powerful TO bob",
            "GRANT CREATE USER ON *.* TO adm",
            "GRANT SELECT ON `a_%`.* TO adm WITH GRANT OPTION",
        ],
    )
    .await;
    let mut adm = server.session("adm");
    let roles = ["CREATE USER x DEFAULT ROLE powerful", "GRANT powerful TO adm", "REVOKE powerful FROM bob"];
    denied(&mut adm, 1227, &roles).await;
    denied(&mut adm, 1227, &["ALTER USER root@localhost IDENTIFIED BY 'x'", "RENAME USER root@localhost TO r"]).await;
    denied(&mut adm, 3532, &["RENAME USER powerful TO p"]).await;
    denied(&mut adm, 3530, &["SET ROLE powerful", "SET DEFAULT ROLE powerful TO adm"]).await;
    denied(&mut adm, 1044, &["SET PASSWORD FOR bob = 'x'", "SHOW CREATE USER bob", "GRANT SELECT ON `a%`.* TO bob"])
        .await;
    denied(&mut adm, 1044, &["GRANT SELECT ON `%`.* TO bob", "GRANT INSERT ON `a_%`.* TO bob"]).await;
    denied(&mut adm, 1142, &["SHOW GRANTS FOR bob", "SELECT * FROM mysql.user"]).await;
    denied(&mut adm, 1045, &["GRANT SELECT ON *.* TO bob", "GRANT USAGE ON *.* TO bob"]).await;
    all(&mut adm, &["GRANT SELECT ON `ab%`.* TO bob", "CREATE USER x", "ALTER USER bob IDENTIFIED BY 'x'"]).await;
}
