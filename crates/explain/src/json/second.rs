//! The second JSON format: one object per line of the tree, with its inputs inside.

use crate::{
    access::TableAccess,
    analyze::counted,
    document::Document,
    tree::{self, ExplainLine},
};
use muster_algebra::{Actual, Columns, NodeId, Plan, PlanOp};
use std::iter::Peekable;

/// `EXPLAIN FORMAT=JSON`, with names as MySQL's format 2 has them.
pub fn json(plan: &Plan, columns: &Columns) -> String {
    print(plan, columns, None)
}

/// `actual`: what a node did, if the plan has run.
pub(crate) fn print(plan: &Plan, columns: &Columns, actual: Option<&dyn Fn(NodeId) -> Actual>) -> String {
    let mut out = Document::object();
    out.add("query_plan", plan_document(plan, columns, actual));
    out.pretty()
}

/// The object of a plan's first line.
pub(crate) fn plan_document(plan: &Plan, columns: &Columns, actual: Option<&dyn Fn(NodeId) -> Actual>) -> Document {
    let mut lines = tree::lines(plan, columns).into_iter().peekable();
    object(&mut lines, actual).unwrap_or(Document::Null)
}

/// The next line with those below it.
fn object<'a>(
    lines: &mut Peekable<impl Iterator<Item = ExplainLine<'a>>>,
    actual: Option<&dyn Fn(NodeId) -> Actual>,
) -> Option<Document> {
    let line = lines.next()?;
    let mut object = Document::object();
    object.add("operation", line.text);
    if let Some(access) = &line.access {
        add_access(access, &mut object);
    }
    if let Some(node) = line.node {
        object.add("node", node.id.0);
        if let PlanOp::EarlyStop { budget, .. } = &node.op {
            object.add("budget_cost", budget.cost_ms);
            object.add("budget_entry_cost", budget.entry_ms);
            object.add("budget_fetch_cost", budget.fetch_ms);
            object.add("budget_page_cost", budget.page_ms);
        }
        object.add("partitions", node.partitions);
        let cost = node.estimate.cost;
        object.add("estimated_first_row_cost", cost.of_first(1.0 / node.estimate.rows.max(1.0)).total_ms());
        object.add("estimated_total_cost", cost.total_ms());
        object.add("estimated_cpu_cost", cost.cpu_ms);
        object.add("estimated_io_cost", cost.io_ms);
        object.add("estimated_worst_cost", cost.worst_ms);
        object.add("estimated_rows", node.estimate.rows);
        if let Some(actual) = actual {
            add_actual(&actual(node.id), &mut object);
        }
    }
    let mut inputs = Vec::new();
    while lines.peek().is_some_and(|next| next.depth > line.depth) {
        inputs.extend(self::object(lines, actual));
    }
    if !inputs.is_empty() {
        object.add("inputs", inputs);
    }
    Some(object)
}

fn add_access(access: &TableAccess<'_>, object: &mut Document) {
    let scan = access.scan;
    object.add("schema_name", scan.table.database.as_str());
    object.add("table_name", scan.table.name.as_str());
    object.add("alias", scan.alias.as_str());
    object.add("access_type", access.mysql_type());
    if let Some(index) = access.index_name() {
        object.add("index_name", index);
        object.add("covering", scan.is_covering());
    }
}

fn add_actual(actual: &Actual, object: &mut Document) {
    object.add("actual_loops", actual.loops);
    if actual.loops > 0 {
        object.add("actual_rows", actual.rows as f64 / actual.loops as f64);
        object.add("actual_first_row_ms", actual.first_ms);
        object.add("actual_last_row_ms", actual.last_ms);
    }
    counted(actual).into_iter().for_each(|(name, n)| object.add(name, n));
}
