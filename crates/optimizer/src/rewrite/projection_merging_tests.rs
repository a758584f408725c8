use super::*;
use crate::testing::builder::*;
use muster_algebra::{AggregateFunction, ArithmeticOp};
use muster_types::SqlType;

fn plus_one(id: ColId) -> Expr {
    Expr::Arithmetic { op: ArithmeticOp::Add, left: Box::new(id.expr()), right: Box::new(1.expr()), ty: SqlType::INT }
}

#[test]
fn a_derived_table_disappears() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (b, y) = (t.computed("b"), t.computed("y"));
    let derived = project(filter(r.clone(), vec![lt(x, 5)]), vec![(b, a.expr()), (y, x.expr())]);
    let rel = project(filter(derived, vec![eq(b, 1)]), vec![(y, y.expr())]);
    let expected = project(filter(r, vec![lt(x, 5), eq(a, 1)]), vec![(y, x.expr())]);
    assert_eq!(t.run(run, rel), expected);
}

#[test]
fn computed_columns_move_above_joins() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, _) = t.table("s", &["b", "y"]).pair();
    let sum = t.computed("sum");
    let left = project(r.clone(), vec![(a, a.expr()), (sum, plus_one(x))]);
    let rel = project(join(left, s.clone(), vec![eq(a, b)]), vec![(sum, sum.expr())]);
    assert_eq!(t.run(run, rel), project(join(r, s, vec![eq(a, b)]), vec![(sum, plus_one(x))]));
}

#[test]
fn constants_of_the_null_extended_side_stay_columns() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let (s, b, _) = t.table("s", &["b", "y"]).pair();
    let one = t.computed("one");
    let right = project(s, vec![(b, b.expr()), (one, 1.expr())]);
    let rel = project(join_of(JoinKind::Left, r, right, vec![eq(a, b)]), vec![(one, one.expr())]);
    let Rel::Project { exprs, .. } = t.run(run, rel) else { panic!("a projection") };
    assert_eq!(exprs, vec![(one, one.expr())], "NULL where nothing matches, not 1");
}

#[test]
fn group_columns_keep_their_names() {
    let mut t = Tables::new();
    let (r, _, x) = t.table("r", &["a", "x"]).pair();
    let g = t.computed("g");
    let (rel, count) = t.aggregate(project(r, vec![(g, x.expr())]), &[g], AggregateFunction::Count, None);
    let Rel::Project { input, exprs } = t.run(run, rel) else { panic!("a projection") };
    assert_eq!(exprs, vec![(g, x.expr()), (count, count.expr())]);
    assert!(matches!(*input, Rel::Aggregate { group, .. } if group == vec![x]));
}

#[test]
fn a_group_by_an_outer_column_computes_it() {
    let mut t = Tables::new();
    let (r, _, _) = t.table("r", &["a", "x"]).pair();
    let (_, b, _) = t.table("s", &["b", "y"]).pair();
    let g = t.computed("g");
    let group = |input: Rel| Rel::Aggregate { input: Box::new(input), group: vec![g], aggregates: vec![] };
    let Rel::Aggregate { input, group, .. } = t.run(run, group(project(r.clone(), vec![(g, b.expr())]))) else {
        panic!("an aggregate")
    };
    assert!(group == vec![g] && input.output().contains(&g), "{input:?}");
    // A UNION too takes columns of its inputs alone.
    let out = t.computed("out");
    let union = Rel::Union { inputs: vec![(project(r, vec![(g, b.expr())]), vec![g])], columns: vec![out] };
    let Rel::Union { inputs, .. } = t.run(run, union) else { panic!("a union") };
    assert!(inputs[0].0.output().contains(&inputs[0].1[0]), "{inputs:?}");
}

#[test]
fn nothing_is_computed_twice() {
    let mut t = Tables::new();
    let (r, _, x) = t.table("r", &["a", "x"]).pair();
    let (sum, more) = (t.computed("sum"), t.computed("more"));
    let rel = project(project(r, vec![(sum, plus_one(x))]), vec![(more, plus_one(sum))]);
    let merged = t.run(run, rel);
    let Rel::Project { input, .. } = &merged else { panic!("a projection") };
    assert!(matches!(**input, Rel::Project { .. }));
}
