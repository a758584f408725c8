//! Pages that are not in memory, KILL, timeouts, and the bounds of what the short path holds.

use crate::{
    data::{in_db, is_short, load, loaded, status},
    fixture::{self, rows, session_with},
    random_data::Files,
};
use muster_engine::{
    Database, DatabaseOptions, Session,
    io::simulated::SimulatedDisk,
    types::{ErrorCode, Value},
};
use std::{
    collections::HashMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_not_in_memory_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 13).await;
    let mut root = in_db(&database, "root").await;
    let wanted = rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap();
    // What tidies up in the background may have read the page again.
    for _ in 0..20 {
        database.clear_buffer_pool().unwrap();
        let hits = status(&mut root, "Plan_cache_hits").await;
        assert_eq!(rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap(), wanted);
        assert!(status(&mut root, "Plan_cache_hits").await > hits);
        if status(&mut root, "Innodb_buffer_pool_reads").await > 0 {
            return;
        }
    }
    panic!("no page was read");
}

/// Reads some dozen pages, one after the other.
const LONG: &str = "SELECT SUM(k) FROM t WHERE id BETWEEN 0 AND 2900";
/// The time that a page takes to come.
const PAGE_DELAY: Duration = Duration::from_millis(100);
/// Less than [`LONG`] takes by far.
const SOON: Duration = Duration::from_millis(1000);

/// A database whose pages are not in memory and come slowly, and a session that knows the plan of [`LONG`].
async fn slow(directory: &Path) -> (Arc<Database>, Session, Arc<SimulatedDisk>) {
    let io = Arc::new(SimulatedDisk::new());
    let options = DatabaseOptions { page_size: 4096, ..fixture::options() };
    let database = Database::open_on(directory, options, io.clone()).unwrap();
    load(&database, 17).await;
    let mut root = in_db(&database, "root").await;
    assert!(is_short(&mut root, LONG).await);
    database.clear_buffer_pool().unwrap();
    io.set_read_delay(PAGE_DELAY);
    (database, root, io)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_reaches_who_waits_for_pages() {
    for query_only in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (database, mut root, io) = slow(directory.path()).await;
        let id = root.id();
        let reading = tokio::spawn(async move {
            let since = Instant::now();
            let found = rows(&mut root, LONG).await;
            (root, found, since.elapsed())
        });
        tokio::time::sleep(3 * PAGE_DELAY).await;
        database.kill(id, query_only).unwrap();
        let (mut root, found, took) = reading.await.unwrap();
        assert_eq!(found.unwrap_err().code, ErrorCode::QueryInterrupted);
        assert!(took < SOON, "{took:?}");
        assert_eq!(root.warnings().len(), 1, "the error is the statement's");
        io.set_read_delay(Duration::ZERO);
        // Only the one statement was stopped, unless the session was.
        assert_eq!(rows(&mut root, LONG).await.is_ok(), query_only);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_who_waits_for_pages_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, mut root, io) = slow(directory.path()).await;
    root.execute("SET max_execution_time = 250").await.unwrap();
    let (since, questions) = (Instant::now(), status(&mut root, "Questions").await);
    assert_eq!(rows(&mut root, LONG).await.unwrap_err().code, ErrorCode::QueryTimeout);
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    assert_eq!(status(&mut root, "Questions").await, questions + 2, "the statement counts once");
    io.set_read_delay(Duration::ZERO);
    root.execute("SET max_execution_time = 20000").await.unwrap();
    assert!(is_short(&mut root, LONG).await);
}

/// Results that are larger than what the short path may hold are left to the path that counts its memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_results_take_the_general_path() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    let lines: String = (0..500).map(|id| format!("{id}\t{}\n", "x".repeat(1000))).collect();
    let files = Files(HashMap::from([("w".to_owned(), lines.into_bytes())]));
    let mut root = session_with(&database, "root", files);
    let table = "CREATE TABLE w (id INT PRIMARY KEY, s VARCHAR(1000))";
    for sql in ["CREATE DATABASE db", "USE db", table, "LOAD DATA LOCAL INFILE 'w' INTO TABLE w"] {
        root.execute(sql).await.unwrap();
    }
    for order in ["", " ORDER BY s", " ORDER BY id DESC"] {
        assert!(is_short(&mut root, &format!("SELECT s FROM w WHERE id BETWEEN 0 AND 99{order}")).await);
        assert!(!is_short(&mut root, &format!("SELECT s FROM w WHERE id BETWEEN 0 AND 399{order}")).await);
    }
    assert!(is_short(&mut root, "SELECT COUNT(s) FROM w WHERE id BETWEEN 0 AND 399").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_statements_are_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 19).await;
    let mut root = in_db(&database, "root").await;
    let wanted = rows(&mut root, "SELECT k FROM t WHERE id = 600").await.unwrap();
    let before = status(&mut root, "Plan_cache_entries").await;
    for n in 0..50 {
        let text = format!("SELECT k FROM t WHERE id = ? AND b <> '{}'", "y".repeat(1100 + n));
        let prepared = root.prepare(&text).await.unwrap();
        for _ in 0..2 {
            assert!(root.execute_prepared(prepared.id, &[Value::Int(600)]).await.is_ok());
        }
        root.close_prepared(prepared.id);
        let text = format!("SELECT k FROM t WHERE id = 600 AND b <> '{}'", "y".repeat(8200 + n));
        assert_eq!(rows(&mut root, &text).await.unwrap(), wanted);
    }
    let many = format!("SELECT k FROM t WHERE {}", vec!["id = ?"; 130].join(" AND "));
    let prepared = root.prepare(&many).await.unwrap();
    assert!(root.execute_prepared(prepared.id, &vec![Value::Int(600); 130]).await.is_ok());
    assert_eq!(status(&mut root, "Plan_cache_entries").await, before);
}

/// A plan whose runs read too many rows is left if hardly one does not, and is made again after some executions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_often_reads_too_many_rows_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 41).await;
    let mut root = in_db(&database, "root").await;
    let sql = |width: i32| format!("SELECT SUM(w), COUNT(*) FROM t WHERE k BETWEEN 0 AND {width}");
    assert!(is_short(&mut root, &sql(2)).await);
    // With every other run it stays.
    for n in 0..200 {
        let width = if n % 2 == 0 { 199 + n } else { 2 };
        rows(&mut root, &sql(width)).await.unwrap();
    }
    let misses = status(&mut root, "Plan_cache_misses").await;
    assert!(is_short(&mut root, &sql(2)).await);
    for n in 0..150 {
        let wanted = rows(&mut root, &sql(500 + n)).await.unwrap();
        assert_ne!(wanted[0][1], "0", "{n}");
    }
    // Left after some, and planned anew since.
    let after = status(&mut root, "Plan_cache_misses").await;
    assert!(after > misses && after < misses + 5, "{misses} to {after}");
    assert!(!is_short(&mut root, &sql(2)).await);
}

/// A list of 500 keys has a plan that serves for other lists, of other lengths.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_lists_of_keys_share_a_plan() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 43).await;
    let mut root = in_db(&database, "root").await;
    let sql = |count: usize, step: usize| {
        let list = (0..count).map(|n| (n * step).to_string()).collect::<Vec<_>>().join(",");
        format!("SELECT id, k, b FROM t WHERE id IN ({list}) AND b <> 'x' ORDER BY id DESC LIMIT 700")
    };
    assert!(is_short(&mut root, &sql(500, 3)).await);
    let misses = status(&mut root, "Plan_cache_misses").await;
    for (count, step) in [(20, 3), (400, 9), (1200, 6)] {
        assert!(is_short(&mut root, &sql(count, step)).await, "{count}");
        let found = rows(&mut root, &sql(count, step)).await.unwrap();
        root.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
        assert_eq!(rows(&mut root, &sql(count, step)).await.unwrap(), found);
        root.execute("SET optimizer_switch = DEFAULT").await.unwrap();
        assert!(found.len() > 10 && found.len() <= 700);
    }
    assert_eq!(status(&mut root, "Plan_cache_misses").await, misses);
    // One row for many members, and a list that is not only a key.
    let list = vec!["3"; 100].join(", ");
    assert_eq!(rows(&mut root, &format!("SELECT id FROM t WHERE id IN ({list})")).await.unwrap(), [["3"]]);
    assert!(!is_short(&mut root, &format!("SELECT COUNT(*) FROM t WHERE s = 'x' OR id IN ({list})")).await);
}
