//! A disk that fails while a statement or a transaction is undone: what the session may do then, and what it is told.

mod fixture;

use fixture::{rows, session};
use muster_engine::{
    Database, Session,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    types::ErrorCode,
};
use std::sync::Arc;

const EIO: i32 = 5;

struct Home {
    disk: Arc<SimulatedDisk>,
    database: Arc<Database>,
    /// What is temporary lies on a true disk.
    _directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let disk = Arc::new(SimulatedDisk::new());
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open_on(directory.path(), fixture::options(), disk.clone()).unwrap();
        Home { disk, database, _directory: directory }
    }

    /// No page is in memory, and none can be read.
    fn break_reads(&self) {
        self.database.clear_buffer_pool().unwrap();
        let fault = DiskFault { on: Operation::Read, after: 0, kind: FaultKind::Error(EIO), forever: true };
        self.disk.inject_for(".mus", fault);
    }

    async fn session(&self) -> Session {
        let mut session = session(&self.database, "root");
        run(&mut session, "CREATE DATABASE IF NOT EXISTS d").await;
        run(&mut session, "USE d").await;
        run(&mut session, "SET innodb_lock_wait_timeout = 1").await;
        session
    }
}

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

#[track_caller]
fn fails<T: std::fmt::Debug>(outcome: Result<T, muster_engine::types::SqlError>, code: ErrorCode, message: &str) {
    let e = outcome.unwrap_err();
    assert!(e.code == code && e.message.contains(message), "{e:?}");
}

/// A transaction with a savepoint, behind which it has changed all rows.
async fn begin(session: &mut Session) {
    run(session, "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY kb (b))").await;
    run(session, "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)").await;
    run(session, "BEGIN").await;
    run(session, "INSERT INTO t VALUES (7, 70)").await;
    run(session, "SAVEPOINT s").await;
    run(session, "UPDATE t SET b = b + 1").await;
    // The short path knows it.
    run(session, "SELECT b FROM t WHERE a = 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_undone_transaction_can_only_be_rolled_back() {
    let home = Home::new();
    let mut session = home.session().await;
    begin(&mut session).await;
    home.break_reads();
    fails(rows(&mut session, "ROLLBACK TO s").await, ErrorCode::ErrorDuringRollback, "Got error 5 - '");
    for sql in [
        "SELECT * FROM t",
        "SELECT b FROM t WHERE a = 1",
        "SELECT 1",
        "INSERT INTO t VALUES (8, 80)",
        "UPDATE t SET b = 5 WHERE a = 1",
        "SET @a = (SELECT max(b) FROM t)",
        "CREATE TABLE u (a INT)",
        "BEGIN",
        "SAVEPOINT u",
    ] {
        fails(
            rows(&mut session, sql).await,
            ErrorCode::ErrorDuringRollback,
            "can only be rolled back' during ROLLBACK",
        );
    }
    for _ in 0..2 {
        fails(
            rows(&mut session, "COMMIT").await,
            ErrorCode::ErrorDuringCommit,
            "can only be rolled back' during COMMIT",
        );
    }
    assert_eq!(run(&mut session, "SHOW ERRORS").await[0][1], "1180");
    home.disk.clear_faults();
    fails(rows(&mut session, "COMMIT").await, ErrorCode::ErrorDuringCommit, "");
    run(&mut session, "ROLLBACK TO s").await;
    assert_eq!(run(&mut session, "SELECT b FROM t WHERE a = 1").await, [["10"]]);
    run(&mut session, "COMMIT").await;
    let mut other = home.session().await;
    assert_eq!(run(&mut other, "SELECT b FROM t FORCE INDEX (kb) ORDER BY b").await, [["10"], ["20"], ["30"], ["70"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_fails_ends_the_transaction_and_keeps_its_locks() {
    let home = Home::new();
    let mut session = home.session().await;
    begin(&mut session).await;
    let mut other = home.session().await;
    home.break_reads();
    fails(rows(&mut session, "ROLLBACK").await, ErrorCode::ErrorDuringRollback, "Got error 5 - '");
    home.disk.clear_faults();
    // The first attempts may have failed, too; then the row is locked for some while.
    let mut attempts = 0;
    while let Err(e) = rows(&mut other, "UPDATE t SET b = 11 WHERE a = 1").await {
        assert!(e.code == ErrorCode::LockWaitTimeout && attempts < 60, "{e:?}");
        attempts += 1;
    }
    let want = [["11"], ["20"], ["30"]];
    assert_eq!(run(&mut session, "SELECT b FROM t ORDER BY a").await, want);
    assert_eq!(run(&mut other, "SELECT b FROM t FORCE INDEX (kb) ORDER BY b").await, want);
}
