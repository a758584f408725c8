//! What work costs. One place for all constants; nothing else in the crate knows a nanosecond.
//!
//! The unit is the millisecond of one query on two cores, data in memory. The constants are of the right order of
//! magnitude for vectorised execution over columnar pages; they have no finer origin yet (calibration comes with the
//! full cost model). What matters for choosing is their ratio.

use muster_algebra::{Expr, SqlType};

/// Milliseconds per nanosecond.
const NS: f64 = 1e-6;

/// Reading one value of a fixed-width column in a scan. Origin: 6 M rows of four columns in 13 ms on two cores.
const SCAN_VALUE_NS: f64 = 0.6;
/// Evaluating one simple predicate on one row.
const PREDICATE_NS: f64 = 0.6;
/// Reading a row of a scan at all (page header, visibility), without columns.
const SCAN_ROW_NS: f64 = 0.4;
/// A secondary entry's value comes out of key bytes: dearer than a column vector.
const SECONDARY_VALUE_FACTOR: f64 = 1.5;
/// Fetching one row by primary key from a secondary entry: a descent, pages in memory. Compared with a scan of a few
/// columns this breaks even below one row in a hundred.
const FETCH_ROW_NS: f64 = 700.0;
/// Opening one key range: a descent of the tree.
const RANGE_MS: f64 = 0.003;
/// Inserting a row in a hash table that fits the caches, and in one that does not.
const BUILD_NS: (f64, f64) = (10.0, 45.0);
/// Looking a row up in such tables.
const PROBE_NS: (f64, f64) = (4.0, 18.0);
/// Delivering one joined row.
const JOIN_OUTPUT_NS: f64 = 6.0;
/// Tables of so many rows leave the first cache, and a thousand times as many the last.
const CACHED_ROWS: f64 = 2_000.0;
/// Adding one row to a hash aggregate, per aggregate.
const AGGREGATE_NS: f64 = 4.0;
/// Comparing two rows while sorting.
const COMPARE_NS: f64 = 12.0;

/// Between `small` and `large` as a hash table outgrows the caches.
fn by_size(bounds: (f64, f64), rows: f64) -> f64 {
    let (small, large) = bounds;
    let growth = (rows.max(1.0) / CACHED_ROWS).log10().clamp(0.0, 3.0) / 3.0;
    small + (large - small) * growth
}

/// Reading `rows` rows of `values` columns in key order of the clustered index, and checking `predicates` on each.
pub fn clustered_scan(rows: f64, values: usize, predicates: usize) -> f64 {
    rows * (SCAN_ROW_NS + SCAN_VALUE_NS * values as f64 + PREDICATE_NS * predicates as f64) * NS
}

/// The same over the entries of a secondary index.
pub fn secondary_scan(rows: f64, values: usize, predicates: usize) -> f64 {
    rows * (SCAN_ROW_NS + SECONDARY_VALUE_FACTOR * SCAN_VALUE_NS * values as f64 + PREDICATE_NS * predicates as f64)
        * NS
}

/// Fetching rows by primary key.
pub fn fetch(rows: f64) -> f64 {
    rows * FETCH_ROW_NS * NS
}

/// Finding the beginnings of key ranges.
pub fn ranges(count: usize) -> f64 {
    count as f64 * RANGE_MS
}

/// A hash join, without its inputs.
pub fn hash_join(build_rows: f64, probe_rows: f64, output_rows: f64) -> f64 {
    (build_rows * by_size(BUILD_NS, build_rows)
        + probe_rows * by_size(PROBE_NS, build_rows)
        + output_rows * JOIN_OUTPUT_NS)
        * NS
}

/// A nested loop join, without its inputs.
pub fn nested_loop_join(left_rows: f64, right_rows: f64, output_rows: f64) -> f64 {
    (left_rows * right_rows.max(1.0) * PREDICATE_NS * 2.0 + output_rows * JOIN_OUTPUT_NS) * NS
}

/// Checking predicates above a scan.
pub fn filter(rows: f64, predicates: usize) -> f64 {
    rows * predicates as f64 * PREDICATE_NS * 2.0 * NS
}

/// Computing columns.
pub fn project(rows: f64, exprs: usize) -> f64 {
    rows * exprs as f64 * PREDICATE_NS * 2.0 * NS
}

/// A hash aggregate of `groups` groups, without its input.
pub fn hash_aggregate(rows: f64, groups: f64, aggregates: usize) -> f64 {
    rows * (by_size(BUILD_NS, groups) * 0.5 + AGGREGATE_NS * aggregates as f64) * NS
}

/// Aggregating rows that come ordered by their group.
pub fn stream_aggregate(rows: f64, aggregates: usize) -> f64 {
    rows * (2.0 + AGGREGATE_NS * aggregates as f64) * NS
}

/// Sorting; `fetch`: only that many first rows are kept.
pub fn sort(rows: f64, fetch: Option<u64>) -> f64 {
    let kept = fetch.map_or(rows, |n| rows.min(n as f64)).max(2.0);
    rows * kept.log2().clamp(1.0, 24.0) * if fetch.is_some() { 0.25 } else { 1.0 } * COMPARE_NS * NS
}

/// How dear checking a predicate on one row is, relative to comparing two numbers. Texts are compared under their
/// collation, patterns are searched for.
pub fn predicate_weight(predicate: &Expr) -> f64 {
    let own = match predicate {
        Expr::Like { .. } => 12.0,
        Expr::Literal { ty: SqlType::Text { .. }, .. } => 2.0,
        Expr::Column(_) | Expr::Literal { .. } | Expr::Logic { .. } => 0.0,
        Expr::Call { .. } => 5.0,
        _ => 1.0,
    };
    own + predicate.children().into_iter().map(predicate_weight).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn building_is_two_to_three_times_probing() {
        for rows in [1e3, 1e5, 1e7] {
            let ratio = by_size(BUILD_NS, rows) / by_size(PROBE_NS, rows);
            assert!((2.0..=3.0).contains(&ratio), "{rows}: {ratio}");
        }
    }

    #[test]
    fn fetching_a_few_percent_loses_against_a_scan() {
        let table = 6e6;
        assert!(fetch(table * 0.05) > clustered_scan(table, 4, 2));
        assert!(fetch(table * 0.0005) < clustered_scan(table, 4, 2));
    }
}
