//! The second JSON format as the boxes of a picture.

use super::{amount, time};
use serde_json::Value as Json;

/// What an operator did.
#[derive(Debug, Clone, Copy)]
pub struct ActualFigures {
    pub loops: f64,
    /// Rows and milliseconds of one run.
    pub rows: f64,
    pub last_ms: f64,
    pub pages: f64,
    /// Rows of one run that filters of joins have dropped, which no estimate knows of.
    pub dropped: f64,
}

impl ActualFigures {
    /// Milliseconds of all runs.
    pub fn total_ms(&self) -> f64 {
        self.loops * self.last_ms
    }
}

/// One operator.
pub struct PlanBox {
    /// The whole text of its line.
    pub text: String,
    pub name: String,
    /// The table and the index that it reads.
    pub place: Option<String>,
    pub detail: String,
    pub estimated_rows: Option<f64>,
    /// Milliseconds with its inputs.
    pub cost_ms: f64,
    pub actual: Option<ActualFigures>,
    pub inputs: Vec<PlanBox>,
    /// What happens to its rows on the way up: `hash`.
    pub label: Option<String>,
}

/// Reads a document. Error: what is wrong with it.
pub fn plan(json: &str) -> Result<PlanBox, String> {
    let document: Json = serde_json::from_str(json).map_err(|e| e.to_string())?;
    operator(&document["query_plan"]).ok_or_else(|| "no query_plan with operations".to_string())
}

fn operator(json: &Json) -> Option<PlanBox> {
    let text = json["operation"].as_str()?.to_string();
    let inputs: Vec<&Json> = json["inputs"].as_array().map(|inputs| inputs.iter().collect()).unwrap_or_default();
    if let ([input], true) = (inputs.as_slice(), json["estimated_rows"].is_null()) {
        // `Hash`, `Batch input rows` and heads of subqueries are no operators.
        let mut inner = operator(input)?;
        let own = text.to_lowercase();
        inner.label = Some(inner.label.map_or(own.clone(), |label| format!("{own}, {label}")));
        return Some(inner);
    }
    let number = |name: &str| json[name].as_f64();
    let actual = number("actual_loops").map(|loops| ActualFigures {
        loops,
        rows: number("actual_rows").unwrap_or(0.0),
        last_ms: number("actual_last_row_ms").unwrap_or(0.0),
        pages: number("pages_read").unwrap_or(0.0),
        dropped: number("rows_dropped").unwrap_or(0.0) / loops.max(1.0),
    });
    let (name, detail) = split(&text, json["table_name"].as_str().is_some());
    let table = json["alias"].as_str().or(json["table_name"].as_str());
    let place = table.map(|table| match json["index_name"].as_str() {
        Some(index) => format!("{table}, {index}"),
        None => table.to_string(),
    });
    let inputs = inputs.into_iter().filter_map(operator).collect();
    let (estimated_rows, cost_ms) = (number("estimated_rows"), number("estimated_total_cost").unwrap_or(0.0));
    Some(PlanBox { text, name, place, detail, estimated_rows, cost_ms, actual, inputs, label: None })
}

/// The name of an operator and the rest of its line.
fn split(text: &str, reads_table: bool) -> (String, String) {
    if let (true, Some((name, rest))) = (reads_table, text.split_once(" on ")) {
        let behind_table = rest.split_once(" using ").map_or(rest, |(_, rest)| rest);
        let detail = behind_table.split_once(' ').map_or("", |(_, rest)| rest);
        return (name.to_string(), detail.to_string());
    }
    let at = text.find([':', '(', ',']).unwrap_or(text.len());
    let detail = text[at..].trim_start_matches([':', ',', ' ']);
    (text[..at].trim().to_string(), detail.to_string())
}

impl PlanBox {
    /// Time, or cost if the plan has not run, of the operator with its inputs.
    pub fn total(&self) -> f64 {
        self.actual.map_or(self.cost_ms, |actual| actual.total_ms())
    }

    /// The same without its inputs.
    pub fn own(&self) -> f64 {
        (self.total() - self.inputs.iter().map(PlanBox::total).sum::<f64>()).max(0.0)
    }

    /// Rows that it delivers in all.
    pub fn rows(&self) -> f64 {
        self.actual.map_or(self.estimated_rows.unwrap_or(0.0), |actual| actual.rows * actual.loops)
    }

    /// The factor by which the estimated rows are off; 1 if nothing is known.
    pub fn estimate_error(&self) -> f64 {
        let (Some(actual), Some(estimated)) = (self.actual, self.estimated_rows) else { return 1.0 };
        if actual.loops == 0.0 {
            return 1.0;
        }
        let (a, b) = ((actual.rows + actual.dropped).max(1.0), estimated.max(1.0));
        (a / b).max(b / a)
    }

    pub fn rows_text(&self) -> String {
        let estimated = self.estimated_rows.map(|rows| format!("{} expected", amount(rows)));
        match self.actual {
            Some(actual) if actual.loops == 0.0 => "never run".into(),
            Some(actual) => {
                let runs = if actual.loops > 1.0 { format!(" x {} runs", amount(actual.loops)) } else { String::new() };
                let estimated = estimated.map(|text| format!(", {text}")).unwrap_or_default();
                format!("{} rows{runs}{estimated}", amount(actual.rows))
            }
            None => estimated
                .map(|text| format!("{text} rows").replace(" expected rows", " rows expected"))
                .unwrap_or_default(),
        }
    }

    pub fn time_text(&self, share: f64) -> String {
        let percent = (share * 100.0).round();
        let pages = |pages: f64| if pages > 0.0 { format!(", {} pages", amount(pages)) } else { String::new() };
        match (self.actual, self.estimated_rows) {
            (Some(actual), _) if actual.loops == 0.0 => String::new(),
            (Some(actual), Some(_)) => format!("{} ({percent}%){}", time(self.own()), pages(actual.pages)),
            (None, Some(_)) => format!("cost {} ({percent}%)", amount(self.own())),
            _ => String::new(),
        }
    }
}
