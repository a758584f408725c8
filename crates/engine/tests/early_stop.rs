//! ORDER BY with LIMIT over rows that lie at the far end of the order: how much of the table is read until the scan
//! gives up.

mod fixture;

use fixture::rows as try_rows;
use muster_engine::{
    Database, InfileSource, LocalFiles, Session,
    types::{ErrorCode, SqlError},
};
use std::{fmt::Write, io::Cursor};

const ROWS: u64 = 100_000;

/// The rows of `job`: the oldest twenty-fifth is in state A, with five of the newest ones; the others are in N. Each
/// tenth row has L in `late`.
struct Jobs;

impl LocalFiles for Jobs {
    fn open(&self, name: &str) -> Result<InfileSource, SqlError> {
        if name != "job" {
            return Err(SqlError::new(ErrorCode::FileNotFound, name));
        }
        let mut text = String::new();
        for id in 0..ROWS {
            let state = if id < ROWS / 25 || id >= ROWS - 50 && id % 10 == 3 { "A" } else { "N" };
            let late = if id % 10 == 3 { "L" } else { "-" };
            writeln!(text, "{id}\t{state}\t{late}\t{}\tsome more text {id}", id % 777).unwrap();
        }
        Ok(Box::new(Cursor::new(text.into_bytes())))
    }
}

async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    try_rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

async fn jobs(directory: &std::path::Path) -> Session {
    let database = Database::open(directory, fixture::options()).unwrap();
    let mut session = fixture::session_with(&database, "root", Jobs);
    let columns = "id INT PRIMARY KEY, state CHAR(1) NOT NULL, late CHAR(1) NOT NULL, a INT NOT NULL, text VARCHAR(60) \
                   NOT NULL, KEY i_state (state), KEY i_late (late)";
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        &format!("CREATE TABLE job ({columns})"),
        "LOAD DATA LOCAL INFILE 'job' INTO TABLE job",
        "ANALYZE TABLE job",
    ] {
        rows(&mut session, sql).await;
    }
    session
}

/// The rows of a query, and the number of entries that its scans read.
async fn read(session: &mut Session, sql: &str) -> (Vec<Vec<String>>, u64) {
    rows(session, "FLUSH STATUS").await;
    let found = rows(session, sql).await;
    let status = rows(session, "SHOW STATUS LIKE 'Handler_read%'").await;
    let entries = status.iter().filter(|row| row[0] != "Handler_read_key").map(|row| row[1].parse::<u64>().unwrap());
    (found, entries.sum())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_gives_up_when_it_has_cost_as_much_as_its_fallback() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = jobs(directory.path()).await;
    for limit in ["20", "3, 30", "6"] {
        let sql = format!("SELECT id, text FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT {limit}");
        rows(&mut session, "SET optimizer_switch = 'order_fallback=off'").await;
        let (expected, all) = read(&mut session, &sql).await;
        assert!(all > ROWS * 9 / 10, "{sql}: {all} entries");
        rows(&mut session, "SET optimizer_switch = 'order_fallback=on'").await;
        let (found, entries) = read(&mut session, &sql).await;
        assert_eq!(found, expected, "{sql}");
        assert!(entries < all / 2, "{sql}: {entries} entries of {all}");
        let plan = rows(&mut session, &format!("EXPLAIN ANALYZE {sql}")).await[0][0].clone();
        assert!(plan.contains("Stop early, or go over to the fallback") && plan.contains("fallbacks=1"), "{plan}");
    }
    let json = "SELECT id, text FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT 20";
    rows(&mut session, "SET explain_json_format_version = 2").await;
    let plan = rows(&mut session, &format!("EXPLAIN FORMAT=JSON {json}")).await[0][0].clone();
    assert!(plan.contains("\"budget_cost\"") && plan.contains("\"operation\": \"Fallback\""), "{plan}");
    // Rows that are spread are found before the budget is spent.
    let spread = "SELECT id, text FROM job WHERE late IN ('L', 'M') ORDER BY id DESC LIMIT 20";
    let (found, entries) = read(&mut session, spread).await;
    assert_eq!(found[0][0], "99993");
    assert!(found.len() == 20 && entries < 2000, "{entries} entries");
    let plan = rows(&mut session, &format!("EXPLAIN ANALYZE {spread}")).await[0][0].clone();
    assert!(plan.contains("Stop early") && plan.contains("(never executed)") && !plan.contains("fallbacks="), "{plan}");
    // The end of the table is no reason to begin again.
    let rare = "SELECT id FROM job WHERE late IN ('L', 'M') AND a = 1000 ORDER BY id DESC LIMIT 1";
    assert!(read(&mut session, rare).await.0.is_empty());
}

/// Rows that the scan has delivered are not delivered again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_before_and_after_the_change_are_those_of_one_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut session = jobs(directory.path()).await;
    for sql in [
        "SELECT id, a FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT 30",
        "SELECT id, a FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT 2, 30",
        "SELECT id, a FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT 5, 1",
        "SELECT MAX(id) FROM job WHERE state IN ('A', 'B')",
        "SELECT a, COUNT(*) FROM (SELECT id, a FROM job WHERE state IN ('A', 'B') ORDER BY id DESC LIMIT 100) t GROUP BY a ORDER BY 1, 2",
        "SELECT o.a, (SELECT MAX(i.id) FROM job i WHERE i.state IN ('A', 'B') AND i.a = o.a) FROM job o WHERE o.id < 3 ORDER BY 1",
    ] {
        rows(&mut session, "SET optimizer_switch = 'order_fallback=off'").await;
        let expected = rows(&mut session, sql).await;
        rows(&mut session, "SET optimizer_switch = 'order_fallback=on'").await;
        assert_eq!(rows(&mut session, sql).await, expected, "{sql}");
        assert!(!expected.is_empty());
    }
}
