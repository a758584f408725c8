//! Which joins in which order: dynamic programming over connected sets of units. Large regions are ordered by
//! [`super::greedy`].
//!
//! Knows neither rows nor costs; it asks a [`JoinModel`].

use super::graph::{Graph, Role, Units};
use super::greedy::greedy;
use crate::interrupt::Interrupt;
use crate::trace::JoinWay;
use muster_types::Result;
use std::collections::HashMap;

/// What the enumerator asks about a join.
pub trait JoinModel {
    /// Rows of the join of these units.
    fn rows(&self, units: Units) -> f64;
    /// Cost of getting a unit's rows.
    fn unit_cost(&self, unit: usize) -> f64;
    /// Cost of joining two inputs, without their own cost. `dependent`: the right input is this dependent unit.
    fn join_cost(&self, left: Units, right: Units, dependent: Option<usize>) -> f64;
    /// Cost of looking a unit's rows up for those of other units, the cost of the unit by itself not needed; `None` if
    /// no index serves. The unit may be dependent.
    fn lookup_cost(&self, left: Units, unit: usize) -> Option<f64>;
    /// Number of orders that rows may come in; the first are those of the graph's equality classes.
    fn orders(&self) -> usize {
        0
    }
    /// Cost of getting a unit's rows in an order; `None` if no index gives it.
    fn ordered_cost(&self, _unit: usize, _order: usize) -> Option<f64> {
        None
    }
    /// Cost of merging two inputs in an order, without their own cost; `None` if they may not be merged. `right` may be
    /// a dependent unit.
    fn merge_cost(&self, _left: Units, _right: Units, _order: usize) -> Option<f64> {
        None
    }
    /// Returns true if the joins that are considered are to be noted.
    fn is_traced(&self) -> bool {
        false
    }
    /// Notes a join that was considered; `kept`: nothing cheaper was found for the same units so far.
    fn note_join(&self, _left: Units, _right: Units, _way: JoinWay, _cost: f64, _kept: bool) {}
}

/// A join tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Unit(usize),
    Inner(Box<Tree>, Box<Tree>),
    /// The unit is joined by its own kind of join.
    Dependent(Box<Tree>, usize),
    /// The unit's rows are looked up; by its own kind of join if it is dependent.
    Lookup(Box<Tree>, usize),
    /// A unit in an order.
    Ordered(usize, usize),
    /// Two inputs in an order, merged; by the right one's own kind of join if it is a dependent unit.
    Merge(Box<Tree>, Box<Tree>, usize),
}

impl Tree {
    pub fn units(&self) -> Units {
        match self {
            Tree::Unit(i) | Tree::Ordered(i, _) => 1 << i,
            Tree::Inner(a, b) | Tree::Merge(a, b, _) => a.units() | b.units(),
            Tree::Dependent(a, i) | Tree::Lookup(a, i) => a.units() | 1 << i,
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    Unit(usize),
    Inner(Units, Units),
    Dependent(Units, usize),
    Lookup(Units, usize),
    Ordered(usize, usize),
    Merge(Units, Units, usize),
}

/// The best way to each set of units: in any order, and in each one.
#[derive(Default)]
struct FoundPlan {
    best: HashMap<Units, (f64, Step)>,
    ordered: HashMap<(Units, usize), (f64, Step)>,
}

/// The best tree over all units. `exhaustive_max`: regions of at most so many units are searched completely.
/// Error: that of the interrupt.
pub fn enumerate(graph: &Graph, model: &dyn JoinModel, exhaustive_max: usize, interrupt: &Interrupt) -> Result<Tree> {
    if graph.units.len() <= exhaustive_max.min(16) {
        let all: Units = (1 << graph.units.len()) - 1;
        for cross_products in [false, true] {
            let found = search(graph, model, all, cross_products, interrupt)?;
            if found.best.contains_key(&all) {
                return Ok(found.tree(all));
            }
        }
    }
    greedy(graph, model, interrupt)
}

/// The best tree whose rows come in an order, if there is one.
/// Error: that of the interrupt.
pub fn enumerate_ordered(
    graph: &Graph,
    model: &dyn JoinModel,
    exhaustive_max: usize,
    order: usize,
    interrupt: &Interrupt,
) -> Result<Option<Tree>> {
    if graph.units.len() > exhaustive_max.min(16) {
        return Ok(None);
    }
    let all: Units = (1 << graph.units.len()) - 1;
    let found = search(graph, model, all, false, interrupt)?;
    Ok(found.ordered.contains_key(&(all, order)).then(|| found.ordered_tree(all, order)))
}

/// Units that are joined by their own kind of join, each with the units that have to be joined before.
pub(super) fn dependents(graph: &Graph) -> Vec<(usize, Units)> {
    let roles = graph.units.iter().enumerate();
    roles
        .filter_map(|(i, u)| match &u.role {
            Role::Inner => None,
            Role::Dependent { needs, .. } => Some((i, *needs)),
        })
        .collect()
}

fn search(
    graph: &Graph,
    model: &dyn JoinModel,
    all: Units,
    cross_products: bool,
    interrupt: &Interrupt,
) -> Result<FoundPlan> {
    let dependents = dependents(graph);
    let dependent_bits: Units = dependents.iter().map(|(i, _)| 1 << i).sum();
    let FoundPlan { mut best, mut ordered } = FoundPlan::default();
    let orderable = |order: &usize| (0..graph.units.len()).any(|unit| model.ordered_cost(unit, *order).is_some());
    let orders: Vec<usize> = (0..model.orders()).filter(orderable).collect();
    for &order in &orders {
        for unit in 0..graph.units.len() {
            if let Some(cost) = model.ordered_cost(unit, order) {
                ordered.insert((1 << unit, order), (cost, Step::Ordered(unit, order)));
            }
        }
    }
    let traced = model.is_traced().then_some(model);
    for units in 1..=all {
        if units & !dependent_bits == 0 {
            continue;
        }
        interrupt.check()?;
        let mut found: Option<(f64, Step)> = None;
        let mut offer = |cost: f64, step: Step| offered(&mut found, cost, step, traced);
        if units.count_ones() == 1 {
            let unit = units.trailing_zeros() as usize;
            offer(model.unit_cost(unit), Step::Unit(unit));
        }
        for (unit, needs) in &dependents {
            let rest = units & !(1 << unit);
            if rest == units || needs & !rest != 0 || !graph.order.allows(rest, 1 << unit) {
                continue;
            }
            if let Some((cost, _)) = best.get(&rest) {
                let own = model.unit_cost(*unit) + model.join_cost(rest, 1 << unit, Some(*unit));
                offer(cost + own, Step::Dependent(rest, *unit));
                if let Some(own) = model.lookup_cost(rest, *unit) {
                    offer(cost + own, Step::Lookup(rest, *unit));
                }
            }
        }
        for unit in (0..graph.units.len()).filter(|i| units & !dependent_bits & (1 << i) != 0) {
            let rest = units & !(1 << unit);
            if let Some((cost, _)) = best.get(&rest)
                && graph.order.allows(rest, 1 << unit)
                && let Some(own) = model.lookup_cost(rest, unit)
            {
                offer(cost + own, Step::Lookup(rest, unit));
            }
        }
        // Every split once: the part with the lowest unit is `left`, unless it has to come later.
        let lowest = units & units.wrapping_neg();
        let mut left = (units - 1) & units;
        while left != 0 {
            let right = units & !left;
            if left & lowest != 0
                && let (Some((a, _)), Some((b, _))) = (best.get(&left), best.get(&right))
                && (cross_products || graph.connects(left, right))
            {
                let cost = a + b + model.join_cost(left, right, None);
                if graph.order.allows(left, right) {
                    offer(cost, Step::Inner(left, right));
                } else if graph.order.allows(right, left) {
                    offer(cost, Step::Inner(right, left));
                }
            }
            left = (left - 1) & units;
        }
        for &order in &orders {
            let Some((cost, step)) = merged(graph, model, &ordered, &dependents, units, order) else { continue };
            ordered.insert((units, order), (cost, step));
            offered(&mut found, cost, step, traced);
        }
        if let Some(found) = found {
            best.insert(units, found);
        }
    }
    Ok(FoundPlan { best, ordered })
}

/// Keeps a step if it is the cheapest so far. `traced`: the model, if steps are to be noted.
fn offered(found: &mut Option<(f64, Step)>, cost: f64, step: Step, traced: Option<&dyn JoinModel>) {
    let is_best = found.is_none_or(|(least, _)| cost < least);
    if let Some(model) = traced {
        note(model, step, cost, is_best);
    }
    if is_best {
        *found = Some((cost, step));
    }
}

/// Notes a step that was considered.
fn note(model: &dyn JoinModel, step: Step, cost: f64, kept: bool) {
    let (left, right, way) = match step {
        Step::Unit(unit) | Step::Ordered(unit, _) => (0, 1 << unit, JoinWay::First),
        Step::Inner(left, right) => (left, right, JoinWay::Inputs),
        Step::Dependent(left, unit) => (left, 1 << unit, JoinWay::Inputs),
        Step::Lookup(left, unit) => (left, 1 << unit, JoinWay::Lookup),
        Step::Merge(left, right, _) => (left, right, JoinWay::Merge),
    };
    model.note_join(left, right, way, cost, kept);
}

/// The best way to merge two parts of a set of units in an order.
fn merged(
    graph: &Graph,
    model: &dyn JoinModel,
    ordered: &HashMap<(Units, usize), (f64, Step)>,
    dependents: &[(usize, Units)],
    units: Units,
    order: usize,
) -> Option<(f64, Step)> {
    let is_dependent = |part: Units| dependents.iter().any(|(unit, _)| part == 1 << unit);
    let has_needs =
        |left: Units, right: Units| dependents.iter().all(|(u, needs)| right != 1 << u || needs & !left == 0);
    let mut found: Option<(f64, Step)> = None;
    let mut left = (units - 1) & units;
    while left != 0 {
        let right = units & !left;
        if let (Some((a, _)), Some((b, _))) = (ordered.get(&(left, order)), ordered.get(&(right, order)))
            && !is_dependent(left)
            && has_needs(left, right)
            && graph.order.allows(left, right)
            && let Some(own) = model.merge_cost(left, right, order)
            && found.is_none_or(|(least, _)| a + b + own < least)
        {
            found = Some((a + b + own, Step::Merge(left, right, order)));
        }
        left = (left - 1) & units;
    }
    found
}

impl FoundPlan {
    fn tree(&self, units: Units) -> Tree {
        self.tree_of(self.best[&units].1)
    }

    fn ordered_tree(&self, units: Units, order: usize) -> Tree {
        self.tree_of(self.ordered[&(units, order)].1)
    }

    fn tree_of(&self, step: Step) -> Tree {
        let tree = |units| Box::new(self.tree(units));
        match step {
            Step::Unit(unit) => Tree::Unit(unit),
            Step::Inner(a, b) => Tree::Inner(tree(a), tree(b)),
            Step::Dependent(rest, unit) => Tree::Dependent(tree(rest), unit),
            Step::Lookup(rest, unit) => Tree::Lookup(tree(rest), unit),
            Step::Ordered(unit, order) => Tree::Ordered(unit, order),
            Step::Merge(a, b, order) => {
                Tree::Merge(Box::new(self.ordered_tree(a, order)), Box::new(self.ordered_tree(b, order)), order)
            }
        }
    }
}

#[cfg(test)]
#[path = "enumerator_tests.rs"]
mod tests;
