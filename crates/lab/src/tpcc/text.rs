//! A run's report as text for a terminal.

use super::{Kind, report::TpccReport};
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use std::fmt::Write;

/// Several lines, with a line end.
pub fn text(report: &TpccReport) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "TPC-C on {} ({}), {} warehouses, {} threads, {:.1} s after {:.1} s of warm-up",
        report.database,
        report.environment.version,
        report.warehouses,
        report.threads,
        report.seconds,
        report.warm_up_seconds
    );
    for (name, value) in &report.environment.settings {
        let _ = writeln!(out, "  {name} = {value}");
    }
    let _ = writeln!(
        out,
        "\n{:.1} new orders a minute, {:.1} transactions a second, {} repeated, {} failed\n\n{}",
        report.new_orders_per_minute,
        report.transactions_per_second,
        report.retries,
        report.failures,
        kinds(report)
    );
    let syncs = |syncs: Option<f64>| syncs.map_or_else(String::new, |syncs| format!(" and {syncs:.3} syncs"));
    if let Some(bytes) = report.log_bytes_per_transaction {
        let syncs = syncs(report.log_syncs_per_transaction);
        let _ = writeln!(out, "\nlog: {bytes:.0} bytes{syncs} a transaction");
    }
    for cost in &report.log_by_kind {
        let (kind, bytes, syncs) = (cost.kind.title(), cost.bytes, syncs(cost.syncs));
        let _ = writeln!(out, "  {kind:13}{bytes:7.0} bytes{syncs} each, alone");
    }
    for (message, count) in &report.errors {
        let _ = writeln!(out, "{count} times: {message}");
    }
    for message in &report.lost {
        let _ = writeln!(out, "a terminal ended: {message}");
    }
    if !report.conditions.is_empty() {
        let _ = writeln!(out, "\n{}", conditions(report));
    }
    out
}

fn table(header: &[&str], numbers_from: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn kinds(report: &TpccReport) -> String {
    let header = [
        "transaction",
        "committed",
        "rolled back",
        "failed",
        "deadlocks",
        "timeouts",
        "stale",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "max",
    ];
    let mut table = table(&header, 1);
    for kind in &report.kinds {
        let ms = kind.latency_ms;
        let counts = [kind.committed, kind.rolled_back, kind.failed].map(|n| n.to_string());
        let retries = [kind.retries.deadlocks, kind.retries.lock_wait_timeouts, kind.retries.stale_snapshots];
        let latencies = [ms.mean, ms.p50, ms.p95, ms.p99, ms.max].map(|ms| format!("{ms:.2}"));
        let name = [Kind::title(kind.kind).to_owned()];
        table.add_row([&name[..], &counts, &retries.map(|n| n.to_string()), &latencies].concat());
    }
    let ms = report.all_latencies;
    let sum = |count: fn(&super::report::KindReport) -> u64| report.kinds.iter().map(count).sum::<u64>().to_string();
    let counts = [sum(|k| k.committed), sum(|k| k.rolled_back), sum(|k| k.failed)];
    let retries =
        [sum(|k| k.retries.deadlocks), sum(|k| k.retries.lock_wait_timeouts), sum(|k| k.retries.stale_snapshots)];
    let latencies = [ms.mean, ms.p50, ms.p95, ms.p99, ms.max].map(|ms| format!("{ms:.2}"));
    table.add_row([&["all".to_owned()][..], &counts, &retries, &latencies].concat());
    table.to_string()
}

fn conditions(report: &TpccReport) -> String {
    let mut table = table(&["", "condition", "", "violations", "s"], 3);
    for result in &report.conditions {
        let verdict = if result.holds() { "holds" } else { "VIOLATED" };
        let (violations, seconds) = (result.violations.to_string(), format!("{:.2}", result.seconds));
        table.add_row([&result.number.to_string(), result.name, verdict, &violations, &seconds]);
    }
    table.to_string()
}
