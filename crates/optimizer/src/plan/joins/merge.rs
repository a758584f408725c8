//! Joining inputs that come in the order of their keys: which tables can be read so, and the join itself.

use super::build::split_keys;
use crate::cost::CostModel;
use crate::join_order::{
    graph::Graph,
    orders::{Order, Orders, one_type},
};
use crate::plan::Planner;
use crate::scope::ColSet;
use muster_algebra::{ColId, CompareOp, Estimate, Expr, JoinKind, Plan, PlanOp, Rel, SortKey, Switch};
use muster_types::{Result, SqlError};

pub fn ascending(column: ColId) -> SortKey {
    SortKey { expr: Expr::Column(column), descending: false }
}

/// Plans the base tables that an index gives in an order, where another table can be read so too.
pub fn plan_units(orders: &mut Orders, planner: &mut Planner<'_>, graph: &Graph, used: &ColSet) -> Result<()> {
    let leads = |members: &[(usize, ColId)]| {
        let of = |(unit, column): &(usize, ColId)| {
            let base = base_table(&graph.units[*unit].rel, used).filter(|(table, _)| leads(table, *column))?;
            Some((*unit, *column, base))
        };
        members.iter().filter_map(of).collect::<Vec<_>>()
    };
    for (order, Order { equal, dependent }) in orders.all.iter().enumerate() {
        let (mut ways, others) = (leads(equal), leads(dependent));
        if ways.is_empty() || ways.len() + others.len() < 2 || !one_type(equal, &planner.columns) {
            continue;
        }
        ways.extend(others);
        for (unit, column, (table, predicates)) in ways {
            if !planner.options.for_rel(table).is_on(Switch::MergeJoin) {
                continue;
            }
            let by = [ascending(column)];
            let plan = planner.plan_table(table, predicates, used, &by, None)?;
            if plan.order == by {
                orders.plans.insert((unit, order), plan);
            }
        }
    }
    Ok(())
}

/// The table that a unit reads, and the conditions on it; `None` if some of the columns that are used are computed.
fn base_table<'r>(unit: &'r Rel, used: &ColSet) -> Option<(&'r Rel, &'r [Expr])> {
    match unit {
        Rel::Get { .. } => Some((unit, &[])),
        Rel::Filter { input, predicates } if matches!(**input, Rel::Get { .. }) => Some((input, predicates)),
        Rel::Project { input, exprs } => {
            let is_computed = |(id, expr): &(ColId, Expr)| *expr != Expr::Column(*id);
            let plain = exprs.iter().all(|expr| !is_computed(expr) || !used.contains(&expr.0));
            plain.then(|| base_table(input, used)).flatten()
        }
        _ => None,
    }
}

/// Returns true if the table has an index that begins with the column.
fn leads(table: &Rel, column: ColId) -> bool {
    let Rel::Get { table, columns, .. } = table else { return false };
    let position = columns.iter().find(|(id, _)| *id == column).map(|(_, position)| *position);
    table.indexes.iter().any(|i| i.parts.first().is_some_and(|p| Some(p.column) == position))
}

/// Joins two inputs that come in an order.
pub fn join(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    order: &Order,
    on: Vec<Expr>,
    rows: f64,
    output: Vec<ColId>,
    cost: &CostModel,
) -> Result<Plan> {
    let members: Vec<ColId> = order.equal.iter().chain(&order.dependent).map(|(_, id)| *id).collect();
    let ordered = |e: &Expr| matches!(e, Expr::Column(id) if members.contains(id));
    let on = on.into_iter().flat_map(Expr::into_conjuncts).collect();
    let (pairs, mut residual) = split_keys(on, &left.output, &right.output);
    let (mut keys, others): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(a, b)| ordered(a) && ordered(b));
    residual.extend(others.into_iter().map(|(a, b)| Expr::compare(CompareOp::Eq, a, b)));
    if keys.is_empty() {
        return Err(SqlError::internal("inputs merged without a key"));
    }
    residual.extend(keys.split_off(1).into_iter().map(|(a, b)| Expr::compare(CompareOp::Eq, a, b)));
    let delivered = order.equal.iter().map(|(_, id)| *id).find(|id| output.contains(id));
    let own = cost.merge_join(left.estimate.rows, right.estimate.rows, rows);
    let cost = left.estimate.cost + right.estimate.cost + own;
    let (left, right) = (Box::new(left), Box::new(right));
    let op = PlanOp::MergeJoin { kind, left, right, keys, residual };
    let order = delivered.map(ascending).into_iter().collect();
    Ok(Plan::new(op, output, Estimate { rows, cost }, order))
}
