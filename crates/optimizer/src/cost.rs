//! The cost of work in milliseconds. [`CostModel`] holds all constants; nothing else in the crate knows a nanosecond.
//!
//! The unit of a cost is the millisecond of one query on two cores with its data in memory. What matters for choosing
//! is the ratio of the constants. A constant that nobody has measured says so: it is of the right order of magnitude
//! for vectorised execution over columnar pages.

use muster_algebra::{Cost, Expr, ScalarFunction, Side, SqlType};

/// Milliseconds per nanosecond.
const NS: f64 = 1e-6;

/// A constant as a reader of the model sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// The field's name; its last word is the unit.
    pub name: &'static str,
    pub value: f64,
    /// The origin of the default.
    pub origin: &'static str,
}

macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:expr, $origin:literal;)+) => {
        /// The constants of the cost model.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct CostModel {
            $($(#[doc = $doc])+ pub $name: f64,)+
            /// Bytes that an operator may keep in memory; what is more goes to files. No constant of the machine.
            pub memory_bytes: f64,
        }

        impl Default for CostModel {
            fn default() -> CostModel {
                CostModel { $($name: $default,)+ memory_bytes: f64::INFINITY }
            }
        }

        impl CostModel {
            /// Lists the constants with their values in this model.
            pub fn constants(&self) -> Vec<Constant> {
                vec![$(Constant { name: stringify!($name), value: self.$name, origin: $origin },)+]
            }

            /// Sets a constant by its name. Returns false if there is no constant of this name.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)+
                    _ => return false,
                }
                true
            }
        }
    };
}

constants! {
    /// Reading one value of a fixed-width column in a scan.
    scan_value_ns = 0.6, "measured: 6 M rows of four columns in 13 ms on two cores";
    /// Comparing two numbers of one row; other predicates and expressions take so many times as long as they weigh.
    predicate_ns = 0.6, "not measured";
    /// Reading a row of a scan at all (page header, visibility), without columns.
    scan_row_ns = 0.4, "not measured";
    /// How much dearer a value of a secondary entry is than one of a column vector: it is decoded from key bytes.
    secondary_value_factor = 1.5, "not measured";
    /// Finding one key among many sorted ones, in a leaf that is at hand.
    lookup_key_ns = 150.0, "not measured";
    /// Going to another leaf: a descent, the leaf's header, the places of its columns.
    leaf_visit_ns = 550.0, "chosen: with lookup_key_ns one scattered row in memory costs 0.7 us, which breaks even with a scan of a few columns below one row in a hundred";
    /// Taking one entry behind the first of a key.
    entry_ns = 25.0, "not measured";
    /// Fetching one row for a secondary entry, beside finding it: its primary key is sorted in, its columns are decoded
    /// alone.
    fetch_row_ns = 700.0, "measured: 400,000 of 4 M rows fetched through an index in 2 us each on one core";
    /// Looking up a key by itself, without neighbours to share a descent with.
    single_lookup_ns = 1_500.0, "not measured";
    /// Collecting one outer row and its key in a join buffer, and sorting it.
    join_buffer_row_ns = 60.0, "not measured";
    /// Reading one page from the device in a long run of neighbours.
    sequential_read_ms = 0.012, "the order of an SSD behind a virtual machine's disk";
    /// Reading one page from the device among many reads under way.
    queued_read_ms = 0.03, "the order of an SSD behind a virtual machine's disk";
    /// Reading one page from the device and waiting for it alone.
    single_read_ms = 0.12, "the order of an SSD behind a virtual machine's disk";
    /// Opening one key range: a descent of the tree.
    range_ms = 0.003, "not measured";
    /// Inserting a row in a hash table that fits the caches.
    build_cached_ns = 10.0, "not measured";
    /// Inserting a row in a hash table that does not fit the caches.
    build_ns = 45.0, "not measured";
    /// Looking a row up in a hash table that fits the caches.
    probe_cached_ns = 4.0, "not measured";
    /// Looking a row up in a hash table that does not fit the caches.
    probe_ns = 18.0, "not measured";
    /// Taking one row of either side in a merge join: comparing it with the row before and with the other side.
    merge_row_ns = 20.0, "measured: one thread takes 5 to 7 ns. Joined in memory on two cores, orders and lineitem of DBT-3 at scale 1 take 0.5 to 1.0 times as long as by hash, which would be 11 ns; from a cold disk 1.4 to 1.6 times, since one cursor a side keeps fewer reads under way than two. The costs of reading do not tell these apart, so this is between";
    /// Delivering one joined row.
    join_output_ns = 6.0, "not measured";
    /// Rows at which a hash table leaves the first cache; a thousand times as many leave the last.
    cached_rows = 2_000.0, "not measured";
    /// Adding one row to a hash aggregate, per aggregate.
    aggregate_ns = 4.0, "not measured";
    /// Finding where a group ends in ordered rows, per row; one thread does it.
    stream_row_ns = 4.0, "not measured";
    /// Comparing two rows while sorting.
    compare_ns = 12.0, "not measured";
    /// Moving one value of a row to its place in a hash table, a group or a join buffer, or among sorted rows.
    move_value_ns = 0.6, "not measured: as reading it in a scan";
    /// Writing one value of a row that does not fit into memory to a file, and reading it from there.
    spill_value_ns = 12.0, "not measured: sixteen bytes there and back at 2.7 GB/s each";
}

/// At worst the rows that a LIMIT wants, or that a scan in order looks for, come after so many times as many rows as
/// expected: they may all lie at the far end.
pub const CAUTION: f64 = 8.0;
/// Bytes of a page that the defaults of reads are about.
const PAGE_BYTES: f64 = 16_384.0;
/// Bytes of a value of a row in memory, about.
const VALUE_BYTES: f64 = 16.0;

impl CostModel {
    /// Between `small` and `large` as a hash table outgrows the caches.
    fn by_size(&self, small: f64, large: f64, rows: f64) -> f64 {
        let growth = (rows.max(1.0) / self.cached_rows).log10().clamp(0.0, 3.0) / 3.0;
        small + (large - small) * growth
    }

    /// The model for pages of so many bytes: what a read takes beside the transfer of the page stays as it is. Only
    /// defaults change: what was measured or set is about the pages at hand.
    pub fn for_pages_of(mut self, bytes: usize) -> CostModel {
        let default = CostModel::default();
        let more_ms = default.sequential_read_ms * (bytes as f64 / PAGE_BYTES - 1.0);
        let reads = [
            (&mut self.sequential_read_ms, default.sequential_read_ms),
            (&mut self.queued_read_ms, default.queued_read_ms),
            (&mut self.single_read_ms, default.single_read_ms),
        ];
        for (read_ms, _) in reads.into_iter().filter(|(read_ms, default_ms)| **read_ms == *default_ms) {
            *read_ms += more_ms.max(-0.9 * *read_ms);
        }
        self
    }

    /// Writing kept values to files and reading them again, if there are more than fit into memory. `with`: values that
    /// go to files with them.
    fn spill(&self, kept: f64, with: f64) -> Cost {
        match kept * VALUE_BYTES <= self.memory_bytes {
            true => Cost::ZERO,
            false => Cost::io((kept + with) * self.spill_value_ns * NS),
        }
    }

    /// Reading `rows` rows of `values` columns in key order of the clustered index, and checking predicates of this
    /// [weight](predicates_weight) on each.
    pub fn clustered_scan(&self, rows: f64, values: usize, predicates: f64) -> Cost {
        let row_ns = self.scan_row_ns + self.scan_value_ns * values as f64 + self.predicate_ns * predicates;
        Cost::cpu(rows * row_ns * NS)
    }

    /// Cost of reading so many entries of a secondary index.
    pub fn secondary_scan(&self, rows: f64, values: usize, predicates: f64) -> Cost {
        let value_ns = self.secondary_value_factor * self.scan_value_ns;
        let row_ns = self.scan_row_ns + value_ns * values as f64 + self.predicate_ns * predicates;
        Cost::cpu(rows * row_ns * NS)
    }

    /// Reading the pages of `entries` neighbouring entries from the device, as far as they are not in memory.
    pub fn sequential_reads(&self, tree: &Tree, entries: f64) -> Cost {
        self.missing(tree, tree.neighbours(entries), self.sequential_read_ms)
    }

    /// Looking up `keys` distinct sorted keys together, which find `entries` entries.
    pub fn lookups(&self, tree: &Tree, keys: f64, entries: f64) -> Cost {
        let leaves = tree.leaves_of(keys) + tree.neighbours((entries - keys).max(0.0));
        let found_ns =
            keys * self.lookup_key_ns + leaves * self.leaf_visit_ns + (entries - keys).max(0.0) * self.entry_ns;
        Cost::cpu(found_ns * NS) + self.missing(tree, leaves, self.queued_read_of(tree, leaves))
    }

    /// Fetching the rows of secondary entries in primary-key order.
    pub fn fetches(&self, clustered: &Tree, rows: f64) -> Cost {
        self.lookups(clustered, rows, rows) + Cost::cpu(rows * self.fetch_row_ns * NS)
    }

    /// Going from place to place in a tree: so many descents, each of which has to wait for the one before.
    pub fn skips(&self, tree: &Tree, count: f64) -> Cost {
        let leaves = tree.leaves_of(count);
        Cost::cpu((count * self.lookup_key_ns + leaves * self.leaf_visit_ns) * NS)
            + self.missing(tree, leaves, self.single_read_ms)
    }

    /// Looking up keys one by one, in any order.
    pub fn single_lookups(&self, tree: &Tree, keys: f64, entries: f64) -> Cost {
        let leaves = keys + tree.neighbours((entries - keys).max(0.0));
        Cost::cpu((keys * self.single_lookup_ns + (entries - keys).max(0.0) * self.entry_ns) * NS)
            + self.missing(tree, leaves, self.single_read_ms)
    }

    /// Keeping outer rows in a join buffer, and delivering joined ones.
    pub fn join_buffer(&self, outer: JoinInput, output_rows: f64) -> Cost {
        let kept_ns = outer.rows * self.join_buffer_row_ns + outer.values() * self.move_value_ns;
        Cost::cpu((kept_ns + output_rows * self.join_output_ns) * NS)
    }

    /// Keeping rows of so many columns for several readers, and reading them.
    pub fn shared_rows(&self, rows: f64, columns: usize, readers: usize) -> Cost {
        Cost::cpu(rows * columns.max(1) as f64 * self.scan_value_ns * (1 + readers) as f64 * NS)
    }

    /// Finding the beginnings of key ranges.
    pub fn ranges(&self, count: usize) -> Cost {
        Cost::cpu(count as f64 * self.range_ms)
    }

    /// The side of a hash join that is better built, and what the join costs then, without its inputs.
    pub fn hash_join(&self, left: JoinInput, right: JoinInput, output_rows: f64) -> (Side, Cost) {
        let build_left = self.build_and_probe(left, right, output_rows);
        let build_right = self.build_and_probe(right, left, output_rows);
        if build_left.compared_ms() < build_right.compared_ms() {
            (Side::Left, build_left)
        } else {
            (Side::Right, build_right)
        }
    }

    /// Building a hash table of one input, before any row is delivered, and looking the rows of the other up in it. If
    /// the table does not fit into memory, both go to files.
    fn build_and_probe(&self, build: JoinInput, probe: JoinInput, output_rows: f64) -> Cost {
        let insert_ns = self.by_size(self.build_cached_ns, self.build_ns, build.rows);
        let build_ns = build.rows * insert_ns + build.values() * self.move_value_ns;
        let probe_ns = probe.rows * self.by_size(self.probe_cached_ns, self.probe_ns, build.rows);
        let built = Cost::cpu(build_ns * NS) + self.spill(build.values(), probe.values());
        built.before_first_row() + Cost::cpu((probe_ns + output_rows * self.join_output_ns) * NS)
    }

    /// Joining two inputs in key order, without them. One thread does it.
    pub fn merge_join(&self, left_rows: f64, right_rows: f64, output_rows: f64) -> Cost {
        Cost::cpu(((left_rows + right_rows) * self.merge_row_ns + output_rows * self.join_output_ns) * NS)
    }

    /// A nested loop join, without its inputs.
    pub fn nested_loop_join(&self, left_rows: f64, right_rows: f64, output_rows: f64) -> Cost {
        let pairs_ns = left_rows * right_rows.max(1.0) * self.predicate_ns * 2.0;
        Cost::cpu((pairs_ns + output_rows * self.join_output_ns) * NS)
    }

    /// Checking predicates of this [weight](predicates_weight) above a scan.
    pub fn filter(&self, rows: f64, predicates: f64) -> Cost {
        Cost::cpu(rows * predicates * self.predicate_ns * 2.0 * NS)
    }

    /// Computing columns of this [weight](predicates_weight).
    pub fn project(&self, rows: f64, exprs: f64) -> Cost {
        Cost::cpu(rows * exprs * self.predicate_ns * 2.0 * NS)
    }

    /// A hash aggregate of `groups` groups by so many columns, without its input.
    pub fn hash_aggregate(&self, rows: f64, groups: f64, columns: usize, aggregates: usize) -> Cost {
        let group_ns = self.by_size(self.build_cached_ns, self.build_ns, groups) * 0.5;
        let kept = groups * (columns + aggregates) as f64;
        let rows_ns = rows * (group_ns + self.aggregate_ns * aggregates as f64);
        Cost::cpu((rows_ns + kept * self.move_value_ns) * NS) + self.spill(kept, 0.0)
    }

    /// Aggregating rows that come ordered by their group.
    pub fn stream_aggregate(&self, rows: f64, aggregates: usize) -> Cost {
        Cost::cpu(rows * (self.stream_row_ns + self.aggregate_ns * aggregates as f64) * NS)
    }

    /// Cost of computing so many window functions over sorted rows.
    pub fn window(&self, rows: f64, calls: usize) -> Cost {
        Cost::cpu(rows * (self.stream_row_ns + self.aggregate_ns * calls as f64) * NS)
    }

    /// Copying rows for the levels of a rollup. `rows`: the copies.
    pub fn rollup(&self, rows: f64) -> Cost {
        Cost::cpu(rows * self.stream_row_ns * NS)
    }

    /// Sorting rows of so many columns; `fetch`: only that many first rows are kept.
    pub fn sort(&self, rows: f64, fetch: Option<u64>, columns: usize) -> Cost {
        let kept = fetch.map_or(rows, |n| rows.min(n as f64));
        let compared = kept.max(2.0).log2().clamp(1.0, 24.0) * if fetch.is_some() { 0.25 } else { 1.0 };
        let values = kept * columns as f64;
        Cost::cpu((rows * compared * self.compare_ns + values * self.move_value_ns) * NS) + self.spill(values, 0.0)
    }

    /// Reading those of `pages` that are not in memory. The first one is waited for alone, whatever comes behind it; so
    /// tables of a page cost the same in every way, and plans over them do not change with what is in memory.
    fn missing(&self, tree: &Tree, pages: f64, read_ms: f64) -> Cost {
        let missing = pages * (1.0 - tree.resident_share).clamp(0.0, 1.0);
        Cost::io(missing.min(1.0) * self.single_read_ms + (missing - 1.0).max(0.0) * read_ms)
    }

    /// Reading one of so many leaves that are asked for together, in the order of the file: the more of them there are,
    /// the more have their neighbour read just before, in one run with it.
    fn queued_read_of(&self, tree: &Tree, leaves: f64) -> f64 {
        let dense = (leaves / tree.leaf_pages.max(1.0)).clamp(0.0, 1.0);
        dense * self.sequential_read_ms + (1.0 - dense) * self.queued_read_ms
    }
}

/// The cost of a hash join with its inputs. `own`: that of the join itself.
pub fn hash_join_cost(left: Cost, right: Cost, build: Side, own: Cost) -> Cost {
    match build {
        Side::Left => left.before_first_row() + right + own,
        Side::Right => left + right.before_first_row() + own,
    }
}

/// An index as far as its size matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    pub entries: f64,
    pub leaf_pages: f64,
    /// Share of the pages that are in memory.
    pub resident_share: f64,
    /// How near to each other the keys are that are looked up together.
    pub spread: Spread,
}

/// Keys between those that lie anywhere in a tree and runs of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// 0: anywhere; 1: runs of neighbours.
    pub nearness: f64,
    /// Number of the runs.
    pub runs: f64,
}

impl Tree {
    /// The tree for keys that come from so many ranges of an index with this rank correlation with the order of the
    /// tree. The square of it is the share of what decides a row's place in one that decides it in the other.
    pub fn reached_by(self, correlation: Option<f64>, ranges: usize) -> Tree {
        let nearness = correlation.unwrap_or(0.0).powi(2).clamp(0.0, 1.0);
        Tree { spread: Spread { nearness, runs: ranges as f64 }, ..self }
    }

    /// Leaves that so many keys are in.
    fn leaves_of(&self, keys: f64) -> f64 {
        let scattered = self.scattered(keys);
        let in_runs = (self.scattered(self.spread.runs) + self.neighbours(keys)).min(scattered);
        scattered + (in_runs - scattered) * self.spread.nearness
    }

    /// Leaves that so many keys are in which lie anywhere (Cardenas 1975).
    fn scattered(&self, keys: f64) -> f64 {
        let pages = self.leaf_pages.max(1.0);
        pages * (1.0 - (-keys / pages).exp())
    }

    /// Leaves that hold `entries` neighbouring entries.
    fn neighbours(&self, entries: f64) -> f64 {
        self.leaf_pages * (entries / self.entries.max(1.0)).min(1.0)
    }
}

/// An input of a join whose rows may be kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JoinInput {
    pub rows: f64,
    /// Number of columns that it delivers.
    pub columns: usize,
}

impl JoinInput {
    fn values(self) -> f64 {
        self.rows * self.columns as f64
    }
}

/// How dear checking a predicate, or computing an expression, is on one row, relative to comparing two numbers. Texts
/// are compared under their collation, patterns are searched for, JSON documents are read. However many values a list
/// has, one search finds one of them.
pub fn predicate_weight(predicate: &Expr) -> f64 {
    let own = match predicate {
        Expr::Like { .. } => 12.0,
        Expr::Literal { ty: SqlType::Text { collation, .. }, .. } => {
            if collation.is_binary() {
                1.0
            } else {
                2.0
            }
        }
        Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Logic { .. } => 0.0,
        Expr::Call { function, .. } => call_weight(*function),
        Expr::InList { arg, list, .. } => {
            return 2.0 + predicate_weight(arg) + list.first().map_or(0.0, predicate_weight);
        }
        _ => 1.0,
    };
    own + predicate.children().into_iter().map(predicate_weight).sum::<f64>()
}

fn call_weight(function: ScalarFunction) -> f64 {
    let reads_document = match function {
        ScalarFunction::ParseJson => true,
        ScalarFunction::Library(function) => function.name.starts_with("JSON_") || function.name.starts_with("REGEXP"),
        _ => false,
    };
    if reads_document { 30.0 } else { 5.0 }
}

/// The weight of several predicates or expressions, each of which takes as long as one comparison at least.
pub fn predicates_weight<'a>(predicates: impl IntoIterator<Item = &'a Expr>) -> f64 {
    predicates.into_iter().map(|predicate| predicate_weight(predicate).max(1.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::{Collation, CompareOp, Value};
    use muster_types::TextKind;

    #[test]
    fn building_is_two_to_three_times_probing() {
        let m = CostModel::default();
        for rows in [1e3, 1e5, 1e7] {
            let ratio = m.by_size(m.build_cached_ns, m.build_ns, rows) / m.by_size(m.probe_cached_ns, m.probe_ns, rows);
            assert!((2.0..=3.0).contains(&ratio), "{rows}: {ratio}");
        }
    }

    #[test]
    fn fetching_a_few_percent_loses_against_a_scan() {
        let table = 6e6;
        let tree = Tree { entries: table, leaf_pages: table / 150.0, resident_share: 1.0, spread: Spread::default() };
        let fetch = |rows: f64| CostModel::default().fetches(&tree, rows).total_ms();
        let scan_ms = CostModel::default().clustered_scan(table, 4, 2.0).total_ms();
        assert!(fetch(table * 0.05) > scan_ms && fetch(table * 0.0005) < scan_ms);
    }

    #[test]
    fn reads_that_wait_for_each_other_cost_most() {
        let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.1, spread: Spread::default() };
        let model = CostModel::default();
        let (one_by_one, together) = (model.single_lookups(&tree, 1e4, 1e4), model.lookups(&tree, 1e4, 1e4));
        assert!(one_by_one.total_ms() > 3.0 * together.total_ms());
        assert!(model.lookups(&tree, 6e6, 6e6).total_ms() > model.sequential_reads(&tree, 6e6).total_ms());
        // Every other leaf: half of what is read comes in runs.
        let reads = |keys| model.lookups(&tree, keys, keys).io_ms;
        assert_eq!(model.lookups(&Tree { resident_share: 1.0, ..tree }, 1e3, 1e3).io_ms, 0.0);
        let half = 4e4 * std::f64::consts::LN_2;
        assert!(reads(half) < 0.8 * reads(1e3) / 1e3 * 2e4, "{} {}", reads(half), reads(1e3));
    }

    #[test]
    fn rows_of_a_correlated_index_are_in_few_leaves() {
        let model = CostModel::default();
        let tree = Tree { entries: 6e6, leaf_pages: 4e4, resident_share: 0.0, spread: Spread::default() };
        let fetches_ms = |correlation| model.fetches(&tree.reached_by(correlation, 1), 6e3).io_ms;
        assert_eq!(fetches_ms(None), fetches_ms(Some(0.0)));
        assert_eq!(fetches_ms(Some(-1.0)), fetches_ms(Some(1.0)));
        assert!(fetches_ms(Some(1.0)) < 0.02 * fetches_ms(None));
        assert!(fetches_ms(Some(0.5)) > 0.7 * fetches_ms(None) && fetches_ms(Some(0.5)) < 0.8 * fetches_ms(None));
        // Rows of many ranges are near to each other in each of them only.
        let of_ranges = |count| model.fetches(&tree.reached_by(Some(1.0), count), 6e3).io_ms;
        assert!(of_ranges(6000) == fetches_ms(None) && of_ranges(60) < 0.1 * fetches_ms(None));
    }

    #[test]
    fn larger_pages_take_longer_to_transfer() {
        let (model, default) = (CostModel::default().for_pages_of(64 << 10), CostModel::default());
        assert_eq!(CostModel::default().for_pages_of(16 << 10), default);
        assert_eq!(model.sequential_read_ms, 4.0 * default.sequential_read_ms);
        assert_eq!(model.single_read_ms, default.single_read_ms + 3.0 * default.sequential_read_ms);
        let small = CostModel::default().for_pages_of(4 << 10);
        assert!(small.sequential_read_ms < 0.3 * default.sequential_read_ms && small.sequential_read_ms > 0.0);
        let measured = CostModel { queued_read_ms: 0.02, ..default }.for_pages_of(64 << 10);
        assert_eq!((measured.queued_read_ms, measured.single_read_ms), (0.02, model.single_read_ms));
        assert!(small.single_read_ms > 0.9 * default.single_read_ms && small.single_read_ms < default.single_read_ms);
    }

    #[test]
    fn rows_that_do_not_fit_into_memory_go_to_files() {
        let small = CostModel { memory_bytes: 1e6, ..CostModel::default() };
        let default = CostModel::default();
        // 1,000 rows of ten columns fit, 100,000 do not; of one column 50,000 do.
        assert_eq!(small.sort(1e3, None, 10), default.sort(1e3, None, 10));
        assert!(small.sort(1e5, None, 10).io_ms > 0.0 && default.sort(1e5, None, 10).io_ms == 0.0);
        assert_eq!(small.sort(5e4, None, 1), default.sort(5e4, None, 1));
        assert_eq!(small.sort(1e6, Some(10), 10), default.sort(1e6, Some(10), 10));
        assert!(small.hash_aggregate(1e6, 1e6, 1, 2).io_ms > 0.0);
        assert_eq!(small.hash_aggregate(1e6, 100.0, 1, 2), default.hash_aggregate(1e6, 100.0, 1, 2));
        // The side that fits is built, though it has more rows.
        let (narrow, wide) = (JoinInput { rows: 6e4, columns: 1 }, JoinInput { rows: 4e4, columns: 12 });
        assert_eq!(default.hash_join(narrow, wide, 1.0).0, Side::Right);
        assert_eq!(small.hash_join(narrow, wide, 1.0).0, Side::Left);
    }

    #[test]
    fn wide_rows_take_longer_to_keep() {
        let model = CostModel::default();
        assert!(model.sort(1e6, None, 50).total_ms() > 1.1 * model.sort(1e6, None, 1).total_ms());
        assert!(
            model.hash_aggregate(1e6, 1e6, 50, 1).total_ms() > 1.1 * model.hash_aggregate(1e6, 1e6, 1, 1).total_ms()
        );
        // Rows that a LIMIT drops are not moved.
        let (wide, narrow) = (model.sort(1e6, Some(10), 50), model.sort(1e6, Some(10), 1));
        assert!(wide.total_ms() < 1.001 * narrow.total_ms());
        // Of two inputs alike in rows the narrow one is built.
        let (narrow, wide) = (JoinInput { rows: 5e4, columns: 1 }, JoinInput { rows: 5e4, columns: 20 });
        assert_eq!(model.hash_join(narrow, wide, 1.0).0, Side::Left);
        assert_eq!(model.hash_join(wide, narrow, 1.0).0, Side::Right);
    }

    #[test]
    fn patterns_texts_and_documents_are_dearer_than_numbers() {
        let column = || Box::new(Expr::Column(muster_algebra::ColId(0)));
        let literal = |value, ty| Box::new(Expr::Literal { value, ty });
        let text = |collation| {
            literal(Value::Text("x".into()), SqlType::Text { kind: TextKind::VarChar, length: 10, collation })
        };
        let equal = |right| Expr::Compare { op: CompareOp::Eq, left: column(), right };
        let number = || literal(Value::Int(1), SqlType::BIGINT);
        let like = |pattern| Expr::Like { arg: column(), pattern, escape: Some('\\'), negated: false };
        let call = |name: &str| {
            let is_called = |f: &ScalarFunction| matches!(f, ScalarFunction::Library(f) if f.name == name);
            let function = ScalarFunction::all().into_iter().find(is_called).expect("a function");
            Expr::Call { function, args: vec![*column()], ty: SqlType::BIGINT }
        };
        let ascending = [
            equal(number()),
            equal(text(Collation::Utf8mb4Bin)),
            equal(text(Collation::Utf8mb4GeneralCi)),
            call("SOUNDEX"),
            like(text(Collation::Utf8mb4GeneralCi)),
            call("JSON_DEPTH"),
        ];
        let weights = ascending.each_ref().map(predicate_weight);
        assert!(weights.is_sorted_by(|a, b| a < b), "{weights:?}");
        assert_eq!(weights[0], 1.0);
        let list = |n: usize| Expr::InList { arg: column(), list: vec![*number(); n], negated: false };
        assert_eq!(predicate_weight(&list(2)), predicate_weight(&list(1000)));
        assert_eq!(predicates_weight(&[*column(), *number()]), 2.0);
    }

    #[test]
    fn constants_are_set_by_the_names_they_are_shown_under() {
        let mut model = CostModel::default();
        for constant in CostModel::default().constants() {
            assert!(model.set(constant.name, constant.value * 2.0) && !constant.origin.is_empty());
            assert!(
                ["ns", "ms", "factor", "rows"].iter().any(|unit| constant.name.ends_with(unit)),
                "{}",
                constant.name
            );
        }
        let doubled = CostModel::default().constants().into_iter().map(|c| c.value * 2.0);
        assert!(model.constants().into_iter().map(|c| c.value).eq(doubled));
        assert!(!model.set("no_such_constant", 1.0));
    }
}
