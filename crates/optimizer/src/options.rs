//! Switches: every rewrite and every optional physical choice has a name and can be turned off (or on) by it.

use std::collections::BTreeMap;

/// Physical choices that are not rewrites: name and default.
const PHYSICAL: &[(&str, bool)] = &[
    // Order joins by cost; off: as written.
    ("join_order", true),
    // Use key ranges and secondary indexes; off: full scans.
    ("access_path", true),
    // Restrict an aggregated derived relation to the keys that a selective neighbour of the join has.
    ("semijoin_reduction", true),
    // Joins deliver only the columns needed above them.
    ("join_projection", true),
    // Look rows up through an index, key by key or by batches of keys.
    ("lookup_join", true),
    // Read in index order instead of sorting.
    ("index_order", true),
    // Aggregate an input that comes ordered by its group without a hash table.
    ("stream_aggregate", false),
    ("merge_join", false),
    // Compute a relation that comes more than once in a statement once, and keep its rows.
    ("shared_rows", true),
    // GROUP BY and DISTINCT read one entry of each group from an index.
    ("loose_index_scan", true),
    // MIN and MAX without GROUP BY read one entry each from an index.
    ("min_max_by_index", true),
    // From here on MySQL's and MariaDB's switches of the same names (manual 10.9.2).
    // Conditions over columns of an index are checked on its entries, before rows are fetched.
    ("index_condition_pushdown", true),
    // Scans go from one value of the leading parts to the next when there are only conditions on later ones.
    ("skip_scan", true),
    // Secondary indexes end with the columns of the primary key.
    ("use_index_extensions", true),
    // Rows are found through several indexes, whose primary keys are united or intersected.
    ("index_merge", true),
    ("index_merge_union", true),
    // Primary keys are united whatever order they come in, so this is the same.
    ("index_merge_sort_union", true),
    ("index_merge_intersection", true),
    // Rows of secondary entries are fetched in primary-key order.
    ("mrr", true),
    // Keys of a lookup join are collected and looked up together.
    ("batched_key_access", true),
    // Joins by hash. MySQL 8.0.20 and later has them under the older name; both have to be on.
    ("hash_join", true),
    ("block_nested_loop", true),
    // [NOT] IN and [NOT] EXISTS become semi and anti joins; off: the subquery runs by itself.
    ("semijoin", true),
    // Semi joins look rows up; the first one found decides.
    ("firstmatch", true),
    // Semi joins keep the subquery's rows in a hash table.
    ("materialization", true),
    // Correlated scalar subqueries become joins with grouped derived tables.
    ("subquery_to_derived", true),
    // Derived tables and views are merged into the query around them.
    ("derived_merge", true),
    // Conditions move into derived tables.
    ("derived_condition_pushdown", true),
    // Read in index order to stop early under LIMIT.
    ("prefer_ordering_index", true),
];

/// What the optimizer may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    switches: BTreeMap<&'static str, bool>,
    /// Join regions of at most this many relations are ordered exhaustively, larger ones greedily.
    pub exhaustive_relations_max: usize,
    /// Bytes that the ranges of one index may take (MySQL's variable of this name); 0: any number. Conditions that need more
    /// are not made ranges.
    pub range_optimizer_max_mem_size: u64,
}

impl Default for Options {
    fn default() -> Self {
        let rewrites = crate::rewrite::PASSES.iter().map(|p| (p.name, true));
        Options {
            switches: rewrites.chain(PHYSICAL.iter().copied()).collect(),
            exhaustive_relations_max: 10,
            range_optimizer_max_mem_size: 8 << 20,
        }
    }
}

impl Options {
    /// Whether the switch is on; an unknown name is off.
    pub fn is_on(&self, name: &str) -> bool {
        self.switches.get(name).copied().unwrap_or(false)
    }

    /// Whether a rewrite may run: its own switch is on, and MySQL's for what it does.
    pub fn allows(&self, rewrite: &str) -> bool {
        let also = match rewrite {
            "projection_merging" => "derived_merge",
            _ => rewrite,
        };
        self.is_on(rewrite) && self.is_on(also)
    }

    /// Whether joins may be made by hash.
    pub fn hash_joins(&self) -> bool {
        self.is_on("hash_join") && self.is_on("block_nested_loop")
    }

    /// Sets a switch; `false` when no switch has this name.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        match self.switches.get_mut(name) {
            Some(switch) => {
                *switch = on;
                true
            }
            None => false,
        }
    }

    /// These options with one switch off.
    pub fn without(mut self, name: &str) -> Options {
        self.set(name, false);
        self
    }

    /// All switches and their states, by name.
    pub fn switches(&self) -> impl Iterator<Item = (&'static str, bool)> + '_ {
        self.switches.iter().map(|(name, on)| (*name, *on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_found_by_name() {
        let mut options = Options::default();
        assert!(options.is_on("predicate_pushdown") && !options.is_on("merge_join"));
        assert!(options.set("predicate_pushdown", false));
        assert!(!options.is_on("predicate_pushdown"));
        assert!(!options.set("no_such_switch", true) && !options.is_on("no_such_switch"));
    }
}
