//! A plan that breaks each rule is refused, and by that rule; the same plan unbroken is not.

mod keys;

use super::validate;
use crate::scope::ColSet;
use crate::testing::builder::*;
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, Columns, CompareOp, Cost, Estimate, Expr, JoinKind, KeyRange, LogicOp,
    Plan, PlanOp, Rel, RowFetch, Scan, ScanBudget, Side, SortKey,
};
use muster_types::{Collation, SqlType, Value};

/// Table `name` of 1,000 rows, read in the order of its primary key `a`; `b` is a nullable column.
struct Read {
    plan: Plan,
    a: ColId,
    b: ColId,
}

fn read(t: &mut Tables, name: &str) -> Read {
    let table = t.table_with(name, &["a", "b"], |def| def.indexes.push(index(1, "i_b", &[1], false)));
    let (rel, a, b) = table.pair();
    let Rel::Get { table, alias, columns, .. } = rel else { unreachable!("a table") };
    let scan = Scan {
        table,
        alias,
        index: 0,
        ranges: vec![KeyRange::all()],
        steering: Vec::new(),
        distinct_prefix: None,
        columns,
        filter_columns: Vec::new(),
        index_condition: Vec::new(),
        filter: Vec::new(),
        fetch: RowFetch::KeyOrder,
        ordered: true,
        reverse: false,
        limit: None,
        conditions: None,
    };
    let plan = Plan { order: vec![by(a)], ..node(PlanOp::Scan(scan), &[a, b], 1000.0) };
    Read { plan, a, b }
}

fn node(op: PlanOp, output: &[ColId], rows: f64) -> Plan {
    Plan::new(op, output.to_vec(), Estimate { rows, cost: Cost::cpu(1.0) }, Vec::new())
}

fn by(id: ColId) -> SortKey {
    SortKey { expr: Expr::Column(id), descending: false }
}

fn column(id: ColId) -> Expr {
    Expr::Column(id)
}

fn count(t: &mut Tables) -> (ColId, AggregateCall) {
    let call =
        AggregateCall { function: AggregateFunction::Count, args: Vec::new(), distinct: false, ty: SqlType::BIGINT };
    (t.computed("count"), call)
}

fn check(plan: &Plan, columns: &Columns) -> Result<(), String> {
    validate(plan, &ColSet::new(), columns).map_err(|e| e.message.to_string())
}

/// The plan is whole; each change to it breaks a rule, which the text names.
fn refused(plan: &Plan, columns: &Columns, breaks: &[(&str, fn(&mut Plan))]) {
    assert_eq!(check(plan, columns), Ok(()));
    for (rule, breaking) in breaks {
        let mut broken = plan.clone();
        breaking(&mut broken);
        match check(&broken, columns) {
            Ok(()) => panic!("not refused: {rule}"),
            Err(message) => assert!(message.contains(rule), "{rule}: {message}"),
        }
    }
}

fn scan_of(plan: &mut Plan) -> &mut Scan {
    match &mut plan.op {
        PlanOp::Scan(scan) => scan,
        _ => unreachable!("a scan"),
    }
}

#[test]
fn scans() {
    let mut t = Tables::new();
    let Read { plan, .. } = read(&mut t, "r");
    refused(
        &plan,
        &t.columns,
        &[
            ("the output of Scan is not its columns", |p| p.output.reverse()),
            ("an index or a column that the table does not have", |p| scan_of(p).index = 7),
            ("skips by parts", |p| scan_of(p).distinct_prefix = Some(3)),
            ("mentions column 77", |p| scan_of(p).filter.push(eq(ColId(77), 1))),
            ("an order that it does not read in", |p| scan_of(p).ordered = false),
            ("an order that its index does not have", |p| scan_of(p).index = 1),
            ("an order that its index does not have", |p| scan_of(p).reverse = true),
            ("an order that its index does not have", |p| p.order[0].descending = true),
            ("no column of it", |p| p.order[0].expr = 1.expr()),
            ("at most", |p| scan_of(p).limit = Some(10)),
            ("an estimate of NaN", |p| p.estimate.rows = f64::NAN),
            ("an estimate of", |p| p.estimate.cost = Cost::io(-1.0)),
            ("a condition of type", |p| {
                let id = p.output[1];
                scan_of(p).filter.push(column(id));
            }),
            ("is compared with", |p| {
                let text = SqlType::varchar(5, Collation::DEFAULT);
                let id = p.output[1];
                scan_of(p).filter.push(eq(id, Expr::literal(Value::Text("x".into()), text)));
            }),
        ],
    );
}

#[test]
fn early_stops() {
    let mut t = Tables::new();
    let Read { plan: mut input, a, b } = read(&mut t, "r");
    scan_of(&mut input).limit = Some(10);
    input.estimate.rows = 10.0;
    let fallback = input.clone();
    let budget = ScanBudget { cost_ms: 1.0, entry_ms: 1e-6, fetch_ms: 0.0, page_ms: 0.0 };
    let op = PlanOp::EarlyStop { input: Box::new(input), fallback: Box::new(fallback), budget };
    let plan = Plan { order: vec![by(a)], ..node(op, &[a, b], 10.0) };
    fn inputs(plan: &mut Plan) -> [&mut Plan; 2] {
        match &mut plan.op {
            PlanOp::EarlyStop { input, fallback, .. } => [input, fallback],
            _ => unreachable!("an early stop"),
        }
    }
    refused(
        &plan,
        &t.columns,
        &[
            ("an ordered scan with a limit", |p| scan_of(inputs(p)[0]).limit = None),
            ("other columns", |p| p.output.reverse()),
            ("an early stop promises an order", |p| inputs(p)[0].order.clear()),
            ("with a fallback promises an order", |p| inputs(p)[1].order.clear()),
            ("partitions", |p| p.partitions = 2),
        ],
    );
}

#[test]
fn a_part_with_one_value_may_be_left_out_of_an_order() {
    let mut t = Tables::new();
    let Read { mut plan, a, .. } = read(&mut t, "r");
    let scan = scan_of(&mut plan);
    scan.index = 1;
    scan.ranges = vec![KeyRange::prefix(vec![Value::Int(5)])];
    assert_eq!(check(&plan, &t.columns), Ok(()), "the key of i_b ends with the primary key {a:?}");
    scan_of(&mut plan).ranges.push(KeyRange::prefix(vec![Value::Int(6)]));
    assert!(check(&plan, &t.columns).is_err());
}

#[test]
fn filters_projections_sorts_and_limits() {
    let mut t = Tables::new();
    let Read { plan, a, b } = read(&mut t, "r");
    let predicates = vec![lt(b, 5)];
    let filter =
        Plan { order: vec![by(a)], ..node(PlanOp::Filter { input: Box::new(plan), predicates }, &[a, b], 9.0) };
    refused(
        &filter,
        &t.columns,
        &[
            ("delivers column 77", |p| p.output.push(ColId(77))),
            ("an order that its input does not have", |p| p.order.push(p.order[0].clone())),
            ("at most", |p| p.estimate.rows = 1001.0 * 2.0),
            ("a condition of type", |p| {
                let id = p.output[0];
                let PlanOp::Filter { predicates, .. } = &mut p.op else { return };
                predicates.push(column(id));
            }),
        ],
    );
    let c = t.computed("c");
    let exprs = vec![(a, column(a)), (c, column(b))];
    let project =
        Plan { order: vec![by(a)], ..node(PlanOp::Project { input: Box::new(filter.clone()), exprs }, &[a, c], 9.0) };
    refused(
        &project,
        &t.columns,
        &[
            ("the output of Project is not its list", |p| p.output.reverse()),
            ("an order that its input does not have", |p| p.order = vec![by(p.output[1])]),
            ("orders its rows by what it computes", |p| {
                let PlanOp::Project { exprs, .. } = &mut p.op else { return };
                exprs[0].1 = 1.expr();
            }),
            ("at most", |p| p.estimate.rows = 20.0),
        ],
    );
    let missing = ColId(t.columns.len() as u32);
    let mut dangling = project.clone();
    let PlanOp::Project { exprs, .. } = &mut dangling.op else { unreachable!("a projection") };
    exprs[1] = (missing, column(b));
    dangling.output[1] = missing;
    assert!(check(&dangling, &t.columns).expect_err("refused").contains("does not exist"));
    let sort = PlanOp::Sort { input: Box::new(project), keys: vec![by(c)], fetch: Some(3) };
    let sort = Plan { order: vec![by(c)], ..node(sort, &[a, c], 3.0) };
    refused(
        &sort,
        &t.columns,
        &[
            ("Sort changes its columns", |p| p.output.truncate(1)),
            ("a sort promises an order", |p| p.order = vec![by(p.output[0])]),
            ("at most", |p| p.estimate.rows = 9.0),
        ],
    );
    let limit = PlanOp::Limit { input: Box::new(sort), offset: 0, count: Some(2) };
    refused(
        &Plan { order: vec![by(c)], ..node(limit, &[a, c], 2.0) },
        &t.columns,
        &[
            ("Limit changes its columns", |p| p.output.truncate(1)),
            ("at most", |p| p.estimate.rows = 3.0),
            ("an order that its input does not have", |p| p.order[0].descending = true),
        ],
    );
}

#[test]
fn joins_by_hash_and_by_loops() {
    let mut t = Tables::new();
    let (r, s) = (read(&mut t, "r"), read(&mut t, "s"));
    let keys = vec![(column(r.b), column(s.a))];
    let (left, right) = (Box::new(r.plan), Box::new(s.plan));
    let (kind, build) = (JoinKind::Inner, Side::Right);
    let op = PlanOp::HashJoin { kind, left: left.clone(), right: right.clone(), keys, residual: Vec::new(), build };
    refused(
        &node(op, &[r.a, s.b], 1000.0),
        &t.columns,
        &[
            ("an equi-join without keys", |p| {
                let PlanOp::HashJoin { keys, .. } = &mut p.op else { return };
                keys.clear();
            }),
            ("mentions column", |p| {
                let PlanOp::HashJoin { keys, .. } = &mut p.op else { return };
                keys[0] = (keys[0].1.clone(), keys[0].0.clone());
            }),
            ("keeps no order promises one", |p| p.order = vec![by(p.output[0])]),
            // The right side's key finds one row.
            ("at most", |p| p.estimate.rows = 5000.0),
            ("a join delivers columns that its inputs do not have", |p| {
                let PlanOp::HashJoin { kind, .. } = &mut p.op else { return };
                *kind = JoinKind::Semi;
            }),
            ("is compared with", |p| {
                let PlanOp::HashJoin { keys, .. } = &mut p.op else { return };
                let (arg, ty) = (Box::new(keys[0].1.clone()), SqlType::Double);
                keys[0].1 = Expr::Cast { arg, ty };
            }),
            ("two origins", |p| {
                let PlanOp::HashJoin { left, right, .. } = &mut p.op else { return };
                right.clone_from(left);
            }),
        ],
    );
    let on = vec![lt(r.a, s.a)];
    refused(
        &node(PlanOp::NestedLoopJoin { kind: JoinKind::Anti, left, right, on }, &[r.a], 1000.0),
        &t.columns,
        &[
            ("keeps no order promises one", |p| p.order = vec![by(p.output[0])]),
            ("a condition of type", |p| {
                let id = p.output[0];
                let PlanOp::NestedLoopJoin { on, .. } = &mut p.op else { return };
                on.push(column(id));
            }),
        ],
    );
}

#[test]
fn merge_joins() {
    let mut t = Tables::new();
    let (r, s) = (read(&mut t, "r"), read(&mut t, "s"));
    let keys = vec![(column(r.a), column(s.a))];
    let (left, right) = (Box::new(r.plan), Box::new(s.plan));
    let op = PlanOp::MergeJoin { kind: JoinKind::Inner, left, right, keys, residual: Vec::new() };
    let plan = Plan { order: vec![by(s.a)], ..node(op, &[r.b, s.a, s.b], 1000.0) };
    refused(
        &plan,
        &t.columns,
        &[
            ("is not in the order of its key", |p| p.inputs_mut()[0].order.clear()),
            ("is not in the order of its key", |p| p.inputs_mut()[1].order.clear()),
            ("is not in the order of its key", |p| {
                let id = p.output[0];
                let PlanOp::MergeJoin { keys, .. } = &mut p.op else { return };
                keys[0].0 = column(id);
            }),
            ("another order than that of its key", |p| p.order = vec![by(p.output[2])]),
            ("another number of keys", |p| {
                let PlanOp::MergeJoin { keys, .. } = &mut p.op else { return };
                keys.push(keys[0].clone());
            }),
        ],
    );
    // Rows without a partner have NULLs there.
    let mut left_join = plan;
    let PlanOp::MergeJoin { kind, .. } = &mut left_join.op else { unreachable!("a merge join") };
    *kind = JoinKind::Left;
    assert!(check(&left_join, &t.columns).is_err());
}

#[test]
fn lookups() {
    let mut t = Tables::new();
    let (mut r, s) = (read(&mut t, "r"), read(&mut t, "s"));
    r.plan.order.clear();
    let PlanOp::Scan(mut lookup) = s.plan.op else { unreachable!("a scan") };
    lookup.ordered = false;
    let op = PlanOp::LookupJoin {
        kind: JoinKind::Inner,
        left: Box::new(r.plan),
        lookup: Box::new(lookup),
        keys: vec![column(r.b)],
        residual: Vec::new(),
        entry_condition: Vec::new(),
        batched: true,
        key_ordered: true,
        incremental: false,
    };
    refused(
        &node(op, &[r.a, s.b], 1000.0),
        &t.columns,
        &[
            ("keys that the index does not have", |p| {
                let PlanOp::LookupJoin { keys, .. } = &mut p.op else { return };
                keys.push(keys[0].clone());
            }),
            ("an incremental join buffer", |p| {
                let PlanOp::LookupJoin { incremental, .. } = &mut p.op else { return };
                *incremental = true;
            }),
            ("a key of another type", |p| {
                let PlanOp::LookupJoin { keys, .. } = &mut p.op else { return };
                keys[0] = Expr::Cast { arg: Box::new(keys[0].clone()), ty: SqlType::Double };
            }),
            ("keeps no order promises one", |p| p.order = vec![by(p.output[0])]),
            // The primary key finds one row.
            ("at most", |p| p.estimate.rows = 5000.0),
        ],
    );
}

#[test]
fn aggregates() {
    let mut t = Tables::new();
    let r = read(&mut t, "r");
    let (id, call) = count(&mut t);
    let (input, group, aggregates) = (Box::new(r.plan), vec![r.a], vec![(id, call)]);
    let op = PlanOp::StreamAggregate { input: input.clone(), group, aggregates: aggregates.clone() };
    refused(
        &Plan { order: vec![by(r.a)], ..node(op, &[r.a, id], 1000.0) },
        &t.columns,
        &[
            ("not its group and aggregates", |p| p.output.reverse()),
            ("does not come by its groups", |p| p.inputs_mut()[0].order.clear()),
            ("an order that its input does not have", |p| p.order = vec![by(p.output[1])]),
            ("a group column is not in the input", |p| {
                p.output[0] = ColId(77);
                let PlanOp::StreamAggregate { group, .. } = &mut p.op else { return };
                group[0] = ColId(77);
            }),
            ("at most", |p| p.estimate.rows = 3000.0),
        ],
    );
    let op = PlanOp::HashAggregate { input, group: Vec::new(), aggregates };
    refused(
        &node(op, &[id], 1.0),
        &t.columns,
        &[("at most", |p| p.estimate.rows = 2.0), ("keeps no order promises one", |p| p.order = vec![by(p.output[0])])],
    );
}

#[test]
fn unions_values_and_shared_rows() {
    let mut t = Tables::new();
    let (mut r, mut s) = (read(&mut t, "r"), read(&mut t, "s"));
    [&mut r, &mut s].into_iter().for_each(|read| read.plan.order.clear());
    let all = t.computed("all");
    let op = PlanOp::UnionAll { inputs: vec![r.plan.clone(), s.plan], columns: vec![vec![r.a], vec![s.b]] };
    refused(
        &Plan { partitions: 2, ..node(op, &[all], 2000.0) },
        &t.columns,
        &[
            ("without a column list for each input", |p| {
                let PlanOp::UnionAll { columns, .. } = &mut p.op else { return };
                columns.pop();
            }),
            ("does not fit its input", |p| {
                let PlanOp::UnionAll { columns, .. } = &mut p.op else { return };
                columns.reverse();
            }),
            ("at most", |p| p.estimate.rows = 3000.0),
        ],
    );
    let text = t.columns.add_computed("text", SqlType::varchar(5, Collation::DEFAULT), true);
    let op = PlanOp::UnionAll { inputs: vec![r.plan.clone()], columns: vec![vec![r.a]] };
    let mixed = check(&node(op, &[text], 1000.0), &t.columns).expect_err("refused");
    assert!(mixed.contains("of one of another type"), "{mixed}");
    let one = t.computed("one");
    refused(
        &node(PlanOp::Values { rows: vec![vec![1.expr()]] }, &[one], 1.0),
        &t.columns,
        &[
            ("a row of Values has another length", |p| p.op = PlanOp::Values { rows: vec![Vec::new()] }),
            ("mentions column 77", |p| p.op = PlanOp::Values { rows: vec![vec![column(ColId(77))]] }),
            ("at most", |p| p.estimate.rows = 2.0),
        ],
    );
    let copy = t.computed("copy");
    refused(
        &node(PlanOp::Shared { id: 1, input: Box::new(r.plan), columns: vec![r.a], per_run: false }, &[copy], 1000.0),
        &t.columns,
        &[
            ("do not fit their input", |p| p.output.push(ColId(0))),
            ("at most", |p| p.estimate.rows = 2000.0),
            ("keeps no order promises one", |p| p.order = vec![by(p.output[0])]),
        ],
    );
}

#[test]
fn types_inside_expressions() {
    let mut t = Tables::new();
    let Read { mut plan, b, .. } = read(&mut t, "r");
    let text = Expr::literal(Value::Text("x".into()), SqlType::varchar(5, Collation::DEFAULT));
    let both = Expr::Logic { op: LogicOp::Or, args: vec![lt(b, 1), compare(CompareOp::Gt, b, text.clone())] };
    scan_of(&mut plan).filter.push(both);
    assert!(check(&plan, &t.columns).is_err());
    scan_of(&mut plan).filter =
        vec![Expr::InList { arg: Box::new(column(b)), list: vec![1.expr(), text], negated: false }];
    assert!(check(&plan, &t.columns).is_err());
    scan_of(&mut plan).filter = vec![Expr::InList { arg: Box::new(column(b)), list: vec![1.expr()], negated: false }];
    assert_eq!(check(&plan, &t.columns), Ok(()));
}
