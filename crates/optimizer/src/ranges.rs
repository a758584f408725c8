//! Key ranges of an index from conditions: which part of an index holds all rows that the conditions can accept.
//!
//! ```text
//!   conjunct  ->  domain of one column (disjoint intervals)  ->  ranges over a prefix of the key's parts
//!   a = 1, b in (2, 3), c < 5 on key(a, b, c)  ->  (1,2,NULL)..(1,2,5), (1,3,NULL)..(1,3,5)
//! ```

use crate::join_order::cardinality::mirrored;
use crate::literal::{self, exact_value, literal};
use muster_algebra::{ColId, CompareOp, Expr, KeyRange, LogicOp, SqlType, TableDef, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Bound;

/// More ranges than this are not made; the parts behind stay conditions.
pub const RANGES_MAX: usize = 1024;

/// An interval of one column's values, NULL below all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    pub low: Bound<Value>,
    pub high: Bound<Value>,
}

impl Interval {
    fn point(value: Value) -> Interval {
        Interval { low: Bound::Included(value.clone()), high: Bound::Included(value) }
    }

    fn as_point(&self) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
            _ => None,
        }
    }
}

/// The ranges of one index that some conditions leave.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRanges {
    /// Disjoint and ascending; empty when no row can qualify.
    pub ranges: Vec<KeyRange>,
    /// Leading parts that are bound to single values.
    pub equal_parts: usize,
    /// Leading parts that are constrained at all.
    pub parts: usize,
    /// Which conjuncts hold for every row of the ranges, so that they need not be checked again.
    pub implied: Vec<bool>,
}

/// What conjuncts say of the columns of one table.
pub struct Domains<'a> {
    table: &'a TableDef,
    conjuncts: &'a [Expr],
    position: HashMap<ColId, usize>,
}

impl<'a> Domains<'a> {
    pub fn new(table: &'a TableDef, columns: &[(ColId, usize)], conjuncts: &'a [Expr]) -> Domains<'a> {
        Domains { table, conjuncts, position: columns.iter().copied().collect() }
    }

    /// The ranges of an index, `None` when its first part is not constrained.
    pub fn ranges(&self, index: usize) -> Option<IndexRanges> {
        let mut implied = vec![false; self.conjuncts.len()];
        // Points of the parts so far, and at the end the intervals of one more part.
        let mut prefixes: Vec<Vec<Value>> = vec![Vec::new()];
        let mut equal_parts = 0;
        for part in &self.table.indexes[index].parts {
            if part.prefix.is_some() || part.descending {
                break;
            }
            let Some((intervals, used)) = self.of_column(part.column) else { break };
            let points: Option<Vec<&Value>> = intervals.iter().map(Interval::as_point).collect();
            if prefixes.len() * intervals.len().max(1) > RANGES_MAX {
                break;
            }
            used.iter().for_each(|i| implied[*i] = true);
            match points {
                Some(points) => {
                    prefixes = prefixes
                        .iter()
                        .flat_map(|p| points.iter().map(|v| p.iter().cloned().chain([(*v).clone()]).collect()))
                        .collect();
                    equal_parts += 1;
                }
                None => {
                    let ranges = prefixes.iter().flat_map(|p| intervals.iter().map(|i| key_range(p, i))).collect();
                    return Some(IndexRanges { ranges, equal_parts, parts: equal_parts + 1, implied });
                }
            }
        }
        if equal_parts == 0 {
            return None;
        }
        let ranges = prefixes.into_iter().map(KeyRange::prefix).collect();
        Some(IndexRanges { ranges, equal_parts, parts: equal_parts, implied })
    }

    /// The intervals of a column that all conjuncts together leave, and the conjuncts that are said completely by them.
    fn of_column(&self, column: usize) -> Option<(Vec<Interval>, Vec<usize>)> {
        let ty = self.table.columns[column].ty;
        let mut left: Option<Vec<Interval>> = None;
        let mut used = Vec::new();
        for (i, conjunct) in self.conjuncts.iter().enumerate() {
            let Some(intervals) = self.of_conjunct(conjunct, column, ty) else { continue };
            let Some(both) = (match &left {
                Some(before) => intersect(before, &intervals, ty),
                None => Some(intervals),
            }) else {
                continue;
            };
            if both.len() > RANGES_MAX {
                continue;
            }
            left = Some(both);
            // Doubles have two zeros and decimals of one value have many scales only in memory; the key has one
            // form. Floating-point conditions are checked again all the same.
            if !matches!(ty, SqlType::Float | SqlType::Double) {
                used.push(i);
            }
        }
        left.map(|intervals| (intervals, used))
    }

    fn is_column(&self, expr: &Expr, column: usize) -> bool {
        matches!(expr, Expr::Column(id) if self.position.get(id) == Some(&column))
    }

    fn constant(&self, expr: &Expr, ty: SqlType) -> Option<Value> {
        let (value, from) = literal(expr)?;
        exact_value(value, from, ty)
    }

    /// The values of a column for which one condition is TRUE, if it speaks of this column only.
    fn of_conjunct(&self, conjunct: &Expr, column: usize, ty: SqlType) -> Option<Vec<Interval>> {
        match conjunct {
            Expr::Compare { op, left, right } => {
                let (op, value) = if self.is_column(left, column) {
                    (*op, self.constant(right, ty)?)
                } else if self.is_column(right, column) {
                    (mirrored(*op), self.constant(left, ty)?)
                } else {
                    return None;
                };
                if value.is_null() && op != CompareOp::NullSafeEq {
                    return Some(Vec::new());
                }
                let not_null = Bound::Excluded(Value::Null);
                let (low, high) = match op {
                    CompareOp::Eq | CompareOp::NullSafeEq => return Some(vec![Interval::point(value)]),
                    CompareOp::NotEq => return None,
                    CompareOp::Lt => (not_null, Bound::Excluded(value)),
                    CompareOp::LtEq => (not_null, Bound::Included(value)),
                    CompareOp::Gt => (Bound::Excluded(value), Bound::Unbounded),
                    CompareOp::GtEq => (Bound::Included(value), Bound::Unbounded),
                };
                Some(vec![Interval { low, high }])
            }
            Expr::InList { arg, list, negated: false } if self.is_column(arg, column) => {
                let values: Option<Vec<Value>> = list.iter().map(|e| self.constant(e, ty)).collect();
                let points = values?.into_iter().filter(|v| !v.is_null()).map(Interval::point).collect();
                union(points, ty)
            }
            Expr::IsNull { arg, negated: false } if self.is_column(arg, column) => {
                Some(vec![Interval::point(Value::Null)])
            }
            Expr::Logic { op: LogicOp::Or, args } => {
                let mut all = Vec::new();
                for arg in args {
                    all.extend(self.of_conjunct(arg, column, ty)?);
                }
                union(all, ty)
            }
            Expr::Logic { op: LogicOp::And, args } => {
                let mut left: Option<Vec<Interval>> = None;
                for arg in args {
                    let next = self.of_conjunct(arg, column, ty)?;
                    left = Some(match left {
                        Some(before) => intersect(&before, &next, ty)?,
                        None => next,
                    });
                }
                left
            }
            _ => None,
        }
    }
}

fn key_range(prefix: &[Value], interval: &Interval) -> KeyRange {
    let with = |value: &Value| prefix.iter().cloned().chain([value.clone()]).collect::<Vec<_>>();
    let extend = |bound: &Bound<Value>| match bound {
        Bound::Included(v) => Bound::Included(with(v)),
        Bound::Excluded(v) => Bound::Excluded(with(v)),
        Bound::Unbounded if prefix.is_empty() => Bound::Unbounded,
        Bound::Unbounded => Bound::Included(prefix.to_vec()),
    };
    KeyRange { lower: extend(&interval.low), upper: extend(&interval.high) }
}

/// Which lower bound admits less; equal ones are equal.
fn compare_low(a: &Bound<Value>, b: &Bound<Value>, ty: SqlType) -> Option<Ordering> {
    compare_bounds(a, b, ty, Ordering::Less, Ordering::Greater)
}

fn compare_high(a: &Bound<Value>, b: &Bound<Value>, ty: SqlType) -> Option<Ordering> {
    compare_bounds(a, b, ty, Ordering::Greater, Ordering::Less)
}

/// `unbounded`: how an unbounded bound compares with others; `excluded`: how an excluded one with an included one of
/// the same value.
fn compare_bounds(
    a: &Bound<Value>,
    b: &Bound<Value>,
    ty: SqlType,
    unbounded: Ordering,
    excluded: Ordering,
) -> Option<Ordering> {
    Some(match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => unbounded,
        (_, Bound::Unbounded) => unbounded.reverse(),
        (Bound::Included(x), Bound::Included(y)) | (Bound::Excluded(x), Bound::Excluded(y)) => {
            literal::compare(x, y, ty)?
        }
        (Bound::Excluded(x), Bound::Included(y)) => literal::compare(x, y, ty)?.then(excluded),
        (Bound::Included(x), Bound::Excluded(y)) => literal::compare(x, y, ty)?.then(excluded.reverse()),
    })
}

/// Whether some value can lie between the bounds.
fn is_inhabited(interval: &Interval, ty: SqlType) -> Option<bool> {
    let (Bound::Included(low) | Bound::Excluded(low)) = &interval.low else { return Some(true) };
    let (Bound::Included(high) | Bound::Excluded(high)) = &interval.high else { return Some(true) };
    let both_included = matches!((&interval.low, &interval.high), (Bound::Included(_), Bound::Included(_)));
    Some(match literal::compare(low, high, ty)? {
        Ordering::Less => true,
        Ordering::Equal => both_included,
        Ordering::Greater => false,
    })
}

/// What two ascending lists of intervals have in common.
fn intersect(a: &[Interval], b: &[Interval], ty: SqlType) -> Option<Vec<Interval>> {
    let mut result = Vec::new();
    if a.len().saturating_mul(b.len()) > RANGES_MAX * 16 {
        return None;
    }
    for x in a {
        for y in b {
            let low = if compare_low(&x.low, &y.low, ty)? == Ordering::Less { &y.low } else { &x.low };
            let high = if compare_high(&x.high, &y.high, ty)? == Ordering::Greater { &y.high } else { &x.high };
            let both = Interval { low: low.clone(), high: high.clone() };
            if is_inhabited(&both, ty)? {
                result.push(both);
            }
        }
    }
    Some(result)
}

/// Sorts intervals and joins those that touch.
fn union(mut intervals: Vec<Interval>, ty: SqlType) -> Option<Vec<Interval>> {
    if intervals.len() > RANGES_MAX {
        return None;
    }
    let mut comparable = true;
    intervals.sort_by(|a, b| {
        compare_low(&a.low, &b.low, ty).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    if !comparable {
        return None;
    }
    let mut result: Vec<Interval> = Vec::new();
    for next in intervals {
        if let Some(last) = result.last_mut() {
            let gap = Interval { low: flip(&last.high), high: flip(&next.low) };
            let touches = match (&last.high, &next.low) {
                (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
                // A gap in which not even one value fits: `..5] [5..` or `..5) [5..`.
                _ => !is_inhabited(&gap, ty)?,
            };
            if touches {
                if compare_high(&last.high, &next.high, ty)? == Ordering::Less {
                    last.high = next.high;
                }
                continue;
            }
        }
        result.push(next);
    }
    Some(result)
}

fn flip(bound: &Bound<Value>) -> Bound<Value> {
    match bound {
        Bound::Included(v) => Bound::Excluded(v.clone()),
        Bound::Excluded(v) => Bound::Included(v.clone()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
