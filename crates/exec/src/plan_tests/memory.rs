use super::*;
use muster_algebra::{AggregateCall, AggregateFunction, JoinKind, Side};
use muster_types::ErrorCode;

/// Rows of some hundred bytes, in an order that is not theirs.
fn rows(n: i64) -> Vec<Vec<Value>> {
    (0..n).map(|i| vec![int(i * 7919 % n), text(&format!("{i:0>300}"))]).collect()
}

#[test]
#[ignore = "string views are charged for buffers they share: sorts and groupings of long texts fail with 1041 before they spill; run with --ignored"]
fn a_large_sort_of_texts_spills_and_is_right() {
    let mut q = Query::with_memory(128 << 20);
    let ids = q.columns(&[INT, TEXT]);
    let n = 600_000;
    let input = q.split_values(&ids, rows(n));
    let sort = plan(PlanOp::Sort { input: Box::new(input), keys: vec![asc(ids[0])], fetch: None }, vec![ids[0]]);
    let got = q.run(&sort);
    assert_eq!(got.len(), n as usize);
    assert!(got.iter().enumerate().all(|(i, row)| row[0] == int(i as i64)));
    assert_eq!(q.runtime.memory_used_bytes(), 0);
}

#[test]
#[ignore = "string views are charged for buffers they share: sorts and groupings of long texts fail with 1041 before they spill; run with --ignored"]
fn a_large_grouping_of_texts_spills_and_is_right() {
    let mut q = Query::with_memory(128 << 20);
    let ids = q.columns(&[INT, TEXT]);
    let n = 600_000;
    let input = q.split_values(&ids, rows(n));
    let count = q.column(INT);
    let call = AggregateCall { function: AggregateFunction::Count, args: vec![], distinct: false, ty: INT };
    let op = PlanOp::HashAggregate { input: Box::new(input), group: vec![ids[1]], aggregates: vec![(count, call)] };
    let got = q.run(&plan(op, vec![count]));
    assert_eq!(got.len(), n as usize);
    assert!(got.iter().all(|row| row[0] == int(1)));
}

#[test]
fn a_large_sort_of_numbers_spills_and_is_right() {
    let mut q = Query::with_memory(16 << 20);
    let ids = q.columns(&[INT, INT]);
    let n = 2_500_000;
    let input = q.split_values(&ids, (0..n).map(|i| vec![int(i * 7919 % n), int(i)]).collect());
    let sort = plan(PlanOp::Sort { input: Box::new(input), keys: vec![asc(ids[0])], fetch: None }, vec![ids[0]]);
    let got = q.run(&sort);
    assert_eq!(got.len(), n as usize);
    assert!(got.iter().enumerate().all(|(i, row)| row[0] == int(i as i64)));
    assert_eq!(q.runtime.memory_used_bytes(), 0);
}

#[test]
fn a_join_that_does_not_fit_fails_and_the_next_query_runs() {
    let mut q = Query::with_memory(8 << 20);
    let (a, b) = (q.columns(&[INT, TEXT]), q.columns(&[INT, TEXT]));
    let (left, right) = (q.split_values(&a, rows(60_000)), q.values(&b, rows(100)));
    let join = |build| {
        let op = PlanOp::HashJoin {
            kind: JoinKind::Inner,
            left: Box::new(left.clone()),
            right: Box::new(right.clone()),
            keys: vec![(column(a[0]), column(b[0]))],
            residual: Vec::new(),
            build,
        };
        plan(op, vec![a[1], b[0]])
    };
    let e = q.try_run(&join(Side::Left)).unwrap_err();
    assert_eq!(e.code, ErrorCode::OutOfMemory);
    assert!(e.message.contains("8.0 MiB"), "{e}");
    assert_eq!(q.runtime.memory_used_bytes(), 0);
    assert_eq!(q.run(&join(Side::Right)).len(), 100);
}
