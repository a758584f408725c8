//! How many rows: selectivity of predicates from column statistics, under the assumption that predicates are
//! independent of each other.

use crate::literal::{literal, to_number};
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, CompareOp, Expr, LogicOp, Rel, Statistics, Value};
use std::collections::{BTreeMap, HashMap};

/// Row count of a table of which nothing is known.
const DEFAULT_ROWS: f64 = 1000.0;
/// Shares for predicates that statistics say nothing about. Those of ranges and `<>` are MySQL's
/// (`COND_FILTER_INEQUALITY`, `COND_FILTER_BETWEEN`, manual 10.9.6); the others are guesses.
const RANGE_SHARE: f64 = 1.0 / 3.0;
const EQUALITY_SHARE: f64 = 0.05;
const LIKE_SHARES: (f64, f64, f64) = (0.02, 0.1, 0.05);
/// Conditions on the outcome of an aggregate (HAVING) are written to keep few groups.
const AGGREGATE_SHARE: f64 = 0.05;
const UNKNOWN_SHARE: f64 = 0.5;
const SMALLEST_SHARE: f64 = 1e-9;

/// What is known of a column's values.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnEstimate {
    pub distinct: f64,
    pub null_share: f64,
    /// Smallest and largest value on the number line of [`to_number`].
    pub range: Option<(f64, f64)>,
    /// Rows of the table it comes from.
    pub rows: f64,
    /// Share of these rows that may lie outside of `range`: they came or changed later.
    pub changed_share: f64,
}

/// Column statistics of all tables of a statement, by column.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    columns: HashMap<ColId, ColumnEstimate>,
    aggregated: ColSet,
}

/// Rows of a table, never zero so that products stay comparable.
pub fn table_rows(statistics: &dyn Statistics, table: &muster_algebra::TableDef) -> f64 {
    statistics.row_count(table).unwrap_or(DEFAULT_ROWS).max(1.0)
}

impl Estimator {
    /// Learns the columns of every table in a relation, subqueries included.
    pub fn learn(&mut self, rel: &Rel, statistics: &dyn Statistics) {
        match rel {
            Rel::Get { table, columns, .. } => {
                let rows = table_rows(statistics, table);
                for (id, position) in columns {
                    let known = statistics.column(table, *position);
                    let estimate = match known {
                        Some(s) => ColumnEstimate {
                            distinct: s.distinct.max(1.0),
                            null_share: s.null_share.clamp(0.0, 1.0),
                            range: s.min.as_ref().and_then(to_number).zip(s.max.as_ref().and_then(to_number)),
                            rows,
                            changed_share: s.changed_share.clamp(0.0, 1.0),
                        },
                        None => ColumnEstimate {
                            distinct: if is_unique(table, *position) { rows } else { (rows / 10.0).max(1.0) },
                            null_share: 0.0,
                            range: None,
                            rows,
                            changed_share: 0.0,
                        },
                    };
                    self.columns.insert(*id, estimate);
                }
            }
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
        if let Rel::Project { exprs, .. } = rel {
            self.learn_computed(exprs);
        }
    }

    /// Renamed columns keep their statistics; computed ones have at most as many values as what they are made of.
    fn learn_computed(&mut self, exprs: &[(ColId, Expr)]) {
        for (id, expr) in exprs {
            if self.columns.contains_key(id) {
                continue;
            }
            let estimate = match expr {
                Expr::Column(c) => self.columns.get(c).cloned(),
                _ => self.distinct(expr).map(|distinct| ColumnEstimate {
                    distinct,
                    null_share: 0.0,
                    range: None,
                    rows: distinct,
                    changed_share: 0.0,
                }),
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
        distinct_after(product, rows).max(1.0)
    }

    /// Share of rows for which all predicates hold.
    pub fn selectivity<'e>(&self, predicates: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let mut bounds: BTreeMap<ColId, (f64, f64)> = BTreeMap::new();
        let mut share = 1.0;
        for predicate in predicates {
            match self.number_bound(predicate) {
                Some((id, low, high)) => {
                    let entry = bounds.entry(id).or_insert((f64::NEG_INFINITY, f64::INFINITY));
                    *entry = (entry.0.max(low), entry.1.min(high));
                }
                None => share *= self.one(predicate),
            }
        }
        for (id, (low, high)) in bounds {
            share *= self.interval_share(id, low, high);
        }
        share.clamp(SMALLEST_SHARE, 1.0)
    }

    /// `column < number` and the like, when the column's smallest and largest values are known.
    fn number_bound(&self, predicate: &Expr) -> Option<(ColId, f64, f64)> {
        let Expr::Compare { op, left, right } = predicate else { return None };
        let (id, value, op) = match (&**left, &**right) {
            (Expr::Column(id), other) => (*id, literal(other)?.0, *op),
            (other, Expr::Column(id)) => (*id, literal(other)?.0, mirrored(*op)),
            _ => return None,
        };
        self.columns.get(&id)?.range?;
        let x = to_number(value)?;
        match op {
            CompareOp::Lt | CompareOp::LtEq => Some((id, f64::NEG_INFINITY, x)),
            CompareOp::Gt | CompareOp::GtEq => Some((id, x, f64::INFINITY)),
            _ => None,
        }
    }

    fn interval_share(&self, id: ColId, low: f64, high: f64) -> f64 {
        let Some(column) = self.columns.get(&id) else { return RANGE_SHARE };
        let Some((min, max)) = column.range else { return RANGE_SHARE };
        // One value at least is in the range of a predicate that somebody asks; half a value at the open end.
        let width = (max - min).max(f64::MIN_POSITIVE);
        let inside = (high.min(max) - low.max(min)).max(0.0) / width;
        let one_value = 1.0 / column.distinct;
        let inside = inside + beyond(column.changed_share, (low, high), (min, max));
        inside.clamp(one_value.min(1.0), 1.0) * (1.0 - column.null_share)
    }

    fn one(&self, predicate: &Expr) -> f64 {
        match predicate {
            Expr::Literal { value: Value::Bool(b), .. } => f64::from(*b),
            Expr::Literal { value: Value::Null, .. } => 0.0,
            Expr::Logic { op: LogicOp::And, args } => self.selectivity(args),
            Expr::Logic { op: LogicOp::Or, args } => {
                1.0 - args.iter().map(|a| 1.0 - self.selectivity(std::slice::from_ref(a))).product::<f64>()
            }
            Expr::Not(arg) => 1.0 - self.selectivity(std::slice::from_ref(&**arg)),
            Expr::IsNull { arg, negated } => {
                let share = match &**arg {
                    Expr::Column(id) => self.columns.get(id).map_or(0.1, |c| c.null_share),
                    _ => 0.1,
                };
                if *negated { 1.0 - share } else { share }
            }
            Expr::Compare { op, left, right } => self.comparison(*op, left, right),
            Expr::InList { arg, list, negated } => {
                let share = (self.equality(arg) * list.len() as f64).min(1.0);
                if *negated { 1.0 - share } else { share }
            }
            Expr::Like { arg, pattern, negated, .. } => {
                let share = self.like(arg, pattern);
                if *negated { 1.0 - share } else { share }
            }
            _ => UNKNOWN_SHARE,
        }
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> f64 {
        let is_aggregate = |e: &Expr| expr_mentions(e, |c| self.aggregated.contains(&c));
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq => match (literal(left), literal(right)) {
                (None, Some((value, _))) => self.equals(left, value),
                (Some((value, _)), None) => self.equals(right, value),
                _ => self.equality(left).min(self.equality(right)),
            },
            CompareOp::NotEq => 1.0 - self.comparison(CompareOp::Eq, left, right),
            _ if is_aggregate(left) || is_aggregate(right) => AGGREGATE_SHARE,
            // Two columns against each other: either may be the larger.
            _ if literal(left).is_none() && literal(right).is_none() => UNKNOWN_SHARE,
            _ => RANGE_SHARE,
        }
    }

    /// `expr = value`: nothing, when the value is outside the column's range, but for rows that came later.
    fn equals(&self, expr: &Expr, value: &Value) -> f64 {
        if let Expr::Column(id) = expr
            && let Some(column) = self.columns.get(id)
            && let Some((min, max)) = column.range
            && to_number(value).is_some_and(|x| x < min || x > max)
        {
            return self.equality(expr).min(column.changed_share).max(SMALLEST_SHARE);
        }
        self.equality(expr)
    }

    fn equality(&self, expr: &Expr) -> f64 {
        match expr {
            Expr::Literal { .. } | Expr::Parameter { .. } | Expr::Subquery(_) | Expr::Subplan(_) => 1.0,
            Expr::Column(id) => match self.columns.get(id) {
                Some(c) => (1.0 - c.null_share) / c.distinct,
                None => EQUALITY_SHARE,
            },
            _ if scope::expr_columns(expr).is_empty() => 1.0,
            Expr::Call { function: muster_algebra::ScalarFunction::Extract(_), .. } => {
                1.0 / self.distinct(expr).unwrap_or(20.0)
            }
            _ => EQUALITY_SHARE,
        }
    }

    fn like(&self, arg: &Expr, pattern: &Expr) -> f64 {
        let Some((Value::Text(text), _)) = literal(pattern) else { return LIKE_SHARES.2 };
        if !text.contains(['%', '_']) {
            return self.equality(arg);
        }
        match (text.starts_with('%'), text.ends_with('%')) {
            (false, _) => LIKE_SHARES.0,
            (true, false) => LIKE_SHARES.1,
            (true, true) => LIKE_SHARES.2,
        }
    }
}

/// Share of rows in an interval that came or changed since the column's range was found out; `changed` of all rows did.
/// They are taken to follow the largest value as closely as the others follow each other, as those with growing keys
/// do; for an interval with none of the values that were known, to be all there.
fn beyond(changed: f64, (low, high): (f64, f64), (min, max): (f64, f64)) -> f64 {
    if low > max || high < min {
        return changed;
    }
    if changed <= 0.0 || high <= max {
        return 0.0;
    }
    let grown = (max - min) * changed / (1.0 - changed).max(f64::EPSILON);
    changed * ((high - max) / grown.max(f64::MIN_POSITIVE)).min(1.0)
}

/// Distinct values among `rows` rows drawn from `distinct` values.
pub fn distinct_after(distinct: f64, rows: f64) -> f64 {
    if distinct <= 1.0 {
        return distinct.max(0.0);
    }
    if rows >= distinct * 20.0 { distinct } else { distinct * (1.0 - (-rows / distinct).exp()) }
}

/// The operator with its sides exchanged.
pub fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::LtEq => CompareOp::GtEq,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::GtEq => CompareOp::LtEq,
        same => same,
    }
}

fn is_unique(table: &muster_algebra::TableDef, column: usize) -> bool {
    table.indexes.iter().any(|i| i.unique && i.parts.len() == 1 && i.parts[0].column == column)
}

fn expr_mentions(expr: &Expr, mut test: impl FnMut(ColId) -> bool) -> bool {
    scope::expr_columns(expr).into_iter().any(&mut test)
}

#[cfg(test)]
#[path = "cardinality_tests.rs"]
mod tests;
