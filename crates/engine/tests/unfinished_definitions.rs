//! Statements that make files and do not come to their end: because of the disk, of rows that are there twice, of KILL,
//! of a timeout or of a deadlock. None of their files stays, and the table is as it was.

mod fixture;

use fixture::rows;
use muster_engine::{
    Database, DatabaseOptions, Durability, LogSettings, Session,
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    types::ErrorCode,
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::sleep};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const ROWS: usize = 400;

struct Home {
    directory: tempfile::TempDir,
    disk: Arc<SimulatedDisk>,
    database: Arc<Database>,
}

impl Home {
    async fn new() -> Home {
        let (directory, disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
        let log = LogSettings { checkpoint_interval: Duration::from_secs(3600), ..fixture::options().log };
        let options = DatabaseOptions { durability: Durability::Full, log, ..fixture::options() };
        let database = Database::open_on(directory.path(), options, disk.clone()).unwrap();
        let home = Home { directory, disk, database };
        let mut session = fixture::session(&home.database, "root");
        // Nobody else writes files beside those of tables.
        run(&mut session, "SET GLOBAL innodb_stats_auto_recalc = OFF").await;
        run(&mut session, "CREATE DATABASE d").await;
        run(&mut session, "USE d").await;
        run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, v INT, pad VARCHAR(200), KEY kp (pad))").await;
        run(&mut session, "CREATE TABLE nothing (id INT PRIMARY KEY, v INT, UNIQUE KEY (v))").await;
        run(&mut session, "CREATE TABLE small (id INT AUTO_INCREMENT PRIMARY KEY, v INT)").await;
        run(&mut session, "INSERT INTO small VALUES (1, 1), (2, 2)").await;
        let values: Vec<String> = (0..ROWS).map(|i| format!("({i}, {}, REPEAT('x', 180))", i / 2)).collect();
        run(&mut session, &format!("INSERT INTO t VALUES {}", values.join(", "))).await;
        let lines = |last: usize| (0..ROWS).map(|i| format!("{i}\t{}\n", i.min(last))).collect::<String>();
        std::fs::write(home.database.import_dir().join("rows.csv"), lines(ROWS)).unwrap();
        std::fs::write(home.database.import_dir().join("twice.csv"), lines(ROWS - 2)).unwrap();
        home.database.checkpoint().unwrap();
        home
    }

    fn session(&self) -> Session {
        let mut session = fixture::session(&self.database, "root");
        session.use_database("d").unwrap();
        session
    }

    /// The files of tables, without those that a table which was replaced still has for its readers.
    fn files(&self) -> Vec<PathBuf> {
        let is_of_table = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('0'));
        let mut files: Vec<PathBuf> =
            self.disk.list(self.directory.path()).unwrap().into_iter().filter(is_of_table).collect();
        files.sort();
        files
    }

    /// Waits until there are these files again: those of a table that was there for a moment go with whoever looked at
    /// it last.
    async fn until_files_are(&self, wanted: &[PathBuf], what: &str) {
        for _ in 0..400 {
            if self.files() == wanted {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.files(), wanted, "{what}");
    }

    /// Begins a statement in a session of its own.
    fn begin(&self, sql: &str) -> (u32, JoinHandle<Result<(), ErrorCode>>) {
        let mut session = self.session();
        let (id, text) = (session.id(), sql.to_owned());
        (id, tokio::spawn(async move { rows(&mut session, &text).await.map(drop).map_err(|e| e.code) }))
    }

    /// Waits until a session waits for a table.
    async fn until_waiting(&self, id: u32) {
        for _ in 0..4000 {
            let processes = self.database.processes();
            if processes.iter().any(|p| p.id == id && p.state == "Waiting for table metadata lock") {
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
        panic!("the session does not wait");
    }

    async fn check(&self, tables: &[&str]) {
        let mut session = self.session();
        for table in tables {
            let checked = run(&mut session, &format!("CHECK TABLE {table}")).await;
            assert_eq!(checked, [[&format!("d.{table}")[..], "check", "status", "OK"]]);
        }
    }
}

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

/// Statements that make files, each with one that takes back what it has done.
const STATEMENTS: &[(&str, &str)] = &[
    ("CREATE TABLE made (id INT PRIMARY KEY, v INT, KEY (v))", "DROP TABLE made"),
    ("CREATE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 7", "DROP TABLE made"),
    ("CREATE TABLE made LIKE t", "DROP TABLE made"),
    ("CREATE TABLE made (PRIMARY KEY (id)) SELECT * FROM t", "DROP TABLE made"),
    ("CREATE INDEX kv ON t (v)", "DROP INDEX kv ON t"),
    ("ALTER TABLE t ADD INDEX kv (v, pad)", "DROP INDEX kv ON t"),
    ("TRUNCATE TABLE small", "INSERT INTO small VALUES (1, 1), (2, 2)"),
    ("LOAD DATA INFILE 'rows.csv' INTO TABLE nothing", "TRUNCATE TABLE nothing"),
];

/// Whatever call of the disk fails, first, second, and so on until none is left to fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_stays_after_a_fault_of_the_disk() {
    let home = Home::new().await;
    let mut session = home.session();
    let mut failures = 0;
    for (sql, undo) in STATEMENTS {
        for (names_end, on, error) in [
            (".mus", Operation::Write, EIO),
            (".mus", Operation::Write, ENOSPC),
            (".mus", Operation::Allocate, ENOSPC),
            (".mus", Operation::Sync, EIO),
            (".mus", Operation::Read, EIO),
            (".new", Operation::Write, ENOSPC),
            (".new", Operation::WriteSmall, ENOSPC),
            (".new", Operation::Rename, EIO),
        ] {
            for after in 0..200 {
                let before = home.files();
                home.database.clear_buffer_pool().unwrap();
                home.disk.inject_for(names_end, DiskFault { on, after, kind: FaultKind::Error(error), forever: false });
                let done = rows(&mut session, sql).await;
                home.disk.clear_faults();
                if done.is_ok() {
                    run(&mut session, undo).await;
                    home.database.checkpoint().unwrap();
                    break;
                }
                failures += 1;
                home.until_files_are(&before, &format!("{sql}: {on:?} {after} of *{names_end} fails")).await;
                assert!(after < 199, "{sql}: never succeeds");
            }
        }
    }
    assert!(failures > 20, "{failures} statements have failed");
    home.check(&["t", "nothing", "small"]).await;
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM t").await, [[ROWS.to_string()]]);
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM small").await, [["2"]]);
}

/// Rows that are there twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_stays_after_a_duplicate() {
    let home = Home::new().await;
    let mut session = home.session();
    let before = home.files();
    for sql in [
        "CREATE UNIQUE INDEX kv ON t (v)",
        "ALTER TABLE t ADD UNIQUE INDEX kv (v)",
        "CREATE TABLE made (v INT, UNIQUE KEY (v)) SELECT v FROM t",
        "LOAD DATA INFILE 'twice.csv' INTO TABLE nothing",
    ] {
        assert_eq!(rows(&mut session, sql).await.unwrap_err().code, ErrorCode::DupEntry, "{sql}");
        home.until_files_are(&before, sql).await;
    }
    assert!(rows(&mut session, "SELECT * FROM made").await.is_err());
    home.check(&["t", "nothing"]).await;
}

/// An index that is built, and waits for a transaction that has begun to read the table meanwhile: it is killed, or
/// gives up. Who wants to change the table then gives way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_waits_at_its_end() {
    let home = Home::new().await;
    let before = home.files();
    let (mut reader, mut observer) = (home.session(), home.session());
    for way in ["kill", "timeout", "deadlock"] {
        // So that the build takes its time.
        home.database.clear_buffer_pool().unwrap();
        home.disk.set_read_delay(Duration::from_secs(1));
        let mut session = home.session();
        run(&mut session, &format!("SET lock_wait_timeout = {}", if way == "timeout" { 1 } else { 1000 })).await;
        let id = session.id();
        let building =
            tokio::spawn(async move { rows(&mut session, "CREATE INDEX kv ON t (v)").await.map_err(|e| e.code) });
        let builds = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE LOCK_TYPE = 'SHARED_NO_WRITE'";
        while run(&mut observer, builds).await != [["1"]] {
            assert!(!building.is_finished(), "{way}: the index was built too fast");
        }
        run(&mut reader, "BEGIN").await;
        run(&mut reader, "SELECT * FROM t WHERE id + 0 = 1").await;
        home.disk.set_read_delay(Duration::ZERO);
        match way {
            "kill" => {
                home.until_waiting(id).await;
                assert_eq!(home.files().len(), before.len() + 1, "it was built");
                home.database.kill(id, true).unwrap();
                assert_eq!(building.await.unwrap().unwrap_err(), ErrorCode::QueryInterrupted);
            }
            "timeout" => assert_eq!(building.await.unwrap().unwrap_err(), ErrorCode::LockWaitTimeout),
            _ => {
                let e = rows(&mut reader, "UPDATE t SET v = -1 WHERE id = 1").await.unwrap_err();
                assert_eq!(e.code, ErrorCode::LockDeadlock);
                building.await.unwrap().unwrap();
            }
        }
        let more = usize::from(way == "deadlock");
        assert_eq!(home.files().len(), before.len() + more, "{way}");
        run(&mut reader, "ROLLBACK").await;
        home.check(&["t"]).await;
    }
}

/// CREATE TABLE .. SELECT that is killed while others wait for the table that it makes, which nobody sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_killed_while_it_is_filled() {
    let home = Home::new().await;
    let before = home.files();
    let filled = "CREATE TABLE made (id INT, s INT) SELECT id, SLEEP(0.05 + id * 0) AS s FROM t";
    for query_only in [true, false] {
        let (id, filling) = home.begin(filled);
        let mut observer = home.session();
        let locked = "SELECT LOCK_TYPE FROM performance_schema.metadata_locks WHERE OBJECT_NAME = 'made'";
        while run(&mut observer, locked).await != [["EXCLUSIVE"]] {
            assert!(!filling.is_finished(), "the table was filled too fast");
            sleep(Duration::from_millis(1)).await;
        }
        assert_ne!(home.files(), before);
        assert_eq!(run(&mut observer, "SHOW TABLES").await, [["nothing"], ["small"], ["t"]]);
        let waiting = ["SELECT COUNT(*) FROM made", "INSERT INTO made VALUES (1, 2)", "DROP TABLE made"];
        let waiting = waiting.map(|sql| home.begin(sql));
        for (other, _) in &waiting {
            home.until_waiting(*other).await;
        }
        home.database.kill(id, query_only).unwrap();
        assert_eq!(filling.await.unwrap(), Err(ErrorCode::QueryInterrupted));
        let [read, inserted, dropped] = waiting.map(|(_, running)| running);
        assert_eq!(read.await.unwrap(), Err(ErrorCode::NoSuchTable));
        assert_eq!(inserted.await.unwrap(), Err(ErrorCode::NoSuchTable));
        assert_eq!(dropped.await.unwrap(), Err(ErrorCode::BadTable));
        home.until_files_are(&before, "CREATE TABLE .. SELECT").await;
    }
}
