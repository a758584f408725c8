//! The order of joins in regions that are too large to search: the cheapest next join, again and again.

use super::enumerator::{JoinModel, Tree, dependents};
use super::graph::{Graph, Role, Units};
use crate::interrupt::Interrupt;
use crate::trace::JoinWay;
use muster_types::Result;

/// How two parts are joined.
#[derive(Clone, Copy)]
enum Way {
    Inner,
    /// The rows of the right part, a unit, are looked up.
    LookUpRight(usize),
    /// Rows of the left part are looked up for each row of the right part.
    LookUpLeft(usize),
}

/// A pair of parts, by their places, with the best way to join them.
struct Pair {
    left: usize,
    right: usize,
    way: Way,
    /// Pairs without a condition between them come last, then those that cost more and deliver more.
    key: (bool, f64),
}

/// Joins the pair that is cheapest and smallest again and again; dependent units as soon as they drop rows.
///
/// Error: that of the interrupt.
pub fn greedy(graph: &Graph, model: &dyn JoinModel, interrupt: &Interrupt) -> Result<Tree> {
    if !graph.order.is_empty() {
        return one_by_one(graph, model, interrupt);
    }
    let mut waiting = dependents(graph);
    let inner = (0..graph.units.len()).filter(|i| graph.units[*i].role == Role::Inner);
    let mut parts: Vec<Option<Tree>> = inner.map(|unit| Some(Tree::Unit(unit))).collect();
    for part in parts.iter_mut().flatten() {
        join_dependents(part, &mut waiting, model);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for right in 0..parts.len() {
        interrupt.check()?;
        pairs.extend((0..right).filter_map(|left| pair(graph, model, &parts, left, right)));
    }
    // Among equal pairs, the one whose parts come first wins.
    let is_before = |a: &Pair, b: &Pair| match a.key.0.cmp(&b.key.0).then(a.key.1.total_cmp(&b.key.1)) {
        std::cmp::Ordering::Equal => (a.left, a.right) < (b.left, b.right),
        order => order.is_lt(),
    };
    while let Some(best) = pairs.iter().reduce(|best, next| if is_before(next, best) { next } else { best }) {
        interrupt.check()?;
        let (place, gone, way) = (best.left, best.right, best.way);
        let (Some(left), Some(right)) = (parts[place].take(), parts[gone].take()) else { break };
        if model.is_traced() {
            let way = if matches!(way, Way::Inner) { JoinWay::Inputs } else { JoinWay::Lookup };
            model.note_join(left.units(), right.units(), way, best.key.1, true);
        }
        let mut joined = join(left, right, way);
        join_dependents(&mut joined, &mut waiting, model);
        parts[place] = Some(joined);
        pairs.retain(|p| [p.left, p.right].iter().all(|part| *part != place && *part != gone));
        for other in (0..parts.len()).filter(|other| *other != place) {
            pairs.extend(pair(graph, model, &parts, place.min(other), place.max(other)));
        }
    }
    let mut tree = parts.into_iter().flatten().next().unwrap_or(Tree::Unit(0));
    while let Some(at) = waiting.iter().position(|(_, needs)| needs & !tree.units() == 0) {
        let (unit, _) = waiting.remove(at);
        tree = dependent_join(tree, unit, model).1;
    }
    Ok(tree)
}

/// Joins the waiting dependent units that do not add rows to a part, and takes them from the list.
fn join_dependents(part: &mut Tree, waiting: &mut Vec<(usize, Units)>, model: &dyn JoinModel) {
    waiting.retain(|(unit, needs)| {
        let units = part.units();
        let joins = needs & !units == 0 && model.rows(units | 1 << unit) <= model.rows(units);
        if joins {
            let left = std::mem::replace(part, Tree::Unit(0));
            *part = dependent_join(left, *unit, model).1;
        }
        !joins
    });
}

/// The pair of these parts; `None` if one of them is part of another by now.
fn pair(graph: &Graph, model: &dyn JoinModel, parts: &[Option<Tree>], left: usize, right: usize) -> Option<Pair> {
    let (a, b) = (parts[left].as_ref()?, parts[right].as_ref()?);
    let (cost, way) = inner_join(a, b, model);
    let (a, b) = (a.units(), b.units());
    Some(Pair { left, right, way, key: (!graph.connects(a, b), cost + model.rows(a | b) * 1e-6) })
}

fn join(left: Tree, right: Tree, way: Way) -> Tree {
    match way {
        Way::Inner => Tree::Inner(Box::new(left), Box::new(right)),
        Way::LookUpRight(unit) => Tree::Lookup(Box::new(left), unit),
        Way::LookUpLeft(unit) => Tree::Lookup(Box::new(right), unit),
    }
}

/// The best way to join two parts. Its cost is less what looking a unit up saves of reading it.
fn inner_join(left: &Tree, right: &Tree, model: &dyn JoinModel) -> (f64, Way) {
    let (a, b) = (left.units(), right.units());
    let mut best = (model.join_cost(a, b, None), Way::Inner);
    let mut offer = |outer: Units, inner: &Tree, way: fn(usize) -> Way| {
        let Tree::Unit(unit) = *inner else { return };
        if let Some(cost) = model.lookup_cost(outer, unit)
            && cost - model.unit_cost(unit) < best.0
        {
            best = (cost - model.unit_cost(unit), way(unit));
        }
    };
    offer(a, right, Way::LookUpRight);
    offer(b, left, Way::LookUpLeft);
    best
}

/// Joins a dependent unit to what has been joined before.
fn dependent_join(left: Tree, unit: usize, model: &dyn JoinModel) -> (f64, Tree) {
    let (cost, looks_up) = dependent_cost(left.units(), unit, model);
    let left = Box::new(left);
    (cost, if looks_up { Tree::Lookup(left, unit) } else { Tree::Dependent(left, unit) })
}

/// Cost of joining a dependent unit, and whether its rows are looked up then.
fn dependent_cost(left: Units, unit: usize, model: &dyn JoinModel) -> (f64, bool) {
    let cost = model.join_cost(left, 1 << unit, Some(unit));
    match model.lookup_cost(left, unit).map(|cost| cost - model.unit_cost(unit)) {
        Some(lookup) if lookup < cost => (lookup, true),
        _ => (cost, false),
    }
}

/// One unit after the other, the cheapest of those that may come next: an order that is given is never a dead end then.
fn one_by_one(graph: &Graph, model: &dyn JoinModel, interrupt: &Interrupt) -> Result<Tree> {
    let count = graph.units.len();
    let all: Units = (1 << count) - 1;
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
    let first = (0..count).filter(|unit| ready(unit, 0));
    let rows = |unit: &usize| model.rows(1 << unit);
    let mut tree = Tree::Unit(first.min_by(|a, b| rows(a).total_cmp(&rows(b))).unwrap_or(0));
    while tree.units() != all {
        interrupt.check()?;
        let joined = tree.units();
        let candidates = (0..count).filter(|unit| ready(unit, joined)).map(|unit| {
            let dependent = needs(unit).is_some();
            let (cost, looks_up) = match dependent {
                true => dependent_cost(joined, unit, model),
                false => match inner_join(&tree, &Tree::Unit(unit), model) {
                    // The given order has the unit come last.
                    (_, Way::LookUpLeft(_)) => (model.join_cost(joined, 1 << unit, None), false),
                    (cost, way) => (cost, matches!(way, Way::LookUpRight(_))),
                },
            };
            let connected = dependent || graph.connects(joined, 1 << unit);
            ((!connected, cost + model.rows(joined | 1 << unit) * 1e-6), unit, dependent, looks_up)
        });
        let best = candidates.min_by(|(a, ..), (b, ..)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let Some((_, unit, dependent, looks_up)) = best else { break };
        let left = Box::new(tree);
        tree = match (looks_up, dependent) {
            (true, _) => Tree::Lookup(left, unit),
            (false, true) => Tree::Dependent(left, unit),
            (false, false) => Tree::Inner(left, Box::new(Tree::Unit(unit))),
        };
    }
    Ok(tree)
}
