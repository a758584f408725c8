use super::*;
use muster_algebra::{ArithmeticOp, CompareOp};
use muster_types::ErrorCode;

#[test]
fn filter_project_sort_and_limit() {
    let mut q = Query::new();
    let ids = q.columns(&[INT, TEXT]);
    let rows = vec![
        vec![int(3), text("c")],
        vec![Value::Null, text("B")],
        vec![int(1), text("a")],
        vec![int(2), Value::Null],
        vec![int(5), text("é")],
    ];
    for split in [false, true] {
        let input = if split { q.split_values(&ids, rows.clone()) } else { q.values(&ids, rows.clone()) };
        let keep = plan(
            PlanOp::Filter {
                input: Box::new(input.clone()),
                predicates: vec![Expr::compare(CompareOp::GtEq, column(ids[0]), Expr::int(2))],
            },
            vec![ids[0]],
        );
        assert_eq!(q.run_sorted(&keep), [[int(2)], [int(3)], [int(5)]]);
        let sort = |descending, fetch| {
            let keys = vec![SortKey { expr: column(ids[1]), descending }];
            plan(PlanOp::Sort { input: Box::new(input.clone()), keys, fetch }, vec![ids[1]])
        };
        // NULL first ascending, last descending; é is between c and nothing.
        let up = [Value::Null, text("a"), text("B"), text("c"), text("é")].map(|v| vec![v]);
        assert_eq!(q.run(&sort(false, None)), up);
        assert_eq!(q.run(&sort(false, Some(2))), up[..2]);
        let mut down = up.to_vec();
        down.reverse();
        assert_eq!(q.run(&sort(true, None)), down);
        let limit =
            |offset, count| plan(PlanOp::Limit { input: Box::new(sort(false, None)), offset, count }, vec![ids[1]]);
        assert_eq!(q.run(&limit(1, Some(2))), up[1..3]);
        assert_eq!(q.run(&limit(4, None)), up[4..]);
        assert!(q.run(&limit(9, Some(1))).is_empty());
        assert_eq!(
            q.run(&plan(PlanOp::Limit { input: Box::new(input), offset: 0, count: Some(3) }, ids.clone())).len(),
            3
        );
    }
}

#[test]
fn rows_without_columns_are_counted() {
    let q = Query::new();
    let dual = plan(PlanOp::Values { rows: vec![Vec::new(), Vec::new()] }, Vec::new());
    assert_eq!(q.run(&dual).len(), 2);
    let limit = plan(PlanOp::Limit { input: Box::new(dual), offset: 1, count: Some(5) }, Vec::new());
    assert_eq!(q.run(&limit).len(), 1);
}

#[test]
fn a_union_takes_columns_by_position_and_their_types() {
    let mut q = Query::new();
    let (a, b) = (q.columns(&[SqlType::INT, TEXT]), q.columns(&[TEXT, INT]));
    let out = q.columns(&[INT, TEXT]);
    let inputs = vec![q.values(&a, vec![vec![int(1), text("x")]]), q.values(&b, vec![vec![text("y"), Value::Null]])];
    let op = PlanOp::UnionAll { inputs, columns: vec![a, vec![b[1], b[0]]] };
    let got = q.run_sorted(&plan(op, out));
    assert_eq!(got, [[int(1), text("x")], [Value::Null, text("y")]]);
}

#[test]
fn one_column_may_be_delivered_twice() {
    let mut q = Query::new();
    let ids = q.columns(&[INT]);
    let mut values = q.values(&ids, vec![vec![int(4)]]);
    let exprs = vec![(ids[0], column(ids[0]))];
    values = plan(PlanOp::Project { input: Box::new(values), exprs }, vec![ids[0], ids[0]]);
    assert_eq!(q.run(&values), [[int(4), int(4)]]);
}

#[test]
fn many_values_come_in_batches() {
    let mut q = Query::new();
    let ids = q.columns(&[INT]);
    let values = q.values(&ids, (0..20_000).map(|i| vec![int(i)]).collect());
    let rows = q.run(&values);
    assert_eq!(rows.len(), 20_000);
    assert_eq!(rows[19_999], [int(19_999)]);
}

#[test]
fn dropping_the_stream_ends_the_query() {
    let mut q = Query::new();
    let ids = q.columns(&[INT]);
    let values = q.split_values(&ids, (0..100_000).map(|i| vec![int(i)]).collect());
    let sort = plan(PlanOp::Sort { input: Box::new(values), keys: vec![asc(ids[0])], fetch: None }, ids);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (sort, columns) = q.finished(&sort);
        let mut stream = execute(&sort, &columns, &q.context()).unwrap();
        let first = stream.try_next().await.unwrap().unwrap();
        assert!(first.num_rows() > 0);
        drop(stream);
        for _ in 0..100 {
            if q.runtime.memory_used_bytes() == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{} bytes are still held", q.runtime.memory_used_bytes());
    });
}

/// In debug builds each promise of an order is kept, or the query ends.
#[test]
fn rows_out_of_the_promised_order_are_an_error() {
    let mut q = Query::new();
    let ids = q.columns(&[INT, TEXT]);
    let promised = |rows: Vec<(i64, &str)>, q: &Query| {
        let rows = rows.into_iter().map(|(i, s)| vec![int(i), text(s)]).collect();
        let down = SortKey { expr: column(ids[1]), descending: true };
        Plan { order: vec![asc(ids[0]), down], ..q.values(&ids, rows) }
    };
    assert_eq!(q.run(&promised(vec![(1, "b"), (1, "B"), (1, "a"), (2, "x")], &q)).len(), 4);
    for wrong in [vec![(2, "a"), (1, "a")], vec![(1, "a"), (1, "b")]] {
        assert_eq!(q.try_run(&promised(wrong, &q)).is_err(), cfg!(debug_assertions));
    }
}

/// Nothing is decided when a plan is lowered: without the exchanges that it needs it does not run.
#[test]
fn a_plan_without_its_exchanges_is_an_error() {
    let mut q = Query::new();
    let ids = q.columns(&[INT]);
    let input = q.split_values(&ids, vec![vec![int(1)], vec![int(2)]]);
    let group = plan(PlanOp::HashAggregate { input: Box::new(input), group: ids.clone(), aggregates: vec![] }, ids);
    let error = q.try_run_as_planned(&group, &q.columns, q.context()).unwrap_err();
    assert!(error.message.contains("has 2 partitions instead of 1"), "{error:?}");
    assert_eq!(q.run(&group).len(), 2);
}

/// Rows that two places read are computed once, also where memory does not hold them.
#[test]
fn shared_rows_are_computed_once() {
    let n = 4_000;
    for (memory, files) in [(256 << 20, 0), (1 << 20, 1)] {
        let mut q = Query::with_memory(memory);
        let ids = q.columns(&[INT, TEXT]);
        let rows: Vec<Vec<Value>> = (0..n).map(|i| vec![int(i), text(&format!("{i:0>200}"))]).collect();
        let computed = q.column(SqlType::decimal(20, 4));
        let zero = Expr::Arithmetic {
            op: ArithmeticOp::Div,
            left: Box::new(column(ids[0])),
            right: Box::new(Expr::int(0)),
            ty: SqlType::decimal(20, 4),
        };
        let exprs = vec![(ids[0], column(ids[0])), (ids[1], column(ids[1])), (computed, zero)];
        let input = q.split_values(&ids, rows);
        let input = plan(PlanOp::Project { input: Box::new(input), exprs }, vec![ids[0], ids[1], computed]);
        q.try_run(&input).unwrap();
        let once = q.warnings.take();
        assert_eq!(once[0].code, ErrorCode::DivisionByZero);
        let read = |columns: &[ColId], output: &[ColId]| {
            let op =
                PlanOp::Shared { id: 1, input: Box::new(input.clone()), columns: columns.to_vec(), per_run: false };
            plan(op, output.to_vec())
        };
        let (own, out) = (q.columns(&[TEXT, INT]), q.columns(&[INT, TEXT]));
        let inputs = vec![read(&ids, &ids), read(&[ids[1], ids[0]], &own)];
        let op = PlanOp::UnionAll { inputs, columns: vec![ids.clone(), vec![own[1], own[0]]] };
        let mut got = q.run(&plan(op, out));
        got.sort_by_key(|row| if let Value::Int(i) = row[0] { i } else { -1 });
        assert_eq!(got.len(), 2 * n as usize);
        for (i, row) in got.iter().enumerate() {
            assert_eq!(row, &[int(i as i64 / 2), text(&format!("{:0>200}", i / 2))]);
        }
        assert_eq!(q.warnings.take().len(), once.len(), "computed twice");
        assert_eq!((q.counters.operators().spilled_groups(), q.counters.operators().spill_files()), (files, files));
        assert_eq!(q.runtime.memory_used_bytes(), 0);
    }
}
