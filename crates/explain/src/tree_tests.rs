use super::*;
use muster_algebra::{
    AggregateFunction, ColumnDef, ColumnMeta, ColumnOrigin, CompareOp, Cost, Estimate, IndexDef, SubqueryKind,
    TableDef, TableId,
};
use muster_types::{Collation, KeyInterval, KeyPart, KeyRange, SqlType, Value};
use std::{ops::Bound, sync::Arc};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn table(name: &str) -> Arc<TableDef> {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let column = |name: &&str| ColumnDef::plain(*name, SqlType::BIGINT, false);
    Arc::new(TableDef {
        id: TableId(1),
        database: "d".into(),
        name: name.into(),
        columns: NAMES.iter().map(column).collect(),
        indexes: vec![
            IndexDef { id: 0, name: "PRIMARY".into(), parts: vec![part(0)], unique: true, invisible: false },
            IndexDef { id: 1, name: "i_bc".into(), parts: vec![part(1), part(2)], unique: false, invisible: false },
            IndexDef {
                id: 2,
                name: "i_c".into(),
                parts: vec![KeyPart { column: 2, prefix: None, descending: true }],
                unique: false,
                invisible: false,
            },
        ],
        collation: Collation::DEFAULT,
        comment: String::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    })
}

/// Columns 0 to 2 of table `t`, 3 to 5 of `u`, 6 computed.
fn columns() -> Columns {
    let mut columns = Columns::default();
    for alias in ["t", "u"] {
        for name in NAMES {
            let (table, alias, column) = (alias.into(), alias.into(), name.into());
            let origin = Some(ColumnOrigin { database: "d".into(), table, alias, column });
            columns.add(ColumnMeta { name: name.into(), ty: SqlType::BIGINT, nullable: false, origin, decimals: None });
        }
    }
    columns.add_computed("sum(t.b)", SqlType::BIGINT, true);
    columns
}

fn col(id: u32) -> Expr {
    Expr::Column(ColId(id))
}

fn node(op: PlanOp, rows: f64) -> Plan {
    Plan::new(op, vec![ColId(0)], Estimate { rows, cost: Cost::cpu(rows / 8.0) }, Vec::new())
}

fn scan_of(name: &str, first: u32, index: usize, ranges: Vec<KeyRange>) -> Scan {
    Scan {
        table: table(name),
        alias: name.into(),
        index,
        ranges,
        steering: Vec::new(),
        distinct_prefix: None,
        columns: (0..3).map(|i| (ColId(first + i), i as usize)).collect(),
        filter_columns: Vec::new(),
        index_condition: Vec::new(),
        fetch: RowFetch::KeyOrder,
        filter: Vec::new(),
        ordered: false,
        reverse: false,
        limit: None,
        conditions: None,
    }
}

fn scan(name: &str, first: u32) -> Plan {
    node(PlanOp::Scan(scan_of(name, first, 0, vec![KeyRange::all()])), 10.0)
}

fn quiet(plan: &Plan) -> String {
    tree_with(plan, &columns(), &|_| None)
}

#[track_caller]
fn check_scan(index: usize, ranges: Vec<KeyRange>, want: &str) {
    assert_eq!(quiet(&node(PlanOp::Scan(scan_of("t", 0, index, ranges)), 1.0)), format!("-> {want}\n"));
}

fn ints(values: &[i64]) -> Vec<Value> {
    values.iter().map(|v| Value::Int(*v)).collect()
}

fn within(lower: Bound<Vec<Value>>, upper: Bound<Vec<Value>>) -> KeyRange {
    KeyRange { lower, upper }
}

#[test]
fn ways_to_read_a_table() {
    use Bound::{Excluded, Included, Unbounded};
    check_scan(0, vec![KeyRange::all()], "Table scan on t");
    check_scan(1, vec![KeyRange::all()], "Covering index scan on t using i_bc");
    check_scan(2, vec![KeyRange::all()], "Index scan on t using i_c, with multi-range read");
    check_scan(0, vec![], "No rows of t");
    check_scan(0, vec![KeyRange::prefix(ints(&[7]))], "Single-row index lookup on t using PRIMARY (a = 7)");
    check_scan(1, vec![KeyRange::prefix(ints(&[7]))], "Covering index lookup on t using i_bc (b = 7)");
    check_scan(
        1,
        vec![within(Included(ints(&[1, 5])), Excluded(ints(&[1, 9])))],
        "Covering index range scan on t using i_bc over (b = 1 AND 5 <= c < 9)",
    );
    check_scan(
        0,
        vec![
            within(Unbounded, Excluded(ints(&[3]))),
            KeyRange::prefix(ints(&[5])),
            within(Excluded(ints(&[7])), Unbounded),
        ],
        "Index range scan on t using PRIMARY over (a < 3) OR (a = 5) OR (7 < a)",
    );
    check_scan(
        1,
        vec![within(Excluded(vec![Value::Null]), Included(ints(&[4])))],
        "Covering index range scan on t using i_bc over (NULL < b <= 4)",
    );
    check_scan(
        1,
        vec![within(Included(ints(&[1, 5])), Included(ints(&[3])))],
        "Covering index range scan on t using i_bc over ((b,c) >= (1,5) AND (b) <= (3))",
    );
    check_scan(
        1,
        vec![within(Excluded(ints(&[1])), Excluded(ints(&[1, 5])))],
        "Covering index range scan on t using i_bc over ((b) > (1) AND (b,c) < (1,5))",
    );
    check_scan(
        2,
        vec![within(Included(ints(&[9])), Unbounded)],
        "Index range scan on t using i_c over (c <= 9), with multi-range read",
    );
    let mut pushed = scan_of("t", 0, 2, vec![KeyRange::all()]);
    pushed.fetch = RowFetch::EntryOrder;
    pushed.index_condition = vec![Expr::eq(col(2), Expr::int(2))];
    pushed.filter = vec![Expr::eq(col(1), Expr::int(1))];
    assert_eq!(
        quiet(&node(PlanOp::Scan(pushed), 1.0)),
        "-> Index scan on t using i_c, with index condition: (t.c = 2), with pushed condition: (t.b = 1)\n"
    );
    check_scan(
        1,
        vec![KeyRange::prefix(ints(&[1, 2, 3]))],
        "Covering index lookup on t using i_bc (b = 1 AND c = 2 AND a = 3)",
    );
    let mut last = scan_of("t", 0, 1, vec![KeyRange::all()]);
    last.filter = vec![Expr::eq(col(1), Expr::int(1)), Expr::eq(col(2), Expr::int(2))];
    (last.reverse, last.limit) = (true, Some(5));
    assert_eq!(
        quiet(&node(PlanOp::Scan(last), 1.0)),
        "-> Covering index scan on t using i_bc (reverse), with pushed condition: ((t.b = 1) and (t.c = 2)), limit 5 row(s)\n"
    );
}

#[test]
fn lookups_for_the_rows_of_another_table() {
    let join = |index: usize, keys: Vec<Expr>, batched: bool| {
        let lookup = Box::new(scan_of("t", 0, index, vec![KeyRange::all()]));
        let (kind, left, residual) = (JoinKind::Semi, Box::new(scan("u", 3)), vec![Expr::eq(col(1), col(4))]);
        let key_ordered = batched && index != 1;
        let entry_condition = Vec::new();
        let op = PlanOp::LookupJoin {
            kind,
            left,
            lookup,
            keys,
            residual,
            entry_condition,
            batched,
            key_ordered,
            incremental: false,
        };
        quiet(&node(op, 1.0))
    };
    assert!(join(1, vec![col(3)], true).starts_with("-> Batched key access (unsorted) semijoin"));
    assert_eq!(
        join(2, vec![col(3)], true),
        "-> Batched key access semijoin, extra conditions: (t.b = u.b)\n    -> Batch input rows\n        \
         -> Table scan on u\n    -> Multi-range index lookup on t using i_c (c=u.a), with multi-range read\n"
    );
    assert_eq!(
        join(0, vec![col(3)], false),
        "-> Nested loop semijoin, extra conditions: (t.b = u.b)\n    -> Table scan on u\n    \
         -> Single-row index lookup on t using PRIMARY (a=u.a)\n"
    );
}

#[test]
fn scans_that_skip() {
    let interval = |lower, upper| KeyInterval { lower, upper };
    let mut skip = scan_of("t", 0, 1, vec![KeyRange::all()]);
    skip.steering = vec![None, Some(vec![interval(Bound::Included(Value::Int(5)), Bound::Excluded(Value::Int(9)))])];
    let text = |scan: &Scan| quiet(&node(PlanOp::Scan(scan.clone()), 1.0));
    assert_eq!(text(&skip), "-> Covering index skip scan on t using i_bc over (5 <= c < 9)\n");
    skip.ranges = vec![within(Bound::Included(ints(&[1])), Bound::Unbounded)];
    assert_eq!(text(&skip), "-> Covering index range scan on t using i_bc over (1 <= b), skipping to (5 <= c < 9)\n");
    let mut loose = scan_of("t", 0, 1, vec![KeyRange::all()]);
    loose.distinct_prefix = Some(1);
    assert_eq!(text(&loose), "-> Covering index skip scan for grouping on t using i_bc\n");
    loose.ranges = vec![KeyRange::prefix(ints(&[1]))];
    assert_eq!(text(&loose), "-> Covering index skip scan for grouping on t using i_bc over (b = 1)\n");
}

#[test]
fn a_whole_plan() {
    let join = node(
        PlanOp::HashJoin {
            kind: JoinKind::Inner,
            left: Box::new(scan("t", 0)),
            right: Box::new(scan("u", 3)),
            keys: vec![(col(0), col(3))],
            residual: vec![Expr::compare(CompareOp::Lt, col(1), col(4))],
            build: Side::Right,
        },
        1234.5,
    );
    let call =
        AggregateCall { function: AggregateFunction::Sum, args: vec![col(1)], distinct: false, ty: SqlType::BIGINT };
    let aggregate = node(
        PlanOp::HashAggregate { input: Box::new(join), group: vec![ColId(2)], aggregates: vec![(ColId(6), call)] },
        3.0,
    );
    let project =
        node(PlanOp::Project { input: Box::new(aggregate), exprs: vec![(ColId(2), col(2)), (ColId(6), col(6))] }, 3.0);
    let keys = vec![SortKey { expr: col(6), descending: true }, SortKey { expr: col(2), descending: false }];
    let sort = node(PlanOp::Sort { input: Box::new(project), keys, fetch: Some(15) }, 3.0);
    let limit = node(PlanOp::Limit { input: Box::new(sort), offset: 5, count: Some(10) }, 1e12);
    assert_eq!(
        tree(&limit, &columns()),
        "\
-> Limit/Offset: 10/5 row(s)  (cost=1.25e11 rows=1.00e12)
    -> Sort: sum(t.b) DESC, t.c, limit input to 15 row(s) per chunk  (cost=0.38 rows=3)
        -> Aggregate using hash (group by t.c): sum(t.b)  (cost=0.38 rows=3)
            -> Inner hash join (t.a = u.a), extra conditions: (t.b < u.b)  (cost=154 rows=1234)
                -> Table scan on t  (cost=1.25 rows=10)
                -> Hash
                    -> Table scan on u  (cost=1.25 rows=10)
"
    );
}

#[test]
fn subqueries_are_numbered_and_shown_beneath() {
    let subplan = |kind, params: Vec<ColId>, plan| {
        Expr::Subplan(Box::new(Subplan { kind, plan: Box::new(plan), outputs: vec![ColId(3)], params }))
    };
    let inner = subplan(SubqueryKind::Scalar, vec![], scan("u", 3));
    let nested = node(
        PlanOp::Filter {
            input: Box::new(scan("u", 3)),
            predicates: vec![Expr::compare(CompareOp::Gt, col(4), inner), Expr::eq(col(5), col(0))],
        },
        1.0,
    );
    let predicates = vec![
        subplan(SubqueryKind::In { left: vec![col(1)], negated: true }, vec![ColId(0)], nested),
        subplan(SubqueryKind::Exists { negated: false }, vec![], scan("u", 3)),
    ];
    let plan = node(PlanOp::Filter { input: Box::new(scan("t", 0)), predicates }, 1.0);
    assert_eq!(
        quiet(&plan),
        "\
-> Filter: ((t.b not in (select #2)) and exists(select #3))
    -> Table scan on t
    -> Select #2 (subquery in condition; dependent)
        -> Filter: ((u.b > (select #4)) and (u.c = t.a))
            -> Table scan on u
            -> Select #4 (subquery in condition; run only once)
                -> Table scan on u
    -> Select #3 (subquery in condition; run only once)
        -> Table scan on u
"
    );
}
