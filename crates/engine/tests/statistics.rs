//! Statistics follow the rows: a table that statements have filled is planned as well as one that was loaded.

mod fixture;

use fixture::{rows as try_rows, session};
use muster_engine::{Database, DatabaseOptions, Session};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

const ROWS: usize = 200_000;
/// Time until statistics are there. A renewal that took seconds, on a machine that does other things, has a hundred
/// times as long a rest behind it.
const END: Duration = Duration::from_secs(400);

async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    try_rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn open(directory: &std::path::Path) -> Arc<Database> {
    let options = DatabaseOptions { buffer_pool_bytes: 64 << 20, ..fixture::options() };
    Database::open(directory, options).unwrap()
}

async fn in_d(database: &Arc<Database>) -> Session {
    let mut session = session(database, "root");
    rows(&mut session, "CREATE DATABASE IF NOT EXISTS d").await;
    session.use_database("d").unwrap();
    session
}

/// The cardinality of an index in SHOW INDEX, as `information_schema` has it.
async fn cardinality(session: &mut Session, index: &str) -> f64 {
    let sql = format!(
        "SELECT cardinality FROM information_schema.statistics WHERE table_schema = 'd' AND table_name = 't' \
         AND index_name = '{index}' AND seq_in_index = 1"
    );
    rows(session, &sql).await[0][0].parse().unwrap_or_else(|_| panic!("{index} has no cardinality"))
}

/// Row `id` of `t`: `status` has 4 values, `k` 2000, `day` grows with the primary key.
fn row(id: usize) -> String {
    format!("({id}, {}, {}, {})", id % 4, (id * 7919) % 2000, id / 100)
}

async fn make(session: &mut Session) {
    let columns = "id INT PRIMARY KEY, status INT, k INT, day INT, KEY status (status), KEY k (k)";
    rows(session, &format!("CREATE TABLE t ({columns})")).await;
    rows(session, "CREATE TABLE u (id INT PRIMARY KEY, k INT, status INT)").await;
    rows(session, "INSERT INTO u VALUES (1, 17, 1), (2, 25, 2)").await;
}

async fn fill(session: &mut Session, from: usize, to: usize) {
    rows(session, "BEGIN").await;
    // Some row by row, the others together.
    for id in from..to.min(from + 2000) {
        rows(session, &format!("INSERT INTO t VALUES {}", row(id))).await;
    }
    let ids: Vec<usize> = (from + 2000..to).collect();
    for ids in ids.chunks(1000) {
        let values: Vec<String> = ids.iter().map(|id| row(*id)).collect();
        rows(session, &format!("INSERT INTO t VALUES {}", values.join(", "))).await;
    }
    rows(session, "COMMIT").await;
}

/// The plan's row of `t`: key and number of rows.
async fn explained(session: &mut Session, sql: &str) -> (String, f64) {
    let plan = rows(session, &format!("EXPLAIN {sql}")).await;
    let row = plan.iter().find(|row| row[2] == "t").unwrap_or_else(|| panic!("no t in {plan:?}"));
    (row[6].clone(), row[9].parse().unwrap_or(-1.0))
}

#[track_caller]
fn assert_close(what: &str, found: f64, wanted: f64) {
    assert!(found > 0.7 * wanted && found < 1.4 * wanted, "{what}: {found} instead of {wanted}");
}

async fn until_close(session: &mut Session, index: &str, wanted: f64) {
    let began = Instant::now();
    loop {
        let found = cardinality(session, index).await;
        if found > 0.7 * wanted && found < 1.4 * wanted {
            return;
        }
        assert!(began.elapsed() < END, "{index} has {found} values, not {wanted}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_inserts_have_filled_is_planned_well() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = in_d(&database).await;
    make(&mut session).await;

    // A reader beside it never sees statistics without values, or fewer rows than there were.
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = {
        let (database, is_over) = (database.clone(), is_over.clone());
        tokio::spawn(async move {
            let mut session = in_d(&database).await;
            let (mut looks, mut count, mut known) = (0, 0.0, 0.0);
            while !is_over.load(Relaxed) {
                let status = rows(&mut session, "SHOW TABLE STATUS LIKE 't'").await;
                let now: f64 = status[0][4].parse().unwrap();
                assert!(now >= count, "{now} rows after {count}");
                let distinct = cardinality(&mut session, "k").await;
                assert!(distinct > 0.0 || known == 0.0, "{distinct} values after {known}");
                (looks, count, known) = (looks + 1, now, distinct);
            }
            looks
        })
    };
    fill(&mut session, 0, ROWS).await;
    assert_eq!(rows(&mut session, "SHOW TABLE STATUS LIKE 't'").await[0][4], ROWS.to_string(), "rows follow at once");
    until_close(&mut session, "k", 2000.0).await;
    is_over.store(true, Relaxed);
    assert!(reader.await.unwrap() > 10);

    assert_eq!(cardinality(&mut session, "status").await, 4.0);
    assert_close("ids", cardinality(&mut session, "PRIMARY").await, ROWS as f64);
    for sql in
        ["SELECT id, day FROM t WHERE k = 17 AND status = 1", "SELECT id, day FROM t WHERE status = 1 AND k = 17"]
    {
        assert_eq!(explained(&mut session, sql).await.0, "k", "{sql}");
    }
    let joined = "SELECT u.id, t.day FROM u JOIN t ON t.k = u.k AND t.status = u.status";
    assert_eq!(explained(&mut session, joined).await.0, "k", "{joined}");
    for (index, wanted) in [("k", ROWS as f64 / 2000.0), ("status", ROWS as f64 / 4.0)] {
        let sql = format!("SELECT u.id, t.day FROM u STRAIGHT_JOIN t FORCE INDEX ({index}) ON t.{index} = u.{index}");
        let (key, count) = explained(&mut session, &sql).await;
        assert_eq!(key, index, "{sql}");
        assert_close(&sql, count, wanted);
    }
    let (_, all) = explained(&mut session, "SELECT id, day FROM t").await;
    assert_eq!(all, ROWS as f64);

    // They stay. A renewal that is under way ends before: what it finds in its sample is another number.
    rows(&mut session, "SET GLOBAL innodb_stats_auto_recalc = OFF").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let known = cardinality(&mut session, "k").await;
    drop((session, database));
    let database = open(directory.path());
    rows(&mut in_d(&database).await, "SET GLOBAL innodb_stats_auto_recalc = OFF").await;
    assert_close("after a restart", cardinality(&mut in_d(&database).await, "k").await, known);
}

/// Plans that were looked for and not found while a statement ran and its counter was read.
async fn missed_plans(session: &mut Session, sql: &str) -> u64 {
    let count = "SHOW GLOBAL STATUS LIKE 'Plan_cache_misses'";
    let before: u64 = rows(session, count).await[0][1].parse().unwrap();
    rows(session, sql).await;
    rows(session, count).await[0][1].parse::<u64>().unwrap() - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn analyze_makes_statistics_now_and_plans_anew() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = in_d(&database).await;
    assert_eq!(rows(&mut session, "SELECT @@GLOBAL.innodb_stats_auto_recalc").await[0][0], "1");
    rows(&mut session, "SET GLOBAL innodb_stats_auto_recalc = OFF").await;
    make(&mut session).await;
    fill(&mut session, 0, 20_000).await;
    // Nobody has looked at the rows.
    assert_eq!(cardinality(&mut session, "k").await, 2000.0, "ten rows for each value are a guess");
    assert_eq!(cardinality(&mut session, "status").await, 2000.0);
    let sql = "SELECT COUNT(*) FROM t WHERE k = 17 AND status = 1";
    rows(&mut session, sql).await;
    let analyzed = rows(&mut session, "ANALYZE TABLE t").await;
    assert_eq!(analyzed, [["d.t", "analyze", "status", "OK"].map(String::from).to_vec()]);
    assert_eq!(cardinality(&mut session, "status").await, 4.0);
    assert_eq!(cardinality(&mut session, "k").await, 2000.0);
    assert_eq!(explained(&mut session, "SELECT day FROM t WHERE k = 17 AND status = 1").await.0, "k");

    // Less than a tenth is changed: rows behind the last that was known are expected all the same.
    fill(&mut session, 20_000, 21_500).await;
    let behind = "SELECT id FROM u JOIN t USING (id) WHERE t.day > 205";
    assert!(rows(&mut session, &format!("EXPLAIN FORMAT=TREE {behind}")).await[0][0].contains("t"));
    rows(&mut session, "DELETE FROM t WHERE id >= 20000").await;
    rows(&mut session, "UPDATE t SET status = id WHERE id < 1000").await;
    let by_key = "SELECT day FROM t WHERE id = 5";
    rows(&mut session, by_key).await;
    let (known, other) =
        (missed_plans(&mut session, by_key).await, missed_plans(&mut session, "SELECT 1 + 1 + 1").await);
    assert_eq!(other, known + 1, "the plan of a statement that is new is not there");
    rows(&mut session, "ANALYZE TABLE t").await;
    assert_eq!(cardinality(&mut session, "status").await, 1000.0);
    assert_eq!(missed_plans(&mut session, by_key).await, known + 1, "a plan of other statistics is made anew");
    assert_eq!(missed_plans(&mut session, by_key).await, known);
    // Nothing has changed since.
    rows(&mut session, "ANALYZE TABLE t").await;
    assert_eq!(missed_plans(&mut session, by_key).await, known);
}
