//! EXPLAIN ANALYZE: the plan with what each of its operators expected and did, as a tree or as JSON.

use crate::{json, tree};
use muster_algebra::{Actual, Columns, NodeId, Plan};

/// A plan that has run.
pub struct Analyzed<'a> {
    pub plan: &'a Plan,
    pub columns: &'a Columns,
    /// The counts of a node of the plan that has run.
    pub actual: &'a dyn Fn(NodeId) -> Actual,
}

impl Analyzed<'_> {
    /// MySQL's `(cost=.. rows=..) (actual time=first..last rows=.. loops=..)`, and behind it what was counted.
    pub fn tree(&self) -> String {
        tree::tree_with(self.plan, self.columns, &|node| {
            let estimate = &node.estimate;
            let expected =
                format!("(cost={} rows={})", tree::figure(estimate.cost.total_ms()), tree::figure(estimate.rows));
            Some(format!("{expected} {}", actual_text(&(self.actual)(node.id))))
        })
    }

    /// Prints the plan in the second JSON format, with what each operator did.
    pub fn json(&self) -> String {
        json::print(self.plan, self.columns, Some(self.actual))
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
pub(crate) fn counted(actual: &Actual) -> Vec<(&'static str, u64)> {
    let all = [
        ("pages_read", actual.pages_read),
        ("keys", actual.keys),
        ("icp_attempts", actual.icp_attempts),
        ("icp_match", actual.icp_match),
        ("rows_fetched", actual.rows_fetched),
        ("key_refills", actual.key_refills),
        ("rowid_refills", actual.rowid_refills),
        ("rows_dropped", actual.rows_dropped),
        ("fallbacks", actual.fallbacks),
        ("spills", actual.spills),
        ("spilled_bytes", actual.spilled_bytes),
        ("memory_bytes", actual.memory_bytes),
    ];
    // Without any attempt that passed, zero says something.
    all.into_iter().filter(|(name, n)| *n > 0 || (*name == "icp_match" && actual.icp_attempts > 0)).collect()
}
