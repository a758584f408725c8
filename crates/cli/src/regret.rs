//! `muster lab regret`: the chosen plan of each query against plans that hints force.

use crate::{files, print::print, progress::LoadBars, size::Size};
use anyhow::bail;
use muster_engine::LoadProgress;
use muster_lab::{
    DataTable, Lab, Options,
    load::LoadObserver,
    regret::{
        Regime, RegretObserver, RegretOptions, RegretReport, Subject,
        report::{QueryReport, json, svg::svg, table::table},
    },
};
use std::{path::PathBuf, sync::Arc, time::Duration};

#[derive(clap::Args)]
pub struct Arguments {
    /// Data and queries: dbt3, ssb, articles, dbt3-skewed; all of them unless named
    data: Vec<String>,
    /// The data directory; data that are not in it are loaded
    #[arg(long, default_value = "./muster-lab")]
    dir: PathBuf,
    /// Scale factor of the data
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Only these queries (q17)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    query: Vec<String>,
    /// Only these of memory, fits-cold, tenth-cold and tenth-warm
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    regime: Vec<String>,
    /// Forced plans of one query at most
    #[arg(long, default_value_t = 40)]
    plans: usize,
    /// Memory for queries, beside the pool
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory_limit: Size,
    /// Size of a page when the directory is made, 4K to 64K
    #[arg(long, default_value = "16K", value_name = "SIZE")]
    page_size: Size,
    /// Threads of one query; the process keeps to as many processors
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Save the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Save the results as a chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let names = |list: &[String], all: &[&str], what: &str| -> anyhow::Result<Vec<String>> {
        match list.iter().find(|name| !all.contains(&name.as_str())) {
            Some(unknown) => bail!("no {what} '{unknown}': there are {}", all.join(", ")),
            None if list.is_empty() => Ok(all.iter().map(|name| (*name).to_owned()).collect()),
            None => Ok(list.to_vec()),
        }
    };
    let subjects = names(&arguments.data, &Subject::ALL.map(Subject::name), "data")?;
    let regimes = names(&arguments.regime, &Regime::ALL.map(Regime::name), "regime")?;
    let lab = Lab::new(Options {
        directory: arguments.dir.clone(),
        scale: arguments.scale,
        pool_bytes: None,
        memory_limit_bytes: arguments.memory_limit.0,
        page_size: arguments.page_size.0,
        threads: arguments.threads.clamp(1, 256),
        preload: false,
        cov_max: 0.0,
        runs_max: 1,
        time_max: Duration::ZERO,
    });
    let mut reports: Vec<RegretReport> = Vec::new();
    for subject in subjects.iter().filter_map(|name| Subject::from_name(name)) {
        let progress = Progress(LoadBars::new(subject.name()));
        lab.prepare_data(subject.data_set(arguments.scale), &progress).await?;
        reports.push(RegretReport {
            data: subject.name(),
            scale: arguments.scale,
            threads: arguments.threads.clamp(1, 256),
            regimes: Vec::new(),
        });
        let options = RegretOptions { subject, queries: arguments.query.clone(), plans_max: arguments.plans };
        for regime in regimes.iter().filter_map(|name| Regime::from_name(name)) {
            let measured = lab.regret(&options, regime, &progress).await?;
            if let Some(report) = reports.last_mut() {
                report.regimes.push(measured);
            }
            // After each, so that what ran is not lost with what did not.
            save(&arguments, &reports)?;
        }
    }
    for report in &reports {
        print(table(report))?;
    }
    match reports.iter().map(RegretReport::wrong).sum::<usize>() {
        0 => Ok(()),
        1 => bail!("WRONG RESULT: 1 plan gave other rows than the chosen one"),
        n => bail!("WRONG RESULTS: {n} plans gave other rows than the chosen ones"),
    }
}

fn save(arguments: &Arguments, reports: &[RegretReport]) -> anyhow::Result<()> {
    for (path, text) in [(&arguments.json, json as fn(&[RegretReport]) -> String), (&arguments.svg, svg)] {
        if let Some(path) = path {
            files::write(path, text(reports))?;
        }
    }
    Ok(())
}

/// Loads show bars; queries tell on standard error that they are done.
struct Progress(LoadBars);

impl LoadObserver for Progress {
    fn table_started(&self, table: &DataTable, progress: Arc<LoadProgress>) {
        self.0.table_started(table, progress);
    }

    fn table_finished(&self, table: &DataTable, rows: u64) {
        self.0.table_finished(table, rows);
    }
}

impl RegretObserver for Progress {
    fn query_finished(&self, regime: Regime, q: &QueryReport) {
        let (name, regret, plans) = (regime.name(), q.regret(), q.plans.len());
        eprintln!(
            "  {name:10} {:20} {:9.1} / {:9.1} ms = {regret:5.2}, {plans} plans",
            q.query, q.chosen_ms, q.best_ms
        );
    }
}
