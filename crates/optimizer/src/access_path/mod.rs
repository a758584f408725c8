//! How one table is read: which index, which ranges of it, in which order, and what is checked on the way.
//!
//! ```text
//!   mod.rs      the cheapest of all ways
//!   costing.rs  what a way costs
//!   order.rs    the order of an index
//!   hints.rs    what index hints forbid
//!   rows.rs     how many rows the conditions leave
//!   loose.rs    one entry of each group
//!   traced.rs   the ways as events of the trace
//! ```

mod costing;
pub mod hints;
pub mod loose;
mod order;
mod rows;
mod traced;

use crate::cost::{self, CAUTION};
use crate::estimate::{Estimator, table_rows};
use crate::index_shape::tree_of;
use crate::options::Options;
use crate::ranges::{Domains, IndexRanges, KnownRanges};
use crate::scope::{self, ColSet};
pub use costing::EarlyStopRisk;
use costing::{PathBuilder, range_rows};
use muster_algebra::{
    ColId, Cost, Estimate, Expr, IndexHint, IndexHintScope, KeyRange, Plan, PlanOp, RowFetch, Scan, ScanConditions,
    SortKey, Statistics, Switch, TableDef,
};
use order::order_of;
use rows::RangeShare;
use std::borrow::Borrow;
use std::rc::Rc;
use std::sync::Arc;

/// [`CAUTION`] where another plan takes over after as much as that one costs (`plan/early_stop.rs`): no more than that
/// is at stake.
const BOUNDED_CAUTION: f64 = 3.0;

/// One table with the conditions on it alone.
pub struct Request<'a> {
    pub table: &'a Arc<TableDef>,
    pub alias: &'a str,
    pub columns: &'a [(ColId, usize)],
    pub hints: &'a [IndexHint],
    /// The conditions on the table; none of them has a subquery.
    pub conjuncts: &'a [Expr],
    /// Columns wanted above.
    pub required: &'a ColSet,
    /// Order in which rows are wanted, and how many of them at most: used if it is cheaper than sorting.
    pub order: &'a [SortKey],
    pub limit: Option<u64>,
    /// True if a scan in the wanted order may check conditions and yet stop early: the rows that qualify may all lie at
    /// the far end.
    pub takes_risks: bool,
    /// What is known of the ranges that the conjuncts leave.
    pub known: &'a KnownRanges,
}

impl Request<'_> {
    /// The conditions, for a plan that is to serve other values of its parameters; `None` if there are no parameters.
    fn with_parameters(&self) -> Option<Arc<ScanConditions>> {
        let has_parameter = |conjunct: &Expr| {
            let mut found = false;
            conjunct.visit(&mut |e| found |= matches!(e, Expr::Parameter { .. }));
            found
        };
        let any = self.conjuncts.iter().any(has_parameter);
        any.then(|| Arc::new(ScanConditions { columns: self.columns.to_vec(), conjuncts: self.conjuncts.to_vec() }))
    }
}

/// One way to read the table.
struct Path {
    index: usize,
    ranges: Option<Rc<IndexRanges>>,
    /// True if the path is a skip scan over the value sets of later parts.
    steered: bool,
    rows_read: f64,
    cost: Cost,
    /// `None` if the path does not deliver the wanted order; `Some(true)` if it is read backwards for it.
    ordered: Option<bool>,
    covering: bool,
}

impl Path {
    /// The table itself, of so many rows.
    fn whole(rows_read: f64) -> Path {
        Path { index: 0, ranges: None, steered: false, rows_read, cost: Cost::ZERO, ordered: None, covering: true }
    }

    /// Returns true if all conditions hold for every row of the ranges.
    fn implies(&self, conjuncts: &[Expr]) -> bool {
        conjuncts.is_empty() || self.ranges.as_ref().is_some_and(|r| r.implied.iter().all(|implied| *implied))
    }
}

/// The cheapest way to read a table.
pub struct Chosen {
    pub plan: Plan,
    /// What is at stake if the plan is an ordered scan that checks conditions and stops early, unless a hint wants it.
    pub risk: Option<EarlyStopRisk>,
}

/// Chooses the cheapest way to read a table.
pub fn choose(request: Request<'_>, statistics: &dyn Statistics, estimator: &Estimator, options: &Options) -> Chosen {
    let table = request.table;
    let total = table_rows(statistics, table);
    let needed: ColSet = request.required.iter().copied().chain(scope::exprs_columns(request.conjuncts)).collect();
    let columns: Vec<(ColId, usize)> = request.columns.iter().filter(|(id, _)| needed.contains(id)).copied().collect();
    let domains = Domains::new(table, request.columns, request.conjuncts, options, request.known);
    let mut held: Vec<RangeShare> = Vec::new();
    let mut paths: Vec<Path> = Vec::new();
    let mut steered: Vec<Path> = Vec::new();
    let builder = PathBuilder { columns: &columns, request: &request, statistics, estimator, options };
    for index in 0..table.indexes.len() {
        let usable = hints::may_read(index, request.hints) && options.is_on(Switch::AccessPath);
        if index > 0 && !usable {
            continue;
        }
        let in_ranges = usable && options.is_on_for(Switch::RangeOptimization, index);
        let ranges = if in_ranges { domains.ranges(index) } else { None };
        let covering = index == 0 || columns.iter().all(|(_, c)| table.index_has_column(index, *c));
        let fixed = ranges.as_ref().map_or(0, |r| r.fixed_parts);
        let ordered = match may_order(options, request.limit) && hints::may_order(index, request.hints) {
            true => order_of(table, index, fixed, request.columns, request.order, options),
            false => None,
        };
        let restricted = ranges.as_ref().is_some_and(|r| r.parts > 0);
        let implied = |r: &Rc<IndexRanges>| r.implied.iter().all(|implied| *implied);
        let is_risky =
            request.limit.is_some() && !request.conjuncts.is_empty() && !ranges.as_ref().is_some_and(implied);
        let ordered = ordered.filter(|_| request.takes_risks || !is_risky);
        let rows_read = match &ranges {
            Some(r) if r.ranges.is_empty() => 0.0,
            Some(r) if restricted => range_rows(r, index, &request, total, statistics, estimator),
            _ => total,
        };
        held.extend(ranges.iter().filter(|_| restricted).map(|ranges| (ranges.clone(), rows_read / total)));
        if let Some(ranges) = &ranges
            && ranges.may_be_steered(index, options)
        {
            steered.push(builder.path(index, Some(ranges.clone()), rows_read, covering, ordered));
        }
        if index == 0 || restricted || covering || ordered.is_some() {
            let ranges = ranges.filter(|_| restricted);
            paths.push(builder.path(index, ranges, rows_read, covering, ordered));
        }
    }
    let steered: Vec<Path> = steered.into_iter().map(|p| builder.steered(p, &paths)).collect();
    paths.extend(steered);
    let rows = total * rows::share(request.conjuncts, &held, estimator, options);
    let forced = hints::forces_reading(request.hints);
    let orders = |p: &Path| p.ordered.is_some() && hints::forces(p.index, request.hints, IndexHintScope::OrderBy);
    let noted = traced::PathNotes::begin(&paths, options);
    let best = paths
        .into_iter()
        .map(|p| (full_cost(&p, rows, total, &request, options), p))
        .min_by(|(a, x), (b, y)| {
            // FORCE INDEX: the table itself is scanned only if no index can be used.
            let scan = |p: &Path| forced && p.index == 0 && p.ranges.is_none() && p.ordered.is_none();
            let skips = |p: &Path| options.is_forced(Switch::SkipScan) && p.steered;
            let hinted = orders(y).cmp(&orders(x)).then(skips(y).cmp(&skips(x)));
            hinted
                .then(scan(x).cmp(&scan(y)))
                .then(a.compared_ms().total_cmp(&b.compared_ms()))
                .then(x.index.cmp(&y.index))
        })
        .map(|(cost, p)| Path { cost: if p.ordered.is_some() { cost } else { p.cost }, ..p })
        .unwrap_or_else(|| Path::whole(total));
    noted.end(&request, &best, (total, rows), options);
    let is_risky = best.ordered.is_some() && request.limit.is_some() && !best.implies(request.conjuncts);
    let risk = (is_risky && !orders(&best)).then(|| builder.risk(&best));
    Chosen { plan: build(best, rows, columns.clone(), request, estimator, options), risk }
}

/// The rows that the conditions leave, as far as one index's ranges and entries can tell; conditions over other columns
/// are left out. `None` if there are no ranges, or the entries do not have the columns wanted.
pub fn entries(
    request: &Request<'_>,
    index: usize,
    statistics: &dyn Statistics,
    estimator: &Estimator,
    options: &Options,
) -> Option<Plan> {
    let Request { table, alias, columns, conjuncts, required, .. } = request;
    let has = |id: &ColId| columns.iter().any(|(c, column)| c == id && table.index_has_column(index, *column));
    if !required.iter().all(has) {
        return None;
    }
    let found =
        Domains::new(table, columns, conjuncts, options, request.known).ranges(index).filter(|r| r.parts > 0)?;
    let total = table_rows(statistics, table);
    let rows_read = match found.ranges.is_empty() {
        true => 0.0,
        false => range_rows(&found, index, request, total, statistics, estimator),
    };
    let on_entries = not_implied(conjuncts, &found.implied).filter(|c| scope::expr_columns(c).iter().all(has));
    let conditions: Vec<Expr> = on_entries.cloned().collect();
    let rows = rows_read * estimator.selectivity(&conditions);
    let checked = scope::exprs_columns(&conditions);
    let read: Vec<(ColId, usize)> =
        columns.iter().filter(|(id, _)| required.contains(id) || checked.contains(id)).copied().collect();
    let tree = tree_of(statistics, table, index);
    let weight = cost::predicates_weight(&conditions);
    let scan = match index {
        0 => options.cost.clustered_scan(rows_read, read.len(), weight),
        _ => options.cost.secondary_scan(rows_read, read.len(), weight),
    };
    let cost = options.cost.sequential_reads(&tree, rows_read) + scan + options.cost.ranges(found.ranges.len());
    let reading = Reading { table, alias, index, columns: read, conditions };
    let scan = Scan {
        ranges: found.ranges.clone(),
        conditions: request.with_parameters(),
        ..reading.scan(required, estimator, options)
    };
    let output = scan.columns.iter().map(|(id, _)| *id).collect();
    Some(Plan::new(PlanOp::Scan(scan), output, Estimate { rows, cost }, Vec::new()))
}

/// Returns true if an index may be read for its order; to stop early under LIMIT, MySQL has a switch of its own.
fn may_order(options: &Options, limit: Option<u64>) -> bool {
    options.is_on(Switch::IndexOrder) && (limit.is_none() || options.is_on(Switch::PreferOrderingIndex))
}

/// The conjuncts that ranges do not imply.
fn not_implied<'a>(conjuncts: &'a [Expr], implied: &'a [bool]) -> impl Iterator<Item = &'a Expr> {
    conjuncts.iter().zip(implied).filter(|(_, implied)| !**implied).map(|(conjunct, _)| conjunct)
}

/// The same for a plan. A condition may have a hundred thousand nodes, so alternatives are compared without copies.
fn kept(conjuncts: &[Expr], implied: &[bool]) -> Vec<Expr> {
    not_implied(conjuncts, implied).cloned().collect()
}

/// Conditions for an index that does not cover the query: those to be checked on its entries, and those on rows.
pub fn split_conditions<E: Borrow<Expr>>(
    table: &TableDef,
    index: usize,
    columns: &[(ColId, usize)],
    conditions: Vec<E>,
    options: &Options,
) -> (Vec<E>, Vec<E>) {
    if index == 0 || !options.is_on_for(Switch::IndexConditionPushdown, index) {
        return (Vec::new(), conditions);
    }
    let in_index = |id: &ColId| {
        columns.iter().find(|(c, _)| c == id).is_some_and(|(_, column)| table.index_has_column(index, *column))
    };
    conditions.into_iter().partition(|e| scope::expr_columns(e.borrow()).iter().all(in_index))
}

/// Cost with the sort that a path saves or needs.
fn full_cost(path: &Path, rows: f64, total: f64, request: &Request<'_>, options: &Options) -> Cost {
    if request.order.is_empty() {
        // Without an order, a limit stops any scan alike.
        return path.cost;
    }
    let width = request.required.len();
    match (path.ordered, request.limit) {
        // Each row that is read is wanted.
        (Some(_), Some(limit)) if path.implies(request.conjuncts) => {
            path.cost.of_first(limit as f64 / path.rows_read.max(1.0))
        }
        // Rows come evenly, or they do not: then all are read.
        (Some(_), Some(limit)) => {
            let caution = if has_budget(path.index, request, options) { BOUNDED_CAUTION } else { CAUTION };
            let share = limit as f64 / rows.max(1.0);
            path.cost.of_first(share).at_worst(path.cost.of_first(share * caution))
        }
        // One stream in order, where others are read in parallel.
        (Some(_), None) => path.cost * options.cost.one_stream(),
        (None, limit) => (path.cost + options.cost.sort(rows.min(total), limit, width)).before_first_row(),
    }
}

/// Returns true if another plan can take over from an ordered scan of an index that finds its rows late: all columns of
/// its key are a total order.
fn has_budget(index: usize, request: &Request<'_>, options: &Options) -> bool {
    let table = request.table;
    let is_whole = |part: &muster_algebra::KeyPart| part.prefix.is_none();
    options.is_on(Switch::OrderFallback) && table.has_primary_key() && table.key_parts(index).iter().all(is_whole)
}

fn build(
    path: Path,
    rows: f64,
    columns: Vec<(ColId, usize)>,
    request: Request<'_>,
    estimator: &Estimator,
    options: &Options,
) -> Plan {
    let stopped = path.ordered.is_some() || request.order.is_empty();
    let limit = if stopped { request.limit } else { None };
    let (ranges, steering, conditions) = match path.ranges {
        Some(r) => {
            let kept = kept(request.conjuncts, &r.implied);
            let r = Rc::unwrap_or_clone(r);
            (r.ranges, if path.steered { r.steering } else { Vec::new() }, kept)
        }
        None => (vec![KeyRange::all()], Vec::new(), request.conjuncts.to_vec()),
    };
    let all_conditions = request.with_parameters();
    let scan = Reading { table: request.table, alias: request.alias, index: path.index, columns, conditions }.scan(
        request.required,
        estimator,
        options,
    );
    let columns = &scan.columns;
    let output: Vec<ColId> = columns.iter().map(|(id, _)| *id).collect();
    let order: Vec<SortKey> = match path.ordered {
        Some(_) => {
            let delivered = |k: &&SortKey| scope::expr_columns(&k.expr).iter().all(|c| output.contains(c));
            request.order.iter().take_while(delivered).cloned().collect()
        }
        None => Vec::new(),
    };
    // A buffer of primary keys would be filled before the first row comes.
    let stops_soon = path.ordered.is_some() && limit.is_some_and(|n| n as f64 * CAUTION < rows);
    let by_cost = options.is_on(Switch::MrrCostBased) && !options.is_forced_for(Switch::Mrr, path.index);
    let fetch = if stops_soon && by_cost { RowFetch::EntryOrder } else { scan.fetch };
    let rows = limit.map_or(rows, |n| rows.min(n as f64)).min(path.rows_read);
    Plan::new(
        PlanOp::Scan(Scan {
            fetch,
            ranges,
            steering,
            ordered: path.ordered.is_some(),
            reverse: path.ordered == Some(true),
            limit,
            conditions: all_conditions,
            ..scan
        }),
        output,
        Estimate { rows, cost: path.cost },
        order,
    )
}

/// One index of a table with all that is read from it and checked on it.
pub struct Reading<'a> {
    pub table: &'a Arc<TableDef>,
    pub alias: &'a str,
    pub index: usize,
    /// Everything that is wanted or checked.
    pub columns: Vec<(ColId, usize)>,
    pub conditions: Vec<Expr>,
}

impl Reading<'_> {
    /// Plans a scan of the whole index that delivers those of its columns that are required above.
    pub fn scan(self, required: &ColSet, estimator: &Estimator, options: &Options) -> Scan {
        let Reading { table, alias, index, columns, conditions } = self;
        let covering = columns.iter().all(|(_, c)| table.index_has_column(index, *c));
        let (index_condition, filter) = match covering {
            true => (Vec::new(), conditions),
            false => split_conditions(table, index, &columns, conditions, options),
        };
        let index_condition = in_checking_order(index_condition, estimator);
        let filter = in_checking_order(filter, estimator);
        let checked = scope::exprs_columns(index_condition.iter().chain(&filter));
        let (columns, rest): (Vec<_>, Vec<_>) = columns.into_iter().partition(|(id, _)| required.contains(id));
        let filter_columns = rest.into_iter().filter(|(id, _)| checked.contains(id)).collect();
        Scan {
            table: table.clone(),
            alias: alias.to_string(),
            index,
            ranges: vec![KeyRange::all()],
            steering: Vec::new(),
            distinct_prefix: None,
            columns,
            filter_columns,
            index_condition,
            filter,
            fetch: if options.is_on_for(Switch::Mrr, index) { RowFetch::KeyOrder } else { RowFetch::EntryOrder },
            ordered: false,
            reverse: false,
            limit: None,
            conditions: None,
        }
    }
}

/// First the conditions that drop most rows for what they cost.
fn in_checking_order(filter: Vec<Expr>, estimator: &Estimator) -> Vec<Expr> {
    let mut ranked: Vec<(f64, Expr)> = filter
        .into_iter()
        .map(|e| {
            let dropped = 1.0 - estimator.selectivity(std::slice::from_ref(&e));
            (dropped / cost::predicate_weight(&e).max(1.0), e)
        })
        .collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranked.into_iter().map(|(_, e)| e).collect()
}

#[cfg(test)]
mod tests;
