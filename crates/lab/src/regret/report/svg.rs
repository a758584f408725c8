//! The report as an SVG chart: for each regime a line for each query, the greatest regret first. A dot is a plan,
//! placed by its time in times of the best one on a logarithmic scale; the ring is the chosen plan. Plans that were cut
//! stand at the right end.

use super::{QueryReport, RegretReport};
use crate::report::svg::{STYLE, text};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 16.0;
const NAMES: f64 = 170.0;
const FIGURES: f64 = 130.0;
const ROW: f64 = 18.0;
const TITLE: f64 = 48.0;
/// The ratio at the right end, where plans are cut.
const END: f64 = 10.0;
const MARKS: [f64; 5] = [1.0, 1.5, 2.0, 5.0, 10.0];

const OWN_STYLE: &str = ".plan { fill: #0969da; opacity: 0.35 } .cut { fill: #9a6700; opacity: 0.35 } .line { stroke: #8c959f; opacity: 0.4 } \
    .chosen { fill: none; stroke: #cf222e; stroke-width: 2 }";

/// A whole SVG document.
pub fn svg(reports: &[RegretReport]) -> String {
    let (mut body, mut top) = (String::new(), MARGIN);
    for report in reports {
        for regime in &report.regimes {
            let title = format!(
                "{} at scale {}, {}: regret {:.2}",
                report.data,
                report.scale,
                regime.regime.name(),
                regime.regret()
            );
            text(&mut body, MARGIN, top + 14.0, "title", &title);
            let rows = top + TITLE;
            let bottom = rows + regime.queries.len() as f64 * ROW;
            for mark in MARKS {
                let at = x(mark);
                text(&mut body, at - 8.0, top + 38.0, "head", &format!("{mark} x"));
                let _ = writeln!(body, "<path class=\"line\" d=\"M{at:.1} {rows:.1}V{bottom:.1}\"/>");
            }
            for (i, query) in regime.worst_first().into_iter().enumerate() {
                line(&mut body, rows + i as f64 * ROW, query);
            }
            top = bottom + 2.0 * MARGIN;
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" width=\"{WIDTH}\" height=\"{top}\">\n\
         <style>\n{STYLE}\n{OWN_STYLE}\n</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

/// The place of a ratio.
fn x(ratio: f64) -> f64 {
    let width = WIDTH - 2.0 * MARGIN - NAMES - FIGURES;
    MARGIN + NAMES + width * ratio.clamp(1.0, END).ln() / END.ln()
}

fn line(body: &mut String, y: f64, query: &QueryReport) {
    let middle = y + ROW / 2.0;
    text(body, MARGIN, middle + 4.0, "name", query.query);
    for plan in query.plans.iter().skip(1) {
        let (class, ratio) = match plan.ms {
            Some(ms) => ("plan", ms / query.best_ms),
            None => ("cut", END),
        };
        let _ = writeln!(body, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4\"/>", x(ratio));
    }
    let _ = writeln!(body, "<circle class=\"chosen\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"5\"/>", x(query.regret()));
    let figures = format!("{:.2}: {:.1} / {:.1} ms", query.regret(), query.chosen_ms, query.best_ms);
    text(body, WIDTH - MARGIN - FIGURES + 14.0, middle + 4.0, "value", &figures);
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn plans_stand_at_their_ratios() {
        let chart = svg(&[fixture::report()]);
        assert!(chart.contains("dbt3 at scale 0.1, tenth-cold: regret 2.00") && chart.contains("q&lt;3&gt;"));
        let places = |class: &str| -> Vec<String> {
            let dots = chart.lines().filter(|l| l.contains(&format!("class=\"{class}\"")) && l.contains("cx="));
            dots.filter_map(|l| l.split("cx=\"").nth(1)?.split('"').next().map(str::to_owned)).collect()
        };
        let at = |ratio: f64| format!("{:.1}", x(ratio));
        assert_eq!(places("chosen"), [at(3.0), at(1.5), at(1.0)]);
        assert_eq!(places("plan"), [at(1.0), at(1.0), at(1.0)]);
        assert_eq!(places("cut"), [at(10.0), at(10.0), at(10.0)]);
        assert!((x(10.0) - x(1.0)) / (x(10f64.sqrt()) - x(1.0)) > 1.999);
    }
}
