//! The effects of a session's variables, and what other sessions see of its statements.

mod fixture;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use fixture::rows;
use futures::StreamExt;
use muster_engine::{
    Database, Outcome, Session,
    types::{SqlError, Value},
};
use std::{path::Path, sync::Arc};

fn open(directory: &Path) -> Arc<Database> {
    Database::open(directory, fixture::options()).unwrap()
}

fn session(database: &Arc<Database>) -> Session {
    fixture::session(database, "root")
}

/// The values of a statement's rows, one after the other.
async fn values(session: &mut Session, sql: &str) -> Result<Vec<String>, SqlError> {
    Ok(rows(session, sql).await?.concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn optimizer_switches_reach_the_optimizer() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session(&open(directory.path()));
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))"] {
        values(&mut session, sql).await.unwrap();
    }
    let plan = "EXPLAIN FORMAT=TREE SELECT b FROM t WHERE b = 1";
    let with = values(&mut session, plan).await.unwrap();
    values(&mut session, "SET optimizer_switch = 'access_path=off'").await.unwrap();
    let without = values(&mut session, plan).await.unwrap();
    assert!(with[0].contains("ndex lookup on t using b"), "{with:?}");
    assert!(without[0].contains("Table scan on t"), "{without:?}");
    values(&mut session, "SET optimizer_switch = 'access_path=default'").await.unwrap();
    assert_eq!(values(&mut session, plan).await.unwrap(), with);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_told_that_backslashes_escape_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = session(&database);
    assert!(!session.no_backslash_escapes());
    values(&mut session, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'").await.unwrap();
    assert!(session.no_backslash_escapes());
    session.reset();
    assert!(!session.no_backslash_escapes());
    values(&mut session, "SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES'").await.unwrap();
    assert!(!session.no_backslash_escapes() && fixture::session(&database, "root").no_backslash_escapes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_statement_uses_no_table_until_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut holder = session(&database);
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"] {
        values(&mut holder, sql).await.unwrap();
    }
    holder.prepare("SELECT a FROM t").await.unwrap();
    assert!(holder.prepare("SELECT a FROM t WHERE nothing = 1").await.is_err());
    let mut other = session(&database);
    values(&mut other, "SET lock_wait_timeout = 1").await.unwrap();
    values(&mut other, "FLUSH TABLES d.t").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_end_with_their_rows() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = session(&database);
    let running = || database.processes()[0].statement.clone();
    for sql in [
        "SELECT 1 UNION ALL SELECT 2",
        "SHOW DATABASES",
        "SHOW VARIABLES LIKE 'version'",
        "SHOW VARIABLES WHERE variable_name = 'version'",
        "SHOW WARNINGS",
        "DESCRIBE information_schema.tables",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT 1 FROM nowhere",
        "SELECT 1 INTO @a",
        "SET @a = (SELECT 1)",
    ] {
        let outcome = session.execute(sql).await;
        let has_rows = matches!(outcome, Ok(Outcome::Rows(_)));
        assert_eq!(running().as_deref(), has_rows.then_some(sql));
        if let Ok(Outcome::Rows(mut result)) = outcome {
            while result.rows.next().await.is_some() {}
            assert_eq!(running(), None, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_announce_their_character_set() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session(&open(directory.path()));
    let names = ["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];
    for (id, want) in [
        (255, ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_0900_ai_ci"]),
        (45, ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_general_ci"]),
        (33, ["utf8mb3", "utf8mb3", "utf8mb3", "utf8mb3_general_ci"]),
        (8, ["latin1", "latin1", "latin1", "latin1_swedish_ci"]),
        (11, ["ascii", "ascii", "ascii", "ascii_general_ci"]),
        (63, ["binary", "binary", "binary", "binary"]),
        (224, ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_unicode_ci"]),
        (13, ["sjis", "sjis", "sjis", "sjis_japanese_ci"]),
        // A collation that Muster does not have, of tis620: the server's own stays.
        (18, ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_0900_ai_ci"]),
    ] {
        session.reset();
        session.set_client_collation(id);
        assert_eq!(names.map(|n| session.variable(n)), want, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_of_the_server_are_true() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = session(&database);
    let found =
        values(&mut session, "SELECT @@datadir, @@port, @@socket, @@hostname = '', @@version = VERSION()").await;
    let canonical = directory.path().canonicalize().unwrap();
    assert_eq!(found.unwrap(), [&format!("{}/", canonical.display()), "0", "", "0", "1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_parameters() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session(&open(directory.path()));
    let rows = "(SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3)";
    let one = session.prepare(&format!("SELECT n, 'x' AS s FROM {rows} r ORDER BY n LIMIT ?")).await.unwrap();
    let names: Vec<&str> = one.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!((one.parameters, names), (1, vec!["n", "s"]));
    let two = session.prepare(&format!("SELECT n FROM {rows} r WHERE n > ? ORDER BY n LIMIT ?, ?")).await.unwrap();
    assert_eq!((two.parameters, two.columns.len()), (3, 1));
    for (id, parameters, expected) in [
        (one.id, vec![Value::Int(2)], Ok(2)),
        (one.id, vec![Value::UInt(0)], Ok(0)),
        (one.id, vec![Value::Int(9)], Ok(3)),
        (one.id, vec![Value::Null], Err(1210)),
        (one.id, vec![Value::Int(-1)], Err(1210)),
        (two.id, vec![Value::Int(0), Value::Int(1), Value::Int(5)], Ok(2)),
        (two.id, vec![Value::Int(1), Value::Int(1), Value::Int(5)], Ok(1)),
    ] {
        let found = match session.execute_prepared(id, &parameters).await {
            Ok(Outcome::Rows(mut result)) => {
                let mut rows = 0;
                while let Some(batch) = result.rows.next().await {
                    rows += batch.unwrap().num_rows();
                }
                Ok(rows)
            }
            Ok(Outcome::Ok { .. }) => panic!("no rows"),
            Err(error) => Err(error.code.number()),
        };
        assert_eq!(found, expected, "{id} {parameters:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn virtual_tables_are_read_when_a_statement_runs_and_not_before() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut root = session(&database);
    values(&mut root, "CREATE USER eve").await.unwrap();
    let mut eve = fixture::session(&database, "eve");
    // To make rows of this table takes a privilege, so whoever makes none can do without.
    let sql = "SELECT COUNT(*) FROM information_schema.innodb_buffer_page";
    let prepared = eve.prepare(sql).await.unwrap();
    let plan = values(&mut eve, &format!("EXPLAIN FORMAT=TREE {sql}")).await.unwrap();
    assert!(plan[0].contains("Table scan on innodb_buffer_page"), "{plan:?}");
    let executed = match eve.execute_prepared(prepared.id, &[]).await {
        Ok(Outcome::Rows(mut result)) => result.rows.next().await.unwrap().err(),
        Ok(Outcome::Ok { .. }) => None,
        Err(e) => Some(e),
    };
    assert_eq!(executed.unwrap().code.number(), 1227);

    let sql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'";
    values(&mut root, &format!("PREPARE p FROM \"{sql}\"")).await.unwrap();
    for (statement, tables) in [("CREATE DATABASE d", "0"), ("CREATE TABLE d.t (a INT)", "1")] {
        values(&mut root, statement).await.unwrap();
        assert_eq!(values(&mut root, "EXECUTE p").await.unwrap(), [tables]);
    }
}

/// `LAST_INSERT_ID(id)` is what the client is told, unless the statement has made a number of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_is_told_the_id_that_a_statement_says() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session(&open(directory.path()));
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE)"] {
        values(&mut session, sql).await.unwrap();
    }
    for (sql, told) in [
        ("INSERT INTO t (k) VALUES (10), (20)", 1),
        ("INSERT INTO t (k) VALUES (20) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", 2),
        ("UPDATE t SET k = LAST_INSERT_ID(k + 1) WHERE id = 1", 11),
        ("UPDATE t SET k = LAST_INSERT_ID(k + 5) WHERE id = 9", 0),
        ("UPDATE t SET k = k + 5", 0),
        ("INSERT INTO t VALUES (LAST_INSERT_ID(30), 30)", 30),
        ("INSERT INTO t VALUES (NULL, LAST_INSERT_ID(40))", 31),
        ("DO LAST_INSERT_ID(50), 1", 50),
        ("DO 1", 0),
        ("UPDATE t SET k = 7 WHERE id = 31 AND LAST_INSERT_ID(60) = 60", 60),
        // The number of the row that is changed, and no number of one that stays as it is.
        ("INSERT INTO t (k) VALUES (7) ON DUPLICATE KEY UPDATE k = 41", 31),
        ("INSERT INTO t (k) VALUES (41) ON DUPLICATE KEY UPDATE k = 41", 0),
        ("INSERT INTO t (k) VALUES (41), (30) ON DUPLICATE KEY UPDATE k = k + 100", 30),
        ("INSERT INTO t (id, k) VALUES (700, 141) ON DUPLICATE KEY UPDATE id = 300", 300),
        ("CREATE VIEW v AS SELECT k FROM t", 0),
        ("INSERT INTO v VALUES (800)", 301),
    ] {
        let Outcome::Ok { last_insert_id, .. } = session.execute(sql).await.unwrap() else { panic!("{sql}") };
        assert_eq!(last_insert_id, told, "{sql}");
    }
}

/// Rows that an embedding program loads within a transaction go with it; outside they are there at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_of_the_program_belong_to_its_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = session(&open(directory.path()));
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, k INT)", "BEGIN"] {
        values(&mut session, sql).await.unwrap();
    }
    let file = directory.path().join("rows.csv");
    std::fs::write(&file, "id,k\n3,30\n4,40\n").unwrap();
    let batch = |ids: [i32; 2]| {
        let schema =
            Schema::new(vec![Field::new("id", DataType::Int32, false), Field::new("k", DataType::Int32, true)]);
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(ids.to_vec())), Arc::new(Int32Array::from(vec![10, 20]))];
        std::iter::once(Ok(RecordBatch::try_new(Arc::new(schema), columns).unwrap()))
    };
    assert_eq!(session.load_batches("t", batch([1, 2]), Arc::default()).await.unwrap(), 2);
    assert_eq!(session.load_file("t", &file, Arc::default()).await.unwrap(), 2);
    assert_eq!(values(&mut session, "SELECT id FROM t ORDER BY id").await.unwrap(), ["1", "2", "3", "4"]);
    // One that fails is undone by itself.
    assert_eq!(session.load_batches("t", batch([5, 1]), Arc::default()).await.unwrap_err().code.number(), 1062);
    assert_eq!(values(&mut session, "SELECT COUNT(*) FROM t").await.unwrap(), ["4"]);
    values(&mut session, "ROLLBACK").await.unwrap();
    assert_eq!(values(&mut session, "SELECT COUNT(*) FROM t").await.unwrap(), ["0"]);

    values(&mut session, "SET autocommit = 0").await.unwrap();
    assert_eq!(session.load_file("t", &file, Arc::default()).await.unwrap(), 2);
    values(&mut session, "ROLLBACK").await.unwrap();
    values(&mut session, "SET autocommit = 1").await.unwrap();
    assert_eq!(values(&mut session, "SELECT COUNT(*) FROM t").await.unwrap(), ["0"]);

    assert_eq!(session.load_batches("t", batch([1, 2]), Arc::default()).await.unwrap(), 2);
    values(&mut session, "ROLLBACK").await.unwrap();
    assert_eq!(values(&mut session, "SELECT COUNT(*) FROM t").await.unwrap(), ["2"]);
    values(&mut session, "START TRANSACTION READ ONLY").await.unwrap();
    assert_eq!(session.load_file("t", &file, Arc::default()).await.unwrap_err().code.number(), 1792);
}
