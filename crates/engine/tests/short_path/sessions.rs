//! Many sessions that share plans.

use crate::{
    data::{Answer, answer, in_db, is_short, loaded, statement, status},
    fixture::rows,
    random_data::Random,
};
use muster_engine::{Database, types::SqlError};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_sessions_share_plans_while_definitions_change() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 11).await;
    let mut root = in_db(&database, "root").await;
    let wanted = rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap();
    root.execute("SET GLOBAL plan_cache_size = 32").await.unwrap();
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let (database, wanted) = (database.clone(), wanted.clone());
            tokio::spawn(async move {
                let mut session = in_db(&database, "root").await;
                for i in 0..150usize {
                    let found = rows(&mut session, "SELECT b FROM t WHERE id = 600").await.unwrap();
                    assert_eq!(found, wanted);
                    // Statements of many texts.
                    let sql = format!("SELECT b AS b{} FROM t WHERE id = 600", (n * 7 + i) % 100);
                    assert_eq!(rows(&mut session, &sql).await.unwrap(), wanted);
                }
            })
        })
        .collect();
    for _ in 0..10 {
        root.execute("CREATE INDEX extra ON t (f)").await.unwrap();
        root.execute("DROP INDEX extra ON t").await.unwrap();
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert!(status(&mut root, "Plan_cache_entries").await <= 32);
    assert!(status(&mut root, "Plan_cache_evictions").await > 0);
}

const SESSIONS: usize = 16;

/// A statement, whether its rows are ordered, and its answer on the general path.
type Asked = (String, bool, Result<Answer, SqlError>);

/// A statement that changes what plans are made for, and leaves the rows of `t` as they are.
fn change(random: &mut Random, n: usize) -> String {
    let column = random.pick(&["f", "h", "m", "w", "id, f", "k, s"]);
    match random.below(9) {
        0 | 1 => format!("CREATE INDEX extra{n} ON t ({column})"),
        2 => format!("DROP INDEX extra{n} ON t"),
        3 => "ANALYZE TABLE t".to_owned(),
        4 => format!("CREATE USER IF NOT EXISTS u{n}@localhost"),
        5 => format!("GRANT SELECT ON db.* TO u{n}@localhost"),
        6 => format!("REVOKE SELECT ON db.* FROM u{n}@localhost"),
        7 => format!("CREATE OR REPLACE VIEW v{n} AS SELECT {column} FROM t"),
        _ => format!("ALTER TABLE t COMMENT = 'by {n}'"),
    }
}

/// A table of the session's own, which is another one each time.
async fn own_table(session: &mut muster_engine::Session, random: &mut Random, n: usize) {
    let ty = random.pick(&["INT", "VARCHAR(20)", "DECIMAL(10,2)"]);
    rows(session, &format!("CREATE TABLE own{n} (id {ty} PRIMARY KEY, a INT)")).await.unwrap();
    let sql = format!("SELECT a FROM own{n} WHERE id = 5");
    for _ in 0..3 {
        assert!(rows(session, &sql).await.unwrap().is_empty());
    }
    rows(session, &format!("DROP TABLE own{n}")).await.unwrap();
    assert_eq!(rows(session, &sql).await.unwrap_err().code.number(), 1146);
}

async fn ask(database: Arc<Database>, asked: Arc<Vec<Asked>>, n: usize, short_path: bool) {
    let mut session = in_db(&database, "root").await;
    let switch = if short_path { "on" } else { "off" };
    rows(&mut session, &format!("SET optimizer_switch = 'short_path={switch}'")).await.unwrap();
    let mut random = Random::new(1000 + n as u64);
    for _ in 0..200 {
        let (sql, ordered, wanted) = &asked[random.below(asked.len())];
        for _ in 0..2 {
            let found = answer(session.execute(sql).await, *ordered).await;
            let rows = |a: &Result<Answer, SqlError>| a.as_ref().map(|(_, rows)| rows.clone()).map_err(|e| e.code);
            assert_eq!(rows(&found), rows(wanted), "{sql}: {:?}", found.as_ref().err());
        }
        if random.one_in(20) {
            // An index that is there already, or is not, is an error that says nothing here.
            let _ = rows(&mut session, &change(&mut random, n)).await;
        }
        if random.one_in(50) {
            own_table(&mut session, &mut random, n).await;
        }
    }
}

/// The random statements of these tests, by sessions that take the short path and others that do not, with one cache of
/// plans, while all of them change definitions and rights.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_sessions_ask_at_random_and_change_definitions() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 41).await;
    let mut root = in_db(&database, "root").await;
    let mut general = in_db(&database, "root").await;
    rows(&mut general, "SET optimizer_switch = 'short_path=off'").await.unwrap();
    let mut random = Random::new(43);
    let mut asked: Vec<Asked> = Vec::new();
    for _ in 0..150 {
        let (sql, ordered) = statement(&mut random);
        let wanted = answer(general.execute(&sql).await, ordered).await;
        asked.push((sql, ordered, wanted));
    }
    let asked = Arc::new(asked);
    // All statements and all states of definitions do not fit.
    rows(&mut root, "SET GLOBAL plan_cache_size = 64").await.unwrap();
    let tasks: Vec<_> =
        (0..SESSIONS).map(|n| tokio::spawn(ask(database.clone(), asked.clone(), n, n % 4 != 0))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let hits = status(&mut root, "Plan_cache_hits").await;
    assert!(hits > 1000, "only {hits} statements met a plan or knew that they have none");
    assert!(status(&mut root, "Plan_cache_entries").await <= 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_within_a_transaction_holds_definitions_back() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 11).await;
    let (mut reader, mut other) = (in_db(&database, "root").await, in_db(&database, "root").await);
    let sql = "SELECT b FROM t WHERE id = 600";
    other.execute("SET lock_wait_timeout = 1").await.unwrap();
    assert!(is_short(&mut reader, sql).await);
    reader.execute("BEGIN").await.unwrap();
    assert!(is_short(&mut reader, sql).await);
    assert_eq!(rows(&mut other, "TRUNCATE TABLE t").await.unwrap_err().code.number(), 1205);
    reader.execute("COMMIT").await.unwrap();
    rows(&mut other, "LOCK TABLES t WRITE").await.unwrap();
    reader.execute("SET lock_wait_timeout = 1").await.unwrap();
    assert_eq!(rows(&mut reader, sql).await.unwrap_err().code.number(), 1205);
    rows(&mut other, "UNLOCK TABLES").await.unwrap();
    assert!(is_short(&mut reader, sql).await);
    rows(&mut reader, "CREATE TABLE another (a INT)").await.unwrap();
    rows(&mut reader, "LOCK TABLES another READ").await.unwrap();
    assert_eq!(rows(&mut reader, sql).await.unwrap_err().code.number(), 1100);
    rows(&mut reader, "UNLOCK TABLES").await.unwrap();
}
