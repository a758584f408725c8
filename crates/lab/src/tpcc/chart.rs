//! Reports of runs as one SVG chart: for each run its throughput by the second, the latencies of each kind of
//! transaction, and what each kind costs in the log. Times of latencies are on a logarithmic axis.

use super::{
    Kind,
    report::{KindReport, TpccReport},
};
use crate::report::{
    svg::{STYLE, short, text},
    table::number,
};
use std::fmt::Write;

const WIDTH: f64 = 1120.0;
const MARGIN: f64 = 16.0;
/// Left of a panel, for the numbers of its axis.
const AXIS: f64 = 56.0;
const GAP: f64 = 14.0;
const THROUGHPUT_HEIGHT: f64 = 140.0;
const HISTOGRAM_HEIGHT: f64 = 90.0;
const LINE: f64 = 18.0;
/// Bars of the throughput at most: more seconds share bars.
const SECONDS_SHOWN: usize = 240;
/// Bars of a histogram.
const COLUMNS: usize = 48;

/// A part of the chart: its place, and where its bars stand.
struct Panel {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Panel {
    /// A bar of a share (0 to 1) of the panel's height that begins above `below`, another share.
    fn bar(&self, out: &mut String, class: usize, (from, to): (f64, f64), below: f64, share: f64) {
        let (x, width) = (self.left + from * self.width, ((to - from) * self.width - 0.5).max(0.5));
        let (height, y) = (share * self.height, self.top + (1.0 - below - share) * self.height);
        let _ = writeln!(
            out,
            "<rect class=\"s{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\"/>"
        );
    }
}

/// A whole SVG document.
pub fn svg(reports: &[TpccReport]) -> String {
    let (mut body, mut top) = (String::new(), MARGIN);
    for report in reports {
        top = one(&mut body, report, top) + 2.0 * MARGIN;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" width=\"{WIDTH}\" height=\"{top}\">\n\
         <style>\n{STYLE}\n</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

/// One run from `top` on. Returns where it ends.
fn one(out: &mut String, report: &TpccReport, top: f64) -> f64 {
    let TpccReport { database, environment, warehouses, threads, new_orders_per_minute, .. } = report;
    let version = &environment.version;
    let title = format!("TPC-C on {database} ({version}), {warehouses} warehouses, {threads} threads");
    text(out, MARGIN, top + 14.0, "title", &title);
    let summary = format!(
        "{} new orders a minute, {} transactions a second, {} repeated, {} failed",
        short(*new_orders_per_minute),
        short(report.transactions_per_second),
        report.retries,
        report.failures
    );
    text(out, MARGIN, top + 34.0, "name", &summary);
    legend(out, top + 54.0);
    let panel =
        Panel { left: MARGIN + AXIS, top: top + 66.0, width: WIDTH - 2.0 * MARGIN - AXIS, height: THROUGHPUT_HEIGHT };
    throughput(out, report, &panel);
    let top = panel.top + panel.height + 2.0 * LINE;
    let width = (WIDTH - 2.0 * MARGIN + GAP) / Kind::ALL.len() as f64;
    for (i, kind) in report.kinds.iter().enumerate() {
        let left = MARGIN + i as f64 * width;
        let panel = Panel { left, top: top + 2.0 * LINE, width: width - GAP, height: HISTOGRAM_HEIGHT };
        text(out, left, top + 14.0, "head", &format!("{}, ms", Kind::title(kind.kind)));
        histogram(out, kind, i, &panel);
        costs(out, report, kind.kind, (left, panel.top + panel.height + 3.0 * LINE));
    }
    let mut top = top + 2.0 * LINE + HISTOGRAM_HEIGHT + 5.0 * LINE;
    for (message, count) in &report.errors {
        text(out, MARGIN, top, "name", &format!("{count} times: {message}"));
        top += LINE;
    }
    top
}

fn legend(out: &mut String, y: f64) {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let x = MARGIN + i as f64 * 120.0;
        let _ = writeln!(
            out,
            "<rect class=\"s{i}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\"><title>{}</title></rect>",
            y - 10.0,
            kind.title()
        );
        text(out, x + 14.0, y, "head", kind.title());
    }
}

/// Transactions a second, the kinds one on the other.
fn throughput(out: &mut String, report: &TpccReport, panel: &Panel) {
    let seconds = report.per_second.len();
    if seconds == 0 {
        return;
    }
    let seconds_a_bar = seconds.div_ceil(SECONDS_SHOWN);
    let means = |per_second: &[u64]| -> Vec<f64> {
        let mean = |piece: &[u64]| piece.iter().sum::<u64>() as f64 / piece.len() as f64;
        per_second.chunks(seconds_a_bar).map(mean).collect()
    };
    let most = means(&report.per_second).into_iter().fold(1.0, f64::max);
    let bars = seconds.div_ceil(seconds_a_bar);
    let mut below = vec![0.0; bars];
    for (class, kind) in report.kinds.iter().enumerate() {
        for (bar, mean) in means(&kind.per_second).into_iter().enumerate() {
            let place = (bar as f64 / bars as f64, (bar + 1) as f64 / bars as f64);
            panel.bar(out, class, place, below[bar], mean / most);
            below[bar] += mean / most;
        }
    }
    text(out, MARGIN, panel.top + 10.0, "head", &format!("{}/s", short(most)));
    text(out, MARGIN, panel.top + panel.height, "head", "0");
    text(out, panel.left, panel.top + panel.height + 14.0, "head", "0 s");
    let end = format!("{seconds} s");
    text(out, panel.left + panel.width - 30.0, panel.top + panel.height + 14.0, "head", &end);
}

/// How many transactions took how long.
fn histogram(out: &mut String, kind: &KindReport, class: usize, panel: &Panel) {
    let (Some((first, _)), Some((last, _))) = (kind.histogram.first(), kind.histogram.last()) else {
        text(out, panel.left, panel.top + panel.height, "head", "none");
        return;
    };
    // A bucket's value is its highest one; no latency is below a microsecond.
    let (low, high) = (first.max(1e-3).ln(), last.max(1e-3).ln());
    let mut columns = [0u64; COLUMNS];
    for (ms, count) in &kind.histogram {
        let share = if high > low { (ms.max(1e-3).ln() - low) / (high - low) } else { 0.0 };
        columns[((share * COLUMNS as f64) as usize).min(COLUMNS - 1)] += count;
    }
    let most = columns.iter().copied().max().unwrap_or(1).max(1) as f64;
    for (i, count) in columns.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let place = (i as f64 / COLUMNS as f64, (i + 1) as f64 / COLUMNS as f64);
        panel.bar(out, class, place, 0.0, count as f64 / most);
    }
    let ms = kind.latency_ms;
    text(out, panel.left, panel.top + panel.height + 14.0, "head", &number(*first));
    text(out, panel.left + panel.width - 36.0, panel.top + panel.height + 14.0, "head", &number(*last));
    let quantiles = format!("p50 {}, p95 {}, p99 {}", number(ms.p50), number(ms.p95), number(ms.p99));
    text(out, panel.left, panel.top - 6.0, "name", &quantiles);
}

/// Bytes and syncs of the log for one transaction of a kind.
fn costs(out: &mut String, report: &TpccReport, kind: Kind, (x, y): (f64, f64)) {
    let Some(cost) = report.log_by_kind.iter().find(|cost| cost.kind == kind) else { return };
    text(out, x, y, "name", &format!("log: {} bytes", number(cost.bytes)));
    if let Some(syncs) = cost.syncs {
        text(out, x, y + LINE, "name", &format!("{} syncs", number(syncs)));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture, *};

    /// Heights of the bars of a class, legend aside.
    fn heights(chart: &str, class: usize) -> Vec<f64> {
        let bars = chart.lines().filter(|l| l.starts_with(&format!("<rect class=\"s{class}\"")) && l.ends_with("/>"));
        let height = |l: &str| l.split(" height=\"").nth(1).and_then(|s| s.split('"').next()?.parse().ok());
        bars.map(|l| height(l).expect("a bar has a height")).collect()
    }

    #[test]
    fn bars_are_in_proportion_and_texts_escaped() {
        let chart = svg(&[fixture::report()]);
        // Two seconds with 10 and 20 New-Orders of 20 and 40 transactions, then latencies of 1, 2 and 4 ms.
        assert_eq!(heights(&chart, 0), [35.0, 70.0, 30.0, 60.0, 90.0]);
        // As many Payments, without latencies; nothing of the other kinds.
        assert_eq!(heights(&chart, 1), [35.0, 70.0]);
        assert_eq!(heights(&chart, 2), [0.0, 0.0]);
        assert!(chart.contains("a &lt;bad&gt; error") && chart.contains("log: 5000 bytes"), "{chart}");
        assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
    }

    #[test]
    fn a_run_that_did_nothing_has_a_chart() {
        let mut report = fixture::report();
        report.per_second.clear();
        report.kinds.iter_mut().for_each(|kind| {
            kind.per_second.clear();
            kind.histogram.clear();
        });
        let chart = svg(&[report]);
        assert!(chart.ends_with("</svg>\n") && heights(&chart, 0).is_empty());
    }
}
