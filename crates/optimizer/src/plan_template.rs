//! A plan that serves other values of a statement's parameters than those that it was made for.
//!
//! A relation with parameters is planned for certain values ([`Expr::Parameter`], `planned_for`). Rewrites do not look
//! at these, so what they did holds for all values. Two things depend on the values: estimates, and the key ranges of
//! scans with what follows from ranges (which conditions they imply, which parts of a key are fixed). For other values
//! the ranges are made anew, from the conditions that a scan keeps ([`Scan::conditions`]). The plan serves these
//! values if all that followed from the ranges follows from the new ones, too, and they hold about as many rows. Then
//! no choice was wrong but by estimate, and not by much: only cheap plans become templates.

use crate::{
    interrupt::Interrupt,
    literal::exact_value,
    options::Options,
    ranges::{Domains, IndexRanges, KnownRanges},
    trace::Trace,
};
use muster_algebra::{Expr, KeyRange, Plan, PlanOp, Scan, ScanConditions, Statistics};
use muster_types::Value;

/// A plan that takes more milliseconds is worth to be made for its own values.
const COST_MS_MAX: f64 = 5.0;
/// Numbers of rows that differ by less than this factor are taken for equal, and so are those below the other bound.
const ROWS_FACTOR: f64 = 2.0;
const FEW_ROWS: f64 = 50.0;

/// A plan with parameters, and what its choice of ranges came from.
#[derive(Debug)]
pub struct PlanTemplate {
    plan: Plan,
    options: Options,
    /// The ranges of each scan whose conditions have parameters, in the order of [`visit_scans`].
    ranges: Vec<RangesAsPlanned>,
}

#[derive(Debug)]
struct RangesAsPlanned {
    ranges: IndexRanges,
    /// Rows in them; `None` if each range is a single row, or they are everything.
    rows: Option<f64>,
}

impl PlanTemplate {
    /// Makes a template of a plan whose parameters have values that they were planned for. `None` if the plan serves
    /// these values only: it is not cheap, or ranges of a scan cannot be made anew. `options`: those that it was
    /// planned with.
    pub fn of(plan: &Plan, statistics: &dyn Statistics, options: &Options) -> Option<PlanTemplate> {
        if plan.estimate.cost_ms > COST_MS_MAX {
            return None;
        }
        let mut ranges = Some(Vec::new());
        visit_scans(plan, &mut |scan| {
            let Some(conditions) = &scan.conditions else { return };
            let found = as_planned(scan, conditions, statistics, options);
            ranges = ranges.take().zip(found).map(|(mut all, found)| {
                all.push(found);
                all
            });
        });
        let mut options = options.clone();
        (options.interrupt, options.trace) = (Interrupt::default(), Trace::default());
        Some(PlanTemplate { plan: plan.clone(), options, ranges: ranges? })
    }

    /// The plan for other values, by the parameters' numbers. `None` if the statement is to be planned for them.
    pub fn with_values(&self, values: &[Value], statistics: &dyn Statistics) -> Option<Plan> {
        let mut plan = self.plan.clone();
        let mut as_planned = self.ranges.iter();
        set_values(&mut plan, values, &mut |scan| {
            let Some(conditions) = scan.conditions.take() else { return Some(()) };
            let mut conditions = std::sync::Arc::unwrap_or_clone(conditions);
            conditions.conjuncts.iter_mut().try_for_each(|conjunct| set_value(conjunct, values))?;
            let ranges = as_planned.next()?.for_conditions(scan, &conditions, statistics, &self.options)?;
            if !scan.steering.is_empty() {
                scan.steering = ranges.steering;
            }
            scan.ranges = ranges.ranges;
            Some(())
        })?;
        Some(plan)
    }
}

/// The ranges of a scan, made anew of its conditions; `None` if these are not those that it has.
fn as_planned(
    scan: &Scan,
    conditions: &ScanConditions,
    statistics: &dyn Statistics,
    options: &Options,
) -> Option<RangesAsPlanned> {
    let ranges = ranges_of(scan, conditions, options)?;
    let is_same = ranges.ranges == scan.ranges && (scan.steering.is_empty() || scan.steering == ranges.steering);
    if !is_same || ranges.ranges.is_empty() {
        return None;
    }
    let rows = match ranges.parts == 0 || ranges.are_single_rows(&scan.table, scan.index) {
        true => None,
        false => Some(statistics.range_rows(&scan.table, scan.index, &ranges.ranges)?),
    };
    Some(RangesAsPlanned { ranges, rows })
}

/// The ranges that conditions leave of a scan's index; everything if they do not restrict it.
fn ranges_of(scan: &Scan, conditions: &ScanConditions, options: &Options) -> Option<IndexRanges> {
    let ScanConditions { columns, conjuncts } = conditions;
    let found = Domains::new(&scan.table, columns, conjuncts, options, &KnownRanges::default()).ranges(scan.index);
    let all = || vec![KeyRange::all()];
    if let Some(found) = found.map(std::rc::Rc::unwrap_or_clone) {
        // A scan that is not steered may leave out conditions that hold for all values of a column all the same.
        return match found.parts > 0 || !scan.steering.is_empty() {
            true => Some(found),
            false => (scan.ranges == all()).then(|| IndexRanges { ranges: all(), steering: Vec::new(), ..found }),
        };
    }
    (scan.ranges == all()).then(|| IndexRanges {
        ranges: all(),
        equal_parts: 0,
        fixed_parts: 0,
        parts: 0,
        steering: Vec::new(),
        implied: vec![false; conjuncts.len()],
        says_all: false,
        steered: vec![false; conjuncts.len()],
    })
}

impl RangesAsPlanned {
    /// The ranges for other values, if all that followed from those that were planned follows from them.
    fn for_conditions(
        &self,
        scan: &Scan,
        conditions: &ScanConditions,
        statistics: &dyn Statistics,
        options: &Options,
    ) -> Option<IndexRanges> {
        let (planned, ranges) = (&self.ranges, ranges_of(scan, conditions, options)?);
        let is_alike = ranges.equal_parts == planned.equal_parts
            && ranges.fixed_parts == planned.fixed_parts
            && ranges.parts == planned.parts
            && ranges.implied == planned.implied
            && ranges.says_all == planned.says_all
            && ranges.steered == planned.steered
            && ranges.steering.is_empty() == planned.steering.is_empty()
            && !ranges.ranges.is_empty();
        if !is_alike {
            return None;
        }
        let has_as_many_rows = match self.rows {
            None if planned.parts == 0 => true,
            None => ranges.ranges.len() == planned.ranges.len() && ranges.are_single_rows(&scan.table, scan.index),
            Some(planned) => {
                let rows = statistics.range_rows(&scan.table, scan.index, &ranges.ranges)?;
                let (fewer, more) = (rows.min(planned), rows.max(planned));
                more <= FEW_ROWS || more <= fewer * ROWS_FACTOR
            }
        };
        has_as_many_rows.then_some(ranges)
    }
}

/// Calls `f` for the scans of a plan and of its subplans.
fn visit_scans(plan: &Plan, f: &mut dyn FnMut(&Scan)) {
    match &plan.op {
        PlanOp::Scan(scan) => f(scan),
        PlanOp::LookupJoin { lookup, .. } => f(lookup),
        _ => {}
    }
    plan.inputs().into_iter().for_each(|input| visit_scans(input, f));
    plan.exprs().into_iter().for_each(|expr| visit_scans_within(expr, f));
}

fn visit_scans_within(expr: &Expr, f: &mut dyn FnMut(&Scan)) {
    expr.children().into_iter().for_each(|child| visit_scans_within(child, f));
    if let Expr::Subplan(subplan) = expr {
        visit_scans(&subplan.plan, f);
    }
}

/// Puts values in place of the parameters of a plan, and hands its scans to `f`, in the order of [`visit_scans`].
/// `None` if `f` gives up, or a parameter cannot have its value.
fn set_values(plan: &mut Plan, values: &[Value], f: &mut dyn FnMut(&mut Scan) -> Option<()>) -> Option<()> {
    match &mut plan.op {
        PlanOp::Scan(scan) => f(scan)?,
        PlanOp::LookupJoin { lookup, .. } => f(lookup)?,
        // These are not among the expressions of the node.
        PlanOp::FinalAggregate { aggregates, .. } => {
            let mut args = aggregates.iter_mut().flat_map(|(_, call)| &mut call.args);
            args.try_for_each(|arg| set_value(arg, values))?;
        }
        _ => {}
    }
    plan.inputs_mut().into_iter().try_for_each(|input| set_values(input, values, f))?;
    plan.order.iter_mut().try_for_each(|key| set_value(&mut key.expr, values))?;
    plan.exprs_mut().into_iter().try_for_each(|expr| set_values_within(expr, values, f))
}

fn set_values_within(expr: &mut Expr, values: &[Value], f: &mut dyn FnMut(&mut Scan) -> Option<()>) -> Option<()> {
    set_own_value(expr, values)?;
    expr.children_mut().into_iter().try_for_each(|child| set_values_within(child, values, f))?;
    match expr {
        Expr::Subplan(subplan) => set_values(&mut subplan.plan, values, f),
        _ => Some(()),
    }
}

/// Puts values in place of the parameters of an expression without subplans.
fn set_value(expr: &mut Expr, values: &[Value]) -> Option<()> {
    set_own_value(expr, values)?;
    expr.children_mut().into_iter().try_for_each(|child| set_value(child, values))
}

/// Replaces a parameter by its value, if its type holds that exactly.
fn set_own_value(expr: &mut Expr, values: &[Value]) -> Option<()> {
    if let Expr::Parameter { index, ty, .. } = *expr {
        *expr = Expr::literal(exact_value(values.get(index)?, ty, ty)?, ty);
    }
    Some(())
}
