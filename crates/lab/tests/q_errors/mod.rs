//! The rows that the optimizer expects of each operator of the workloads' queries, beside those found, against files
//! that hold them: an estimate that gets worse is seen, and so is one that gets better.
//!
//! ```text
//!   UPDATE_Q_ERRORS=1 cargo test -p muster-lab --test answers at_scale_0_1     writes the files
//! ```

use muster_engine::Session;
use muster_lab::{
    Workload,
    estimates::{OperatorEstimate, OperatorKind, lines, of_queries, quantiles},
};
use std::path::PathBuf;

/// By how much a factor may differ from that of the file: samples are drawn once for each load.
const TOLERANCE: f64 = 1.2;

/// The largest median and 95th percentile of a kind.
const BOUNDS: [(OperatorKind, f64, f64); 2] = [(OperatorKind::Table, 1.3, 3.0), (OperatorKind::Join, 1.5, 10.0)];

/// Compares the estimates of all queries with the file, and with the bounds.
pub async fn check(session: &mut Session, workload: Workload, scale: f64) {
    let found = of_queries(session, workload.queries()).await.expect("all queries run under EXPLAIN ANALYZE");
    let file = format!("q-errors-{}-{scale}.txt", workload.name());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let text: String = BOUNDS.iter().map(|(kind, ..)| format!("# {}\n{}", kind.name(), lines(&found, *kind))).collect();
    if std::env::var_os("UPDATE_Q_ERRORS").is_some() {
        std::fs::write(&path, &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let different = differences(&expected, &text);
    assert!(different.is_empty(), "{}: run with UPDATE_Q_ERRORS=1 if they are better\n{different}", path.display());
    for (kind, median_max, p95_max) in BOUNDS {
        let of = quantiles(found.iter().filter(|of| of.kind == kind).map(OperatorEstimate::q_error));
        assert!(of.count > 0 && of.median <= median_max && of.p95 <= p95_max, "{}: {of:?}", kind.name());
    }
}

/// The lines that differ by more than the tolerance.
fn differences(expected: &str, found: &str) -> String {
    let mut out = String::new();
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    for at in 0..expected.len().max(found.len()) {
        let (a, b) = (expected.get(at).copied().unwrap_or(""), found.get(at).copied().unwrap_or(""));
        if !is_near(a, b) {
            out += &format!("-{a}\n+{b}\n");
        }
    }
    out
}

/// Returns true for lines of the same operator of the same query whose factors are near each other.
fn is_near(a: &str, b: &str) -> bool {
    let parts = |line: &str| -> Option<(String, f64)> {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [query, _, _, factor, operator] = words[..] else { return None };
        Some((format!("{query} {operator}"), factor.parse().ok()?))
    };
    match (parts(a), parts(b)) {
        (Some((a, x)), Some((b, y))) => a == b && x / y <= TOLERANCE && y / x <= TOLERANCE,
        _ => a == b,
    }
}

#[test]
fn lines_are_near_by_their_factors() {
    assert!(is_near("q1 10 20 2.00 Table scan on t", "q1 11 20 1.82 Table scan on t"));
    assert!(!is_near("q1 10 20 2.00 Table scan on t", "q1 10 30 3.00 Table scan on t"));
    assert!(!is_near("q1 10 20 2.00 Table scan on t", "q1 10 20 2.00 Table scan on u"));
    assert!(is_near("# join", "# join") && !is_near("# join", ""));
}
