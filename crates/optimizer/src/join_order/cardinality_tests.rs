use super::*;
use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use muster_algebra::ColumnStatistics;

/// A column with 100 values from 0 to 1000, a tenth of the rows NULL.
fn estimator() -> (Estimator, ColId, ColId) {
    changed_since(0.0)
}

/// The same, when a share of the rows has changed since that was found out.
fn changed_since(changed_share: f64) -> (Estimator, ColId, ColId) {
    let mut t = Tables::new();
    let (rel, id, x) = t.table("t", &["id", "x"]).pair();
    let mut statistics = Injected::default().rows("t", 1e6).distinct("t", 0, 1e6);
    let known = ColumnStatistics {
        distinct: 100.0,
        null_share: 0.1,
        min: Some(Value::Int(0)),
        max: Some(Value::Int(1000)),
        changed_share,
    };
    statistics.columns.insert(("t".into(), 1), known);
    let mut estimator = Estimator::default();
    estimator.learn(&rel, &statistics);
    (estimator, id, x)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1e-9)
}

#[test]
fn ranges_are_interpolated_and_bounds_combined() {
    let (e, _, x) = estimator();
    let ge = compare(CompareOp::GtEq, x, 250);
    assert!(close(e.selectivity(std::slice::from_ref(&ge)), 0.75 * 0.9));
    assert!(close(e.selectivity(&[ge, lt(x, 500)]), 0.25 * 0.9));
}

#[test]
fn equality_is_one_value_of_many() {
    let (e, id, x) = estimator();
    assert!(close(e.selectivity(&[eq(x, 5)]), 0.9 / 100.0));
    assert!(close(e.selectivity(&[in_list(x, &[1, 2, 3])]), 3.0 * 0.9 / 100.0));
    assert!(e.selectivity(&[eq(x, 5000)]) < 1e-6, "outside of all values");
    assert!(close(e.selectivity(&[eq(id, 5)]), 1e-6));
    assert!(close(e.selectivity(&[is_null(x)]), 0.1));
}

#[test]
fn few_rows_have_few_groups() {
    let (e, id, x) = estimator();
    assert!(e.groups(&[x], 1e6) > 99.0);
    assert!(e.groups(&[x], 10.0) < 10.0);
    assert!(e.groups(&[id, x], 5e5) <= 5e5);
    assert_eq!(e.groups(&[], 1e6), 1.0);
}

#[test]
fn rows_that_came_later_may_be_outside_of_the_known_range() {
    let share = |changed: f64, op, value| changed_since(changed).0.selectivity(&[compare(op, ColId(1), value)]) / 0.9;
    let (_, _, x) = estimator();
    assert_eq!(x, ColId(1));
    // A tenth came: about 111 values more.
    assert!(close(share(0.1, CompareOp::Gt, 5000), 0.1), "all that came may be there");
    assert!(close(share(0.1, CompareOp::Lt, -1), 0.1));
    assert!(close(share(0.0, CompareOp::Gt, 5000), 0.01), "one value, since somebody asks for it");
    assert!(close(share(0.1, CompareOp::Gt, 900), 0.1 + 0.1));
    assert!(close(share(0.1, CompareOp::Lt, 500), 0.5));
    let (e, _, x) = changed_since(0.1);
    assert!(close(
        e.selectivity(&[compare(CompareOp::Gt, x, 900), lt(x, 1055)]) / 0.9,
        0.1 + 0.1 * 55.0 / (100.0 / 0.9)
    ));
    assert!(close(e.selectivity(&[eq(x, 5000)]), 0.9 / 100.0));
}
