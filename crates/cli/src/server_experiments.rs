//! `muster lab EXPERIMENT --server URL`: experiments on a server, whose reads nothing records.

use crate::{files, lab::Arguments, print::print, progress::LoadBars, queries::told};
use anyhow::bail;
use muster_lab::{
    Experiment,
    query_times::{QueriesReport, QueryOptions, chart, measure_experiment, text},
    tpcc::settings::Host,
};
use std::time::Duration;

/// The longest time of one run of a strategy.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Runs the experiments one by one. Errors: those of loads; strategies with errors, after all have run.
pub async fn run(arguments: &Arguments, host: &Host, experiments: &[&Experiment]) -> anyhow::Result<()> {
    let mut reports = Vec::new();
    for experiment in experiments {
        eprintln!("{}: {}", experiment.name, experiment.title);
        let schema = arguments.server.database().unwrap_or(experiment.workload.name());
        let options = QueryOptions {
            workload: experiment.workload,
            schema: schema.to_owned(),
            scale: arguments.scale,
            only: Vec::new(),
            reload: false,
            warm_only: false,
            before_cold: arguments.server.before_cold.clone(),
            warm_ups: 1,
            cov_max: arguments.cov / 100.0,
            runs_max: arguments.runs.max(1),
            time_max: Duration::from_secs_f64(arguments.seconds),
            timeout: TIMEOUT,
        };
        let report = measure_experiment(host, experiment, &options, &LoadBars::new(schema), &told).await?;
        print(text(&report))?;
        reports.push(report);
        // After each, so that what ran is not lost with what did not.
        save(arguments, &reports)?;
    }
    if !reports.iter().all(QueriesReport::is_clean) {
        bail!("not all strategies ran as they should");
    }
    Ok(())
}

fn save(arguments: &Arguments, reports: &[QueriesReport]) -> anyhow::Result<()> {
    files::write_json(arguments.json.as_deref(), reports)?;
    if let Some(path) = &arguments.svg {
        files::write(path, chart::stacked(reports))?;
    }
    Ok(())
}
