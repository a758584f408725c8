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
/// Finding one key among many sorted ones, in a leaf that is at hand.
const LOOKUP_KEY_NS: f64 = 150.0;
/// Going to another leaf: a descent, its header, the places of its columns. Together with the key this makes fetching
/// one scattered row in memory cost 0.7 us, so that it breaks even with a scan of a few columns below one row in a
/// hundred.
const LEAF_VISIT_NS: f64 = 550.0;
/// Taking one entry behind the first of a key.
const ENTRY_NS: f64 = 25.0;
/// Fetching one row for a secondary entry, beside finding it: its primary key is sorted in, and its columns are decoded
/// by themselves. Origin: 400,000 of 4 M rows fetched through an index in 2 us each on one core.
const FETCH_ROW_NS: f64 = 700.0;
/// Looking up a key by itself, without neighbours to share a descent with.
const SINGLE_LOOKUP_NS: f64 = 1_500.0;
/// Collecting one outer row and its key in a join buffer, and sorting it.
const JOIN_BUFFER_ROW_NS: f64 = 60.0;
/// Reading one page from the device: in a long run of neighbours, among many reads under way, and waiting for it alone.
/// Of the order of an SSD behind a virtual machine's disk; `resident_share` decides how often this is paid.
const SEQUENTIAL_READ_MS: f64 = 0.012;
const QUEUED_READ_MS: f64 = 0.03;
const SINGLE_READ_MS: f64 = 0.12;
/// Opening one key range: a descent of the tree.
const RANGE_MS: f64 = 0.003;
/// Inserting a row in a hash table that fits the caches, and in one that does not.
const BUILD_NS: (f64, f64) = (10.0, 45.0);
/// Looking a row up in such tables.
const PROBE_NS: (f64, f64) = (4.0, 18.0);
/// Taking one row of either side in a merge join: comparing it with the row before and with the other side. One thread does
/// it in 5 to 7 ns. Joined in memory on two cores, orders and lineitem of DBT-3 at scale 1 take 0.5 to 1.0 times as long as by
/// hash, which would be 11 ns beside the constants above; from a cold disk 1.4 to 1.6 times, since one cursor for each side
/// keeps fewer reads under way than two. Costs of reading do not tell these apart, so this one is between.
const MERGE_ROW_NS: f64 = 20.0;
/// Delivering one joined row.
const JOIN_OUTPUT_NS: f64 = 6.0;
/// Tables of so many rows leave the first cache, and a thousand times as many the last.
const CACHED_ROWS: f64 = 2_000.0;
/// Adding one row to a hash aggregate, per aggregate.
const AGGREGATE_NS: f64 = 4.0;
/// Finding where a group ends in ordered rows, per row; one thread does it.
const STREAM_ROW_NS: f64 = 4.0;
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

/// An index as far as its size matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    pub entries: f64,
    pub leaf_pages: f64,
    /// Share of the pages that are in memory.
    pub resident_share: f64,
}

impl Tree {
    /// Leaves that so many scattered keys are in (Cardenas 1975).
    fn leaves_of(&self, keys: f64) -> f64 {
        let pages = self.leaf_pages.max(1.0);
        pages * (1.0 - (-keys / pages).exp())
    }

    /// Reading those of `pages` that are not in memory. The first one is waited for alone, whatever comes behind it; so
    /// tables of a page cost the same in every way, and plans over them do not change with what is in memory.
    fn missing(&self, pages: f64, read_ms: f64) -> f64 {
        let missing = pages * (1.0 - self.resident_share).clamp(0.0, 1.0);
        missing.min(1.0) * SINGLE_READ_MS + (missing - 1.0).max(0.0) * read_ms
    }

    /// Reading one of so many leaves that are asked for together, in the order of the file: the more of them there are, the
    /// more have their neighbour read just before, in one run with it.
    fn queued_read_ms(&self, leaves: f64) -> f64 {
        let dense = (leaves / self.leaf_pages.max(1.0)).clamp(0.0, 1.0);
        dense * SEQUENTIAL_READ_MS + (1.0 - dense) * QUEUED_READ_MS
    }

    /// Leaves that hold `entries` neighbouring entries.
    fn neighbours(&self, entries: f64) -> f64 {
        self.leaf_pages * (entries / self.entries.max(1.0)).min(1.0)
    }
}

/// Reading the pages of `entries` neighbouring entries from the device, as far as they are not in memory.
pub fn sequential_reads(tree: &Tree, entries: f64) -> f64 {
    tree.missing(tree.neighbours(entries), SEQUENTIAL_READ_MS)
}

/// Looking up `keys` distinct sorted keys together, which find `entries` entries.
pub fn lookups(tree: &Tree, keys: f64, entries: f64) -> f64 {
    let leaves = tree.leaves_of(keys) + tree.neighbours((entries - keys).max(0.0));
    (keys * LOOKUP_KEY_NS + leaves * LEAF_VISIT_NS + (entries - keys).max(0.0) * ENTRY_NS) * NS
        + tree.missing(leaves, tree.queued_read_ms(leaves))
}

/// Fetching the rows of secondary entries in primary-key order.
pub fn fetches(clustered: &Tree, rows: f64) -> f64 {
    lookups(clustered, rows, rows) + rows * FETCH_ROW_NS * NS
}

/// Going from place to place in a tree: so many descents, each of which has to wait for the one before.
pub fn skips(tree: &Tree, count: f64) -> f64 {
    let leaves = tree.leaves_of(count);
    (count * LOOKUP_KEY_NS + leaves * LEAF_VISIT_NS) * NS + tree.missing(leaves, SINGLE_READ_MS)
}

/// Looking up keys one by one, in any order.
pub fn single_lookups(tree: &Tree, keys: f64, entries: f64) -> f64 {
    let leaves = keys + tree.neighbours((entries - keys).max(0.0));
    (keys * SINGLE_LOOKUP_NS + (entries - keys).max(0.0) * ENTRY_NS) * NS + tree.missing(leaves, SINGLE_READ_MS)
}

/// Keeping outer rows in a join buffer, and delivering joined ones.
pub fn join_buffer(outer_rows: f64, output_rows: f64) -> f64 {
    (outer_rows * JOIN_BUFFER_ROW_NS + output_rows * JOIN_OUTPUT_NS) * NS
}

/// Keeping rows of so many columns for several readers, and reading them.
pub fn shared_rows(rows: f64, columns: usize, readers: usize) -> f64 {
    rows * columns.max(1) as f64 * SCAN_VALUE_NS * (1 + readers) as f64 * NS
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

/// Joining two inputs in key order, without them. One thread does it.
pub fn merge_join(left_rows: f64, right_rows: f64, output_rows: f64) -> f64 {
    ((left_rows + right_rows) * MERGE_ROW_NS + output_rows * JOIN_OUTPUT_NS) * NS
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
    rows * (STREAM_ROW_NS + AGGREGATE_NS * aggregates as f64) * NS
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
        Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Logic { .. } => 0.0,
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
        let tree = Tree { entries: table, leaf_pages: table / 150.0, resident_share: 1.0 };
        let fetch = |rows: f64| fetches(&tree, rows);
        assert!(fetch(table * 0.05) > clustered_scan(table, 4, 2));
        assert!(fetch(table * 0.0005) < clustered_scan(table, 4, 2));
    }

    #[test]
    fn reads_that_wait_for_each_other_cost_most() {
        let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.1 };
        assert!(single_lookups(&tree, 1e4, 1e4) > 3.0 * lookups(&tree, 1e4, 1e4));
        assert!(lookups(&tree, 6e6, 6e6) > sequential_reads(&tree, 6e6));
        // Every other leaf: half of what is read comes in runs.
        let reads = |keys| lookups(&tree, keys, keys) - lookups(&Tree { resident_share: 1.0, ..tree }, keys, keys);
        let half = 4e4 * std::f64::consts::LN_2;
        assert!(reads(half) < 0.8 * reads(1e3) / 1e3 * 2e4, "{} {}", reads(half), reads(1e3));
    }
}
