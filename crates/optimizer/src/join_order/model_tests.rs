//! Rows of joins by keys of several columns.

use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{ColId, ColumnStatistics, Expr, JoinKind, Rel};

/// Joins tables with a primary key of two columns by the whole key. Returns the rows that are expected.
fn joined_by_key(sizes: &[f64]) -> f64 {
    let mut t = Tables::new();
    let mut statistics = Injected::default();
    let mut joined: Option<(Rel, Vec<_>)> = None;
    for (i, rows) in sizes.iter().enumerate() {
        let name = format!("t{i}");
        let table = t.table_with(&name, &["k", "l"], |def| def.indexes[0] = index(0, "PRIMARY", &[0, 1], true));
        statistics = statistics.rows(&name, *rows).distinct(&name, 0, 100.0).distinct(&name, 1, 50.0);
        joined = Some(match joined {
            None => (table.rel, table.ids),
            Some((left, ids)) => {
                let on: Vec<Expr> = ids.iter().zip(&table.ids).map(|(a, b)| eq(*a, *b)).collect();
                (join_of(JoinKind::Inner, left, table.rel, on), ids)
            }
        });
    }
    let (rel, _) = joined.expect("there is a table");
    let options = Options::default();
    optimize(rel, &mut t.columns, &statistics, &options).expect("a plan").estimate.rows
}

#[test]
fn a_row_finds_one_partner_by_a_key_of_several_columns() {
    for sizes in [&[1000.0, 700.0][..], &[700.0, 1000.0], &[1000.0, 700.0, 900.0], &[100.0, 1000.0, 1000.0]] {
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let rows = joined_by_key(sizes);
        assert!(rows <= least * 1.001 && rows >= least * 0.3, "{sizes:?}: {rows}");
    }
}

/// Two tables of 10,000 rows, joined by their second columns, with what is known of these.
fn joined(known: [ColumnStatistics; 2], kind: JoinKind, above: impl Fn(ColId) -> Vec<Expr>) -> f64 {
    let mut t = Tables::new();
    let (l, r) = (t.table("l", &["a", "x"]), t.table("r", &["b", "y"]));
    let on = vec![eq(l.ids[1], r.ids[1])];
    let conditions = above(r.ids[0]);
    let rel = join_of(kind, l.rel, r.rel, on);
    let rel = if conditions.is_empty() { rel } else { filter(rel, conditions) };
    let rel = project(rel, vec![(l.ids[0], Expr::Column(l.ids[0]))]);
    let [left, right] = known;
    let statistics = Injected::default().rows("l", 1e4).rows("r", 1e4).column("l", 1, left).column("r", 1, right);
    optimize(rel, &mut t.columns, &statistics, &Options::default()).expect("a plan").estimate.rows
}

fn of(distinct: f64, null_share: f64) -> ColumnStatistics {
    ColumnStatistics { distinct, null_share, ..ColumnStatistics::default() }
}

#[test]
fn null_keys_find_no_partner() {
    let rows = joined([of(100.0, 0.95), of(100.0, 0.5)], JoinKind::Inner, |_| Vec::new());
    assert!((rows - 1e4 * 1e4 * 0.05 * 0.5 / 100.0).abs() < 1.0, "{rows}");
    let semi = joined([of(100.0, 0.95), of(100.0, 0.0)], JoinKind::Semi, |_| Vec::new());
    assert!((semi - 500.0).abs() < 1.0, "{semi}");
}

#[test]
fn anti_joins_may_leave_next_to_nothing() {
    let rows = joined([of(100.0, 0.0), of(100.0, 0.0)], JoinKind::Anti, |_| Vec::new());
    assert!(rows <= 100.0, "{rows}: every value has partners");
    let rows = joined([of(100.0, 0.3), of(100.0, 0.0)], JoinKind::Anti, |_| Vec::new());
    assert!((rows - 3000.0).abs() < 1.0, "{rows}: NULL has none");
}

/// NULLs that the join makes are not in the statistics of the table.
#[test]
fn rows_without_a_partner_are_expected() {
    // Half of the values of x are values of y.
    let known = || [of(1000.0, 0.0), of(500.0, 0.0)];
    let anti = joined(known(), JoinKind::Left, |b| vec![is_null(b)]);
    assert!((anti - 5000.0).abs() < 10.0, "{anti}");
    // The column may be NULL in rows that have a partner, too, so that this stays a left join.
    let either = |b| vec![Expr::Logic { op: muster_algebra::LogicOp::Or, args: vec![is_null(b), eq(b, 3)] }];
    let left = joined(known(), JoinKind::Left, either);
    assert!((4000.0..7000.0).contains(&left), "{left}");
}

/// A join by two columns that depend on each other: an index knows how many pairs there are.
#[test]
fn pairs_of_columns_are_no_independent_keys() {
    let rows = |pairs: Option<f64>| {
        let mut t = Tables::new();
        let l = t.table("l", &["a", "x", "z"]);
        let r = t.table_with("r", &["b", "y", "w"], |def| def.indexes.push(index(1, "i", &[1, 2], false)));
        let mut statistics = Injected::default().rows("l", 1e4).rows("r", 1e4);
        for (table, column) in [("l", 1), ("l", 2), ("r", 1), ("r", 2)] {
            statistics = statistics.distinct(table, column, 100.0);
        }
        if let Some(pairs) = pairs {
            statistics = statistics.index("r", 1, 10.0, 1.0);
            let known = statistics.indexes.get_mut(&("r".into(), 1)).expect("set above");
            known.distinct = vec![100.0, pairs];
        }
        let on = vec![eq(l.ids[1], r.ids[1]), eq(l.ids[2], r.ids[2])];
        let rel = join(l.rel, r.rel, on);
        optimize(rel, &mut t.columns, &statistics, &Options::default()).expect("a plan").estimate.rows
    };
    assert!((rows(None) - 1e4).abs() < 1.0);
    assert!((rows(Some(100.0)) - 1e6).abs() < 1e3, "{}: the second column says nothing new", rows(Some(100.0)));
}

/// Half of the rows of both sides have one value.
#[test]
fn common_values_of_both_sides_meet() {
    let mut t = Tables::new();
    let (l, r) = (t.table("l", &["a", "x"]), t.table("r", &["b", "y"]));
    let rows = |i: i64| vec![Some(i), Some(if i % 2 == 0 { 7 } else { 10 + i % 1000 })];
    let mut statistics = Injected::default().rows("l", 1e5).rows("r", 1e5);
    for table in ["l", "r"] {
        statistics = statistics.distinct(table, 1, 501.0).sampled(table, (0..2000).map(rows).collect());
    }
    let rel = join(l.rel, r.rel, vec![eq(l.ids[1], r.ids[1])]);
    let rows = optimize(rel, &mut t.columns, &statistics, &Options::default()).expect("a plan").estimate.rows;
    assert!((2.4e9..2.7e9).contains(&rows), "{rows}");
}

/// Ten rows look up a table by its primary key of which the statistics say that it had two rows; it has a million.
#[test]
fn a_key_finds_one_row_however_old_its_statistics_are() {
    for kind in [JoinKind::Inner, JoinKind::Left] {
        for is_sampled in [false, true] {
            let mut t = Tables::new();
            let (l, r) = (t.table("l", &["a", "x"]), t.table("r", &["b", "y"]));
            let mut statistics = Injected::default().rows("l", 10.0).rows("r", 1e6);
            statistics = statistics.distinct("l", 1, 2.0).distinct("r", 0, 2.0);
            if is_sampled {
                let rows = |i: i64| vec![Some(i), Some(i % 2)];
                statistics = statistics.sampled("l", (0..2).map(rows).collect());
                statistics = statistics.sampled("r", (0..2).map(rows).collect());
            }
            let rel = join_of(kind, l.rel, r.rel, vec![eq(l.ids[1], r.ids[0])]);
            let plan = optimize(rel, &mut t.columns, &statistics, &Options::default()).expect("a plan");
            assert!(plan.estimate.rows <= 10.01, "{kind:?}, {is_sampled}: {}", plan.estimate.rows);
        }
    }
}

/// The rest of a key of which a column is equal to a constant is a key.
#[test]
fn a_key_with_a_constant_finds_one_row() {
    for kind in [JoinKind::Inner, JoinKind::Left] {
        let mut t = Tables::new();
        let l = t.table("l", &["a", "x"]);
        let r = t.table_with("r", &["k", "l"], |def| def.indexes[0] = index(0, "PRIMARY", &[0, 1], true));
        let mut statistics = Injected::default().rows("l", 10.0).rows("r", 1e6);
        statistics = statistics.distinct("l", 1, 2.0).distinct("r", 0, 2.0).distinct("r", 1, 2.0);
        let rel = join_of(kind, l.rel, filter(r.rel, vec![eq(r.ids[1], 5)]), vec![eq(l.ids[1], r.ids[0])]);
        let plan = optimize(rel, &mut t.columns, &statistics, &Options::default()).expect("a plan");
        assert!(plan.estimate.rows <= 10.01, "{kind:?}: {}", plan.estimate.rows);
    }
}
