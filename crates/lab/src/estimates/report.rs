//! All operators: quantiles by kind, and a line for each.

use super::operator::{OperatorEstimate, OperatorKind};
use crate::report::table::new_table;
use std::{collections::BTreeMap, fmt::Write};

/// Factors of several operators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    pub count: usize,
    pub median: f64,
    pub p90: f64,
    pub p95: f64,
    pub max: f64,
}

/// The quantiles of factors; all 1 if there are none.
pub fn quantiles(factors: impl Iterator<Item = f64>) -> Quantiles {
    let mut sorted: Vec<f64> = factors.collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = |share: f64| sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(1.0);
    Quantiles { count: sorted.len(), median: at(0.5), p90: at(0.9), p95: at(0.95), max: at(1.0) }
}

/// A line for each operator of a kind: its query, expected and found rows, their factor, and its text.
pub fn lines(operators: &[OperatorEstimate], kind: OperatorKind) -> String {
    let mut out = String::new();
    for of in operators.iter().filter(|of| of.kind == kind) {
        let (estimated, actual) = (of.estimated_rows.round(), of.actual_rows.round());
        let _ = writeln!(out, "{} {estimated} {actual} {:.2} {}", of.query, of.q_error(), of.operator);
    }
    out
}

/// The whole as text: rows by kind, then time by operator, then the worst of both.
pub fn text(operators: &[OperatorEstimate]) -> String {
    const WORST: usize = 10;
    let mut out = String::new();
    let mut rows = new_table(["rows", "operators", "median", "90 %", "95 %", "worst"].map(str::to_owned).to_vec());
    for kind in [OperatorKind::Table, OperatorKind::Join, OperatorKind::Other] {
        let of_kind = operators.iter().filter(|of| of.kind == kind);
        rows.add_row(cells(kind.name(), quantiles(of_kind.map(OperatorEstimate::q_error))));
    }
    let _ = writeln!(out, "{rows}\n");
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for of in operators {
        by_name.entry(name(of)).or_default().extend(of.model_error());
    }
    let mut times = new_table(["time", "operators", "median", "90 %", "95 %", "worst"].map(str::to_owned).to_vec());
    for (name, errors) in by_name.into_iter().filter(|(_, errors)| !errors.is_empty()) {
        times.add_row(cells(name, quantiles(errors.into_iter())));
    }
    times.add_row(cells("all", quantiles(operators.iter().filter_map(OperatorEstimate::model_error))));
    let _ = writeln!(out, "{times}\n");
    let mut worst: Vec<&OperatorEstimate> = operators.iter().collect();
    worst.sort_by(|a, b| b.q_error().total_cmp(&a.q_error()));
    for of in worst.iter().take(WORST) {
        let (estimated, actual) = (of.estimated_rows.round(), of.actual_rows.round());
        let _ = writeln!(out, "{}: {estimated} rows expected, {actual} found: {}", of.query, of.operator);
    }
    worst.sort_by(|a, b| b.model_error().unwrap_or(1.0).total_cmp(&a.model_error().unwrap_or(1.0)));
    for of in worst.iter().take(WORST) {
        let (estimated, actual) = (of.estimated_ms, of.actual_ms);
        let _ = writeln!(out, "{}: {estimated:.2} ms expected, {actual:.2} found: {}", of.query, of.operator);
    }
    out
}

fn cells(name: &str, of: Quantiles) -> Vec<String> {
    let factors = [of.median, of.p90, of.p95, of.max].map(|factor| format!("{factor:.2}"));
    [name.to_owned(), of.count.to_string()].into_iter().chain(factors).collect()
}

/// The name of an operator: its text without tables and conditions.
fn name(of: &OperatorEstimate) -> &str {
    let text = of.operator.as_str();
    let end = [":", "(", " on ", " using ", ","].iter().filter_map(|mark| text.find(mark)).min();
    text[..end.unwrap_or(text.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let of = quantiles([4.0, 1.0, 2.0, 3.0, 100.0].into_iter());
        assert_eq!((of.count, of.median, of.max), (5, 3.0, 100.0));
        assert_eq!(quantiles(std::iter::empty()), Quantiles { count: 0, median: 1.0, p90: 1.0, p95: 1.0, max: 1.0 });
    }
}
