//! From the rewritten `Rel` to a `Plan`: one physical node for each logical one; joins and base tables go to
//! [`joins`] and [`crate::access_path`].
//!
//! Every node is planned for the columns that are wanted above it (`required`) and delivers no others where it can.

pub mod validate;

mod aggregate;
mod distinct_values;
mod early_stop;
mod index_ends;
mod index_merge;
mod joins;
mod json_table;
mod late_fetch;
mod long_list;
mod memo;
pub mod order;
mod recursion;
mod rollup;
mod sharing;
mod window;

use crate::access_path::{self, Chosen, Request};
use crate::cost::{CostModel, predicates_weight};
use crate::estimate::Estimator;
use crate::options::Options;
use crate::scope::{self, ColSet};
use crate::trace::{Event, TracedTable};
use index_merge::Merged;
pub use memo::Memo;
use muster_algebra::{
    ColId, Columns, CompareOp, Cost, Estimate, Expr, Plan, PlanOp, Rel, SortKey, Statistics, Subplan, SubqueryKind,
    Switch,
};
use muster_types::Result;
use recursion::working;
use sharing::Sharing;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The order in which rows of a table are wanted, and how many of them at most.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    order: &'a [SortKey],
    limit: Option<u64>,
    /// See [`Request::takes_risks`].
    takes_risks: bool,
}

/// Turns one statement's relations into plans.
pub struct Planner<'a> {
    pub columns: Rc<Columns>,
    pub statistics: &'a dyn Statistics,
    pub options: &'a Options,
    pub estimator: Rc<Estimator>,
    sharing: Sharing,
    pub memo: Memo,
    /// Hints that contradict each other or the query, as warnings show them.
    pub ignored_hints: BTreeSet<String>,
}

impl<'a> Planner<'a> {
    pub fn new(rel: &Rel, columns: Columns, statistics: &'a dyn Statistics, options: &'a Options) -> Planner<'a> {
        let mut estimator = Estimator::default();
        estimator.learn(rel, statistics);
        let sharing = match options.is_on(Switch::SharedRows) {
            true => Sharing::of(rel),
            false => Sharing::default(),
        };
        let (columns, estimator, ignored_hints) = (Rc::new(columns), Rc::new(estimator), BTreeSet::new());
        Planner { columns, statistics, options, estimator, sharing, memo: Memo::of(rel), ignored_hints }
    }

    /// The statement's columns, to add some.
    pub fn columns_mut(&mut self) -> &mut Columns {
        Rc::make_mut(&mut self.columns)
    }

    /// Has the estimator know the columns of a relation.
    pub fn learn(&mut self, rel: &Rel) {
        Rc::make_mut(&mut self.estimator).learn(rel, self.statistics);
    }

    /// The plan of a whole statement.
    pub fn statement(&mut self, rel: &Rel, outputs: &[ColId]) -> Result<Plan> {
        let plan = self.plan_for(rel, outputs)?;
        Ok(if self.sharing.is_empty() { plan } else { sharing::inline_single_readers(plan) })
    }

    /// A plan that delivers exactly these columns, in order.
    pub fn plan_for(&mut self, rel: &Rel, outputs: &[ColId]) -> Result<Plan> {
        let plan = self.plan(rel, &outputs.iter().copied().collect())?;
        Ok(deliver(plan, outputs))
    }

    /// A plan that delivers at least the required columns. One that was made before is made no second time.
    pub fn plan(&mut self, rel: &Rel, required: &ColSet) -> Result<Plan> {
        self.options.interrupt.check()?;
        if let Some(plan) = self.shared(rel, required)? {
            return Ok(plan);
        }
        let plan =
            self.memoized(rel, required, None, |planner, required| planner.plan_alone(rel, required).map(Some))?;
        plan.ok_or_else(|| muster_types::SqlError::internal("a relation without a plan"))
    }

    fn plan_alone(&mut self, rel: &Rel, required: &ColSet) -> Result<Plan> {
        match rel {
            Rel::Get { .. } => self.plan_table(rel, &[], required, &[], None),
            Rel::Values { columns, rows } => self.plan_values(columns, rows),
            Rel::Filter { input, predicates } => match &**input {
                Rel::Get { .. } => self.plan_table(input, predicates, required, &[], None),
                Rel::Join { .. } => joins::plan_joins(self, rel, required),
                Rel::Window { input, window } => self.plan_filtered_window(input, window, predicates, required),
                _ => {
                    let mut below = required.clone();
                    below.extend(scope::exprs_columns(predicates));
                    let plan = self.plan(input, &below)?;
                    self.filter(plan, predicates.clone(), required)
                }
            },
            Rel::Project { input, exprs } => {
                let exprs = wanted_exprs(exprs, required);
                let input = self.plan(input, &scope::exprs_columns(exprs.iter().map(|(_, e)| e)))?;
                self.project(input, exprs)
            }
            Rel::Join { .. } => joins::plan_joins(self, rel, required),
            Rel::Aggregate { input, group, aggregates } => self.plan_aggregate(input, group, aggregates, required),
            Rel::Working { table, name, columns } => Ok(working(*table, name, columns)),
            Rel::Recursive { input, recursion } => self.plan_recursive(input, recursion),
            Rel::Rollup { input, rollup } => self.plan_rollup(input, rollup, required),
            Rel::Window { input, window } => self.plan_window(input, window, required),
            Rel::Sort { input, keys } => self.plan_sort(input, keys, None, required),
            Rel::Limit { input, offset, count } => self.plan_limit(input, *offset, *count, required),
            Rel::Lateral { input, rows, keeps } => self.plan_lateral(input, rows, *keeps, required),
            Rel::JsonTable { input, table, keeps } => self.plan_json_table(input, table, *keeps, required),
            Rel::Union { inputs, columns } => self.plan_union(inputs, columns, required),
        }
    }

    /// A base table with conditions; those with subqueries are checked above the scan.
    pub fn plan_table(
        &mut self,
        get: &Rel,
        predicates: &[Expr],
        required: &ColSet,
        order: &[SortKey],
        limit: Option<u64>,
    ) -> Result<Plan> {
        self.plan_get(get, predicates, required, Wanted { order, limit, takes_risks: true })
    }

    fn plan_get(&mut self, get: &Rel, predicates: &[Expr], required: &ColSet, wanted: Wanted<'_>) -> Result<Plan> {
        let Wanted { order, limit, takes_risks } = wanted;
        let Rel::Get { table, alias, columns, hints } = get else {
            return Err(muster_types::SqlError::internal("not a table"));
        };
        let goes_above = |p: &&Expr| p.has_subquery() || !p.is_movable();
        let above: Vec<Expr> = predicates.iter().filter(goes_above).cloned().collect();
        let conjuncts: Cow<'_, [Expr]> = match above.is_empty() {
            true => Cow::Borrowed(predicates),
            false => predicates.iter().filter(|p| !goes_above(p)).cloned().collect(),
        };
        let conjuncts = &*conjuncts;
        let mut below = required.clone();
        below.extend(scope::exprs_columns(&above));
        if order.is_empty()
            && let Some(join) = match self.parameters_joined(get, conjuncts) {
                Some(join) => Some(join),
                None => self.list_joined(get, conjuncts),
            }
        {
            let plan = joins::plan_joins(self, &join, &below)?;
            return self.filter(plan, above, required);
        }
        let limit = if above.is_empty() { limit } else { None };
        let options = self.options.for_rel(get);
        let options = &*options;
        let known = &*self.memo.ranges_of(get, conjuncts);
        let merged = Merged { table, alias, columns, hints, conjuncts, required: &below, options, known };
        let merge = self.index_merge(merged);
        let late = self.late_fetch(merged, Wanted { limit, ..wanted });
        let by_cost = |a: &Plan, b: &Plan| a.estimate.cost.compared_ms().total_cmp(&b.estimate.cost.compared_ms());
        let is_forced = merge.is_some() && options.is_forced(Switch::IndexMerge) && order.is_empty();
        let required_below = &below;
        let request = Request {
            table,
            alias,
            columns,
            hints,
            conjuncts,
            required: required_below,
            order,
            limit,
            takes_risks,
            known,
        };
        let chosen = access_path::choose(request, self.statistics, &self.estimator, options);
        // Without ranges, if they were not made to their end.
        self.options.interrupt.check()?;
        let Chosen { plan: scan, risk } = chosen;
        // A scan that reads what is wanted and nothing else fetches no rows in vain.
        let late = late.filter(|_| scan.order.is_empty() || risk.is_some());
        let cost = |plan: &Option<Plan>| plan.as_ref().map(|plan| plan.estimate.cost);
        let alternatives = [("index_merge", cost(&merge)), ("late_fetch", cost(&late))];
        let keyed = merge.into_iter().chain(late).min_by(by_cost);
        let scan = match (keyed, risk) {
            (Some(keyed), _) if is_forced => keyed,
            (Some(keyed), _) if index_merge::is_better(&keyed, &scan, hints, order, limit, &self.options.cost) => keyed,
            (_, Some(risk)) => self.with_fallback(scan, &risk, get, conjuncts)?,
            _ => scan,
        };
        self.note_alternatives(get, alternatives, &scan);
        if above.is_empty() { Ok(scan) } else { self.filter(scan, above, required) }
    }

    /// Notes other ways to read a table than its paths, with their costs.
    fn note_alternatives(&self, get: &Rel, found: [(&'static str, Option<Cost>); 2], taken: &Plan) {
        let Rel::Get { table, alias, columns, .. } = get else { return };
        for (name, cost) in found {
            let Some(cost) = cost else { continue };
            self.options.trace.note(|| {
                let column = columns.first().map(|(id, _)| *id);
                let table = TracedTable { table: table.clone(), alias: alias.clone(), column };
                Event::Alternative { table, name, cost, chosen: cost == taken.estimate.cost }
            });
        }
    }

    /// A table whose conditions compare an indexed column with columns of the queries around it, as a join with the one
    /// row of those: so that it can be looked up, for each row of the outer query anew.
    fn parameters_joined(&mut self, get: &Rel, conjuncts: &[Expr]) -> Option<Rel> {
        let Rel::Get { table, columns, .. } = get else { return None };
        let position = |id: &ColId| columns.iter().find(|(c, _)| c == id).map(|(_, position)| *position);
        let leads =
            |position: usize| table.indexes.iter().any(|i| i.parts.first().is_some_and(|p| p.column == position));
        let parameter_of = |conjunct| parameter_of(conjunct, &|id| position(id).is_some());
        if !conjuncts.iter().filter_map(parameter_of).any(|(own, _)| position(&own).is_some_and(leads)) {
            return None;
        }
        let (mut ids, mut row, mut on, mut rest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            let Some((own, outer)) = parameter_of(conjunct) else {
                rest.push(conjunct.clone());
                continue;
            };
            let ty = outer.ty(&self.columns);
            let id = self.columns_mut().add_computed("", ty, true);
            ids.push(id);
            row.push(outer.clone());
            on.push(Expr::eq(Expr::Column(own), Expr::Column(id)));
        }
        let left = Rel::Values { columns: ids, rows: vec![row] };
        let right = crate::relation::filtered(get.clone(), rest);
        let (left, right) = (Box::new(left), Box::new(right));
        Some(Rel::Join { kind: muster_algebra::JoinKind::Inner, left, right, on, straight: false })
    }

    fn plan_values(&mut self, columns: &[ColId], rows: &[Vec<Expr>]) -> Result<Plan> {
        let rows: Result<Vec<Vec<Expr>>> =
            rows.iter().map(|row| row.iter().map(|e| self.lower(e.clone())).collect()).collect();
        let rows = rows?;
        let estimate = Estimate { rows: rows.len() as f64, cost: Cost::ZERO };
        Ok(Plan::new(PlanOp::Values { rows }, columns.to_vec(), estimate, Vec::new()))
    }

    /// Checks conditions above a plan.
    pub fn filter(&mut self, input: Plan, predicates: Vec<Expr>, required: &ColSet) -> Result<Plan> {
        if predicates.is_empty() {
            return Ok(input);
        }
        let share = self.estimator.selectivity(&predicates);
        let predicates: Vec<Expr> = predicates.into_iter().map(|p| self.lower(p)).collect::<Result<_>>()?;
        let estimate = Estimate {
            rows: input.estimate.rows * share,
            cost: input.estimate.cost
                + self.options.cost.filter(input.estimate.rows, predicates_weight(&predicates))
                + predicates.iter().map(|p| self.answers_cost(p, input.estimate.rows)).sum::<Cost>(),
        };
        let output = self.narrow(input.output.clone(), required);
        let order = kept_order(&input.order, &output);
        Ok(Plan::new(PlanOp::Filter { input: Box::new(input), predicates }, output, estimate, order))
    }

    /// The wanted ones of some columns, if nodes may drop columns.
    pub fn narrow(&self, output: Vec<ColId>, required: &ColSet) -> Vec<ColId> {
        if self.options.is_on(Switch::JoinProjection) {
            output.into_iter().filter(|id| required.contains(id)).collect()
        } else {
            output
        }
    }

    pub fn project(&mut self, input: Plan, exprs: Vec<(ColId, Expr)>) -> Result<Plan> {
        let exprs: Vec<(ColId, Expr)> =
            exprs.into_iter().map(|(id, e)| Ok((id, self.lower(e)?))).collect::<Result<_>>()?;
        let output: Vec<ColId> = exprs.iter().map(|(id, _)| *id).collect();
        if output == input.output && exprs.iter().all(|(id, e)| matches!(e, Expr::Column(c) if c == id)) {
            return Ok(input);
        }
        let rows = input.estimate.rows;
        let computed = exprs.iter().map(|(_, e)| e).filter(|e| !matches!(e, Expr::Column(_)));
        let cost = input.estimate.cost
            + self.options.cost.project(rows, predicates_weight(computed))
            + exprs.iter().map(|(_, e)| self.answers_cost(e, rows)).sum::<Cost>();
        let passed: ColSet =
            exprs.iter().filter(|(id, e)| matches!(e, Expr::Column(c) if c == id)).map(|(id, _)| *id).collect();
        let passed: Vec<ColId> = passed.into_iter().collect();
        let order = kept_order(&input.order, &passed);
        let op = PlanOp::Project { input: Box::new(input), exprs };
        Ok(Plan::new(op, output, Estimate { rows, cost }, order))
    }

    /// The rows of a dependent join, which runs its subquery for the rows of the input.
    fn plan_lateral(&mut self, input: &Rel, rows: &Expr, keeps: bool, required: &ColSet) -> Result<Plan> {
        let mut below = required.clone();
        below.extend(scope::expr_columns(rows));
        let input = self.plan(input, &below)?;
        let rows = self.lower(rows.clone())?;
        let Expr::Subplan(subplan) = &rows else {
            return Err(muster_types::SqlError::internal("a dependent join without a subplan"));
        };
        let output: Vec<ColId> = input.output.iter().chain(&subplan.outputs).copied().collect();
        let found = if keeps { subplan.plan.estimate.rows.max(1.0) } else { subplan.plan.estimate.rows };
        let cost = input.estimate.cost + subplan_cost(&rows, &self.options.cost, |_| input.estimate.rows);
        let estimate = Estimate { rows: input.estimate.rows * found, cost };
        let order = input.order.clone();
        let op = PlanOp::Lateral { input: Box::new(input), rows: Box::new(rows), keeps };
        Ok(Plan::new(op, output, estimate, order))
    }

    fn plan_union(&mut self, inputs: &[(Rel, Vec<ColId>)], columns: &[ColId], required: &ColSet) -> Result<Plan> {
        let kept: Vec<usize> = (0..columns.len()).filter(|i| required.contains(&columns[*i])).collect();
        let (mut plans, mut lists) = (Vec::new(), Vec::new());
        for (rel, ids) in inputs {
            let ids: Vec<ColId> = kept.iter().map(|i| ids[*i]).collect();
            plans.push(self.plan(rel, &ids.iter().copied().collect())?);
            lists.push(ids);
        }
        Ok(append(plans, lists, kept.iter().map(|i| columns[*i]).collect()))
    }

    /// The cost of the subplans in an expression over so many rows: answers are remembered, so each runs once for rows
    /// with the same parameters.
    fn answers_cost(&self, expr: &Expr, rows: f64) -> Cost {
        subplan_cost(expr, &self.options.cost, |params| {
            let distinct = |id: &ColId| self.estimator.distinct(&Expr::Column(*id)).unwrap_or(rows).max(1.0);
            params.iter().map(distinct).product::<f64>().min(rows)
        })
    }

    /// Turns the subqueries left in an expression into subplans.
    pub fn lower(&mut self, expr: Expr) -> Result<Expr> {
        if !expr.has_subquery() {
            return Ok(expr);
        }
        let mut failure = None;
        let lowered = expr.rewrite(&mut |e| match e {
            Expr::Subquery(q) => {
                let exists = scope::is_exists(&q.kind);
                let outputs = if exists { Vec::new() } else { q.outputs.clone() };
                let limited;
                let rel = match &q.kind {
                    // One row decides.
                    SubqueryKind::Exists { .. } => {
                        limited = Rel::Limit { input: q.rel.clone(), offset: 0, count: Some(1) };
                        &limited
                    }
                    _ => &*q.rel,
                };
                match self.plan_for(rel, &outputs) {
                    Ok(plan) => {
                        let params = scope::free_columns(&q.rel).into_iter().collect();
                        Expr::Subplan(Box::new(Subplan { kind: q.kind, plan: Box::new(plan), outputs, params }))
                    }
                    Err(error) => {
                        failure = Some(error);
                        Expr::Subquery(q)
                    }
                }
            }
            other => other,
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(lowered),
        }
    }
}

/// The column of a table that a condition compares with columns of the queries around it alone, and what with.
/// `is_own`: true for the table's columns.
fn parameter_of<'e>(conjunct: &'e Expr, is_own: &dyn Fn(&ColId) -> bool) -> Option<(ColId, &'e Expr)> {
    let Expr::Compare { op: CompareOp::Eq, left, right } = conjunct else { return None };
    match (&**left, &**right) {
        (Expr::Column(own), other) | (other, Expr::Column(own)) if is_own(own) => {
            let mentioned = scope::expr_columns(other);
            let is_outer = !mentioned.is_empty() && !mentioned.iter().any(is_own);
            is_outer.then_some((*own, other))
        }
        _ => None,
    }
}

/// The rows of several plans, one after the other. `columns[k]`: what input k has for the columns of the output.
fn append(inputs: Vec<Plan>, columns: Vec<Vec<ColId>>, output: Vec<ColId>) -> Plan {
    let estimate = Estimate {
        rows: inputs.iter().map(|p| p.estimate.rows).sum(),
        cost: inputs.iter().map(|p| p.estimate.cost).reduce(Cost::then).unwrap_or_default(),
    };
    Plan::new(PlanOp::UnionAll { inputs, columns }, output, estimate, Vec::new())
}

/// Plans a projection to exactly these columns, in this order, unless the plan already delivers them.
pub fn deliver(plan: Plan, outputs: &[ColId]) -> Plan {
    if plan.output == outputs {
        return plan;
    }
    let exprs = outputs.iter().map(|id| (*id, Expr::Column(*id))).collect();
    let (estimate, order) = (plan.estimate, kept_order(&plan.order, outputs));
    Plan::new(PlanOp::Project { input: Box::new(plan), exprs }, outputs.to_vec(), estimate, order)
}

/// The expressions of a projection that are wanted. One that assigns to a variable does so whether its value is wanted
/// or not.
fn wanted_exprs(exprs: &[(ColId, Expr)], required: &ColSet) -> Vec<(ColId, Expr)> {
    exprs.iter().filter(|(id, e)| required.contains(id) || e.uses_variables()).cloned().collect()
}

/// The leading sort keys that can still be named with these columns.
pub fn kept_order(order: &[SortKey], output: &[ColId]) -> Vec<SortKey> {
    let named = |k: &&SortKey| scope::expr_columns(&k.expr).iter().all(|c| output.contains(c));
    order.iter().take_while(named).cloned().collect()
}

/// The cost of the subplans in an expression, each of which starts as often as `runs` says for its parameters.
fn subplan_cost(expr: &Expr, model: &CostModel, runs: impl Fn(&[ColId]) -> f64) -> Cost {
    let mut total = Cost::ZERO;
    expr.visit(&mut |e| {
        if let Expr::Subplan(p) = e {
            let cost = p.plan.estimate.cost;
            total += match p.params.as_slice() {
                [] => (cost + model.subplan_starts(1.0)).before_first_row(),
                params => {
                    let runs = runs(params).max(1.0);
                    cost.repeated(runs) + model.subplan_starts(runs)
                }
            };
        }
    });
    total
}
