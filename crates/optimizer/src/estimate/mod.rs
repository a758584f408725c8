//! How many rows: selectivity of predicates.
//!
//! ```text
//!   column.rs    shares of one column's values: histogram, or smallest, largest and distinct values
//!   sample.rs    whole conjunctions on the stored sample of a table
//!   outcome.rs   conditions on aggregates
//!   join.rs      equal values of two columns
//! ```
//!
//! Predicates on different columns are taken to be independent of each other, unless a sample contradicts it.

mod column;
pub mod join;
mod outcome;
mod sample;

use crate::intervals::{
    self, Interval,
    column_values::{ColumnValues, Values},
    part_values::Part,
};
use crate::literal::{is_constant, planned_value};
use crate::properties;
use crate::scope::{self, ColSet};
pub use column::ColumnEstimate;
use muster_algebra::{AggregateCall, ColId, CompareOp, Expr, LogicOp, Rel, Rollup, Statistics, TableDef, Value};
use outcome::Outcome;
use sample::{Observed, Samples};
use std::collections::{BTreeMap, HashMap};

/// Row count of a table of which nothing is known.
const DEFAULT_ROWS: f64 = 1000.0;
/// Shares for predicates that statistics say nothing about. Those of ranges and `<>` are MySQL's
/// (`COND_FILTER_INEQUALITY`, `COND_FILTER_BETWEEN`, manual 10.9.6); the others are guesses.
const RANGE_SHARE: f64 = 1.0 / 3.0;
const EQUALITY_SHARE: f64 = 0.05;
const LIKE_SHARES: (f64, f64, f64) = (0.02, 0.1, 0.05);
/// Share of the texts with the beginning of a pattern that what follows in the pattern leaves.
const LIKE_REST_SHARE: f64 = 0.5;
/// Conditions on the outcome of an aggregate (HAVING) are written to keep few groups.
const AGGREGATE_SHARE: f64 = 0.05;
const UNKNOWN_SHARE: f64 = 0.5;
const NULL_SHARE: f64 = 0.1;
const SMALLEST_SHARE: f64 = 1e-9;
/// The values of longer lists are not looked at one by one.
const LIST_MAX: usize = 1000;
/// Branches of an OR that are looked at, and conditions on one column that are put together.
const BRANCHES_MAX: usize = 64;
/// With fewer rows of a sample that meet a condition nothing is said about others among them.
const GIVEN_ROWS_MIN: usize = 20;

/// Column statistics of all tables of a statement, by column.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    columns: HashMap<ColId, ColumnEstimate>,
    aggregated: ColSet,
    outcomes: HashMap<ColId, Outcome>,
    samples: Samples,
    /// Distinct combinations of columns that begin an index: the columns ascending.
    combined: Vec<(Vec<ColId>, f64)>,
}

/// Rows of a table, never zero so that products stay comparable.
pub fn table_rows(statistics: &dyn Statistics, table: &TableDef) -> f64 {
    statistics.row_count(table).unwrap_or(DEFAULT_ROWS).max(1.0)
}

impl Estimator {
    /// Learns the columns of every table in a relation, subqueries included.
    pub fn learn(&mut self, rel: &Rel, statistics: &dyn Statistics) {
        match rel {
            Rel::Get { table, columns, .. } => self.learn_table(table, columns, statistics),
            Rel::Aggregate { aggregates, .. } => self.aggregated.extend(aggregates.iter().map(|(id, _)| *id)),
            Rel::Project { exprs, .. } => {
                for (id, expr) in exprs {
                    if !matches!(expr, Expr::Column(c) if c == id)
                        && expr_mentions(expr, |c| self.aggregated.contains(&c))
                    {
                        self.aggregated.insert(*id);
                    }
                }
            }
            _ => {}
        }
        for expr in rel.exprs() {
            expr.visit(&mut |e| {
                if let Expr::Subquery(q) = e {
                    self.learn(&q.rel, statistics);
                }
            });
        }
        for input in rel.inputs() {
            self.learn(input, statistics);
        }
        match rel {
            Rel::Project { exprs, .. } => self.learn_computed(exprs),
            Rel::Rollup { rollup, .. } => self.learn_rollup(rollup),
            _ => {}
        }
    }

    fn learn_table(&mut self, table: &TableDef, columns: &[(ColId, usize)], statistics: &dyn Statistics) {
        let rows = table_rows(statistics, table);
        let sample = statistics.sample(table).and_then(|sample| self.samples.add(sample, table, columns));
        for (id, position) in columns {
            // Behind the columns comes what a table has besides.
            let ty = table.columns.get(*position).map(|column| column.ty);
            let estimate = match statistics.column(table, *position) {
                Some(s) => ColumnEstimate {
                    distinct: s.distinct.max(1.0),
                    null_share: s.null_share.clamp(0.0, 1.0),
                    range: s.min.zip(s.max),
                    ty,
                    rows,
                    changed_share: s.changed_share.clamp(0.0, 1.0),
                    histogram: s.histogram,
                    sampled: sample.map(|sample| (sample, *position)),
                },
                None => ColumnEstimate {
                    ty,
                    rows,
                    ..ColumnEstimate::of_distinct(if is_unique(table, *position) { rows } else { rows / 10.0 })
                },
            };
            self.columns.insert(*id, estimate);
        }
        for (index, definition) in table.indexes.iter().enumerate().filter(|(_, i)| i.parts.len() > 1) {
            let Some(known) = statistics.index(table, index) else { continue };
            let mut ids: Vec<ColId> = Vec::with_capacity(definition.parts.len());
            for (part, distinct) in definition.parts.iter().zip(&known.distinct) {
                let column = columns.iter().find(|(_, position)| *position == part.column && part.prefix.is_none());
                let Some((id, _)) = column else { break };
                ids.push(*id);
                if ids.len() > 1 {
                    let mut sorted = ids.clone();
                    sorted.sort_unstable();
                    self.combined.push((sorted, distinct.max(1.0)));
                }
            }
        }
    }

    /// Learns what aggregates come to. `rows`: of their input.
    pub fn learn_groups(&mut self, aggregates: &[(ColId, AggregateCall)], rows: f64, groups: f64) {
        for (id, call) in aggregates {
            if let Some(outcome) = Outcome::of(call, rows / groups.max(1.0), groups, self) {
                self.outcomes.insert(*id, outcome);
            }
        }
    }

    /// Renamed columns keep their statistics; computed ones have at most as many values as what they are made of.
    /// A key has the values of the column it comes from, and is NULL at the levels without it.
    fn learn_rollup(&mut self, rollup: &Rollup) {
        let copies = rollup.copies() as f64;
        for (position, key) in rollup.keys.iter().enumerate() {
            let Some(source) = self.columns.get(&key.source) else { continue };
            let kept_share = (copies - 1.0 - position as f64) / copies;
            let null_share = 1.0 - (1.0 - source.null_share) * kept_share;
            let estimate = ColumnEstimate { null_share, histogram: None, sampled: None, ..source.clone() };
            self.columns.insert(key.id, estimate);
        }
        self.columns.insert(rollup.level, ColumnEstimate::of_distinct(copies));
    }

    fn learn_computed(&mut self, exprs: &[(ColId, Expr)]) {
        for (id, expr) in exprs {
            if self.columns.contains_key(id) {
                continue;
            }
            let estimate = match expr {
                Expr::Column(c) => self.columns.get(c).cloned(),
                _ => self.distinct(expr).map(ColumnEstimate::of_distinct),
            };
            if let Some(estimate) = estimate {
                self.columns.insert(*id, estimate);
            }
        }
    }

    pub fn column(&self, id: ColId) -> Option<&ColumnEstimate> {
        self.columns.get(&id)
    }

    /// Number of distinct values of an expression over columns, if known.
    pub fn distinct(&self, expr: &Expr) -> Option<f64> {
        match expr {
            Expr::Column(id) => self.columns.get(id).map(|c| c.distinct),
            Expr::Literal { .. } | Expr::Parameter { .. } => Some(1.0),
            Expr::Call { function: muster_algebra::ScalarFunction::Extract(unit), .. } => Some(match unit {
                muster_algebra::IntervalUnit::Year => 10.0,
                muster_algebra::IntervalUnit::Quarter => 4.0,
                muster_algebra::IntervalUnit::Month => 12.0,
                _ => 50.0,
            }),
            _ => {
                let parts = scope::expr_columns(expr);
                let mut product = 1.0;
                for id in &parts {
                    product *= self.columns.get(id)?.distinct;
                }
                (!parts.is_empty()).then_some(product)
            }
        }
    }

    /// Distinct combinations of several columns of one table, as far as an index or the sample tells.
    pub fn combined_distinct(&self, columns: &[ColId]) -> Option<f64> {
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < 2 {
            return None;
        }
        if let Some((_, distinct)) = self.combined.iter().find(|(known, _)| *known == sorted) {
            return Some(*distinct);
        }
        let places = sorted.iter().map(|id| self.columns.get(id)?.sampled).collect::<Option<Vec<_>>>()?;
        let table = places[0].0;
        let of_one_table = places.iter().all(|(other, _)| *other == table);
        let rows = self.columns.get(&sorted[0])?.rows;
        let positions: Vec<usize> = places.into_iter().map(|(_, position)| position).collect();
        self.samples.sample(table).filter(|_| of_one_table)?.distinct(&positions, rows)
    }

    /// Groups that `rows` rows form over these columns.
    pub fn groups(&self, group: &[ColId], rows: f64) -> f64 {
        if group.is_empty() {
            return 1.0;
        }
        let mut product = 1.0;
        for id in group {
            product *=
                self.columns.get(id).map_or(rows.sqrt().max(1.0), |c| c.distinct + f64::from(c.null_share > 0.0));
        }
        let product = self.combined_distinct(group).map_or(product, |combined| product.min(combined));
        distinct_after(product, rows).max(1.0)
    }

    /// Share of rows for which all predicates hold.
    pub fn selectivity<'e>(&self, predicates: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let predicates: Vec<&Expr> = predicates.into_iter().collect();
        self.share_of(&predicates).clamp(SMALLEST_SHARE, 1.0)
    }

    fn share_of(&self, predicates: &[&Expr]) -> f64 {
        let alone = self.independent(predicates);
        if self.samples.is_empty() {
            return alone;
        }
        match self.observe(predicates) {
            Some(observed) => observed.corrected(alone),
            None => alone,
        }
    }

    /// Share of the rows that meet `given` for which `rest` holds, too.
    pub fn conditional(&self, rest: &[&Expr], given: &[&Expr]) -> f64 {
        let alone = self.share_of(rest);
        if rest.is_empty() || given.is_empty() {
            return alone;
        }
        let both: Vec<&Expr> = given.iter().chain(rest).copied().collect();
        let observed = self.observe_all(given).zip(self.observe_all(&both));
        match observed.filter(|(given, _)| given.matched >= GIVEN_ROWS_MIN) {
            Some((given, both)) => Observed { rows: given.matched, ..both }.corrected(alone),
            None => alone,
        }
        .clamp(SMALLEST_SHARE, 1.0)
    }

    /// The share that some conditions leave as other statistics tell it, unless the sample contradicts it.
    pub fn corrected(&self, share: f64, conditions: &[&Expr]) -> f64 {
        self.observe_all(conditions).map_or(share, |observed| observed.corrected(share))
    }

    /// What the sample says of predicates of one table, if it says more than the histograms do.
    fn observe(&self, predicates: &[&Expr]) -> Option<Observed> {
        let is_of_column = |p: &&Expr| self.intervals(p).is_some_and(|(id, _)| self.has_histogram(id));
        let columns = scope::exprs_columns(predicates.iter().copied());
        if columns.len() == 1 && predicates.iter().all(is_of_column) {
            return None;
        }
        self.observe_all(predicates)
    }

    fn observe_all(&self, predicates: &[&Expr]) -> Option<Observed> {
        if self.samples.is_empty() || !sample::are_answerable(predicates) {
            return None;
        }
        let columns = scope::exprs_columns(predicates.iter().copied());
        let mut tables = columns.iter().map(|id| Some(self.columns.get(id)?.sampled?.0));
        let table = tables.next()??;
        tables.all(|other| other == Some(table)).then(|| self.samples.observe(table, predicates))?
    }

    fn has_histogram(&self, id: ColId) -> bool {
        self.columns.get(&id).is_some_and(|column| column.histogram.is_some())
    }

    /// The column that a condition restricts alone, and the values that it leaves.
    fn intervals(&self, condition: &Expr) -> Option<(ColId, Vec<Interval>)> {
        if matches!(condition, Expr::InList { list, .. } if list.len() > LIST_MAX) {
            return None;
        }
        let ColumnValues { column, values } = ColumnValues::of(condition, &|id| self.columns.get(&id)?.ty)?;
        match values {
            Values::Intervals { intervals, .. } => Some((column, intervals)),
            Values::Like(_) => None,
        }
    }

    /// Share of rows for which all predicates hold, if those on different columns are independent of each other.
    fn independent(&self, predicates: &[&Expr]) -> f64 {
        let mut values: BTreeMap<ColId, Vec<Interval>> = BTreeMap::new();
        let mut share = 1.0;
        // With many conditions on a column, most of them are taken to be independent, too.
        let mut combined = 0;
        for predicate in predicates {
            let Some((id, found)) = self.intervals(predicate) else {
                share *= self.one(predicate);
                continue;
            };
            let ty = self.columns.get(&id).and_then(|column| column.ty);
            match (values.get_mut(&id), ty) {
                (Some(known), Some(ty)) if combined < BRANCHES_MAX => {
                    *known = intervals::intersection(known, &found, ty);
                    combined += 1;
                }
                (Some(_), _) => share *= self.columns.get(&id).map_or(1.0, |column| column.share(&found)),
                (None, _) => {
                    values.insert(id, found);
                }
            }
        }
        let of_column = |(id, intervals): (&ColId, &Vec<Interval>)| self.columns.get(id).map(|c| c.share(intervals));
        share * values.iter().filter_map(of_column).product::<f64>()
    }

    /// Distinct values of a column that conditions on it alone leave.
    pub fn distinct_within(&self, id: ColId, conditions: &[&Expr]) -> Option<f64> {
        let column = self.columns.get(&id)?;
        let conditions = &conditions[..conditions.len().min(BRANCHES_MAX)];
        let mut within: Option<Vec<Interval>> = None;
        let mut share = 1.0;
        for condition in conditions {
            match (self.intervals(condition), column.ty) {
                (Some((_, found)), Some(ty)) => {
                    within = Some(match within {
                        Some(known) => intervals::intersection(&known, &found, ty),
                        None => found,
                    });
                }
                _ => share *= self.share_of(&[condition]),
            }
        }
        Some(within.map_or(column.distinct, |within| column.distinct_within(&within)) * share)
    }

    /// Share of rows in which no column of an expression is NULL.
    fn known_share(&self, expr: &Expr) -> f64 {
        let of_column = |id: &ColId| self.columns.get(id).map_or(1.0, ColumnEstimate::known_share);
        scope::expr_columns(expr).iter().map(of_column).product()
    }

    fn one(&self, predicate: &Expr) -> f64 {
        if let Some((id, intervals)) = self.intervals(predicate)
            && let Some(column) = self.columns.get(&id)
        {
            return column.share(&intervals);
        }
        match predicate {
            Expr::Literal { value: Value::Bool(b), .. } => f64::from(*b),
            Expr::Literal { value: Value::Null, .. } => 0.0,
            Expr::Logic { op: LogicOp::And, args } => self.share_of(&args.iter().collect::<Vec<_>>()),
            Expr::Logic { op: LogicOp::Or, args } => self.any_of(args),
            // Neither holds for NULL.
            Expr::Not(arg) => (self.known_share(arg) - self.share_of(&[arg])).max(0.0),
            Expr::IsNull { arg, negated } => {
                let share = match scope::expr_columns(arg).iter().all(|id| self.columns.contains_key(id)) {
                    true if matches!(**arg, Expr::Column(_)) => 1.0 - self.known_share(arg),
                    _ => NULL_SHARE.max(1.0 - self.known_share(arg)),
                };
                if *negated { 1.0 - share } else { share }
            }
            Expr::Compare { op, left, right } => self.comparison(*op, left, right),
            Expr::InList { arg, list, negated } => {
                let share = (self.equality(arg) * list.len() as f64).min(1.0);
                if *negated { (self.known_share(arg) - share).max(0.0) } else { share }
            }
            Expr::Like { arg, pattern, escape, negated } => {
                let share = self.like(arg, pattern, *escape);
                if *negated { (self.known_share(arg) - share).max(0.0) } else { share }
            }
            _ => UNKNOWN_SHARE,
        }
    }

    /// Share of rows for which one of these holds, at least. Of a long list some stand for all.
    fn any_of(&self, args: &[Expr]) -> f64 {
        let asked = args.len().min(BRANCHES_MAX);
        let branches = (0..asked).map(|i| &args[i * args.len() / asked]);
        let none: f64 = branches.map(|arg| 1.0 - self.share_of(&[arg]).clamp(0.0, 1.0)).product();
        1.0 - none.powf(args.len() as f64 / asked.max(1) as f64)
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> f64 {
        let is_aggregate = |e: &Expr| expr_mentions(e, |c| self.aggregated.contains(&c));
        if let Some(share) = self.outcome(op, left, right) {
            return share;
        }
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq => self.equality(left).min(self.equality(right)),
            CompareOp::NotEq => {
                let known = self.known_share(left) * self.known_share(right);
                (known - self.comparison(CompareOp::Eq, left, right)).max(0.0)
            }
            _ if is_aggregate(left) || is_aggregate(right) => AGGREGATE_SHARE,
            // Two columns against each other: either may be the larger.
            _ if !is_constant(left) && !is_constant(right) => self.below(op, left, right),
            _ => RANGE_SHARE * self.known_share(left) * self.known_share(right),
        }
    }

    /// A condition on what an aggregate comes to.
    fn outcome(&self, op: CompareOp, left: &Expr, right: &Expr) -> Option<f64> {
        let of = |e: &Expr| match e {
            Expr::Column(id) => self.outcomes.get(id),
            Expr::Cast { arg, .. } => match &**arg {
                Expr::Column(id) => self.outcomes.get(id),
                _ => None,
            },
            _ => None,
        };
        match (of(left), of(right)) {
            (Some(outcome), None) => outcome.share(op, right),
            (None, Some(outcome)) => outcome.share(op.mirrored(), left),
            _ => None,
        }
    }

    /// `left < right` and the like, of two expressions over columns.
    fn below(&self, op: CompareOp, left: &Expr, right: &Expr) -> f64 {
        let (Expr::Column(a), Expr::Column(b)) = (left, right) else { return UNKNOWN_SHARE };
        let (Some(x), Some(y)) = (self.columns.get(a), self.columns.get(b)) else { return UNKNOWN_SHARE };
        let known = x.known_share() * y.known_share();
        // Columns of one table are seldom independent.
        let apart = x.sampled.zip(y.sampled).is_some_and(|((a, _), (b, _))| a != b);
        let share = match op {
            _ if !apart => None,
            CompareOp::Lt | CompareOp::LtEq => x.share_below(y),
            _ => y.share_below(x),
        };
        share.unwrap_or(UNKNOWN_SHARE * known)
    }

    fn equality(&self, expr: &Expr) -> f64 {
        match expr {
            Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Subquery(_) | Expr::Subplan(_) => 1.0,
            Expr::Column(id) => match self.columns.get(id) {
                Some(c) => c.known_share() / c.distinct,
                None => EQUALITY_SHARE,
            },
            _ if scope::expr_columns(expr).is_empty() => 1.0,
            Expr::Call { function: muster_algebra::ScalarFunction::Extract(_), .. } => {
                1.0 / self.distinct(expr).unwrap_or(20.0)
            }
            _ => EQUALITY_SHARE,
        }
    }

    fn like(&self, arg: &Expr, pattern: &Expr, escape: Option<char>) -> f64 {
        let known = self.known_share(arg);
        let Some((Value::Text(text), _)) = planned_value(pattern) else { return LIKE_SHARES.2 * known };
        if !text.contains(['%', '_']) {
            return self.equality(arg);
        }
        let guess = match (text.starts_with('%'), text.ends_with('%')) {
            (false, _) => LIKE_SHARES.0,
            (true, false) => LIKE_SHARES.1,
            (true, true) => LIKE_SHARES.2,
        };
        let like =
            Expr::Like { arg: Box::new(arg.clone()), pattern: Box::new(pattern.clone()), escape, negated: false };
        self.beginning(&like).unwrap_or(guess * known)
    }

    /// `LIKE 'x%'` where the values of the column are known to lie somewhere.
    fn beginning(&self, like: &Expr) -> Option<f64> {
        let found = ColumnValues::of(like, &|id| self.columns.get(&id)?.ty)?;
        let column = self.columns.get(&found.column)?;
        let is_known = column.histogram.is_some() || column.range.is_some();
        let ty = column.ty.filter(|_| is_known)?;
        let Values::Like(pattern) = &found.values else { return None };
        if pattern.literal_prefix().is_empty() {
            return None;
        }
        let (intervals, _) = Part { ty, nullable: true, prefix: None }.intervals(&found.values);
        let share = column.share(&intervals);
        Some(if pattern.is_prefix() { share } else { share * LIKE_REST_SHARE })
    }

    /// Share of rows of an outer join for which conditions hold. `extended`: columns that are NULL in the share
    /// `alone` of the rows, which found no partner.
    pub fn outer_share(&self, condition: &Expr, extended: &ColSet, alone: f64) -> f64 {
        let null = |id: ColId| extended.contains(&id).then_some(Value::Null);
        let of_alone = match muster_eval::eval(condition, &null) {
            Some(outcome) => outcome.is_ok_and(|value| muster_eval::compare::truth(&value) == Some(true)),
            None if properties::rejects_null(condition, extended) => false,
            None => return self.selectivity([condition]),
        };
        (alone * f64::from(of_alone) + (1.0 - alone) * self.selectivity([condition])).clamp(SMALLEST_SHARE, 1.0)
    }
}

/// Distinct values among `rows` rows drawn from `distinct` values.
pub fn distinct_after(distinct: f64, rows: f64) -> f64 {
    if distinct <= 1.0 {
        return distinct.max(0.0);
    }
    if rows >= distinct * 20.0 { distinct } else { distinct * (1.0 - (-rows / distinct).exp()) }
}

fn is_unique(table: &TableDef, column: usize) -> bool {
    table.indexes.iter().any(|i| i.unique && i.parts.len() == 1 && i.parts[0].column == column)
}

fn expr_mentions(expr: &Expr, mut test: impl FnMut(ColId) -> bool) -> bool {
    scope::expr_columns(expr).into_iter().any(&mut test)
}

#[cfg(test)]
mod tests;
