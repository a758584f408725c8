//! The measurement of each query: cold runs, warm-up runs that are not counted, warm runs.

use super::{
    measured_host::MeasuredHost,
    prepare::prepare,
    report::{Digest, QueriesReport, QueryReport},
};
use crate::{
    Query, Workload,
    environment::Environment,
    load::LoadObserver,
    statistics::{Sample, Summary},
    target::{Result, TargetError},
    tpcc::settings::Host,
};
use std::time::{Duration, Instant};

/// Runs stop early only after so many.
const RUNS_MIN: usize = 3;

#[derive(Debug, Clone)]
pub struct QueryOptions {
    pub workload: Workload,
    /// The database that holds the tables.
    pub schema: String,
    pub scale: f64,
    /// Names of the queries that run; all of them if there are none.
    pub only: Vec<String>,
    /// Drop the database and load it anew.
    pub reload: bool,
    /// Leave out cold runs.
    pub warm_only: bool,
    /// A shell command that runs while a server is down, before each cold run.
    pub before_cold: Option<String>,
    /// Runs before the warm ones.
    pub warm_ups: usize,
    /// Runs stop when their coefficient of variation is not above this (three runs at least) ...
    pub cov_max: f64,
    /// ... or after so many runs ...
    pub runs_max: usize,
    /// ... or after this time, per query, cold and warm each.
    pub time_max: Duration,
    /// The longest time of one run.
    pub timeout: Duration,
}

/// Loads the data unless they are there, and measures the queries. A query that fails has its error in the report, and
/// the others go on. `told` is given a line for each query. Errors: those of the load; a query that there is not; a
/// server that does not start.
pub async fn measure(
    host: &Host,
    options: &QueryOptions,
    observer: &dyn LoadObserver,
    told: &dyn Fn(&QueryReport),
) -> Result<QueriesReport> {
    let queries = chosen(options)?;
    let (mut measured, mut report, cold) = prepared(host, options, observer).await?;
    for query in queries {
        let texts = vec![query.sql.trim().trim_end_matches(';').to_owned()];
        let texts = MeasuredTexts { name: query.name, texts };
        let query = measure_texts(&mut measured, &texts, options, cold).await?;
        told(&query);
        report.queries.push(query);
    }
    measured.stop().await?;
    Ok(report)
}

/// The database with its data, a report without queries, and whether there are to be cold runs.
pub(super) async fn prepared<'a>(
    host: &'a Host,
    options: &QueryOptions,
    observer: &dyn LoadObserver,
) -> Result<(MeasuredHost<'a>, QueriesReport, bool)> {
    let data = options.workload.data_set(options.scale).map_err(|e| TargetError::Answer(e.to_string()))?;
    let measured = MeasuredHost::start(host, &options.schema, options.timeout).await?;
    prepare(measured.database(), &options.schema, &data, options.reload, observer).await?;
    let environment = Environment::of(&mut measured.database().connect(None).await?).await?;
    let mut report = QueriesReport::new(options, host.shown(), environment);
    let cold = !options.warm_only && measured.can_go_cold();
    if !options.warm_only && !cold {
        report.notes.push("no cold runs: the server was not started by this process".into());
    }
    let loads_pool = report.environment.settings.get("innodb_buffer_pool_load_at_startup");
    if cold && matches!(host, Host::Command { .. }) && loads_pool.is_some_and(|value| value == "ON") {
        report
            .notes
            .push("innodb_buffer_pool_load_at_startup is ON: cold runs may find pages of an earlier run".into());
    }
    Ok((measured, report, cold))
}

fn chosen(options: &QueryOptions) -> Result<Vec<&'static Query>> {
    let all = options.workload.queries();
    if let Some(unknown) = options.only.iter().find(|name| all.iter().all(|query| query.name != name.as_str())) {
        let names: Vec<&str> = all.iter().map(|query| query.name).collect();
        return Err(TargetError::Answer(format!("no query '{unknown}': there are {}", names.join(", "))));
    }
    Ok(all.iter().filter(|query| options.only.is_empty() || options.only.iter().any(|n| n == query.name)).collect())
}

/// Texts that run one after the other, as one measurement.
pub(super) struct MeasuredTexts {
    pub name: &'static str,
    /// Without final semicolons.
    pub texts: Vec<String>,
}

/// Errors: only those after which no other query can run.
pub(super) async fn measure_texts(
    host: &mut MeasuredHost<'_>,
    measured: &MeasuredTexts,
    options: &QueryOptions,
    cold: bool,
) -> Result<QueryReport> {
    let mut report = QueryReport::new(measured.name);
    match times(host, &measured.texts, options, cold, &mut report).await {
        Ok(()) => {}
        Err(e @ TargetError::Connection(_)) => {
            // A query that ends the connection is its own fault if there can be another one.
            host.target().await?;
            report.error = Some(e.to_string());
        }
        Err(e) => report.error = Some(e.to_string()),
    }
    Ok(report)
}

async fn times(
    host: &mut MeasuredHost<'_>,
    texts: &[String],
    options: &QueryOptions,
    cold: bool,
    report: &mut QueryReport,
) -> Result<()> {
    if let Some(first) = texts.first() {
        report.plan = plan(host, first).await?;
    }
    if cold {
        report.cold_ms = Some(repeated(host, texts, options, true, report).await?);
    }
    for _ in 0..options.warm_ups {
        once(host, texts, report).await?;
    }
    report.warm_ms = repeated(host, texts, options, false, report).await?;
    Ok(())
}

/// EXPLAIN FORMAT=TREE, or the traditional table where there is no such format.
async fn plan(host: &mut MeasuredHost<'_>, sql: &str) -> Result<String> {
    let answer = match host.query(&format!("EXPLAIN FORMAT=TREE {sql}")).await {
        Err(TargetError::Statement { .. }) => host.query(&format!("EXPLAIN {sql}")).await?,
        answer => answer?,
    };
    let line = |row: Vec<Option<String>>| row.into_iter().map(|cell| cell.unwrap_or("NULL".into())).collect::<Vec<_>>();
    Ok(answer.texts().into_iter().map(|row| line(row).join("\t")).collect::<Vec<_>>().join("\n"))
}

/// Runs until times agree.
async fn repeated(
    host: &mut MeasuredHost<'_>,
    texts: &[String],
    options: &QueryOptions,
    cold: bool,
    report: &mut QueryReport,
) -> Result<Summary> {
    let (mut sample, began) = (Sample::default(), Instant::now());
    loop {
        if cold {
            host.go_cold(options.before_cold.as_deref()).await?;
        }
        sample.add(once(host, texts, report).await?);
        let summary = sample.summary();
        let agree = summary.runs >= RUNS_MIN && summary.cov <= options.cov_max;
        if agree || summary.runs >= options.runs_max || began.elapsed() >= options.time_max {
            return Ok(summary);
        }
    }
}

/// The milliseconds until all rows have come. Error: they are others than those of the run before.
async fn once(host: &mut MeasuredHost<'_>, texts: &[String], report: &mut QueryReport) -> Result<f64> {
    let (since, mut answers) = (Instant::now(), Vec::new());
    for text in texts {
        answers.push(host.query(text).await?);
    }
    let ms = since.elapsed().as_secs_f64() * 1e3;
    let digest = Digest::of(answers.iter().map(|answer| answer.texts()).collect());
    match &report.rows {
        None => report.rows = Some(digest),
        Some(before) if *before == digest => {}
        Some(_) => return Err(TargetError::Answer("the query gives other rows when run again".into())),
    }
    Ok(ms)
}
