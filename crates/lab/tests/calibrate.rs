//! A small calibration, from tables to stored costs. Times are not looked at.

use muster_engine::{Database, DatabaseOptions, Durability, NoLocalFiles, Session, SessionOptions, types::ErrorCode};
use muster_lab::calibrate::{self, Bounds, Verdict};
use std::{path::Path, sync::Arc};

fn open(directory: &Path) -> Arc<Database> {
    Database::open(directory, options()).expect("a new data directory opens")
}

fn options() -> DatabaseOptions {
    DatabaseOptions {
        buffer_pool_bytes: 16 << 20,
        memory_limit_bytes: 64 << 20,
        durability: Durability::Relaxed,
        ..DatabaseOptions::default()
    }
}

async fn rows(database: &Arc<Database>, sql: &str) -> Vec<Vec<String>> {
    let local_files = Arc::new(NoLocalFiles);
    let options = SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files };
    let mut session: Session = database.session(options);
    let mut rows = Vec::new();
    for batch in session.query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}")) {
        for row in 0..batch.num_rows() {
            let cell = |column| muster_engine::value_at(column, row).unwrap().to_text(0).unwrap_or_default();
            rows.push(batch.columns().iter().map(|column| cell(column)).collect());
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_measured_is_stored_and_nothing_else_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let tmp = directory.path().join("tmp");
    let bounds = Bounds { rows: 40_000, seconds: 2.0, device_bytes: 4 << 20, device_seconds: 0.3 };
    let mut calibration = calibrate::calibrate(&database, &tmp, &bounds, &|_| {}).await.unwrap();
    let names = std::fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().file_name());
    // Queries of the database itself have their files there, too.
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("calibration")).collect();
    assert!(left.is_empty(), "{left:?}");
    // A statement with another plan than the one that it is there for would measure something else.
    for times in &calibration.statements {
        assert_eq!(times.left_out, None, "{}", times.name);
    }
    let constants: Vec<&str> = calibration.costs.iter().map(|cost| cost.stored.name.as_str()).collect();
    for name in ["predicate_ns", "compare_ns", "single_read_ms", "probe_ns"] {
        assert!(constants.contains(&name), "{constants:?}");
    }
    assert!(!constants.contains(&"row_evaluate_cost"), "{constants:?}");
    assert!(calibrate::report(&calibration).contains("model error after"));
    // Nothing is stored yet. What is stored depends on the machine, so the test decides.
    let set = "SELECT cost_name, cost_value, comment = CONCAT('measured ', CURDATE()) FROM mysql.server_cost WHERE cost_value \
               IS NOT NULL UNION ALL SELECT cost_name, cost_value, comment = CONCAT('measured ', CURDATE()) FROM \
               mysql.engine_cost WHERE cost_value IS NOT NULL ORDER BY 1";
    assert!(rows(&database, set).await.is_empty());
    for cost in &mut calibration.costs {
        cost.verdict = match cost.stored.name.as_str() {
            "compare_ns" => Verdict::Measured(24.5),
            "single_read_ms" => Verdict::Measured(0.25),
            _ => Verdict::Kept("for the test".into()),
        };
    }
    rows(&database, "DELETE FROM mysql.server_cost WHERE cost_name = 'compare_ns'").await;
    assert_eq!(calibrate::store(&database, &calibration).await.unwrap(), 2);
    let stored = [["compare_ns", "24.5", "1"], ["single_read_ms", "0.25", "1"]];
    assert_eq!(rows(&database, set).await, stored);
    // Once more in the place of the first.
    assert_eq!(calibrate::store(&database, &calibration).await.unwrap(), 2);
    assert_eq!(rows(&database, set).await, stored);
}

#[tokio::test]
async fn a_directory_that_is_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let _server = open(directory.path());
    let refused = Database::open(directory.path(), options()).err().expect("the directory is in use");
    assert_eq!(refused.code, ErrorCode::CantLock, "{refused}");
}
