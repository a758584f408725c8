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
    /// In how many orders rows may come; the first are those of the graph's classes.
    fn orders(&self) -> usize {
        0
    }
    /// Cost of getting a unit's rows in an order; `None` if no index gives it.
    fn ordered_cost(&self, _unit: usize, _order: usize) -> Option<f64> {
        None
    }
    /// Cost of merging two inputs in an order, without their own cost; `None` if they may not be merged. `right` may be a
    /// dependent unit.
    fn merge_cost(&self, _left: Units, _right: Units, _order: usize) -> Option<f64> {
        None
    }
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
struct Found {
    best: HashMap<Units, (f64, Step)>,
    ordered: HashMap<(Units, usize), (f64, Step)>,
}

/// The best tree over all units. `exhaustive_max`: regions of at most so many units are searched completely.
pub fn enumerate(graph: &Graph, model: &dyn JoinModel, exhaustive_max: usize) -> Tree {
    if graph.units.len() <= exhaustive_max.min(16) {
        let all: Units = (1 << graph.units.len()) - 1;
        for cross_products in [false, true] {
            let found = search(graph, model, all, cross_products);
            if found.best.contains_key(&all) {
                return found.tree(all);
            }
        }
    }
    greedy(graph, model)
}

/// The best tree whose rows come in an order, if there is one.
pub fn enumerate_ordered(graph: &Graph, model: &dyn JoinModel, exhaustive_max: usize, order: usize) -> Option<Tree> {
    if graph.units.len() > exhaustive_max.min(16) {
        return None;
    }
    let all: Units = (1 << graph.units.len()) - 1;
    let found = search(graph, model, all, false);
    found.ordered.contains_key(&(all, order)).then(|| found.ordered_tree(all, order))
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

fn search(graph: &Graph, model: &dyn JoinModel, all: Units, cross_products: bool) -> Found {
    let dependents = dependents(graph);
    let dependent_bits: Units = dependents.iter().map(|(i, _)| 1 << i).sum();
    let Found { mut best, mut ordered } = Found::default();
    let orderable = |order: &usize| (0..graph.units.len()).any(|unit| model.ordered_cost(unit, *order).is_some());
    let orders: Vec<usize> = (0..model.orders()).filter(orderable).collect();
    for &order in &orders {
        for unit in 0..graph.units.len() {
            if let Some(cost) = model.ordered_cost(unit, order) {
                ordered.insert((1 << unit, order), (cost, Step::Ordered(unit, order)));
            }
        }
    }
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
            if found.is_none_or(|(least, _)| cost < least) {
                found = Some((cost, step));
            }
        }
        if let Some(found) = found {
            best.insert(units, found);
        }
    }
    Found { best, ordered }
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

impl Found {
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

/// Joins the pair that is cheapest and smallest again and again; dependent units as soon as they drop rows.
fn greedy(graph: &Graph, model: &dyn JoinModel) -> Tree {
    if !graph.order.is_empty() {
        return one_by_one(graph, model);
    }
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
                    *part = dependent_join(part.clone(), unit, model).1;
                } else {
                    next.push((unit, needs));
                }
            }
            waiting = next;
        }
        if parts.len() <= 1 {
            break;
        }
        let mut chosen: Option<((bool, f64), Tree, usize, usize)> = None;
        for i in 0..parts.len() {
            for j in i + 1..parts.len() {
                let (a, b) = (parts[i].units(), parts[j].units());
                let (cost, tree) = inner_join(&parts[i], &parts[j], model);
                let key = (!graph.connects(a, b), cost + model.rows(a | b) * 1e-6);
                if chosen.as_ref().is_none_or(|(least, ..)| key < *least) {
                    chosen = Some((key, tree, i, j));
                }
            }
        }
        let Some((_, tree, i, j)) = chosen else { break };
        parts.remove(j);
        parts[i] = tree;
    }
    let mut tree = parts.pop().unwrap_or(Tree::Unit(0));
    while let Some(at) = waiting.iter().position(|(_, needs)| needs & !tree.units() == 0) {
        let (unit, _) = waiting.remove(at);
        tree = dependent_join(tree, unit, model).1;
    }
    tree
}

/// The best way to join two parts. Its cost is less what looking a unit up saves of reading it.
fn inner_join(left: &Tree, right: &Tree, model: &dyn JoinModel) -> (f64, Tree) {
    let (a, b) = (left.units(), right.units());
    let mut best = (model.join_cost(a, b, None), Tree::Inner(Box::new(left.clone()), Box::new(right.clone())));
    for (outer, inner) in [(left, right), (right, left)] {
        let Tree::Unit(unit) = *inner else { continue };
        if let Some(cost) = model.lookup_cost(outer.units(), unit)
            && cost - model.unit_cost(unit) < best.0
        {
            best = (cost - model.unit_cost(unit), Tree::Lookup(Box::new(outer.clone()), unit));
        }
    }
    best
}

/// The same for a dependent unit.
fn dependent_join(left: Tree, unit: usize, model: &dyn JoinModel) -> (f64, Tree) {
    let units = left.units();
    let cost = model.join_cost(units, 1 << unit, Some(unit));
    match model.lookup_cost(units, unit).map(|cost| cost - model.unit_cost(unit)) {
        Some(lookup) if lookup < cost => (lookup, Tree::Lookup(Box::new(left), unit)),
        _ => (cost, Tree::Dependent(Box::new(left), unit)),
    }
}

/// One unit after the other, the cheapest of those that may come next: an order that is given is never a dead end then.
fn one_by_one(graph: &Graph, model: &dyn JoinModel) -> Tree {
    let all: Units = (1 << graph.units.len()) - 1;
    let needs = |unit: usize| match &graph.units[unit].role {
        Role::Inner => None,
        Role::Dependent { needs, .. } => Some(*needs),
    };
    let ready = |unit: &usize, joined: Units| {
        let rest = all & !joined & !(1 << unit);
        joined & (1 << unit) == 0
            && needs(*unit).is_none_or(|needs| joined != 0 && needs & !joined == 0)
            && graph.order.may_follow(*unit, rest)
    };
    let count = graph.units.len();
    let first = (0..count).filter(|unit| ready(unit, 0));
    let rows = |unit: &usize| model.rows(1 << unit);
    let mut tree = Tree::Unit(first.min_by(|a, b| rows(a).total_cmp(&rows(b))).unwrap_or(0));
    while tree.units() != all {
        let joined = tree.units();
        let candidates = (0..count).filter(|unit| ready(unit, joined)).map(|unit| {
            let dependent = needs(unit).is_some();
            let (cost, next) = match dependent {
                true => dependent_join(tree.clone(), unit, model),
                false => match inner_join(&tree, &Tree::Unit(unit), model) {
                    // The given order has the unit come last.
                    (_, Tree::Lookup(left, _)) if matches!(*left, Tree::Unit(u) if u == unit) => {
                        let plain = Tree::Inner(Box::new(tree.clone()), Box::new(Tree::Unit(unit)));
                        (model.join_cost(joined, 1 << unit, None), plain)
                    }
                    best => best,
                },
            };
            let connected = dependent || graph.connects(joined, 1 << unit);
            ((!connected, cost + model.rows(joined | 1 << unit) * 1e-6), next)
        });
        let best = candidates.min_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        match best {
            Some((_, next)) => tree = next,
            None => break,
        }
    }
    tree
}

#[cfg(test)]
#[path = "enumerator_tests.rs"]
mod tests;
