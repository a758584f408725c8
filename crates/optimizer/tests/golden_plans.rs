//! The plans of the DBT-3 and SSB queries, with the statistics that loaded databases of scale 1 and 0.1 have. Each
//! query's plan stands in `tests/plans/`; `UPDATE_PLANS=1 cargo test -p muster-optimizer` writes them anew.

mod golden;

use golden::Workload;
use muster_algebra::{Plan, PlanOp, Switch};
use muster_optimizer::Options;
use std::path::PathBuf;

fn compare_plans(workload: &Workload, queries: &str, plans: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(queries))
        .expect("the queries are in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    let update = std::env::var_os("UPDATE_PLANS").is_some();
    let mut different = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sql = std::fs::read_to_string(&file).expect("a readable query");
        let mut options = Options::default();
        options.threads = 2;
        let (plan, columns) = match workload.plan_with(&sql, &options) {
            Ok(planned) => planned,
            Err(error) => panic!("{queries}/{name}: {error:?}"),
        };
        let text = muster_explain::tree(&plan, &columns);
        assert_same_when_read_back(&plan);
        let path = root.join("tests/plans").join(plans).join(format!("{name}.plan"));
        if update {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
            std::fs::write(&path, &text).expect("a writable file");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            different.push(format!("{name}:\n{text}"));
        }
    }
    assert!(different.is_empty(), "{queries}: the plans changed\n{}", different.join("\n"));
}

/// A plan can be sent elsewhere: it is the same when it is read back.
fn assert_same_when_read_back(plan: &Plan) {
    let text = serde_json::to_string(plan).expect("plans are plain data");
    let read: Plan = serde_json::from_str(&text).expect("what was written");
    assert_eq!(*plan, read);
}

/// Rows that are locked are found by ranges of an index where there are some: its number, and the number of ranges.
#[test]
fn locked_rows_are_found_by_one_index() {
    let messages = golden::messages();
    let wanted = [
        ("update message set size = 1", (0, 1)),
        ("update message set size = 1 where id in (5, 7, 9)", (0, 3)),
        ("update message set size = 1 where id = 5 and size = 3", (0, 1)),
        ("delete from message where sender between 5 and 8 and size > 100", (2, 1)),
        ("delete from message where folder = 3 and sent > '2026-01-01' order by sent limit 10", (1, 1)),
        ("delete from message where folder = 3 order by subject", (1, 1)),
        ("delete from message order by sent desc limit 3", (5, 1)),
        // For so few rows the whole table costs less to read, and keeps all others out.
        ("delete from note where message = 7", (1, 1)),
    ];
    let mut found = Vec::new();
    for (sql, _) in wanted {
        let plan = messages.locking(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let mut below = &plan;
        while !matches!(below.op, PlanOp::Scan(_)) {
            below = below.inputs().into_iter().next().expect("a plan of one scan");
        }
        let PlanOp::Scan(scan) = &below.op else { unreachable!() };
        found.push((sql, (scan.index, scan.ranges.len())));
    }
    assert_eq!(found, wanted);
}

#[test]
fn dbt3_plans() {
    compare_plans(&golden::dbt3(), "../lab/queries/dbt3", "dbt3-1");
}

#[test]
fn dbt3_plans_at_scale_0_1() {
    compare_plans(&golden::small_dbt3(), "../lab/queries/dbt3", "dbt3-0.1");
}

#[test]
fn article_variants_plans() {
    compare_plans(&golden::dbt3(), "../lab/queries/dbt3-variants", "dbt3-variants");
}

#[test]
fn ssb_plans() {
    compare_plans(&golden::ssb(), "../lab/queries/ssb", "ssb-1");
}

#[test]
fn ssb_plans_at_scale_0_1() {
    compare_plans(&golden::small_ssb(), "../lab/queries/ssb", "ssb-0.1");
}

/// Ranges of every shape, scans that skip, merged indexes.
#[test]
fn access_plans() {
    compare_plans(&golden::messages(), "tests/queries/access", "access");
}

/// Whatever is switched off, there is a plan, which keeps what its operators promise.
#[test]
fn every_switch_leaves_a_plan() {
    for (workload, folder) in [(golden::small_dbt3(), "dbt3"), (golden::small_ssb(), "ssb")] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../lab/queries").join(folder);
        for entry in std::fs::read_dir(folder).expect("the queries are in the repository") {
            let path = entry.expect("a readable folder").path();
            let sql = std::fs::read_to_string(&path).expect("a readable query");
            for switch in Switch::ALL {
                let planned = workload.plan_with(&sql, &Options::default().without(*switch));
                assert!(planned.is_ok(), "{} without {switch:?}: {:?}", path.display(), planned.err());
            }
        }
    }
}

fn nodes<'a>(plan: &'a Plan, found: &mut Vec<&'a Plan>) {
    found.push(plan);
    plan.inputs().into_iter().for_each(|input| nodes(input, found));
}

/// Every correlated subquery of the benchmark becomes a join: none may run once a row.
#[test]
fn no_subplan_of_dbt3_has_parameters() {
    let workload = golden::dbt3();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../lab/queries/dbt3");
    for entry in std::fs::read_dir(folder).expect("the queries are in the repository") {
        let path = entry.expect("a readable folder").path();
        let (plan, _) = workload.plan(&std::fs::read_to_string(&path).expect("a readable query")).expect("a plan");
        let mut all = Vec::new();
        nodes(&plan, &mut all);
        for node in all {
            if let PlanOp::Filter { predicates, .. } = &node.op {
                for predicate in predicates {
                    predicate.visit(&mut |e| {
                        if let muster_algebra::Expr::Subplan(p) = e {
                            assert!(p.params.is_empty(), "{} runs a subquery for each row", path.display());
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn a_primary_key_is_looked_up_in_one_range() {
    let (plan, _) = golden::dbt3().plan("select o_totalprice from orders where o_orderkey = 7").expect("a plan");
    let PlanOp::Scan(scan) = &plan.op else { panic!("not a scan alone: {plan:?}") };
    assert_eq!((scan.index, scan.ranges.len(), scan.filter.len()), (0, 1, 0));
}

#[test]
fn order_by_key_descending_with_limit_reads_backwards() {
    let sql = "select o_orderkey from orders order by o_orderkey desc limit 20";
    let (plan, _) = golden::dbt3().plan(sql).expect("a plan");
    let mut all = Vec::new();
    nodes(&plan, &mut all);
    assert!(all.iter().all(|n| !matches!(n.op, PlanOp::Sort { .. })));
    let PlanOp::Scan(scan) = &all.last().expect("a leaf").op else { panic!("a scan is the leaf") };
    assert_eq!((scan.ordered, scan.reverse, scan.limit), (true, true, Some(20)));
}

/// The operators of a query's plan, top down, with the tables that are scanned and looked up.
fn operators(sql: &str, options: &Options) -> Vec<String> {
    let (plan, _) = golden::dbt3().plan_with(sql, options).unwrap_or_else(|e| panic!("{e}: {sql}"));
    let mut all = Vec::new();
    nodes(&plan, &mut all);
    let name = |plan: &&Plan| match &plan.op {
        PlanOp::Scan(scan) => Some(scan.alias.clone()),
        PlanOp::HashJoin { .. } => Some("hash".into()),
        PlanOp::MergeJoin { .. } => Some("merge".into()),
        PlanOp::LookupJoin { lookup, batched, .. } => {
            Some(format!("{} {}", if *batched { "bka" } else { "lookup" }, lookup.alias))
        }
        PlanOp::NestedLoopJoin { .. } => Some("loop".into()),
        PlanOp::HashAggregate { .. } => Some("group".into()),
        PlanOp::StreamAggregate { .. } => Some("stream".into()),
        _ => None,
    };
    all.iter().filter_map(name).collect()
}

/// Hints force and forbid each way to join, whatever it costs.
#[test]
fn hints_decide_how_tables_are_joined() {
    let options = Options::default();
    for (hints, expected) in [
        ("HASH_JOIN(o, l)", &["hash"][..]),
        ("BKA(l)", &["bka l", "o"]),
        ("BKA(o)", &["bka o", "l"]),
        ("BKA(l) NO_BKA(l)", &["bka l", "o"]),
        ("NO_BKA(l) NO_HASH_JOIN(l, o) NO_MERGE_JOIN(l, o) JOIN_PREFIX(o)", &["lookup l", "o"]),
        ("MERGE_JOIN(o, l)", &["merge"]),
        ("JOIN_ORDER(l, o) BKA(o) BKA(l)", &["bka o", "l"]),
    ] {
        let sql = format!(
            "select /*+ {hints} */ o_totalprice, l_tax from orders o join lineitem l on o_orderkey = l_orderkey"
        );
        let found = operators(&sql, &options);
        assert_eq!(found[..expected.len()], *expected, "{hints}: {found:?}");
    }
}

/// Joins of every kind in the order of their keys, where a hint wants them so.
#[test]
fn left_semi_and_anti_joins_merge() {
    let options = Options::default();
    let semi = "select /*+ MERGE_JOIN(o) */ o_totalprice from orders o where";
    let line = "(select /*+ MERGE_JOIN(l) */ 1 from lineitem l where o_orderkey = l_orderkey and l_tax > 0.02)";
    for sql in [
        "select /*+ MERGE_JOIN(o, l) */ o_totalprice, l_tax from orders o left join lineitem l on o_orderkey = l_orderkey",
        &format!("{semi} exists {line}"),
        &format!("{semi} not exists {line}"),
    ] {
        assert_eq!(operators(sql, &options), ["merge", "o", "l"], "{sql}");
    }
    let left = "from orders o left join lineitem l on o_orderkey = l_orderkey group by o_orderkey";
    let counted =
        operators(&format!("select /*+ MERGE_JOIN(o, l) */ o_orderkey, max(l_tax * o_totalprice) {left}"), &options);
    assert_eq!(counted, ["stream", "merge", "o", "l"], "the left side's order is the join's");
    for off in ["NO_MERGE_JOIN(o)", "NO_MERGE_JOIN(l)"] {
        let found = operators(&format!("select /*+ {off} */ o_orderkey, max(l_tax * o_totalprice) {left}"), &options);
        assert!(!found.contains(&"merge".to_string()), "{off}: {found:?}");
    }
}

#[test]
fn order_hints_and_straight_joins_keep_their_order() {
    let tables = |list: &[String]| -> Vec<String> {
        list.iter().filter(|n| ["c", "o", "l", "n"].contains(&n.as_str())).cloned().collect()
    };
    let joined = "where c_custkey = o_custkey and o_orderkey = l_orderkey and c_nationkey = n_nationkey";
    for (select, from, expected) in [
        ("select /*+ JOIN_FIXED_ORDER() NO_BKA() HASH_JOIN() */", "lineitem l, customer c, orders o, nation n", "lcon"),
        ("select straight_join /*+ HASH_JOIN() */", "nation n, orders o, lineitem l, customer c", "nolc"),
        ("select /*+ JOIN_ORDER(l, n, o, c) HASH_JOIN() */", "customer c, orders o, lineitem l, nation n", "lnoc"),
        (
            "select /*+ JOIN_PREFIX(o, l) JOIN_SUFFIX(n) HASH_JOIN() */",
            "customer c, orders o, lineitem l, nation n",
            "olcn",
        ),
    ] {
        let sql = format!("{select} count(l_tax), max(o_totalprice), max(c_name), max(n_name) from {from} {joined}");
        let found = tables(&operators(&sql, &Options::default())).concat();
        assert_eq!(found, expected, "{sql}");
    }
    let sql = "select o_totalprice, l_tax from lineitem l straight_join orders o on o_orderkey = l_orderkey where o_orderkey < 9";
    let found = operators(sql, &Options::default());
    assert!(found.iter().any(|n| n == "bka o") || tables(&found).concat() == "lo", "{found:?}");
}

/// Semi joins have their strategies, each of which can be had alone.
#[test]
fn hints_decide_how_subqueries_are_joined() {
    let options = Options::default();
    for (hint, expected) in
        [("SEMIJOIN(@q FIRSTMATCH)", "bka l"), ("SEMIJOIN(@q MATERIALIZATION)", "hash"), ("NO_SEMIJOIN(@q)", "o")]
    {
        let sql = format!(
            "select /*+ {hint} */ o_totalprice from orders o
             where o_orderkey in (select /*+ QB_NAME(q) */ l_orderkey from lineitem l where l_quantity > 49)"
        );
        let found = operators(&sql, &options);
        assert_eq!(found[0], expected, "{hint}: {found:?}");
    }
}

#[test]
fn set_operations_are_joined_by_keys() {
    let sql = "select o_clerk, o_shippriority from orders o intersect select c_name, c_nationkey from customer c";
    assert!(operators(sql, &Options::default()).contains(&"hash".to_string()));
    assert!(operators(sql, &Options::default().without(Switch::NullSafeKeys)).contains(&"loop".to_string()));
}

/// A list that is too long for ranges is looked up as the rows of a table are.
#[test]
fn long_lists_are_looked_up() {
    let list = |n: usize| (0..n).map(|i| (i * 7).to_string()).collect::<Vec<_>>().join(",");
    for n in [30_000, 60_000] {
        let sql = format!("select o_totalprice from orders where o_orderkey in ({})", list(n));
        let (plan, _) = golden::dbt3().plan(&sql).expect("a plan");
        assert!((n as f64 * 0.8..=n as f64).contains(&plan.estimate.rows), "{n}: {} rows", plan.estimate.rows);
        let mut all = Vec::new();
        nodes(&plan, &mut all);
        let by_key = |n: &&&Plan| match &n.op {
            PlanOp::Scan(scan) => scan.ranges.len() > 1000,
            PlanOp::LookupJoin { lookup, .. } => lookup.index == 0,
            _ => false,
        };
        assert!(all.iter().any(|n| by_key(&n)), "{n}: {:?}", operators(&sql, &Options::default()));
    }
}
