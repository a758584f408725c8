//! Switches of the optimizer. Every rewrite and every optional physical choice has one; `optimizer_switch` sets it for
//! a session, a hint for single tables and indexes. The table below is the only place that pairs a switch with its
//! name.

use std::fmt;

macro_rules! switches {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal,)+) => {
        /// Something that the optimizer may do, or may be told not to do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Switch {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Switch {
            /// All switches.
            pub const ALL: &[Switch] = &[$(Switch::$variant,)+];

            /// The name of the switch in `optimizer_switch`, in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Switch::$variant => $name,)+
                }
            }

            /// The switch of a name in `optimizer_switch`, in any case of letters.
            pub fn from_name(name: &str) -> Option<Switch> {
                Switch::ALL.iter().copied().find(|switch| switch.name().eq_ignore_ascii_case(name))
            }
        }
    };
}

switches! {
    // Rewrites. What each does, the file of the same name in the optimizer says.
    /// The rewrite `aggregate_pushdown`.
    AggregatePushdown "aggregate_pushdown",
    /// The rewrite `cast_unwrapping`.
    CastUnwrapping "cast_unwrapping",
    /// The rewrite `constant_folding`.
    ConstantFolding "constant_folding",
    /// The rewrite `distinct_aggregate`.
    DistinctAggregate "distinct_aggregate",
    /// The rewrite `empty_relation`.
    EmptyRelation "empty_relation",
    /// The rewrite `equality_closure`.
    EqualityClosure "equality_closure",
    /// The rewrite `group_by_key`.
    GroupByKey "group_by_key",
    /// The rewrite `limit_pushdown`.
    LimitPushdown "limit_pushdown",
    /// The rewrite `not_pushdown`.
    NotPushdown "not_pushdown",
    /// The rewrite `null_safe_keys`.
    NullSafeKeys "null_safe_keys",
    /// The rewrite `or_factoring`.
    OrFactoring "or_factoring",
    /// The rewrite `or_implication`.
    OrImplication "or_implication",
    /// The rewrite `outer_join_simplification`.
    OuterJoinSimplification "outer_join_simplification",
    /// The rewrite `predicate_pushdown`.
    PredicatePushdown "predicate_pushdown",
    /// The rewrite `projection_merging`.
    ProjectionMerging "projection_merging",
    /// The rewrite `semijoin_to_inner`.
    SemijoinToInner "semijoin_to_inner",
    /// The rewrite `subquery_unnesting`.
    SubqueryUnnesting "subquery_unnesting",

    // Physical choices that only Muster has a switch for.
    /// Joins are ordered by cost. Off: tables are joined in the order of the statement.
    JoinOrder "join_order",
    /// Conditions become ranges of keys. Off: indexes are read whole. (The hint NO_RANGE_OPTIMIZATION turns it off.)
    RangeOptimization "range_optimization",
    /// Tables are read through key ranges and secondary indexes. Off: tables are scanned.
    AccessPath "access_path",
    /// An aggregated derived table is restricted to the keys that a selective neighbour of the join has.
    SemijoinReduction "semijoin_reduction",
    /// Joins deliver only the columns that are needed above them.
    JoinProjection "join_projection",
    /// Joins look rows up through an index, key by key or by batches of keys.
    LookupJoin "lookup_join",
    /// Rows are read in the order of an index instead of being sorted.
    IndexOrder "index_order",
    /// A scan in the order of an index that stops early has a budget, beyond which another plan takes over.
    OrderFallback "order_fallback",
    /// ORDER BY with LIMIT finds its first rows among the entries of an index, before any row is fetched.
    LateFetch "late_fetch",
    /// Rows that come ordered by their group are aggregated without a hash table.
    StreamAggregate "stream_aggregate",
    /// Inputs that come in the order of the join's keys are joined without a hash table.
    MergeJoin "merge_join",
    /// A relation that a statement has more than once is computed once, and its rows are kept.
    SharedRows "shared_rows",
    /// GROUP BY and DISTINCT read one entry of each group from an index.
    LooseIndexScan "loose_index_scan",
    /// MIN and MAX without GROUP BY read one entry each from an index.
    MinMaxByIndex "min_max_by_index",

    // Switches that MySQL or MariaDB have under the same name (MySQL manual, 10.9.2).
    /// Conditions over columns of an index are checked on its entries, before rows are fetched.
    IndexConditionPushdown "index_condition_pushdown",
    /// A scan skips from one value of the leading key parts to the next when only later parts have conditions.
    SkipScan "skip_scan",
    /// A secondary index is used as if it ended with the columns of the primary key, which it does.
    UseIndexExtensions "use_index_extensions",
    /// Rows are found through several indexes, whose primary keys are united or intersected.
    IndexMerge "index_merge",
    /// The primary keys of several index ranges are united.
    IndexMergeUnion "index_merge_union",
    /// The same as `index_merge_union`: primary keys are united in whatever order they come.
    IndexMergeSortUnion "index_merge_sort_union",
    /// The primary keys of several index ranges are intersected.
    IndexMergeIntersection "index_merge_intersection",
    /// Rows of secondary entries are fetched in primary-key order.
    Mrr "mrr",
    /// Rows are fetched in primary-key order only where that is expected to pay, so not by a scan that stops soon.
    MrrCostBased "mrr_cost_based",
    /// The keys of a lookup join are collected and looked up together. MariaDB's `join_cache_bka` has to be on, too.
    BatchedKeyAccess "batched_key_access",
    /// MariaDB's name of `batched_key_access`. Both have to be on.
    JoinCacheBka "join_cache_bka",
    /// Rows that come from another batch of keys stay in its buffer (MariaDB).
    JoinCacheIncremental "join_cache_incremental",
    /// The keys of a batch are sorted before they are looked up (MariaDB).
    MrrSortKeys "mrr_sort_keys",
    /// Inputs are joined by hash. The next two have to be on, too.
    HashJoin "hash_join",
    /// The name of `hash_join` since MySQL 8.0.20.
    BlockNestedLoop "block_nested_loop",
    /// MariaDB's name of `hash_join`.
    JoinCacheHashed "join_cache_hashed",
    /// Conditions that no index is used for count when rows are estimated.
    ConditionFanoutFilter "condition_fanout_filter",
    /// [NOT] IN and [NOT] EXISTS become semi and anti joins. Off: the subquery runs by itself.
    Semijoin "semijoin",
    /// A semi join looks rows up, and the first one found decides.
    Firstmatch "firstmatch",
    /// A semi join reads the distinct keys of the subquery in the order of an index.
    Loosescan "loosescan",
    /// A semi join becomes an inner join whose duplicates are removed afterwards.
    Duplicateweedout "duplicateweedout",
    /// A semi or anti join keeps the subquery's rows in a hash table, or starts from its distinct keys.
    Materialization "materialization",
    /// An IN that remains a subquery may compute the subquery's rows once and keep them.
    MaterializedIn "materialized_in",
    /// An IN that remains a subquery may run for each row with the row's value inside.
    InToExists "in_to_exists",
    /// The cheaper of the two ways above is taken. Off: the subquery's rows are kept where that is possible.
    SubqueryMaterializationCostBased "subquery_materialization_cost_based",
    /// Correlated scalar subqueries become joins with grouped derived tables.
    SubqueryToDerived "subquery_to_derived",
    /// Derived tables and views are merged into the query around them.
    DerivedMerge "derived_merge",
    /// Conditions move into derived tables.
    DerivedConditionPushdown "derived_condition_pushdown",
    /// A query with LIMIT may read in the order of an index in order to stop early.
    PreferOrderingIndex "prefer_ordering_index",
    /// Statements that touch few rows of one table by key run in place, from a plan that is kept.
    ShortPath "short_path",
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of switches: those that are on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Switches(u128);

const _: () = assert!(Switch::ALL.len() <= 128, "each switch is one bit of `Switches`");

impl Switches {
    pub const NONE: Switches = Switches(0);
    /// All switches are on unless something turns them off.
    pub const DEFAULT: Switches = Switches(u128::MAX >> (128 - Switch::ALL.len()));

    pub fn is_on(self, switch: Switch) -> bool {
        self.0 & (1 << switch as u32) != 0
    }

    pub fn set(&mut self, switch: Switch, on: bool) {
        let bit = 1 << switch as u32;
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}

impl fmt::Debug for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Switch::ALL.iter().filter(|switch| self.is_on(**switch))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_switches_and_of_no_other() {
        for switch in Switch::ALL {
            assert_eq!(Switch::from_name(switch.name()), Some(*switch));
            assert_eq!(Switch::from_name(&switch.name().to_uppercase()), Some(*switch));
            // The name of a switch is that of its variant in another spelling.
            assert_eq!(format!("{switch:?}").to_lowercase(), switch.name().replace('_', ""));
        }
        assert_eq!(Switch::from_name("no_such_switch"), None);
    }

    #[test]
    fn switches_are_independent() {
        for switch in Switch::ALL {
            let (mut one, mut others) = (Switches::NONE, Switches::DEFAULT);
            one.set(*switch, true);
            others.set(*switch, false);
            for other in Switch::ALL {
                assert_eq!(one.is_on(*other), other == switch);
                assert_eq!(others.is_on(*other), other != switch);
            }
        }
    }
}
