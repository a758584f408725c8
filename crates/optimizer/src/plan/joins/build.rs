//! From the tree of a join region to its plan.

use super::merge;
use crate::cost::hash_join_cost;
use crate::join_order::{
    enumerator::{JoinModel, Tree},
    graph::{self, Graph, Role, Units},
    model::{Method, Model},
    orders::Orders,
};
use crate::plan::{Planner, kept_order};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, CompareOp, Estimate, Expr, JoinKind, Plan, PlanOp};
use muster_types::Result;

/// Builds the plan of a region from a tree of its units.
pub struct Builder<'p, 'a, 'g> {
    pub planner: &'p mut Planner<'a>,
    pub graph: &'g Graph,
    pub model: &'g Model<'g>,
    /// The plans of the units, as long as they have not been taken.
    pub plans: Vec<Option<Plan>>,
    pub orders: &'g Orders,
}

impl Builder<'_, '_, '_> {
    /// Builds the plan of a tree.
    pub fn build(&mut self, tree: &Tree, required: &ColSet) -> Result<Plan> {
        let graph = self.graph;
        let dependent = |unit: &usize| match &graph.units[*unit].role {
            Role::Dependent { kind, on, .. } => Some((*kind, on)),
            Role::Inner => None,
        };
        let (left, right_units, role) = match tree {
            Tree::Unit(unit) => {
                return self.plans[*unit].take().ok_or_else(|| muster_types::SqlError::internal("a unit joined twice"));
            }
            Tree::Ordered(unit, order) => {
                let plan = self.orders.plans.get(&(*unit, *order)).cloned();
                return plan.ok_or_else(|| muster_types::SqlError::internal("a unit without an order"));
            }
            Tree::Inner(left, right) => (left, right.units(), None),
            Tree::Merge(left, right, _) => match &**right {
                Tree::Ordered(unit, _) => (left, 1 << unit, dependent(unit)),
                right => (left, right.units(), None),
            },
            Tree::Dependent(left, unit) | Tree::Lookup(left, unit) => (left, 1 << unit, dependent(unit)),
        };
        let left_units = left.units();
        let (kind, mut on) = match role {
            Some((kind, on)) => (kind, on.clone()),
            None => (JoinKind::Inner, self.equalities(left_units, right_units)),
        };
        let (newly, mut checked) = self.newly_covered(left_units, right_units);
        match kind {
            JoinKind::Inner => on.extend(newly),
            _ => checked.extend(newly),
        }
        let (on, subqueries) = split_inner(kind, on);
        checked.extend(subqueries);
        let above = above_with(required, &checked);
        let below = above_with(&above, &on);
        let left = self.build(left, &below)?;
        let rows = self.model.rows(left_units | right_units);
        let plan = match tree {
            Tree::Inner(_, right) => {
                let (method, cost) = self.model.method(left_units, right_units, None);
                let right = self.build(right, &below)?;
                join(self.planner, kind, left, right, on, &above, method, Estimate { rows, cost })?
            }
            Tree::Dependent(_, unit) => {
                let (method, cost) = self.model.method(left_units, right_units, Some(*unit));
                let right = self.build(&Tree::Unit(*unit), &below)?;
                join(self.planner, kind, left, right, on, &above, method, Estimate { rows, cost })?
            }
            Tree::Lookup(_, unit) => self.look_up(left, left_units, *unit, kind, on, rows, &above)?,
            Tree::Merge(_, right, order) => {
                let right = self.build(right, &below)?;
                let mut available = left.output.clone();
                if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                    available.extend(&right.output);
                }
                let output = self.planner.narrow(available, &above);
                merge::join(kind, left, right, &self.orders.all[*order], on, rows, output, &self.planner.options.cost)?
            }
            Tree::Unit(_) | Tree::Ordered(..) => unreachable!("returned above"),
        };
        let mut plan = self.planner.filter(plan, checked, required)?;
        plan.estimate.rows = rows;
        Ok(plan)
    }

    /// Joins a unit by looking its rows up.
    #[allow(clippy::too_many_arguments, reason = "all that there is to a join")]
    fn look_up(
        &self,
        left: Plan,
        left_units: Units,
        unit: usize,
        kind: JoinKind,
        on: Vec<Expr>,
        rows: f64,
        above: &ColSet,
    ) -> Result<Plan> {
        let lookup = self.model.lookup(left_units, unit);
        let lookup = lookup.ok_or_else(|| muster_types::SqlError::internal("a lookup without an index"))?;
        let conjuncts = on.into_iter().flat_map(Expr::into_conjuncts);
        let residual: Vec<Expr> = conjuncts.filter(|c| !lookup.implies(c)).collect();
        let scan = self.model.lookups().scan(unit, &lookup, &above_with(above, &residual));
        let scan = scan.ok_or_else(|| muster_types::SqlError::internal("a lookup in what is no table"))?;
        let mut available = left.output.clone();
        if matches!(kind, JoinKind::Inner | JoinKind::Left) {
            available.extend(scan.columns.iter().map(|(id, _)| *id));
        }
        let output = self.planner.narrow(available, above);
        let estimate = Estimate { rows, cost: left.estimate.cost + lookup.cost };
        let options = &self.model.lookups().unit_options[unit];
        // A buffer of rows is looked up in the order of its keys, a row by itself in that of the rows.
        let order = if lookup.batched { Vec::new() } else { kept_order(&left.order, &output) };
        Ok(Plan::new(lookup.op(kind, left, scan, residual, options), output, estimate, order))
    }

    /// One equality for each class that has columns on both sides; the others follow.
    fn equalities(&self, left: Units, right: Units) -> Vec<Expr> {
        let mut on = Vec::new();
        for class in &self.graph.classes {
            let of = |set: Units| class.iter().find(|(u, _)| set & (1 << u) != 0).map(|(_, id)| *id);
            if let (Some(a), Some(b)) = (of(left), of(right)) {
                on.push(Expr::eq(Expr::Column(a), Expr::Column(b)));
            }
        }
        for edge in &self.graph.edges {
            let both = edge.left_units | edge.right_units;
            if self.is_new(both, left, right) {
                on.push(Expr::eq(edge.left.clone(), edge.right.clone()));
            }
        }
        on
    }

    fn is_new(&self, units: Units, left: Units, right: Units) -> bool {
        units & !(left | right) == 0 && units & !left != 0 && units & !right != 0
    }

    /// Conditions that can be checked for the first time: in the join, and above it.
    fn newly_covered(&self, left: Units, right: Units) -> (Vec<Expr>, Vec<Expr>) {
        let inner = self.graph.inner_units();
        let new = self.graph.predicates.iter().filter(|p| self.is_new(p.units, left, right));
        let (inside, above): (Vec<_>, Vec<_>) = new.partition(|p| p.units & !inner == 0 && !p.expr.runs_apart());
        let exprs = |list: Vec<&graph::Predicate>| list.into_iter().map(|p| p.expr.clone()).collect();
        (exprs(inside), exprs(above))
    }
}

/// The key pairs among join conditions, and the rest.
pub fn split_keys(on: Vec<Expr>, left: &[ColId], right: &[ColId]) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (left, right): (ColSet, ColSet) = (left.iter().copied().collect(), right.iter().copied().collect());
    let (mut keys, mut residual) = (Vec::new(), Vec::new());
    for condition in on {
        if condition.has_subquery() {
            residual.push(condition);
            continue;
        }
        match condition {
            Expr::Compare { op: CompareOp::Eq, left: a, right: b } => {
                let (ca, cb) = (scope::expr_columns(&a), scope::expr_columns(&b));
                let some = !ca.is_empty() && !cb.is_empty();
                if some && ca.is_subset(&left) && cb.is_subset(&right) {
                    keys.push((*a, *b));
                } else if some && ca.is_subset(&right) && cb.is_subset(&left) {
                    keys.push((*b, *a));
                } else {
                    residual.push(Expr::Compare { op: CompareOp::Eq, left: a, right: b });
                }
            }
            other => residual.push(other),
        }
    }
    (keys, residual)
}

/// Joins two plans that are both read completely. `own`: rows of the join, and its cost without the inputs.
#[allow(clippy::too_many_arguments, reason = "all that there is to a join")]
fn join(
    planner: &mut Planner<'_>,
    kind: JoinKind,
    left: Plan,
    right: Plan,
    on: Vec<Expr>,
    required: &ColSet,
    method: Method,
    own: Estimate,
) -> Result<Plan> {
    let on: Vec<Expr> =
        on.into_iter().flat_map(Expr::into_conjuncts).map(|e| planner.lower(e)).collect::<Result<_>>()?;
    let swaps = matches!(method, Method::NestedLoop { swap: true });
    let (left, right) = if swaps { (right, left) } else { (left, right) };
    let mut available = left.output.clone();
    if matches!(kind, JoinKind::Inner | JoinKind::Left) {
        available.extend(&right.output);
    }
    let output = planner.narrow(available, required);
    let (left_cost, right_cost) = (left.estimate.cost, right.estimate.cost);
    let cost = match method {
        Method::Hash { build } => hash_join_cost(left_cost, right_cost, build, own.cost),
        // The right input is kept.
        Method::NestedLoop { .. } => left_cost + right_cost.before_first_row() + own.cost,
    };
    let (left, right) = (Box::new(left), Box::new(right));
    let op = match method {
        Method::Hash { build } => {
            let (keys, residual) = split_keys(on, &left.output, &right.output);
            if keys.is_empty() {
                return Err(muster_types::SqlError::internal("a hash join without keys"));
            }
            PlanOp::HashJoin { kind, left, right, keys, residual, build }
        }
        Method::NestedLoop { .. } => PlanOp::NestedLoopJoin { kind, left, right, on },
    };
    Ok(Plan::new(op, output, Estimate { rows: own.rows, cost }, Vec::new()))
}

fn above_with(above: &ColSet, more: &[Expr]) -> ColSet {
    above.iter().copied().chain(scope::exprs_columns(more)).collect()
}

/// Conditions that operators of their own compute are checked above an inner join.
fn split_inner(kind: JoinKind, on: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    if kind != JoinKind::Inner {
        return (on, Vec::new());
    }
    on.into_iter().partition(|e| !e.runs_apart())
}
