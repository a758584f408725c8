//! Subqueries in the condition of a left join that look at both of its sides. Such a condition can be checked only on
//! pairs of rows, and of the left rows without a pair nothing would be left: so the pairs are joined to them once more.
//!
//! ```text
//!   Left(subquery(l, r))       Left(l.key = k.key)
//!     l                          l
//!     r                   ->     Filter [subquery(k, r)]
//!                                  Join
//!                                    k      the left rows again
//!                                    r
//! ```

use crate::copy::copy;
use crate::properties::{not_null_columns, unique_keys};
use crate::relation::filtered;
use crate::rewrite::RewriteContext;
use crate::scope;
use crate::substitution::{Substitution, substitute};
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Rel, Subquery, SubqueryKind};

/// The pairs of rows and what joins them to the left rows. `None` when no condition needs it, or nothing tells one left
/// row from another.
pub fn pairs(left: &Rel, right: &Rel, on: &[Expr], context: &mut RewriteContext<'_>) -> Option<(Rel, Vec<Expr>)> {
    let (of_left, of_right) = (scope::output_set(left), scope::output_set(right));
    let both = |e: &Expr| {
        let mentioned = scope::expr_columns(e);
        !mentioned.is_disjoint(&of_left) && !mentioned.is_disjoint(&of_right)
    };
    if !on.iter().any(|e| e.has_subquery() && both(e)) || !is_repeatable(left) {
        return None;
    }
    let key = unique_keys(left).into_iter().next()?;
    let again = copy(left, context.columns);
    let renamed: Substitution = again.columns.iter().map(|(id, new)| (*id, Expr::Column(*new))).collect();
    let conditions = on.iter().cloned().flat_map(Expr::into_conjuncts).map(|e| substitute(e, &renamed));
    let (checked, plain): (Vec<Expr>, Vec<Expr>) = conditions.partition(Expr::has_subquery);
    let known = not_null_columns(left);
    let same = |id: &ColId| {
        let op = if known.contains(id) { CompareOp::Eq } else { CompareOp::NullSafeEq };
        Expr::compare(op, Expr::Column(*id), renamed[id].clone())
    };
    let (left, right) = (Box::new(again.rel), Box::new(right.clone()));
    let join = Rel::Join { kind: JoinKind::Inner, left, right, on: plain, straight: false };
    Some((filtered(join, checked), key.iter().map(same).collect()))
}

/// A left join as it is, or, if a subquery in its condition looks at both sides, a dependent join: for each left row
/// the right ones that meet the condition.
pub fn dependent(left: Rel, right: Rel, on: Vec<Expr>, straight: bool) -> Rel {
    let (of_left, of_right) = (scope::output_set(&left), scope::output_set(&right));
    let looks_at_both = |e: &Expr| {
        let mentioned = scope::expr_columns(e);
        e.has_subquery() && !mentioned.is_disjoint(&of_left) && !mentioned.is_disjoint(&of_right)
    };
    if !on.iter().any(looks_at_both) {
        return Rel::Join { kind: JoinKind::Left, left: Box::new(left), right: Box::new(right), on, straight };
    }
    let outputs = right.output();
    let rel = filtered(right, on);
    let outer = scope::free_columns(&rel).into_iter().collect();
    let rows = Subquery { kind: SubqueryKind::Rows, rel: Box::new(rel), outputs, outer };
    let rows = Box::new(Expr::Subquery(Box::new(rows)));
    Rel::Lateral { input: Box::new(left), rows, keeps: true }
}

/// Returns true if a copy has the same rows.
fn is_repeatable(rel: &Rel) -> bool {
    !matches!(rel, Rel::Limit { .. })
        && rel.exprs().iter().all(|e| !e.has_subquery() && e.is_movable())
        && rel.inputs().into_iter().all(is_repeatable)
}
