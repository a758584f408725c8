//! Runs the plans of all queries of a data set in a regime.

use super::{
    Regime, Subject,
    blocks::blocks,
    forced::{Indexes, candidates},
    plans::{self, Plan, Plans},
    race::Race,
    report::{PlanReport, QueryReport, RegimeReport},
};
use crate::{
    Query,
    load::{LoadObserver, Quiet},
    runner::{Lab, ResultRows, data_bytes, empty_pool, once, preload, rows_of, session},
};
use muster_engine::{
    Database, Session,
    types::{ErrorCode, Result, SqlError},
};
use std::sync::Arc;

/// Candidates that are explained for a query at most.
const CANDIDATES_MAX: usize = 1000;

/// What is tried.
#[derive(Debug, Clone)]
pub struct RegretOptions {
    pub subject: Subject,
    /// Names of queries; empty for all.
    pub queries: Vec<String>,
    /// Forced plans of a query at most.
    pub plans_max: usize,
}

/// Follows a run.
pub trait RegretObserver: LoadObserver {
    fn query_finished(&self, regime: Regime, report: &QueryReport);
}

impl RegretObserver for Quiet {
    fn query_finished(&self, _: Regime, _: &QueryReport) {}
}

impl Lab {
    /// Runs a prepared data set's queries in a regime.
    pub async fn regret(
        &self,
        options: &RegretOptions,
        regime: Regime,
        observer: &dyn RegretObserver,
    ) -> Result<RegimeReport> {
        let data = options
            .subject
            .data_set(self.scale())
            .map_err(|e| SqlError::new(ErrorCode::WrongArguments, e.to_string()))?;
        let bytes = {
            let (database, _) = self.open(Regime::TenthCold.pool_bytes(0))?;
            data_bytes(&mut session(&database), data.name).await?
        };
        let pool_bytes = regime.pool_bytes(bytes);
        let (database, _) = self.open(pool_bytes)?;
        let mut session = session(&database);
        session.use_database(data.name)?;
        let indexes = indexes(&mut session, data.name).await?;
        if regime == Regime::Memory {
            preload(&mut session, data.name).await?;
        }
        let mut report = RegimeReport { regime, data_bytes: bytes, pool_bytes, queries: Vec::new() };
        let wanted = |q: &&Query| options.queries.is_empty() || options.queries.iter().any(|name| name == q.name);
        for query in options.subject.queries().iter().filter(wanted) {
            let forced = candidates(&blocks(query.sql), &indexes, CANDIDATES_MAX);
            if regime.is_cold() {
                // Plans depend on what is in the pool.
                empty_pool(&database).await?;
            }
            let found = plans::find(&mut session, query.sql, &forced, options.plans_max).await?;
            let mut track = Track {
                database: &database,
                session: &mut session,
                regime,
                expected: None,
                wrong: Vec::new(),
                failed: Vec::new(),
            };
            let race = track.race(&found.plans).await?;
            let (wrong, failed) = (track.wrong, track.failed);
            report.queries.push(query_report(query, found, &race, wrong, failed));
            if let Some(last) = report.queries.last() {
                observer.query_finished(regime, last);
            }
        }
        Ok(report)
    }
}

/// The indexes of a database's tables.
async fn indexes(session: &mut Session, database: &str) -> Result<Indexes> {
    let sql = format!(
        "SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE table_schema = '{database}' ORDER BY 1, 2"
    );
    let mut indexes = Indexes::new();
    for row in rows_of(session, &sql).await? {
        let [Some(table), Some(index)] = row.as_slice() else { continue };
        indexes.entry(table.clone()).or_default().push(index.clone());
    }
    Ok(indexes)
}

/// Where the plans of one query run.
struct Track<'a> {
    database: &'a Arc<Database>,
    session: &'a mut Session,
    regime: Regime,
    /// The rows of the chosen plan.
    expected: Option<ResultRows>,
    /// Hints of plans that gave other rows.
    wrong: Vec<String>,
    /// Hints of plans that ended with an error, and the error.
    failed: Vec<String>,
}

impl Track<'_> {
    async fn race(&mut self, plans: &[Plan]) -> Result<Race> {
        let mut race = Race::new(plans.len());
        for (i, plan) in plans.iter().enumerate() {
            match self.time(plan, race.limit_ms(i)).await? {
                Some(ms) => race.plans[i].ms.push(ms),
                None => race.plans[i].cut_ms = race.limit_ms(i),
            }
        }
        for _ in 0..race.rounds() {
            for i in race.near() {
                if let Some(ms) = self.time(&plans[i], None).await? {
                    race.plans[i].ms.push(ms);
                }
            }
        }
        let rivals = match race.best() {
            0 => race.near().get(1).copied(),
            best => Some(best),
        };
        for _ in 0..race.rounds() {
            for i in [0].into_iter().chain(rivals) {
                if let Some(ms) = self.time(&plans[i], None).await? {
                    race.plans[i].duel_ms.push(ms);
                }
            }
        }
        Ok(race)
    }

    /// The milliseconds of a run; `None` if it took longer than the limit or failed. Errors: those of the chosen plan.
    async fn time(&mut self, plan: &Plan, limit_ms: Option<f64>) -> Result<Option<f64>> {
        if self.regime.is_cold() {
            empty_pool(self.database).await?;
        }
        let limit = limit_ms.map_or(0, |ms| ms.ceil() as u64);
        self.session.query(&format!("SET max_execution_time = {limit}")).await?;
        let texts = [plan.text.clone()];
        if self.regime == Regime::TenthWarm
            && once(self.session, &texts).await.is_err_and(|e| e.code == ErrorCode::QueryTimeout)
        {
            return Ok(None);
        }
        let run = match once(self.session, &texts).await {
            Ok(run) => run,
            Err(e) if limit_ms.is_some() && e.code == ErrorCode::QueryTimeout => return Ok(None),
            Err(e) if !plan.hints.is_empty() => {
                self.failed.push(format!("{}: {e}", plan.hints));
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        match &self.expected {
            None => self.expected = Some(run.rows),
            Some(expected) if *expected == run.rows => {}
            Some(_) if self.wrong.contains(&plan.hints) => {}
            Some(_) => self.wrong.push(plan.hints.clone()),
        }
        Ok(Some(run.ms))
    }
}

fn query_report(query: &Query, found: Plans, race: &Race, wrong: Vec<String>, failed: Vec<String>) -> QueryReport {
    let outcome = race.outcome();
    let best = &found.plans[outcome.best];
    let finite = |ms: f64| ms.is_finite().then_some(ms);
    let plan = |(plan, times): (&Plan, &super::race::Times)| PlanReport {
        hints: plan.hints.clone(),
        estimate_ms: plan.estimate_ms,
        ms: finite(times.least()),
        runs: times.ms.len() + times.duel_ms.len(),
        cut_ms: times.cut_ms,
    };
    QueryReport {
        query: query.name,
        chosen_ms: outcome.chosen_ms,
        best_ms: outcome.best_ms,
        best_hints: best.hints.clone(),
        chosen_tree: found.plans[0].tree.clone(),
        best_tree: best.tree.clone(),
        plans: found.plans.iter().zip(&race.plans).map(plan).collect(),
        explained: found.explained,
        same: found.same,
        not_followed: found.not_followed,
        wrong,
        failed,
    }
}
