//! Heavy statements wait for each other: all get their rows, KILL and timeouts reach those that wait, and light
//! statements do not wait.

mod fixture;
mod random_data;

use fixture::{rows, session};
use futures::StreamExt;
use muster_engine::{Database, DatabaseOptions, Outcome, Session, types::ErrorCode, types::SqlError};
use random_data::Files;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// Takes many minutes: whoever starts it is killed.
const ENDLESS: &str = "SELECT COUNT(*) FROM n a, n b, n c WHERE a.i * b.i * c.i = 7";
/// Heavy by estimate, quick in truth.
const HEAVY: &str = "SELECT COUNT(*) FROM n a, n b WHERE a.i * b.i = 7";

async fn database(directory: &std::path::Path, options: DatabaseOptions) -> Arc<Database> {
    let database = Database::open(directory, options).expect("a new data directory opens");
    let mut session = session(&database, "root");
    let file = directory.join("import").join("n.csv");
    let numbers: String = (0..4000).map(|i| format!("{i}\n")).collect();
    std::fs::write(&file, numbers).expect("a file for the test");
    for sql in [
        "CREATE DATABASE t".to_owned(),
        "CREATE TABLE t.n (i INT PRIMARY KEY)".to_owned(),
        format!("LOAD DATA INFILE '{}' INTO TABLE t.n", file.display()),
        "SET GLOBAL admission_running_max = 1".to_owned(),
    ] {
        rows(&mut session, &sql).await.expect("the fixture is made");
    }
    database
}

fn client(database: &Arc<Database>) -> Session {
    let mut session = session(database, "root");
    session.use_database("t").expect("the fixture's database");
    session
}

fn start(database: &Arc<Database>, sql: &str) -> JoinHandle<Result<Vec<Vec<String>>, SqlError>> {
    let (mut session, sql) = (client(database), sql.to_owned());
    tokio::spawn(async move { rows(&mut session, &sql).await })
}

/// The session that runs or waits, by its state, once there is one.
async fn process_in(database: &Arc<Database>, state: &str) -> u32 {
    let since = Instant::now();
    loop {
        if let Some(process) = database.processes().iter().find(|p| p.state == state) {
            return process.id;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "no session is {state}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The session whose heavy statement runs, once one is admitted: before that it is in the same state.
async fn admitted(database: &Arc<Database>) -> u32 {
    while status(database, "Admission_running").await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process_in(database, "executing").await
}

async fn status(database: &Arc<Database>, name: &str) -> u64 {
    let mut session = client(database);
    let found = rows(&mut session, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).await.expect("SHOW STATUS answers");
    found[0][1].parse().expect("a number")
}

fn error(done: Result<Vec<Vec<String>>, SqlError>) -> ErrorCode {
    done.expect_err("it was stopped").code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_statements_wait_and_light_ones_do_not() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), fixture::options()).await;
    let endless = start(&database, ENDLESS);
    let running = admitted(&database).await;
    let waiting = start(&database, HEAVY);
    process_in(&database, "Waiting for admission").await;
    let shown = rows(&mut client(&database), "SHOW PROCESSLIST").await.expect("SHOW PROCESSLIST answers");
    assert!(shown.iter().any(|p| p[6] == "Waiting for admission" && p[7] == HEAVY), "{shown:?}");
    let light = rows(&mut client(&database), "SELECT i FROM n WHERE i = 7").await.expect("a light statement runs");
    assert_eq!(light, [["7"]]);
    assert_eq!(status(&database, "Admission_running").await, 1);
    assert_eq!(status(&database, "Admission_waiting").await, 1);
    assert!(!waiting.is_finished());
    database.kill(running, true).expect("it runs");
    assert_eq!(error(endless.await.expect("no panic")), ErrorCode::QueryInterrupted);
    assert_eq!(waiting.await.expect("no panic").expect("it is admitted"), [["2"]]);
    assert_eq!(status(&database, "Admission_running").await, 0);
    assert_eq!(status(&database, "Admission_waits").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_can_be_stopped() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), fixture::options()).await;
    let endless = start(&database, ENDLESS);
    let running = admitted(&database).await;
    let waiting = start(&database, HEAVY);
    let killed = process_in(&database, "Waiting for admission").await;
    database.kill(killed, true).expect("it waits");
    assert_eq!(error(waiting.await.expect("no panic")), ErrorCode::QueryInterrupted);
    let late = start(&database, "SELECT /*+ MAX_EXECUTION_TIME(100) */ COUNT(*) FROM n a, n b WHERE a.i * b.i = 7");
    assert_eq!(error(late.await.expect("no panic")), ErrorCode::QueryTimeout);
    rows(&mut client(&database), "SET GLOBAL admission_queue_size = 0").await.expect("the queue can be closed");
    let refused = start(&database, HEAVY).await.expect("no panic");
    assert_eq!(error(refused), ErrorCode::UserLimitReached);
    assert_eq!(status(&database, "Admission_refused").await, 1);
    assert_eq!(status(&database, "Admission_waiting").await, 0);
    database.kill(running, true).expect("it runs");
    assert_eq!(error(endless.await.expect("no panic")), ErrorCode::QueryInterrupted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_who_stalls_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), fixture::options()).await;
    let mut half_read = client(&database);
    let statement = "SELECT a.i, b.i FROM n a, n b WHERE a.i + b.i > 0";
    let outcome = half_read.execute(statement).await.expect("it starts");
    assert_eq!(start(&database, HEAVY).await.expect("no panic").expect("it is admitted"), [["2"]]);
    drop(outcome);
}

/// Loads and the building of indexes take as much memory as queries, and wait like them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_builds_files_waits_and_can_be_stopped() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), fixture::options()).await;
    let files = Files(HashMap::from([("m".to_owned(), b"1\n2\n".to_vec())]));
    let mut local = fixture::session_with(&database, "root", files);
    rows(&mut local, "CREATE TABLE t.m (i INT PRIMARY KEY)").await.expect("a table");
    let endless = start(&database, ENDLESS);
    let running = admitted(&database).await;
    let builders =
        ["CREATE INDEX x ON n (i)", "ALTER TABLE n ADD INDEX x (i)", "LOAD DATA INFILE 'n.csv' INTO TABLE m"];
    for sql in builders {
        let waiting = start(&database, sql);
        let killed = process_in(&database, "Waiting for admission").await;
        database.kill(killed, true).expect("it waits");
        assert_eq!(error(waiting.await.expect("no panic")), ErrorCode::QueryInterrupted, "{sql}");
    }
    // A client that sends its file may wait for others: it does not wait for admission. The locks of those before are
    // free.
    rows(&mut local, "LOAD DATA LOCAL INFILE 'm' INTO TABLE t.m").await.expect("it does not wait");
    rows(&mut local, "ALTER TABLE t.n COMMENT 'free'").await.expect("nobody has the lock");
    let index = start(&database, builders[0]);
    process_in(&database, "Waiting for admission").await;
    let load = start(&database, "LOAD DATA INFILE 'n.csv' IGNORE INTO TABLE m");
    while status(&database, "Admission_waiting").await < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    database.kill(running, true).expect("it runs");
    assert_eq!(error(endless.await.expect("no panic")), ErrorCode::QueryInterrupted);
    index.await.expect("no panic").expect("it is admitted");
    load.await.expect("no panic").expect("it is admitted");
    let found = rows(&mut client(&database), "SELECT COUNT(*) FROM m").await.expect("all rows are there");
    assert_eq!(found, [["4000"]]);
    assert_eq!(status(&database, "Admission_running").await, 0);
}

/// Keeps 3.3 MB of texts, which it cannot spill, from its first rows on, and twice at its end. It sleeps with its last
/// rows: such statements that run at a time hold memory at a time, however quick they are.
fn large(rows_of_b: u32) -> String {
    let text = |letter| format!("MAX(IF(a.i + b.i = 0, REPEAT('{letter}', 1100000), NULL))");
    let slept = "SUM(SLEEP(IF(a.i = 3999 AND b.i = 0, 0.1, 0)))";
    let (x, y, z) = (text('x'), text('y'), text('z'));
    format!("SELECT LENGTH({x}), LENGTH({y}), LENGTH({z}) + {slept} FROM n a, n b WHERE b.i < {rows_of_b}")
}

/// Room for one [`large`] statement, whose texts are there three times if the thread that takes them over is ahead of
/// the one that gives them back, and not for four that each hold them once.
fn little_memory() -> DatabaseOptions {
    DatabaseOptions { memory_limit_bytes: 12 << 20, threads: 2, ..fixture::options() }
}

/// Together they want several times the memory that there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_get_the_memory_that_they_get_alone() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), little_memory()).await;
    let large = large(100);
    let alone = start(&database, &large).await.expect("no panic").expect("it has memory alone");
    rows(&mut client(&database), "SET GLOBAL admission_running_max = 4").await.expect("a global variable");
    let all: Vec<_> = (0..4).map(|_| start(&database, &large)).collect();
    for statement in all {
        assert_eq!(statement.await.expect("no panic").expect("it gets memory in the end"), alone);
    }
    assert!(status(&database, "Admission_alone").await > 0, "some were refused memory at first");
}

/// The first rows of the statement are there long before it is refused memory for the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_came_early_do_not_forbid_another_attempt() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), little_memory()).await;
    let early = format!("SELECT i, 0, 0 FROM n WHERE i < 3 UNION ALL {}", large(5));
    let mut alone = start(&database, &early).await.expect("no panic").expect("it has memory alone");
    alone.sort();
    assert_eq!(alone.len(), 4);
    rows(&mut client(&database), "SET GLOBAL admission_running_max = 4").await.expect("a global variable");
    let all: Vec<_> = (0..4).map(|_| start(&database, &early)).collect();
    for statement in all {
        let mut found = statement.await.expect("no panic").expect("it gets memory in the end");
        found.sort();
        assert_eq!(found, alone, "each row comes once");
    }
    assert!(status(&database, "Admission_alone").await > 0, "some were refused memory at first");
}

/// Rows that come slowly are not held back until the last one is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_rows_come_as_they_are_there() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = database(directory.path(), fixture::options()).await;
    let slow = "SELECT i FROM n WHERE i < 3 UNION ALL SELECT SLEEP(1000)";
    let Outcome::Rows(mut result) = client(&database).execute(slow).await.expect("it starts") else {
        panic!("no rows")
    };
    let first = tokio::time::timeout(Duration::from_secs(30), result.rows.next()).await;
    assert_eq!(first.expect("it does not wait for the last").expect("a batch").expect("no error").num_rows(), 3);
}
