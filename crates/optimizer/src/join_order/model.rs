//! Rows and costs of joins over a query graph, for the enumerator.

use super::enumerator::JoinModel;
use super::equal_columns::{Member, class_share, joined_keys, known_share, own_predicates, skews};
use super::graph::{Graph, Predicate, Role, Unit, Units};
use super::lookup::{Lookup, Lookups};
use super::orders::Orders;
use super::partners;
use crate::cost::JoinInput;
use crate::estimate::Estimator;
use crate::options::Options;
use crate::scope::{self, ColSet};
use crate::trace::{Event, JoinWay, unit_name};
use muster_algebra::{ColId, CompareOp, Cost, Expr, JoinKind, Plan, Rel, Side, Switch};
use std::cell::RefCell;
use std::collections::HashMap;

/// Cost in milliseconds of scanning a table that has a FORCE INDEX hint. More than any other access path costs.
const FORCED_SCAN_MS: f64 = 1e9;
/// Milliseconds added for each hint that a join does not follow. More than any plan costs, so that a hint is followed
/// wherever it can be.
const IGNORED_HINT_PENALTY_MS: f64 = 1e15;
/// Number of distinct values assumed for a join condition between two relations when statistics say nothing of it.
pub(super) const EQUALITY_VALUES: f64 = 20.0;

/// A way to join two inputs that are both read completely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    Hash {
        build: Side,
    },
    /// `swap`: the left input becomes the right one.
    NestedLoop {
        swap: bool,
    },
}

pub struct Model<'a> {
    graph: &'a Graph,
    /// Rows and cost of each unit.
    units: Vec<(f64, f64)>,
    /// Per class and member: the column before the join.
    members: Vec<Vec<Member>>,
    /// Per class, pairs of members with values that are common on both sides: `(unit, unit, factor)`. Distinct values
    /// alone underestimate such a join by the factor.
    skews: Vec<Vec<(usize, usize, f64)>>,
    /// Units whose key of several columns is joined to one other unit: `(unit, partner, factor)`. The product of the
    /// single columns' selectivities underestimates such a join by the factor.
    composite: Vec<(usize, usize, f64)>,
    edges: Vec<f64>,
    /// Which edges may be the key of a hash join: those that mention no columns of the queries around the region.
    key_edges: Vec<bool>,
    /// Which dependent units are joined by a condition that may be the key of a hash join.
    keyed: Vec<bool>,
    predicates: Vec<f64>,
    /// For each dependent unit, the factor by which its join multiplies the rows.
    dependents: Vec<f64>,
    rows: RefCell<HashMap<Units, f64>>,
    orders: &'a Orders,
    lookups: Lookups<'a>,
    /// For each unit, the number of its columns that are wanted above all joins.
    columns: Vec<usize>,
    /// For each unit, the joins that switches and hints allow.
    allowed: Vec<Allowed>,
    /// True if joins of several units with several others may be made by hash.
    hash_joins: bool,
}

/// A unit that was restricted to the keys of another one, which has this share of them.
pub struct Reduced {
    pub unit: usize,
    pub reducer: usize,
    pub share: f64,
}

/// Switches and hints that apply to the joins of one unit.
struct Allowed {
    hash_joins: bool,
    forced_hash: bool,
    forced_merge: bool,
    forced_batches: bool,
    /// True if the rows may be read by themselves. Those of a subquery that is a semi or anti join may be where MySQL
    /// materializes them.
    reads_alone: bool,
}

impl Allowed {
    fn of(unit: &Unit, options: &Options) -> Allowed {
        let is_subquery = matches!(unit.role, Role::Dependent { kind: JoinKind::Semi | JoinKind::Anti, .. });
        Allowed {
            hash_joins: options.hash_joins(),
            forced_hash: options.is_forced(Switch::HashJoin),
            forced_merge: options.is_forced(Switch::MergeJoin),
            forced_batches: options.is_forced(Switch::BatchedKeyAccess),
            reads_alone: !is_subquery || options.is_on(Switch::Materialization),
        }
    }
}

impl<'a> Model<'a> {
    /// `wanted`: the columns wanted above all joins.
    pub fn new(
        graph: &'a Graph,
        plans: &[Plan],
        reduced: &[Reduced],
        orders: &'a Orders,
        lookups: Lookups<'a>,
        wanted: &ColSet,
    ) -> Model<'a> {
        let estimator = lookups.estimator;
        let unit = |(i, plan): (usize, &Plan)| {
            let forced = if lookups.is_forced(i, plan) { FORCED_SCAN_MS } else { 0.0 };
            (plan.estimate.rows.max(0.001), plan.estimate.cost.compared_ms() + forced)
        };
        let units: Vec<(f64, f64)> = plans.iter().enumerate().map(unit).collect();
        let keys: Vec<Vec<ColSet>> = graph.units.iter().map(joined_keys).collect();
        let member = |(unit, id): &(usize, ColId)| {
            let distinct = class_distinct(graph, estimator, *unit, *id, units[*unit].0);
            // Values and rows are estimated apart from each other; a key has as many of both.
            let is_key = keys[*unit].iter().any(|key| key.len() == 1 && key.contains(id));
            let distinct = if is_key { distinct.max(units[*unit].0) } else { distinct };
            let key_share = is_key.then(|| 1.0 / units[*unit].0.max(1.0));
            Member { unit: *unit, distinct, known_share: known_share(graph, estimator, *unit, *id), key_share }
        };
        let members: Vec<Vec<Member>> = graph.classes.iter().map(|class| class.iter().map(member).collect()).collect();
        let classes = graph.classes.iter().zip(&members);
        let skews = classes.map(|(class, members)| skews(graph, estimator, class, members)).collect();
        let distinct: Vec<Vec<f64>> =
            members.iter().map(|class| class.iter().map(|member| member.distinct).collect()).collect();
        let mut composite = composite_keys(graph, estimator, &keys, &distinct, &units);
        // A reduced unit has partners in its reducer only for certain: they do not thin each other out again.
        composite.extend(reduced.iter().map(|r| (r.unit, r.reducer, 1.0 / r.share.max(1e-9))));
        let edges = graph
            .edges
            .iter()
            .map(|e| {
                let d = |e: &Expr| estimator.distinct(e).unwrap_or(EQUALITY_VALUES);
                1.0 / d(&e.left).max(d(&e.right)).max(1.0)
            })
            .collect();
        let dependents =
            (0..units.len()).map(|i| partners::dependent_factor(graph, estimator, i, units[i].0)).collect();
        let share = |p: &Predicate| match partners::extended_unit(graph, &p.expr) {
            Some(unit) => partners::outer_share(graph, estimator, &p.expr, unit, units[unit].0),
            None => spanning_share(graph, estimator, &p.expr),
        };
        let predicates = graph.predicates.iter().map(share).collect();
        let key_edges = graph.edges.iter().map(|e| is_local(graph, &e.left) && is_local(graph, &e.right)).collect();
        let keyed = (0..units.len()).map(|i| has_key(graph, i)).collect();
        let allowed =
            graph.units.iter().zip(&lookups.unit_options).map(|(u, options)| Allowed::of(u, options)).collect();
        let hash_joins = lookups.options.hash_joins();
        Model {
            graph,
            units,
            members,
            skews,
            composite,
            edges,
            key_edges,
            keyed,
            predicates,
            dependents,
            rows: RefCell::default(),
            orders,
            lookups,
            columns: graph.units.iter().map(|unit| unit.columns.intersection(wanted).count()).collect(),
            allowed,
            hash_joins,
        }
    }

    /// The cheapest way to look a unit's rows up for those of other units.
    pub fn lookup(&self, left: Units, unit: usize) -> Option<Lookup> {
        self.lookups.best(left, self.input(left, self.rows(left)), unit, self.rows(left | 1 << unit))
    }

    /// How two inputs are best joined that are both read completely, and what that costs without them. `dependent`: the
    /// right input is this dependent unit.
    pub fn method(&self, left: Units, right: Units, dependent: Option<usize>) -> (Method, Cost) {
        let right_rows = match dependent {
            Some(unit) => self.units[unit].0,
            None => self.rows(right),
        };
        let (left_rows, output) = (self.rows(left), self.rows(left | right));
        if self.has_keys(left, right, dependent) && self.may_hash(left, right, dependent.is_some()) {
            let (left, right) = (self.input(left, left_rows), self.input(right, right_rows));
            let (build, cost) = self.lookups.options.cost.hash_join(left, right, output);
            return (Method::Hash { build }, cost);
        }
        // The larger input outside, unless the order is given.
        let swap = dependent.is_none() && self.graph.order.is_empty() && left_rows < right_rows;
        let (outer, inner) = if swap { (right_rows, left_rows) } else { (left_rows, right_rows) };
        (Method::NestedLoop { swap }, self.lookups.options.cost.nested_loop_join(outer, inner, output))
    }

    /// Joined units as an input of another join: with what is wanted above, and a key.
    fn input(&self, units: Units, rows: f64) -> JoinInput {
        let columns = (0..self.columns.len()).filter(|unit| units & 1 << unit != 0).map(|unit| self.columns[unit]);
        JoinInput { rows, columns: columns.sum::<usize>() + 1 }
    }

    /// Returns true if switches and hints let these inputs be joined by hash. `dependent`: `right` is a dependent unit.
    fn may_hash(&self, left: Units, right: Units, dependent: bool) -> bool {
        match (self.single(left), self.single(right)) {
            (_, Some(unit)) if dependent && !unit.reads_alone => false,
            (None, None) => self.hash_joins,
            (Some(unit), None) | (None, Some(unit)) => unit.forced_hash || unit.hash_joins,
            (Some(a), Some(b)) => a.forced_hash || b.forced_hash || (a.hash_joins && b.hash_joins),
        }
    }

    /// Returns the hints of an input that is a single unit.
    fn single(&self, units: Units) -> Option<&Allowed> {
        (units.count_ones() == 1).then(|| &self.allowed[units.trailing_zeros() as usize])
    }

    /// Penalty in milliseconds for the units among the inputs that are not joined as their hints say.
    fn if_forced(&self, is_forced: fn(&Allowed) -> bool, left: Units, right: Units) -> f64 {
        let forced = [left, right].into_iter().filter_map(|units| self.single(units)).filter(|unit| is_forced(unit));
        forced.count() as f64 * IGNORED_HINT_PENALTY_MS
    }

    /// Penalty in milliseconds for a unit that is not joined as its hint says.
    fn ignored_hint_penalty(&self, unit: usize) -> f64 {
        if self.allowed[unit].forced_batches { IGNORED_HINT_PENALTY_MS } else { 0.0 }
    }

    pub fn lookups(&self) -> &Lookups<'a> {
        &self.lookups
    }

    fn estimate(&self, set: Units) -> f64 {
        let has = |unit: usize| set & (1 << unit) != 0;
        let mut rows = 1.0;
        for (i, unit) in self.graph.units.iter().enumerate().filter(|(i, _)| has(*i)) {
            rows *= if unit.role == Role::Inner { self.units[i].0 } else { self.dependents[i] };
        }
        for (members, skews) in self.members.iter().zip(&self.skews) {
            rows *= class_share(members.iter().filter(|member| has(member.unit)));
            let skewed = skews.iter().filter(|(a, b, _)| has(*a) && has(*b));
            rows *= skewed.map(|(_, _, factor)| factor).product::<f64>();
        }
        let mut corrected: Vec<(usize, usize)> = Vec::new();
        for (unit, partner, factor) in &self.composite {
            if has(*unit) && has(*partner) && !is_joined(&corrected, *unit, *partner) {
                corrected.push((*unit, *partner));
                rows *= factor;
            }
        }
        for (edge, share) in self.graph.edges.iter().zip(&self.edges) {
            if (edge.left_units | edge.right_units) & !set == 0 {
                rows *= share;
            }
        }
        for (predicate, share) in self.graph.predicates.iter().zip(&self.predicates) {
            if predicate.units & !set == 0 {
                rows *= share;
            }
        }
        rows
    }

    fn has_keys(&self, left: Units, right: Units, dependent: Option<usize>) -> bool {
        if let Some(unit) = dependent {
            return self.keyed[unit];
        }
        let split = |a: Units, b: Units| (a & !left == 0 && b & !right == 0) || (a & !right == 0 && b & !left == 0);
        let member = |class: &Vec<(usize, ColId)>, set: Units| class.iter().any(|(u, _)| set & (1 << u) != 0);
        self.graph.classes.iter().any(|c| member(c, left) && member(c, right))
            || self.graph.edges.iter().zip(&self.key_edges).any(|(e, key)| *key && split(e.left_units, e.right_units))
    }
}

impl JoinModel for Model<'_> {
    fn rows(&self, units: Units) -> f64 {
        if let Some(rows) = self.rows.borrow().get(&units) {
            return *rows;
        }
        // Less than a row is an estimate gone too far: independence multiplied too often.
        let rows = self.estimate(units).max(1.0);
        self.rows.borrow_mut().insert(units, rows);
        rows
    }

    fn unit_cost(&self, unit: usize) -> f64 {
        self.units[unit].1 + self.ignored_hint_penalty(unit)
    }

    fn lookup_cost(&self, left: Units, unit: usize) -> Option<f64> {
        let unit_bit = 1 << unit;
        let disobeyed = self.if_forced(|unit| unit.forced_hash, left, unit_bit)
            + self.if_forced(|unit| unit.forced_merge, left, unit_bit);
        self.lookup(left, unit).map(|l| l.cost.compared_ms() + disobeyed)
    }

    fn join_cost(&self, left: Units, right: Units, dependent: Option<usize>) -> f64 {
        let (_, own) = self.method(left, right, dependent);
        own.compared_ms() + self.if_forced(|unit| unit.forced_merge, left, right)
    }

    fn orders(&self) -> usize {
        self.orders.all.len()
    }

    fn is_traced(&self) -> bool {
        self.lookups.options.trace.is_on()
    }

    fn note_join(&self, left: Units, right: Units, way: JoinWay, cost_ms: f64, kept: bool) {
        let units = |set: Units| (0..self.graph.units.len()).filter(move |unit| set & (1 << unit) != 0);
        let names = |set: Units| units(set).map(|unit| unit_name(&self.graph.units[unit].rel)).collect();
        let kind = match units(right).next().map(|unit| &self.graph.units[unit].role) {
            Some(Role::Dependent { kind, .. }) => Some(*kind),
            _ => None,
        };
        let rows = self.rows(left | right);
        let column = self.graph.units.first().and_then(|unit| unit.columns.iter().next().copied());
        let (left, right) = (names(left), names(right));
        self.lookups.options.trace.note(|| Event::Joined { left, right, way, kind, rows, cost_ms, kept, column });
    }

    fn ordered_cost(&self, unit: usize, order: usize) -> Option<f64> {
        Some(self.orders.plans.get(&(unit, order))?.estimate.cost.compared_ms() + self.ignored_hint_penalty(unit))
    }

    fn merge_cost(&self, left: Units, right: Units, _order: usize) -> Option<f64> {
        let right_rows = match right.count_ones() {
            1 => {
                let unit = right.trailing_zeros() as usize;
                if !self.allowed[unit].reads_alone {
                    return None;
                }
                self.units[unit].0
            }
            _ => self.rows(right),
        };
        let own = self.lookups.options.cost.merge_join(self.rows(left), right_rows, self.rows(left | right));
        Some(own.compared_ms() + self.if_forced(|unit| unit.forced_hash, left, right))
    }
}

/// Distinct values of a join column in a unit. Conditions on the column itself leave fewer; others are assumed to
/// leave the relation between the two sides as it is.
fn class_distinct(graph: &Graph, estimator: &Estimator, unit: usize, id: ColId, rows: f64) -> f64 {
    let is_own = |p: &&Expr| {
        let columns = scope::expr_columns(p);
        columns.len() == 1 && columns.contains(&id) && !p.has_subquery()
    };
    let own: Vec<&Expr> = own_predicates(&graph.units[unit]).iter().filter(is_own).collect();
    let distinct = estimator.distinct_within(id, &own).unwrap_or(rows);
    distinct.max(1.0)
}

/// Whether rows were corrected for this unit already, or for its partner because of the unit: the keys of both sides
/// say the same of one join.
fn is_joined(corrected: &[(usize, usize)], unit: usize, partner: usize) -> bool {
    let partner_of = |unit: usize| corrected.iter().find(|(u, _)| *u == unit).map(|(_, partner)| *partner);
    partner_of(unit).is_some() || std::iter::successors(Some(partner), |u| partner_of(*u)).any(|u| u == unit)
}

/// For each unit with a key of several columns and each unit that it is joined to by all of them: the factor by which a
/// join of both has more rows than the columns' distinct values tell, which are counted one by one. The smallest factor
/// comes first.
fn composite_keys(
    graph: &Graph,
    estimator: &Estimator,
    keys: &[Vec<ColSet>],
    distinct: &[Vec<f64>],
    units: &[(f64, f64)],
) -> Vec<(usize, usize, f64)> {
    let mut found = Vec::new();
    for (i, unit) in graph.units.iter().enumerate().filter(|(_, u)| u.role == Role::Inner) {
        for key in keys[i].iter().filter(|k| k.len() > 1) {
            // The class of each column of the key.
            let classes: Option<Vec<usize>> =
                key.iter().map(|id| graph.classes.iter().position(|c| c.contains(&(i, *id)))).collect();
            let Some(classes) = classes else { continue };
            let rows = key_rows(&unit.rel, estimator).unwrap_or(units[i].0).max(1.0);
            for partner in (0..graph.units.len()).filter(|p| *p != i) {
                let joined = classes.iter().all(|c| graph.classes[*c].iter().any(|(u, _)| *u == partner));
                if !joined {
                    continue;
                }
                let product: f64 = classes
                    .iter()
                    .map(|c| {
                        let of =
                            |u: usize| graph.classes[*c].iter().position(|(m, _)| *m == u).map(|at| distinct[*c][at]);
                        of(i).unwrap_or(1.0).max(of(partner).unwrap_or(1.0))
                    })
                    .product();
                if product > rows {
                    found.push((i, partner, product / rows));
                }
            }
        }
    }
    found.extend(combined_columns(graph, estimator, &found, distinct));
    found.sort_by(|a, b| a.2.total_cmp(&b.2));
    found
}

/// The same for tables that are joined by several columns which are no key, but of whose combinations one side knows
/// how many there are. `keyed`: pairs of units that a key was found for.
fn combined_columns(
    graph: &Graph,
    estimator: &Estimator,
    keyed: &[(usize, usize, f64)],
    distinct: &[Vec<f64>],
) -> Vec<(usize, usize, f64)> {
    let is_keyed = |a: usize, b: usize| keyed.iter().any(|(u, p, _)| (*u, *p) == (a, b) || (*u, *p) == (b, a));
    let inner = |unit: &usize| graph.units[*unit].role == Role::Inner;
    let units: Vec<usize> = (0..graph.units.len()).filter(inner).collect();
    let mut found = Vec::new();
    for (at, a) in units.iter().enumerate() {
        for b in units[at + 1..].iter().filter(|b| !is_keyed(*a, **b)) {
            // The columns that both have in a class of equal ones, and the larger of their numbers of distinct values.
            let shared: Vec<(ColId, ColId, f64)> = graph
                .classes
                .iter()
                .zip(distinct)
                .filter_map(|(class, distinct)| {
                    let of = |unit: usize| class.iter().position(|(u, _)| *u == unit);
                    let (x, y) = (of(*a)?, of(*b)?);
                    Some((class[x].1, class[y].1, distinct[x].max(distinct[y])))
                })
                .collect();
            if shared.len() < 2 {
                continue;
            }
            let left: Vec<ColId> = shared.iter().map(|(x, _, _)| *x).collect();
            let right: Vec<ColId> = shared.iter().map(|(_, y, _)| *y).collect();
            let combined = match (estimator.combined_distinct(&left), estimator.combined_distinct(&right)) {
                (Some(x), Some(y)) => x.max(y),
                (Some(known), None) | (None, Some(known)) => known,
                (None, None) => continue,
            };
            let product: f64 = shared.iter().map(|(_, _, d)| d.max(1.0)).product();
            if product > combined {
                found.push((*a, *b, product / combined.max(1.0)));
            }
        }
    }
    found
}

/// Rows of a relation with a key before conditions on it.
fn key_rows(rel: &Rel, estimator: &Estimator) -> Option<f64> {
    match rel {
        Rel::Filter { input, .. } | Rel::Project { input, .. } => key_rows(input, estimator),
        Rel::Get { columns, .. } => estimator.column(columns.first()?.0).map(|c| c.rows),
        Rel::Aggregate { group, .. } => {
            let rows = group.iter().filter_map(|id| estimator.column(*id)).map(|c| c.rows).fold(0.0, f64::max);
            (rows > 0.0).then(|| estimator.groups(group, rows))
        }
        _ => None,
    }
}

/// Selectivity of a condition over several units. What an OR implies for single units has been counted there.
pub(super) fn spanning_share(graph: &Graph, estimator: &Estimator, expr: &Expr) -> f64 {
    let share = estimator.selectivity(std::slice::from_ref(expr));
    let counted: f64 = graph
        .units
        .iter()
        .filter_map(|u| crate::rewrite::or_implication::implied(expr, &u.columns))
        .map(|implied| estimator.selectivity(&[implied]))
        .product();
    (share / counted).clamp(1e-9, 1.0)
}

/// Returns true if an expression mentions columns of the region's units only.
fn is_local(graph: &Graph, expr: &Expr) -> bool {
    scope::expr_columns(expr).iter().all(|id| graph.units.iter().any(|u| u.columns.contains(id)))
}

/// Returns true if a dependent unit is joined by an equality with a side of its own columns and one of others.
fn has_key(graph: &Graph, unit: usize) -> bool {
    let Unit { columns: own, role, .. } = &graph.units[unit];
    let Role::Dependent { on, .. } = role else { return false };
    let is_own = |e: &Expr| !scope::expr_columns(e).is_empty() && scope::covered(e, own);
    let is_others = |e: &Expr| {
        let mentioned = scope::expr_columns(e);
        !mentioned.is_empty() && mentioned.is_disjoint(own) && is_local(graph, e)
    };
    on.iter().cloned().flat_map(Expr::into_conjuncts).any(|condition| match &condition {
        Expr::Compare { op: CompareOp::Eq, left, right } => {
            !condition.has_subquery() && (is_own(left) && is_others(right) || is_own(right) && is_others(left))
        }
        _ => false,
    })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
