//! Replacing columns by expressions, also inside subqueries.

use crate::scope;
use muster_algebra::{ColId, Expr, Rel};
use std::collections::BTreeMap;

/// What stands for each replaced column.
pub type Substitution = BTreeMap<ColId, Expr>;

/// The expression with every column of the map replaced; outer columns of subqueries too.
pub fn substitute(expr: Expr, map: &Substitution) -> Expr {
    if map.is_empty() {
        return expr;
    }
    let mut expr = expr;
    expr.update(&mut |e| match e {
        Expr::Column(id) => {
            if let Some(replacement) = map.get(id) {
                *e = replacement.clone();
            }
        }
        Expr::Subquery(q) if q.outer.iter().any(|id| map.contains_key(id)) => {
            substitute_rel(&mut q.rel, map);
            q.outer = scope::free_columns(&q.rel).into_iter().collect();
        }
        _ => {}
    });
    expr
}

/// Replaces columns in every expression of a relation. Columns that the relation itself produces must not be in the
/// map: group columns and the columns of a union stay as they are.
pub fn substitute_rel(rel: &mut Rel, map: &Substitution) {
    for expr in rel.exprs_mut() {
        replace_with(expr, |e| substitute(e, map));
    }
    for input in rel.inputs_mut() {
        substitute_rel(input, map);
    }
}

/// Replaces an expression in place.
pub fn replace_with(expr: &mut Expr, f: impl FnOnce(Expr) -> Expr) {
    let taken = std::mem::replace(expr, Expr::bool(true));
    *expr = f(taken);
}

/// Takes a relation out of its place, to be put back changed.
pub fn take(rel: &mut Rel) -> Rel {
    std::mem::replace(rel, Rel::Values { columns: Vec::new(), rows: Vec::new() })
}
