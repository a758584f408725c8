//! Rows and costs of joins over a query graph, for the enumerator.

use super::cardinality::{Estimator, distinct_after};
use super::enumerator::JoinModel;
use super::graph::{Graph, Role, Units};
use super::lookup::{Lookup, Lookups};
use super::merge::Orders;
use super::reduction::Reduced;
use crate::options::Options;
use crate::properties;
use muster_algebra::{ColId, CompareOp, Expr, JoinKind, Plan, Rel, Switch};
use std::cell::RefCell;
use std::collections::HashMap;

/// Share of rows for which a further condition of a semi or anti join holds for some partner.
const RESIDUAL_SHARE: f64 = 0.8;
/// What FORCE INDEX makes of scanning the table itself: more than any other way takes.
const FORCED_SCAN_MS: f64 = 1e9;
/// More than any plan costs: what a hint asks for is done wherever it can be.
const DISOBEDIENCE_MS: f64 = 1e15;
/// A condition of which nothing is known, between two relations.
const EQUALITY_VALUES: f64 = 20.0;

pub struct Model<'a> {
    graph: &'a Graph,
    /// Rows and cost of each unit.
    units: Vec<(f64, f64)>,
    /// Per class and member: distinct values of the column before the join.
    distinct: Vec<Vec<f64>>,
    /// Units whose key of several columns is joined to one other unit: `(unit, partner, factor)`. The product of the
    /// single columns' selectivities underestimates such a join by the factor.
    composite: Vec<(usize, usize, f64)>,
    edges: Vec<f64>,
    predicates: Vec<f64>,
    /// Of dependent units: what the join multiplies the rows by.
    dependents: Vec<f64>,
    rows: RefCell<HashMap<Units, f64>>,
    orders: &'a Orders,
    lookups: Lookups<'a>,
}

impl<'a> Model<'a> {
    pub fn new(
        graph: &'a Graph,
        plans: &[Plan],
        reduced: &[Reduced],
        orders: &'a Orders,
        lookups: Lookups<'a>,
    ) -> Model<'a> {
        let estimator = lookups.estimator;
        let unit = |(i, plan): (usize, &Plan)| {
            let forced = if lookups.is_forced(i, plan) { FORCED_SCAN_MS } else { 0.0 };
            (plan.estimate.rows.max(0.001), plan.estimate.cost_ms + forced)
        };
        let units: Vec<(f64, f64)> = plans.iter().enumerate().map(unit).collect();
        let distinct: Vec<Vec<f64>> = graph
            .classes
            .iter()
            .map(|class| class.iter().map(|(u, id)| class_distinct(graph, estimator, *u, *id, units[*u].0)).collect())
            .collect();
        let mut composite = composite_keys(graph, estimator, &distinct, &units);
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
        let predicates = graph.predicates.iter().map(|p| spanning_share(graph, estimator, &p.expr)).collect();
        let dependents = (0..units.len()).map(|i| dependent_factor(graph, estimator, i, units[i].0)).collect();
        let rows = RefCell::default();
        Model { graph, units, distinct, composite, edges, predicates, dependents, rows, orders, lookups }
    }

    /// The cheapest way to look a unit's rows up for those of other units.
    pub fn lookup(&self, left: Units, unit: usize) -> Option<Lookup> {
        self.lookups.best(left, self.rows(left), unit, self.rows(left | 1 << unit))
    }

    /// Whether switches and hints let these inputs be joined by hash. `dependent`: `right` is a dependent unit.
    pub fn may_hash(&self, left: Units, right: Units, dependent: bool) -> bool {
        let single = |units: Units| (units.count_ones() == 1).then(|| units.trailing_zeros() as usize);
        let sides = [single(left), single(right)];
        let of = |unit: usize| &*self.lookups.unit_options[unit];
        if dependent
            && let Some(unit) = sides[1]
            && !self.may_read_alone(unit)
        {
            return false;
        }
        let mut units = sides.into_iter().flatten().peekable();
        match units.peek() {
            None => self.lookups.options.hash_joins(),
            Some(_) => {
                let units: Vec<&Options> = units.map(of).collect();
                units.iter().any(|o| o.is_forced(Switch::HashJoin)) || units.iter().all(|o| o.hash_joins())
            }
        }
    }

    /// Whether the rows of a subquery that is a semi or anti join may be read by themselves, as MySQL materializes them.
    fn may_read_alone(&self, unit: usize) -> bool {
        let is_subquery =
            matches!(self.graph.units[unit].role, Role::Dependent { kind: JoinKind::Semi | JoinKind::Anti, .. });
        !is_subquery || self.lookups.unit_options[unit].is_on(Switch::Materialization)
    }

    /// What it costs that a unit among the inputs is not joined as a hint for it says.
    fn if_forced(&self, switch: Switch, left: Units, right: Units) -> f64 {
        let single = [left, right].into_iter().filter(|units| units.count_ones() == 1);
        let forced =
            single.filter(|units| self.lookups.unit_options[units.trailing_zeros() as usize].is_forced(switch));
        forced.count() as f64 * DISOBEDIENCE_MS
    }

    /// What a hint makes a unit cost that is not joined as the hint says.
    fn disobedience(&self, unit: usize) -> f64 {
        if self.lookups.unit_options[unit].is_forced(Switch::BatchedKeyAccess) { DISOBEDIENCE_MS } else { 0.0 }
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
        for (class, distinct) in self.graph.classes.iter().zip(&self.distinct) {
            let mut present: Vec<f64> =
                class.iter().zip(distinct).filter(|((u, _), _)| has(*u)).map(|(_, d)| *d).collect();
            present.sort_by(f64::total_cmp);
            present.iter().skip(1).for_each(|d| rows /= d.max(1.0));
        }
        let mut corrected: Units = 0;
        for (unit, partner, factor) in &self.composite {
            if has(*unit) && has(*partner) && corrected & (1 << unit) == 0 {
                corrected |= 1 << unit;
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
        if let Some(unit) = dependent
            && let Role::Dependent { on, .. } = &self.graph.units[unit].role
        {
            return on.iter().any(|e| matches!(e, Expr::Compare { op: CompareOp::Eq, .. }));
        }
        let split = |a: Units, b: Units| (a & !left == 0 && b & !right == 0) || (a & !right == 0 && b & !left == 0);
        let member = |class: &Vec<(usize, ColId)>, set: Units| class.iter().any(|(u, _)| set & (1 << u) != 0);
        self.graph.classes.iter().any(|c| member(c, left) && member(c, right))
            || self.graph.edges.iter().any(|e| split(e.left_units, e.right_units))
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
        self.units[unit].1 + self.disobedience(unit)
    }

    fn lookup_cost(&self, left: Units, unit: usize) -> Option<f64> {
        let unit_bit = 1 << unit;
        let disobeyed =
            self.if_forced(Switch::HashJoin, left, unit_bit) + self.if_forced(Switch::MergeJoin, left, unit_bit);
        self.lookup(left, unit).map(|l| l.cost_ms + disobeyed)
    }

    fn join_cost(&self, left: Units, right: Units, dependent: Option<usize>) -> f64 {
        let right_rows = match dependent {
            Some(unit) => self.units[unit].0,
            None => self.rows(right),
        };
        let (left_rows, output) = (self.rows(left), self.rows(left | right));
        let own = if self.has_keys(left, right, dependent) && self.may_hash(left, right, dependent.is_some()) {
            let build_left = self.lookups.options.cost.hash_join(left_rows, right_rows, output);
            build_left.min(self.lookups.options.cost.hash_join(right_rows, left_rows, output))
        } else {
            self.lookups.options.cost.nested_loop_join(left_rows, right_rows, output)
        };
        own + self.if_forced(Switch::MergeJoin, left, right)
    }

    fn orders(&self) -> usize {
        self.orders.all.len()
    }

    fn ordered_cost(&self, unit: usize, order: usize) -> Option<f64> {
        Some(self.orders.plans.get(&(unit, order))?.estimate.cost_ms + self.disobedience(unit))
    }

    fn merge_cost(&self, left: Units, right: Units, _order: usize) -> Option<f64> {
        let right_rows = match right.count_ones() {
            1 => {
                let unit = right.trailing_zeros() as usize;
                if !self.may_read_alone(unit) {
                    return None;
                }
                self.units[unit].0
            }
            _ => self.rows(right),
        };
        let own = self.lookups.options.cost.merge_join(self.rows(left), right_rows, self.rows(left | right));
        Some(own + self.if_forced(Switch::HashJoin, left, right))
    }
}

/// Distinct values of a join column in a unit. Conditions on the column itself leave fewer; others are assumed to
/// leave the relation between the two sides as it is.
fn class_distinct(graph: &Graph, estimator: &Estimator, unit: usize, id: ColId, rows: f64) -> f64 {
    let Some(base) = estimator.column(id) else { return rows.max(1.0) };
    let mut distinct = base.distinct;
    if let Rel::Filter { input, predicates } = &graph.units[unit].rel
        && matches!(**input, Rel::Get { .. })
    {
        let own: Vec<Expr> = predicates
            .iter()
            .filter(|p| {
                let columns = crate::scope::expr_columns(p);
                columns.len() == 1 && columns.contains(&id) && !p.has_subquery()
            })
            .cloned()
            .collect();
        distinct *= estimator.selectivity(&own);
    }
    distinct.max(1.0)
}

fn composite_keys(
    graph: &Graph,
    estimator: &Estimator,
    distinct: &[Vec<f64>],
    units: &[(f64, f64)],
) -> Vec<(usize, usize, f64)> {
    let mut found = Vec::new();
    for (i, unit) in graph.units.iter().enumerate().filter(|(_, u)| u.role == Role::Inner) {
        for key in properties::unique_keys(&unit.rel).into_iter().filter(|k| k.len() > 1) {
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

fn dependent_factor(graph: &Graph, estimator: &Estimator, unit: usize, rows: f64) -> f64 {
    let Role::Dependent { kind, on, .. } = &graph.units[unit].role else { return 1.0 };
    let own = &graph.units[unit].columns;
    let (mut matched, mut per_row) = (1.0f64, rows);
    for condition in on {
        let sides = match condition {
            Expr::Compare { op: CompareOp::Eq, left, right } => {
                if crate::scope::covered(right, own) {
                    Some((left, right))
                } else {
                    Some((right, left))
                }
            }
            _ => None,
        };
        match sides {
            Some((outer, inner)) => {
                let inner = estimator.distinct(inner).unwrap_or(EQUALITY_VALUES);
                let outer = estimator.distinct(outer).unwrap_or(inner);
                matched *= (distinct_after(inner, rows) / outer.max(1.0)).min(1.0);
                per_row /= inner.max(outer).max(1.0);
            }
            None => {
                matched *= RESIDUAL_SHARE;
                per_row *= estimator.selectivity(std::slice::from_ref(condition));
            }
        }
    }
    match kind {
        JoinKind::Inner => per_row,
        JoinKind::Left => per_row.max(1.0),
        JoinKind::Semi => matched.clamp(1e-9, 1.0),
        JoinKind::Anti | JoinKind::NullAwareAnti => (1.0 - matched).max(0.1),
    }
}
