//! The orders of join columns that inputs may come in, for joins in key order.
//!
//! The order is that of one column, the leading one of an index; further equalities of the join are checked on pairs.
//! So a key that is a prefix of the clustered key serves as well as the whole key. The left input's order is the
//! result's, also of left, semi and anti joins.

use super::graph::{Graph, Role};
use muster_algebra::{ColId, Columns, CompareOp, Expr, JoinKind, Plan, SqlType};
use std::collections::HashMap;

/// What rows can be ordered by: columns with their units.
pub struct Order {
    /// Equal columns of inner units.
    pub equal: Vec<(usize, ColId)>,
    /// Columns by which dependent units are joined to these.
    pub dependent: Vec<(usize, ColId)>,
}

/// The orders of a join region, and which units an index gives so.
pub struct Orders {
    /// First those of the graph's classes ([`Graph::classes`]), then of other columns that dependent units are joined
    /// to.
    pub all: Vec<Order>,
    /// Plans of units in an order, by unit and order.
    pub plans: HashMap<(usize, usize), Plan>,
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

/// Returns true if the columns' values are ordered alike. Texts are not: their order is that of their collation, and
/// they are joined by other bytes.
pub fn one_type(members: &[(usize, ColId)], columns: &Columns) -> bool {
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
