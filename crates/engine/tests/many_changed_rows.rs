//! Statements that change more rows than the memory of queries has room for: the rows that they find go to disk, and
//! they leave nothing behind when they fail.

mod fixture;

use fixture::{options, rows, session};
use muster_engine::{Database, DatabaseOptions, Session};
use std::{fs, path::Path, sync::Arc, time::Duration};

const LIMIT: usize = 1 << 20;
/// Rows of the table, which takes about four times the limit.
const ROWS: u64 = 12_000;

/// A database with a table of [`ROWS`] rows.
async fn large_table(directory: &Path) -> (Arc<Database>, Session) {
    let options = DatabaseOptions { memory_limit_bytes: LIMIT, ..options() };
    let database = Database::open(directory, options).expect("a new data directory opens");
    let mut session = session(&database, "root");
    let digits = (0..10).map(|i| format!("SELECT {i} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    let numbers = "v.d * 10000 + w.d * 1000 + x.d * 100 + y.d * 10 + z.d";
    let from = ["v", "w", "x", "y", "z"].map(|name| format!("({digits}) {name}")).join(" CROSS JOIN ");
    for sql in [
        "CREATE DATABASE d".to_string(),
        "USE d".into(),
        "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, pad VARCHAR(300), KEY (b))".into(),
        format!("INSERT INTO t SELECT {numbers}, {numbers}, 0, REPEAT('x', 250) FROM {from} WHERE {numbers} < {ROWS}"),
    ] {
        rows(&mut session, &sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    (database, session)
}

/// The files that the session has made on disk so far.
fn files(session: &Session) -> u64 {
    let counters = session.status_counters();
    counters.iter().find(|(name, _)| *name == "Created_tmp_files").expect("a counter").1
}

/// Asserts that no file is left in the folder for temporary files.
fn assert_no_files(directory: &Path) {
    let left: Vec<_> = fs::read_dir(directory.join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.is_dir()), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_fails_leaves_no_rows_on_disk_and_none_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (database, mut session) = large_table(directory.path()).await;
    let sums = "SELECT COUNT(*), SUM(a), SUM(b), SUM(c) FROM t";
    let before = rows(&mut session, sums).await.unwrap();
    // The last row meets the key of one that is there.
    let made = files(&session);
    rows(&mut session, "INSERT INTO t VALUES (1011999, 7, 7, 'y')").await.unwrap();
    let error =
        rows(&mut session, "UPDATE t SET a = a + 1000000, c = 1, pad = REVERSE(pad) ORDER BY a").await.unwrap_err();
    assert_eq!(error.code.number(), 1062);
    assert!(files(&session) > made);
    rows(&mut session, "DELETE FROM t WHERE a = 1011999").await.unwrap();
    assert_eq!(rows(&mut session, sums).await.unwrap(), before);
    assert_no_files(directory.path());
    // KILL QUERY.
    let interrupt = session.interrupter();
    let mut other = fixture::session(&database, "root");
    let watch = tokio::spawn(async move {
        // The first change is made when all rows have been found.
        let changes = "SELECT SUM(trx_rows_modified) FROM information_schema.INNODB_TRX";
        while !matches!(rows(&mut other, changes).await.unwrap()[0][0].as_str(), n if n != "NULL" && n != "0") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        interrupt();
    });
    let error = rows(&mut session, "UPDATE t SET c = c + 1, pad = REVERSE(pad), b = b + 1").await.unwrap_err();
    watch.await.unwrap();
    assert_eq!(error.code.number(), 1317, "{error}");
    assert_eq!(rows(&mut session, sums).await.unwrap(), before);
    assert_no_files(directory.path());
    // There is no place for rows.
    fs::remove_dir_all(directory.path().join("tmp")).unwrap();
    rows(&mut session, "UPDATE t SET c = c + 1, pad = REVERSE(pad)").await.unwrap_err();
    assert_eq!(rows(&mut session, sums).await.unwrap(), before);
    fs::create_dir(directory.path().join("tmp")).unwrap();
    rows(&mut session, "UPDATE t SET c = c + 1, pad = REVERSE(pad)").await.unwrap();
}

/// An UPDATE keeps only those columns of the rows that it finds which the change needs: in a wide table these are few
/// bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_of_one_column_of_a_wide_table_keeps_its_rows_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut session) = large_table(directory.path()).await;
    for (sql, sums) in [
        ("UPDATE t SET c = c + 1", [12_000, 12_000, 71_994_000, 0]),
        ("UPDATE t SET c = b, b = 1 WHERE a >= 6000 ORDER BY a", [12_000, 54_003_000, 18_003_000, 0]),
        ("UPDATE t SET a = a + 1000000, c = 7", [12_000, 84_000, 18_003_000, 1_000_000]),
    ] {
        let made = files(&session);
        rows(&mut session, sql).await.unwrap();
        assert_eq!(files(&session), made, "{sql}");
        // Columns that are not assigned are as they were.
        let look = "SELECT COUNT(*), SUM(c), SUM(b), MIN(a) FROM t WHERE pad = REPEAT('x', 250)";
        assert_eq!(rows(&mut session, look).await.unwrap(), [sums.map(|sum: u64| sum.to_string())], "{sql}");
    }
}
