//! Random statements, and what statements count.

use crate::{
    data::{answer, in_db, loaded, statement, status},
    fixture::rows,
    random_data::Random,
};
use muster_engine::Session;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_statements_are_answered_as_on_the_general_path() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 77).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let mut random = Random::new(4711);
    for _ in 0..1500 {
        let (sql, ordered) = statement(&mut random);
        let wanted = answer(general.execute(&sql).await, ordered).await;
        let warned = general.warnings().is_empty();
        // The first one makes the plan.
        for _ in 0..2 {
            let found = answer(short.execute(&sql).await, ordered).await;
            assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql}");
            assert_eq!(short.warnings().is_empty(), warned, "{sql}");
        }
    }
    let hits = status(&mut short, "Plan_cache_hits").await;
    assert!(hits > 1500, "only {hits} statements met a plan or knew that they have none");
    assert!(status(&mut short, "Plan_cache_entries").await <= 4096);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 5).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let statements = [
        "SELECT s FROM t WHERE id = 300",
        "SELECT s FROM t WHERE id = 301",
        "SELECT s, id FROM t WHERE id BETWEEN 300 AND 600",
        "SELECT SUM(k) FROM t WHERE id BETWEEN 300 AND 600",
        "SELECT s FROM t WHERE id BETWEEN 300 AND 600 ORDER BY s",
        "SELECT b FROM t WHERE u = 60000000000000070",
        "SELECT b FROM t WHERE id < 90",
        "SELECT id, k FROM t WHERE k < -195",
        "SELECT b FROM t WHERE id BETWEEN 300 AND 600 AND d > 5",
    ];
    let names = [
        "Questions",
        "Com_select",
        "Handler_read_first",
        "Handler_read_key",
        "Handler_read_next",
        "Handler_read_rnd",
        "Handler_mrr_init",
        "Innodb_rows_read",
        "Select_range",
        "Select_scan",
        "Sort_rows",
        "Sort_range",
        "Created_tmp_tables",
    ];
    for sql in statements {
        // Makes the plan.
        answer(short.execute(sql).await, true).await.unwrap();
        let mut deltas = Vec::new();
        for session in [&mut short, &mut general] {
            let mut before = Vec::new();
            for name in names {
                before.push(status(session, name).await);
            }
            // Asking counts too, equally in both.
            answer(session.execute(sql).await, true).await.unwrap();
            let mut delta = Vec::new();
            for (name, before) in names.into_iter().zip(before) {
                delta.push((name, status(session, name).await - before));
            }
            deltas.push((delta, rows(session, "SELECT FOUND_ROWS(), ROW_COUNT()").await.unwrap()));
        }
        assert_eq!(deltas[0], deltas[1], "{sql}");
    }
    let noted = |session: &Session| session.warnings().iter().any(|w| w.message.contains("short path"));
    short.execute("EXPLAIN SELECT s FROM t WHERE id = 7").await.unwrap();
    assert!(noted(&short));
    for sql in ["EXPLAIN SELECT s FROM t WHERE id + 1 = 7", "EXPLAIN SELECT s FROM t WHERE id = 5.5"] {
        short.execute(sql).await.unwrap();
        assert!(!noted(&short), "{sql}");
    }
    general.execute("EXPLAIN SELECT s FROM t WHERE id = 7").await.unwrap();
    assert!(!noted(&general));
}
