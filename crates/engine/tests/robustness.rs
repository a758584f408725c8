//! Statements and directories that would do harm: they end with an error, and the rest goes on.

mod fixture;

use futures::StreamExt;
use muster_engine::{Database, DatabaseOptions, Outcome, Session, types::ErrorCode, types::SqlError, value_at};
use std::{fs, path::Path, sync::Arc, time::Duration};

fn try_open(directory: &Path) -> Result<Arc<Database>, SqlError> {
    Database::open(directory, DatabaseOptions { memory_limit_bytes: 256 << 20, threads: 2, ..fixture::options() })
}

fn session(database: &Arc<Database>) -> Session {
    fixture::session(database, "root")
}

/// The first value of the last row.
async fn value(session: &mut Session, sql: &str) -> Result<String, SqlError> {
    let mut last = String::new();
    if let Outcome::Rows(mut result) = session.execute(sql).await? {
        while let Some(batch) = result.rows.next().await {
            let batch = batch?;
            if batch.num_rows() > 0 {
                last = value_at(batch.column(0), batch.num_rows() - 1)?.to_text(0).unwrap_or_else(|| "NULL".into());
            }
        }
    }
    Ok(last)
}

/// A million rows with a column n.
fn million() -> String {
    let digits = (0..10).map(|i| format!("SELECT {i} AS n")).collect::<Vec<_>>().join(" UNION ALL ");
    let tables: Vec<String> = (0..6).map(|i| format!("({digits}) d{i}")).collect();
    format!("(SELECT d0.n + d5.n AS n FROM {})", tables.join(" CROSS JOIN "))
}

/// Held by each test: what one of them asks of the processors would count as time that another takes.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Longest time from KILL to the end of a statement on a machine that has other work.
const STOPPED_AFTER_MAX: Duration = Duration::from_millis(500);

/// A join of 60 derived tables of 60 tables each.
fn thousands_of_tables() -> String {
    let joined = |count: usize, table: &dyn Fn(usize) -> String, name: &str| {
        let next = |from, i| format!("{from} JOIN {} ON {name}{i}.a = {name}{}.a", table(i), i - 1);
        (1..count).fold(table(0), next)
    };
    let block = |b: usize| {
        let name = format!("t{b}_");
        format!("(SELECT {name}0.a FROM {}) d{b}", joined(60, &|i| format!("t {name}{i}"), &name))
    };
    joined(60, &block, "d")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_planned_is_stopped() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let database = try_open(directory.path()).unwrap();
    let mut first = session(&database);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"] {
        value(&mut first, sql).await.unwrap();
    }
    first.use_database("d").unwrap();
    let tables = thousands_of_tables();
    let limited = format!("SELECT /*+ MAX_EXECUTION_TIME(300) */ d0.a FROM {tables}");
    let start = std::time::Instant::now();
    assert_eq!(value(&mut first, &limited).await.unwrap_err().code, ErrorCode::QueryTimeout);
    assert!(start.elapsed() < Duration::from_millis(300) + 2 * STOPPED_AFTER_MAX, "{:?}", start.elapsed());
    let sql = format!("SELECT d0.a FROM {tables}");
    let planned = tokio::spawn(async move { value(&mut first, &sql).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let running: Vec<u32> = database.processes().iter().filter(|p| p.statement.is_some()).map(|p| p.id).collect();
    assert_eq!(running.len(), 1, "it is still planned");
    let start = std::time::Instant::now();
    database.kill(running[0], true).unwrap();
    assert_eq!(planned.await.unwrap().unwrap_err().code, ErrorCode::QueryInterrupted);
    assert!(start.elapsed() < STOPPED_AFTER_MAX, "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_joins_are_stopped_and_others_answer() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let database = try_open(directory.path()).unwrap();
    let rows = million();
    let mut running = Vec::new();
    for condition in ["x.n * y.n < 0", "x.n - y.n > 100", "x.n + y.n < 0"] {
        let mut session = session(&database);
        let sql = format!("SELECT COUNT(*) FROM {rows} x JOIN {rows} y ON {condition}");
        running.push(tokio::spawn(async move { value(&mut session, &sql).await }));
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut other = session(&database);
    let answer = tokio::time::timeout(Duration::from_secs(20), value(&mut other, "SELECT 1 + 1")).await;
    assert_eq!(answer.expect("an answer").unwrap(), "2");
    for process in database.processes().iter().filter(|p| p.statement.is_some()) {
        database.kill(process.id, true).unwrap();
    }
    for statement in running {
        let ended = tokio::time::timeout(Duration::from_secs(20), statement).await.expect("stopped").unwrap();
        assert_eq!(ended.unwrap_err().code, ErrorCode::QueryInterrupted);
    }
    let sql = format!("SELECT /*+ MAX_EXECUTION_TIME(300) */ COUNT(*) FROM {rows} x JOIN {rows} y ON x.n * y.n < 0");
    let late = tokio::time::timeout(Duration::from_secs(20), value(&mut other, &sql)).await.expect("stopped");
    assert_eq!(late.unwrap_err().code.number(), 3024);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_statements_run_or_are_refused() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let database = try_open(directory.path()).unwrap();
    let mut session = session(&database);
    let list = |n: usize, each: fn(usize) -> String, between: &str| (0..n).map(each).collect::<Vec<_>>().join(between);
    let rows = list(20_000, |i| format!("({i},{i})"), ",");
    assert_eq!(value(&mut session, &format!("SELECT (7, 7) IN ({rows})")).await.unwrap(), "1");
    let from = "FROM (SELECT 7 AS a, 8 AS b) t";
    let either = list(20_000, |i| format!("a = {i} AND b = {}", i + 1), " OR ");
    assert_eq!(value(&mut session, &format!("SELECT COUNT(*) {from} WHERE {either}")).await.unwrap(), "1");
    let tables = list(1000, |i| format!(", c{} AS (SELECT * FROM c{i})", i + 1), "");
    let chain = format!("WITH c0 AS (SELECT 1 AS a){tables} SELECT * FROM");
    assert_eq!(value(&mut session, &format!("{chain} c100")).await.unwrap(), "1");
    let refused = [
        format!("{chain} c1000"),
        format!("SELECT 1 {}", list(5000, |_| "BETWEEN 0 AND 1".into(), " ")),
        format!("SELECT {}", list(5000, |_| "1".into(), "+")),
        format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
    ];
    for sql in refused {
        let e = value(&mut session, &sql).await.unwrap_err();
        assert_eq!(e.code, ErrorCode::TooHighLevelOfNesting, "{e}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_lost_a_file_is_left_as_it_is() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let database = try_open(at).unwrap();
    let mut one = session(&database);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, KEY (a))"] {
        value(&mut one, sql).await.unwrap();
    }
    drop((one, database));
    let names = || {
        let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for lost in ["catalog.mus", "accounts.mus"] {
        let kept = at.join(lost).with_extension("kept");
        fs::rename(at.join(lost), &kept).unwrap();
        let before = names();
        let error = try_open(at).map(|_| ()).unwrap_err();
        assert!(error.code == ErrorCode::StorageCorrupt && error.message.contains(lost), "{error}");
        assert_eq!(names(), before);
        fs::rename(kept, at.join(lost)).unwrap();
    }
    let mut one = session(&try_open(at).unwrap());
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM d.t").await.unwrap(), "0");
}

/// The new catalog goes to a file beside the old one, which here is a device that is always full. That file waits: the
/// log has what it is to hold, also for a start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_change_while_their_file_cannot_be_written() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let database = try_open(at).unwrap();
    let mut one = session(&database);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, KEY k (a))", "CREATE TABLE d.u (a INT)"] {
        value(&mut one, sql).await.unwrap();
    }
    let number = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().to_string_lossy().starts_with("000");
    let files = || fs::read_dir(at).unwrap().filter_map(|e| number(e).then_some(())).count();
    // A failed write removes the way to the device.
    let fill = || drop(std::os::unix::fs::symlink("/dev/full", at.join("catalog.mus.new")));
    for sql in [
        "CREATE TABLE d.v (a INT)",
        "CREATE INDEX i ON d.u (a)",
        "DROP INDEX k ON d.t",
        "TRUNCATE TABLE d.u",
        "DROP TABLE d.u",
    ] {
        fill();
        value(&mut one, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    assert_eq!(files(), 2, "d.t and d.v have a tree each");
    fill();
    drop((one, database));
    fill();
    let tables = "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = 'd'";
    let database = try_open(at).unwrap();
    let mut one = session(&database);
    assert_eq!(value(&mut one, tables).await.unwrap(), "t,v");
    value(&mut one, "DROP DATABASE d").await.unwrap();
    drop((one, database));
    let mut one = session(&try_open(at).unwrap());
    assert_eq!(value(&mut one, tables).await.unwrap(), "NULL");
    assert_eq!(files(), 0);
}
