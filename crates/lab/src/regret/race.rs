//! The order in which the plans of a query run, and for how long: decisions only, so that tests can make up times.
//!
//! ```text
//!   heat      each plan once, the chosen one first; one that takes ten times the best so far is cut
//!   rounds    the chosen plan and those near the best take turns
//!   duel      the chosen plan and the best one take turns; only these runs make the regret
//! ```
//!
//! The duel is there because the least of forty noisy times is lower than the least of any one plan's: without it, a
//! query whose plans are all alike would have a regret.

/// A forced plan is cut when it takes so many times the best time so far ...
const CUT: f64 = 10.0;
/// ... but not before so many milliseconds.
const CUT_MIN_MS: f64 = 20.0;
/// Plans whose first time is within this factor of the best run again, the best ones first.
const NEAR: f64 = 1.5;
const NEAR_MAX: usize = 6;
/// All runs of one plan in the rounds, and again in the duel, take about so many milliseconds.
const TIME_MS: f64 = 300.0;
const RUNS_MIN: f64 = 2.0;
const RUNS_MAX: f64 = 15.0;

/// The times of one plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub ms: Vec<f64>,
    /// The plan was stopped after so many milliseconds.
    pub cut_ms: Option<f64>,
    /// Times of the duel.
    pub duel_ms: Vec<f64>,
}

impl Times {
    /// The least time; infinite for a plan that has not run to its end.
    pub fn least(&self) -> f64 {
        self.ms.iter().chain(&self.duel_ms).copied().fold(f64::INFINITY, f64::min)
    }

    fn least_of_duel(&self) -> f64 {
        self.duel_ms.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// All plans of one query; the first one is the chosen one.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    pub plans: Vec<Times>,
}

/// The outcome of a race.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub chosen_ms: f64,
    pub best_ms: f64,
    /// The place of the best plan.
    pub best: usize,
}

impl Race {
    pub fn new(plans: usize) -> Race {
        Race { plans: vec![Times::default(); plans] }
    }

    /// The plan with the least time so far.
    pub fn best(&self) -> usize {
        let least = |i: &usize| self.plans[*i].least();
        (0..self.plans.len()).min_by(|a, b| least(a).total_cmp(&least(b))).unwrap_or(0)
    }

    fn best_ms(&self) -> f64 {
        self.plans.get(self.best()).map_or(f64::INFINITY, Times::least)
    }

    /// Milliseconds after which a plan is to be stopped. The chosen plan never is.
    pub fn limit_ms(&self, plan: usize) -> Option<f64> {
        let limit = (self.best_ms() * CUT).max(CUT_MIN_MS);
        (plan > 0 && limit.is_finite()).then_some(limit)
    }

    /// The number of rounds after the heat, and of the duel.
    pub fn rounds(&self) -> usize {
        (TIME_MS / self.best_ms().max(1e-3)).clamp(RUNS_MIN, RUNS_MAX) as usize
    }

    /// The plans of a round: the chosen one, and the nearest to the best.
    pub fn near(&self) -> Vec<usize> {
        let limit = self.best_ms() * NEAR;
        let mut near: Vec<usize> = (1..self.plans.len()).filter(|i| self.plans[*i].least() <= limit).collect();
        near.sort_by(|a, b| self.plans[*a].least().total_cmp(&self.plans[*b].least()));
        near.truncate(NEAR_MAX);
        [0].into_iter().chain(near).collect()
    }

    /// The chosen plan against the best of the others in the duel, or alone if no other is as fast.
    pub fn outcome(&self) -> Outcome {
        let chosen_ms = match self.plans[0].least_of_duel() {
            ms if ms.is_finite() => ms,
            _ => self.plans[0].least(),
        };
        let duel = |i: usize| self.plans[i].least_of_duel();
        let best = (1..self.plans.len()).min_by(|a, b| duel(*a).total_cmp(&duel(*b))).filter(|i| duel(*i) < chosen_ms);
        Outcome { chosen_ms, best_ms: best.map_or(chosen_ms, duel), best: best.unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(times: &[&[f64]]) -> Race {
        Race { plans: times.iter().map(|ms| Times { ms: ms.to_vec(), ..Times::default() }).collect() }
    }

    #[test]
    fn a_plan_is_cut_at_ten_times_the_best() {
        let long = race(&[&[100.0], &[30.0, 25.0], &[]]);
        assert_eq!((long.best(), long.limit_ms(2), long.limit_ms(0)), (1, Some(250.0), None));
        let short = race(&[&[0.5], &[]]);
        assert_eq!(short.limit_ms(1), Some(CUT_MIN_MS));
        assert_eq!(Race::new(2).limit_ms(1), None);
    }

    #[test]
    fn short_queries_run_more_often() {
        let rounds = |ms| race(&[&[ms]]).rounds();
        assert_eq!([0.1, 100.0, 5000.0].map(rounds), [15, 3, 2]);
    }

    #[test]
    fn only_near_plans_run_again_and_the_chosen_one_always() {
        assert_eq!(race(&[&[100.0], &[20.0], &[31.0], &[10.0], &[15.0], &[]]).near(), [0, 3, 4]);
        let many: Vec<&[f64]> = vec![&[1.0][..]; 20];
        assert_eq!(race(&many).near().len(), 1 + NEAR_MAX);
    }

    #[test]
    fn the_duel_alone_makes_the_regret() {
        let mut race = race(&[&[100.0], &[60.0], &[90.0]]);
        assert_eq!(race.outcome(), Outcome { chosen_ms: 100.0, best_ms: 100.0, best: 0 });
        race.plans[0].duel_ms = vec![99.0, 90.0];
        race.plans[1].duel_ms = vec![75.0, 76.0];
        assert_eq!(race.outcome(), Outcome { chosen_ms: 90.0, best_ms: 75.0, best: 1 });
        race.plans[1].duel_ms = vec![95.0];
        assert_eq!(race.outcome(), Outcome { chosen_ms: 90.0, best_ms: 90.0, best: 0 });
    }
}
