//! The experiments, as data: a query, and the strategies by which it is run.
//!
//! Each strategy is pinned by session variables and index hints, and says what its plan must show, so that a run
//! measures what it claims to. The first one is what the others are compared with. `docs/lab.md` tells what the
//! literature expects of each.

use crate::Workload;

/// A question that runs answer.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    pub name: &'static str,
    pub title: &'static str,
    /// The expected outcome, in a sentence.
    pub expectation: &'static str,
    pub workload: Workload,
    pub strategies: &'static [Strategy],
}

/// One way to run the queries.
#[derive(Debug, Clone, Copy)]
pub struct Strategy {
    pub name: &'static str,
    /// The arguments of SET for the session, or for all sessions (`global ...`).
    pub settings: &'static [&'static str],
    pub queries: Queries,
    /// Parts of the first query's EXPLAIN FORMAT=TREE that tell the strategy.
    pub shows: &'static [&'static str],
    /// Parts that must not be there.
    pub lacks: &'static [&'static str],
}

/// The queries of one run, in order.
#[derive(Debug, Clone, Copy)]
pub enum Queries {
    One(&'static str),
    /// A text with one of its words replaced.
    Changed(&'static str, &'static str, &'static str),
    /// All queries of the workload.
    Workload,
}

impl Experiment {
    pub fn find(name: &str) -> Option<&'static Experiment> {
        EXPERIMENTS.iter().find(|e| e.name == name)
    }

    /// The texts that a strategy runs, without a final semicolon.
    pub fn texts(&self, strategy: &Strategy) -> Vec<String> {
        let one = |sql: &str| sql.trim().trim_end_matches(';').to_owned();
        match strategy.queries {
            Queries::One(sql) => vec![one(sql)],
            Queries::Changed(sql, from, to) => vec![one(&sql.replace(from, to))],
            Queries::Workload => self.workload.queries().iter().map(|q| one(q.sql)).collect(),
        }
    }
}

macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../queries/", $name, ".sql"))
    };
}

const Q3: &str = sql!("lab/q3-secondary");
const Q10: &str = sql!("lab/q10-orderdate");
const Q16: &str = sql!("dbt3-variants/seed-q16");
const Q18_IN: &str = sql!("dbt3-variants/seed-q18-in");
const Q19: &str = sql!("dbt3-variants/seed-q19");
const AVERAGE: &str = sql!("lab/average-shipdate");
const LIMIT: &str = sql!("dbt3-variants/seed-subselect-limit");

/// Joins by lookup, so that only the way of looking up differs.
const LOOKUPS: &str = "optimizer_switch = 'hash_join=off,merge_join=off,mrr_cost_based=off'";

/// Settings without buffers of keys: each row is looked up, and fetched, by itself.
const ROW_BY_ROW: &str =
    "optimizer_switch = 'hash_join=off,merge_join=off,mrr_cost_based=off,mrr=off,batched_key_access=off'";

/// A strategy that is pinned by nothing.
const fn free(query: &'static str) -> Strategy {
    Strategy { name: "as the optimizer chooses", settings: &[], queries: Queries::One(query), shows: &[], lacks: &[] }
}

pub const EXPERIMENTS: &[Experiment] = &[ICP, MRR, BKA, MATERIALIZATION, DERIVED, ORDER_LIMIT, RANGE_AVERAGE, SSB_POOL];

const ICP: Experiment = Experiment {
    name: "icp",
    title: "Index condition pushdown, DBT-3 Q19",
    expectation: "18 times fewer page reads of lineitem through i_l_partkey; nothing through an index without the columns",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "i_l_partkey, row by row, no ICP",
            settings: &[ROW_BY_ROW, "optimizer_switch = 'index_condition_pushdown=off'"],
            queries: Queries::One(Q19),
            shows: &["Index lookup on lineitem using i_l_partkey"],
            lacks: &["index condition", "Batched key access", "multi-range read"],
        },
        Strategy {
            name: "i_l_partkey, row by row, ICP",
            settings: &[ROW_BY_ROW],
            queries: Queries::One(Q19),
            shows: &["Index lookup on lineitem using i_l_partkey", "index condition"],
            lacks: &["Batched key access", "multi-range read"],
        },
        Strategy {
            name: "i_l_partkey, no ICP",
            settings: &[LOOKUPS, "optimizer_switch = 'index_condition_pushdown=off'"],
            queries: Queries::One(Q19),
            shows: &["lookup on lineitem using i_l_partkey"],
            lacks: &["index condition"],
        },
        Strategy {
            name: "i_l_partkey, ICP",
            settings: &[LOOKUPS],
            queries: Queries::One(Q19),
            shows: &["lookup on lineitem using i_l_partkey", "index condition"],
            lacks: &[],
        },
        Strategy {
            name: "i_l_suppkey_partkey, no ICP",
            settings: &[LOOKUPS, "optimizer_switch = 'index_condition_pushdown=off'"],
            queries: Queries::Changed(Q19, "i_l_partkey", "i_l_suppkey_partkey"),
            shows: &["lookup on lineitem using i_l_suppkey_partkey"],
            lacks: &["index condition"],
        },
        Strategy {
            name: "i_l_suppkey_partkey, ICP",
            settings: &[LOOKUPS],
            queries: Queries::Changed(Q19, "i_l_partkey", "i_l_suppkey_partkey"),
            shows: &["lookup on lineitem using i_l_suppkey_partkey"],
            lacks: &["index condition"],
        },
        Strategy { queries: Queries::Changed(Q19, "force index (i_l_partkey)", ""), ..free(Q19) },
    ],
};

const MRR: Experiment = Experiment {
    name: "mrr",
    title: "Multi-range read, DBT-3 Q10 over i_o_orderdate",
    expectation: "at least 10 times less disk time: orders come in key order, and so do the lookups into lineitem",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "row by row",
            settings: &[ROW_BY_ROW],
            queries: Queries::One(Q10),
            shows: &["range scan on orders using i_o_orderdate", "lookup on lineitem using PRIMARY"],
            lacks: &["multi-range read", "Batched key access"],
        },
        Strategy {
            name: "MRR, 256 KiB",
            settings: &[
                LOOKUPS,
                "optimizer_switch = 'batched_key_access=off'",
                "mrr_buffer_size = 262144",
                "read_rnd_buffer_size = 262144",
            ],
            queries: Queries::One(Q10),
            shows: &[
                "range scan on orders using i_o_orderdate",
                "multi-range read",
                "lookup on lineitem using PRIMARY",
            ],
            lacks: &["Batched key access"],
        },
        Strategy {
            name: "MRR, 4 MiB",
            settings: &[
                LOOKUPS,
                "optimizer_switch = 'batched_key_access=off'",
                "mrr_buffer_size = 4194304",
                "read_rnd_buffer_size = 4194304",
            ],
            queries: Queries::One(Q10),
            shows: &[
                "range scan on orders using i_o_orderdate",
                "multi-range read",
                "lookup on lineitem using PRIMARY",
            ],
            lacks: &["Batched key access"],
        },
        Strategy {
            name: "MRR, 4 MiB, and BKA",
            settings: &[LOOKUPS, "mrr_buffer_size = 4194304", "read_rnd_buffer_size = 4194304"],
            queries: Queries::One(Q10),
            shows: &["range scan on orders using i_o_orderdate", "multi-range read", "Batched key access"],
            lacks: &[],
        },
        free(sql!("dbt3-variants/seed-q10")),
    ],
};

const BKA: Experiment = Experiment {
    name: "bka",
    title: "Batched key access, DBT-3 Q3 through i_o_custkey and i_l_orderkey",
    expectation: "at least 10 times less disk time; large buffers need fewer passes",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "row by row",
            settings: &[ROW_BY_ROW],
            queries: Queries::One(Q3),
            shows: &["Index lookup on orders using i_o_custkey", "Index lookup on lineitem using i_l_orderkey"],
            lacks: &["multi-range read", "Batched key access"],
        },
        Strategy {
            name: "BKA, both buffers 128 KiB",
            settings: &[
                LOOKUPS,
                "join_buffer_size = 131072",
                "mrr_buffer_size = 131072",
                "read_rnd_buffer_size = 131072",
            ],
            queries: Queries::One(Q3),
            shows: &[
                "lookup on orders using i_o_custkey",
                "lookup on lineitem using i_l_orderkey",
                "Batched key access",
            ],
            lacks: &[],
        },
        Strategy {
            name: "BKA, join buffer 6 MiB",
            settings: &[
                LOOKUPS,
                "join_buffer_size = 6291456",
                "mrr_buffer_size = 131072",
                "read_rnd_buffer_size = 131072",
            ],
            queries: Queries::One(Q3),
            shows: &[
                "lookup on orders using i_o_custkey",
                "lookup on lineitem using i_l_orderkey",
                "Batched key access",
            ],
            lacks: &[],
        },
        Strategy {
            name: "BKA, both buffers 6 MiB",
            settings: &[
                LOOKUPS,
                "join_buffer_size = 6291456",
                "mrr_buffer_size = 6291456",
                "read_rnd_buffer_size = 6291456",
            ],
            queries: Queries::One(Q3),
            shows: &[
                "lookup on orders using i_o_custkey",
                "lookup on lineitem using i_l_orderkey",
                "Batched key access",
            ],
            lacks: &[],
        },
        Strategy {
            name: "BKA, both 6 MiB, keys as they come",
            settings: &[
                LOOKUPS,
                "optimizer_switch = 'mrr_sort_keys=off'",
                "join_buffer_size = 6291456",
                "mrr_buffer_size = 6291456",
                "read_rnd_buffer_size = 6291456",
            ],
            queries: Queries::One(Q3),
            shows: &["lookup on orders using i_o_custkey", "lookup on lineitem using i_l_orderkey", "(unsorted)"],
            lacks: &[],
        },
        Strategy {
            name: "hash join",
            settings: &["optimizer_switch = 'lookup_join=off,merge_join=off'"],
            queries: Queries::One(Q3),
            shows: &["hash join"],
            lacks: &["lookup"],
        },
        Strategy {
            queries: Queries::Changed(sql!("dbt3-variants/seed-q3"), "force index (i_l_orderkey)", ""),
            ..free(Q3)
        },
    ],
};

const MATERIALIZATION: Experiment = Experiment {
    name: "materialization",
    title: "Materialised subquery, DBT-3 Q16",
    expectation: "at least 25 % less time than asking the subquery's table for each row",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "asked for each supplier",
            settings: &["optimizer_switch = 'semijoin=off'"],
            queries: Queries::One(sql!("lab/q16-exists")),
            shows: &["dependent", "lookup on supplier using PRIMARY"],
            lacks: &[],
        },
        Strategy {
            name: "materialised",
            settings: &[],
            queries: Queries::One(Q16),
            shows: &["Hash antijoin"],
            lacks: &[],
        },
    ],
};

const DERIVED: Experiment = Experiment {
    name: "derived",
    title: "IN against a derived table, DBT-3 Q18",
    expectation: "as a derived table a third less time than as a condition; one plan for both texts is better still",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "IN, as a condition",
            settings: &["optimizer_switch = 'semijoin=off,subquery_to_derived=off'"],
            queries: Queries::One(Q18_IN),
            shows: &["subquery in condition"],
            lacks: &[],
        },
        Strategy {
            name: "IN, as the optimizer chooses",
            settings: &[],
            queries: Queries::One(Q18_IN),
            shows: &[],
            lacks: &["subquery in condition"],
        },
        Strategy {
            name: "derived table",
            settings: &[],
            queries: Queries::One(sql!("dbt3-variants/seed-q18-derived")),
            shows: &[],
            lacks: &["subquery in condition"],
        },
    ],
};

const ORDER_LIMIT: Experiment = Experiment {
    name: "order-limit",
    title: "Unselective WHERE, ORDER BY primary key DESC LIMIT 20",
    expectation: "reading in order stops after a few rows; sorting reads all",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "sorted",
            settings: &["optimizer_switch = 'prefer_ordering_index=off'"],
            queries: Queries::One(LIMIT),
            shows: &["Sort"],
            lacks: &[],
        },
        Strategy {
            name: "in index order",
            settings: &[],
            queries: Queries::One(LIMIT),
            shows: &["using PRIMARY (reverse)"],
            lacks: &["Sort"],
        },
    ],
};

const RANGE_AVERAGE: Experiment = Experiment {
    name: "range-average",
    title: "Average price over a month of l_shipdate",
    expectation: "an order of magnitude less disk time with multi-range read; a scan of the table is in between",
    workload: Workload::Dbt3,
    strategies: &[
        Strategy {
            name: "row by row",
            settings: &["optimizer_switch = 'mrr=off'"],
            queries: Queries::One(AVERAGE),
            shows: &["range scan on lineitem using i_l_shipdate"],
            lacks: &["multi-range read"],
        },
        Strategy {
            name: "MRR, 256 KiB",
            settings: &["mrr_buffer_size = 262144", "read_rnd_buffer_size = 262144"],
            queries: Queries::One(AVERAGE),
            shows: &["range scan on lineitem using i_l_shipdate", "multi-range read"],
            lacks: &[],
        },
        Strategy {
            name: "MRR, 4 MiB",
            settings: &["mrr_buffer_size = 4194304", "read_rnd_buffer_size = 4194304"],
            queries: Queries::One(AVERAGE),
            shows: &["range scan on lineitem using i_l_shipdate", "multi-range read"],
            lacks: &[],
        },
        Strategy {
            name: "scan of the table",
            settings: &[],
            queries: Queries::Changed(AVERAGE, "force index (i_l_shipdate)", "use index ()"),
            shows: &["Table scan on lineitem"],
            lacks: &[],
        },
        Strategy { queries: Queries::Changed(AVERAGE, "force index (i_l_shipdate)", ""), ..free(AVERAGE) },
    ],
};

const SSB_POOL: Experiment = Experiment {
    name: "ssb-buffer-pool",
    title: "The 13 queries of SSB in sequence, again and again",
    expectation: "with no setting touched, repeated runs find at least as many pages in the pool as with the better of \
                  old_blocks_time 0 and 1000",
    workload: Workload::Ssb,
    strategies: &[
        Strategy {
            name: "old_blocks_time 0",
            settings: &["global innodb_old_blocks_time = 0"],
            queries: Queries::Workload,
            shows: &[],
            lacks: &[],
        },
        Strategy {
            name: "old_blocks_time 1000",
            settings: &["global innodb_old_blocks_time = 1000"],
            queries: Queries::Workload,
            shows: &[],
            lacks: &[],
        },
        Strategy { name: "nothing set", settings: &[], queries: Queries::Workload, shows: &[], lacks: &[] },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_texts_changed() {
        assert_eq!(EXPERIMENTS.len(), 8);
        for e in EXPERIMENTS {
            assert_eq!(Experiment::find(e.name).map(|f| f.title), Some(e.title));
            for s in e.strategies {
                if let Queries::Changed(sql, from, _) = s.queries {
                    assert!(sql.contains(from), "{}: {}", e.name, s.name);
                }
                assert!(e.texts(s).iter().all(|t| !t.ends_with(';')));
            }
        }
        assert!(Experiment::find("nothing").is_none());
        let icp = Experiment::find("icp").unwrap();
        assert!(icp.texts(&icp.strategies[4])[0].contains("force index (i_l_suppkey_partkey)"));
    }
}
