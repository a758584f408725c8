use super::*;
use crate::{
    Options, optimize,
    testing::{builder::*, statistics::Injected},
};
use muster_algebra::{AggregateFunction, ColId, ExchangeKind, JoinKind, NodeId, Rel};
use std::collections::BTreeSet;

fn planned(rel: Rel, t: &mut Tables, statistics: &Injected) -> Plan {
    let mut options = Options::default();
    options.threads = 2;
    optimize(rel, &mut t.columns, statistics, &options).unwrap()
}

/// The nodes of a plan without its subqueries, top down, each with its partitions.
fn shape(plan: &Plan) -> String {
    let name = match &plan.op {
        PlanOp::Scan(scan) => scan.alias.clone(),
        PlanOp::HashJoin { kind: JoinKind::Anti, .. } => "anti".into(),
        PlanOp::HashJoin { .. } => "hash".into(),
        PlanOp::NestedLoopJoin { .. } => "loop".into(),
        PlanOp::HashAggregate { .. } => "group".into(),
        PlanOp::PartialAggregate { .. } => "partial".into(),
        PlanOp::FinalAggregate { .. } => "final".into(),
        PlanOp::Exchange { kind: ExchangeKind::Gather, .. } => "gather".into(),
        PlanOp::Exchange { kind: ExchangeKind::Concatenate, .. } => "concatenate".into(),
        PlanOp::Exchange { kind: ExchangeKind::Hash { .. }, .. } => "spread".into(),
        PlanOp::Limit { .. } => "limit".into(),
        PlanOp::Shared { id, .. } => format!("shared{id}"),
        PlanOp::UnionAll { .. } => "union".into(),
        PlanOp::Filter { .. } => "filter".into(),
        PlanOp::Project { input, .. } => return shape(input),
        other => panic!("unexpected: {other:?}"),
    };
    let inputs: Vec<String> = plan.inputs().into_iter().map(shape).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(" ")) };
    format!("{name}{}{inputs}", plan.partitions)
}

fn ids(plan: &Plan, found: &mut Vec<NodeId>) {
    found.push(plan.id);
    plan.inputs().into_iter().for_each(|input| ids(input, found));
}

#[test]
fn groups_are_accumulated_in_every_partition_unless_that_saves_nothing() {
    for (distinct, expected) in
        [(100.0, "gather1(final2(spread2(partial2(t2))))"), (900_000.0, "gather1(group2(spread2(t2)))")]
    {
        let mut t = Tables::new();
        let table = t.table("t", &["a", "b", "c"]);
        let (b, c) = (table.ids[1], table.ids[2]);
        let (rel, _) = t.aggregate(table.rel, &[b], AggregateFunction::Sum, Some(c));
        let statistics = Injected::default().rows("t", 1e6).distinct("t", 1, distinct);
        assert_eq!(shape(&planned(rel, &mut t, &statistics)), expected);
    }
    let mut t = Tables::new();
    let table = t.table("t", &["a", "b", "c"]);
    let (rel, _) = t.aggregate(table.rel, &[], AggregateFunction::Sum, Some(table.ids[2]));
    let plan = planned(rel, &mut t, &Injected::default().rows("t", 1e6));
    assert_eq!(shape(&plan), "final1(gather1(partial2(t2)))");
}

#[test]
fn distinct_values_are_grouped_first() {
    let mut t = Tables::new();
    let table = t.table("t", &["a", "b", "c"]);
    let (b, c) = (table.ids[1], table.ids[2]);
    let (mut rel, _) = t.aggregate(table.rel, &[b], AggregateFunction::Count, Some(c));
    let Rel::Aggregate { aggregates, .. } = &mut rel else { unreachable!() };
    aggregates[0].1.distinct = true;
    let statistics = Injected::default().rows("t", 1e6).distinct("t", 1, 10.0).distinct("t", 2, 1000.0);
    let plan = planned(rel, &mut t, &statistics);
    assert_eq!(
        shape(&plan),
        "gather1(final2(spread2(partial2(final2(spread2(partial2(t2)))))))",
        "both levels in two partitions"
    );
}

#[test]
fn both_sides_of_a_big_hash_join_are_spread() {
    for (rows, expected) in [(1e6, "gather1(hash2(spread2(t2) spread2(u2)))"), (1e4, "gather1(hash2(t2 gather1(u2)))")]
    {
        let mut t = Tables::new();
        let (left, right) = (t.table("t", &["a", "b"]), t.table("u", &["x", "y"]));
        let on = vec![eq(left.ids[1], right.ids[1])];
        let statistics = Injected::default().rows("t", 2e6).rows("u", rows);
        let plan = planned(join(left.rel, right.rel, on), &mut t, &statistics);
        assert_eq!(shape(&plan), expected);
    }
}

#[test]
fn a_limit_is_kept_in_each_partition_and_together() {
    let mut t = Tables::new();
    let (left, right) = (t.table("t", &["a", "b"]), t.table("u", &["x", "y"]));
    let input = join(left.rel, right.rel, vec![eq(left.ids[1], right.ids[1])]);
    let rel = Rel::Limit { input: Box::new(input), offset: 5, count: Some(10) };
    let plan = planned(rel, &mut t, &Injected::default().rows("t", 1e5).rows("u", 1e4));
    assert_eq!(shape(&plan), "limit1(gather1(limit2(hash2(t2 gather1(u2)))))");
    let counts = |plan: &Plan| match plan.op {
        PlanOp::Limit { offset, count, .. } => Some((offset, count)),
        _ => None,
    };
    assert_eq!(counts(&plan), Some((5, Some(10))));
    assert_eq!(counts(plan.inputs()[0].inputs()[0]), Some((0, Some(15))));
}

#[test]
fn every_node_has_a_number_of_its_own() {
    let mut t = Tables::new();
    let (left, right) = (t.table("t", &["a", "b"]), t.table("u", &["x", "y"]));
    let on = vec![eq(left.ids[1], right.ids[1])];
    let plan = planned(join(left.rel, right.rel, on), &mut t, &Injected::default().rows("t", 1e5).rows("u", 1e4));
    let mut found = Vec::new();
    ids(&plan, &mut found);
    let expected: Vec<NodeId> = (1..=found.len() as u32).map(NodeId).collect();
    assert_eq!(found, expected);
}

/// The rows of the right side are read by several joins; they are the same nodes wherever they stand.
#[test]
fn not_in_over_two_columns_with_nulls_becomes_joins() {
    let mut t = Tables::new();
    let nullable = |table: &mut muster_algebra::TableDef| table.columns.iter_mut().for_each(|c| c.nullable = true);
    let (left, right) = (t.table_with("t", &["a", "b"], nullable), t.table_with("u", &["x", "y"], nullable));
    let on: Vec<Expr> = (0..2).map(|i| eq(left.ids[i], right.ids[i])).collect();
    let rel = join_of(JoinKind::NullAwareAnti, left.rel, right.rel, on);
    let plan = planned(rel, &mut t, &Injected::default().rows("t", 1e5).rows("u", 1e4));
    let shown = shape(&plan);
    assert_eq!(shown.matches("shared1").count(), 5, "{shown}");
    assert_eq!(shown.matches("shared2").count(), 2, "{shown}");
    let mut found = Vec::new();
    ids(&plan, &mut found);
    let different: BTreeSet<NodeId> = found.iter().copied().collect();
    assert!(different.len() < found.len(), "{shown}");
}

#[test]
fn equal_subqueries_of_a_node_stay_equal() {
    let mut t = Tables::new();
    let (outer, inner) = (t.table("t", &["a", "b"]), t.table("u", &["x", "y"]));
    let value = |rel: &Rel, id: ColId| subquery(SubqueryKind::Scalar, rel.clone(), &[id]);
    let (x, y) = (t.computed("x"), t.computed("y"));
    let same = value(&inner.rel, inner.ids[1]);
    let rel = project(outer.rel, vec![(x, same.clone()), (y, same)]);
    let plan = planned(rel, &mut t, &Injected::default().rows("t", 10.0).rows("u", 1.0));
    let mut found = Vec::new();
    let mut at = &plan;
    while !matches!(at.op, PlanOp::Project { .. }) {
        at = at.inputs()[0];
    }
    let PlanOp::Project { exprs, .. } = &at.op else { unreachable!() };
    for (_, expr) in exprs {
        if let Expr::Subplan(subplan) = expr {
            found.push(subplan.clone());
        }
    }
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], found[1]);
}

#[test]
fn a_plan_that_costs_next_to_nothing_runs_on_one_thread() {
    let shape_of = |rows: f64, serial_ms_max: f64| {
        let mut t = Tables::new();
        let table = t.table("t", &["a", "b", "c"]);
        let (rel, _) = t.aggregate(table.rel, &[], AggregateFunction::Sum, Some(table.ids[2]));
        let mut options = Options::default();
        (options.threads, options.serial_ms_max) = (2, serial_ms_max);
        let statistics = Injected::default().rows("t", rows);
        shape(&optimize(rel, &mut t.columns, &statistics, &options).unwrap())
    };
    assert_eq!(shape_of(1e3, 0.1), "group1(t1)");
    assert_eq!(shape_of(1e3, 0.0), "final1(gather1(partial2(t2)))");
    assert_eq!(shape_of(1e6, 0.1), "final1(gather1(partial2(t2)))");
}
