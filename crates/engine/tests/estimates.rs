//! Estimates beside what is found, on skewed and correlated data: the numbers of rows that plans expect at the operator
//! in question, and the plans that depend on them.

mod fixture;

use fixture::{rows as try_rows, session};
use muster_engine::{Database, DatabaseOptions, Session};
use std::sync::Arc;

async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    try_rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

async fn run(session: &mut Session, statements: &str) {
    for sql in statements.split(';').map(str::trim).filter(|sql| !sql.is_empty()) {
        rows(session, sql).await;
    }
}

fn open(directory: &std::path::Path) -> Arc<Database> {
    let options = DatabaseOptions { buffer_pool_bytes: 64 << 20, ..fixture::options() };
    Database::open(directory, options).unwrap()
}

/// Numbers 0 to 19,999 in `n(i)`, and tables made of them. Statistics are made when a test asks for them.
async fn start(directory: &std::path::Path) -> (Arc<Database>, Session) {
    let database = open(directory);
    let mut session = session(&database, "root");
    run(
        &mut session,
        "SET GLOBAL innodb_stats_auto_recalc = OFF; CREATE DATABASE d; USE d;
         CREATE TABLE digit (i INT PRIMARY KEY);
         INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
         CREATE TABLE n (i INT PRIMARY KEY);
         INSERT INTO n SELECT a.i + b.i * 10 + c.i * 100 + d.i * 1000 + e.i * 10000
             FROM digit a, digit b, digit c, digit d, digit e WHERE e.i < 2;
         CREATE TABLE t (id INT PRIMARY KEY, status VARCHAR(10), k INT, follows INT, nothing INT, few INT, c INT, name VARCHAR(30),
             KEY status (status), KEY k_follows (k, follows));
         INSERT INTO t SELECT i, IF(i % 2 = 0, 'open', CONCAT('s', i % 999)), i * 7919 % 200, i * 7919 % 200 DIV 2, NULL,
             IF(i % 20 = 0, i % 400 DIV 20, NULL), IF(i % 10 = 0, i - 1, i + 1),
             CONCAT(IF(i % 5 = 0, 'green ', CONCAT('colour', i % 97, ' ')), IF(i % 3 = 0, 'special', 'plain'))
             FROM n",
    )
    .await;
    (database, session)
}

/// The number behind `key` in a line of a tree.
fn number(line: &str, key: &str) -> f64 {
    let rest = &line[line.find(key).unwrap_or_else(|| panic!("no {key} in {line}")) + key.len()..];
    let end = rest.find([' ', ')']).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_else(|_| panic!("no number behind {key} in {line}"))
}

/// Expected and found rows of the first operator whose line has the marker.
async fn compared(session: &mut Session, sql: &str, marker: &str) -> (f64, f64) {
    let tree = rows(session, &format!("EXPLAIN ANALYZE FORMAT=TREE {sql}")).await.remove(0).remove(0);
    let line = tree.lines().find(|line| line.contains(marker)).unwrap_or_else(|| panic!("no {marker} in\n{tree}"));
    let (expected, ran) = line.split_once(" (actual").unwrap_or_else(|| panic!("it did not run: {line}"));
    (number(expected, "rows="), number(ran, "rows=") * number(ran, "loops="))
}

async fn check(session: &mut Session, factor: f64, sql: &str, marker: &str) {
    let (expected, found) = compared(session, sql, marker).await;
    let error = (expected.max(1.0) / found.max(1.0)).max(found.max(1.0) / expected.max(1.0));
    assert!(error <= factor, "{sql}: {expected} rows expected at {marker:?}, {found} found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_on_one_table() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut session) = start(directory.path()).await;
    // Just filled, nobody has looked at the values: dives know them.
    check(&mut session, 1.3, "SELECT c FROM t WHERE status = 'open'", " on t").await;
    check(&mut session, 1.3, "SELECT c FROM t WHERE k = 7 AND follows = 3", " on t").await;
    run(&mut session, "ANALYZE TABLE t").await;
    for (factor, condition) in [
        (1.3, "status = 'open'"),
        (2.0, "status = 's5'"),
        (1.3, "k = 7 AND follows = 3"),
        (1.3, "k = 7 AND follows = 4"),
        (1.3, "status = 'open' AND c > id"),
        (2.0, "follows IN (3, 5) AND k < 20"),
        (1.3, "few <> 5"),
        (1.3, "few NOT IN (5, 6, 7)"),
        (1.3, "few IS NULL"),
        (1.3, "nothing > 5"),
        (1.3, "nothing <> 5"),
        (1.3, "id > 25000"),
        (1.3, "k = 4711"),
        (1.5, "c < id"),
        (1.3, "c > id"),
        (1.5, "name LIKE 'green%'"),
        (1.5, "name LIKE '%special%'"),
        (1.5, "name NOT LIKE '%special%'"),
        (1.5, "LENGTH(name) < 13"),
        (1.5, "name BETWEEN 'd' AND 'h'"),
        (1.3, "name > 'z'"),
        (1.5, "few NOT LIKE '1%'"),
        (1.5, "c % 7 = 3"),
        (1.5, "k + follows > 150 AND id > 5000"),
    ] {
        check(&mut session, factor, &format!("SELECT name FROM t WHERE {condition}"), " on t").await;
    }
    // Without the index that knows the pairs.
    run(&mut session, "DROP INDEX k_follows ON t; ANALYZE TABLE t").await;
    check(&mut session, 1.6, "SELECT name FROM t WHERE k = 7 AND follows = 3", " on t").await;
    check(&mut session, 1.6, "SELECT k, follows, COUNT(*) FROM t GROUP BY k, follows", "group by").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_on_skewed_and_nullable_keys() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut session) = start(directory.path()).await;
    run(
        &mut session,
        "CREATE TABLE part (id INT PRIMARY KEY, name VARCHAR(20));
         INSERT INTO part SELECT i, CONCAT('part ', i) FROM n WHERE i < 1000;
         CREATE TABLE sale (id INT PRIMARY KEY, part INT, customer INT, KEY part (part));
         INSERT INTO sale SELECT i, IF(i % 2 = 0, 7, i % 1000), IF(i % 20 = 0, i % 50, NULL) FROM n;
         CREATE TABLE customer (id INT PRIMARY KEY, region INT);
         INSERT INTO customer SELECT i, i % 5 FROM n WHERE i < 100;
         ANALYZE TABLE part, sale, customer, t",
    )
    .await;
    // NULL keys find no partner.
    let joined = "SELECT s.id, c.region FROM sale s JOIN customer c ON s.customer = c.id";
    check(&mut session, 1.5, joined, "join").await;
    check(
        &mut session,
        1.5,
        "SELECT s.id FROM sale s LEFT JOIN customer c ON s.customer = c.id WHERE c.id IS NULL",
        "join",
    )
    .await;
    let anti = "SELECT s.id, p.name FROM sale s LEFT JOIN customer c ON s.customer = c.id JOIN part p ON p.id = s.part \
                WHERE c.id IS NULL";
    let tree = rows(&mut session, &format!("EXPLAIN FORMAT=TREE {anti}")).await.remove(0).remove(0);
    assert!(tree.contains("anti"), "{tree}");
    check(&mut session, 1.5, anti, "join").await;
    let none = "SELECT s.id FROM sale s WHERE NOT EXISTS (SELECT 1 FROM part p WHERE p.id = s.part)";
    let (expected, found) = compared(&mut session, none, "join").await;
    assert!(expected <= 20.0 && found == 0.0, "{expected} rows expected of 20,000");
    // A common value of both sides.
    check(&mut session, 1.5, "SELECT COUNT(*) FROM sale a JOIN sale b ON a.part = b.part", "join").await;
    check(&mut session, 1.5, "SELECT s.id FROM sale s JOIN part p ON p.id = s.part WHERE s.part = 7", "join").await;
    check(&mut session, 1.5, "SELECT part, COUNT(*) FROM sale GROUP BY part HAVING COUNT(*) > 1000", "Filter").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn estimates_that_are_far_off_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut session) = start(directory.path()).await;
    run(
        &mut session,
        "CREATE TABLE u (id INT PRIMARY KEY, k INT); INSERT INTO u SELECT id, k FROM t; ANALYZE TABLE t, u",
    )
    .await;
    let all = "SELECT DIGEST_TEXT, OPERATOR, COLUMN_GROUP, FACTOR > 10, COUNT FROM information_schema.ESTIMATE_ERRORS";
    rows(&mut session, "EXPLAIN ANALYZE SELECT t.name FROM t WHERE k = 7").await;
    assert!(rows(&mut session, "SHOW WARNINGS").await.is_empty());
    assert!(rows(&mut session, all).await.is_empty());
    // Each row's partner has the same k, which no statistic of one table tells.
    let sql = "EXPLAIN ANALYZE SELECT t.name FROM t JOIN u ON t.id = u.id WHERE t.k < 10 AND u.k < 10";
    rows(&mut session, sql).await;
    let told = rows(&mut session, "SHOW WARNINGS").await;
    assert!(told.len() == 1 && told[0][0] == "Note", "{told:?}");
    assert!(told[0][2].contains("join") && told[0][2].contains("t.id, u.id"), "{told:?}");
    rows(&mut session, sql).await;
    let kept = rows(&mut session, all).await;
    assert_eq!(kept.len(), 1);
    assert!(kept[0][0].starts_with("EXPLAIN ANALYZE SELECT `t` . `name`") && kept[0][1].contains("join"), "{kept:?}");
    assert_eq!((kept[0][3].as_str(), kept[0][4].as_str()), ("1", "2"));
}

/// Plans can be looked into where the data are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_are_exported_and_imported() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut session) = start(directory.path()).await;
    run(&mut session, "ANALYZE TABLE t UPDATE HISTOGRAM ON k; ANALYZE TABLE t").await;
    let queries = [
        "SELECT c FROM t WHERE status = 'open' AND c > id",
        "SELECT c FROM t WHERE k = 7 AND name LIKE '%special%'",
        "SELECT a.c FROM t a JOIN t b ON a.k = b.k WHERE a.few = 5",
    ];
    let tree = async |session: &mut Session, sql: &str| {
        let tree = rows(session, &format!("EXPLAIN FORMAT=TREE {sql}")).await.remove(0).remove(0);
        let number_of_rows = |line: &str| number(line, "rows=");
        tree.lines().filter(|line| line.contains("rows=")).map(number_of_rows).collect::<Vec<_>>()
    };
    let mut wanted = Vec::new();
    for sql in queries {
        wanted.push(tree(&mut session, sql).await);
    }
    run(&mut session, "EXPORT STATISTICS FOR TABLE t INTO 'here.json'").await;
    let again = try_rows(&mut session, "EXPORT STATISTICS FOR TABLE t INTO 'here.json'").await;
    assert!(again.unwrap_err().to_string().contains("1086"));
    let outside = try_rows(&mut session, "EXPORT STATISTICS FOR TABLE t INTO '../here.json'").await;
    assert!(outside.unwrap_err().to_string().contains("1290"));
    run(&mut session, "DELETE FROM t").await;
    run(&mut session, "IMPORT STATISTICS FROM 'here.json'").await;
    for (sql, wanted) in queries.iter().zip(&wanted) {
        let found = tree(&mut session, sql).await;
        let close = |a: f64, b: f64| (a.max(1.0) / b.max(1.0)).max(b.max(1.0) / a.max(1.0)) < 2.0;
        // Without the rows there are no dives, so that the figures are near, not the same.
        assert!(close(*found.last().unwrap(), *wanted.last().unwrap()), "{sql}: {found:?}, not {wanted:?}");
    }
    let file = database.import_dir().join("here.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, reason) in [
        ("\"rows\": 20000", "\"rows\": x", "line"),
        ("\"name\":\"status\"", "\"name\":\"state\"", "column state"),
        ("\"muster_statistics\": 1", "\"muster_statistics\": 9", "format 9"),
        ("\"histograms\": {\n\"k\"", "\"histograms\": {\n\"nope\"", "column nope"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let error = try_rows(&mut session, "IMPORT STATISTICS FROM 'here.json'").await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error} does not say {reason}");
    }
    // They count until the table is looked at.
    run(&mut session, "ANALYZE TABLE t").await;
    let empty = tree(&mut session, "SELECT c FROM t WHERE status = 'open'").await;
    assert!(empty.iter().all(|rows| *rows <= 1.0), "{empty:?}");
}
