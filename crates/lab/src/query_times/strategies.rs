//! The strategies of an experiment, on a database that the lab does not trace: times, plans and rows.

use super::{
    QueriesReport, QueryOptions, QueryReport,
    measure::{MeasuredTexts, measure_texts, prepared},
    measured_host::MeasuredHost,
};
use crate::{
    Experiment,
    experiment::Strategy,
    load::LoadObserver,
    target::{Result, Target, TargetError},
    tpcc::settings::Host,
};

/// Measures each strategy as if it were a query. A strategy with settings that the database lacks is skipped; one whose
/// rows are others than those of the first one has an error. Plans that do not show what the strategy is about are
/// noted. Errors: those of the load; a server that does not start.
pub async fn measure_experiment(
    host: &Host,
    experiment: &Experiment,
    options: &QueryOptions,
    observer: &dyn LoadObserver,
    told: &dyn Fn(&QueryReport),
) -> Result<QueriesReport> {
    let options = QueryOptions { workload: experiment.workload, ..options.clone() };
    let (mut measured, mut report, cold) = prepared(host, &options, observer).await?;
    report.experiment = Some(experiment.name);
    for strategy in experiment.strategies {
        let mut result = match measured.connect_with(strategy.settings).await {
            Ok(()) => {
                let texts = MeasuredTexts { name: strategy.name, texts: experiment.texts(strategy) };
                measure_texts(&mut measured, &texts, &options, cold).await?
            }
            Err(e @ TargetError::Statement { .. }) => {
                QueryReport { skipped: Some(e.to_string()), ..QueryReport::new(strategy.name) }
            }
            Err(e) => return Err(e),
        };
        restore(&mut measured, strategy).await?;
        compare(&report, &mut result);
        report.notes.extend(remarks(strategy, &result));
        told(&result);
        report.queries.push(result);
    }
    measured.stop().await?;
    Ok(report)
}

/// Sets global variables of a strategy back to their defaults.
async fn restore(measured: &mut MeasuredHost<'_>, strategy: &Strategy) -> Result<()> {
    measured.connect_with(&[]).await?;
    for setting in strategy.settings.iter().filter_map(|setting| setting.strip_prefix("global ")) {
        let name = setting.split('=').next().unwrap_or(setting).trim();
        match measured.target().await?.query(&format!("SET GLOBAL {name} = DEFAULT")).await {
            Ok(_) | Err(TargetError::Statement { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// All strategies must give the same rows.
fn compare(report: &QueriesReport, result: &mut QueryReport) {
    let Some(first) = report.queries.iter().find(|query| query.rows.is_some()) else { return };
    if result.rows.is_some() && result.rows != first.rows && result.error.is_none() {
        result.error = Some(format!("other rows than '{}'", first.name));
    }
}

fn remarks(strategy: &Strategy, result: &QueryReport) -> Vec<String> {
    if result.plan.is_empty() {
        return Vec::new();
    }
    let missing = strategy.shows.iter().filter(|part| !result.plan.contains(**part));
    let surplus = strategy.lacks.iter().filter(|part| result.plan.contains(**part));
    let missing = missing.map(|part| format!("'{}': the plan does not show '{part}'", strategy.name));
    missing.chain(surplus.map(|part| format!("'{}': the plan shows '{part}'", strategy.name))).collect()
}
