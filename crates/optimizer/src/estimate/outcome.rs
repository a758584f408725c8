//! Conditions on the outcome of an aggregate (HAVING), from the number of rows that a group has and the spread of what
//! is aggregated. Sums of many values lie as the normal distribution says, about.

use super::{Estimator, column::ColumnEstimate};
use crate::literal::planned_value;
use muster_algebra::{AggregateCall, AggregateFunction, CompareOp, Expr};
use muster_types::order;

/// What an aggregate comes to in each group: mean and standard deviation over all groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    mean: f64,
    deviation: f64,
    /// Number of groups.
    groups: f64,
}

impl Outcome {
    /// `None` for functions of whose outcome nothing is known. `rows`: rows of a group, in the mean.
    pub fn of(call: &AggregateCall, rows: f64, groups: f64, estimator: &Estimator) -> Option<Outcome> {
        let argument = match call.args.as_slice() {
            [Expr::Column(id)] => estimator.column(*id),
            _ => None,
        };
        // Groups of different sizes, as chance makes them: each has a row at least.
        let (size, size_variance) = (rows.max(1.0), (rows - 1.0).max(0.0));
        let (mean, variance) = match (&call.function, call.distinct) {
            (AggregateFunction::Count, false) => {
                let known = argument.map_or(1.0, ColumnEstimate::known_share);
                (size * known, size_variance * known)
            }
            (AggregateFunction::Sum, false) => {
                let (mean, variance) = argument?.spread()?;
                (size * mean, size * variance + size_variance * mean * mean)
            }
            (AggregateFunction::Avg, false) => {
                let (mean, variance) = argument?.spread()?;
                (mean, variance / size)
            }
            _ => return None,
        };
        Some(Outcome { mean, deviation: variance.sqrt(), groups })
    }

    /// Share of the groups whose outcome compares so with a literal.
    pub fn share(&self, op: CompareOp, with: &Expr) -> Option<f64> {
        let bound = order::number(planned_value(with)?.0)?;
        let above = match self.deviation > 0.0 {
            true => upper_tail((bound - self.mean) / self.deviation),
            false => f64::from(self.mean > bound),
        };
        let share = match op {
            CompareOp::Gt | CompareOp::GtEq => above,
            CompareOp::Lt | CompareOp::LtEq => 1.0 - above,
            _ => return None,
        };
        // Somebody asks for the groups because there are some, and for a condition because it drops some.
        let one = 1.0 / self.groups.max(1.0);
        Some(share.clamp(one, 1.0))
    }
}

/// Share of a normal distribution above so many standard deviations (Abramowitz and Stegun, 26.2.17; the error is below
/// 1e-7).
fn upper_tail(deviations: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] = [0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
    let x = deviations.abs();
    let t = 1.0 / (1.0 + 0.2316419 * x);
    let polynomial = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    let tail = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if deviations < 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_the_normal_distribution() {
        for (deviations, share) in [(0.0, 0.5), (1.0, 0.158655), (-1.0, 0.841345), (3.0, 0.0013499), (6.0, 9.87e-10)] {
            let found = upper_tail(deviations);
            assert!((found - share).abs() <= 1e-6, "{found} beyond {deviations}");
        }
    }
}
