//! The query graph of a join region: relations ("units"), and what connects them.
//!
//! ```text
//!   Filter [p]                       units       a, b, c inner; d dependent (semi), needs b
//!     Semi(on b.k = d.k)             classes     {a.x, b.x}, ...   columns that are equal in the result
//!       Join a, b, c           ->    edges       expr(a) = expr(b)
//!       d                            predicates  everything else that spans units
//!                                    order       which units come before which: STRAIGHT_JOIN
//! ```
//!
//! Inner joins are taken apart completely. The right input of a left, semi or anti join is a unit of its own that may
//! be joined as soon as the units its condition speaks of are there: such a join looks at one left row at a time, so it
//! commutes with the inner joins around it.

use super::precedence::Precedence;
use crate::column_classes::EqualColumns;
use crate::options::UNITS_MAX;
use crate::relation::filtered;
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Rel};
use std::collections::BTreeMap;

/// A set of units, one bit each.
pub type Units = u64;

/// How a unit takes part.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    Inner,
    /// The right input of a join of another kind. `needs`: units that have to be joined before.
    Dependent {
        kind: JoinKind,
        on: Vec<Expr>,
        needs: Units,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    pub rel: Rel,
    pub columns: ColSet,
    pub role: Role,
}

/// A condition over several units.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    pub expr: Expr,
    pub units: Units,
}

/// `left = right` where each side speaks of other units, and one of them is not a bare column.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    pub left: Expr,
    pub right: Expr,
    pub left_units: Units,
    pub right_units: Units,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    pub units: Vec<Unit>,
    /// Columns of inner units that are equal to each other; at most one of each unit.
    pub classes: Vec<Vec<(usize, ColId)>>,
    pub edges: Vec<Edge>,
    pub predicates: Vec<Predicate>,
    /// Conditions that speak of no unit.
    pub constants: Vec<Expr>,
    pub order: Precedence,
}

impl Graph {
    /// Takes a join region apart.
    #[cfg(test)]
    pub fn of(rel: &Rel) -> Graph {
        Graph::of_order(rel, false, UNITS_MAX)
    }

    /// Takes a join region apart into at most `units_max` units. `as_written`: every join as if it were a
    /// STRAIGHT_JOIN.
    pub fn of_order(rel: &Rel, as_written: bool, units_max: usize) -> Graph {
        let mut graph = Graph::default();
        let mut conjuncts = Vec::new();
        graph.collect(rel, as_written, units_max.clamp(2, UNITS_MAX), &mut conjuncts);
        graph.connect(conjuncts);
        graph
    }

    /// Takes a relation apart into `room` units at most.
    fn collect(&mut self, rel: &Rel, as_written: bool, room: usize, conjuncts: &mut Vec<Expr>) -> Units {
        match rel {
            Rel::Filter { input, predicates } if room > 1 && matches!(**input, Rel::Join { .. }) => {
                let units = self.collect(input, as_written, room, conjuncts);
                conjuncts.extend(predicates.iter().cloned());
                units
            }
            Rel::Join { kind: JoinKind::Inner, left, right, on, straight } if room > 1 => {
                let (left_room, right_room) = rooms(room, region_size(left), region_size(right));
                let left = self.collect(left, as_written, left_room, conjuncts);
                let right = self.collect(right, as_written, right_room, conjuncts);
                conjuncts.extend(on.iter().cloned());
                self.keep_order(*straight || as_written, left, right);
                left | right
            }
            Rel::Join { kind, left, right, on, straight } if room > 1 => {
                let around = self.collect(left, as_written, room - 1, conjuncts);
                let mentioned = scope::exprs_columns(on);
                let mut needs = 0;
                for (i, unit) in self.units.iter().enumerate() {
                    if around & (1 << i) != 0 && !unit.columns.is_disjoint(&mentioned) {
                        needs |= 1 << i;
                    }
                }
                let needs = if needs == 0 { around } else { needs };
                let role = Role::Dependent { kind: *kind, on: on.clone(), needs };
                let unit = self.add((**right).clone(), role);
                self.keep_order(*straight || as_written, around, unit);
                around | unit
            }
            _ => self.add(rel.clone(), Role::Inner),
        }
    }

    fn keep_order(&mut self, keep: bool, left: Units, right: Units) {
        if keep {
            let consistent = self.order.add(&[(left, right)]);
            debug_assert!(consistent, "the order of a text has no circle");
        }
    }

    fn add(&mut self, rel: Rel, role: Role) -> Units {
        debug_assert!(self.units.len() < UNITS_MAX, "a region has room for its units");
        let columns = scope::output_set(&rel);
        self.units.push(Unit { rel, columns, role });
        1 << (self.units.len() - 1)
    }

    /// The units whose columns are mentioned.
    pub fn units_of(&self, columns: &ColSet) -> Units {
        let mut units = 0;
        for (i, unit) in self.units.iter().enumerate() {
            if !unit.columns.is_disjoint(columns) {
                units |= 1 << i;
            }
        }
        units
    }

    pub fn inner_units(&self) -> Units {
        self.units.iter().enumerate().filter(|(_, u)| u.role == Role::Inner).map(|(i, _)| 1 << i).sum()
    }

    fn connect(&mut self, conjuncts: Vec<Expr>) {
        let inner = self.inner_units();
        let mut equal = EqualColumns::default();
        let mut local: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
        for expr in Expr::conjuncts_of(conjuncts) {
            let units = self.units_of(&scope::expr_columns(&expr));
            if units == 0 {
                self.constants.push(expr);
                continue;
            }
            if units & !inner != 0 {
                // Speaks of the NULL-extended side of a left join: to be checked when that join is done.
                let needs: Units = (0..self.units.len())
                    .filter(|i| units & (1 << i) != 0)
                    .map(|i| self.needs(i))
                    .fold(0, |a, b| a | b);
                self.predicates.push(Predicate { expr, units: units | needs });
                continue;
            }
            if units.count_ones() == 1 {
                local.entry(units.trailing_zeros() as usize).or_default().push(expr);
                continue;
            }
            if let Expr::Compare { op: CompareOp::Eq, left, right } = &expr
                && !expr.has_subquery()
            {
                if let (Expr::Column(a), Expr::Column(b)) = (&**left, &**right) {
                    equal.join(*a, *b);
                    continue;
                }
                let left_units = self.units_of(&scope::expr_columns(left));
                let right_units = self.units_of(&scope::expr_columns(right));
                if left_units != 0 && right_units != 0 && left_units & right_units == 0 {
                    let (left, right) = ((**left).clone(), (**right).clone());
                    self.edges.push(Edge { left, right, left_units, right_units });
                    continue;
                }
            }
            self.predicates.push(Predicate { expr, units });
        }
        for class in equal.classes {
            let mut members: Vec<(usize, ColId)> = Vec::new();
            for id in class {
                let Some(unit) = self.units.iter().position(|u| u.columns.contains(&id)) else { continue };
                match members.iter().find(|(u, _)| *u == unit) {
                    // Two columns of one unit: equal by transitivity, to be checked in that unit.
                    Some((_, first)) => {
                        let same = Expr::eq(Expr::Column(*first), Expr::Column(id));
                        local.entry(unit).or_default().push(same);
                    }
                    None => members.push((unit, id)),
                }
            }
            self.classes.push(members);
        }
        for (unit, predicates) in local {
            let rel = &mut self.units[unit].rel;
            let taken = crate::substitution::take(rel);
            *rel = filtered(taken, predicates);
        }
    }

    fn needs(&self, unit: usize) -> Units {
        match &self.units[unit].role {
            Role::Inner => 0,
            Role::Dependent { needs, .. } => *needs,
        }
    }

    /// Returns true if a condition connects two disjoint sets of units.
    pub fn connects(&self, a: Units, b: Units) -> bool {
        let both = a | b;
        let within = |units: Units| units & !both == 0 && units & a != 0 && units & b != 0;
        self.classes
            .iter()
            .any(|class| class.iter().any(|(u, _)| a & (1 << u) != 0) && class.iter().any(|(u, _)| b & (1 << u) != 0))
            || self.edges.iter().any(|e| within(e.left_units | e.right_units))
            || self.predicates.iter().any(|p| within(p.units))
    }
}

/// Number of units of a relation that is taken apart completely.
fn region_size(rel: &Rel) -> usize {
    match rel {
        Rel::Filter { input, .. } if matches!(**input, Rel::Join { .. }) => region_size(input),
        Rel::Join { kind: JoinKind::Inner, left, right, .. } => region_size(left) + region_size(right),
        Rel::Join { left, .. } => region_size(left) + 1,
        _ => 1,
    }
}

/// How many units each input of an inner join may be taken apart into. Where there is no room for both, the smaller
/// input is left whole.
fn rooms(room: usize, left: usize, right: usize) -> (usize, usize) {
    match left + right <= room {
        true => (left, right),
        false if left < right => (1, room - 1),
        false => (room - 1, 1),
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
