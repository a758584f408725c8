//! The strategies of an experiment, on a database that the lab does not trace: times, plans and rows.

use super::{
    QueriesReport, QueryOptions, QueryReport,
    measure::{MeasuredTexts, measure_texts, prepared},
    measured_host::{MeasuredHost, UNKNOWN_VARIABLE},
};
use crate::{
    Experiment,
    experiment::Strategy,
    load::LoadObserver,
    target::{Result, TargetError, TargetSession},
    tpcc::settings::Host,
};

/// Measures each strategy as if it were a query. A strategy is skipped if the database lacks a setting, and not just
/// what the setting switches off; one whose rows are others than those of the first one has an error. Plans that do not
/// show what the strategy is about are noted. Errors: those of the load; a server that does not start.
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
        let mut result = match settings(&mut measured, strategy).await {
            Ok(settings) => {
                report.notes.extend(settings.lacking);
                measured.connect_with(settings.accepted).await?;
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

/// What of a strategy's settings a database takes.
#[derive(Default)]
struct UsableSettings {
    accepted: Vec<String>,
    /// Notes about settings that are left out: without what they switch off nothing has to be switched off.
    lacking: Vec<String>,
}

/// Tries the settings on a connection of their own. Error: the database refuses one that matters.
async fn settings(measured: &mut MeasuredHost<'_>, strategy: &Strategy) -> Result<UsableSettings> {
    let mut target = measured.database().connect(None).await?;
    let mut usable = UsableSettings::default();
    for setting in strategy.settings {
        match target.query(&format!("SET {setting}")).await {
            Ok(_) => usable.accepted.push((*setting).to_owned()),
            Err(e @ TargetError::Statement { number: WRONG_VALUE, .. }) => {
                let switches = setting.strip_prefix("optimizer_switch = '").and_then(|rest| rest.strip_suffix('\''));
                for switch in switches.ok_or(e)?.split(',') {
                    let setting = format!("optimizer_switch = '{switch}'");
                    match target.query(&format!("SET {setting}")).await {
                        Ok(_) => usable.accepted.push(setting),
                        Err(TargetError::Statement { number: WRONG_VALUE, .. }) if switch.ends_with("=off") => {
                            usable.lacking.push(format!("'{}': no switch for {switch}", strategy.name));
                        }
                        Err(e) => return Err(e),
                    }
                }
            }
            // MySQL's buffer of a multi-range read is read_rnd_buffer_size, which the strategies set too.
            Err(TargetError::Statement { number: UNKNOWN_VARIABLE, .. }) if setting.starts_with("mrr_buffer_size") => {
                usable.lacking.push(format!("'{}': no variable for {setting}", strategy.name));
            }
            Err(e) => return Err(e),
        }
    }
    Ok(usable)
}

/// ER_WRONG_VALUE_FOR_VAR.
const WRONG_VALUE: u16 = 1231;

/// Sets global variables of a strategy back to their defaults.
async fn restore(measured: &mut MeasuredHost<'_>, strategy: &Strategy) -> Result<()> {
    measured.connect_with(Vec::new()).await?;
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
