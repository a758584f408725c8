//! Times as text for a terminal.

use super::{QueriesReport, QueryReport};
use crate::{
    Experiment,
    report::table::{new_table, number},
    statistics::Summary,
};
use std::fmt::Write;

/// Several lines, with a line end.
pub fn text(report: &QueriesReport) -> String {
    let mut out = String::new();
    let environment = &report.environment;
    // Writing to a String cannot fail.
    if let Some(experiment) = report.experiment.and_then(Experiment::find) {
        let _ = writeln!(out, "{}: {}", experiment.name, experiment.title);
    }
    let _ = writeln!(out, "{} at scale {}, on {}", report.workload, report.scale, report.database);
    let addresses = match environment.randomized_addresses {
        Some(true) => "randomized addresses",
        Some(false) => "fixed addresses",
        None => "addresses unknown",
    };
    let _ = writeln!(out, "{}; {} processors, {addresses}", environment.version, environment.processors);
    let settings: Vec<String> = environment.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let _ = writeln!(out, "{}\n", settings.join(", "));
    let columns = ["", "cold ms", "CoV", "runs", "warm ms", "CoV", "runs", "rows", "rows' hash"];
    let mut table = new_table(columns.map(str::to_owned).to_vec());
    table.add_rows(report.queries.iter().map(cells));
    for (title, value) in [("sum", 0), ("geometric mean", 1)] {
        let of = |total: Option<(f64, f64)>| total.map_or("-".into(), |t| number([t.0, t.1][value]));
        let (cold, warm) = (of(report.total(|q| q.cold_ms)), of(report.total(|q| Some(q.warm_ms))));
        let empty = String::new;
        let row = [title.to_owned(), cold, empty(), empty(), warm, empty(), empty(), empty(), empty()];
        table.add_row(row);
    }
    let _ = writeln!(out, "{table}");
    for query in &report.queries {
        if let Some(reason) = &query.skipped {
            let _ = writeln!(out, "'{}' was skipped: {reason}", query.name);
        }
        if let Some(error) = &query.error {
            let _ = writeln!(out, "{} failed: {error}", query.name);
        }
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn cells(query: &QueryReport) -> [String; 9] {
    let [cold, cold_cov, cold_runs] = times(query.cold_ms);
    let [warm, warm_cov, warm_runs] = times(Some(query.warm_ms));
    let (rows, hash) = query.rows.as_ref().map_or_else(Default::default, |r| (r.count.to_string(), r.hash.clone()));
    [query.name.to_owned(), cold, cold_cov, cold_runs, warm, warm_cov, warm_runs, rows, hash]
}

/// Median, coefficient of variation, runs.
fn times(summary: Option<Summary>) -> [String; 3] {
    match summary.filter(|summary| summary.runs > 0) {
        Some(s) => [number(s.median), format!("{:.1} %", s.cov * 100.0), s.runs.to_string()],
        None => ["-".into(), "-".into(), "-".into()],
    }
}
