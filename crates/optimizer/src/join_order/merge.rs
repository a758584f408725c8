//! Joining inputs that come in the order of their keys: which tables can be read so, and the join itself.
//!
//! The order is that of one column, the leading one of an index; further equalities of the join are checked on pairs. So a
//! key that is a prefix of the clustered key serves as well as the whole key.

use super::graph::{Graph, Role};
use super::split_keys;
use crate::cost;
use crate::plan::Planner;
use crate::scope::ColSet;
use muster_algebra::{ColId, Columns, CompareOp, Estimate, Expr, JoinKind, Plan, PlanOp, Rel, SortKey, SqlType};
use muster_types::{Result, SqlError};
use std::collections::HashMap;

/// Plans of units in the order of a class, by unit and class.
pub type OrderedUnits = HashMap<(usize, usize), Plan>;

pub fn ascending(column: ColId) -> SortKey {
    SortKey { expr: Expr::Column(column), descending: false }
}

/// Plans of the base tables that an index gives in the order of a join column, where another table can be read so too.
pub fn ordered_units(planner: &mut Planner<'_>, graph: &Graph, used: &ColSet) -> Result<OrderedUnits> {
    let mut found = OrderedUnits::new();
    for (class, members) in graph.classes.iter().enumerate() {
        let leads: Vec<(usize, ColId)> = members.iter().filter(|(u, id)| leads(graph, *u, *id)).copied().collect();
        if leads.len() < 2 || !one_type(members, planner.columns) {
            continue;
        }
        for (unit, column) in leads {
            let rel = &graph.units[unit].rel;
            if !planner.options.for_rel(rel).is_on("merge_join") {
                continue;
            }
            let (get, predicates): (&Rel, &[Expr]) = match rel {
                Rel::Filter { input, predicates } => (input, predicates),
                other => (other, &[]),
            };
            let order = [ascending(column)];
            let plan = planner.plan_table(get, predicates, used, &order, None)?;
            if plan.order == order {
                found.insert((unit, class), plan);
            }
        }
    }
    Ok(found)
}

/// Whether the unit is a base table with an index that begins with the column.
fn leads(graph: &Graph, unit: usize, column: ColId) -> bool {
    let bare = match &graph.units[unit].rel {
        Rel::Filter { input, .. } => input,
        other => other,
    };
    let Rel::Get { table, columns, .. } = bare else { return false };
    let position = columns.iter().find(|(id, _)| *id == column).map(|(_, position)| *position);
    graph.units[unit].role == Role::Inner
        && table.indexes.iter().any(|i| i.parts.first().is_some_and(|p| Some(p.column) == position))
}

/// Whether the columns' values are ordered alike. Texts are not: their order is that of their collation, and they are
/// joined by other bytes.
fn one_type(members: &[(usize, ColId)], columns: &Columns) -> bool {
    let kind = |id: ColId| match columns.ty(id) {
        SqlType::Int { unsigned, .. } => Some((0, u32::from(unsigned))),
        SqlType::Decimal { scale, .. } => Some((1, u32::from(scale))),
        SqlType::Date => Some((2, 0)),
        SqlType::DateTime { .. } => Some((3, 0)),
        SqlType::Timestamp { .. } => Some((4, 0)),
        SqlType::Time { .. } => Some((5, 0)),
        _ => None,
    };
    let mut kinds = members.iter().map(|(_, id)| kind(*id));
    kinds.next().flatten().is_some_and(|first| kinds.all(|k| k == Some(first)))
}

/// Joins two inputs that come in the order of a class.
pub fn join(
    left: Plan,
    right: Plan,
    class: &[(usize, ColId)],
    on: Vec<Expr>,
    rows: f64,
    output: Vec<ColId>,
) -> Result<Plan> {
    let in_class = |e: &Expr| matches!(e, Expr::Column(id) if class.iter().any(|(_, member)| member == id));
    let on = on.into_iter().flat_map(Expr::into_conjuncts).collect();
    let (pairs, mut residual) = split_keys(on, &left.output, &right.output);
    let (mut keys, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(a, b)| in_class(a) && in_class(b));
    residual.extend(others.into_iter().map(|(a, b)| Expr::compare(CompareOp::Eq, a, b)));
    if keys.is_empty() {
        return Err(SqlError::internal("inputs merged without a key"));
    }
    residual.extend(keys.split_off(1).into_iter().map(|(a, b)| Expr::compare(CompareOp::Eq, a, b)));
    let delivered = class.iter().map(|(_, id)| *id).find(|id| output.contains(id));
    let cost_ms = left.estimate.cost_ms
        + right.estimate.cost_ms
        + cost::merge_join(left.estimate.rows, right.estimate.rows, rows);
    let (left, right) = (Box::new(left), Box::new(right));
    let op = PlanOp::MergeJoin { kind: JoinKind::Inner, left, right, keys, residual };
    let order = delivered.map(ascending).into_iter().collect();
    Ok(Plan { op, output, estimate: Estimate { rows, cost_ms }, order })
}
