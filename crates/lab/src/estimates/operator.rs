//! One operator of a plan that has run.

use serde_json::Value as Json;

/// What an operator does with tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatorKind {
    /// It reads a table by itself.
    Table,
    /// It joins two inputs, or looks up rows of a table.
    Join,
    Other,
}

impl OperatorKind {
    pub fn name(self) -> &'static str {
        match self {
            OperatorKind::Table => "table",
            OperatorKind::Join => "join",
            OperatorKind::Other => "other",
        }
    }
}

/// An operator, as it was expected and as it was found.
#[derive(Debug, Clone)]
pub struct OperatorEstimate {
    pub query: &'static str,
    /// Its line in EXPLAIN.
    pub operator: String,
    pub kind: OperatorKind,
    /// Rows of one run.
    pub estimated_rows: f64,
    pub actual_rows: f64,
    /// Milliseconds of all runs, without the operator's inputs.
    pub estimated_ms: f64,
    pub actual_ms: f64,
}

impl OperatorEstimate {
    /// The factor by which the rows are off.
    pub fn q_error(&self) -> f64 {
        factor(self.estimated_rows.max(1.0), self.actual_rows.max(1.0))
    }

    /// The factor by which the cost is off; `None` for an operator that takes too little time to tell.
    pub fn model_error(&self) -> Option<f64> {
        const LEAST_MS: f64 = 0.5;
        let is_long = self.actual_ms.max(self.estimated_ms) >= LEAST_MS;
        is_long.then(|| factor(self.estimated_ms.max(LEAST_MS / 10.0), self.actual_ms.max(LEAST_MS / 10.0)))
    }
}

fn factor(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// The operators of a plan in the second JSON format of EXPLAIN ANALYZE that have run, top down. Error: what is wrong
/// with the document.
pub fn operators(query: &'static str, json: &str) -> Result<Vec<OperatorEstimate>, String> {
    let document: Json = serde_json::from_str(json).map_err(|e| format!("{query}: {e}"))?;
    let root = &document["query_plan"];
    if root["operation"].as_str().is_none() {
        return Err(format!("{query}: no query_plan with operations"));
    }
    let mut found = Vec::new();
    collect(query, root, false, &mut found);
    Ok(found)
}

/// `is_joined`: the node's rows go into a join.
fn collect(query: &'static str, node: &Json, is_joined: bool, found: &mut Vec<OperatorEstimate>) {
    let number = |name: &str| node[name].as_f64();
    let text = node["operation"].as_str().unwrap_or_default();
    let inputs: Vec<&Json> = node["inputs"].as_array().into_iter().flatten().collect();
    let kind = kind(node, text);
    // Filters of the joins above have dropped rows that this one would have: nobody knows how many.
    let lacks_rows = kind == OperatorKind::Join && is_joined && loses_rows(node);
    if let (Some(estimated_rows), Some(loops)) = (number("estimated_rows"), number("actual_loops").filter(|n| *n > 0.0))
        && counts(text)
        && !lacks_rows
    {
        let below = |of: fn(&Json) -> f64| inputs.iter().map(|input| of(input)).sum::<f64>();
        found.push(OperatorEstimate {
            query,
            operator: text.to_owned(),
            kind,
            estimated_rows,
            // Rows that filters of joins have dropped, no estimate of the table knows of.
            actual_rows: number("actual_rows").unwrap_or(0.0) + number("rows_dropped").unwrap_or(0.0) / loops,
            estimated_ms: (total_cost(node) - below(total_cost)).max(0.0),
            actual_ms: (total_time(node) - below(total_time)).max(0.0),
        });
    }
    let is_joined = is_joined || kind == OperatorKind::Join;
    inputs.into_iter().for_each(|input| collect(query, input, is_joined, found));
}

/// Returns true if filters of joins have dropped rows of a table that the node reads.
fn loses_rows(node: &Json) -> bool {
    let below = || node["inputs"].as_array().into_iter().flatten().any(loses_rows);
    node["rows_dropped"].as_f64().is_some_and(|rows| rows > 0.0) || below()
}

/// Returns false for operators whose rows depend on how threads share the work.
fn counts(text: &str) -> bool {
    !text.starts_with("Partial aggregate")
}

fn kind(node: &Json, text: &str) -> OperatorKind {
    if text.to_lowercase().contains("join") {
        return OperatorKind::Join;
    }
    if node["table_name"].is_string() { OperatorKind::Table } else { OperatorKind::Other }
}

/// Milliseconds that an operator costs with its inputs; those of the inputs of lines that are no operators.
fn total_cost(node: &Json) -> f64 {
    node["estimated_total_cost"].as_f64().unwrap_or_else(|| of_inputs(node, total_cost))
}

fn total_time(node: &Json) -> f64 {
    match (node["actual_last_row_ms"].as_f64(), node["actual_loops"].as_f64()) {
        (Some(ms), Some(loops)) => ms * loops,
        (_, Some(_)) => 0.0,
        _ => of_inputs(node, total_time),
    }
}

fn of_inputs(node: &Json, of: fn(&Json) -> f64) -> f64 {
    node["inputs"].as_array().into_iter().flatten().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"query_plan": {
        "operation": "Inner hash join (a.x = b.x)", "estimated_total_cost": 5.0, "estimated_rows": 10.0,
        "actual_loops": 1, "actual_rows": 40.0, "actual_last_row_ms": 8.0, "inputs": [
            {"operation": "Table scan on a", "table_name": "a", "estimated_total_cost": 1.0, "estimated_rows": 100.0,
             "actual_loops": 1, "actual_rows": 40.0, "rows_dropped": 60.0, "actual_last_row_ms": 2.0},
            {"operation": "Hash", "inputs": [
                {"operation": "Table scan on b", "table_name": "b", "estimated_total_cost": 2.0, "estimated_rows": 0.0,
                 "actual_loops": 2, "actual_rows": 3.0, "actual_last_row_ms": 1.5}]},
            {"operation": "Table scan on c", "table_name": "c", "estimated_total_cost": 0.0, "estimated_rows": 9.0,
             "actual_loops": 0}]}}"#;

    #[test]
    fn operators_are_compared_with_what_they_did() {
        let found = operators("q", PLAN).unwrap();
        let kinds: Vec<OperatorKind> = found.iter().map(|o| o.kind).collect();
        // One that has never run says nothing.
        assert_eq!(kinds, [OperatorKind::Join, OperatorKind::Table, OperatorKind::Table]);
        assert_eq!(found.iter().map(OperatorEstimate::q_error).collect::<Vec<_>>(), [4.0, 1.0, 3.0]);
        assert_eq!((found[0].estimated_ms, found[0].actual_ms), (2.0, 3.0));
        assert_eq!((found[2].estimated_ms, found[2].actual_ms), (2.0, 3.0));
        assert_eq!(found[0].model_error(), Some(1.5));
        // As an input of another join it would lack rows that the filters of that one have dropped.
        let mut plan: Json = serde_json::from_str(PLAN).unwrap();
        let below = plan["query_plan"].take();
        plan["query_plan"] = serde_json::json!({
            "operation": "Inner hash join (a.y = d.y)", "estimated_rows": 1.0, "actual_loops": 1, "actual_rows": 1.0,
            "inputs": [below]});
        let kinds: Vec<OperatorKind> = operators("q", &plan.to_string()).unwrap().iter().map(|o| o.kind).collect();
        assert_eq!(kinds, [OperatorKind::Join, OperatorKind::Table, OperatorKind::Table]);
        assert!(operators("q", "{}").is_err() && operators("q", "x").is_err());
    }
}
