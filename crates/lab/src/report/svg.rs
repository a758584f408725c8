//! Reports as one SVG chart: for each experiment a row of panels, in each a bar for each strategy. Bars of a panel
//! share a linear scale. Colours follow the reader's light or dark setting.

use super::{Measurement, Report, StrategyReport};
use crate::device::DEVICES;
use std::fmt::Write;

const WIDTH: f64 = 1120.0;
const MARGIN: f64 = 16.0;
const NAMES: f64 = 190.0;
const GAP: f64 = 14.0;
const BAR: f64 = 20.0;
const TITLE: f64 = 48.0;
/// Beside a full bar, for its number.
const LABEL: f64 = 52.0;

pub(crate) const STYLE: &str = "\
    text { font: 12px system-ui, sans-serif; fill: #1f2328 }\n\
    .title { font-size: 15px; font-weight: 600 }\n\
    .head { fill: #59636e }\n\
    .back { fill: #ffffff }\n\
    .s0 { fill: #57606a } .s1 { fill: #0969da } .s2 { fill: #1a7f37 } .s3 { fill: #9a6700 }\n\
    .s4 { fill: #8250df } .s5 { fill: #bc4c00 } .s6 { fill: #bf3989 }\n\
    @media (prefers-color-scheme: dark) {\n\
    text { fill: #e6edf3 } .head { fill: #9198a1 } .back { fill: #0d1117 }\n\
    .s0 { fill: #8c959f } .s1 { fill: #58a6ff } .s2 { fill: #3fb950 } .s3 { fill: #d29922 }\n\
    .s4 { fill: #bc8cff } .s5 { fill: #f0883e } .s6 { fill: #f778ba }\n\
    }";
const COLOURS: usize = 7;

/// One panel: what its bars are.
type Panel = (String, Box<dyn Fn(&StrategyReport) -> f64>);

fn panels() -> Vec<Panel> {
    fn of(title: &str, value: impl Fn(&StrategyReport) -> f64 + 'static) -> Panel {
        (title.to_owned(), Box::new(value))
    }
    let device = |m: &Measurement, name: &str| m.device_ms(name);
    let mut panels = vec![
        of("ms, empty pool", |s| s.cold.ms.min),
        of("ms, warm pool", |s| s.warm.ms.min),
        of("pages read, empty pool", |s| s.cold.pages as f64),
    ];
    panels.extend(DEVICES.map(|d| of(&format!("{}, ms", d.title), move |s| device(&s.cold, d.name))));
    panels
}

/// A whole SVG document.
pub fn svg(reports: &[Report]) -> String {
    let panels = panels();
    let width = (WIDTH - 2.0 * MARGIN - NAMES) / panels.len() as f64;
    let (mut body, mut top) = (String::new(), MARGIN);
    for report in reports {
        let bars = top + TITLE;
        text(&mut body, MARGIN, top + 14.0, "title", report.title);
        for (i, strategy) in report.strategies.iter().enumerate() {
            text(&mut body, MARGIN, bars + i as f64 * BAR + 14.0, "name", strategy.name);
        }
        for (p, (title, value)) in panels.iter().enumerate() {
            let left = MARGIN + NAMES + p as f64 * width;
            text(&mut body, left, top + 38.0, "head", title);
            let values: Vec<f64> = report.strategies.iter().map(value).collect();
            let most = values.iter().copied().fold(0.0, f64::max);
            let scale = if most > 0.0 { (width - GAP - LABEL) / most } else { 0.0 };
            for (i, value) in values.iter().enumerate() {
                let (y, length) = (bars + i as f64 * BAR, (value * scale).max(1.0));
                let colour = i % COLOURS;
                let _ = writeln!(
                    body,
                    "<rect class=\"s{colour}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"{:.1}\"/>",
                    y + 3.0,
                    BAR - 6.0
                );
                text(&mut body, left + length + 4.0, y + 14.0, "value", &short(*value));
            }
        }
        top = bars + report.strategies.len() as f64 * BAR + 2.0 * MARGIN;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" width=\"{WIDTH}\" height=\"{top}\">\n\
         <style>\n{STYLE}\n</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

pub(crate) fn text(out: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let escaped = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{escaped}</text>");
}

/// Three digits with a unit of thousands.
pub(crate) fn short(x: f64) -> String {
    let (value, unit) = match x {
        x if x >= 1e6 => (x / 1e6, "M"),
        x if x >= 1e4 => (x / 1e3, "k"),
        x => (x, ""),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_texts_escaped() {
        let chart = svg(&[fixture::report()]);
        assert!(chart.contains("One &amp; two") && chart.contains("MRR &lt;big&gt;"));
        let widths = |class: &str| -> Vec<f64> {
            let rects = chart.lines().filter(|l| l.contains(&format!("<rect class=\"{class}\"")));
            let width = |l: &str| l.split("width=\"").nth(1).and_then(|s| s.split('"').next()?.parse().ok());
            rects.map(|l| width(l).expect("a bar has a width")).collect()
        };
        let (first, second) = (widths("s0"), widths("s1"));
        assert_eq!((first.len(), second.len()), (6, 6));
        for (first, second) in first.iter().zip(&second) {
            assert!((first / second - 10.0).abs() < 0.2, "{first} {second}");
        }
        assert_eq!(chart.matches("<text").count(), 1 + 2 + 6 + 12);
    }

    #[test]
    fn short_numbers() {
        assert_eq!([0.5, 12.34, 9_999.0, 12_345.0, 2_500_000.0].map(short), ["0.50", "12.3", "9999", "12.3k", "2.50M"]);
    }
}
