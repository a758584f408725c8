//! NOT goes down to the comparisons: `NOT (a < b OR c)` becomes `a >= b AND NOT c`. Exact in three-valued logic.

use super::{RewriteContext, logic, update_exprs};
use muster_algebra::{CompareOp, Expr, LogicOp, Quantifier, Rel, SubqueryKind, Value};
use muster_types::Result;

pub fn run(rel: Rel, _context: &mut RewriteContext<'_>) -> Result<Rel> {
    update_exprs(rel, &mut |expr| {
        if let Expr::Not(arg) = expr {
            let arg = std::mem::replace(&mut **arg, Expr::bool(true));
            *expr = negate(arg);
        }
    })
}

/// The operator of the opposite comparison.
fn opposite(op: CompareOp) -> Option<CompareOp> {
    Some(match op {
        CompareOp::Eq => CompareOp::NotEq,
        CompareOp::NotEq => CompareOp::Eq,
        CompareOp::Lt => CompareOp::GtEq,
        CompareOp::LtEq => CompareOp::Gt,
        CompareOp::Gt => CompareOp::LtEq,
        CompareOp::GtEq => CompareOp::Lt,
        CompareOp::NullSafeEq => return None,
    })
}

/// `NOT expr`, for a predicate.
pub fn negate(expr: Expr) -> Expr {
    match expr {
        Expr::Literal { value: Value::Bool(b), ty } => Expr::Literal { value: Value::Bool(!b), ty },
        Expr::Not(arg) if is_predicate(&arg) => *arg,
        Expr::Compare { op, left, right } => match opposite(op) {
            Some(op) => Expr::Compare { op, left, right },
            None => Expr::Not(Box::new(Expr::Compare { op, left, right })),
        },
        Expr::Logic { op: LogicOp::And, args } => logic(LogicOp::Or, args.into_iter().map(negate).collect()),
        Expr::Logic { op: LogicOp::Or, args } => logic(LogicOp::And, args.into_iter().map(negate).collect()),
        Expr::IsNull { arg, negated } => Expr::IsNull { arg, negated: !negated },
        Expr::IsTruth { arg, truth, negated } => Expr::IsTruth { arg, truth, negated: !negated },
        Expr::InList { arg, list, negated } => Expr::InList { arg, list, negated: !negated },
        Expr::Like { arg, pattern, escape, negated } => Expr::Like { arg, pattern, escape, negated: !negated },
        Expr::Subquery(mut q) => {
            q.kind = match q.kind {
                SubqueryKind::Scalar | SubqueryKind::Rows => return Expr::Not(Box::new(Expr::Subquery(q))),
                SubqueryKind::Exists { negated } => SubqueryKind::Exists { negated: !negated },
                SubqueryKind::In { left, negated } => SubqueryKind::In { left, negated: !negated },
                SubqueryKind::Compare { left, op, quantifier } => match opposite(op) {
                    Some(op) => {
                        let quantifier = match quantifier {
                            Quantifier::Any => Quantifier::All,
                            Quantifier::All => Quantifier::Any,
                        };
                        SubqueryKind::Compare { left, op, quantifier }
                    }
                    None => {
                        q.kind = SubqueryKind::Compare { left, op, quantifier };
                        return Expr::Not(Box::new(Expr::Subquery(q)));
                    }
                },
            };
            Expr::Subquery(q)
        }
        other => Expr::Not(Box::new(other)),
    }
}

/// Returns true if the expression is a truth value by itself (and not a number that is only tested for zero).
fn is_predicate(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(q) => !matches!(q.kind, SubqueryKind::Scalar),
        Expr::Compare { .. }
        | Expr::Logic { .. }
        | Expr::Not(_)
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::InList { .. }
        | Expr::Like { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn goes_through_and_or_to_the_comparisons() {
        let mut t = Tables::new();
        let (_, a, b) = t.table("t", &["a", "b"]).pair();
        let inner = logic(LogicOp::Or, vec![lt(a, 5), is_null(b)]);
        assert_eq!(negate(inner), logic(LogicOp::And, vec![compare(CompareOp::GtEq, a, 5), not_null(b)]));
    }

    #[test]
    fn null_safe_equality_has_no_opposite() {
        let mut t = Tables::new();
        let (_, a, _) = t.table("t", &["a", "b"]).pair();
        let e = compare(CompareOp::NullSafeEq, a, 5);
        assert_eq!(negate(e.clone()), Expr::Not(Box::new(e)));
    }
}
