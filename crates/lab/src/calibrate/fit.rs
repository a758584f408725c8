//! Constants under which the model's costs are nearest to the times: least squares of the logarithms of their ratios.
//! A constant that no time says much about stays near its default, since its distance from there counts a little, too.
//! The sum has one minimum along each constant, so each in turn is moved to it.

use super::measure::StatementTimes;

/// The weight of a constant's distance from its default, beside those of times: a constant may be wrong by three times,
/// a time by a tenth.
const PRIOR: f64 = 0.008;
/// Rounds over all constants.
const ROUNDS: usize = 60;
/// Steps of a search along one constant, each of which leaves two thirds of the interval.
const STEPS: usize = 30;
/// Constants are looked for within this factor of their defaults.
const FACTOR_MAX: f64 = 200.0;

/// A constant as the times have it.
#[derive(Debug, Clone)]
pub struct Constant {
    pub name: String,
    /// What its default is multiplied by.
    pub factor: f64,
    /// The largest share that it has of the cost of a statement.
    pub share: f64,
}

/// The cost of a statement by constants: what does not depend on them, and for each its part by default.
struct Equation {
    rest_ms: f64,
    parts_ms: Vec<f64>,
    measured_ms: f64,
}

impl Equation {
    fn cost(&self, factors: &[f64]) -> f64 {
        self.rest_ms + self.parts_ms.iter().zip(factors).map(|(part, factor)| part * factor).sum::<f64>()
    }

    fn error(&self, factors: &[f64]) -> f64 {
        (self.cost(factors).max(1e-9) / self.measured_ms).ln()
    }
}

/// Finds the constants, and notes what each statement costs with them.
pub fn fit(statements: &mut [StatementTimes]) -> Vec<Constant> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in statements.iter().flat_map(|of| &of.work) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let equations: Vec<Equation> = statements.iter().filter(|of| is_timed(of)).map(|of| equation(of, &names)).collect();
    let mut logs = vec![0.0; names.len()];
    for _ in 0..ROUNDS {
        for at in 0..logs.len() {
            logs[at] = least_along(&equations, &mut logs, at);
        }
    }
    let factors: Vec<f64> = logs.iter().map(|log: &f64| log.exp()).collect();
    for times in statements.iter_mut() {
        times.after_ms = equation(times, &names).cost(&factors);
    }
    let share = |at: usize| {
        let of = |equation: &Equation| equation.parts_ms[at] * factors[at] / equation.cost(&factors).max(1e-9);
        equations.iter().map(of).fold(0.0, f64::max)
    };
    let constant =
        |(at, name): (usize, &String)| Constant { name: name.clone(), factor: factors[at], share: share(at) };
    names.iter().enumerate().map(constant).collect()
}

/// Returns true for a statement that says something of constants.
fn is_timed(times: &StatementTimes) -> bool {
    times.left_out.is_none() && times.measured_ms > 0.0 && times.before_ms > 0.0
}

fn equation(times: &StatementTimes, names: &[String]) -> Equation {
    let part = |name: &String| times.work.iter().find(|(of, _)| of == name).map_or(0.0, |(_, ms)| *ms);
    let parts_ms: Vec<f64> = names.iter().map(part).collect();
    let rest_ms = (times.before_ms - parts_ms.iter().sum::<f64>()).max(0.0);
    Equation { rest_ms, parts_ms, measured_ms: times.measured_ms }
}

/// The logarithm of a constant's factor with the least sum, the others being as they are.
fn least_along(equations: &[Equation], logs: &mut [f64], at: usize) -> f64 {
    let mut factors: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    let mut sum = |log: f64| {
        factors[at] = log.exp();
        let times: f64 = equations.iter().map(|equation| equation.error(&factors).powi(2)).sum();
        times + PRIOR * log * log
    };
    let (mut low, mut high) = (-FACTOR_MAX.ln(), FACTOR_MAX.ln());
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        if sum(low + third) <= sum(high - third) { high -= third } else { low += third }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(work: &[(&str, f64)], measured_ms: f64) -> StatementTimes {
        let before_ms = work.iter().map(|(_, ms)| ms).sum();
        let work = work.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
        StatementTimes { name: "s", work, measured_ms, before_ms, after_ms: 0.0, left_out: None }
    }

    fn factor(constants: &[Constant], name: &str) -> f64 {
        constants.iter().find(|of| of.name == name).unwrap().factor
    }

    #[test]
    fn constants_are_found_from_sums_of_their_work() {
        // Scans take three times as long as by default, sorts half as long, and lookups are in no statement.
        let mut all = vec![
            times(&[("scan", 2.0), ("sort", 0.0)], 6.0),
            times(&[("scan", 1.0), ("sort", 10.0)], 8.0),
            times(&[("scan", 5.0), ("sort", 2.0), ("lookup", 0.0)], 16.0),
        ];
        let found = fit(&mut all);
        assert!((factor(&found, "scan") / 3.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((factor(&found, "sort") / 0.5 - 1.0).abs() < 0.02, "{found:?}");
        assert!((factor(&found, "lookup") - 1.0).abs() < 1e-3, "{found:?}");
        assert!(found.iter().all(|of| (of.name == "lookup") == (of.share < 0.05)), "{found:?}");
        assert!(all.iter().all(|of| (of.after_ms / of.measured_ms - 1.0).abs() < 0.03), "{all:?}");
    }

    #[test]
    fn what_was_not_timed_says_nothing() {
        let mut left_out = StatementTimes { left_out: Some("another plan".into()), ..times(&[("scan", 2.0)], 99.0) };
        left_out.measured_ms = 0.0;
        let found = fit(&mut [times(&[("scan", 2.0)], 4.0), left_out, times(&[("scan", 2.0)], 0.0)]);
        assert!((factor(&found, "scan") - 2.0).abs() < 0.05, "{found:?}");
    }
}
