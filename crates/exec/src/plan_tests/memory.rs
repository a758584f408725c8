use super::*;
use muster_algebra::{AggregateCall, AggregateFunction, JoinKind, Side};
use muster_types::ErrorCode;

/// Rows of some hundred bytes, in an order that is not theirs.
fn rows(n: i64) -> Vec<Vec<Value>> {
    wide_rows(n, 300)
}

fn wide_rows(n: i64, width: usize) -> Vec<Vec<Value>> {
    (0..n).map(|i| vec![int(i * 7919 % n), text(&format!("{i:0>width$}"))]).collect()
}

fn count() -> AggregateCall {
    AggregateCall { function: AggregateFunction::Count, args: vec![], distinct: false, ty: INT }
}

/// Texts of several times the limit.
#[test]
fn a_large_sort_of_texts_spills_and_is_right() {
    for (limit_mib, n, width) in [(32, 600_000, 300), (32, 12_000, 20_000)] {
        let mut q = Query::with_memory(limit_mib << 20);
        let ids = q.columns(&[INT, TEXT]);
        let input = q.split_values(&ids, wide_rows(n, width));
        for by in [ids[0], ids[1]] {
            let keys = vec![asc(by)];
            let sort = plan(PlanOp::Sort { input: Box::new(input.clone()), keys, fetch: None }, vec![by]);
            let got = q.run(&sort);
            assert_eq!(got.len(), n as usize);
            let want = |i: i64| if by == ids[0] { int(i) } else { text(&format!("{i:0>width$}")) };
            assert!(got.iter().enumerate().all(|(i, row)| row[0] == want(i as i64)), "{n} rows of {width}");
            assert_eq!(q.runtime.memory_used_bytes(), 0);
        }
    }
}

#[test]
fn the_first_rows_of_many_long_texts_take_little_memory() {
    let mut q = Query::with_memory(16 << 20);
    let ids = q.columns(&[INT, TEXT]);
    let input = q.split_values(&ids, rows(600_000));
    for fetch in [100, 50_000, 300_000] {
        let keys = vec![asc(ids[0])];
        let sort = plan(PlanOp::Sort { input: Box::new(input.clone()), keys, fetch: Some(fetch) }, ids.clone());
        let got = q.run(&sort);
        assert_eq!(got.len(), fetch as usize);
        assert!(got.iter().enumerate().all(|(i, row)| row[0] == int(i as i64)));
        assert_eq!(q.runtime.memory_used_bytes(), 0);
    }
}

/// One group for each row, of several times the limit; by bytes and, where letters come in both cases, by sort keys.
#[test]
#[ignore = "the merge of spilled groups of long texts still asks for more than its share: error 1041"]
fn a_large_grouping_of_texts_spills_and_is_right() {
    for (limit_mib, n, width) in [(32, 600_000, 300), (32, 12_000, 20_000)] {
        for letters in ["", "Aa"] {
            let mut q = Query::with_memory(limit_mib << 20);
            let ids = q.columns(&[INT, TEXT]);
            let mut values = wide_rows(n, width);
            values.iter_mut().for_each(|row| {
                if let Value::Text(text) = &mut row[1] {
                    text.push_str(letters);
                }
            });
            let input = q.split_values(&ids, values);
            let id = q.column(INT);
            let op = |input| PlanOp::HashAggregate { input, group: vec![ids[1]], aggregates: vec![(id, count())] };
            let got = q.run(&plan(op(Box::new(input.clone())), vec![id]));
            assert_eq!(got.len(), n as usize, "{n} rows of {width} {letters}");
            assert!(got.iter().all(|row| row[0] == int(1)));
            // As DISTINCT is planned.
            let distinct = PlanOp::HashAggregate { input: Box::new(input), group: vec![ids[1]], aggregates: vec![] };
            assert_eq!(q.run(&plan(distinct, vec![ids[1]])).len(), n as usize);
            assert_eq!(q.runtime.memory_used_bytes(), 0);
        }
    }
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
