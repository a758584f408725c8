//! `CAST(column AS wider) < constant` becomes `column < constant` where no value changes: the comparison then runs on
//! the stored type and can use an index.

use super::{Context, map_exprs};
use crate::literal::{exact_value, is_lossless_cast, literal};
use muster_algebra::{Columns, CompareOp, Expr, Rel, SqlType};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut Context<'_>) -> Result<Rel> {
    let columns = &*context.columns;
    map_exprs(rel, &mut |expr| {
        expr.rewrite(&mut |e| match e {
            Expr::Compare { op, left, right } => unwrap_comparison(op, *left, *right, columns),
            Expr::InList { arg, list, negated } => match unwrap_list(&arg, &list, columns) {
                Some((arg, list)) => Expr::InList { arg: Box::new(arg), list, negated },
                None => Expr::InList { arg, list, negated },
            },
            other => other,
        })
    })
}

/// The argument of a cast that loses nothing, and its type.
fn uncast<'a>(expr: &'a Expr, columns: &Columns) -> Option<(&'a Expr, SqlType)> {
    let Expr::Cast { arg, ty } = expr else { return None };
    let from = arg.ty(columns);
    (matches!(**arg, Expr::Column(_)) && is_lossless_cast(from, *ty)).then_some((&**arg, from))
}

fn constant_as(expr: &Expr, to: SqlType) -> Option<Expr> {
    let (value, from) = literal(expr)?;
    exact_value(value, from, to).map(|v| Expr::literal(v, to))
}

fn unwrap_comparison(op: CompareOp, left: Expr, right: Expr, columns: &Columns) -> Expr {
    if let Some((arg, ty)) = uncast(&left, columns)
        && let Some(constant) = constant_as(&right, ty)
    {
        return Expr::compare(op, arg.clone(), constant);
    }
    if let Some((arg, ty)) = uncast(&right, columns)
        && let Some(constant) = constant_as(&left, ty)
    {
        return Expr::compare(op, constant, arg.clone());
    }
    Expr::compare(op, left, right)
}

fn unwrap_list(arg: &Expr, list: &[Expr], columns: &Columns) -> Option<(Expr, Vec<Expr>)> {
    let (arg, ty) = uncast(arg, columns)?;
    let list: Option<Vec<Expr>> = list.iter().map(|e| constant_as(e, ty)).collect();
    Some((arg.clone(), list?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;
    use muster_algebra::Value;

    #[test]
    fn constants_take_the_type_of_the_column() {
        let mut t = Tables::new();
        let (_, a, _) = t.table("t", &["a", "b"]).pair();
        let wide = Expr::Cast { arg: Box::new(Expr::Column(a)), ty: SqlType::BIGINT };
        let got = unwrap_comparison(CompareOp::Lt, wide.clone(), Expr::int(7), &t.columns);
        assert_eq!(got, Expr::compare(CompareOp::Lt, Expr::Column(a), Expr::literal(Value::Int(7), SqlType::INT)));
        // 5 thousand million is no INT: the comparison stays as it is.
        let big = Expr::int(5_000_000_000);
        let kept = unwrap_comparison(CompareOp::Lt, wide.clone(), big.clone(), &t.columns);
        assert_eq!(kept, Expr::compare(CompareOp::Lt, wide, big));
    }
}
