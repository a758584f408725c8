//! Other expressions in the places of columns.

use muster_algebra::{ColId, Expr, Rel, Subquery};
use std::collections::HashMap;

/// Replaces the columns that have another expression in `by`, also those that subqueries mention of the row around
/// them.
pub fn replace_columns(expr: &mut Expr, by: &HashMap<ColId, Expr>) {
    match expr {
        Expr::Column(id) => {
            if let Some(expression) = by.get(id) {
                *expr = expression.clone();
            }
            return;
        }
        Expr::Subquery(subquery) => replace_outer(subquery, by),
        _ => {}
    }
    expr.children_mut().into_iter().for_each(|child| replace_columns(child, by));
}

fn replace_outer(subquery: &mut Subquery, by: &HashMap<ColId, Expr>) {
    if !subquery.outer.iter().any(|id| by.contains_key(id)) {
        return;
    }
    replace_in_rel(&mut subquery.rel, by);
    for id in std::mem::take(&mut subquery.outer) {
        let mentioned = by.get(&id).map_or_else(|| vec![id], |expression| expression.columns().into_iter().collect());
        let new: Vec<ColId> = mentioned.into_iter().filter(|id| !subquery.outer.contains(id)).collect();
        subquery.outer.extend(new);
    }
}

fn replace_in_rel(rel: &mut Rel, by: &HashMap<ColId, Expr>) {
    rel.exprs_mut().into_iter().for_each(|expr| replace_columns(expr, by));
    rel.inputs_mut().into_iter().for_each(|input| replace_in_rel(input, by));
}
