//! Estimates of all operators of a data set, from the data to the report.

use muster_lab::{Lab, Options, estimates, estimates::OperatorKind, load::Quiet, regret::Subject};
use std::time::Duration;

const SCALE: f64 = 0.01;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_of_all_queries_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let lab = Lab::new(Options {
        directory: directory.path().to_owned(),
        scale: SCALE,
        pool_bytes: None,
        memory_limit_bytes: 1 << 30,
        page_size: 16 << 10,
        threads: 1,
        preload: false,
        cov_max: 0.0,
        runs_max: 1,
        time_max: Duration::ZERO,
    });
    lab.prepare_data(Subject::Articles.data_set(SCALE), &Quiet).await.expect("the data load");
    let found = lab.estimates(Subject::Articles).await.expect("the queries run");
    for query in Subject::Articles.queries() {
        let of_query = found.iter().filter(|of| of.query == query.name);
        assert!(of_query.filter(|of| of.kind == OperatorKind::Table).count() > 0, "{}", query.name);
    }
    assert!(found.iter().all(|of| of.q_error() >= 1.0 && of.actual_ms >= 0.0 && of.estimated_ms >= 0.0));
    let text = estimates::text(&found);
    assert!(text.contains("rows expected") && text.contains("ms expected"), "{text}");
}
