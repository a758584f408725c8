//! Transactions that a crash has cut off, or whose own rollback has failed: until the background has rolled them back,
//! statements that change, replace or lock a table as a whole wait for them, and ordinary ones go on.

mod fixture;

use fixture::{rows, watched_disk::WatchedDisk};
use muster_engine::{
    Database, DatabaseOptions, Durability, LogSettings, Session,
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    types::ErrorCode,
};
use std::{
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};

const EIO: i32 = 5;
/// The name of the thread that rolls back what was cut off.
const BACKGROUND: &str = "rollback";

/// Holds the background back from reading, so that nothing is rolled back until it is let.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        if std::thread::current().name() == Some(BACKGROUND) {
            let mut is_open = self.is_open.lock().unwrap();
            while !*is_open {
                is_open = self.opened.wait(is_open).unwrap();
            }
        }
    }
}

/// A disk with such a gate.
fn gated(disk: SimulatedDisk) -> (Arc<WatchedDisk<SimulatedDisk>>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let passed = Arc::clone(&gate);
    (Arc::new(WatchedDisk::new(disk).before_reads(move || passed.pass())), gate)
}

const ROWS: usize = 300;

fn options() -> DatabaseOptions {
    let log = LogSettings { checkpoint_interval: Duration::from_secs(3600), ..fixture::options().log };
    DatabaseOptions { durability: Durability::Full, log, ..fixture::options() }
}

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

/// A table `d.t` of many rows, and one `d.other` of one.
async fn make_tables(session: &mut Session) {
    run(session, "CREATE DATABASE d").await;
    run(session, "USE d").await;
    run(session, "CREATE TABLE t (id INT PRIMARY KEY, v INT, pad VARCHAR(200), KEY kp (pad))").await;
    run(session, "CREATE TABLE other (id INT PRIMARY KEY, v INT)").await;
    let values: Vec<String> = (0..ROWS).map(|i| format!("({i}, {}, REPEAT('x', 100))", i * 7 % ROWS)).collect();
    run(session, &format!("INSERT INTO t VALUES {}", values.join(", "))).await;
    run(session, "INSERT INTO other VALUES (1, 1)").await;
}

/// The disk after a crash in the middle of a transaction that has deleted all rows of `d.t`.
async fn crashed(directory: &Path) -> SimulatedDisk {
    let disk = Arc::new(SimulatedDisk::new());
    let database = Database::open_on(directory, options(), disk.clone()).unwrap();
    let mut session = fixture::session(&database, "root");
    make_tables(&mut session).await;
    let mut other = fixture::session(&database, "root");
    for sql in ["BEGIN", "DELETE FROM d.t"] {
        run(&mut other, sql).await;
    }
    // What is committed later is on the disk, and all before it.
    run(&mut session, "INSERT INTO other VALUES (2, 2)").await;
    disk.only_synced()
}

fn session(database: &Arc<Database>) -> Session {
    let mut session = fixture::session(database, "root");
    session.use_database("d").unwrap();
    session
}

/// Begins a statement in a session of its own, and returns when it waits for a table.
async fn waiting(database: &Arc<Database>, sql: &str) -> (u32, JoinHandle<Result<(), ErrorCode>>) {
    let mut session = session(database);
    let (id, text) = (session.id(), sql.to_owned());
    let running = tokio::spawn(async move { rows(&mut session, &text).await.map(drop).map_err(|e| e.code) });
    for _ in 0..1000 {
        if database.processes().iter().any(|p| p.id == id && p.state == "Waiting for table metadata lock") {
            return (id, running);
        }
        assert!(!running.is_finished(), "{sql} does not wait: {:?}", running.await);
        sleep(Duration::from_millis(5)).await;
    }
    panic!("{sql}: neither waits nor ends");
}

async fn check(database: &Arc<Database>) {
    let mut session = session(database);
    assert_eq!(run(&mut session, "CHECK TABLE t").await, [["d.t", "check", "status", "OK"]]);
}

/// An index that is made while a transaction is being undone would lack what comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_made_of_what_is_left_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, gate) = gated(crashed(directory.path()).await);
    let database = Database::open_on(directory.path(), options(), disk.clone()).unwrap();
    let (_, building) = waiting(&database, "CREATE INDEX iv ON t (v)").await;
    // What others do goes on.
    let mut other = session(&database);
    run(&mut other, "INSERT INTO other VALUES (3, 3)").await;
    assert_eq!(run(&mut other, "SELECT COUNT(*) FROM other").await, [["3"]]);
    gate.open();
    building.await.unwrap().unwrap();
    let rows = ROWS.to_string();
    for index in ["iv", "kp", "PRIMARY"] {
        let sql = format!("SELECT COUNT(v) FROM t FORCE INDEX ({index}) WHERE v >= 0");
        assert_eq!(run(&mut other, &sql).await, [[&rows[..]]], "{index}");
    }
    check(&database).await;
}

/// Ordinary statements read and write a table that a transaction is being undone in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ordinary_statements_do_not_wait() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, gate) = gated(crashed(directory.path()).await);
    let database = Database::open_on(directory.path(), options(), disk.clone()).unwrap();
    let mut session = session(&database);
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM t").await, [[ROWS.to_string()]]);
    run(&mut session, "INSERT INTO t VALUES (100000, 1, 'new')").await;
    run(&mut session, "BEGIN").await;
    run(&mut session, "UPDATE t SET v = 2 WHERE id = 100000").await;
    run(&mut session, "COMMIT").await;
    gate.open();
    drop((session, database));
}

/// Whatever changes, replaces, loads or locks the table as a whole waits, and can be killed, and gives up in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_wants_the_table_as_a_whole_waits() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, gate) = gated(crashed(directory.path()).await);
    let database = Database::open_on(directory.path(), options(), disk.clone()).unwrap();
    std::fs::write(database.import_dir().join("t.csv"), "1000\t1\tx\n").unwrap();
    let before = disk.list(directory.path()).unwrap().len();
    for sql in [
        "CREATE INDEX iv ON t (v)",
        "CREATE UNIQUE INDEX iv ON t (v)",
        "ALTER TABLE t ADD INDEX iv (v)",
        "ALTER TABLE t RENAME INDEX kp TO kq",
        "ALTER TABLE t COMMENT = 'c'",
        "ALTER TABLE t RENAME TO u",
        "DROP INDEX kp ON t",
        "TRUNCATE TABLE t",
        "RENAME TABLE t TO u",
        "DROP TABLE t",
        "DROP DATABASE d",
        "LOCK TABLES t READ",
        "LOCK TABLES t WRITE",
        "FLUSH TABLES t WITH READ LOCK",
        "LOAD DATA INFILE 't.csv' INTO TABLE t",
    ] {
        let (id, running) = waiting(&database, sql).await;
        database.kill(id, true).unwrap();
        assert_eq!(running.await.unwrap(), Err(ErrorCode::QueryInterrupted), "{sql}");
    }
    let mut impatient = session(&database);
    run(&mut impatient, "SET lock_wait_timeout = 1").await;
    let e = rows(&mut impatient, "TRUNCATE TABLE t").await.unwrap_err();
    assert_eq!(e.code, ErrorCode::LockWaitTimeout);
    assert_eq!(disk.list(directory.path()).unwrap().len(), before, "files are left");
    // A client that goes away does not wait on.
    let (id, running) = waiting(&database, "TRUNCATE TABLE t").await;
    database.kill(id, false).unwrap();
    assert_eq!(running.await.unwrap(), Err(ErrorCode::QueryInterrupted));
    let (_, loading) = waiting(&database, "LOAD DATA INFILE 't.csv' INTO TABLE t").await;
    gate.open();
    loading.await.unwrap().unwrap();
    let all = (ROWS + 1).to_string();
    assert_eq!(run(&mut session(&database), "SELECT COUNT(*) FROM t").await, [[all]]);
    check(&database).await;
}

/// A transaction whose own rollback has failed keeps its tables until the background has done it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_that_fails_keeps_its_tables() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(SimulatedDisk::new());
    let database = Database::open_on(directory.path(), options(), disk.clone()).unwrap();
    let mut session_of_tables = fixture::session(&database, "root");
    make_tables(&mut session_of_tables).await;
    let mut writer = session(&database);
    run(&mut writer, "BEGIN").await;
    run(&mut writer, "DELETE FROM t").await;
    database.checkpoint().unwrap();
    assert_eq!(database.clear_buffer_pool().unwrap(), 0);
    disk.inject_for(".mus", DiskFault { on: Operation::Read, after: 0, kind: FaultKind::Error(EIO), forever: true });
    rows(&mut writer, "ROLLBACK").await.unwrap_err();
    let (_, locking) = waiting(&database, "LOCK TABLES t WRITE").await;
    disk.clear_faults();
    locking.await.unwrap().unwrap();
    assert_eq!(run(&mut writer, "SELECT COUNT(*) FROM t").await, [[ROWS.to_string()]]);
    check(&database).await;
}
