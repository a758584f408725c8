//! The tables of sysbench, loaded and asked with the statements of its read tests.

use arrow_array::RecordBatch;
use muster_engine::{Database, DatabaseOptions, Durability, NoLocalFiles, Session, SessionOptions, value_at};
use muster_lab::{
    load::{Quiet, is_loaded, load},
    sysbench,
};
use std::sync::Arc;

fn session(directory: &std::path::Path) -> Session {
    let options = DatabaseOptions {
        buffer_pool_bytes: 32 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
        ..DatabaseOptions::default()
    };
    let database = Database::open(directory, options).expect("a new data directory opens");
    let local_files = Arc::new(NoLocalFiles);
    database.session(SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files })
}

async fn texts(session: &mut Session, sql: &str) -> Vec<String> {
    let batches: Vec<RecordBatch> = session.query(sql).await.unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let cells = |b: &RecordBatch| -> Vec<String> {
        let cell = |row: usize, a| value_at(a, row).expect("a value of a result").to_text(0).unwrap_or("NULL".into());
        (0..b.num_rows()).flat_map(|row| b.columns().iter().map(move |a| cell(row, a))).collect()
    };
    batches.iter().flat_map(cells).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_read_tests_statements_find_their_rows() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let mut session = session(directory.path());
    let data = sysbench::data_set(2, 5_000).expect("a size there is");
    assert!(!is_loaded(&mut session, &data).await.expect("the catalog is readable"));
    load(&mut session, &data, &Quiet).await.expect("the tables load");
    assert!(is_loaded(&mut session, &data).await.expect("the catalog is readable"));

    let ids = texts(&mut session, "SELECT COUNT(*), MIN(id), MAX(id), MIN(k) >= 1, MAX(k) <= 5000 FROM sbtest2").await;
    assert_eq!(ids, ["5000", "1", "5000", "1", "1"]);
    let c = texts(&mut session, "SELECT c FROM sbtest1 WHERE id = 4097").await;
    assert_eq!(c.iter().map(String::len).collect::<Vec<_>>(), [119]);
    let range = "FROM sbtest1 WHERE id BETWEEN 4050 AND 4149";
    assert_eq!(texts(&mut session, &format!("SELECT c {range} ORDER BY c")).await.len(), 100);
    let of_table = texts(&mut session, &format!("SELECT SUM(k), COUNT(DISTINCT c) {range}")).await;
    assert_eq!(of_table[1], "100");
    // Most values of k lie in the middle hundredth of the range.
    let middle = texts(&mut session, "SELECT COUNT(*) FROM sbtest1 WHERE k BETWEEN 2475 AND 2526").await;
    assert!(middle[0].parse::<u32>().expect("a count") > 3_500, "{middle:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_is_that_of_sysbench() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let mut session = session(directory.path());
    let data = sysbench::data_set(1, 10).expect("a size there is");
    load(&mut session, &data, &Quiet).await.expect("the tables load");
    let shown = texts(&mut session, "SHOW CREATE TABLE sbtest1").await.remove(1);
    for line in [
        "`id` int NOT NULL AUTO_INCREMENT,",
        "`k` int NOT NULL DEFAULT '0',",
        "`c` char(120) NOT NULL DEFAULT '',",
        "`pad` char(60) NOT NULL DEFAULT '',",
        "PRIMARY KEY (`id`),",
        "KEY `k_1` (`k`)",
        "AUTO_INCREMENT=11",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}
