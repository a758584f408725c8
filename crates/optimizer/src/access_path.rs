//! How one table is read: which index, which ranges of it, in which order, and what is checked on the way.

use crate::cost;
use crate::index_shape::tree_of;
use crate::join_order::cardinality::{Estimator, table_rows};
use crate::options::Options;
use crate::ranges::{Domains, IndexRanges};
use crate::scope::{self, ColSet};
use muster_algebra::{
    ColId, Estimate, Expr, IndexHint, IndexHintKind, KeyRange, Plan, PlanOp, RowFetch, Scan, SortKey, Statistics,
    TableDef,
};
use std::sync::Arc;

/// A scan that reads in the wanted order and stops early is taken only if it wins by this factor: the rows that
/// qualify may all lie at the far end.
const EARLY_STOP_CAUTION: f64 = 8.0;

/// One table with the conditions on it alone.
pub struct Request<'a> {
    pub table: &'a Arc<TableDef>,
    pub alias: &'a str,
    pub columns: &'a [(ColId, usize)],
    pub hints: &'a [IndexHint],
    /// Without subqueries.
    pub conjuncts: Vec<Expr>,
    /// Columns wanted above.
    pub required: &'a ColSet,
    /// Order in which rows are wanted, and how many of them at most: used if it is cheaper than sorting.
    pub order: &'a [SortKey],
    pub limit: Option<u64>,
}

/// One way to read the table.
struct Path {
    index: usize,
    ranges: Option<IndexRanges>,
    rows_read: f64,
    cost_ms: f64,
    /// Whether the order wanted is delivered, and backwards.
    ordered: Option<bool>,
}

/// Chooses the cheapest way to read a table.
pub fn choose(request: Request<'_>, statistics: &dyn Statistics, estimator: &Estimator, options: &Options) -> Plan {
    let table = request.table;
    let total = table_rows(statistics, table);
    let needed: ColSet = request.required.iter().copied().chain(scope::exprs_columns(&request.conjuncts)).collect();
    let columns: Vec<(ColId, usize)> = request.columns.iter().filter(|(id, _)| needed.contains(id)).copied().collect();
    let domains = Domains::new(table, request.columns, &request.conjuncts);
    let mut share = estimator.selectivity(&request.conjuncts);
    let mut paths: Vec<Path> = Vec::new();
    for index in 0..table.indexes.len() {
        if !allowed(index, request.hints) || (index > 0 && !options.is_on("access_path")) {
            continue;
        }
        let ranges = if options.is_on("access_path") { domains.ranges(index) } else { None };
        let covering = index == 0 || columns.iter().all(|(_, c)| table.index_has_column(index, *c));
        let ordered =
            if may_order(options, request.limit) { order_of(table, index, request.columns, &request) } else { None };
        if index > 0 && ranges.is_none() && !covering && ordered.is_none() {
            continue;
        }
        let rows_read = match &ranges {
            Some(r) if r.ranges.is_empty() => 0.0,
            Some(r) => range_rows(r, index, &request, total, statistics, estimator),
            None => total,
        };
        share = share.min((rows_read / total).max(1e-12));
        let context = Context { columns: &columns, request: &request, statistics, estimator, options };
        paths.push(context.path(index, ranges, rows_read, covering, ordered));
    }
    let rows = (total * share).max(0.0);
    let forced = forced(request.hints);
    let best = paths
        .into_iter()
        .map(|p| {
            let cost = full_cost(&p, rows, total, &request);
            (cost, p)
        })
        .min_by(|(a, x), (b, y)| {
            // FORCE INDEX: the table itself is scanned only if no index can be used.
            let scan = |p: &Path| forced && p.index == 0 && p.ranges.is_none() && p.ordered.is_none();
            scan(x).cmp(&scan(y)).then(a.total_cmp(b)).then(x.index.cmp(&y.index))
        })
        .map(|(cost_ms, p)| Path { cost_ms: if p.ordered.is_some() { cost_ms } else { p.cost_ms }, ..p })
        .unwrap_or(Path { index: 0, ranges: None, rows_read: total, cost_ms: 0.0, ordered: None });
    build(best, rows, columns, request, estimator, options)
}

/// Whether an index may be read for its order; to stop early under LIMIT, MySQL has a switch of its own.
fn may_order(options: &Options, limit: Option<u64>) -> bool {
    options.is_on("index_order") && (limit.is_none() || options.is_on("prefer_ordering_index"))
}

/// Rows that an index's ranges hold: asked of the index, else estimated.
fn range_rows(
    ranges: &IndexRanges,
    index: usize,
    request: &Request<'_>,
    total: f64,
    statistics: &dyn Statistics,
    estimator: &Estimator,
) -> f64 {
    let definition = &request.table.indexes[index];
    if definition.unique && !definition.parts.is_empty() && ranges.equal_parts == definition.parts.len() {
        return (ranges.ranges.len() as f64).min(total);
    }
    if let Some(rows) = statistics.range_rows(request.table, index, &ranges.ranges) {
        return rows.clamp(0.0, total);
    }
    let said: Vec<Expr> =
        request.conjuncts.iter().zip(&ranges.implied).filter(|(_, i)| **i).map(|(c, _)| c.clone()).collect();
    total * estimator.selectivity(&said)
}

/// What paths are costed with.
struct Context<'a> {
    columns: &'a [(ColId, usize)],
    request: &'a Request<'a>,
    statistics: &'a dyn Statistics,
    estimator: &'a Estimator,
    options: &'a Options,
}

impl Context<'_> {
    fn path(
        &self,
        index: usize,
        ranges: Option<IndexRanges>,
        rows_read: f64,
        covering: bool,
        ordered: Option<bool>,
    ) -> Path {
        let table = self.request.table;
        let checked: Vec<Expr> = match &ranges {
            Some(r) => kept(&self.request.conjuncts, &r.implied),
            None => self.request.conjuncts.clone(),
        };
        let tree = tree_of(self.statistics, table, index);
        let mut cost_ms = cost::sequential_reads(&tree, rows_read);
        cost_ms += if index == 0 {
            cost::clustered_scan(rows_read, self.columns.len(), checked.len())
        } else {
            cost::secondary_scan(rows_read, self.columns.len(), checked.len())
        };
        if !covering {
            let (on_entries, _) = split_conditions(table, index, self.request.columns, checked, self.options);
            let fetched = rows_read * self.estimator.selectivity(&on_entries);
            let clustered = tree_of(self.statistics, table, 0);
            cost_ms += match self.options.is_on("mrr") {
                true => cost::fetches(&clustered, fetched),
                false => cost::single_lookups(&clustered, fetched, fetched),
            };
        }
        cost_ms += cost::ranges(ranges.as_ref().map_or(1, |r| r.ranges.len()));
        Path { index, ranges, rows_read, cost_ms, ordered }
    }
}

/// The conjuncts that ranges do not imply.
fn kept(conjuncts: &[Expr], implied: &[bool]) -> Vec<Expr> {
    conjuncts.iter().zip(implied).filter(|(_, i)| !**i).map(|(c, _)| c.clone()).collect()
}

/// Conditions for an index that does not cover the query: those to be checked on its entries, and those on rows.
pub fn split_conditions(
    table: &TableDef,
    index: usize,
    columns: &[(ColId, usize)],
    conditions: Vec<Expr>,
    options: &Options,
) -> (Vec<Expr>, Vec<Expr>) {
    if index == 0 || !options.is_on("index_condition_pushdown") {
        return (Vec::new(), conditions);
    }
    let in_index = |id: &ColId| {
        columns.iter().find(|(c, _)| c == id).is_some_and(|(_, column)| table.index_has_column(index, *column))
    };
    conditions.into_iter().partition(|e| scope::expr_columns(e).iter().all(in_index))
}

/// Cost with the sort that a path saves or needs.
fn full_cost(path: &Path, rows: f64, total: f64, request: &Request<'_>) -> f64 {
    if request.order.is_empty() {
        // Without an order, a limit stops any scan alike.
        return path.cost_ms;
    }
    match (path.ordered, request.limit) {
        (Some(_), Some(limit)) => {
            // Rows come evenly, or they do not: then all are read.
            let stop = (limit as f64 / rows.max(1.0)).min(1.0);
            let caution = if request.conjuncts.is_empty() { 1.0 } else { EARLY_STOP_CAUTION };
            path.cost_ms * (stop * caution).min(1.0)
        }
        // One stream in order, where others are read in parallel.
        (Some(_), None) => path.cost_ms * 1.5,
        (None, limit) => path.cost_ms + cost::sort(rows.min(total), limit),
    }
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
    let (ranges, conditions) = match path.ranges {
        Some(r) => {
            let kept = kept(&request.conjuncts, &r.implied);
            (r.ranges, kept)
        }
        None => (vec![KeyRange::all()], request.conjuncts),
    };
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
    let rows = limit.map_or(rows, |n| rows.min(n as f64)).min(path.rows_read);
    Plan {
        op: PlanOp::Scan(Scan {
            ranges,
            ordered: path.ordered.is_some(),
            reverse: path.ordered == Some(true),
            limit,
            ..scan
        }),
        output,
        estimate: Estimate { rows, cost_ms: path.cost_ms },
        order,
    }
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
    /// As a scan of the whole index, which delivers those of its columns that are required above.
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
            columns,
            filter_columns,
            index_condition,
            filter,
            fetch: if options.is_on("mrr") { RowFetch::KeyOrder } else { RowFetch::EntryOrder },
            ordered: false,
            reverse: false,
            limit: None,
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

/// Whether index hints let an index be used for reading.
pub fn allowed(index: usize, hints: &[IndexHint]) -> bool {
    let is_read =
        |h: &&IndexHint| matches!(h.scope, muster_algebra::IndexHintScope::All | muster_algebra::IndexHintScope::Join);
    let mut chosen = hints.iter().filter(is_read).filter(|h| h.kind != IndexHintKind::Ignore).peekable();
    let ignored = hints.iter().filter(is_read).any(|h| h.kind == IndexHintKind::Ignore && h.indexes.contains(&index));
    if ignored {
        // The table itself can always be read.
        return index == 0;
    }
    // The clustered index stays: as a table scan it is what is left when no named index fits.
    index == 0 || chosen.peek().is_none() || chosen.any(|h| h.indexes.contains(&index))
}

fn forced(hints: &[IndexHint]) -> bool {
    hints.iter().any(|h| h.kind == IndexHintKind::Force && !h.indexes.contains(&0))
}

/// Whether reading the index in key order gives the wanted order: `Some(true)` backwards.
fn order_of(table: &TableDef, index: usize, columns: &[(ColId, usize)], request: &Request<'_>) -> Option<bool> {
    let first = request.order.first()?;
    let parts = &table.indexes[index].parts;
    if request.order.len() > parts.len() {
        return None;
    }
    for (key, part) in request.order.iter().zip(parts) {
        let Expr::Column(id) = &key.expr else { return None };
        let is_part = columns.iter().any(|(c, position)| c == id && *position == part.column);
        if !is_part || part.prefix.is_some() || part.descending || key.descending != first.descending {
            return None;
        }
    }
    Some(first.descending)
}

#[cfg(test)]
#[path = "access_path_tests.rs"]
mod tests;
