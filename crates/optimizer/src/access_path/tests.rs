use super::*;
use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use muster_algebra::{CompareOp, IndexHintKind, KeyInterval, Rel, Value};
use std::ops::Bound;

struct Case {
    table: Arc<TableDef>,
    columns: Vec<(ColId, usize)>,
    ids: Vec<ColId>,
    statistics: Injected,
    estimator: Estimator,
}

/// A table of a million rows: t(id, a, b, c), keys on a and on (b, a).
fn case() -> Case {
    let mut t = Tables::new();
    let made = t.table_with("t", &["id", "a", "b", "c"], |def| {
        def.indexes.push(index(1, "i_a", &[1], false));
        def.indexes.push(index(2, "i_ba", &[2, 1], false));
    });
    let statistics =
        Injected::default().rows("t", 1e6).distinct("t", 0, 1e6).distinct("t", 1, 1e5).distinct("t", 2, 4.0);
    let mut estimator = Estimator::default();
    estimator.learn(&made.rel, &statistics);
    let Rel::Get { table, columns, .. } = made.rel else { unreachable!("a table") };
    Case { table, columns, ids: made.ids, statistics, estimator }
}

impl Case {
    /// All rows that meet the conjuncts, in any order.
    fn request<'c>(&'c self, conjuncts: &'c [Expr], required: &'c ColSet, known: &'c KnownRanges) -> Request<'c> {
        Request {
            table: &self.table,
            alias: "t",
            columns: &self.columns,
            hints: &[],
            conjuncts,
            required,
            order: &[],
            limit: None,
            takes_risks: true,
            known,
        }
    }

    fn scan(&self, conjuncts: Vec<Expr>, wanted: &[usize], hints: &[IndexHint]) -> Scan {
        self.ordered(conjuncts, wanted, hints, &[], None)
    }

    fn ordered(
        &self,
        conjuncts: Vec<Expr>,
        wanted: &[usize],
        hints: &[IndexHint],
        order: &[SortKey],
        limit: Option<u64>,
    ) -> Scan {
        let required: ColSet = wanted.iter().map(|c| self.ids[*c]).collect();
        let known = KnownRanges::default();
        let request = Request { hints, order, limit, ..self.request(&conjuncts, &required, &known) };
        let Chosen { plan, .. } = choose(request, &self.statistics, &self.estimator, &Options::default());
        match plan.op {
            PlanOp::Scan(scan) => scan,
            other => panic!("not a scan: {other:?}"),
        }
    }
}

fn hint(kind: IndexHintKind, index: usize) -> IndexHint {
    IndexHint { kind, scope: IndexHintScope::All, indexes: vec![index] }
}

#[test]
fn few_rows_are_fetched_and_many_scanned() {
    let case = case();
    // Ten rows by a; a quarter of the table by b.
    let few = case.scan(vec![eq(case.ids[1], 5)], &[3], &[]);
    assert_eq!((few.index, few.filter.len(), few.is_covering()), (1, 0, false));
    let many = case.scan(vec![eq(case.ids[2], 1)], &[3], &[]);
    assert_eq!((many.index, many.filter.len()), (0, 1));
    assert_eq!(many.ranges, vec![KeyRange::all()]);
}

#[test]
fn a_covering_index_serves_many_rows_too() {
    let case = case();
    let scan = case.scan(vec![eq(case.ids[2], 1)], &[0, 1], &[]);
    assert_eq!((scan.index, scan.is_covering()), (2, true));
}

#[test]
fn a_dive_corrects_the_estimate() {
    let mut case = case();
    case.statistics = case.statistics.dive("t", 1, 400_000.0);
    assert_eq!(case.scan(vec![eq(case.ids[1], 5)], &[3], &[]).index, 0);
}

#[test]
fn hints_are_followed() {
    let case = case();
    let quarter = || vec![eq(case.ids[2], 1)];
    assert_eq!(case.scan(quarter(), &[3], &[hint(IndexHintKind::Force, 2)]).index, 2);
    // USE only names candidates; the scan stays cheaper.
    assert_eq!(case.scan(quarter(), &[3], &[hint(IndexHintKind::Use, 2)]).index, 0);
    let ten = || vec![eq(case.ids[1], 5)];
    assert_eq!(case.scan(ten(), &[3], &[hint(IndexHintKind::Ignore, 1)]).index, 2);
    let both = [hint(IndexHintKind::Ignore, 1), hint(IndexHintKind::Ignore, 2)];
    assert_eq!(case.scan(ten(), &[3], &both).index, 0);
    // An index that no condition can use is not forced.
    let other = vec![eq(case.ids[3], 5)];
    assert_eq!(case.scan(other, &[3], &[hint(IndexHintKind::Force, 2)]).index, 0);
}

#[test]
fn order_is_read_from_an_index_when_a_limit_stops_it() {
    let case = case();
    let by = |column: usize, descending| [SortKey { expr: case.ids[column].expr(), descending }];
    let last = case.ordered(vec![], &[0, 3], &[], &by(0, true), Some(20));
    assert_eq!((last.index, last.ordered, last.reverse, last.limit), (0, true, true, Some(20)));
    let first = case.ordered(vec![], &[1, 3], &[], &by(1, false), Some(20));
    assert_eq!((first.index, first.ordered, first.reverse), (1, true, false));
    // One row in a million qualifies: reading in order would read everything.
    let few = in_list(case.ids[1], &[5, 6]);
    let rare = case.ordered(vec![eq(case.ids[3], 5), few], &[0, 3], &[], &by(0, true), Some(20));
    assert_eq!((rare.index, rare.ordered, rare.limit), (1, false, None));
}

#[test]
fn behind_equal_parts_an_index_is_ordered_by_the_next() {
    let case = case();
    let by = |columns: &[usize]| -> Vec<SortKey> {
        columns.iter().map(|c| SortKey { expr: case.ids[*c].expr(), descending: false }).collect()
    };
    let order = |conjunct: Expr, columns: &[usize]| {
        let scan = case.ordered(vec![conjunct], &[0, 3], &[], &by(columns), Some(20));
        (scan.index, scan.ordered)
    };
    // The key over (b, a) ends with id.
    assert_eq!(order(eq(case.ids[2], 1), &[1, 0]), (2, true));
    assert_eq!(order(eq(case.ids[2], 1), &[2, 1]), (2, true));
    assert_eq!(order(eq(case.ids[1], 1), &[0]), (1, true));
    assert_ne!(order(eq(case.ids[2], 1), &[0, 1]), (2, true));
    assert_ne!(order(in_list(case.ids[2], &[1, 2]), &[1]), (2, true));
}

#[test]
fn few_values_of_the_first_part_are_skipped_through() {
    let mut case = case();
    let ignore = [hint(IndexHintKind::Ignore, 1)];
    let scan = case.scan(vec![eq(case.ids[1], 5)], &[3], &ignore);
    let five = KeyInterval { lower: Bound::Included(Value::Int(5)), upper: Bound::Included(Value::Int(5)) };
    assert_eq!((scan.index, &scan.ranges, &scan.steering), (2, &vec![KeyRange::all()], &vec![None, Some(vec![five])]));
    // The condition is checked all the same.
    assert_eq!(scan.index_condition, vec![eq(case.ids[1], 5)]);
    // As many values as rows: each entry would be gone to.
    case.statistics = case.statistics.distinct("t", 2, 1e6);
    assert_eq!(case.scan(vec![eq(case.ids[1], 5)], &[3], &ignore).index, 0);
}

#[test]
fn a_range_is_skipped_through_too() {
    let case = case();
    // A range of b, few values of a behind it.
    let conjuncts = vec![lt(case.ids[2], 2), in_list(case.ids[1], &[5, 6])];
    let scan = case.scan(conjuncts, &[3], &[hint(IndexHintKind::Force, 2)]);
    assert_eq!((scan.index, scan.ranges.len(), scan.steering.len(), scan.index_condition.len()), (2, 1, 2, 1));
}

#[test]
fn columns_of_the_filter_are_not_delivered() {
    let case = case();
    let scan = case.scan(vec![compare(CompareOp::NotEq, case.ids[2], 1)], &[3], &[]);
    assert_eq!(scan.columns, vec![(case.ids[3], 3)]);
    assert_eq!(scan.filter_columns, vec![(case.ids[2], 2)]);
}

#[test]
fn what_drops_most_for_its_cost_is_checked_first() {
    let case = case();
    let (weak, strong) = (compare(CompareOp::NotEq, case.ids[2], 1), eq(case.ids[3], 7));
    let scan = case.scan(vec![weak.clone(), strong.clone()], &[0], &[]);
    assert_eq!(scan.filter, vec![strong, weak]);
}

/// The number of rows that a plan of the table is expected to give.
fn expected_rows(case: &Case, conjuncts: &[Expr]) -> f64 {
    let required: ColSet = case.ids.iter().copied().collect();
    let known = KnownRanges::default();
    let request = case.request(conjuncts, &required, &known);
    choose(request, &case.statistics, &case.estimator, &Options::default()).plan.estimate.rows
}

/// `a` has 100,000 values, but half of the rows have this one.
#[test]
fn a_dive_raises_an_estimate_too() {
    let mut case = case();
    case.statistics = case.statistics.dive("t", 1, 500_000.0);
    assert_eq!(expected_rows(&case, &[eq(case.ids[1], 5)]), 500_000.0);
    // A condition that the index says nothing of counts besides.
    let rest = expected_rows(&case, &[eq(case.ids[1], 5), lt(case.ids[3], 5)]);
    assert!((rest - 500_000.0 / 3.0).abs() < 1.0, "{rest}");
}

/// Two columns of an index that depend on each other: the index knows how many rows have both values.
#[test]
fn a_dive_knows_correlated_columns() {
    let mut case = case();
    case.statistics = case.statistics.dive("t", 1, 10.0).dive("t", 2, 9.0);
    assert_eq!(expected_rows(&case, &[eq(case.ids[1], 5), eq(case.ids[2], 1)]), 9.0);
    case.statistics = case.statistics.dive("t", 1, 10.0).dive("t", 2, 10.0);
    assert_eq!(expected_rows(&case, &[eq(case.ids[1], 5), eq(case.ids[2], 1)]), 10.0);
}

/// A filter is given no more rows than its ranges hold.
#[test]
fn ranges_bound_what_is_left() {
    let mut case = case();
    case.statistics = case.statistics.dive("t", 1, 7.0);
    let rows = expected_rows(&case, &[lt(case.ids[1], 5), compare(CompareOp::NotEq, case.ids[2], 1)]);
    assert!(rows <= 7.0, "{rows}");
}

/// Where the executor turns to the other plan in time, an ordered scan need not win by much.
#[test]
fn a_budget_allows_less_caution() {
    let case = case();
    // A quarter of the rows qualifies: 80 rows are read for 20, if they come evenly.
    let by_id = [SortKey { expr: case.ids[0].expr(), descending: true }];
    let conjuncts = vec![eq(case.ids[2], 1), lt(case.ids[3], 5)];
    let required: ColSet = [case.ids[0], case.ids[3]].into();
    let cost = |options: &Options| {
        let known = KnownRanges::default();
        let request = Request { order: &by_id, limit: Some(20), ..case.request(&conjuncts, &required, &known) };
        choose(request, &case.statistics, &case.estimator, options).plan.estimate.cost.compared_ms()
    };
    let (bounded, open) = (cost(&Options::default()), cost(&Options::default().without(Switch::OrderFallback)));
    assert!((open / bounded - CAUTION / BOUNDED_CAUTION).abs() < 1e-6, "{open} and {bounded}");
}
