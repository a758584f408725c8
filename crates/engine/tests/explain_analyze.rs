//! EXPLAIN ANALYZE on tables so small that every number can be said beforehand.

mod fixture;

use muster_engine::{Database, DatabaseOptions, InfileSource, LocalFiles, Session, types::SqlError};
use serde_json::Value as Json;
use std::{io::Cursor, path::Path};

/// Every file has a hundred rows: `i, i % 10, i, i`.
struct RowsSource;

impl LocalFiles for RowsSource {
    fn open(&self, _name: &str) -> Result<InfileSource, SqlError> {
        let text: String = (0..100).map(|i| format!("{i}\t{}\t{i}\t{i}\n", i % 10)).collect();
        Ok(Box::new(Cursor::new(text.into_bytes())))
    }
}

async fn session(directory: &Path) -> Session {
    let options = DatabaseOptions { page_size: 4096, threads: 2, ..fixture::options() };
    let database = Database::open(directory, options).expect("a new data directory opens");
    let mut session = fixture::session_with(&database, "root", RowsSource);
    for sql in [
        "create database d",
        "use d",
        "create table t (a int primary key, b int, c int, d int, key kbc (b, c))",
        "load data local infile 't' into table t",
    ] {
        one(&mut session, sql).await;
    }
    session
}

/// The first value of a statement's result.
async fn one(session: &mut Session, sql: &str) -> String {
    let found = fixture::rows(session, sql).await.unwrap_or_else(|e| panic!("{e}\n{sql}"));
    found.into_iter().flatten().next().unwrap_or_default()
}

fn line<'a>(tree: &'a str, part: &str) -> &'a str {
    tree.lines().find(|l| l.contains(part)).unwrap_or_else(|| panic!("no line with {part}:\n{tree}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_tell_what_they_did() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let mut session = session(directory.path()).await;

    // Ten entries have b = 3; of those c = 53, 63, .. 93 pass the condition, and their rows are fetched.
    let sql = "explain analyze select d from t force index (kbc) where b = 3 and c + 0 > 50";
    let tree = one(&mut session, sql).await;
    let scan = line(&tree, "Index lookup on t using kbc");
    assert!(scan.contains("rows=5 loops=1)") && scan.contains("icp_attempts=10 icp_match=5"), "{tree}");
    assert!(scan.contains("rows_fetched=5"), "{tree}");

    // Of the rows from the least to the greatest of ten keys, 3 and 93, the others are dropped; those outside are not
    // read.
    let sql = "explain analyze select x.d, y.d from t x ignore index (kbc) join t y on y.a = x.a where x.b = 3 and x.c + 0 >= 0";
    let tree = one(&mut session, &sql.replacen("select", "select /*+ HASH_JOIN(x, y) */", 1)).await;
    let scan = line(&tree, "Table scan on y");
    assert!(scan.contains("rows=10 loops=1)") && scan.contains("rows_dropped=81"), "{tree}");

    // Three outer rows, and each finds ten.
    let sql =
        "explain analyze select /*+ JOIN_ORDER(x, y) BKA(y) */ x.a, y.d from t x join t y on y.b = x.c where x.a < 3";
    let tree = one(&mut session, sql).await;
    let join = line(&tree, "Batched key access inner join");
    assert!(join.contains("rows=30 loops=1)") && join.contains("keys="), "{tree}");
    assert!(line(&tree, "on x").contains("rows=3 loops=1)"), "{tree}");

    // A subquery that stays one runs for each of its parameters.
    one(&mut session, "set optimizer_switch = 'subquery_to_derived=off'").await;
    let sql = "explain analyze select (select max(y.d) from t y where y.b = x.c) from t x where x.a < 4";
    let tree = one(&mut session, sql).await;
    assert!(line(&tree, "Aggregate").contains("rows=1 loops=4)"), "{tree}");
    one(&mut session, "set optimizer_switch = default").await;

    // What nobody asks never runs.
    let sql =
        "explain analyze select /*+ HASH_JOIN(x, y) NO_BKA(x, y) */ x.a from t x join t y on x.a = y.c and y.d = -1";
    let tree = one(&mut session, sql).await;
    assert!(tree.lines().all(|l| !l.contains("rows=100 loops=1)")), "the build side is empty: {tree}");
}

/// What rows do between threads has lines of its own, with what passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exchanges_and_partial_aggregates_are_operators() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let mut session = session(directory.path()).await;
    let tree = one(&mut session, "explain analyze select d % 5, count(*) from t group by d % 5").await;
    for (part, rows) in
        [("-> Exchange: gather 2 partitions", 5), ("-> Final aggregate using hash", 5), ("-> Table scan on t", 100)]
    {
        let line = line(&tree, part);
        assert!(line.contains(&format!("rows={rows} loops=1)")), "{tree}");
    }
    let order = ["gather", "Final aggregate", "Exchange: hash(", "Partial aggregate", "Table scan"];
    let found: Vec<usize> = order.iter().map(|part| tree.find(part).expect(part)).collect();
    assert!(found.is_sorted(), "{tree}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_has_the_same_numbers() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let mut session = session(directory.path()).await;
    session.execute("SET explain_json_format_version = 2").await.expect("a variable");
    let sql =
        "explain analyze format=json select /*+ HASH_JOIN(x, y) */ x.a from t x join t y on x.a = y.c where y.b = 3";
    let text = one(&mut session, sql).await;
    let json: Json = serde_json::from_str(&text).expect("JSON");
    let gather = &json["query_plan"];
    assert_eq!(
        (gather["node"].as_u64(), gather["operation"].as_str()),
        (Some(1), Some("Exchange: gather 2 partitions"))
    );
    let join = &gather["inputs"][0];
    assert_eq!((join["node"].as_u64(), join["partitions"].as_u64()), (Some(2), Some(2)), "{text}");
    assert!(join["operation"].as_str().is_some_and(|o| o.starts_with("Inner hash join")), "{text}");
    assert_eq!((join["actual_rows"].as_f64(), join["actual_loops"].as_u64()), (Some(10.0), Some(1)), "{text}");
    assert!(join["actual_last_row_ms"].as_f64() >= join["actual_first_row_ms"].as_f64(), "{text}");
    assert_eq!(join["inputs"].as_array().map(Vec::len), Some(2), "{text}");
    let json: Json = serde_json::from_str(&one(&mut session, "explain format=json select 1").await).expect("JSON");
    let operation = &json["query_plan"]["operation"];
    assert_eq!(operation, "Rows fetched before execution", "the same shape without ANALYZE");
}
