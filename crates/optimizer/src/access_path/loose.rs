//! Loose index scan: GROUP BY and DISTINCT over leading parts of an index, with MIN and MAX of the part behind them,
//! need one entry of each group only (manual 10.2.1.17).
//!
//! The scan delivers rows for an aggregate that is still made of them: it only has to deliver enough of each group. So
//! parts between those of the group make it finer, which costs and does no harm.

use super::costing::range_rows;
use super::{Reading, Request, hints, kept, not_implied};
use crate::cost::predicates_weight;
use crate::estimate::{Estimator, table_rows};
use crate::index_shape::{entries_per_key, tree_of, usable_parts};
use crate::options::Options;
use crate::properties::{has_one_form, rejects_null};
use crate::ranges::{Domains, IndexRanges};
use crate::scope::{self, ColSet};
use muster_algebra::{
    ColId, Cost, Estimate, Expr, IndexHintScope, KeyPart, KeyRange, Plan, PlanOp, Scan, SortKey, Statistics,
};

/// Which end of a column is wanted of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Min,
    Max,
}

/// The cheapest loose scan that has rows for these groups, and for the smallest or largest values of a column in them;
/// those of one column only. `None` if no index gives them.
pub fn choose(
    request: &Request<'_>,
    group: &[ColId],
    wanted: Option<(End, ColId)>,
    statistics: &dyn Statistics,
    estimator: &Estimator,
    options: &Options,
) -> Option<Plan> {
    let loose = Loose { request, group, wanted, statistics, estimator, options };
    let usable = |i: &usize| hints::may_read(*i, request.hints) && hints::may_group(*i, request.hints);
    let plans = (0..request.table.indexes.len()).filter(usable).filter_map(|i| Some((i, loose.through(i)?)));
    let forced = |index: usize| hints::forces(index, request.hints, IndexHintScope::GroupBy);
    let compared_ms = |plan: &Plan| plan.estimate.cost.compared_ms();
    let best =
        plans.min_by(|(i, a), (j, b)| forced(*j).cmp(&forced(*i)).then(compared_ms(a).total_cmp(&compared_ms(b))));
    best.map(|(_, plan)| plan)
}

struct Loose<'a> {
    request: &'a Request<'a>,
    group: &'a [ColId],
    wanted: Option<(End, ColId)>,
    statistics: &'a dyn Statistics,
    estimator: &'a Estimator,
    options: &'a Options,
}

impl Loose<'_> {
    fn through(&self, index: usize) -> Option<Plan> {
        let Request { table, alias, columns, conjuncts, required, .. } = self.request;
        let parts = usable_parts(table, index, self.options);
        let of_group: Vec<usize> = self.group.iter().map(|id| self.place(*id, &parts)).collect::<Option<_>>()?;
        let of_wanted = match self.wanted {
            Some((_, id)) => Some(self.place(id, &parts)?),
            None => None,
        };
        // Leading parts of which each combination of values is gone to.
        let distinct = of_group.iter().map(|p| p + 1).chain(of_wanted).max()?;
        if distinct == 0 || parts[..distinct].iter().any(|p| p.prefix.is_some()) {
            return None;
        }
        let found = Domains::new(table, columns, conjuncts, self.options, self.request.known).ranges(index);
        let none_implied = vec![false; conjuncts.len()];
        let implied = found.as_ref().map_or(&none_implied, |r| &r.implied);
        if !not_implied(conjuncts, implied).all(|c| self.is_decided_by(c, &parts[..distinct])) {
            return None;
        }
        let conditions = kept(conjuncts, implied);
        let mut reverse = false;
        if let (Some((end, id)), Some(place)) = (self.wanted, of_wanted)
            && place == distinct
        {
            // NULLs come first, and MIN passes over them.
            let column = ColSet::from([id]);
            let not_null = || conjuncts.iter().zip(implied).any(|(c, i)| *i && rejects_null(c, &column));
            if end == End::Min && table.columns[parts[place].column].nullable && !not_null() {
                return None;
            }
            reverse = (end == End::Max) != parts[place].descending;
        }
        let read: Vec<(ColId, usize)> =
            columns.iter().filter(|(id, _)| self.is_read(id, &conditions)).copied().collect();
        if read.iter().any(|(_, c)| !table.index_has_column(index, *c)) {
            return None;
        }
        let (rows, cost) = self.estimate(index, distinct, found.as_deref(), read.len(), &conditions)?;
        let order: Vec<SortKey> = parts
            .iter()
            .map_while(|p| {
                let (id, _) =
                    read.iter().find(|(id, c)| *c == p.column && p.prefix.is_none() && required.contains(id))?;
                Some(SortKey { expr: Expr::Column(*id), descending: p.descending != reverse })
            })
            .collect();
        let reading = Reading { table, alias, index, columns: read, conditions };
        let scan = reading.scan(required, self.estimator, self.options);
        let (ranges, steering) = match found {
            Some(r) if r.may_be_steered(index, self.options) => (r.ranges.clone(), r.steering.clone()),
            Some(r) => (r.ranges.clone(), Vec::new()),
            None => (vec![KeyRange::all()], Vec::new()),
        };
        let conditions = self.request.with_parameters();
        let scan =
            Scan { ranges, steering, distinct_prefix: Some(distinct), ordered: true, reverse, conditions, ..scan };
        let output = scan.columns.iter().map(|(id, _)| *id).collect();
        Some(Plan::new(PlanOp::Scan(scan), output, Estimate { rows, cost }, order))
    }

    fn is_read(&self, id: &ColId, conditions: &[Expr]) -> bool {
        self.request.required.contains(id) || conditions.iter().any(|c| scope::expr_columns(c).contains(id))
    }

    /// The part that is a column, whole.
    fn place(&self, id: ColId, parts: &[KeyPart]) -> Option<usize> {
        let (_, column) = self.request.columns.iter().find(|(c, _)| *c == id)?;
        parts.iter().position(|p| p.column == *column && p.prefix.is_none())
    }

    /// Returns true if a condition is TRUE for all rows that have these parts in common, or for none. Texts that are
    /// equal under their collation may differ in their bytes, which comparing them does not show.
    fn is_decided_by(&self, condition: &Expr, parts: &[KeyPart]) -> bool {
        let columns = scope::expr_columns(condition);
        let mut one_form = true;
        for id in columns {
            let Some(place) = self.place(id, parts) else { return false };
            one_form &= has_one_form(self.request.table.columns[parts[place].column].ty);
        }
        one_form || only_compares(condition)
    }

    /// Rows delivered and what that costs; `None` if nothing can be found at all.
    fn estimate(
        &self,
        index: usize,
        distinct: usize,
        found: Option<&IndexRanges>,
        columns: usize,
        conditions: &[Expr],
    ) -> Option<(f64, Cost)> {
        let (table, statistics) = (self.request.table, self.statistics);
        let total = table_rows(statistics, table);
        let (rows, ranges) = match found {
            Some(r) if r.ranges.is_empty() => return None,
            Some(r) if r.parts > 0 => {
                let rows = range_rows(r, index, self.request, total, statistics, self.estimator);
                (rows, r.ranges.len())
            }
            _ => (total, 1),
        };
        let values = total / entries_per_key(statistics, table, index, distinct).max(1.0);
        let groups = (values * rows / total).clamp(1.0, rows.max(1.0));
        let tree = tree_of(statistics, table, index);
        let cost = self.options.cost.skips(&tree, groups)
            + self.options.cost.secondary_scan(groups, columns, predicates_weight(conditions))
            + self.options.cost.ranges(ranges);
        Some((groups * self.estimator.selectivity(conditions), cost))
    }
}

/// Returns true if an expression does nothing with texts but compare them.
fn only_compares(expr: &Expr) -> bool {
    let own = matches!(
        expr,
        Expr::Column(_)
            | Expr::Literal { .. }
            | Expr::Parameter { .. }
            | Expr::Compare { .. }
            | Expr::InList { .. }
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Logic { .. }
            | Expr::Not(_)
    );
    own && expr.children().into_iter().all(only_compares)
}
