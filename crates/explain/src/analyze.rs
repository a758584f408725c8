//! EXPLAIN ANALYZE: the plan with what each of its operators expected and did, as a tree or as JSON.

use crate::tree::{self, ExplainLine};
use muster_algebra::{Actual, Columns, Plan};
use serde_json::{Map, Value as Json, json};

/// A plan that has run.
pub struct Analyzed<'a> {
    pub plan: &'a Plan,
    pub columns: &'a Columns,
    /// What a node of the plan did.
    pub actual: &'a dyn Fn(&Plan) -> Actual,
}

impl Analyzed<'_> {
    /// MySQL's `(cost=.. rows=..) (actual time=first..last rows=.. loops=..)`, and behind it what was counted.
    pub fn tree(&self) -> String {
        tree::tree_with(self.plan, self.columns, &|node| {
            let estimate = &node.estimate;
            let expected = format!("(cost={} rows={})", tree::figure(estimate.cost_ms), tree::figure(estimate.rows));
            Some(format!("{expected} {}", actual_text(&(self.actual)(node))))
        })
    }

    /// One object per line of the tree, with its inputs inside.
    pub fn json(&self) -> serde_json::Result<String> {
        let mut lines = tree::lines(self.plan, self.columns).into_iter().peekable();
        let mut roots = Vec::new();
        while lines.peek().is_some() {
            roots.extend(self.object(&mut lines));
        }
        let whole = json!({ "query_plan": roots.into_iter().next() });
        serde_json::to_string_pretty(&whole)
    }

    /// The next line with those below it.
    fn object<'a>(&self, lines: &mut std::iter::Peekable<impl Iterator<Item = ExplainLine<'a>>>) -> Option<Json> {
        let line = lines.next()?;
        let mut object = Map::new();
        object.insert("operation".into(), line.text.into());
        if let Some(node) = line.node {
            let actual = (self.actual)(node);
            object.insert("estimated_total_cost".into(), node.estimate.cost_ms.into());
            object.insert("estimated_rows".into(), node.estimate.rows.into());
            object.insert("actual_loops".into(), actual.loops.into());
            if actual.loops > 0 {
                object.insert("actual_rows".into(), (actual.rows as f64 / actual.loops as f64).into());
                object.insert("actual_first_row_ms".into(), actual.first_ms.into());
                object.insert("actual_last_row_ms".into(), actual.last_ms.into());
            }
            object.extend(counted(&actual).into_iter().map(|(name, n)| (name.to_string(), n.into())));
        }
        let mut inputs = Vec::new();
        while lines.peek().is_some_and(|next| next.depth > line.depth) {
            inputs.extend(self.object(lines));
        }
        if !inputs.is_empty() {
            object.insert("inputs".into(), inputs.into());
        }
        Some(Json::Object(object))
    }
}

fn actual_text(actual: &Actual) -> String {
    if actual.loops == 0 {
        return "(never executed)".into();
    }
    let rows = actual.rows as f64 / actual.loops as f64;
    let mut text = format!(
        "(actual time={:.3}..{:.3} rows={} loops={})",
        actual.first_ms,
        actual.last_ms,
        tree::figure(rows),
        actual.loops
    );
    let counted: Vec<String> = counted(actual).into_iter().map(|(name, n)| format!("{name}={n}")).collect();
    if !counted.is_empty() {
        text.push_str(&format!(" ({})", counted.join(" ")));
    }
    text
}

/// Counters that are not zero, over all loops.
fn counted(actual: &Actual) -> Vec<(&'static str, u64)> {
    let all = [
        ("pages_read", actual.pages_read),
        ("keys", actual.keys),
        ("icp_attempts", actual.icp_attempts),
        ("icp_match", actual.icp_match),
        ("rows_fetched", actual.rows_fetched),
        ("key_refills", actual.key_refills),
        ("rowid_refills", actual.rowid_refills),
        ("rows_dropped", actual.rows_dropped),
        ("spills", actual.spills),
        ("spilled_bytes", actual.spilled_bytes),
        ("memory_bytes", actual.memory_bytes),
    ];
    // Without any attempt that passed, zero says something.
    all.into_iter().filter(|(name, n)| *n > 0 || (*name == "icp_match" && actual.icp_attempts > 0)).collect()
}
