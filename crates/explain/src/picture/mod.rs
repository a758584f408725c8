//! A plan as a picture (SVG): a box for each operator, its inputs below it.
//!
//! ```text
//!   read     the second JSON format as boxes       read.rs
//!   layout   where each box stands                 layout.rs
//!   svg      this file
//! ```
//!
//! The colour of a box is its share of the time, or of the cost if the plan has not run; the width of a line is the
//! number of rows that pass. Texts are cut to the width of their box; a tooltip has them whole.

mod layout;
mod read;

use layout::{BOX_HEIGHT, BOX_WIDTH, GAP, Placed, place};
use read::PlanBox;
use std::fmt::Write;

/// Characters of a line in a box, of a typewriter font of 11 pixels.
const LINE_CHARS: usize = 40;
const MARGIN: f64 = 24.0;
const HEAD_HEIGHT: f64 = 58.0;
/// An estimate is marked if it is off by this factor.
const ESTIMATE_OFF: f64 = 10.0;

/// The picture of a plan in the second JSON format (`explain_json_format_version` = 2), with or without ANALYZE.
/// `title`: the statement. Error: what is wrong with the text.
pub fn svg(json: &str, title: &str) -> Result<String, String> {
    let root = read::plan(json)?;
    let placed = place(&root);
    let width = placed.iter().map(|p| p.x + BOX_WIDTH).fold(420.0, f64::max) + 2.0 * MARGIN;
    let height = placed.iter().map(|p| p.y + BOX_HEIGHT).fold(0.0, f64::max) + 2.0 * MARGIN + HEAD_HEIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    head(&root, title, width, &mut out);
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {})\">", MARGIN + HEAD_HEIGHT);
    for at in 0..placed.len() {
        edges(&placed, at, &mut out);
    }
    let total = root.total().max(f64::MIN_POSITIVE);
    placed.iter().for_each(|one| operator(one, total, &mut out));
    out.push_str("</g>\n</svg>\n");
    Ok(out)
}

fn head(root: &PlanBox, title: &str, width: f64, out: &mut String) {
    let chars = ((width - 2.0 * MARGIN) / 7.3) as usize;
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = match root.actual {
        Some(actual) => format!("{} in all; red: the most time of its own", time(actual.total_ms())),
        None => format!("cost {} ms, estimated; red: the most cost of its own", amount(root.cost_ms)),
    };
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"12\" font-weight=\"bold\">{}<title>{}</title></text>\n\
         <text x=\"{MARGIN}\" y=\"{}\" fill=\"#555\">{}</text>",
        MARGIN + 8.0,
        escaped(&cut(&title, chars)),
        escaped(&title),
        MARGIN + 28.0,
        escaped(&cut(&what, chars)),
    );
}

/// The lines from an operator to its inputs.
fn edges(placed: &[Placed<'_>], at: usize, out: &mut String) {
    let parent = &placed[at];
    for (n, child) in parent.inputs.iter().enumerate() {
        let child = &placed[*child];
        let rows = child.operator.rows();
        let stroke = 1.2 + (rows + 1.0).log10() * 1.1;
        let from_x = parent.x + 34.0 + 22.0 * n.min(8) as f64;
        let (from_y, to_x, to_y) = (parent.y + BOX_HEIGHT, child.x + 34.0, child.y);
        let bend = from_y + GAP * 0.42;
        let _ = writeln!(
            out,
            "<path d=\"M{from_x:.1} {from_y:.1} V{bend:.1} H{to_x:.1} V{to_y:.1}\" fill=\"none\" stroke=\"#8a96a3\" \
             stroke-width=\"{stroke:.1}\" stroke-linejoin=\"round\"/>"
        );
        // Nobody counts what a lookup finds apart from its join.
        if child.operator.estimated_rows.is_some() {
            let label = child.label.as_deref().map(|label| format!(", {label}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" fill=\"#555\">{} rows{}</text>",
                to_x + 12.0,
                to_y - 7.0,
                amount(rows),
                escaped(&label),
            );
        }
    }
}

fn operator(placed: &Placed<'_>, total: f64, out: &mut String) {
    let Placed { operator, x, y, .. } = placed;
    let share = (operator.own() / total).clamp(0.0, 1.0);
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"6\" \
         fill=\"{}\" stroke=\"#5b6773\"/>",
        escaped(&operator.text),
        colour(share)
    );
    let mut lines = vec![(operator.name.clone(), true, "#111")];
    lines.push((operator.place.clone().unwrap_or_default(), false, "#111"));
    lines.push((operator.detail.clone(), false, "#444"));
    let off = operator.estimate_error();
    lines.push((operator.rows_text(), off > ESTIMATE_OFF, if off > ESTIMATE_OFF { "#b00020" } else { "#111" }));
    lines.push((operator.time_text(share), false, "#111"));
    lines.retain(|(text, ..)| !text.is_empty());
    for (n, (text, bold, fill)) in lines.into_iter().enumerate() {
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{fill}\"{weight}>{}</text>",
            x + 9.0,
            y + 17.0 + 15.5 * n as f64,
            escaped(&cut(&text, LINE_CHARS))
        );
    }
    out.push_str("</g>\n");
}

/// From pale grey to red.
fn colour(share: f64) -> String {
    let mix = |from: f64, to: f64| (from + (to - from) * share.sqrt()).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(245.0, 240.0), mix(247.0, 110.0), mix(249.0, 90.0))
}

/// The first characters of a text that fit.
fn cut(text: &str, chars: usize) -> String {
    match text.chars().count() > chars {
        true => text.chars().take(chars.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// A text as XML.
fn escaped(text: &str) -> String {
    let allowed = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let mut out = String::with_capacity(text.len());
    for c in allowed {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

/// A number in few characters: `1.2M`.
fn amount(number: f64) -> String {
    for (unit, size) in [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e4)] {
        if number.abs() >= size {
            let size = if unit == "k" { 1e3 } else { size };
            return format!("{:.1}{unit}", number / size);
        }
    }
    if number.fract() == 0.0 || number >= 100.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// Milliseconds as text.
fn time(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.2} s", ms / 1000.0) } else { format!("{ms:.2} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"query_plan": {"operation": "Inner hash join (a.x = b.y)", "estimated_rows": 10,
        "estimated_total_cost": 5.0, "actual_loops": 1, "actual_rows": 2000, "actual_last_row_ms": 8.0, "inputs": [
        {"operation": "Table scan on a<b>", "table_name": "a<b>", "estimated_rows": 100, "estimated_total_cost": 2.0,
         "actual_loops": 1, "actual_rows": 100, "actual_last_row_ms": 1.0, "pages_read": 7},
        {"operation": "Hash", "inputs": [{"operation": "Index lookup on b using k (y=1)", "table_name": "b",
         "index_name": "k", "estimated_rows": 3, "estimated_total_cost": 1.0, "actual_loops": 0}]}]}}"#;

    #[test]
    fn boxes_tell_what_is_known() {
        let picture = svg(PLAN, "select 1 < 2").expect("a plan");
        for part in ["Inner hash join", "Table scan", "a&lt;b&gt;", "b, k", "2000", "7 pages", "never run", ", hash"] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
        // The join is told 10 rows and has 2000.
        assert!(picture.contains("#b00020") && picture.contains("select 1 &lt; 2"));
        assert_eq!(picture.matches("<rect x=").count(), 3);
    }

    #[test]
    fn texts_fit_and_boxes_do_not_overlap() {
        let long = PLAN.replace("(a.x = b.y)", &"(a.x = b.y) and ".repeat(50));
        let picture = svg(&long, &"x".repeat(1000)).expect("a plan");
        for line in picture.lines().filter(|line| line.starts_with("<text x=") && line.contains("font-size=\"10\"")) {
            assert!(line.len() < 200, "{line}");
        }
        let root = read::plan(&long).expect("a plan");
        let placed = place(&root);
        for (i, one) in placed.iter().enumerate() {
            for other in &placed[i + 1..] {
                let apart = (one.x - other.x).abs() >= BOX_WIDTH || (one.y - other.y).abs() >= BOX_HEIGHT;
                assert!(apart, "{} and {}", one.operator.name, other.operator.name);
            }
        }
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for wrong in ["", "{}", "{\"query_block\": {}}", "{\"query_plan\": 1}"] {
            assert!(svg(wrong, "").is_err(), "{wrong}");
        }
    }
}
