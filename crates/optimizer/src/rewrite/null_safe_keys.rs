//! `a <=> b` between the two sides of a join becomes equalities, which can be keys: `a = b` where neither is NULL, else
//! `a IS NULL = b IS NULL AND COALESCE(a, c) = COALESCE(b, c)`. So INTERSECT and EXCEPT are joins by hash.

use super::{RewriteContext, bottom_up};
use crate::properties::may_be_null;
use crate::scope;
use muster_algebra::{Collation, CompareOp, Expr, Rel, ScalarFunction, SqlType, Value};
use muster_types::{Decimal, Result};

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Join { kind, left, right, on, straight } => {
                let conjuncts = Expr::conjuncts_of(on).into_iter();
                let on = conjuncts.flat_map(|e| keys(e, &left, &right, context)).collect();
                Rel::Join { kind, left, right, on, straight }
            }
            other => other,
        })
    })
}

/// The condition as equalities, or as it is.
fn keys(condition: Expr, left: &Rel, right: &Rel, context: &RewriteContext<'_>) -> Vec<Expr> {
    let Expr::Compare { op: CompareOp::NullSafeEq, left: a, right: b } = condition else { return vec![condition] };
    let same = || vec![Expr::Compare { op: CompareOp::NullSafeEq, left: a.clone(), right: b.clone() }];
    if a.has_subquery() || b.has_subquery() {
        return same();
    }
    let (l, r) = (scope::output_set(left), scope::output_set(right));
    let of = |e: &Expr, side: &scope::ColSet| !scope::expr_columns(e).is_empty() && scope::covered(e, side);
    let sides = match (of(&a, &l) && of(&b, &r), of(&a, &r) && of(&b, &l)) {
        (true, _) => (left, right),
        (_, true) => (right, left),
        _ => return same(),
    };
    if !may_be_null(&a, sides.0) && !may_be_null(&b, sides.1) {
        return vec![Expr::eq(*a, *b)];
    }
    let ty = a.ty(context.columns);
    let Some(constant) = some_value(ty).filter(|_| b.ty(context.columns) == ty) else { return same() };
    let is_null = |e: &Expr| Expr::IsNull { arg: Box::new(e.clone()), negated: false };
    let nulls = Expr::eq(is_null(&a), is_null(&b));
    let set = |e: Expr| {
        let args = vec![e, Expr::literal(constant.clone(), ty)];
        Expr::Call { function: ScalarFunction::Coalesce, args, ty }
    };
    vec![Expr::eq(set(*a), set(*b)), nulls]
}

/// Any value of the type.
fn some_value(ty: SqlType) -> Option<Value> {
    Some(match ty {
        SqlType::Int { unsigned: false, .. } => Value::Int(0),
        SqlType::Int { unsigned: true, .. } => Value::UInt(0),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::new(0, scale)),
        SqlType::Double => Value::Double(0.0),
        SqlType::Float => Value::Float(0.0),
        SqlType::Date => Value::Date(0),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Value::DateTime(0),
        SqlType::Time { .. } => Value::Time(0),
        SqlType::Text { collation, .. } if collation != Collation::Binary => Value::Text(String::new()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;
    use muster_algebra::JoinKind;

    #[test]
    fn null_safe_comparisons_become_keys() {
        let mut t = Tables::new();
        let (l, a, x) = t.table("l", &["a", "x"]).pair();
        let (r, b, y) = t.table("r", &["b", "y"]).pair();
        let safe = |p: muster_algebra::ColId, q: muster_algebra::ColId| {
            Expr::compare(CompareOp::NullSafeEq, p.expr(), q.expr())
        };
        let on = |rel: Rel| match rel {
            Rel::Join { on, .. } => on,
            other => panic!("{other:?}"),
        };
        // Keys of tables are never NULL, the other columns may be.
        let rel = join_of(JoinKind::Semi, l.clone(), r.clone(), vec![safe(a, b)]);
        assert_eq!(on(t.run(run, rel)), [eq(a, b)]);
        let found = on(t.run(run, join_of(JoinKind::Anti, l.clone(), r.clone(), vec![safe(x, y)])));
        let is_equality = |e: &Expr| matches!(e, Expr::Compare { op: CompareOp::Eq, .. });
        assert!(found.len() == 2 && found.iter().all(is_equality), "{found:?}");
        let one_sided = safe(a, x);
        assert_eq!(on(t.run(run, join_of(JoinKind::Semi, l, r, vec![one_sided.clone()]))), [one_sided]);
    }
}
