//! The report as text: a line for each regime, then its queries, the greatest regret first.

use super::{RegimeReport, RegretReport};
use crate::report::table::{new_table, number};
use std::fmt::Write;

/// All regimes of a data set, with what went wrong.
pub fn table(report: &RegretReport) -> String {
    let mut out = String::new();
    let RegretReport { data, scale, threads, .. } = report;
    for regime in &report.regimes {
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let (pool, bytes) = (mib(regime.pool_bytes as f64), mib(regime.data_bytes as f64));
        let name = regime.regime.name();
        let _ = writeln!(
            out,
            "{data} at scale {scale}, {name}: pool {pool:.0} MiB, data {bytes:.0} MiB, threads {threads}"
        );
        let _ = writeln!(out, "regret of all queries: {:.2}", regime.regret());
        let _ = writeln!(out, "{}", queries(regime));
        for query in &regime.queries {
            for hints in &query.wrong {
                let _ = writeln!(
                    out,
                    "WRONG RESULT: {name} {}: other rows than those of the chosen plan with {hints}",
                    query.query
                );
            }
            for failure in &query.failed {
                let _ = writeln!(out, "FAILED: {name} {}: {failure}", query.query);
            }
        }
    }
    out
}

fn queries(regime: &RegimeReport) -> comfy_table::Table {
    let header = ["query", "regret", "chosen ms", "best ms", "plans", "cut", "same", "not followed", "best with"];
    let mut table = new_table(header.map(str::to_owned).to_vec());
    if let Some(column) = table.column_mut(header.len() - 1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for query in regime.worst_first() {
        table.add_row([
            query.query.to_owned(),
            format!("{:.2}", query.regret()),
            number(query.chosen_ms),
            number(query.best_ms),
            query.plans.len().to_string(),
            query.cut().to_string(),
            query.same.to_string(),
            query.not_followed.len().to_string(),
            query.best_hints.clone(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn worst_first_and_wrong_rows_loudly() {
        let mut report = fixture::report();
        assert!(!table(&report).contains("WRONG"));
        report.regimes[0].queries[0].wrong.push("BNL(t)".into());
        let text = table(&report);
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("'{part}' is not in\n{text}"));
        assert!(at("regret of all queries: 2.00") < at("q02"));
        assert!(at("q02") < at("q<3>") && at("q<3>") < at("q01"), "{text}");
        assert!(at("3.00") < at("BKA(t@select#1)"), "{text}");
        at("WRONG RESULT: tenth-cold q01: other rows than those of the chosen plan with BNL(t)");
    }
}
