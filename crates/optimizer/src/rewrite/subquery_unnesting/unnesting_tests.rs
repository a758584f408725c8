use super::*;
use crate::testing::builder::*;
use muster_algebra::{AggregateFunction, ColId, JoinKind};

/// The kind and the condition of the topmost join.
fn top_join(rel: &Rel) -> Option<(JoinKind, Vec<Expr>)> {
    match rel {
        Rel::Join { kind, on, .. } => Some((*kind, on.clone())),
        other => other.inputs().into_iter().find_map(top_join),
    }
}

fn is_free_of_subqueries(rel: &Rel) -> bool {
    !rel.exprs().iter().any(|e| e.has_subquery()) && rel.inputs().into_iter().all(is_free_of_subqueries)
}

fn exists(negated: bool, rel: Rel, output: ColId) -> Expr {
    subquery(SubqueryKind::Exists { negated }, rel, &[output])
}

fn is_in(left: ColId, negated: bool, rel: Rel, output: ColId) -> Expr {
    subquery(SubqueryKind::In { left: vec![left.expr()], negated }, rel, &[output])
}

#[test]
fn exists_joins_by_its_correlation_residual_included() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let unequal = compare(muster_algebra::CompareOp::NotEq, y, x);
    for (negated, kind) in [(false, JoinKind::Semi), (true, JoinKind::Anti)] {
        let inner = filter(s.clone(), vec![eq(b, a), unequal.clone()]);
        let rel = t.run(run, filter(r.clone(), vec![exists(negated, inner, b)]));
        assert_eq!(top_join(&rel), Some((kind, vec![eq(b, a), unequal.clone()])));
    }
}

#[test]
fn uncorrelated_exists_runs_once() {
    let mut t = Tables::new();
    let (r, _, _) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let rel = filter(r, vec![exists(false, filter(s, vec![lt(y, 5)]), b)]);
    assert_eq!(t.run(run, rel.clone()), rel);
}

#[test]
fn not_in_minds_nulls_only_where_there_can_be_some() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let mut kind =
        |left, inner: Rel, output| top_join(&t.run(run, filter(r.clone(), vec![is_in(left, true, inner, output)])));
    assert_eq!(kind(a, s.clone(), b).unwrap().0, JoinKind::Anti);
    assert_eq!(kind(x, s.clone(), b).unwrap().0, JoinKind::NullAwareAnti);
    assert_eq!(kind(a, s.clone(), y).unwrap().0, JoinKind::NullAwareAnti);
    assert_eq!(kind(a, filter(s, vec![not_null(y)]), y).unwrap().0, JoinKind::Anti);
}

#[test]
fn a_row_constructor_not_in_is_one_join() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let kind = SubqueryKind::In { left: vec![Expr::Column(a), Expr::Column(x)], negated: true };
    let not_in = subquery(kind, s, &[b, y]);
    let rel = t.run(run, filter(r, vec![not_in]));
    assert_eq!(top_join(&rel), Some((JoinKind::NullAwareAnti, vec![eq(a, b), eq(x, y)])));
}

#[test]
fn correlated_not_in_rejects_what_is_perhaps_equal() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let rel = t.run(run, filter(r, vec![is_in(x, true, filter(s, vec![eq(b, a)]), y)]));
    let perhaps = Expr::IsTruth { arg: Box::new(eq(x, y)), truth: false, negated: true };
    assert_eq!(top_join(&rel), Some((JoinKind::Anti, vec![eq(b, a), perhaps])));
}

#[test]
fn a_scalar_aggregate_is_grouped_by_its_correlation() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (inner, sum) = t.aggregate(filter(s, vec![eq(y, a)]), &[], AggregateFunction::Sum, Some(b));
    let rel = t.run(run, filter(r, vec![lt(x, subquery(SubqueryKind::Scalar, inner, &[sum]))]));
    let Rel::Filter { input, predicates } = rel else { panic!("a filter") };
    assert_eq!(predicates, vec![lt(x, sum)]);
    let Rel::Join { kind, right, on, .. } = *input else { panic!("a join") };
    assert_eq!((kind, on), (JoinKind::Left, vec![eq(y, a)]));
    assert!(matches!(*right, Rel::Aggregate { group, .. } if group == vec![y]));
}

#[test]
fn a_count_of_nothing_is_zero() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (inner, count) = t.aggregate(filter(s, vec![eq(y, a)]), &[], AggregateFunction::Count, Some(b));
    let rel = t.run(run, filter(r, vec![eq(x, subquery(SubqueryKind::Scalar, inner, &[count]))]));
    let Rel::Filter { predicates, .. } = rel else { panic!("a filter") };
    let Expr::Compare { right, .. } = &predicates[0] else { panic!("a comparison") };
    assert!(matches!(&**right, Expr::Call { function: muster_algebra::ScalarFunction::Coalesce, .. }));
}

#[test]
fn nested_subqueries_go_at_any_depth() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (u, c, z) = t.table("u", &["c", "z"]).pair();
    let innermost = filter(u, vec![eq(z, b)]);
    let inner = filter(s, vec![is_in(y, false, innermost, c)]);
    let rel = t.run(run, filter(r, vec![is_in(a, false, inner, b)]));
    assert!(is_free_of_subqueries(&rel), "{rel:?}");
}

#[test]
fn what_has_no_rule_stays() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (u, c, z) = t.table("u", &["c", "z"]).pair();
    // Under OR; correlated by inequality under an aggregate; through two levels.
    let or = Expr::Logic {
        op: muster_algebra::LogicOp::Or,
        args: vec![is_null(x), exists(false, filter(s.clone(), vec![eq(b, a)]), b)],
    };
    let (inequality, max) = t.aggregate(filter(s.clone(), vec![lt(y, a)]), &[], AggregateFunction::Max, Some(b));
    let deep = exists(false, filter(u, vec![eq(c, y), eq(z, a)]), c);
    let two_levels = exists(true, filter(s, vec![deep]), b);
    for predicate in [or, eq(x, subquery(SubqueryKind::Scalar, inequality, &[max])), two_levels] {
        let rel = t.run(run, filter(r.clone(), vec![predicate]));
        assert!(!is_free_of_subqueries(&rel), "{rel:?}");
    }
}

#[test]
fn left_joins_by_a_subquery_over_both_sides_join_the_pairs() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (u, c, z) = t.table("u", &["c", "z"]).pair();
    let over = |ids: &[ColId]| exists(false, filter(u.clone(), ids.iter().map(|id| lt(z, id.expr())).collect()), c);
    let joined = |on: Vec<Expr>| join_of(JoinKind::Left, r.clone(), s.clone(), on);
    let Rel::Join { kind: JoinKind::Left, on, right, .. } = t.run(run, joined(vec![eq(a, b), over(&[a, y])])) else {
        panic!("a left join")
    };
    assert!(on.len() == 1 && on[0].columns().contains(&a) && !on[0].columns().contains(&b), "{on:?}");
    assert!(right.output().contains(&y) && !right.output().contains(&a), "{right:?}");
    // One side is enough to compute this.
    let one_side = joined(vec![eq(a, b), over(&[a])]);
    assert_eq!(t.run(run, one_side.clone()), one_side);
}
