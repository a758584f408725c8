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
        histogram: None,
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

/// t(id, x) of a million rows; `x` has 100 values and is NULL in this share of the rows.
fn with_nulls(null_share: f64, distinct: f64) -> (Estimator, ColId) {
    let mut t = Tables::new();
    let (rel, _, x) = t.table("t", &["id", "x"]).pair();
    let known = ColumnStatistics { distinct, null_share, ..ColumnStatistics::default() };
    let statistics = Injected::default().rows("t", 1e6).distinct("t", 0, 1e6).column("t", 1, known);
    let mut estimator = Estimator::default();
    estimator.learn(&rel, &statistics);
    (estimator, x)
}

#[test]
fn conditions_that_exclude_values_exclude_null() {
    let (e, x) = with_nulls(0.95, 100.0);
    let not = |list| match in_list(x, list) {
        Expr::InList { arg, list, .. } => Expr::InList { arg, list, negated: true },
        other => other,
    };
    let not_equal = compare(CompareOp::NotEq, x, 5);
    for condition in [not_equal.clone(), not(&[5]), Expr::Not(Box::new(eq(x, 5)))] {
        assert!(close(e.selectivity([&condition]), 0.05 * 0.99), "{condition:?}");
    }
    assert!(close(e.selectivity([&not(&[5, 6, 7])]), 0.05 * 0.97));
    let (e, x) = with_nulls(1.0, 0.0);
    for condition in [compare(CompareOp::Gt, x, 5), compare(CompareOp::NotEq, x, 5), eq(x, 5), lt(x, 5)] {
        assert!(e.selectivity([&condition]) < 1e-6, "{condition:?} of a column without a value");
    }
    assert_eq!(e.selectivity([&is_null(x)]), 1.0);
}

/// A text column with values from 'b' to 'w'.
fn of_texts(null_share: f64) -> (Estimator, ColId, impl Fn(&str) -> Expr) {
    let mut t = Tables::new();
    let ty = muster_types::SqlType::varchar(20, muster_types::Collation::DEFAULT);
    let table = t.table_with("t", &["id", "x"], |def| def.columns[1].ty = ty);
    let text = |s: &str| Value::Text(s.into());
    let (min, max) = (Some(text("bbb")), Some(text("www")));
    let known = ColumnStatistics { distinct: 1e4, null_share, min, max, ..ColumnStatistics::default() };
    let statistics = Injected::default().rows("t", 1e6).column("t", 1, known);
    let mut estimator = Estimator::default();
    estimator.learn(&table.rel, &statistics);
    (estimator, table.ids[1], move |s: &str| Expr::literal(Value::Text(s.into()), ty))
}

fn like(id: ColId, pattern: Expr, negated: bool) -> Expr {
    Expr::Like { arg: Box::new(Expr::Column(id)), pattern: Box::new(pattern), escape: Some('\\'), negated }
}

#[test]
fn texts_lie_on_a_line() {
    let (e, x, text) = of_texts(0.0);
    let between =
        |low, high| e.selectivity([&compare(CompareOp::GtEq, x, text(low)), &compare(CompareOp::LtEq, x, text(high))]);
    // Values begin with one of the 22 letters from b to w.
    assert!((0.15..0.35).contains(&between("c", "h")), "{}", between("c", "h"));
    assert!((0.75..=1.0).contains(&between("c", "v")), "{}", between("c", "v"));
    assert!(between("xa", "xz") <= 1e-3 && e.selectivity([&eq(x, text("zzz"))]) < 1e-6, "outside of all values");
    let beginning = e.selectivity([&like(x, text("d%"), false)]);
    assert!((0.01..0.1).contains(&beginning), "{beginning}");
    assert!(e.selectivity([&like(x, text("z%"), false)]) <= 1e-3);
    let (e, x, text) = of_texts(0.95);
    let share = e.selectivity([&like(x, text("%d%"), true)]);
    assert!((0.04..=0.05).contains(&share), "{share}: NOT LIKE leaves NULL out");
}

/// t(id, a, b, c) with a sample: `b` follows `a`, half of the rows have `a` = 7, `c` is above `a` in nine of ten rows.
fn sampled() -> (Estimator, Vec<ColId>) {
    let mut t = Tables::new();
    let table = t.table("t", &["id", "a", "b", "c"]);
    let row = |i: i64| {
        let a = if i % 2 == 0 { 7 } else { 100 + i * 7919 % 500 };
        vec![Some(i * 500), Some(a), Some(a / 10), Some(if i % 10 == 0 { a - 1 } else { a + 1 })]
    };
    let statistics = Injected::default()
        .rows("t", 1e6)
        .distinct("t", 0, 1e6)
        .distinct("t", 1, 501.0)
        .distinct("t", 2, 51.0)
        .distinct("t", 3, 800.0)
        .sampled("t", (0..2000).map(row).collect());
    let mut estimator = Estimator::default();
    estimator.learn(&table.rel, &statistics);
    (estimator, table.ids)
}

#[test]
fn a_sample_knows_common_and_correlated_values() {
    let (e, ids) = sampled();
    let (a, b, c) = (ids[1], ids[2], ids[3]);
    assert!(close(e.selectivity([&eq(a, 7)]), 0.5), "a common value");
    assert!(e.selectivity([&eq(a, 333)]) < 0.01);
    assert!(close(e.selectivity([&eq(a, 7), &eq(b, 0)]), 0.5), "both say the same");
    assert!(e.selectivity([&eq(a, 7), &eq(b, 20)]) < 0.001, "they contradict each other");
    let above = e.selectivity([&compare(CompareOp::Lt, a, c)]);
    assert!((above - 0.9).abs() < 0.01, "{above}");
    let pairs = e.combined_distinct(&[a, b]).expect("a sample");
    assert!((250.0..280.0).contains(&pairs), "{pairs}");
    assert!(e.groups(&[a, b], 1e6) < 280.0);
    // Given that a = 7, b = 0 is certain.
    assert!(e.conditional(&[&eq(b, 0)], &[&eq(a, 7)]) > 0.99);
}

#[test]
fn a_sample_that_has_not_met_a_row_leaves_the_estimate() {
    let (e, ids) = sampled();
    let share = e.selectivity([&eq(ids[0], 5), &eq(ids[1], 7)]);
    assert!((1e-8..1e-5).contains(&share), "{share}");
}

#[test]
fn sums_of_groups_lie_where_their_values_say() {
    let mut t = Tables::new();
    let (rel, _, x) = t.table("t", &["id", "x"]).pair();
    let bounds = (Some(Value::Int(1)), Some(Value::Int(50)));
    let known = ColumnStatistics { distinct: 50.0, min: bounds.0, max: bounds.1, ..ColumnStatistics::default() };
    let statistics = Injected::default().rows("t", 6e6).column("t", 1, known);
    let (grouped, sum) = t.aggregate(rel, &[ColId(0)], muster_algebra::AggregateFunction::Sum, Some(x));
    let mut e = Estimator::default();
    e.learn(&grouped, &statistics);
    assert!(close(e.selectivity([&compare(CompareOp::Gt, sum, 300)]), AGGREGATE_SHARE), "before it is planned");
    let Rel::Aggregate { aggregates, .. } = &grouped else { unreachable!("an aggregate") };
    e.learn_groups(aggregates, 6e6, 1.5e6);
    // Four rows of 25 each in the mean.
    assert!(e.selectivity([&compare(CompareOp::Gt, sum, 300)]) < 0.001);
    assert!((0.4..0.6).contains(&e.selectivity([&compare(CompareOp::Gt, sum, 100)])));
    assert!(e.selectivity([&lt(sum, 300)]) > 0.99);
}
