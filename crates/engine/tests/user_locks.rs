//! Locks by name between sessions: who waits, in which order, and what ends a wait.

mod fixture;

use fixture::{options, rows, session};
use muster_engine::{
    Database,
    types::{ErrorCode, SqlError},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

type Answer = Result<Vec<Vec<String>>, SqlError>;

/// Runs a statement in a session of its own, which ends with it unless the statement waits.
fn start(database: &Arc<Database>, sql: &'static str) -> JoinHandle<Answer> {
    let database = database.clone();
    tokio::spawn(async move { rows(&mut session(&database, "root"), sql).await })
}

/// The connection that waits for a lock by name, once there is one.
async fn waiting(database: &Arc<Database>) -> u32 {
    loop {
        if let Some(process) = database.processes().into_iter().find(|process| process.state == "User lock") {
            return process.id;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn value(text: &str) -> Vec<Vec<String>> {
    vec![vec![text.to_owned()]]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_waited_for_until_it_is_released_or_its_session_ends() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = Database::open(directory.path(), options()).expect("a new database");
    let mut owner = session(&database, "root");
    assert_eq!(rows(&mut owner, "SELECT GET_LOCK('Name', 0)").await.unwrap(), value("1"));
    let mut other = session(&database, "root");
    let id = owner.id().to_string();
    let shown = rows(&mut other, "SELECT GET_LOCK('name', 0), IS_FREE_LOCK('NAME'), IS_USED_LOCK('name')").await;
    assert_eq!(shown.unwrap(), [["0", "0", id.as_str()]]);
    assert_eq!(rows(&mut other, "SELECT RELEASE_LOCK('name')").await.unwrap(), value("0"));
    let waits = start(&database, "SELECT GET_LOCK('name', 100)");
    waiting(&database).await;
    let sql = "SELECT OBJECT_NAME, LOCK_STATUS FROM performance_schema.metadata_locks \
               WHERE OBJECT_TYPE = 'USER LEVEL LOCK' ORDER BY LOCK_STATUS";
    assert_eq!(rows(&mut other, sql).await.unwrap(), [["name", "GRANTED"], ["name", "PENDING"]]);
    assert_eq!(rows(&mut owner, "SELECT RELEASE_ALL_LOCKS()").await.unwrap(), value("1"));
    assert_eq!(waits.await.unwrap().unwrap(), value("1"));
    // The session that waited has ended, and with it its lock.
    assert_eq!(rows(&mut owner, "SELECT GET_LOCK('name', -1)").await.unwrap(), value("1"));
    let waits = start(&database, "SELECT GET_LOCK('name', -1)");
    waiting(&database).await;
    drop(owner);
    assert_eq!(waits.await.unwrap().unwrap(), value("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_by_time_and_by_kill() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = Database::open(directory.path(), options()).expect("a new database");
    let mut owner = session(&database, "root");
    assert_eq!(rows(&mut owner, "SELECT GET_LOCK('a', 0)").await.unwrap(), value("1"));
    assert_eq!(start(&database, "SELECT GET_LOCK('a', 1)").await.unwrap().unwrap(), value("0"));
    let waits = start(&database, "SELECT GET_LOCK('a', 100)");
    database.kill(waiting(&database).await, true).expect("it waits");
    assert_eq!(waits.await.unwrap().unwrap_err().code, ErrorCode::QueryInterrupted);
    // Nobody is left in the line.
    assert_eq!(rows(&mut owner, "SELECT RELEASE_LOCK('a'), IS_FREE_LOCK('a')").await.unwrap(), [["1", "1"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_would_wait_for_each_other_are_told() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = Database::open(directory.path(), options()).expect("a new database");
    let mut first = session(&database, "root");
    assert_eq!(rows(&mut first, "SELECT GET_LOCK('a', 0)").await.unwrap(), value("1"));
    let waits = start(&database, "SELECT GET_LOCK('b', 0), GET_LOCK('a', 100)");
    waiting(&database).await;
    let refused = rows(&mut first, "SELECT GET_LOCK('b', 100)").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UserLockDeadlock);
    assert_eq!(rows(&mut first, "SELECT RELEASE_LOCK('a')").await.unwrap(), value("1"));
    assert_eq!(waits.await.unwrap().unwrap(), [["1", "1"]]);
}
