//! Which joins in which order: dynamic programming over connected sets of units, greedy for large regions.
//!
//! Knows neither rows nor costs; it asks a [`JoinModel`].

use super::graph::{Graph, Role, Units};
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
}

impl Tree {
    pub fn units(&self) -> Units {
        match self {
            Tree::Unit(i) => 1 << i,
            Tree::Inner(a, b) => a.units() | b.units(),
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
}

/// The best tree over all units. `exhaustive_max`: regions of at most so many units are searched completely.
pub fn enumerate(graph: &Graph, model: &dyn JoinModel, exhaustive_max: usize) -> Tree {
    if graph.units.len() <= exhaustive_max.min(16) {
        let all: Units = (1 << graph.units.len()) - 1;
        for cross_products in [false, true] {
            let best = search(graph, model, all, cross_products);
            if best.contains_key(&all) {
                return tree_of(&best, all);
            }
        }
    }
    greedy(graph, model)
}

fn dependents(graph: &Graph) -> Vec<(usize, Units)> {
    let roles = graph.units.iter().enumerate();
    roles
        .filter_map(|(i, u)| match &u.role {
            Role::Inner => None,
            Role::Dependent { needs, .. } => Some((i, *needs)),
        })
        .collect()
}

fn search(graph: &Graph, model: &dyn JoinModel, all: Units, cross_products: bool) -> HashMap<Units, (f64, Step)> {
    let dependents = dependents(graph);
    let dependent_bits: Units = dependents.iter().map(|(i, _)| 1 << i).sum();
    let mut best: HashMap<Units, (f64, Step)> = HashMap::new();
    for units in 1..=all {
        if units & !dependent_bits == 0 {
            continue;
        }
        let mut found: Option<(f64, Step)> = None;
        let mut offer = |cost: f64, step: Step| {
            if found.is_none_or(|(least, _)| cost < least) {
                found = Some((cost, step));
            }
        };
        if units.count_ones() == 1 {
            let unit = units.trailing_zeros() as usize;
            offer(model.unit_cost(unit), Step::Unit(unit));
        }
        for (unit, needs) in &dependents {
            let rest = units & !(1 << unit);
            if rest == units || needs & !rest != 0 {
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
                && let Some(own) = model.lookup_cost(rest, unit)
            {
                offer(cost + own, Step::Lookup(rest, unit));
            }
        }
        // Every split once: the part with the lowest unit is `left`.
        let lowest = units & units.wrapping_neg();
        let mut left = (units - 1) & units;
        while left != 0 {
            let right = units & !left;
            if left & lowest != 0
                && let (Some((a, _)), Some((b, _))) = (best.get(&left), best.get(&right))
                && (cross_products || graph.connects(left, right))
            {
                offer(a + b + model.join_cost(left, right, None), Step::Inner(left, right));
            }
            left = (left - 1) & units;
        }
        if let Some(found) = found {
            best.insert(units, found);
        }
    }
    best
}

fn tree_of(best: &HashMap<Units, (f64, Step)>, units: Units) -> Tree {
    match best[&units].1 {
        Step::Unit(unit) => Tree::Unit(unit),
        Step::Inner(a, b) => Tree::Inner(Box::new(tree_of(best, a)), Box::new(tree_of(best, b))),
        Step::Dependent(rest, unit) => Tree::Dependent(Box::new(tree_of(best, rest)), unit),
        Step::Lookup(rest, unit) => Tree::Lookup(Box::new(tree_of(best, rest)), unit),
    }
}

/// Joins the pair that is cheapest and smallest again and again; dependent units as soon as they drop rows.
fn greedy(graph: &Graph, model: &dyn JoinModel) -> Tree {
    let mut waiting = dependents(graph);
    let mut parts: Vec<Tree> =
        (0..graph.units.len()).filter(|i| graph.units[*i].role == Role::Inner).map(Tree::Unit).collect();
    loop {
        for part in &mut parts {
            let mut next = Vec::new();
            for (unit, needs) in std::mem::take(&mut waiting) {
                let units = part.units();
                let ready = needs & !units == 0;
                if ready && (model.rows(units | 1 << unit) <= model.rows(units)) {
                    *part = Tree::Dependent(Box::new(part.clone()), unit);
                } else {
                    next.push((unit, needs));
                }
            }
            waiting = next;
        }
        if parts.len() <= 1 {
            break;
        }
        let mut chosen: Option<((bool, f64), usize, usize)> = None;
        for i in 0..parts.len() {
            for j in i + 1..parts.len() {
                let (a, b) = (parts[i].units(), parts[j].units());
                let cost = model.join_cost(a, b, None) + model.rows(a | b) * 1e-6;
                let key = (!graph.connects(a, b), cost);
                let better = match &chosen {
                    Some(((cross, least), _, _)) => (key.0, key.1) < (*cross, *least),
                    None => true,
                };
                if better {
                    chosen = Some((key, i, j));
                }
            }
        }
        let Some((_, i, j)) = chosen else { break };
        let right = parts.remove(j);
        let left = std::mem::replace(&mut parts[i], Tree::Unit(0));
        parts[i] = Tree::Inner(Box::new(left), Box::new(right));
    }
    let mut tree = parts.pop().unwrap_or(Tree::Unit(0));
    while let Some(at) = waiting.iter().position(|(_, needs)| needs & !tree.units() == 0) {
        let (unit, _) = waiting.remove(at);
        tree = Tree::Dependent(Box::new(tree), unit);
    }
    tree
}

#[cfg(test)]
#[path = "enumerator_tests.rs"]
mod tests;
