//! Subqueries in assignments of a single-table UPDATE. Assignments are made from left to right, and a subquery that mentions the row
//! sees what those before it have stored. Its value is computed with the row that the search finds, so the columns assigned before
//! are replaced in it by what is assigned to them.

use super::{Assignment, NewValue, Target};
use muster_algebra::{ColId, DefaultValue, Expr, Rel, Subquery};
use muster_types::SqlType;
use std::collections::BTreeMap;

/// What stands for each column that has been assigned.
type Assigned = BTreeMap<ColId, Expr>;

/// Lets the subqueries of each assignment see the assignments before it.
pub(super) fn see_assigned(assignments: &mut [Assignment], target: &Target) {
    let mut assigned = Assigned::new();
    for Assignment { column, value, .. } in assignments {
        let def = &target.table.columns[*column];
        let stored = match value {
            NewValue::Expr(expr) => {
                replace_in_subqueries(expr, &assigned);
                let mut whole = expr.clone();
                replace(&mut whole, &assigned);
                Some(Expr::Cast { arg: Box::new(whole), ty: def.ty })
            }
            NewValue::Value(value) => Some(Expr::Literal { value: value.clone(), ty: def.ty }),
            NewValue::Default => match &def.default {
                Some(DefaultValue::Value(value)) => Some(Expr::Literal { value: value.clone(), ty: def.ty }),
                _ => None,
            },
        };
        // Values of TIMESTAMP columns are UTC as they are stored, those of expressions are not.
        if let Some(stored) = stored.filter(|_| !matches!(def.ty, SqlType::Timestamp { .. })) {
            assigned.insert(target.columns[*column], stored);
        }
    }
}

fn replace_in_subqueries(expr: &mut Expr, assigned: &Assigned) {
    match expr {
        Expr::Subquery(_) => replace(expr, assigned),
        _ => expr.children_mut().into_iter().for_each(|child| replace_in_subqueries(child, assigned)),
    }
}

/// Replaces columns of the row, also in subqueries.
fn replace(expr: &mut Expr, assigned: &Assigned) {
    match expr {
        Expr::Column(id) => {
            if let Some(stored) = assigned.get(id) {
                *expr = stored.clone();
            }
            return;
        }
        Expr::Subquery(subquery) => replace_outer(subquery, assigned),
        _ => {}
    }
    expr.children_mut().into_iter().for_each(|child| replace(child, assigned));
}

fn replace_outer(subquery: &mut Subquery, assigned: &Assigned) {
    if !subquery.outer.iter().any(|id| assigned.contains_key(id)) {
        return;
    }
    replace_in_rel(&mut subquery.rel, assigned);
    for id in std::mem::take(&mut subquery.outer) {
        let mentioned = assigned.get(&id).map_or_else(|| vec![id], |stored| stored.columns().into_iter().collect());
        let new: Vec<ColId> = mentioned.into_iter().filter(|id| !subquery.outer.contains(id)).collect();
        subquery.outer.extend(new);
    }
}

fn replace_in_rel(rel: &mut Rel, assigned: &Assigned) {
    rel.exprs_mut().into_iter().for_each(|expr| replace(expr, assigned));
    rel.inputs_mut().into_iter().for_each(|input| replace_in_rel(input, assigned));
}
