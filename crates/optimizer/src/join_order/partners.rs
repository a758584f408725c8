//! What the join of a dependent unit (the right input of a left, semi or anti join) does to the number of rows.

use super::equal_columns::joined_keys;
use super::graph::{Graph, Role, Unit};
use super::model::EQUALITY_VALUES;
use crate::estimate::{ColumnEstimate, Estimator, distinct_after};
use crate::{properties, scope};
use muster_algebra::{CompareOp, Expr, JoinKind};

/// Share of rows for which a further condition of a semi or anti join holds for some partner.
const RESIDUAL_SHARE: f64 = 0.8;
/// Share of rows that are taken to find no partner at least: numbers of distinct values are no more exact than this.
const LONELY_SHARE_MIN: f64 = 0.001;

/// What a dependent unit's join does to the rows that it is joined to.
struct Partners {
    /// Share of the rows that have a partner.
    matched: f64,
    /// Partners of a row, in the mean.
    per_row: f64,
}

fn partners(graph: &Graph, estimator: &Estimator, unit: usize, rows: f64) -> Partners {
    let Role::Dependent { on, .. } = &graph.units[unit].role else { return Partners { matched: 1.0, per_row: rows } };
    let own = &graph.units[unit].columns;
    let (mut matched, mut per_row) = (1.0f64, rows);
    for condition in on {
        let sides = match condition {
            Expr::Compare { op: CompareOp::Eq, left, right } => {
                if scope::covered(right, own) {
                    Some((left, right))
                } else {
                    Some((right, left))
                }
            }
            _ => None,
        };
        match sides {
            Some((outer, inner)) => {
                let known = |e: &Expr| match e {
                    Expr::Column(id) => estimator.column(*id).map_or(1.0, ColumnEstimate::known_share),
                    _ => 1.0,
                };
                let (outer_known, inner_known) = (known(outer), known(inner));
                let inner = estimator.distinct(inner).unwrap_or(EQUALITY_VALUES);
                let outer = estimator.distinct(outer).unwrap_or(inner);
                matched *= (distinct_after(inner, rows * inner_known) / outer.max(1.0)).min(1.0) * outer_known;
                per_row *= outer_known * inner_known / inner.max(outer).max(1.0);
            }
            None => {
                matched *= RESIDUAL_SHARE;
                per_row *= estimator.selectivity(std::slice::from_ref(condition));
            }
        }
    }
    // Rows and distinct values are known of different times; a key finds one row at any.
    let rel = &graph.units[unit].rel;
    if joined_keys(&graph.units[unit]).iter().any(|key| properties::is_bound(key, on, rel)) {
        per_row = per_row.min(1.0);
    }
    Partners { matched, per_row }
}

pub fn dependent_factor(graph: &Graph, estimator: &Estimator, unit: usize, rows: f64) -> f64 {
    let Role::Dependent { kind, .. } = &graph.units[unit].role else { return 1.0 };
    let Partners { matched, per_row } = partners(graph, estimator, unit, rows);
    match kind {
        JoinKind::Inner => per_row,
        JoinKind::Left => per_row.max(1.0),
        JoinKind::Semi => matched.clamp(1e-9, 1.0),
        JoinKind::Anti | JoinKind::NullAwareAnti => (1.0 - matched).max(LONELY_SHARE_MIN),
    }
}

/// Rows of a left join without a partner, for each row of the left input.
fn rows_alone(graph: &Graph, estimator: &Estimator, unit: usize, rows: f64) -> f64 {
    (1.0 - partners(graph, estimator, unit, rows).matched).max(LONELY_SHARE_MIN)
}

/// The unit whose columns a condition mentions, if it is the right input of a left join and the condition mentions no
/// other of that kind: they are NULL in rows that have found no partner.
pub fn extended_unit(graph: &Graph, condition: &Expr) -> Option<usize> {
    let mentioned = scope::expr_columns(condition);
    let is_left = |unit: &Unit| matches!(unit.role, Role::Dependent { kind: JoinKind::Left, .. });
    let mut extended = graph.units.iter().enumerate().filter(|(_, u)| is_left(u) && !u.columns.is_disjoint(&mentioned));
    let (unit, _) = extended.next()?;
    extended.next().is_none().then_some(unit)
}

/// Share of the rows behind a left join for which a condition on the columns of its right input holds. `rows`: of that
/// input.
pub fn outer_share(graph: &Graph, estimator: &Estimator, condition: &Expr, unit: usize, rows: f64) -> f64 {
    let alone = rows_alone(graph, estimator, unit, rows) / dependent_factor(graph, estimator, unit, rows);
    estimator.outer_share(condition, &graph.units[unit].columns, alone)
}
