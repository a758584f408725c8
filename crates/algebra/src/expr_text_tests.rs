use super::*;
use crate::{ColumnMeta, ColumnOrigin};
use muster_types::{Collation, Decimal};

/// Columns a, b and c of table `t`.
fn columns() -> Columns {
    let mut columns = Columns::default();
    for name in ["a", "b", "c"] {
        let origin =
            Some(ColumnOrigin { database: "d".into(), table: "t".into(), alias: "t".into(), column: name.into() });
        columns.add(ColumnMeta { name: name.into(), ty: SqlType::BIGINT, nullable: false, origin, decimals: None });
    }
    columns
}

fn col(id: u32) -> Expr {
    Expr::Column(ColId(id))
}

#[test]
fn expressions() {
    let cs = columns();
    let dec = |s: &str| Expr::literal(Value::Decimal(Decimal::parse(s).unwrap()), SqlType::decimal(4, 2));
    let less = Expr::compare(CompareOp::Lt, col(1), dec("24.00"));
    assert_eq!(outermost(&less, &cs), "t.b < 24.00");
    let like = Expr::Like {
        arg: Box::new(col(0)),
        pattern: Box::new(Expr::literal(Value::Text("it's%".into()), SqlType::varchar(9, Collation::DEFAULT))),
        escape: Some('\\'),
        negated: true,
    };
    let both = Expr::and(vec![less.clone(), like]);
    assert_eq!(outermost(&both, &cs), "(t.b < 24.00) and (t.a not like 'it''s%')");
    let either = Expr::Logic { op: LogicOp::Or, args: vec![both, Expr::Not(Box::new(less))] };
    assert_eq!(outermost(&either, &cs), "((t.b < 24.00) and (t.a not like 'it''s%')) or (not(t.b < 24.00))");
    let sum = Expr::Arithmetic {
        op: ArithmeticOp::Mul,
        left: Box::new(col(1)),
        right: Box::new(Expr::Arithmetic {
            op: ArithmeticOp::Sub,
            left: Box::new(Expr::int(1)),
            right: Box::new(col(2)),
            ty: SqlType::BIGINT,
        }),
        ty: SqlType::BIGINT,
    };
    assert_eq!(outermost(&sum, &cs), "t.b * (1 - t.c)");
    let in_list = Expr::InList { arg: Box::new(col(1)), list: vec![Expr::int(1), Expr::int(2)], negated: false };
    assert_eq!(outermost(&in_list, &cs), "t.b in (1,2)");
    let case =
        Expr::Case { branches: vec![(in_list, sum)], otherwise: Some(Box::new(Expr::int(0))), ty: SqlType::BIGINT };
    assert_eq!(outermost(&case, &cs), "(case when (t.b in (1,2)) then (t.b * (1 - t.c)) else 0 end)");
    let year = Expr::Call {
        function: ScalarFunction::Extract(IntervalUnit::Year),
        args: vec![Expr::Cast { arg: Box::new(col(0)), ty: SqlType::Date }],
        ty: SqlType::BIGINT,
    };
    assert_eq!(outermost(&year, &cs), "extract(year from cast(t.a as date))");
    let call =
        AggregateCall { function: AggregateFunction::Count, args: vec![col(1)], distinct: true, ty: SqlType::BIGINT };
    assert_eq!(aggregate(&call, &cs), "count(distinct t.b)");
}
