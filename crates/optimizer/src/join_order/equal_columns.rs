//! Columns of several units that a join makes equal: in what share of the combinations of rows they are.

use super::graph::{Graph, Unit};
use crate::estimate::{ColumnEstimate, Estimator, join};
use crate::properties;
use crate::scope::ColSet;
use muster_algebra::{ColId, Expr, Rel};

/// A column of a class in its unit, before the join.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub unit: usize,
    pub distinct: f64,
    /// Share of the unit's rows in which it is not NULL.
    pub known_share: f64,
    /// The share of the unit's rows that one row is, if the column is a key of the unit: no value has more.
    pub key_share: Option<f64>,
}

/// Share of the combinations of rows in which all these members are equal. NULL equals nothing.
pub fn class_share<'m>(members: impl Iterator<Item = &'m Member>) -> f64 {
    let (mut share, mut known, mut count) = (1.0, 1.0, 0);
    // Rows are divided by the distinct values of all columns but the one with the fewest.
    let mut fewest = f64::INFINITY;
    for member in members {
        let d = member.distinct;
        let other = if d < fewest { std::mem::replace(&mut fewest, d) } else { d };
        if other.is_finite() {
            share /= other.max(1.0);
        }
        known *= member.known_share;
        count += 1;
    }
    if count > 1 { share * known } else { 1.0 }
}

/// The conditions on a unit's own columns, if it is a table.
pub fn own_predicates(unit: &Unit) -> &[Expr] {
    match &unit.rel {
        Rel::Filter { input, predicates } if matches!(**input, Rel::Get { .. }) => predicates,
        _ => &[],
    }
}

/// Sets of columns no two rows of a unit have the same values of: keys without the columns that equal a constant.
pub fn joined_keys(unit: &Unit) -> Vec<ColSet> {
    let is_constant = |id: &ColId| {
        let equals = |p: &Expr| properties::equated(p, *id).is_some_and(|other| matches!(other, Expr::Literal { .. }));
        own_predicates(unit).iter().any(equals)
    };
    let mut keys = properties::unique_keys(&unit.rel);
    keys.iter_mut().for_each(|key| key.retain(|id| !is_constant(id)));
    keys
}

/// Share of a unit's rows in which a column is not NULL: all, if a condition on the unit says so.
pub fn known_share(graph: &Graph, estimator: &Estimator, unit: usize, id: ColId) -> f64 {
    let column = ColSet::from([id]);
    match own_predicates(&graph.units[unit]).iter().any(|p| properties::rejects_null(p, &column)) {
        true => 1.0,
        false => estimator.column(id).map_or(1.0, ColumnEstimate::known_share),
    }
}

/// Neighbours in a class whose common values make more pairs of rows than numbers of distinct values tell. Conditions
/// on a column itself may leave other values than the common ones. `members`: of the same class; by a key a row has one
/// partner at most, whatever was common when the statistics were made.
pub fn skews(
    graph: &Graph,
    estimator: &Estimator,
    class: &[(usize, ColId)],
    members: &[Member],
) -> Vec<(usize, usize, f64)> {
    let is_restricted =
        |(unit, id): &(usize, ColId)| own_predicates(&graph.units[*unit]).iter().any(|p| p.columns().contains(id));
    let pairs = class.windows(2).zip(members.windows(2)).filter(|(pair, _)| !pair.iter().any(is_restricted));
    let skew = |(pair, members): (&[(usize, ColId)], &[Member])| {
        let [(a, x), (b, y)] = pair else { return None };
        let values = members.iter().map(|member| member.distinct).fold(1.0, f64::max);
        let most = members.iter().filter_map(|member| member.key_share).map(|share| share * values);
        let factor = most.fold(join::skew(estimator.column(*x)?, estimator.column(*y)?), f64::min);
        (factor != 1.0).then_some((*a, *b, factor))
    };
    pairs.filter_map(skew).collect()
}
