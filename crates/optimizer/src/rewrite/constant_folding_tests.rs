use super::*;
use crate::testing::builder::*;
use muster_algebra::{ArithmeticOp, Columns, IntervalUnit, ScalarFunction, Value};
use muster_types::temporal::date_code;

fn folded(expr: Expr) -> Expr {
    let mut expr = expr;
    expr.update(&mut |e| fold(e, &Columns::default()));
    expr
}

fn and(args: Vec<Expr>) -> Expr {
    Expr::Logic { op: LogicOp::And, args }
}

fn or(args: Vec<Expr>) -> Expr {
    Expr::Logic { op: LogicOp::Or, args }
}

#[test]
fn constants_decide_and_or() {
    let mut t = Tables::new();
    let (_, a, b) = t.table("t", &["a", "b"]).pair();
    assert_eq!(folded(and(vec![eq(a, 1), Expr::bool(true)])), eq(a, 1));
    assert_eq!(folded(and(vec![eq(a, 1), Expr::bool(false)])), Expr::bool(false));
    assert_eq!(folded(or(vec![eq(a, 1), Expr::bool(true)])), Expr::bool(true));
    // NULL decides nothing: FALSE AND NULL is FALSE.
    let null = Expr::null(SqlType::Bool);
    assert_eq!(folded(and(vec![eq(a, 1), null.clone()])), and(vec![eq(a, 1), null]));
    assert_eq!(folded(or(vec![or(vec![eq(a, 1), eq(b, 2)]), eq(a, 1)])), or(vec![eq(a, 1), eq(b, 2)]));
}

#[test]
fn arithmetic_and_dates_are_computed() {
    let sum = Expr::Arithmetic {
        op: ArithmeticOp::Add,
        left: Box::new(Expr::int(1)),
        right: Box::new(Expr::int(10)),
        ty: SqlType::BIGINT,
    };
    assert_eq!(folded(sum), Expr::int(11));
    let date = |month, day| Expr::literal(Value::Date(date_code(2001, month, day)), SqlType::Date);
    let args = vec![date(1, 31), Expr::int(1)];
    let month = Expr::Call { function: ScalarFunction::DateAdd(IntervalUnit::Month), args, ty: SqlType::Date };
    assert_eq!(folded(month), date(2, 28));
}

#[test]
fn what_fails_or_warns_is_left_for_the_run() {
    let zero = Expr::Cast {
        arg: Box::new(Expr::literal(Value::Text("x".into()), SqlType::varchar(1, muster_types::Collation::DEFAULT))),
        ty: SqlType::BIGINT,
    };
    assert_eq!(folded(zero.clone()), zero);
    let big = Expr::Arithmetic {
        op: ArithmeticOp::Mul,
        left: Box::new(Expr::int(i64::MAX)),
        right: Box::new(Expr::int(2)),
        ty: SqlType::BIGINT,
    };
    assert_eq!(folded(big.clone()), big);
}

#[test]
fn filters_lose_what_is_true() {
    let mut t = Tables::new();
    let (rel, a, _) = t.table("t", &["a", "b"]).pair();
    let predicates = vec![eq(1, 1), and(vec![eq(a, 1), Expr::bool(true)])];
    assert_eq!(t.run(run, filter(rel.clone(), predicates)), filter(rel.clone(), vec![eq(a, 1)]));
    assert_eq!(t.run(run, filter(rel.clone(), vec![Expr::bool(true)])), rel);
}

#[test]
fn calls_that_do_something_are_neither_computed_nor_left_out() {
    let wait = || Expr::Call { function: ScalarFunction::Sleep, args: vec![Expr::int(0)], ty: SqlType::BIGINT };
    let is_zero = || Expr::eq(wait(), Expr::int(0));
    assert_eq!(folded(and(vec![is_zero(), is_zero()])), and(vec![is_zero(), is_zero()]));
    let mut t = Tables::new();
    let (table, _, _) = t.table("t", &["a", "b"]).pair();
    let Rel::Filter { predicates, .. } = conjuncts(table, vec![is_zero(), is_zero()]) else { panic!("a filter") };
    assert_eq!(predicates.len(), 2);
}
