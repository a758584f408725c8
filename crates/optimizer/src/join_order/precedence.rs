//! Which units have to be joined before which others: STRAIGHT_JOIN, hints, and joins whose condition needs other
//! units.

use super::graph::{Role, Unit, Units};
use muster_algebra::{ColId, Hints, OrderHint, OrderKind, Rel};
use std::collections::BTreeSet;

/// An order of units that is not to be changed. Never contradicts itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Precedence {
    /// For each unit, the units that come after it.
    later: Vec<Units>,
}

impl Precedence {
    /// Returns true if any order is given.
    pub fn is_empty(&self) -> bool {
        self.later.iter().all(|units| *units == 0)
    }

    /// Returns true if `left` may be read before `right`.
    pub fn allows(&self, left: Units, right: Units) -> bool {
        ones(right).all(|unit| self.later.get(unit).is_none_or(|later| later & left == 0))
    }

    /// Returns true if nothing in `rest` has to come before the unit.
    pub fn may_follow(&self, unit: usize, rest: Units) -> bool {
        self.allows(1 << unit, rest)
    }

    /// Has all of `first` come before all of `second`; `false`, and nothing changes, when that contradicts what is
    /// known.
    pub fn add(&mut self, pairs: &[(Units, Units)]) -> bool {
        let mut later = self.later.clone();
        for (first, second) in pairs {
            let needed = (64 - (first | second).leading_zeros()) as usize;
            later.resize(later.len().max(needed), 0);
            for unit in ones(*first) {
                later[unit] |= second;
            }
        }
        // What comes after a later unit comes after this one too (Warshall).
        for through in 0..later.len() {
            for unit in 0..later.len() {
                if later[unit] & (1 << through) != 0 {
                    later[unit] |= later[through];
                }
            }
        }
        let circular = later.iter().enumerate().any(|(unit, after)| after & (1 << unit) != 0);
        if !circular {
            self.later = later;
        }
        !circular
    }

    /// Adds the hints that speak of these units; returns those that contradict what is known.
    pub fn add_hints<'h>(&mut self, hints: &'h Hints, units: &[Unit]) -> Vec<&'h OrderHint> {
        let mut refused = Vec::new();
        if hints.orders.is_empty() {
            return refused;
        }
        let bases: Vec<BTreeSet<ColId>> = units.iter().map(|u| base_columns(&u.rel)).collect();
        let needs = units.iter().enumerate().filter_map(|(i, unit)| match &unit.role {
            Role::Dependent { needs, .. } => Some((*needs, 1 << i)),
            Role::Inner => None,
        });
        let mut with_needs = self.clone();
        with_needs.add(&needs.collect::<Vec<_>>());
        for hint in &hints.orders {
            let of_table = |table: &BTreeSet<ColId>| -> Units {
                let of = bases.iter().enumerate().filter(|(_, columns)| !columns.is_disjoint(table));
                of.map(|(i, _)| 1 << i).sum()
            };
            let tables: Vec<Units> = hint.tables.iter().map(of_table).filter(|units| *units != 0).collect();
            let pairs = pairs_of(hint.kind, &tables, units.len());
            let followed = pairs.is_empty() || (with_needs.add(&pairs) && self.add(&pairs));
            if !followed {
                refused.push(hint);
            }
        }
        refused
    }
}

fn pairs_of(kind: OrderKind, tables: &[Units], count: usize) -> Vec<(Units, Units)> {
    let mut seen: Units = 0;
    let mut pairs = Vec::new();
    for table in tables {
        // A unit that has several of the tables in it stays where the first of them puts it.
        let new = table & !seen;
        if seen != 0 && new != 0 {
            pairs.push((seen, new));
        }
        seen |= new;
    }
    let others = ((1u64 << count) - 1) & !seen;
    match kind {
        _ if seen == 0 || others == 0 => {}
        OrderKind::Order => {}
        OrderKind::Prefix => pairs.push((seen, others)),
        OrderKind::Suffix => pairs.push((others, seen)),
    }
    pairs
}

/// Columns of all base tables in a relation.
fn base_columns(rel: &Rel) -> BTreeSet<ColId> {
    match rel {
        Rel::Get { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
        other => other.inputs().into_iter().flat_map(base_columns).collect(),
    }
}

/// The units of a set.
fn ones(mut units: Units) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let unit = (units != 0).then(|| units.trailing_zeros() as usize)?;
        units &= units - 1;
        Some(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_follow_from_each_other_and_never_contradict() {
        let mut order = Precedence::default();
        assert!(order.is_empty() && order.allows(0b10, 0b01));
        assert!(order.add(&[(0b001, 0b010)]) && order.add(&[(0b010, 0b100)]));
        assert!(order.allows(0b001, 0b110) && !order.allows(0b100, 0b001), "0 before 1 before 2");
        assert!(!order.add(&[(0b100, 0b001)]), "a circle");
        assert!(order.may_follow(0, 0b110) && !order.may_follow(2, 0b001));
    }

    #[test]
    fn prefixes_and_suffixes_bound_all_others() {
        assert_eq!(pairs_of(OrderKind::Order, &[0b010, 0b001], 3), [(0b010, 0b001)]);
        assert_eq!(pairs_of(OrderKind::Prefix, &[0b010, 0b001], 3), [(0b010, 0b001), (0b011, 0b100)]);
        assert_eq!(pairs_of(OrderKind::Suffix, &[0b010], 3), [(0b101, 0b010)]);
        assert_eq!(pairs_of(OrderKind::Order, &[0b011, 0b010, 0b100], 3), [(0b011, 0b100)]);
    }
}
