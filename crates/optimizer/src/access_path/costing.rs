//! What a way to read a table costs.

use super::{Path, Request, not_implied, split_conditions};
use crate::cost::predicates_weight;
use crate::estimate::{Estimator, table_rows};
use crate::fingerprint::ExprSet;
use crate::index_shape::{entries_per_key, tree_of};
use crate::options::Options;
use crate::ranges::IndexRanges;
use muster_algebra::{ColId, Cost, Expr, ScanBudget, Statistics, Switch};
use std::rc::Rc;

/// Rows that an index's ranges hold: asked of the index, else estimated.
pub fn range_rows(
    ranges: &IndexRanges,
    index: usize,
    request: &Request<'_>,
    total: f64,
    statistics: &dyn Statistics,
    estimator: &Estimator,
) -> f64 {
    if ranges.are_single_rows(request.table, index) {
        return (ranges.ranges.len() as f64).min(total);
    }
    if let Some(rows) = statistics.range_rows(request.table, index, &ranges.ranges) {
        return rows.clamp(0.0, total);
    }
    let said = request.conjuncts.iter().zip(&ranges.implied).filter(|(_, i)| **i).map(|(c, _)| c);
    total * estimator.selectivity(said)
}

/// The conditions that have to be checked on rows of ranges, or of the whole index.
fn to_be_checked<'a>(conjuncts: &'a [Expr], ranges: Option<&'a IndexRanges>) -> Vec<&'a Expr> {
    match ranges {
        Some(ranges) => not_implied(conjuncts, &ranges.implied).collect(),
        None => conjuncts.iter().collect(),
    }
}

/// What an ordered scan that stops early may come to cost.
pub struct EarlyStopRisk {
    /// Milliseconds if it reads to the end, and all of that from the device.
    pub worst_ms: f64,
    /// What single reads cost; nothing may be spent yet.
    pub prices: ScanBudget,
}

/// Makes the access paths of one table, each with its cost.
pub struct PathBuilder<'a> {
    pub columns: &'a [(ColId, usize)],
    pub request: &'a Request<'a>,
    pub statistics: &'a dyn Statistics,
    pub estimator: &'a Estimator,
    pub options: &'a Options,
}

impl PathBuilder<'_> {
    /// A scan of ranges which hold `rows` rows.
    pub fn path(
        &self,
        index: usize,
        ranges: Option<Rc<IndexRanges>>,
        rows: f64,
        covering: bool,
        ordered: Option<bool>,
    ) -> Path {
        let cost = self.reading(index, ranges.as_deref(), rows, &[], covering);
        Path { index, ranges, steered: false, rows_read: rows, cost, ordered, covering }
    }

    /// The cost of reading so many rows of these ranges. `steered`: conditions that the skip scan has already
    /// enforced.
    fn reading(
        &self,
        index: usize,
        ranges: Option<&IndexRanges>,
        rows_read: f64,
        steered: &[&Expr],
        covering: bool,
    ) -> Cost {
        let table = self.request.table;
        let conjuncts = self.request.conjuncts;
        let checked = predicates_weight(to_be_checked(conjuncts, ranges));
        let tree = tree_of(self.statistics, table, index);
        let mut cost = self.options.cost.sequential_reads(&tree, rows_read);
        cost += if index == 0 {
            self.options.cost.clustered_scan(rows_read, self.columns.len(), checked)
        } else {
            self.options.cost.secondary_scan(rows_read, self.columns.len(), checked)
        };
        if !covering {
            let checked = to_be_checked(conjuncts, ranges);
            let (mut on_entries, _) = split_conditions(table, index, self.request.columns, checked, self.options);
            let steered: ExprSet<'_> = steered.iter().copied().collect();
            on_entries.retain(|c| !steered.contains(c));
            let fetched = rows_read * self.estimator.selectivity(on_entries);
            let correlation = self.statistics.index(table, index).and_then(|known| known.clustering);
            let clustered =
                tree_of(self.statistics, table, 0).reached_by(correlation, ranges.map_or(1, |r| r.ranges.len()));
            cost += match self.options.is_on_for(Switch::Mrr, index) {
                true => self.options.cost.fetches(&clustered, fetched, 1.0),
                false => self.options.cost.single_lookups(&clustered, fetched, fetched),
            };
        }
        cost + self.options.cost.ranges(ranges.map_or(1, |r| r.ranges.len()))
    }

    /// What is at stake if all of an ordered path is read instead of its first rows.
    pub fn risk(&self, path: &Path) -> EarlyStopRisk {
        let (table, cost) = (self.request.table, &self.options.cost);
        let tree = tree_of(self.statistics, table, path.index);
        let conjuncts = self.request.conjuncts;
        let checked = to_be_checked(conjuncts, path.ranges.as_deref());
        let entries = path.rows_read.max(1.0);
        let weight = predicates_weight(checked.iter().copied());
        let read = match path.index {
            0 => cost.clustered_scan(entries, self.columns.len(), weight),
            _ => cost.secondary_scan(entries, self.columns.len(), weight),
        };
        let mut prices = ScanBudget {
            cost_ms: 0.0,
            entry_ms: cost.one_stream() * read.total_ms() / entries,
            fetch_ms: 0.0,
            page_ms: cost.sequential_read_ms,
        };
        let (mut fetches, mut pages) = (0.0, tree.leaf_pages * (entries / tree.entries.max(1.0)).min(1.0));
        if !path.covering {
            let (on_entries, _) = split_conditions(table, path.index, self.request.columns, checked, self.options);
            fetches = entries * self.estimator.selectivity(on_entries);
            // One by one, in any order.
            prices.fetch_ms = cost.single_lookup_ns * 1e-6;
            prices.page_ms = cost.single_read_ms;
            pages += fetches.min(tree_of(self.statistics, table, 0).leaf_pages);
        }
        let worst_ms = entries * prices.entry_ms + fetches * prices.fetch_ms + pages * prices.page_ms;
        EarlyStopRisk { worst_ms, prices }
    }

    /// Returns the path as a skip scan over the value sets of its later parts. `others`: paths of other indexes, whose
    /// row counts bound this one's.
    pub fn steered(&self, path: Path, others: &[Path]) -> Path {
        let Some(ranges) = &path.ranges else { return path };
        let (table, rows) = (self.request.table, path.rows_read);
        let total = table_rows(self.statistics, table);
        let said: Vec<bool> = ranges.steered.iter().zip(&ranges.implied).map(|(s, i)| *s && !*i).collect();
        let conditions: Vec<&Expr> =
            self.request.conjuncts.iter().zip(&said).filter(|(_, s)| **s).map(|(c, _)| c).collect();
        // Conditions that imply these hold for as many rows at most.
        let at_least = others.iter().filter(|o| {
            let implies = |r: &IndexRanges| {
                let needed = said.iter().zip(&ranges.implied).map(|(s, i)| *s || *i);
                needed.zip(&r.implied).all(|(needed, has)| *has || !needed)
            };
            o.ranges.as_deref().is_some_and(implies)
        });
        let at_least = at_least.map(|o| o.rows_read).fold(0.0, f64::max);
        let rows_read = (rows * self.estimator.selectivity(conditions.iter().copied())).max(at_least).min(rows);
        // For each value of the parts before a steered one, every interval is gone to, and the end is seen.
        let skips = ranges.steering.iter().enumerate().filter_map(|(part, set)| {
            let values = total / entries_per_key(self.statistics, table, path.index, part).max(1.0);
            Some((values * rows / total).max(1.0) * (set.as_ref()?.len() + 1) as f64)
        });
        let skips = skips.sum::<f64>().min(rows);
        let tree = tree_of(self.statistics, table, path.index);
        let cost = self.reading(path.index, path.ranges.as_deref(), rows_read, &conditions, path.covering)
            + self.options.cost.skips(&tree, skips);
        Path { steered: true, rows_read, cost, ..path }
    }
}
