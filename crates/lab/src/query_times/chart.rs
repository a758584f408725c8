//! Times as one SVG chart: for each query a cold and a warm bar for each report. The bars of a panel share a linear
//! scale.

use super::{QueriesReport, QueryReport};
use crate::report::svg::{STYLE, short, text};
use std::fmt::Write;

const WIDTH: f64 = 1120.0;
const MARGIN: f64 = 16.0;
const NAMES: f64 = 230.0;
/// Beside a full bar, for its number.
const LABEL: f64 = 60.0;
const BAR: f64 = 18.0;
const TITLE: f64 = 48.0;
const COLOURS: usize = 7;

type Panel = (&'static str, fn(&QueryReport) -> f64);

/// Medians; 0 without runs.
const PANELS: [Panel; 2] = [
    ("ms from empty memory, median", |query| query.cold_ms.map_or(0.0, |cold| cold.median)),
    ("ms from warm memory, median", |query| query.warm_ms.median),
];

/// A whole SVG document with the reports side by side. Reports after the first one show the queries that the first one
/// has.
pub fn svg(reports: &[QueriesReport]) -> String {
    let mut body = String::new();
    let height = panels(&mut body, reports, MARGIN);
    document(&body, height)
}

/// A whole SVG document with one report below the other.
pub fn stacked(reports: &[QueriesReport]) -> String {
    let (mut body, mut top) = (String::new(), MARGIN);
    for report in reports {
        top = panels(&mut body, std::slice::from_ref(report), top) + MARGIN;
    }
    document(&body, top)
}

fn document(body: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n\
         <style>\n{STYLE}\n</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

/// Draws reports from `top` on. Returns where they end.
fn panels(body: &mut String, reports: &[QueriesReport], mut top: f64) -> f64 {
    let names: Vec<&str> = reports.first().map_or_else(Vec::new, |r| r.queries.iter().map(|q| q.name).collect());
    for (i, report) in reports.iter().enumerate() {
        let experiment = report.experiment.map_or_else(String::new, |name| format!("{name}: "));
        let title = format!("{experiment}{} at scale {}, {}", report.workload, report.scale, report.database);
        let _ = writeln!(
            body,
            "<rect class=\"s{}\" x=\"{MARGIN}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>",
            i % COLOURS,
            top + 4.0
        );
        text(body, MARGIN + 18.0, top + 14.0, "title", &title);
        top += 24.0;
    }
    let width = (WIDTH - 2.0 * MARGIN - NAMES) / PANELS.len() as f64;
    let group = BAR * reports.len() as f64 + 6.0;
    let bars = top + TITLE;
    for (q, name) in names.iter().enumerate() {
        text(body, MARGIN, bars + q as f64 * group + 14.0, "name", name);
    }
    for (p, (title, of)) in PANELS.iter().enumerate() {
        let left = MARGIN + NAMES + p as f64 * width;
        text(body, left, top + 38.0, "head", title);
        let most = reports.iter().flat_map(|r| &r.queries).map(of).fold(0.0, f64::max);
        let scale = if most > 0.0 { (width - LABEL) / most } else { 0.0 };
        for (q, name) in names.iter().enumerate() {
            for (i, report) in reports.iter().enumerate() {
                let value = report.queries.iter().find(|query| query.name == *name).map_or(0.0, of);
                let (y, length) = (bars + q as f64 * group + i as f64 * BAR, (value * scale).max(1.0));
                let (colour, y_bar, height) = (i % COLOURS, y + 3.0, BAR - 6.0);
                let _ = writeln!(
                    body,
                    "<rect class=\"s{colour}\" x=\"{left:.1}\" y=\"{y_bar:.1}\" width=\"{length:.1}\" height=\"{height:.1}\"/>"
                );
                let label = if value > 0.0 { short(value) } else { "-".into() };
                text(body, left + length + 4.0, y + 13.0, "value", &label);
            }
        }
    }
    bars + names.len() as f64 * group + MARGIN
}
