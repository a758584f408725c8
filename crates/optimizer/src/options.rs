//! Switches: every rewrite and every optional physical choice has a name and can be turned off (or on) by it, for the whole
//! statement or, by hints, for single tables and indexes.

use muster_algebra::{ColId, HintTarget, Hints, Rel, SwitchHint};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Physical choices that are not rewrites: name and default.
const PHYSICAL: &[(&str, bool)] = &[
    // Order joins by cost; off: as written.
    ("join_order", true),
    // Ranges of keys; off: indexes are read whole. (A hint only: NO_RANGE_OPTIMIZATION.)
    ("range_optimization", true),
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
    ("stream_aggregate", true),
    // Join inputs that come in the order of their keys without a hash table.
    ("merge_join", true),
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
    // Only where that is expected to pay: not for a scan in index order that stops soon.
    ("mrr_cost_based", true),
    // Keys of a lookup join are collected and looked up together. MariaDB has it under the other name; both have to be on.
    ("batched_key_access", true),
    ("join_cache_bka", true),
    // Rows that come from another batch of keys stay in its buffer (MariaDB).
    ("join_cache_incremental", true),
    // The keys collected are sorted before they are looked up (MariaDB).
    ("mrr_sort_keys", true),
    // Joins by hash. MySQL 8.0.20 and later has them under the older name, MariaDB under the last; all have to be on.
    ("hash_join", true),
    ("block_nested_loop", true),
    ("join_cache_hashed", true),
    // Conditions that no index is used for count when rows are estimated.
    ("condition_fanout_filter", true),
    // [NOT] IN and [NOT] EXISTS become semi and anti joins; off: the subquery runs by itself.
    ("semijoin", true),
    // Semi joins look rows up; the first one found decides.
    ("firstmatch", true),
    // Semi joins go from the distinct keys of the subquery, read in the order of an index.
    ("loosescan", true),
    // Semi joins become inner joins whose duplicates are removed afterwards.
    ("duplicateweedout", true),
    // Semi and anti joins keep the subquery's rows in a hash table, or go from its distinct keys.
    ("materialization", true),
    // An IN that stays a subquery keeps its rows, or runs for each row with the row's value inside ...
    ("materialized_in", true),
    ("in_to_exists", true),
    // ... whichever costs less; off: it keeps its rows where it may.
    ("subquery_materialization_cost_based", true),
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
    /// Of the statement.
    pub hints: Hints,
    /// Switches that a hint set for one index, by the index's position.
    by_index: BTreeMap<(&'static str, usize), bool>,
    /// Switches that hints turned on: to be used whatever they cost.
    forced: BTreeSet<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        let rewrites = crate::rewrite::PASSES.iter().map(|p| (p.name, true));
        Options {
            switches: rewrites.chain(PHYSICAL.iter().copied()).collect(),
            exhaustive_relations_max: 10,
            range_optimizer_max_mem_size: 8 << 20,
            hints: Hints::default(),
            by_index: BTreeMap::new(),
            forced: BTreeSet::new(),
        }
    }
}

impl Options {
    /// Whether the switch is on; an unknown name is off.
    pub fn is_on(&self, name: &str) -> bool {
        self.switches.get(name).copied().unwrap_or(false)
    }

    /// Whether the switch is on for one index of a table. Of options [`for_rel`](Self::for_rel) that table.
    pub fn is_on_for(&self, name: &'static str, index: usize) -> bool {
        self.by_index.get(&(name, index)).copied().unwrap_or_else(|| self.is_on(name))
    }

    /// Whether a hint turned the switch on. Of options [`for_rel`](Self::for_rel) a table.
    pub fn is_forced(&self, name: &str) -> bool {
        self.forced.contains(name)
    }

    /// The same for one index of the table.
    pub fn is_forced_for(&self, name: &'static str, index: usize) -> bool {
        self.by_index.get(&(name, index)).copied().unwrap_or_else(|| self.is_forced(name))
    }

    /// Uses what a switch allows, whatever it costs.
    #[cfg(test)]
    pub fn force(&mut self, name: &'static str) {
        self.forced.insert(name);
    }

    /// The options as hints change them for a relation: a table with conditions, a derived one, or the right side of a
    /// join that was a subquery.
    pub fn for_rel(&self, rel: &Rel) -> Cow<'_, Options> {
        if self.hints.switches.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut bare = rel;
        while let Rel::Filter { input, .. } = bare {
            bare = input;
        }
        let leading = first_column(bare);
        let delivered = match bare {
            Rel::Get { .. } => Vec::new(),
            other => other.output(),
        };
        let is_table = matches!(bare, Rel::Get { .. });
        self.with_hints(|hint| match hint.target {
            HintTarget::Block => leading.is_some_and(|id| hint.columns.contains(&id)),
            HintTarget::Derived => delivered.iter().any(|id| hint.columns.contains(id)),
            HintTarget::Table => is_table && leading.is_some_and(|id| hint.columns.contains(&id)),
        })
    }

    /// The options as hints change them for the query block that a relation begins with.
    pub fn for_block(&self, rel: &Rel) -> Cow<'_, Options> {
        let leading = first_column(rel);
        self.with_hints(|h| h.target == HintTarget::Block && leading.is_some_and(|id| h.columns.contains(&id)))
    }

    /// The options as hints change them for a derived table that delivers these columns.
    pub fn for_derived(&self, columns: &[ColId]) -> Cow<'_, Options> {
        self.with_hints(|h| h.target == HintTarget::Derived && columns.iter().any(|id| h.columns.contains(id)))
    }

    fn with_hints(&self, applies: impl Fn(&SwitchHint) -> bool) -> Cow<'_, Options> {
        let mut changed = Cow::Borrowed(self);
        for hint in self.hints.switches.iter().filter(|h| applies(h)) {
            let options = changed.to_mut();
            match &hint.indexes {
                Some(indexes) => {
                    options.by_index.extend(indexes.iter().map(|index| ((hint.switch, *index), hint.on)));
                }
                None => {
                    options.set(hint.switch, hint.on);
                    if hint.on {
                        options.forced.insert(hint.switch);
                    } else {
                        options.forced.remove(hint.switch);
                    }
                }
            }
        }
        changed
    }

    /// Whether a rewrite may run: its own switch is on, and MySQL's for what it does, if only for some derived table.
    pub fn allows(&self, rewrite: &str) -> bool {
        let hinted = |switch: &str| self.hints.switches.iter().any(|hint| hint.on && hint.switch == switch);
        let merges = || self.is_on("derived_merge") || hinted("derived_merge");
        self.is_on(rewrite) && (rewrite != "projection_merging" || merges())
    }

    /// Whether joins may be made by hash.
    pub fn hash_joins(&self) -> bool {
        self.is_on("hash_join") && self.is_on("block_nested_loop") && self.is_on("join_cache_hashed")
    }

    /// Whether the keys of a lookup join are collected and looked up together.
    pub fn batches_keys(&self) -> bool {
        self.is_on("batched_key_access") && self.is_on("join_cache_bka")
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

/// A column of the base table that a relation's text begins with.
fn first_column(rel: &Rel) -> Option<ColId> {
    match rel {
        Rel::Get { columns, .. } => columns.first().map(|(id, _)| *id),
        other => other.inputs().into_iter().find_map(first_column),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_found_by_name() {
        let mut options = Options::default();
        assert!(options.is_on("predicate_pushdown") && options.is_on("merge_join"));
        assert!(options.set("predicate_pushdown", false));
        assert!(!options.is_on("predicate_pushdown"));
        assert!(!options.set("no_such_switch", true) && !options.is_on("no_such_switch"));
    }
}
