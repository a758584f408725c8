//! A comparison as text for a terminal.

use super::{CrashKind, SettingsReport, VariantReport};
use crate::report::table::{new_table, number};
use std::fmt::Write;

/// Several lines, with a line end.
pub fn text(report: &SettingsReport) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}: {}, on {}\n", report.comparison, report.title, report.database);
    let _ = writeln!(out, "{}\n", throughput(report));
    if report.variants.iter().any(|variant| !variant.crashes.is_empty()) {
        let _ = writeln!(out, "{}", crashes(report));
    }
    for variant in &report.variants {
        if let Some(reason) = &variant.skipped {
            let _ = writeln!(out, "'{}' was skipped: {reason}", variant.name);
        }
        for run in variant.runs.iter().filter(|run| !run.is_clean()) {
            let _ = writeln!(out, "'{}' was not clean:\n{}", variant.name, crate::tpcc::text(run));
        }
        for crash in &variant.crashes {
            for (damage, count) in &crash.damages {
                let _ = writeln!(out, "'{}', {}, {count} times: {damage}", variant.name, title(crash.kind));
            }
        }
    }
    out
}

fn header(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| (*column).to_owned()).collect()
}

fn throughput(report: &SettingsReport) -> comfy_table::Table {
    let columns = ["", "new orders/min", "CoV", "ratio", "p95 ms", "log bytes/tx", "syncs/tx", "rounds"];
    let mut table = new_table(header(&columns));
    let first = report.variants.first().map_or(0.0, |variant| variant.new_orders_per_minute.median);
    for variant in report.variants.iter().filter(|variant| !variant.runs.is_empty()) {
        let orders = variant.new_orders_per_minute;
        let mean = |of: fn(&crate::tpcc::TpccReport) -> Option<f64>| -> String {
            let values: Vec<f64> = variant.runs.iter().filter_map(of).collect();
            if values.is_empty() { "-".into() } else { number(values.iter().sum::<f64>() / values.len() as f64) }
        };
        table.add_row([
            variant.name.to_owned(),
            number(orders.median),
            format!("{:.1} %", orders.cov * 100.0),
            if first > 0.0 { format!("{:.2} x", orders.median / first) } else { "-".into() },
            number(variant.p95_ms.median),
            mean(|run| run.log_bytes_per_transaction),
            mean(|run| run.log_syncs_per_transaction),
            orders.runs.to_string(),
        ]);
    }
    table
}

fn title(kind: CrashKind) -> &'static str {
    match kind {
        CrashKind::Killed => "SIGKILL",
        CrashKind::KilledSimulated => "SIGKILL, simulated",
        CrashKind::PowerCut => "power cut, simulated",
    }
}

fn crashes(report: &SettingsReport) -> comfy_table::Table {
    let columns =
        ["", "crash", "crashes", "orders", "lost", "most", "with losses", "inconsistent", "unusable", "recovery s"];
    let mut table = new_table(header(&columns));
    let rows = |variant: &VariantReport| -> Vec<[String; 10]> {
        let row = |crash: &super::CrashReport| {
            [
                variant.name.to_owned(),
                title(crash.kind).to_owned(),
                crash.crashes.to_string(),
                crash.acknowledged.to_string(),
                crash.lost.to_string(),
                crash.most_lost.to_string(),
                crash.with_losses.to_string(),
                crash.inconsistent.to_string(),
                crash.unusable.to_string(),
                number(crash.recovery_seconds_max),
            ]
        };
        variant.crashes.iter().map(row).collect()
    };
    table.add_rows(report.variants.iter().flat_map(rows));
    table
}
