use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{
    CompareOp, Expr, IndexHint, IndexHintKind, IndexHintScope, JoinKind, Plan, PlanOp, Rel, SqlType, Switch, Value,
};

/// Orders and lines: lines(order, number, part, price), keyed by (order, number), with an index on part.
struct Case {
    tables: Tables,
    orders: Table,
    lines: Table,
}

fn case() -> Case {
    let mut tables = Tables::new();
    let orders = tables.table("orders", &["id", "day", "part"]);
    let lines = tables.table_with("lines", &["order", "number", "part", "price"], |def| {
        def.indexes[0].parts = index(0, "", &[0, 1], true).parts;
        def.indexes.push(index(1, "i_part", &[2], false));
    });
    Case { tables, orders, lines }
}

fn statistics() -> Injected {
    Injected::default()
        .rows("orders", 1.5e6)
        .rows("lines", 6e6)
        .distinct("orders", 0, 1.5e6)
        .distinct("orders", 1, 1e6)
        .distinct("lines", 0, 1.5e6)
        .distinct("lines", 1, 7.0)
        .distinct("lines", 2, 2e5)
}

impl Case {
    fn plan(&mut self, rel: Rel, options: &Options) -> Plan {
        optimize(rel, &mut self.tables.columns, &statistics(), options).expect("a plan")
    }
}

fn lookups(plan: &Plan) -> Vec<&PlanOp> {
    let below = plan.inputs().into_iter().flat_map(lookups);
    matches!(plan.op, PlanOp::LookupJoin { .. }).then_some(&plan.op).into_iter().chain(below).collect()
}

fn on_day(case: &Case) -> Rel {
    filter(case.orders.rel.clone(), vec![eq(case.orders.ids[1], 5)])
}

#[test]
fn few_outer_rows_are_looked_up_and_many_hashed() {
    let mut case = case();
    let on = vec![eq(case.orders.ids[0], case.lines.ids[0])];
    let few = join(on_day(&case), case.lines.rel.clone(), on.clone());
    let plan = case.plan(few, &Options::default());
    let found = lookups(&plan);
    let [PlanOp::LookupJoin { kind: JoinKind::Inner, lookup, keys, residual, batched: true, .. }] = found.as_slice()
    else {
        panic!("{plan:?}")
    };
    assert_eq!((lookup.index, keys.as_slice()), (0, &[Expr::Column(case.orders.ids[0])][..]));
    assert!(residual.is_empty(), "the key says it already");
    let all = join(case.orders.rel.clone(), case.lines.rel.clone(), on);
    assert!(lookups(&case.plan(all, &Options::default())).is_empty());
}

/// What is in memory moves the border between lookups and scans, but does not make lookups of plans that want a scan.
#[test]
fn lookups_pay_longer_in_memory() {
    let mut case = case();
    let join = join(on_day(&case), case.lines.rel.clone(), vec![eq(case.orders.ids[0], case.lines.ids[0])]);
    let mut looked_up = |outer_rows: f64, resident: f64| {
        let known = statistics()
            .distinct("orders", 1, 1.5e6 / outer_rows)
            .index("orders", 0, 1e4, resident)
            .index("lines", 0, 4e4, resident)
            .index("lines", 1, 1e4, resident);
        let plan = optimize(join.clone(), &mut case.tables.columns, &known, &Options::default()).expect("a plan");
        !lookups(&plan).is_empty()
    };
    let mut most = |resident: f64| {
        let sizes = (0..60).map(|i| 10.0 * 1.2f64.powi(i));
        sizes.take_while(|rows| looked_up(*rows, resident)).last().unwrap_or(0.0)
    };
    let (cold, half, warm) = (most(0.0), most(0.5), most(1.0));
    assert!(cold <= half && half <= warm, "{cold} {half} {warm}");
    // A fifth of all orders: beyond, every leaf is visited anyway.
    assert!(cold >= 1e3 && warm <= 3e5, "{cold} {warm}");
    assert!(cold < warm, "{cold} {warm}");
}

#[test]
fn constants_and_joined_columns_make_one_key() {
    let mut case = case();
    let first = filter(case.lines.rel.clone(), vec![eq(case.lines.ids[1], 1)]);
    let rel = join(on_day(&case), first, vec![eq(case.orders.ids[0], case.lines.ids[0])]);
    let plan = case.plan(rel, &Options::default());
    let found = lookups(&plan);
    let [PlanOp::LookupJoin { lookup, keys, .. }] = found.as_slice() else { panic!("{plan:?}") };
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(lookup.filter.is_empty(), "the key says it already: {:?}", lookup.filter);
}

/// A constant in the key says nothing of what else is asked of its column.
#[test]
fn other_conditions_on_a_column_of_the_key_are_checked() {
    let mut case = case();
    let (orders, lines) = (case.orders.ids.clone(), case.lines.ids.clone());
    let number = || Expr::Column(lines[1]);
    let parameter = Expr::Parameter { index: 0, ty: SqlType::BIGINT, planned_for: Some(Box::new(Value::Int(1))) };
    let negated = Expr::Negate { arg: Box::new(number()), ty: number().ty(&case.tables.columns) };
    for further in [Expr::eq(number(), parameter), Expr::eq(number(), negated)] {
        let first = filter(case.lines.rel.clone(), vec![eq(lines[1], 1), further.clone()]);
        let rel = join(on_day(&case), first, vec![eq(orders[0], lines[0])]);
        let plan = case.plan(rel, &Options::default());
        let found = lookups(&plan);
        let [PlanOp::LookupJoin { lookup, keys, .. }] = found.as_slice() else { panic!("{plan:?}") };
        assert_eq!((keys.len(), lookup.filter.as_slice()), (2, &[further][..]));
    }
}

#[test]
fn what_is_not_in_the_key_is_checked() {
    let mut case = case();
    let (orders, lines) = (case.orders.ids.clone(), case.lines.ids.clone());
    let cheap = filter(case.lines.rel.clone(), vec![Expr::compare(CompareOp::Lt, lines[3].expr(), 9.expr())]);
    let further = Expr::compare(CompareOp::Lt, orders[1].expr(), lines[2].expr());
    let rel = join(on_day(&case), cheap, vec![eq(orders[0], lines[0]), further.clone()]);
    let plan = case.plan(rel, &Options::default());
    let found = lookups(&plan);
    let [PlanOp::LookupJoin { lookup, residual, .. }] = found.as_slice() else { panic!("{plan:?}") };
    assert_eq!((lookup.filter.len(), residual.as_slice()), (1, &[further][..]));
}

#[test]
fn switches_forbid() {
    let mut case = case();
    let rel = join(on_day(&case), case.lines.rel.clone(), vec![eq(case.orders.ids[0], case.lines.ids[0])]);
    assert!(lookups(&case.plan(rel.clone(), &Options::default().without(Switch::LookupJoin))).is_empty());
    let plan = case.plan(rel.clone(), &Options::default());
    let found = lookups(&plan);
    assert!(matches!(found.as_slice(), [PlanOp::LookupJoin { batched: true, key_ordered: true, .. }]), "{plan:?}");
    let plan = case.plan(rel.clone(), &Options::default().without(Switch::MrrSortKeys));
    let found = lookups(&plan);
    assert!(matches!(found.as_slice(), [PlanOp::LookupJoin { batched: true, key_ordered: false, .. }]), "{plan:?}");
    let plan = case.plan(rel, &Options::default().without(Switch::BatchedKeyAccess));
    let found = lookups(&plan);
    assert!(matches!(found.as_slice(), [PlanOp::LookupJoin { batched: false, key_ordered: false, .. }]), "{plan:?}");
}

#[test]
fn index_hints_hold_for_lookups() {
    let mut case = case();
    let on = vec![eq(case.orders.ids[0], case.lines.ids[0])];
    let hinted = |kind, indexes: Vec<usize>, lines: &Table| {
        let mut rel = lines.rel.clone();
        let Rel::Get { hints, .. } = &mut rel else { unreachable!("a table") };
        hints.push(IndexHint { kind, scope: IndexHintScope::Join, indexes });
        rel
    };
    // All lines: joined by hash, if nothing is said; looked up or read in order, if the primary key is named.
    let forced = hinted(IndexHintKind::Force, vec![0], &case.lines);
    let all = join(case.orders.rel.clone(), forced, on.clone());
    let plan = case.plan(all, &Options::default().without(Switch::MergeJoin));
    assert!(matches!(lookups(&plan).as_slice(), [PlanOp::LookupJoin { lookup, .. }] if lookup.index == 0), "{plan:?}");
    let by_part = vec![eq(case.orders.ids[1], case.lines.ids[2])];
    let plan = case.plan(join(case.orders.rel.clone(), case.lines.rel.clone(), by_part.clone()), &Options::default());
    assert!(lookups(&plan).is_empty(), "{plan:?}");
    let forced = hinted(IndexHintKind::Force, vec![1], &case.lines);
    let plan = case.plan(join(case.orders.rel.clone(), forced, by_part), &Options::default());
    assert!(matches!(lookups(&plan).as_slice(), [PlanOp::LookupJoin { lookup, .. }] if lookup.index == 1), "{plan:?}");
    // A few lines: looked up, but not through an index that is not to be used.
    for forbidden in
        [hinted(IndexHintKind::Ignore, vec![0], &case.lines), hinted(IndexHintKind::Use, vec![1], &case.lines)]
    {
        let plan = case.plan(join(on_day(&case), forbidden, on.clone()), &Options::default());
        assert!(lookups(&plan).is_empty(), "{plan:?}");
    }
}

/// The primary key's columns at the end of a secondary key.
#[test]
fn keys_go_on_into_the_primary_key() {
    let mut case = case();
    let (orders, lines) = (case.orders.ids.clone(), case.lines.ids.clone());
    let on = vec![eq(orders[2], lines[2]), eq(orders[0], lines[0])];
    let mut rel = case.lines.rel.clone();
    let Rel::Get { hints, .. } = &mut rel else { unreachable!("a table") };
    hints.push(IndexHint { kind: IndexHintKind::Force, scope: IndexHintScope::All, indexes: vec![1] });
    for (options, parts) in [(Options::default(), 2), (Options::default().without(Switch::UseIndexExtensions), 1)] {
        let plan = case.plan(join(on_day(&case), rel.clone(), on.clone()), &options);
        let found = lookups(&plan);
        let [PlanOp::LookupJoin { keys, .. }] = found.as_slice() else { panic!("{plan:?}") };
        assert_eq!(keys.len(), parts);
    }
}

/// A second line condition that compares parts with the order: entries of an index on parts tell it, the rows need not
/// be fetched.
#[test]
fn conditions_on_both_sides_are_checked_on_entries() {
    let mut case = case();
    let (orders, lines) = (case.orders.ids.clone(), case.lines.ids.clone());
    let less = Expr::compare(CompareOp::Lt, Expr::Column(orders[0]), Expr::Column(lines[0]));
    // The price is no part of the index; what is left of the OR without it is.
    let either = crate::rewrite::logic(
        muster_algebra::LogicOp::Or,
        vec![
            Expr::and(vec![eq(lines[1], 1), eq(orders[1], 5), eq(lines[3], 7)]),
            Expr::and(vec![eq(lines[1], 2), eq(orders[1], 6)]),
        ],
    );
    let on = vec![eq(orders[2], lines[2]), less.clone(), either.clone()];
    let mut rel = case.lines.rel.clone();
    let Rel::Get { hints, .. } = &mut rel else { unreachable!("a table") };
    hints.push(IndexHint { kind: IndexHintKind::Force, scope: IndexHintScope::All, indexes: vec![1] });
    for icp in [true, false] {
        let options = Options::default();
        let options = if icp { options } else { options.without(Switch::IndexConditionPushdown) };
        let few = filter(case.orders.rel.clone(), vec![eq(case.orders.ids[1], 5)]);
        let plan = case.plan(join(few, rel.clone(), on.clone()), &options);
        let found = lookups(&plan);
        let [PlanOp::LookupJoin { lookup, residual, entry_condition, .. }] = found.as_slice() else {
            panic!("{plan:?}")
        };
        assert_eq!(lookup.index, 1);
        assert!(residual.contains(&less), "{residual:?}");
        assert_eq!(entry_condition.contains(&less), icp, "{entry_condition:?}");
        let priced = |e: &Expr| e.columns().contains(&lines[3]);
        assert!(residual.iter().any(priced) && !entry_condition.iter().any(priced), "{entry_condition:?}");
        assert_eq!(entry_condition.len(), if icp { 2 } else { 0 }, "{entry_condition:?}");
    }
}
