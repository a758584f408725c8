//! The cost of work in milliseconds. [`CostModel`] holds all constants; nothing else in the crate knows a nanosecond.
//!
//! The unit of a cost is the millisecond of one query on two cores with its data in memory. What matters for choosing
//! is the ratio of the constants. A constant that nobody has measured says so: it is of the right order of magnitude
//! for vectorised execution over columnar pages.

mod tree;
mod weight;

pub use tree::{Spread, Tree};
pub use weight::{predicate_weight, predicates_weight};

use muster_algebra::{Cost, Side};

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
            /// The limits of the statement, which are no constants of the machine.
            pub limits: Limits,
        }

        impl Default for CostModel {
            fn default() -> CostModel {
                CostModel { $($name: $default,)+ limits: Limits::default() }
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
    /// Starting a subquery once more: its operators are made for each run.
    subplan_ms = 0.03, "not measured";
}

/// The memory, buffers and threads of a statement, as far as costs depend on them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes that an operator may keep in memory; what is more goes to files.
    pub memory_bytes: f64,
    /// Bytes of outer rows that a join keeps before it looks their keys up.
    pub join_buffer_bytes: f64,
    /// Bytes of primary keys that a Multi-Range Read sorts together.
    pub mrr_buffer_bytes: f64,
    /// Number of threads that share what can be divided.
    pub threads: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        let bytes = f64::INFINITY;
        Limits { memory_bytes: bytes, join_buffer_bytes: bytes, mrr_buffer_bytes: bytes, threads: MODEL_THREADS }
    }
}

/// Number of threads whose times the constants are.
const MODEL_THREADS: f64 = 2.0;
/// How far threads come near to sharing a scan without order: of two each does three quarters of what it could alone.
const THREAD_GAIN: f64 = 0.75;

/// At worst the rows that a LIMIT wants, or that a scan in order looks for, come after so many times as many rows as
/// expected: they may all lie at the far end.
pub const CAUTION: f64 = 8.0;
/// Bytes of a page that the defaults of reads are about.
const PAGE_BYTES: f64 = 16_384.0;
/// Bytes of a value of a row in memory, about.
const VALUE_BYTES: f64 = 16.0;
/// Bytes of a primary key in a buffer, about.
const KEY_BYTES: f64 = 16.0;

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
        match kept * VALUE_BYTES <= self.limits.memory_bytes {
            true => Cost::ZERO,
            false => Cost::io((kept + with) * self.spill_value_ns * NS),
        }
    }

    /// Reading `rows` rows of `values` columns in key order of the clustered index, and checking predicates of this
    /// [weight](predicates_weight) on each.
    pub fn clustered_scan(&self, rows: f64, values: usize, predicates: f64) -> Cost {
        let row_ns = self.scan_row_ns + self.scan_value_ns * values as f64 + self.predicate_ns * predicates;
        self.divided(rows * row_ns)
    }

    /// Cost of reading so many entries of a secondary index.
    pub fn secondary_scan(&self, rows: f64, values: usize, predicates: f64) -> Cost {
        let value_ns = self.secondary_value_factor * self.scan_value_ns;
        let row_ns = self.scan_row_ns + value_ns * values as f64 + self.predicate_ns * predicates;
        self.divided(rows * row_ns)
    }

    /// Reading the pages of `entries` neighbouring entries from the device, as far as they are not in memory.
    pub fn sequential_reads(&self, tree: &Tree, entries: f64) -> Cost {
        self.missing(tree, tree.neighbours(entries), self.sequential_read_ms)
    }

    /// Looking up `keys` sorted keys in so many passes, which find `entries` entries. Keys of one pass share leaves.
    pub fn lookups(&self, tree: &Tree, keys: f64, entries: f64, passes: f64) -> Cost {
        let leaves = tree.leaves_of(keys / passes) * passes + tree.neighbours((entries - keys).max(0.0));
        let found_ns =
            keys * self.lookup_key_ns + leaves * self.leaf_visit_ns + (entries - keys).max(0.0) * self.entry_ns;
        self.divided(found_ns) + self.missing(tree, leaves, self.queued_read_of(tree, leaves))
    }

    /// Fetching the rows of secondary entries in primary-key order, in so many passes at least.
    pub fn fetches(&self, clustered: &Tree, rows: f64, passes: f64) -> Cost {
        let passes = passes.max(passes_of(rows * KEY_BYTES, self.limits.mrr_buffer_bytes));
        self.lookups(clustered, rows, rows, passes) + self.divided(rows * self.fetch_row_ns)
    }

    /// Going from place to place in a tree: so many descents, each of which has to wait for the one before.
    pub fn skips(&self, tree: &Tree, count: f64) -> Cost {
        let leaves = tree.leaves_of(count);
        alone(count * self.lookup_key_ns + leaves * self.leaf_visit_ns)
            + self.missing(tree, leaves, self.single_read_ms)
    }

    /// Looking up keys one by one, in any order.
    pub fn single_lookups(&self, tree: &Tree, keys: f64, entries: f64) -> Cost {
        let leaves = keys + tree.neighbours((entries - keys).max(0.0));
        self.divided(keys * self.single_lookup_ns + (entries - keys).max(0.0) * self.entry_ns)
            + self.missing(tree, leaves, self.single_read_ms)
    }

    /// Number of times that a join buffer is filled with these rows.
    pub fn join_buffer_passes(&self, outer: JoinInput) -> f64 {
        passes_of(outer.values() * VALUE_BYTES, self.limits.join_buffer_bytes)
    }

    /// Keeping outer rows in a join buffer, and delivering joined ones.
    pub fn join_buffer(&self, outer: JoinInput, output_rows: f64) -> Cost {
        let kept_ns = outer.rows * self.join_buffer_row_ns + outer.values() * self.move_value_ns;
        self.divided(kept_ns + output_rows * self.join_output_ns)
    }

    /// Keeping rows of so many columns for several readers, and reading them.
    pub fn shared_rows(&self, rows: f64, columns: usize, readers: usize) -> Cost {
        self.divided(rows * columns.max(1) as f64 * self.scan_value_ns * (1 + readers) as f64)
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
        let built = self.divided(build_ns) + self.spill(build.values(), probe.values());
        built.before_first_row() + self.divided(probe_ns + output_rows * self.join_output_ns)
    }

    /// Joining two inputs in key order, without them. One thread does it.
    pub fn merge_join(&self, left_rows: f64, right_rows: f64, output_rows: f64) -> Cost {
        alone((left_rows + right_rows) * self.merge_row_ns + output_rows * self.join_output_ns)
    }

    /// A nested loop join, without its inputs.
    pub fn nested_loop_join(&self, left_rows: f64, right_rows: f64, output_rows: f64) -> Cost {
        let pairs_ns = left_rows * right_rows.max(1.0) * self.predicate_ns * 2.0;
        self.divided(pairs_ns + output_rows * self.join_output_ns)
    }

    /// Checking predicates of this [weight](predicates_weight) above a scan.
    pub fn filter(&self, rows: f64, predicates: f64) -> Cost {
        self.divided(rows * predicates * self.predicate_ns * 2.0)
    }

    /// Computing columns of this [weight](predicates_weight).
    pub fn project(&self, rows: f64, exprs: f64) -> Cost {
        self.divided(rows * exprs * self.predicate_ns * 2.0)
    }

    /// A hash aggregate of `groups` groups by so many columns, without its input.
    pub fn hash_aggregate(&self, rows: f64, groups: f64, columns: usize, aggregates: usize) -> Cost {
        let group_ns = self.by_size(self.build_cached_ns, self.build_ns, groups) * 0.5;
        let kept = groups * (columns + aggregates) as f64;
        let rows_ns = rows * (group_ns + self.aggregate_ns * aggregates as f64);
        self.divided(rows_ns + kept * self.move_value_ns) + self.spill(kept, 0.0)
    }

    /// Aggregating rows that come ordered by their group.
    pub fn stream_aggregate(&self, rows: f64, aggregates: usize) -> Cost {
        alone(rows * (self.stream_row_ns + self.aggregate_ns * aggregates as f64))
    }

    /// Cost of computing so many window functions over sorted rows.
    pub fn window(&self, rows: f64, calls: usize) -> Cost {
        alone(rows * (self.stream_row_ns + self.aggregate_ns * calls as f64))
    }

    /// Copying rows for the levels of a rollup. `rows`: the copies.
    pub fn rollup(&self, rows: f64) -> Cost {
        alone(rows * self.stream_row_ns)
    }

    /// Sorting rows of so many columns; `fetch`: only that many first rows are kept.
    pub fn sort(&self, rows: f64, fetch: Option<u64>, columns: usize) -> Cost {
        let kept = fetch.map_or(rows, |n| rows.min(n as f64));
        let compared = kept.max(2.0).log2().clamp(1.0, 24.0) * if fetch.is_some() { 0.25 } else { 1.0 };
        let values = kept * columns as f64;
        self.divided(rows * compared * self.compare_ns + values * self.move_value_ns) + self.spill(values, 0.0)
    }

    /// Starting a subquery so many times.
    pub fn subplan_starts(&self, runs: f64) -> Cost {
        Cost::cpu(runs * self.subplan_ms)
    }

    /// How much dearer than a divided one a scan is that one thread does.
    pub fn one_stream(&self) -> f64 {
        (self.limits.threads * THREAD_GAIN).max(1.0)
    }

    /// The cost of work that the statement's threads share, of so many nanoseconds with [`MODEL_THREADS`].
    fn divided(&self, ns: f64) -> Cost {
        Cost::cpu(ns * NS * MODEL_THREADS / self.limits.threads)
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

/// The cost of work that one thread does.
fn alone(ns: f64) -> Cost {
    Cost::cpu(ns * NS)
}

/// Number of times that a buffer of `capacity` bytes is filled.
fn passes_of(bytes: f64, capacity: f64) -> f64 {
    (bytes / capacity).ceil().max(1.0)
}

/// The cost of a hash join with its inputs. `own`: that of the join itself.
pub fn hash_join_cost(left: Cost, right: Cost, build: Side, own: Cost) -> Cost {
    match build {
        Side::Left => left.before_first_row() + right + own,
        Side::Right => left + right.before_first_row() + own,
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

#[cfg(test)]
mod tests;
