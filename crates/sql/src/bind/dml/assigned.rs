//! Subqueries in assignments of a single-table UPDATE. Assignments are made from left to right, and a subquery that
//! mentions the row sees what those before it have stored. Its value is computed with the row that the search finds, so
//! the columns assigned before are replaced in it by what is assigned to them.

use super::{Assignment, ChangeTarget, NewValue, replace::replace_columns};
use muster_algebra::{ColId, DefaultValue, Expr};
use muster_types::SqlType;
use std::collections::HashMap;

/// What stands for each column that has been assigned.
type Assigned = HashMap<ColId, Expr>;

/// Lets the subqueries of each assignment see the assignments before it.
pub(super) fn see_assigned(assignments: &mut [Assignment], target: &ChangeTarget) {
    let mut assigned = Assigned::new();
    for Assignment { column, value, .. } in assignments {
        let def = &target.table.columns[*column];
        let stored = match value {
            NewValue::Expr(expr) => {
                replace_in_subqueries(expr, &assigned);
                let mut whole = expr.clone();
                replace_columns(&mut whole, &assigned);
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
        Expr::Subquery(_) => replace_columns(expr, assigned),
        _ => expr.children_mut().into_iter().for_each(|child| replace_in_subqueries(child, assigned)),
    }
}
