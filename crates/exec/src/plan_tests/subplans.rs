use super::*;
use muster_algebra::{AggregateCall, AggregateFunction, CompareOp, JoinKind, Quantifier, Side, Subplan, SubqueryKind};
use muster_types::ErrorCode;

fn subplan(kind: SubqueryKind, plan: Plan, params: Vec<ColId>) -> Expr {
    let outputs = plan.output.clone();
    Expr::Subplan(Box::new(Subplan { kind, plan: Box::new(plan), outputs, params }))
}

/// The subquery's value for each row of `outer`.
fn per_row(q: &mut Query, outer: Plan, expr: Expr) -> Result<Vec<Value>> {
    let id = q.column(expr.ty(&q.columns));
    let project = plan(PlanOp::Project { input: Box::new(outer), exprs: vec![(id, expr)] }, vec![id]);
    Ok(q.try_run(&project)?.into_iter().map(|mut r| r.remove(0)).collect())
}

fn ints(values: &[Option<i64>]) -> Vec<Vec<Value>> {
    values.iter().map(|v| vec![opt(*v)]).collect()
}

fn b(v: Option<bool>) -> Value {
    v.map_or(Value::Null, Value::Bool)
}

#[test]
fn in_and_quantified_comparisons_follow_three_valued_logic() {
    let (t, f, n) = (Some(true), Some(false), None);
    let lists: [&[Option<i64>]; 4] = [&[], &[Some(1), Some(3)], &[Some(1), None], &[None]];
    // For left sides 1, 2, NULL.
    let wants_in = [[f, f, f], [t, f, n], [t, n, n], [n, n, n]];
    let wants_less_any = [[f, f, f], [t, t, n], [n, n, n], [n, n, n]];
    let wants_less_all = [[t, t, t], [f, f, n], [f, f, n], [n, n, n]];
    for (i, list) in lists.iter().enumerate() {
        let mut q = Query::new();
        let (a, c) = (q.columns(&[INT]), q.columns(&[INT]));
        let outer = q.values(&a, ints(&[Some(1), Some(2), None]));
        let inner = q.values(&c, ints(list));
        let left = column(a[0]);
        let compare = |op, quantifier| SubqueryKind::Compare { left: Box::new(left.clone()), op, quantifier };
        let cases = [
            (SubqueryKind::In { left: vec![left.clone()], negated: false }, wants_in[i]),
            (SubqueryKind::In { left: vec![left.clone()], negated: true }, wants_in[i].map(|v| v.map(|x| !x))),
            (compare(CompareOp::Eq, Quantifier::Any), wants_in[i]),
            (compare(CompareOp::NotEq, Quantifier::All), wants_in[i].map(|v| v.map(|x| !x))),
            (compare(CompareOp::Lt, Quantifier::Any), wants_less_any[i]),
            (compare(CompareOp::Lt, Quantifier::All), wants_less_all[i]),
        ];
        for (kind, want) in cases {
            let got = per_row(&mut q, outer.clone(), subplan(kind.clone(), inner.clone(), vec![])).unwrap();
            assert_eq!(got, want.map(b), "{kind:?} of {list:?}");
        }
    }
}

#[test]
fn rows_are_in_lists_of_rows() {
    let mut q = Query::new();
    let (a, c) = (q.columns(&[INT, TEXT]), q.columns(&[INT, TEXT]));
    let row = |i: Option<i64>, s: Option<&str>| vec![opt(i), s.map_or(Value::Null, text)];
    let outer = q.values(
        &a,
        vec![
            row(Some(1), Some("A")),
            row(Some(1), None),
            row(Some(2), None),
            row(Some(3), Some("c")),
            row(Some(4), Some("x")),
        ],
    );
    let inner = q.values(&c, vec![row(Some(1), Some("a")), row(Some(3), None), row(None, Some("x"))]);
    let kind = SubqueryKind::In { left: vec![column(a[0]), column(a[1])], negated: false };
    let got = per_row(&mut q, outer, subplan(kind, inner, vec![])).unwrap();
    assert_eq!(got, [b(Some(true)), b(None), b(None), b(None), b(None)]);
}

#[test]
fn scalars_run_once_per_combination_of_parameters() {
    let mut q = Query::new();
    let (a, c) = (q.columns(&[INT, INT]), q.columns(&[INT, INT]));
    let outer =
        q.split_values(&a, [(1, 5), (2, 5), (1, 6), (9, 0)].iter().map(|(x, y)| vec![int(*x), int(*y)]).collect());
    let inner = q.values(&c, [(1, 10), (1, 20), (2, 7)].iter().map(|(x, y)| vec![int(*x), int(*y)]).collect());
    let matching = |op, side: ColId| {
        let filter = vec![Expr::compare(op, column(c[0]), column(side))];
        plan(PlanOp::Filter { input: Box::new(inner.clone()), predicates: filter }, c.clone())
    };
    let max = q.column(INT);
    let call = AggregateCall { function: AggregateFunction::Max, args: vec![column(c[1])], distinct: false, ty: INT };
    let op = PlanOp::HashAggregate {
        input: Box::new(matching(CompareOp::Eq, a[0])),
        group: vec![],
        aggregates: vec![(max, call)],
    };
    let scalar = subplan(SubqueryKind::Scalar, plan(op, vec![max]), vec![a[0]]);
    // WHERE a1 < (SELECT MAX(..) WHERE c0 = a0)
    let filter = PlanOp::Filter {
        input: Box::new(outer.clone()),
        predicates: vec![Expr::compare(CompareOp::Lt, column(a[1]), scalar)],
    };
    let got = q.run_sorted(&plan(filter, a.clone()));
    assert_eq!(got, [[int(1), int(5)], [int(1), int(6)], [int(2), int(5)]]);
    // EXISTS and more than one row.
    let exists = |negated| subplan(SubqueryKind::Exists { negated }, matching(CompareOp::Eq, a[0]), vec![a[0]]);
    for negated in [false, true] {
        let filter = PlanOp::Filter { input: Box::new(outer.clone()), predicates: vec![exists(negated)] };
        assert_eq!(q.run(&plan(filter, a.clone())).len(), if negated { 1 } else { 3 });
    }
    let many = subplan(SubqueryKind::Scalar, Plan { output: vec![c[1]], ..matching(CompareOp::Eq, a[0]) }, vec![a[0]]);
    let e = per_row(&mut q, outer, many).unwrap_err();
    assert_eq!(e.code, ErrorCode::SubqueryNo1Row);
}

#[test]
fn parameters_reach_a_subplan_inside_a_subplan() {
    let mut q = Query::new();
    let (a, c, d) = (q.columns(&[INT]), q.columns(&[INT]), q.columns(&[INT]));
    let outer = q.values(&a, ints(&[Some(1), Some(2), Some(3)]));
    // EXISTS (SELECT .. FROM c WHERE c0 > a0 AND c0 IN (SELECT d0 FROM d WHERE d0 <> a0))
    let innermost = plan(
        PlanOp::Filter {
            input: Box::new(q.values(&d, ints(&[Some(2), Some(3)]))),
            predicates: vec![Expr::compare(CompareOp::NotEq, column(d[0]), column(a[0]))],
        },
        d.clone(),
    );
    let member = subplan(SubqueryKind::In { left: vec![column(c[0])], negated: false }, innermost, vec![a[0]]);
    let middle = plan(
        PlanOp::Filter {
            input: Box::new(q.values(&c, ints(&[Some(2), Some(3)]))),
            predicates: vec![Expr::compare(CompareOp::Gt, column(c[0]), column(a[0])), member],
        },
        c.clone(),
    );
    let exists = subplan(SubqueryKind::Exists { negated: false }, middle, vec![a[0]]);
    let got = per_row(&mut q, outer, exists).unwrap();
    assert_eq!(got, [b(Some(true)), b(Some(true)), b(Some(false))]);
}

#[test]
fn joins_take_subqueries_in_their_conditions() {
    let mut q = Query::new();
    let (a, c, d) = (q.columns(&[INT]), q.columns(&[INT]), q.columns(&[INT]));
    let keys = vec![(column(a[0]), column(c[0]))];
    for (kind, want) in [(JoinKind::Inner, vec![int(2)]), (JoinKind::Anti, vec![int(1), int(3)])] {
        let list = q.values(&d, ints(&[Some(2)]));
        let member = subplan(SubqueryKind::In { left: vec![column(c[0])], negated: false }, list, vec![]);
        let op = PlanOp::HashJoin {
            kind,
            left: Box::new(q.values(&a, ints(&[Some(1), Some(2), Some(3)]))),
            right: Box::new(q.values(&c, ints(&[Some(1), Some(2)]))),
            keys: keys.clone(),
            residual: vec![member],
            build: Side::Right,
        };
        let got: Vec<Value> = q.run_sorted(&plan(op, a.clone())).into_iter().map(|mut r| r.remove(0)).collect();
        assert_eq!(got, want);
    }
}
