//! The functions over a small table of a data directory.

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_lab::{
    functions::{CALLS, FunctionOptions, measure, text},
    load::Quiet,
    target::{MeasuredDatabase, TestedDatabase},
};
use std::{path::Path, time::Duration};

fn measured(name: &str, path: &Path) -> MeasuredDatabase {
    let options = DatabaseOptions {
        buffer_pool_bytes: 32 << 20,
        memory_limit_bytes: 64 << 20,
        durability: Durability::Relaxed,
        threads: 2,
        ..DatabaseOptions::default()
    };
    let database = Database::open(path, options).expect("a new data directory opens");
    MeasuredDatabase {
        name: name.to_owned(),
        schema: "functions_of_a_test".into(),
        database: TestedDatabase::Embedded(database),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let both = ["one", "other"].map(|name| measured(name, &directory.path().join(name)));
    let time_max = Duration::from_secs(60);
    let mut options = FunctionOptions { rows: 3000, only: vec![], reload: false, rounds: 1, time_max };
    let report = measure(&both, &options, &Quiet, &|_| {}).await.expect("the data can be loaded");
    assert!(report.is_clean(), "{}", text(&report));
    assert_eq!(report.calls.len(), CALLS.len());
    assert!(report.calls.iter().all(|call| call.ratio().is_some()), "{}", text(&report));

    options.only = vec!["upper".into()];
    let upper = measure(&both, &options, &Quiet, &|_| {}).await.expect("the data are there");
    assert!(!upper.calls.is_empty() && upper.calls.iter().all(|call| call.function == "UPPER"));
    options.only = vec!["no such function".into()];
    assert!(measure(&both, &options, &Quiet, &|_| {}).await.is_err());
}
