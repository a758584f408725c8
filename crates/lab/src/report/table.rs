//! Reports as tables of text.

use super::{Measurement, Report, StrategyReport};
use crate::device::DEVICES;
use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;

/// The strategies side by side: cold and warm, then pages by index, then counters.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    let Report { name, title, expectation, workload, scale, pool_bytes, threads, .. } = report;
    let pool = *pool_bytes as f64 / f64::from(1 << 20);
    let _ = writeln!(out, "{name}: {title}");
    let _ = writeln!(out, "expected: {expectation}");
    let _ = writeln!(out, "{workload} at scale {scale}, pool {pool:.0} MiB, threads {threads}\n");
    let _ = writeln!(out, "{}", measurements(report, "from an empty pool", |s| &s.cold));
    let _ = writeln!(out, "{}", measurements(report, "from a warm pool", |s| &s.warm));
    let _ = writeln!(out, "{}", side_by_side(report, "pages read, cold", |s| &s.cold.pages_by_index));
    let _ = writeln!(out, "{}", side_by_side(report, "counters, cold", |s| &s.cold.counters));
    for strategy in &report.strategies {
        for note in &strategy.notes {
            let _ = writeln!(out, "note: '{}': {note}", strategy.name);
        }
    }
    out
}

pub(crate) fn new_table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn measurements(report: &Report, title: &str, of: impl Fn(&StrategyReport) -> &Measurement) -> Table {
    let fixed = ["ms min", "median", "CoV", "runs", "pages", "MB", "reads", "in flight"];
    let mut header: Vec<String> = [title].iter().chain(&fixed).map(|s| s.to_string()).collect();
    header.extend(DEVICES.iter().map(|d| format!("{} ms", d.title)));
    header.push("disk ratio".into());
    let mut table = new_table(header);
    let first = report.strategies.first().map_or(0.0, |s| of(s).device_ms("disk"));
    for strategy in &report.strategies {
        let m = of(strategy);
        let mut row = vec![
            strategy.name.to_owned(),
            number(m.ms.min),
            number(m.ms.median),
            format!("{:.1} %", m.ms.cov * 100.0),
            m.ms.runs.to_string(),
            m.pages.to_string(),
            number(m.bytes as f64 / 1e6),
            m.reads.to_string(),
            format!("{} (max {})", number(m.in_flight_mean), m.in_flight_max),
        ];
        row.extend(m.device_ms.iter().map(|(_, ms)| number(*ms)));
        let ms = m.device_ms("disk");
        row.push(if ms > 0.0 { format!("{} x", number(first / ms)) } else { "-".into() });
        table.add_row(row);
    }
    table
}

/// A row for each name, a column for each strategy.
fn side_by_side(
    report: &Report,
    title: &str,
    of: impl Fn(&StrategyReport) -> &std::collections::BTreeMap<String, u64>,
) -> Table {
    let names: std::collections::BTreeSet<&String> = report.strategies.iter().flat_map(|s| of(s).keys()).collect();
    let header = [title].into_iter().chain(report.strategies.iter().map(|s| s.name)).map(str::to_owned);
    let mut table = new_table(header.collect());
    for name in names {
        let values = report.strategies.iter().map(|s| of(s).get(name).map_or_else(String::new, u64::to_string));
        table.add_row(std::iter::once(name.clone()).chain(values));
    }
    table
}

/// Three digits that count.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn strategies_stand_side_by_side() {
        let mut report = fixture::report();
        report.strategies[1].notes.push("the plan shows 'x'".into());
        let text = table(&report);
        let line =
            |start: &str| text.lines().find(|l| l.trim_start().starts_with(start)).unwrap_or_default().to_owned();
        assert!(line("MRR <big>").contains("20.0") && line("MRR <big>").contains("10.0 x"), "{text}");
        assert!(line("t.PRIMARY").contains("995") && line("t.PRIMARY").contains("95"), "{text}");
        assert!(line("Handler_read_key").contains('7'), "{text}");
        assert!(text.contains("note: 'MRR <big>': the plan shows 'x'"), "{text}");
    }

    #[test]
    fn digits() {
        assert_eq!([1234.5, 12.34, 1.234, 0.1234].map(number), ["1234", "12.3", "1.23", "0.123"]);
    }
}
