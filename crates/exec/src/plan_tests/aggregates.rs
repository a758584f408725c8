use super::*;
use muster_algebra::{AggregateCall, AggregateFunction};
use muster_types::Decimal;

const DECIMAL: SqlType = SqlType::Decimal { precision: 15, scale: 2 };

fn call(function: AggregateFunction, args: Vec<Expr>, ty: SqlType) -> AggregateCall {
    AggregateCall { function, args, distinct: false, ty }
}

fn distinct(function: AggregateFunction, args: Vec<Expr>, ty: SqlType) -> AggregateCall {
    AggregateCall { distinct: true, ..call(function, args, ty) }
}

fn dec(unscaled: i128, scale: u8) -> Value {
    Value::Decimal(Decimal::new(unscaled, scale))
}

/// Rows: group, number, decimal, text.
fn source(q: &mut Query, split: bool) -> (Vec<ColId>, Plan) {
    let ids = q.columns(&[TEXT, INT, DECIMAL, TEXT]);
    let rows = vec![
        vec![text("a"), int(1), dec(150, 2), text("x")],
        vec![text("A"), int(2), dec(250, 2), text("Y")],
        vec![text("b"), Value::Null, Value::Null, text("X")],
        vec![text("b"), int(2), dec(-100, 2), Value::Null],
        vec![text("a"), int(2), dec(150, 2), text("y")],
        vec![Value::Null, int(9), dec(1, 2), text("z")],
        vec![Value::Null, int(9), dec(2, 2), text("z")],
    ];
    let plan = if split { q.split_values(&ids, rows) } else { q.values(&ids, rows) };
    (ids, plan)
}

/// Runs `SELECT group, calls .. GROUP BY group` over one and over two partitions; text groups in upper case.
fn grouped(calls: impl Fn(&[ColId]) -> Vec<AggregateCall>) -> Vec<Vec<Value>> {
    let mut results = Vec::new();
    for split in [false, true] {
        for ordered in [false, true] {
            let mut q = Query::new();
            let (ids, mut input) = source(&mut q, split);
            if ordered {
                let output = input.output.clone();
                input = plan(PlanOp::Sort { input: Box::new(input), keys: vec![asc(ids[0])], fetch: None }, output);
            }
            let aggregates: Vec<(ColId, AggregateCall)> =
                calls(&ids).into_iter().map(|c| (q.column(c.ty), c)).collect();
            let output = [ids[0]].into_iter().chain(aggregates.iter().map(|(id, _)| *id)).collect();
            let (input, group) = (Box::new(input), vec![ids[0]]);
            let op = match ordered {
                false => PlanOp::HashAggregate { input, group, aggregates },
                true => PlanOp::StreamAggregate { input, group, aggregates },
            };
            let mut rows = q.run(&plan(op, output));
            for row in &mut rows {
                if let Value::Text(group) = &mut row[0] {
                    *group = group.to_uppercase();
                }
            }
            results.push(sorted(rows));
        }
    }
    assert!(results.windows(2).all(|w| w[0] == w[1]), "{results:#?}");
    results.remove(0)
}

#[test]
fn sums_counts_and_averages_are_exact() {
    let rows = grouped(|c| {
        let (n, d) = (|| vec![column(c[1])], || vec![column(c[2])]);
        vec![
            call(AggregateFunction::Count, vec![], INT),
            call(AggregateFunction::Count, n(), INT),
            call(AggregateFunction::Count, vec![column(c[1]), column(c[3])], INT),
            call(AggregateFunction::Sum, n(), SqlType::decimal(41, 0)),
            call(AggregateFunction::Avg, n(), SqlType::decimal(23, 4)),
            call(AggregateFunction::Sum, d(), SqlType::decimal(37, 2)),
            call(AggregateFunction::Avg, d(), SqlType::decimal(19, 6)),
            call(AggregateFunction::Max, d(), DECIMAL),
        ]
    });
    let i = int;
    assert_eq!(
        rows,
        [
            vec![Value::Null, i(2), i(2), i(2), dec(18, 0), dec(90000, 4), dec(3, 2), dec(15000, 6), dec(2, 2)],
            vec![text("A"), i(3), i(3), i(3), dec(5, 0), dec(16667, 4), dec(550, 2), dec(1833333, 6), dec(250, 2)],
            vec![text("B"), i(2), i(1), i(0), dec(2, 0), dec(20000, 4), dec(-100, 2), dec(-1000000, 6), dec(-100, 2)],
        ]
    );
}

#[test]
fn distinct_follows_the_collation_alone_and_in_company() {
    let rows = grouped(|c| {
        vec![
            distinct(AggregateFunction::Count, vec![column(c[3])], INT),
            call(AggregateFunction::Count, vec![], INT),
            call(AggregateFunction::Avg, vec![column(c[1])], SqlType::decimal(23, 4)),
            call(AggregateFunction::Sum, vec![column(c[2])], SqlType::decimal(37, 2)),
            call(AggregateFunction::Max, vec![column(c[1])], INT),
        ]
    });
    let i = int;
    assert_eq!(
        rows,
        [
            vec![Value::Null, i(1), i(2), dec(90000, 4), dec(3, 2), i(9)],
            vec![text("A"), i(2), i(3), dec(16667, 4), dec(550, 2), i(2)],
            vec![text("B"), i(1), i(2), dec(20000, 4), dec(-100, 2), i(2)],
        ]
    );
    // Two lists of arguments cannot be two levels.
    let rows = grouped(|c| {
        vec![
            distinct(AggregateFunction::Count, vec![column(c[3])], INT),
            distinct(AggregateFunction::Count, vec![column(c[1]), column(c[3])], INT),
            distinct(AggregateFunction::Sum, vec![column(c[2])], SqlType::decimal(37, 2)),
            distinct(AggregateFunction::Avg, vec![column(c[1])], SqlType::decimal(23, 4)),
        ]
    });
    assert_eq!(
        rows,
        [
            vec![Value::Null, i(1), i(1), dec(3, 2), dec(90000, 4)],
            vec![text("A"), i(2), i(2), dec(400, 2), dec(15000, 4)],
            vec![text("B"), i(1), i(0), dec(-100, 2), dec(20000, 4)],
        ]
    );
}

#[test]
fn texts_have_extremes_and_are_joined() {
    let rows = grouped(|c| {
        let descending = |id| SortKey { expr: column(id), descending: true };
        let joined = |order| AggregateFunction::GroupConcat { separator: "|".into(), bytes_max: 1024, order };
        vec![
            call(AggregateFunction::Min, vec![column(c[3])], TEXT),
            call(joined(vec![descending(c[2]), asc(c[3])]), vec![column(c[1]), column(c[3])], TEXT),
            // The first of equal texts has the place of its row, and which row comes first partitions leave open: the
            // order is that of the texts.
            distinct(joined(vec![descending(c[1])]), vec![column(c[1])], TEXT),
        ]
    });
    assert_eq!(
        rows,
        [
            vec![Value::Null, text("z"), text("9z|9z"), text("9")],
            vec![text("A"), text("x"), text("2Y|1x|2y"), text("2|1")],
            vec![text("B"), text("X"), Value::Null, text("2")],
        ]
    );
}

#[test]
fn a_cut_of_group_concat_is_a_warning() {
    let mut q = Query::new();
    let c = q.columns(&[INT, TEXT]);
    // Six texts of 200 bytes in group 1, one in group 2.
    let rows = (0..7).map(|i| vec![int(1 + i / 6), text(&format!("{i:0>200}"))]).collect();
    let input = q.split_values(&c, rows);
    let joined = q.column(TEXT);
    let function = AggregateFunction::GroupConcat { separator: ",".into(), bytes_max: 1024, order: vec![asc(c[1])] };
    let call = call(function, vec![column(c[1])], TEXT);
    for group in [vec![], vec![c[0]]] {
        let op = PlanOp::HashAggregate {
            input: Box::new(input.clone()),
            group: group.clone(),
            aggregates: vec![(joined, call.clone()), (q.column(TEXT), call.clone())],
        };
        let lengths: Vec<usize> = q
            .run_sorted(&plan(op, vec![joined]))
            .iter()
            .map(|row| match &row[0] {
                Value::Text(text) => text.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(lengths, if group.is_empty() { vec![1024] } else { vec![1024, 200] });
        let warnings = q.warnings.take();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0].code.number(), 1260);
        if group.is_empty() {
            assert_eq!(warnings[0].message, "Row 6 was cut by GROUP_CONCAT()");
        }
    }
}

#[test]
fn spreads_bits_and_any_value() {
    let rows = grouped(|c| {
        let n = || vec![column(c[1])];
        let (double, unsigned) = (SqlType::Double, SqlType::BIGINT_UNSIGNED);
        vec![
            call(AggregateFunction::VarPop, n(), double),
            call(AggregateFunction::VarSamp, n(), double),
            call(AggregateFunction::BitAnd, n(), unsigned),
            call(AggregateFunction::BitOr, n(), unsigned),
            call(AggregateFunction::AnyValue, vec![Expr::int(7)], INT),
        ]
    });
    let numbers: Vec<Vec<Value>> = rows.iter().map(|r| r[3..].to_vec()).collect();
    assert_eq!(
        numbers,
        [
            [Value::UInt(9), Value::UInt(9), int(7)],
            [Value::UInt(0), Value::UInt(3), int(7)],
            [Value::UInt(2), Value::UInt(2), int(7)],
        ]
    );
    let Value::Double(variance) = rows[1][1] else { panic!("{rows:?}") };
    assert!((variance - 2.0 / 9.0).abs() < 1e-12);
    assert_eq!(rows[2][2], Value::Null, "of one value");
}

#[test]
fn no_rows_make_one_row_without_groups_and_none_with() {
    let mut q = Query::new();
    let ids = q.columns(&[INT, TEXT]);
    let empty = q.values(&ids, vec![]);
    let calls = vec![
        call(AggregateFunction::Count, vec![], INT),
        call(AggregateFunction::Sum, vec![column(ids[0])], SqlType::decimal(41, 0)),
        call(AggregateFunction::Avg, vec![column(ids[0])], SqlType::decimal(23, 4)),
        call(AggregateFunction::BitAnd, vec![column(ids[0])], SqlType::BIGINT_UNSIGNED),
        call(AggregateFunction::Min, vec![column(ids[1])], TEXT),
        call(AggregateFunction::AnyValue, vec![column(ids[0])], INT),
        distinct(AggregateFunction::Count, vec![column(ids[1])], INT),
    ];
    let aggregates: Vec<(ColId, AggregateCall)> = calls.into_iter().map(|c| (q.column(c.ty), c)).collect();
    let outputs: Vec<ColId> = aggregates.iter().map(|(id, _)| *id).collect();
    let op = |group: Vec<ColId>| PlanOp::HashAggregate {
        input: Box::new(empty.clone()),
        group,
        aggregates: aggregates.clone(),
    };
    let null = Value::Null;
    let want = [int(0), null.clone(), null.clone(), Value::UInt(u64::MAX), null.clone(), null.clone(), int(0)].to_vec();
    assert_eq!(q.run(&plan(op(vec![]), outputs.clone())), [want]);
    assert!(q.run(&plan(op(vec![ids[0]]), outputs)).is_empty());
}

#[test]
fn many_groups_skip_the_partial_step_and_are_right() {
    let mut q = Query::new();
    let ids = q.columns(&[INT, INT]);
    let rows = (0..20_000).map(|i| vec![int(i % 10_000), int(i)]).collect();
    let mut input = q.split_values(&ids, rows);
    input.estimate.rows = 1e6;
    let sum = q.column(SqlType::decimal(41, 0));
    let aggregates = vec![(sum, call(AggregateFunction::Sum, vec![column(ids[1])], SqlType::decimal(41, 0)))];
    let op = PlanOp::HashAggregate { input: Box::new(input), group: vec![ids[0]], aggregates };
    let mut aggregate = plan(op, vec![ids[0], sum]);
    for groups in [10.0, 1e6] {
        aggregate.estimate.rows = groups;
        let partial = q.described(&aggregate).contains("Partial");
        assert_eq!(partial, groups < 100.0);
        let rows = q.run(&aggregate);
        assert_eq!(rows.len(), 10_000);
        for row in rows {
            let Value::Int(group) = row[0] else { panic!("{row:?}") };
            assert_eq!(row[1], dec((2 * group + 10_000) as i128, 0));
        }
    }
}

#[test]
fn a_sum_that_does_not_fit_is_an_error() {
    let mut q = Query::new();
    let ty = SqlType::decimal(65, 0);
    let ids = q.columns(&[ty]);
    let huge = Value::Decimal(Decimal::parse(&"9".repeat(76)).unwrap());
    let input = q.values(&ids, vec![vec![huge.clone()], vec![huge]]);
    let sum = q.column(ty);
    let aggregates = vec![(sum, call(AggregateFunction::Sum, vec![column(ids[0])], ty))];
    let op = PlanOp::HashAggregate { input: Box::new(input), group: vec![], aggregates };
    let e = q.try_run(&plan(op, vec![sum])).unwrap_err();
    assert_eq!(e.code, muster_types::ErrorCode::DataOutOfRange);
}
