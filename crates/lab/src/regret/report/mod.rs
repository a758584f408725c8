//! The figures of a run, and their presentation: as a table, as JSON, as a chart.

pub mod svg;
pub mod table;

use super::Regime;
use serde::Serialize;

/// A data set in its regimes.
#[derive(Debug, Clone, Serialize)]
pub struct RegretReport {
    pub data: &'static str,
    pub scale: f64,
    pub threads: usize,
    pub regimes: Vec<RegimeReport>,
}

/// All queries in one regime.
#[derive(Debug, Clone, Serialize)]
pub struct RegimeReport {
    pub regime: Regime,
    pub data_bytes: u64,
    pub pool_bytes: usize,
    pub queries: Vec<QueryReport>,
}

/// One query.
#[derive(Debug, Clone, Serialize)]
pub struct QueryReport {
    pub query: &'static str,
    /// Milliseconds of the plan that the optimizer chose, in the duel with the best one.
    pub chosen_ms: f64,
    /// Milliseconds of the best plan; those of the chosen one if none is faster.
    pub best_ms: f64,
    /// The hints that force the best plan; empty if it is the chosen one.
    pub best_hints: String,
    /// EXPLAIN FORMAT=TREE of the chosen plan.
    pub chosen_tree: String,
    /// EXPLAIN FORMAT=TREE of the best plan.
    pub best_tree: String,
    /// All plans, the chosen one first.
    pub plans: Vec<PlanReport>,
    /// The number of candidates.
    pub explained: usize,
    /// The number of candidates whose plan was another one's.
    pub same: usize,
    /// Candidates that the optimizer did not follow.
    pub not_followed: Vec<String>,
    /// Hints of plans whose rows were not those of the chosen plan.
    pub wrong: Vec<String>,
    /// Hints of plans that ended with an error, and the error.
    pub failed: Vec<String>,
}

/// One plan.
#[derive(Debug, Clone, Serialize)]
pub struct PlanReport {
    pub hints: String,
    /// The optimizer's estimate in milliseconds.
    pub estimate_ms: f64,
    /// The least time; none for a plan that was cut or failed.
    pub ms: Option<f64>,
    pub runs: usize,
    /// Milliseconds after which the plan was stopped.
    pub cut_ms: Option<f64>,
}

impl QueryReport {
    /// The time of the chosen plan in times of the best one, 1 or more.
    pub fn regret(&self) -> f64 {
        if self.best_ms > 0.0 { self.chosen_ms / self.best_ms } else { 1.0 }
    }

    /// The number of plans that were cut.
    pub fn cut(&self) -> usize {
        self.plans.iter().filter(|p| p.cut_ms.is_some()).count()
    }
}

impl RegimeReport {
    /// The sum of the chosen plans' times in sums of the best ones'.
    pub fn regret(&self) -> f64 {
        let sum = |of: fn(&QueryReport) -> f64| self.queries.iter().map(of).sum::<f64>();
        let best = sum(|q| q.best_ms);
        if best > 0.0 { sum(|q| q.chosen_ms) / best } else { 1.0 }
    }

    /// The queries, the greatest regret first.
    pub fn worst_first(&self) -> Vec<&QueryReport> {
        let mut queries: Vec<&QueryReport> = self.queries.iter().collect();
        queries.sort_by(|a, b| b.regret().total_cmp(&a.regret()));
        queries
    }
}

impl RegretReport {
    /// The number of plans that gave other rows.
    pub fn wrong(&self) -> usize {
        self.regimes.iter().flat_map(|r| &r.queries).map(|q| q.wrong.len()).sum()
    }
}

/// Indented JSON of all reports, with a line end.
pub fn json(reports: &[RegretReport]) -> String {
    serde_json::to_string_pretty(reports).expect("reports have text keys and finite numbers") + "\n"
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    fn query(query: &'static str, chosen_ms: f64, best_ms: f64) -> QueryReport {
        let hints = if best_ms < chosen_ms { "BKA(t@select#1)" } else { "" };
        let plan = |hints: &str, ms: Option<f64>| PlanReport {
            hints: hints.into(),
            estimate_ms: 7.5,
            ms,
            runs: 3,
            cut_ms: ms.is_none().then_some(10.0 * best_ms),
        };
        QueryReport {
            query,
            chosen_ms,
            best_ms,
            best_hints: hints.into(),
            chosen_tree: "-> Table scan on t".into(),
            best_tree: "-> Index lookup on t".into(),
            plans: vec![
                plan("", Some(chosen_ms)),
                plan("BKA(t@select#1)", Some(best_ms)),
                plan("BNL(t@select#1)", None),
            ],
            explained: 5,
            same: 2,
            not_followed: vec!["INDEX(t@select#1 i)".into()],
            wrong: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// One regime: 10 / 10, 60 / 20 and 30 / 20 ms.
    pub fn report() -> RegretReport {
        let queries = vec![query("q01", 10.0, 10.0), query("q02", 60.0, 20.0), query("q<3>", 30.0, 20.0)];
        let regime = RegimeReport { regime: Regime::TenthCold, data_bytes: 100 << 20, pool_bytes: 10 << 20, queries };
        RegretReport { data: "dbt3", scale: 0.1, threads: 2, regimes: vec![regime] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_of_queries_and_of_all() {
        let report = fixture::report();
        let regime = &report.regimes[0];
        assert_eq!(regime.regret(), 2.0);
        let worst: Vec<(&str, f64)> = regime.worst_first().iter().map(|q| (q.query, q.regret())).collect();
        assert_eq!(worst, [("q02", 3.0), ("q<3>", 1.5), ("q01", 1.0)]);
        assert_eq!((regime.queries[0].cut(), report.wrong()), (1, 0));
    }

    #[test]
    fn json_has_all_figures() {
        let read: serde_json::Value = serde_json::from_str(&json(&[fixture::report()])).expect("it is JSON");
        let regime = &read[0]["regimes"][0];
        assert_eq!(regime["regime"], "tenth-cold");
        let query = &regime["queries"][1];
        assert_eq!((&query["query"], query["best_ms"].as_f64()), (&"q02".into(), Some(20.0)));
        assert_eq!(
            (&query["plans"][2]["ms"], query["plans"][2]["cut_ms"].as_f64()),
            (&serde_json::Value::Null, Some(200.0))
        );
        assert_eq!(query["not_followed"][0], "INDEX(t@select#1 i)");
    }
}
