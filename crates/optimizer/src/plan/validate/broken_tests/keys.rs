//! Keys: groups that are not whole in one partition, partners in different ones, groups that a loose scan leaves out.

use super::*;
use muster_algebra::ExchangeKind;

/// The same plan in two partitions, in no order.
fn in_two(plan: Plan) -> Plan {
    let mut plan = Plan { partitions: 2, order: Vec::new(), ..plan };
    scan_of(&mut plan).ordered = false;
    plan
}

fn spread(input: Plan, keys: Vec<Expr>) -> Plan {
    let (output, rows) = (input.output.clone(), input.estimate.rows);
    let op = PlanOp::Exchange { input: Box::new(input), kind: ExchangeKind::Hash { keys } };
    Plan { partitions: 2, ..node(op, &output, rows) }
}

fn keys_of(exchange: &mut Plan) -> &mut Vec<Expr> {
    match &mut exchange.op {
        PlanOp::Exchange { kind: ExchangeKind::Hash { keys }, .. } => keys,
        _ => unreachable!("an exchange by hash"),
    }
}

#[test]
fn groups_in_partitions() {
    let mut t = Tables::new();
    let r = read(&mut t, "r");
    let (id, call) = count(&mut t);
    let (group, aggregates) = (vec![r.a, r.b], vec![(id, call)]);
    let input = Box::new(spread(in_two(r.plan), vec![column(r.b)]));
    let op = PlanOp::HashAggregate { input: input.clone(), group: group.clone(), aggregates: aggregates.clone() };
    let whole = Plan { partitions: 2, ..node(op, &[r.a, r.b, id], 1000.0) };
    refused(
        &whole,
        &t.columns,
        &[
            ("rows of one group are in several partitions", |p| {
                let PlanOp::HashAggregate { group, .. } = &mut p.op else { return };
                group.pop();
                p.output.remove(1);
            }),
            ("rows of one group are in several partitions", |p| {
                let mut inputs = p.inputs_mut();
                let key = &mut keys_of(inputs[0])[0];
                *key = Expr::Negate { ty: SqlType::BIGINT, arg: Box::new(key.clone()) };
            }),
            ("rows of one group are in several partitions", |p| {
                let PlanOp::HashAggregate { input, .. } = &mut p.op else { return };
                let PlanOp::Exchange { input: scan, .. } = &input.op else { return };
                *input = scan.clone();
            }),
        ],
    );
    let PlanOp::Exchange { input: scan, .. } = input.op else { unreachable!("an exchange") };
    let op = PlanOp::PartialAggregate { input: scan, group: group.clone(), aggregates: aggregates.clone() };
    let partial = Plan { partitions: 2, ..node(op, &[r.a, r.b, id], 1000.0) };
    let op = PlanOp::FinalAggregate { input: Box::new(spread(partial, vec![column(r.a)])), group, aggregates };
    refused(
        &Plan { partitions: 2, ..node(op, &[r.a, r.b, id], 1000.0) },
        &t.columns,
        &[("rows of one group are in several partitions", |p| {
            let counted = column(p.output[2]);
            keys_of(p.inputs_mut()[0]).push(counted);
        })],
    );
}

#[test]
fn partners_in_partitions() {
    let mut t = Tables::new();
    let (r, s) = (read(&mut t, "r"), read(&mut t, "s"));
    let keys = vec![(column(r.a), column(s.a)), (column(r.b), column(s.b))];
    let left = Box::new(spread(in_two(r.plan), vec![column(r.a), column(r.b)]));
    let right = Box::new(spread(in_two(s.plan), vec![column(s.a), column(s.b)]));
    let (kind, residual, build) = (JoinKind::Left, Vec::new(), Side::Right);
    let op = PlanOp::HashJoin { kind, left, right, keys, residual, build };
    refused(
        &Plan { partitions: 2, ..node(op, &[r.a], 1000.0) },
        &t.columns,
        &[
            ("in different partitions", |p| keys_of(p.inputs_mut()[0]).reverse()),
            ("in different partitions", |p| keys_of(p.inputs_mut()[1]).truncate(1)),
            ("a NULL decides for the rows of its partition only", |p| {
                let PlanOp::HashJoin { kind, .. } = &mut p.op else { return };
                *kind = JoinKind::NullAwareAnti;
            }),
        ],
    );
}

/// `SELECT a, MIN(b) FROM r GROUP BY a` over an index of `a, b`.
#[test]
fn loose_scans() {
    let mut t = Tables::new();
    let table = t.table_with("r", &["k", "a", "b", "c"], |def| def.indexes.push(index(1, "i_ab", &[1, 2], false)));
    let Rel::Get { table, alias, columns, .. } = table.rel else { unreachable!("a table") };
    let (a, b) = (columns[1].0, columns[2].0);
    let scan = Scan {
        table,
        alias,
        index: 1,
        ranges: vec![KeyRange::all()],
        steering: Vec::new(),
        distinct_prefix: Some(1),
        columns: columns[1..3].to_vec(),
        filter_columns: Vec::new(),
        index_condition: Vec::new(),
        filter: vec![lt(a, 100)],
        fetch: RowFetch::KeyOrder,
        ordered: true,
        reverse: false,
        limit: None,
        conditions: None,
    };
    let least = t.computed("least");
    let call =
        AggregateCall { function: AggregateFunction::Min, args: vec![column(b)], distinct: false, ty: SqlType::BIGINT };
    let input = Box::new(node(PlanOp::Scan(scan), &[a, b], 10.0));
    let op = PlanOp::HashAggregate { input, group: vec![a], aggregates: vec![(least, call)] };
    fn calls(plan: &mut Plan) -> &mut AggregateCall {
        match &mut plan.op {
            PlanOp::HashAggregate { aggregates, .. } => &mut aggregates[0].1,
            _ => unreachable!("an aggregate"),
        }
    }
    refused(
        &node(op, &[a, least], 10.0),
        &t.columns,
        &[
            ("does not go to each group", |p| {
                let PlanOp::HashAggregate { input, group, .. } = &mut p.op else { return };
                group[0] = input.output[1];
                p.output[0] = input.output[1];
            }),
            ("rows that a loose scan leaves out", |p| calls(p).function = AggregateFunction::Max),
            ("rows that a loose scan leaves out", |p| calls(p).function = AggregateFunction::Sum),
            ("rows that a loose scan leaves out", |p| scan_of(p.inputs_mut()[0]).reverse = true),
            ("does not go to each value of", |p| {
                let mut inputs = p.inputs_mut();
                let scan = scan_of(inputs[0]);
                scan.filter = vec![lt(scan.columns[1].0, 5)];
            }),
            ("needs all of its rows", |p| *p = p.inputs()[0].clone()),
            ("needs all of its rows", |p| {
                let PlanOp::HashAggregate { input, .. } = &mut p.op else { return };
                let (output, below) = (input.output.clone(), input.clone());
                let op = PlanOp::Limit { input: below, offset: 0, count: Some(10) };
                **input = node(op, &output, 10.0);
            }),
        ],
    );
}
