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

/// All kinds of aggregates, by hash and in order, in little memory and in much.
#[test]
fn groups_of_all_aggregates_spill_and_are_right() {
    let mut want: Option<Vec<Vec<Value>>> = None;
    for memory in [256 << 20, 1 << 20, 2 << 20] {
        let mut q = Query::with_memory(memory);
        let ids = q.columns(&[TEXT, INT, TEXT]);
        let row = |i: i64| {
            let key = if i % 97 == 0 { Value::Null } else { text(&format!("{:0>60}", i * 7919 % 3000)) };
            vec![key, if i % 5 == 0 { Value::Null } else { int(i % 11) }, text(&format!("Text {}", i % 700))]
        };
        let input = q.split_values(&ids, (0..40_000).map(row).collect());
        let concat =
            AggregateFunction::GroupConcat { separator: ",".into(), bytes_max: 1024, order: vec![asc(ids[2])] };
        let calls = [
            (AggregateFunction::Count, vec![], false, INT),
            (AggregateFunction::Sum, vec![column(ids[1])], false, SqlType::decimal(40, 0)),
            (AggregateFunction::Avg, vec![column(ids[1])], false, SqlType::decimal(24, 4)),
            (AggregateFunction::Max, vec![column(ids[2])], false, TEXT),
            (AggregateFunction::Count, vec![column(ids[1])], true, INT),
            (AggregateFunction::Count, vec![column(ids[2])], true, INT),
            (concat, vec![column(ids[2])], false, TEXT),
        ];
        let call = |(function, args, distinct, ty)| AggregateCall { function, args, distinct, ty };
        let aggregates: Vec<_> = calls.map(call).into_iter().map(|call| (q.column(call.ty), call)).collect();
        let output: Vec<ColId> = [ids[0]].into_iter().chain(aggregates.iter().map(|(id, _)| *id)).collect();
        let sort = PlanOp::Sort { input: Box::new(input.clone()), keys: vec![asc(ids[0])], fetch: None };
        let sorted_input = Box::new(plan(sort, ids.clone()));
        let group = vec![ids[0]];
        let in_order =
            PlanOp::StreamAggregate { input: sorted_input, group: group.clone(), aggregates: aggregates.clone() };
        let by_hash = PlanOp::HashAggregate { input: Box::new(input), group, aggregates };
        for op in [by_hash, in_order] {
            let got = q.run_sorted(&plan(op, output.clone()));
            assert_eq!(got.len(), 3001);
            assert_eq!(q.runtime.memory_used_bytes(), 0);
            match &want {
                None => want = Some(got),
                Some(want) => assert_eq!(&got, want, "{memory} bytes"),
            }
        }
    }
    // A row of the first result, by hand: key 1 has i * 7919 % 3000 == 1.
    let rows: Vec<i64> = (0..40_000).filter(|i| i * 7919 % 3000 == 1 && i % 97 != 0).collect();
    let values: Vec<i64> = rows.iter().filter(|i| **i % 5 != 0).map(|i| i % 11).collect();
    let key = text(&format!("{:0>60}", 1));
    let want = want.unwrap();
    let row = want.iter().find(|row| row[0] == key).unwrap();
    assert_eq!(row[1], int(rows.len() as i64));
    let distinct = |values: Vec<i64>| int(values.into_iter().collect::<std::collections::HashSet<_>>().len() as i64);
    assert_eq!(row[5], distinct(values));
    assert_eq!(row[6], distinct(rows.iter().map(|i| i % 700).collect()));
}

/// A group with far more text than fits, of which GROUP_CONCAT shows the beginning.
#[test]
fn group_concat_keeps_no_more_than_it_shows() {
    let mut q = Query::with_memory(2 << 20);
    let ids = q.columns(&[INT, TEXT]);
    let input = q.split_values(&ids, wide_rows(40_000, 300));
    let id = q.column(TEXT);
    let function = AggregateFunction::GroupConcat { separator: ",".into(), bytes_max: 1024, order: vec![asc(ids[1])] };
    for (group, distinct) in [(vec![], false), (vec![], true)] {
        let call = AggregateCall { function: function.clone(), args: vec![column(ids[1])], distinct, ty: TEXT };
        let op = PlanOp::HashAggregate { input: Box::new(input.clone()), group, aggregates: vec![(id, call)] };
        let Value::Text(got) = q.run(&plan(op, vec![id])).remove(0).remove(0) else { panic!("a text") };
        let all: Vec<String> = (0..4).map(|i| format!("{i:0>300}")).collect();
        assert_eq!(got, all.join(",")[..1024]);
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
fn a_join_whose_build_side_does_not_fit_spills() {
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
    for build in [Side::Left, Side::Right] {
        assert_eq!(q.run(&join(build)).len(), 100);
        assert_eq!(q.runtime.memory_used_bytes(), 0);
    }
}

#[test]
fn a_row_that_does_not_fit_fails_and_the_next_query_runs() {
    let mut q = Query::with_memory(8 << 20);
    let ids = q.columns(&[INT, TEXT]);
    let sort = |q: &mut Query, width| {
        let rows = (0..3).map(|i| vec![int(i), text(&"x".repeat(width))]).collect();
        let input = Box::new(q.split_values(&ids, rows));
        plan(PlanOp::Sort { input, keys: vec![asc(ids[1])], fetch: None }, vec![ids[0]])
    };
    let too_wide = sort(&mut q, 10 << 20);
    let e = q.try_run(&too_wide).unwrap_err();
    assert_eq!(e.code, ErrorCode::OutOfMemory);
    assert!(e.message.contains("8.0 MiB"), "{e}");
    assert_eq!(q.runtime.memory_used_bytes(), 0);
    let narrow = sort(&mut q, 10);
    assert_eq!(q.run(&narrow).len(), 3);
}
