//! Joining inputs that come in the order of their keys: which tables can be read so, and the join itself.
//!
//! The order is that of one column, the leading one of an index; further equalities of the join are checked on pairs.
//! So a key that is a prefix of the clustered key serves as well as the whole key. The left input's order is the
//! result's, also of left, semi and anti joins.

use super::graph::{Graph, Role};
use super::split_keys;
use crate::cost::CostModel;
use crate::plan::Planner;
use crate::scope::ColSet;
use muster_algebra::{
    ColId, Columns, CompareOp, Estimate, Expr, JoinKind, Plan, PlanOp, Rel, SortKey, SqlType, Switch,
};
use muster_types::{Result, SqlError};
use std::collections::HashMap;

/// What rows can be ordered by: columns with their units.
pub struct Order {
    /// Equal columns of inner units.
    equal: Vec<(usize, ColId)>,
    /// Columns by which dependent units are joined to these.
    dependent: Vec<(usize, ColId)>,
}

/// The orders of a join region, and which units an index gives so.
pub struct Orders {
    /// First those of the graph's classes ([`Graph::classes`]), then of other columns that dependent units are joined
    /// to.
    pub all: Vec<Order>,
    /// Plans of units in an order, by unit and order.
    pub plans: HashMap<(usize, usize), Plan>,
}

pub fn ascending(column: ColId) -> SortKey {
    SortKey { expr: Expr::Column(column), descending: false }
}

impl Orders {
    /// The orders of a region, without plans.
    pub fn new(graph: &Graph, columns: &Columns) -> Orders {
        let of = |equal: Vec<(usize, ColId)>| Order { equal, dependent: Vec::new() };
        let mut all: Vec<Order> = graph.classes.iter().cloned().map(of).collect();
        for unit in 0..graph.units.len() {
            for (outer, own) in dependent_keys(graph, unit) {
                let known = all.iter().position(|order| order.equal.contains(&outer));
                let order = known.unwrap_or_else(|| {
                    all.push(of(vec![outer]));
                    all.len() - 1
                });
                // Of several columns joined to equal ones, the first gives the order.
                let dependent = &mut all[order].dependent;
                if dependent.iter().all(|(other, _)| *other != unit) && one_type(&[outer, (unit, own)], columns) {
                    dependent.push((unit, own));
                }
            }
        }
        Orders { all, plans: HashMap::new() }
    }

    /// The order of rows that are ordered by this column.
    pub fn by(&self, column: ColId) -> Option<usize> {
        self.all.iter().position(|order| order.equal.iter().any(|(_, id)| *id == column))
    }

    /// Plans the base tables that an index gives in an order, where another table can be read so too.
    pub fn plan_units(&mut self, planner: &mut Planner<'_>, graph: &Graph, used: &ColSet) -> Result<()> {
        let leads = |members: &[(usize, ColId)]| {
            let of = |(unit, column): &(usize, ColId)| {
                let base = base_table(&graph.units[*unit].rel, used).filter(|(table, _)| leads(table, *column))?;
                Some((*unit, *column, base))
            };
            members.iter().filter_map(of).collect::<Vec<_>>()
        };
        for (order, Order { equal, dependent }) in self.all.iter().enumerate() {
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
                    self.plans.insert((unit, order), plan);
                }
            }
        }
        Ok(())
    }
}

/// The columns that a dependent unit is joined by, with the column of an inner unit that each is equal to; none if its
/// kind of join cannot be merged.
fn dependent_keys(graph: &Graph, unit: usize) -> Vec<((usize, ColId), ColId)> {
    let Role::Dependent { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, on, .. } = &graph.units[unit].role
    else {
        return Vec::new();
    };
    if on.iter().any(Expr::has_subquery) {
        return Vec::new();
    }
    let owner = |id: ColId| graph.units.iter().position(|u| u.columns.contains(&id));
    let pairs = on.iter().filter_map(|condition| match condition {
        Expr::Compare { op: CompareOp::Eq, left, right } => match (&**left, &**right) {
            (Expr::Column(a), Expr::Column(b)) => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    });
    let directed = pairs.filter_map(|(a, b)| match (owner(a)?, owner(b)?) {
        (outer, own) if own == unit && outer != unit => Some(((outer, a), b)),
        (own, outer) if own == unit && outer != unit => Some(((outer, b), a)),
        _ => None,
    });
    directed.filter(|((outer, _), _)| graph.units[*outer].role == Role::Inner).collect()
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

/// Returns true if the columns' values are ordered alike. Texts are not: their order is that of their collation, and
/// they are joined by other bytes.
fn one_type(members: &[(usize, ColId)], columns: &Columns) -> bool {
    let kind = |id: ColId| match columns.ty(id).stored_type() {
        SqlType::Int { unsigned, .. } => Some((0, u32::from(unsigned))),
        SqlType::Decimal { scale, .. } => Some((1, u32::from(scale))),
        SqlType::Year => Some((6, 0)),
        SqlType::Date => Some((2, 0)),
        SqlType::DateTime { .. } => Some((3, 0)),
        SqlType::Timestamp { .. } => Some((4, 0)),
        SqlType::Time { .. } => Some((5, 0)),
        _ => None,
    };
    let mut kinds = members.iter().map(|(_, id)| kind(*id));
    kinds.next().flatten().is_some_and(|first| kinds.all(|k| k == Some(first)))
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
