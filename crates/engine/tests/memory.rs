//! Memory of queries whose functions make long texts, and of long statements: they stay within the limit, or end with
//! an error.

mod fixture;

use futures::StreamExt;
use muster_engine::{Database, DatabaseOptions, Outcome, Session, types::ErrorCode, types::SqlError, value_at};
use std::fs;

const LIMIT: usize = 64 << 20;
/// The bytes that a statement may take beside the memory of queries: plans, stacks, what the allocator keeps.
const SLACK: usize = 24 << 20;

/// The first value of the last row, and how many rows there are.
async fn last(session: &mut Session, sql: &str) -> Result<(String, usize), SqlError> {
    let (mut last, mut rows) = (String::new(), 0);
    if let Outcome::Rows(mut result) = session.execute(sql).await? {
        while let Some(batch) = result.rows.next().await {
            let batch = batch?;
            rows += batch.num_rows();
            if batch.num_rows() > 0 {
                let value = value_at(batch.column(0), batch.num_rows() - 1)?;
                last = value.to_text(0).unwrap_or_else(|| "NULL".into());
            }
        }
    }
    Ok((last, rows))
}

/// Bytes of this process in memory: now, and the most since [`forget_peak`].
fn resident(line: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(line)).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Runs of a statement, of which the one with the lowest peak counts: what the allocator keeps and gives back depends
/// on how the threads take turns, what a statement holds does not.
const RUNS: usize = 3;

/// Resets the peak of the process. If the kernel does not allow it, the peak of all statements so far counts.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Runs a statement that is to give so many rows and this value in the last one, unless it is empty.
async fn keeps_to_its_memory(session: &mut Session, sql: &str, (value, count): (&str, usize)) {
    let mut least = usize::MAX;
    for _ in 0..RUNS {
        let before = resident("VmRSS:");
        forget_peak();
        let (got, got_rows) = last(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        least = least.min(resident("VmHWM:").saturating_sub(before));
        assert!(value.is_empty() || got == value, "{sql}: {got}");
        assert_eq!(got_rows, count, "{sql}");
        if least < LIMIT + SLACK {
            break;
        }
    }
    assert!(least < LIMIT + SLACK, "{sql}: {} MiB", least >> 20);
}

/// Alone in its process: what it measures is the process.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_texts_and_statements_stay_within_the_memory_of_queries() {
    let directory = tempfile::tempdir().unwrap();
    let options = DatabaseOptions { memory_limit_bytes: LIMIT, threads: 2, ..fixture::options() };
    let mut session = fixture::session(&Database::open(directory.path(), options).unwrap(), "root");
    let digits = (0..10).map(|i| format!("SELECT '{i}' AS c")).collect::<Vec<_>>().join(" UNION ALL ");
    let rows = format!(
        "(SELECT x.c, x.c + 10 * y.c + 100 * z.c AS n FROM ({digits}) x CROSS JOIN ({digits}) y CROSS JOIN ({digits}) z) t"
    );
    let million = 1_000_000;
    // Statement, and its first value in the last row, and the number of rows.
    let statements = [
        (format!("SELECT SUM(LENGTH(REPEAT(c, {million}))) FROM {rows}"), "1000000000", 1),
        (format!("SELECT SUM(LENGTH(REPEAT(c, n * 1000))) FROM {rows}"), "499500000", 1),
        (format!("SELECT COUNT(*) FROM {rows} WHERE REPEAT(c, {million}) LIKE '%7'"), "100", 1),
        (format!("SELECT COUNT(*) FROM {rows} WHERE CONCAT(REPEAT(c, {million}), n) = 'x'"), "0", 1),
        (format!("SELECT LENGTH(MAX(REPEAT(c, {million}))) FROM {rows}"), "1000000", 1),
        (format!("SELECT LENGTH(r) FROM (SELECT REPEAT(c, {million}) AS r FROM {rows} LIMIT 900) x"), "1000000", 900),
        (format!("SELECT RPAD(c, 300000, 'ab') FROM {rows} WHERE n < 0"), "", 0),
        (format!("SELECT COUNT(DISTINCT REPEAT(c, 100000)) FROM {rows}"), "10", 1),
        (
            format!(
                "SELECT LENGTH(CONCAT(LPAD(c, {million}, '-'), REPLACE(REPEAT(c, 9), c, REPEAT('x', 100000)))) FROM {rows}"
            ),
            "1900000",
            1000,
        ),
        (format!("SELECT HEX(REPEAT(c, 50000)) FROM {rows}"), "", 1000),
        ("SELECT REPEAT('x', 70000000)".into(), "NULL", 1),
        (format!("SELECT COUNT(*) FROM (SELECT CONCAT(REPEAT(c, 50000), n) AS r FROM {rows}) x GROUP BY r"), "1", 1000),
        (format!("SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(REPEAT(c, 50000), n) AS r FROM {rows}) x"), "1000", 1),
        (
            format!("SELECT RIGHT(CONCAT(REPEAT(c, 50000), n), 3) FROM {rows} ORDER BY CONCAT(REPEAT(c, 50000), n)"),
            "999",
            1000,
        ),
    ];
    for (sql, value, rows) in statements {
        keeps_to_its_memory(&mut session, &sql, (value, rows)).await;
    }
    let list = |items: usize| (0..items).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let long = [
        (format!("SELECT COUNT(*) FROM {rows} WHERE n IN ({})", list(20_000)), true),
        (format!("SELECT COUNT(*) FROM {rows} WHERE n IN ({})", list(2_000_000)), false),
        (format!("SELECT {}", list(2_000_000)), false),
        (format!("SELECT LENGTH('{}')", "x".repeat(16 << 20)), false),
    ];
    for (sql, fits) in long {
        let before = resident("VmRSS:");
        forget_peak();
        match last(&mut session, &sql).await {
            Ok((value, _)) => assert!(fits && value == "1000", "{}: {value}", &sql[..200]),
            Err(e) => assert!(!fits && e.code == ErrorCode::OutOfMemory, "{}: {e}", &sql[..200]),
        }
        let grown = resident("VmHWM:").saturating_sub(before);
        assert!(grown < LIMIT + SLACK, "{}: {} MiB", &sql[..200], grown >> 20);
    }
    // Not even one row has room.
    let too_long = format!("SELECT SUM(LENGTH(CONCAT(REPEAT(c, 30000000), REPEAT(c, 30000000)))) FROM {rows}");
    let e = last(&mut session, &too_long).await.unwrap_err();
    assert_eq!(e.code, ErrorCode::OutOfMemory, "{e}");
    assert_eq!(last(&mut session, "SELECT LENGTH(REPEAT('x', 1000))").await.unwrap().0, "1000");
}
