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
use muster_types::{SqlType, Value};

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
    /// The ranges of each scan whose conditions have parameters, in the order of [`update_scans`].
    ranges: Vec<RangesAsPlanned>,
}

#[derive(Debug)]
struct RangesAsPlanned {
    ranges: IndexRanges,
    /// Rows in them; `None` if each range is a single row, or they are everything.
    rows: Option<f64>,
}

impl PlanTemplate {
    /// Makes a template of a plan whose parameters were planned for these values, and the plan for them. `None` if it
    /// serves these only: it is not cheap, or ranges of a scan cannot be made anew. `options`: those that it was
    /// planned with.
    pub fn of(
        plan: &Plan,
        values: &[Value],
        statistics: &dyn Statistics,
        options: &Options,
    ) -> Option<(PlanTemplate, Plan)> {
        if plan.estimate.cost.worst_ms > COST_MS_MAX || bets_on_rows(plan) {
            return None;
        }
        let mut options = options.clone();
        (options.interrupt, options.trace) = (Interrupt::default(), Trace::default());
        let (mut own, mut ranges) = (plan.clone(), Vec::new());
        update_scans(&mut own, &mut |scan| {
            if let Some(conditions) = scan.conditions.take() {
                ranges.push(as_planned(scan, &conditions, statistics, &options)?);
            }
            Some(())
        })?;
        own.set_parameters(&mut of_type(values))?;
        Some((PlanTemplate { plan: plan.clone(), options, ranges }, own))
    }

    /// The plan for other values, by the parameters' numbers. `None` if the statement is to be planned for them.
    pub fn with_values(&self, values: &[Value], statistics: &dyn Statistics) -> Option<Plan> {
        let (mut plan, mut as_planned) = (self.plan.clone(), self.ranges.iter());
        let mut value = of_type(values);
        plan.set_parameters(&mut value)?;
        update_scans(&mut plan, &mut |scan| {
            let Some(conditions) = scan.conditions.take() else { return Some(()) };
            let mut conditions = std::sync::Arc::unwrap_or_clone(conditions);
            conditions.conjuncts.iter_mut().try_for_each(|conjunct| conjunct.set_parameters(&mut value))?;
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

/// The values of parameters, if their types hold them exactly.
fn of_type(values: &[Value]) -> impl FnMut(usize, SqlType) -> Option<Value> {
    |index, ty| exact_value(values.get(index)?, ty, ty)
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

/// Returns true if a plan looks rows up one after the other for as long as rows are wanted: how many it looks up for
/// that depends on the values, also where the ranges do not.
fn bets_on_rows(plan: &Plan) -> bool {
    matches!(plan.op, PlanOp::LookupJoin { batched: false, .. }) || plan.inputs().into_iter().any(bets_on_rows)
}

/// Calls `f` for the scans of a plan and of its subplans, until it gives up.
fn update_scans(plan: &mut Plan, f: &mut dyn FnMut(&mut Scan) -> Option<()>) -> Option<()> {
    match &mut plan.op {
        PlanOp::Scan(scan) => f(scan)?,
        PlanOp::LookupJoin { lookup, .. } => f(lookup)?,
        _ => {}
    }
    plan.inputs_mut().into_iter().try_for_each(|input| update_scans(input, f))?;
    plan.exprs_mut().into_iter().try_for_each(|expr| update_scans_within(expr, f))
}

fn update_scans_within(expr: &mut Expr, f: &mut dyn FnMut(&mut Scan) -> Option<()>) -> Option<()> {
    let mut found = Some(());
    expr.for_each_child_mut(&mut |child| found = found.and_then(|()| update_scans_within(child, f)));
    match expr {
        Expr::Subplan(subplan) => found.and_then(|()| update_scans(&mut subplan.plan, f)),
        _ => found,
    }
}
