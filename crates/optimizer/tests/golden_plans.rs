//! The plans of the DBT-3 and SSB queries, with the statistics of scale 1 injected. Each query's plan stands in
//! `tests/plans/`; `UPDATE_PLANS=1 cargo test -p muster-optimizer` writes them anew.

mod golden;

use golden::Workload;
use muster_algebra::{Plan, PlanOp};
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
        let (plan, columns) = match workload.plan(&sql) {
            Ok(planned) => planned,
            Err(error) => panic!("{queries}/{name}: {error:?}"),
        };
        let text = muster_algebra::explain::tree(&plan, &columns);
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

#[test]
fn dbt3_plans() {
    compare_plans(&golden::dbt3(), "../lab/queries/dbt3", "dbt3");
}

#[test]
fn article_variants_plans() {
    compare_plans(&golden::dbt3(), "../lab/queries/dbt3-variants", "dbt3-variants");
}

#[test]
fn ssb_plans() {
    compare_plans(&golden::ssb(), "../lab/queries/ssb", "ssb");
}

/// Ranges of every shape, scans that skip, merged indexes.
#[test]
fn access_plans() {
    compare_plans(&golden::messages(), "tests/queries/access", "access");
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
