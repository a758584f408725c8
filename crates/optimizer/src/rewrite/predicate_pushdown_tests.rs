use super::*;
use crate::testing::builder::*;
use muster_algebra::AggregateFunction;

#[test]
fn conditions_of_a_cross_join_become_its_own_and_its_inputs() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let rel = filter(join(r.clone(), s.clone(), vec![]), vec![eq(a, b), lt(x, 5), lt(y, 6)]);
    let expected = join(filter(r, vec![lt(x, 5)]), filter(s, vec![lt(y, 6)]), vec![eq(a, b)]);
    assert_eq!(t.run(run, rel), expected);
}

#[test]
fn nothing_passes_to_the_null_extended_side() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let rel =
        filter(join_of(JoinKind::Left, r.clone(), s.clone(), vec![eq(a, b), lt(y, 6)]), vec![lt(x, 5), is_null(y)]);
    // What the join itself asks of the right side may be asked there.
    let below = join_of(JoinKind::Left, filter(r, vec![lt(x, 5)]), filter(s, vec![lt(y, 6)]), vec![eq(a, b)]);
    assert_eq!(t.run(run, rel), filter(below, vec![is_null(y)]));
}

#[test]
fn only_group_columns_pass_an_aggregate() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (aggregate, count) = t.aggregate(r.clone(), &[x], AggregateFunction::Count, Some(a));
    let Rel::Aggregate { aggregates, .. } = &aggregate else { unreachable!("an aggregate") };
    let below =
        Rel::Aggregate { input: Box::new(filter(r, vec![lt(x, 5)])), group: vec![x], aggregates: aggregates.clone() };
    let rel = filter(aggregate, vec![lt(x, 5), lt(count, 9)]);
    assert_eq!(t.run(run, rel), filter(below, vec![lt(count, 9)]));
}

#[test]
fn limits_hold_conditions_back() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let limited = Rel::Limit { input: Box::new(r), offset: 0, count: Some(3) };
    let rel = filter(limited, vec![lt(a, 5)]);
    assert_eq!(t.run(run, rel.clone()), rel);
}

#[test]
fn projections_are_seen_through() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let out = t.computed("y");
    let rel = filter(project(r.clone(), vec![(a, a.expr()), (out, x.expr())]), vec![lt(out, 5)]);
    let expected = project(filter(r, vec![lt(x, 5)]), vec![(a, a.expr()), (out, x.expr())]);
    assert_eq!(t.run(run, rel), expected);
}

#[test]
fn every_input_of_a_union_gets_its_copy() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let (s, _, y) = t.table("s", &["b", "y"]).pair();
    let out = t.computed("u");
    let union = |left, right| Rel::Union { inputs: vec![(left, vec![a]), (right, vec![y])], columns: vec![out] };
    let rel = filter(union(r.clone(), s.clone()), vec![lt(out, 5)]);
    assert_eq!(t.run(run, rel), union(filter(r, vec![lt(a, 5)]), filter(s, vec![lt(y, 5)])));
}
