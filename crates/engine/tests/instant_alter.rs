//! Columns that get wider while rows stay: no file is written anew, and old and new values are there by every way of
//! reading, for sessions, snapshots and starts that come later.

mod fixture;

use fixture::rows;
use muster_engine::{
    Database, DatabaseOptions, Durability, Session,
    io::{Disk, simulated::SimulatedDisk},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

/// The highest number of a file of rows.
fn last_file(disk: &SimulatedDisk, directory: &Path) -> Option<PathBuf> {
    let is_of_rows = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('0') && name.ends_with(".mus")
    };
    disk.list(directory).unwrap().into_iter().filter(is_of_rows).max()
}

fn begin(directory: &Path, disk: &Arc<SimulatedDisk>) -> (Arc<Database>, Session) {
    let options = DatabaseOptions { durability: Durability::Full, ..fixture::options() };
    let database = Database::open_on(directory, options, disk.clone()).unwrap();
    let session = fixture::session(&database, "root");
    (database, session)
}

/// Reads that all have the same answer: the whole table, each index, single rows, conditions.
async fn read(session: &mut Session) -> Vec<Vec<Vec<String>>> {
    let mut answers = Vec::new();
    for sql in [
        "SELECT * FROM d.t ORDER BY id",
        "SELECT id, v FROM d.t FORCE INDEX (kv) WHERE v >= '' ORDER BY v, id",
        "SELECT u FROM d.t FORCE INDEX (ku) ORDER BY u",
        "SELECT * FROM d.t WHERE id = 77",
        "SELECT COUNT(*), COUNT(v), MIN(v), MAX(v), MAX(CHAR_LENGTH(v)) FROM d.t",
        "SELECT id FROM d.t WHERE u = 'u150'",
        "SELECT x.id FROM d.t x JOIN d.t y ON x.v = y.v AND x.id < y.id ORDER BY x.id LIMIT 9",
    ] {
        answers.push(run(session, sql).await);
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_varchar_leaves_rows_as_they_are() {
    let (directory, mut disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let (database, mut session) = begin(directory.path(), &disk);
    let values: Vec<String> = (0..300).map(|i| format!("({i}, 'v{}', 'u{i}', 'w{i}')", i % 40)).collect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(70), u VARCHAR(4) NOT NULL, w VARCHAR(70), KEY kv (v), UNIQUE ku (u), \
         KEY kp (v(2)))",
        &format!("INSERT INTO d.t VALUES {}", values.join(", ")),
        "ANALYZE TABLE d.t",
        "DELETE FROM d.t WHERE id % 7 = 3",
        "UPDATE d.t SET v = NULL WHERE id % 11 = 5",
    ] {
        run(&mut session, sql).await;
    }
    let (files, before) = (last_file(&disk, directory.path()), read(&mut session).await);
    let mut snapshot = fixture::session(&database, "root");
    run(&mut snapshot, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;

    let wider = "MODIFY v VARCHAR(700), CHANGE u u VARCHAR(50) NOT NULL DEFAULT 'none', MODIFY w VARCHAR(9000)";
    run(&mut session, &format!("ALTER TABLE d.t {wider}")).await;
    assert_eq!(last_file(&disk, directory.path()), files, "rows were copied");
    assert_eq!(read(&mut session).await, before);

    // Values that were too long, one of them for a leaf.
    for sql in [
        "UPDATE d.t SET v = REPEAT('long', 175), w = REPEAT('w', 9000) WHERE id = 77",
        "UPDATE d.t SET v = 'longer than four', u = CONCAT(u, '-and-more') WHERE id > 280",
        "INSERT INTO d.t (id, v) VALUES (1000, REPEAT('x', 700))",
        "BEGIN",
        "UPDATE d.t SET v = REPEAT('gone', 150), w = REPEAT('gone', 2000) WHERE id < 50",
        "ROLLBACK",
    ] {
        run(&mut session, sql).await;
    }
    assert_eq!(run(&mut snapshot, "SELECT * FROM d.t ORDER BY id").await, before[0], "a snapshot sees what it saw");
    run(&mut snapshot, "COMMIT").await;
    let after = read(&mut session).await;
    assert_eq!(after[4], [["258", "236", "longer than four", &"x".repeat(700), "700"]]);
    let checked = run(&mut session, "CHECK TABLE d.t").await;
    assert_eq!(checked, [["d.t", "check", "status", "OK"]]);

    let crashed = Arc::new(disk.only_synced());
    drop((snapshot, session, database));
    disk = crashed;
    let (_database, mut session) = begin(directory.path(), &disk);
    assert_eq!(read(&mut session).await, after, "after a crash");
    assert_eq!(run(&mut session, "CHECK TABLE d.t").await, checked);
}
