//! `mysql.server_cost` and `mysql.engine_cost`: what is set counts for sessions that begin after FLUSH OPTIMIZER_COSTS
//! or a start, and for nobody before.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session};
use std::{path::Path, sync::Arc};

fn open(directory: &Path) -> Arc<Database> {
    Database::open(directory, fixture::options()).unwrap()
}

async fn all(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// The cost of a scan that checks a condition, as EXPLAIN tells it.
async fn cost(session: &mut Session) -> f64 {
    let plan = rows(session, "EXPLAIN FORMAT=TREE SELECT a FROM d.t WHERE b > 7").await.unwrap().concat().concat();
    let text = plan.split("(cost=").nth(1).unwrap_or_else(|| panic!("{plan}"));
    text.split([' ', ')']).next().unwrap().parse().unwrap_or_else(|e| panic!("{plan}: {e}"))
}

/// The error number of a statement; 0 if it has none.
async fn code(session: &mut Session, sql: &str) -> u16 {
    rows(session, sql).await.map_or_else(|e| e.code.number(), |_| 0)
}

async fn with_table(database: &Arc<Database>) -> Session {
    let mut root = fixture::session(database, "root");
    let numbers = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, i FROM n";
    all(&mut root, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)"]).await;
    all(&mut root, &[&format!("INSERT INTO d.t {numbers}"), "ANALYZE TABLE d.t"]).await;
    root
}

#[tokio::test]
async fn costs_count_for_sessions_that_begin_after_a_flush() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut before = with_table(&database).await;
    let default = cost(&mut before).await;
    all(&mut before, &["UPDATE mysql.server_cost SET cost_value = 100 WHERE cost_name = 'row_evaluate_cost'"]).await;
    assert_eq!(cost(&mut fixture::session(&database, "root")).await, default);
    all(&mut before, &["FLUSH OPTIMIZER_COSTS"]).await;
    assert_eq!(cost(&mut before).await, default);
    let mut after = fixture::session(&database, "root");
    let dear = cost(&mut after).await;
    assert!(dear > 100.0 * default, "{dear} after {default}");
    // As in MySQL, a connection that is reset keeps its costs.
    before.reset();
    assert_eq!(cost(&mut before).await, default);
    // Values that are no costs leave the default in force.
    for value in ["0", "-1", "NULL"] {
        let set = format!("UPDATE mysql.server_cost SET cost_value = {value} WHERE cost_name = 'row_evaluate_cost'");
        all(&mut after, &[&set, "FLUSH OPTIMIZER_COSTS"]).await;
        assert_eq!(cost(&mut fixture::session(&database, "root")).await, default, "{value}");
    }
}

/// How a query reads its rows, by the counters of the session.
async fn reads(session: &mut Session, query: &str) -> Vec<Vec<String>> {
    all(session, &["FLUSH STATUS", query]).await;
    rows(session, "SHOW SESSION STATUS LIKE 'Handler_read%'").await.unwrap()
}

#[tokio::test]
async fn plans_that_are_kept_are_those_of_their_costs() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut root = with_table(&database).await;
    all(&mut root, &["ALTER TABLE d.t ADD c INT", "CREATE INDEX kb ON d.t (b)", "ANALYZE TABLE d.t"]).await;
    // By the index if fetching a row costs next to nothing, else by a scan. The short path does not take it.
    let query = "SELECT a, SUM(c) OVER (PARTITION BY a % 7) FROM d.t WHERE b BETWEEN 300 AND 600";
    let mut found = Vec::new();
    for value in ["0.001", "100000"] {
        let names = "('lookup_key_ns', 'fetch_row_ns', 'entry_ns', 'leaf_visit_ns')";
        let set = format!("UPDATE mysql.engine_cost SET cost_value = {value} WHERE cost_name IN {names}");
        all(&mut root, &[&set, "FLUSH OPTIMIZER_COSTS"]).await;
        let mut sessions = [fixture::session(&database, "root"), fixture::session(&database, "root")];
        // The second execution, and that of the second session, have the plan that was kept of the first.
        let first = reads(&mut sessions[0], query).await;
        for session in &mut sessions {
            assert_eq!(reads(session, query).await, first);
        }
        found.push((sessions, first));
    }
    assert_ne!(found[0].1, found[1].1);
    for (sessions, reads_before) in &mut found {
        assert_eq!(&reads(&mut sessions[0], query).await, reads_before);
    }
}

#[tokio::test]
async fn costs_are_there_after_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let (default, set) = {
        let database = open(directory.path());
        let mut root = with_table(&database).await;
        let default = cost(&mut root).await;
        all(&mut root, &["INSERT INTO mysql.server_cost (cost_name, cost_value) VALUES ('unknown', 3)"]).await;
        all(&mut root, &["UPDATE mysql.server_cost SET cost_value = 1e6 WHERE cost_name = 'predicate_ns'"]).await;
        let all_rows = "SELECT * FROM mysql.server_cost ORDER BY cost_name";
        (default, rows(&mut root, all_rows).await.unwrap())
    };
    let database = open(directory.path());
    let mut root = fixture::session(&database, "root");
    assert_eq!(rows(&mut root, "SELECT * FROM mysql.server_cost ORDER BY cost_name").await.unwrap(), set);
    assert!(cost(&mut root).await > 100.0 * default);
}

#[tokio::test]
async fn rights_are_those_of_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut root = fixture::session(&database, "root");
    all(&mut root, &["CREATE USER eve", "CREATE USER ann", "GRANT SELECT ON mysql.* TO ann"]).await;
    let update = "UPDATE mysql.server_cost SET cost_value = 3";
    let select = "SELECT COUNT(*) FROM mysql.server_cost";
    // Virtual tables, then stored ones.
    for _ in 0..2 {
        let (mut eve, mut ann) = (fixture::session(&database, "eve"), fixture::session(&database, "ann"));
        for sql in
            [update, select, "DELETE FROM mysql.engine_cost", "SELECT * FROM mysql.nothing", "DESC mysql.server_cost"]
        {
            assert_eq!(code(&mut eve, sql).await, 1142, "{sql}");
        }
        for sql in ["USE mysql", "SHOW TABLES FROM mysql"] {
            assert_eq!(code(&mut eve, sql).await, 1044, "{sql}");
        }
        let databases = rows(&mut eve, "SHOW DATABASES").await.unwrap().concat();
        assert_eq!(databases, ["information_schema", "performance_schema"]);
        let seen = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql'";
        assert!(rows(&mut eve, seen).await.unwrap().is_empty());
        assert_eq!(rows(&mut ann, seen).await.unwrap().len(), 14);
        assert_eq!((code(&mut ann, select).await, code(&mut ann, "USE mysql").await), (0, 0));
        for sql in [update, "INSERT INTO mysql.server_cost (cost_name) VALUES ('x')", "DELETE FROM mysql.server_cost"] {
            assert_eq!(code(&mut ann, sql).await, 1142, "{sql}");
        }
        assert_eq!(code(&mut ann, "FLUSH OPTIMIZER_COSTS").await, 1227);
        all(&mut root, &["UPDATE mysql.server_cost SET cost_value = NULL"]).await;
    }
    all(&mut root, &["GRANT UPDATE ON mysql.* TO ann"]).await;
    let mut ann = fixture::session(&database, "ann");
    assert_eq!(code(&mut ann, update).await, 0);
    let origin = rows(&mut ann, "SELECT DISTINCT comment FROM mysql.server_cost").await.unwrap().concat();
    assert_eq!(origin, ["set by 'ann'@'%'"]);
}
