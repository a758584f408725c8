use super::*;
use crate::{
    Options, optimize,
    testing::{builder::*, statistics::Injected},
};
use muster_algebra::{AggregateFunction, SubqueryKind, Switch, TableDef};
use std::sync::Arc;

/// Totals of `f` (b, x) by b, rows with x below `bound` only; the columns of the result.
fn totals(t: &mut Tables, f: &Arc<TableDef>, bound: i64) -> (Rel, ColId, ColId) {
    let table = t.get(f.clone());
    let (b, x) = (table.ids[1], table.ids[2]);
    let (rel, total) = t.aggregate(filter(table.rel, vec![lt(x, bound)]), &[b], AggregateFunction::Sum, Some(x));
    (rel, b, total)
}

/// Totals that are the largest of the totals below `bound`; numbers of the shared rows in the plan.
fn largest(bound: i64, options: &Options) -> Vec<usize> {
    let mut t = Tables::new();
    let Rel::Get { table: f, .. } = t.table("f", &["a", "b", "x"]).rel else { unreachable!() };
    let (outer, _, total) = totals(&mut t, &f, 5);
    let (inner, _, value) = totals(&mut t, &f, bound);
    let (max, largest) = t.aggregate(inner, &[], AggregateFunction::Max, Some(value));
    let rel = filter(outer, vec![eq(total, subquery(SubqueryKind::Scalar, max, &[largest]))]);
    let statistics = Injected::default().rows("f", 1e6).distinct("f", 1, 100.0);
    let mut plan = optimize(rel, &mut t.columns, &statistics, options).unwrap();
    let mut found = Vec::new();
    for_each(&mut plan, &mut |p| {
        if let PlanOp::Shared { id, .. } = &p.op {
            found.push(*id);
        }
    });
    found
}

#[test]
fn equal_aggregates_are_computed_once() {
    let options = Options::default();
    assert_eq!(largest(5, &options), [1, 1]);
    assert!(largest(6, &options).is_empty(), "another condition");
    assert!(largest(5, &options.without(Switch::SharedRows)).is_empty());
}

#[test]
fn only_what_is_wanted_around_them_is_kept() {
    let mut t = Tables::new();
    let Rel::Get { table: f, .. } = t.table("f", &["a", "b", "x"]).rel else { unreachable!() };
    let (first, b, _) = totals(&mut t, &f, 5);
    let (second, other, total) = totals(&mut t, &f, 5);
    let out = t.computed("out");
    let rel = project(join(first, second, vec![eq(b, other)]), vec![(out, total.expr())]);
    let sharing = Sharing::of(&rel);
    let [family] = &sharing.families[..] else { panic!("{} families", sharing.families.len()) };
    // The group of both, the total of the second: as the first numbers them.
    assert_eq!(family.wanted, family.members[0].rel.output());
    assert_eq!(family.members[1].first[&total], family.wanted[1]);
}

#[test]
fn what_depends_on_the_query_around_it_is_not_shared() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let Rel::Get { table: f, .. } = t.table("f", &["a", "b", "x"]).rel else { unreachable!() };
    let mut counted = || {
        let table = t.get(f.clone());
        let matching = filter(table.rel, vec![eq(table.ids[1], a)]);
        let (rel, count) = t.aggregate(matching, &[], AggregateFunction::Count, None);
        subquery(SubqueryKind::Scalar, rel, &[count])
    };
    let rel = filter(r, vec![eq(counted(), 1), lt(counted(), 2)]);
    assert!(Sharing::of(&rel).is_empty());
}
